"""How the attributes of a record make its score, where a grid over them needs to know.

>>> from crestline.language import parse
>>> preference_of(
...     parse("SELECT TOP 3 id FROM s [ROWS 9] ORDER BY DISTANCE((x, y), (1, 2)) ASC USING CPM")
... )
Distance(point=(1.0, 2.0))
"""

from __future__ import annotations

from crestline.certain.preferences import (
    AttributeDistance,
    Distance,
    Haversine,
    PointPreference,
    WeightedDistance,
    WeightedSum,
)
from crestline.language import Query
from crestline.language.ranking import attributes_of


def preference_of(query: Query) -> PointPreference | None:
    """How records are ranked by their attributes; None where no grid needs to know."""
    ranking = attributes_of(query)
    if ranking is None:
        return None
    point, weights = ranking.numbers, ranking.weights
    match ranking.kind:
        case "DISTANCE":
            return Distance(point)
        case "WEIGHTED_DISTANCE":
            return WeightedDistance(point, weights)
        case "ATTRIBUTE_DISTANCE":
            return AttributeDistance(point, weights or (1.0,) * len(point))
        case "HAVERSINE":
            return Haversine((point[0], point[1]))
    sign = 1.0 if query.descending else -1.0
    return WeightedSum(tuple(sign * weight for weight in weights))


__all__ = ["preference_of"]
