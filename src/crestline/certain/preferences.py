"""The preferences by which standing queries rank points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from math import isfinite, sqrt
from typing import Any, get_args

import numpy as np

from crestline.core.errors import CrestlineError
from crestline.kernels.certain.scoring import (
    ATTRIBUTE_DISTANCE,
    COSINE,
    DISTANCE,
    GIVEN,
    HAVERSINE,
    LARGE,
    SMALL,
    WEIGHTED_DISTANCE,
    WEIGHTED_SUM,
    score_rows,
)
from crestline.types import Bools, Floats


@dataclass(frozen=True, slots=True)
class Distance:
    """The nearest points first, by Euclid."""

    point: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WeightedDistance:
    """As ``Distance``, with each squared difference multiplied by a weight."""

    point: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AttributeDistance:
    """The points first whose largest difference in a coordinate is least, each difference
    multiplied by a weight."""

    point: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The largest weighted sum of the coordinates first."""

    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cosine:
    """The smallest angle to a vector first. A point at the origin has none and is passed over."""

    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Haversine:
    """The nearest points on earth first: two coordinates, latitude and longitude in degrees."""

    point: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Given:
    """The largest number in a column behind the coordinates first: a score that somebody else has
    computed. NaN: the query does not see the record."""

    column: int


#: Preferences that rank records by their coordinates.
PointPreference = Distance | WeightedDistance | AttributeDistance | WeightedSum | Cosine | Haversine
Preference = PointPreference | Given


def dimensions_of(preference: PointPreference) -> int:
    """The number of coordinates that a preference ranks by."""
    return len(astuple(preference)[0])


def checked_preference(
    preference: Preference, dimensions: int
) -> tuple[int, Sequence[float], Sequence[float]]:
    """Return the kind of a preference for ``kernels.certain.scoring``, its point and its weights;
    refuse one that does not fit points of this many dimensions."""
    ones = (1.0,) * dimensions
    kind: int
    if isinstance(preference, Distance):
        kind, point, weight = DISTANCE, preference.point, ones
    elif isinstance(preference, WeightedDistance | AttributeDistance):
        attribute = isinstance(preference, AttributeDistance)
        kind = ATTRIBUTE_DISTANCE if attribute else WEIGHTED_DISTANCE
        point, weight = preference.point, preference.weights
        if any(value < 0 for value in weight):
            raise CrestlineError("the weights of a distance must not be negative")
    elif isinstance(preference, WeightedSum):
        kind, point, weight = WEIGHTED_SUM, ones, preference.weights
    elif isinstance(preference, Given):
        kind, point, weight = GIVEN, ones, ones
    elif isinstance(preference, Haversine):
        kind, point, weight = HAVERSINE, preference.point, ones
        if dimensions != 2 or not abs(point[0]) <= 90:
            raise CrestlineError(f"{preference} is no latitude and longitude in degrees")
    else:
        kind, point, weight = COSINE, preference.vector, ones
        if not any(point):
            raise CrestlineError("a vector of zeros has no direction")
    for values in (point, weight):
        if len(values) != dimensions or not all(map(isfinite, values)):
            raise CrestlineError(
                f"{preference} does not fit points of {dimensions} dimensions: it needs"
                f" {dimensions} finite numbers"
            )
    return kind, point, weight


def are_plain(points: Floats) -> Bools:
    """Which points every query has a score for, if its constants are no larger than ``LARGE``."""
    if points.shape[1] == 0:
        return np.ones(len(points), np.bool_)
    largest = abs(points).max(axis=1)
    plain: Bools = (largest <= LARGE) & (largest >= SMALL)
    return plain


def have_scores(preference: Preference, points: Floats) -> Bools:
    """Which points have a score."""
    kind, point, weight = checked_preference(preference, points.shape[1])
    scores = np.empty(len(points))
    length = sqrt(float(sum(value * value for value in point)))
    score_rows(kind, np.array([point]), np.array([weight]), length, points, scores)
    return ~np.isnan(scores)


def preference_state(preference: PointPreference | None) -> dict[str, Any] | None:
    """Return a preference as plain values; see ``preference_from``."""
    if preference is None:
        return None
    values = {name: list(numbers) for name, numbers in asdict(preference).items()}
    return {"kind": type(preference).__name__, **values}


def preference_from(state: dict[str, Any] | None) -> PointPreference | None:
    """Return the preference of which this is the state."""
    if state is None:
        return None
    kinds = {kind.__name__: kind for kind in get_args(PointPreference)}
    values = {name: tuple(numbers) for name, numbers in state.items() if name != "kind"}
    preference: PointPreference = kinds[state["kind"]](**values)
    return preference


__all__ = [
    "LARGE",
    "AttributeDistance",
    "Cosine",
    "Distance",
    "Given",
    "Haversine",
    "PointPreference",
    "Preference",
    "WeightedDistance",
    "WeightedSum",
    "are_plain",
    "checked_preference",
    "dimensions_of",
    "have_scores",
    "preference_from",
    "preference_state",
]
