"""The preferences by which standing queries rank points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from math import isfinite
from typing import Any, get_args

from crestline.core.errors import CrestlineError
from crestline.kernels.certain.scoring import (
    ATTRIBUTE_DISTANCE,
    COSINE,
    DISTANCE,
    HAVERSINE,
    WEIGHTED_DISTANCE,
    WEIGHTED_SUM,
)


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


Preference = Distance | WeightedDistance | AttributeDistance | WeightedSum | Cosine | Haversine


def dimensions_of(preference: Preference) -> int:
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


def preference_state(preference: Preference | None) -> dict[str, Any] | None:
    """Return a preference as plain values; see ``preference_from``."""
    if preference is None:
        return None
    values = {name: list(numbers) for name, numbers in asdict(preference).items()}
    return {"kind": type(preference).__name__, **values}


def preference_from(state: dict[str, Any] | None) -> Preference | None:
    """Return the preference of which this is the state."""
    if state is None:
        return None
    kinds = {kind.__name__: kind for kind in get_args(Preference)}
    values = {name: tuple(numbers) for name, numbers in state.items() if name != "kind"}
    preference: Preference = kinds[state["kind"]](**values)
    return preference


__all__ = [
    "AttributeDistance",
    "Cosine",
    "Distance",
    "Haversine",
    "Preference",
    "WeightedDistance",
    "WeightedSum",
    "checked_preference",
    "dimensions_of",
    "preference_from",
    "preference_state",
]
