"""Where standing queries lie: by what a query ranks points, in which coordinates."""

from __future__ import annotations

from crestline.certain.preferences import (
    LARGE,
    AttributeDistance,
    Distance,
    Haversine,
    Preference,
    WeightedDistance,
    WeightedSum,
)
from crestline.language import Query
from crestline.language.ranking import Ranking, ranking_of


def place_of(query: Query) -> Ranking | None:
    """What a query ranks points by, if the structure computes exactly the same scores."""
    ranking = ranking_of(query.order_by[0].expression)
    if ranking is None or ranking.kind == "COSINE":
        return None
    if ranking.kind != "WEIGHTED_SUM" and query.descending:
        return None
    if len(set(ranking.columns)) < len(ranking.columns):
        return None
    if any(abs(number) > LARGE for number in (*ranking.numbers, *ranking.weights)):
        return None
    distance = ranking.kind in ("WEIGHTED_DISTANCE", "ATTRIBUTE_DISTANCE")
    if distance and min(ranking.weights, default=0.0) < 0:
        return None
    if ranking.kind == "HAVERSINE" and abs(ranking.numbers[0]) > 90:
        return None
    return ranking


def columns_of(place: Ranking) -> tuple[str, ...]:
    """The coordinates: two numbers may be added in any order, more may not."""
    planar = place.kind != "HAVERSINE" and len(place.columns) == 2
    return tuple(sorted(place.columns)) if planar else place.columns


def preference_at(query: Query) -> Preference:
    """The ranking of a query that is placed."""
    place = place_of(query)
    assert place is not None
    order = [place.columns.index(name) for name in columns_of(place)]
    point = tuple(place.numbers[i] for i in order) if place.numbers else ()
    weights = tuple(place.weights[i] for i in order) if place.weights else ()
    if place.kind == "WEIGHTED_SUM":
        sign = 1.0 if query.descending else -1.0
        return WeightedSum(tuple(sign * weight for weight in weights))
    if place.kind == "HAVERSINE":
        return Haversine((point[0], point[1]))
    if place.kind == "ATTRIBUTE_DISTANCE":
        return AttributeDistance(point, weights or (1.0,) * len(point))
    return WeightedDistance(point, weights) if weights else Distance(point)


__all__ = ["columns_of", "place_of", "preference_at"]
