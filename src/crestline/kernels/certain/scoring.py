"""The score that a standing query gives to a point, and the best score in a box.

Scores are larger for better points, so distances are negative. Sums are added in the order of
``language.geometry``, so that scores here and there are equal to the last bit.
"""

from __future__ import annotations

import sys
from math import atan2, cos, isfinite, radians, sin, sqrt

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats

DISTANCE, WEIGHTED_DISTANCE, WEIGHTED_SUM, COSINE, HAVERSINE, ATTRIBUTE_DISTANCE, GIVEN = range(7)
#: Mean radius of the earth in metres, as in ``language.geometry``.
_RADIUS = 6_371_008.8
#: Rounding may leave a bound below a score, so it is raised by this share.
_ROUNDING = 1e-12
#: The squares of smaller numbers are 0, or far from exact.
VANISHING = 1e-145
_LARGEST = sys.float_info.max
#: Numbers up to here, with constants up to here, give no score that is NaN. Vectors below the
#: second may have no direction.
LARGE, SMALL = 1e100, 1e-100
#: Beyond this many degrees, doubles are too coarse for a longitude.
_FAR = 1e6
#: Metres by which rounding in sines may shorten a distance on earth.
_SLACK = 1.0


@kernel
def _total(terms: Floats) -> float:
    """Return the sum of the terms, which are overwritten."""
    count = len(terms)
    while count > 1:
        pairs = count // 2
        for i in range(pairs):
            terms[i] = terms[2 * i] + terms[2 * i + 1]
        if count % 2:
            terms[pairs] = terms[count - 1]
            pairs += 1
        count = pairs
    return float(terms[0])


@kernel
def _haversine(latitude: float, longitude: float, latitude0: float, longitude0: float) -> float:
    """Return the great-circle distance, negative, of two points given in degrees."""
    if not (isfinite(latitude) and isfinite(longitude)):
        return np.nan
    here, there = radians(latitude), radians(latitude0)
    along = sin((here - there) / 2.0)
    across = sin((radians(longitude) - radians(longitude0)) / 2.0)
    chord = along * along + cos(here) * cos(there) * (across * across)
    return float(-2.0 * _RADIUS * atan2(sqrt(chord), sqrt(abs(1.0 - chord))))


@kernel
def _nearest_on_earth(
    latitude: float, longitude: float, south: float, north: float, west: float, east: float
) -> float:
    """Return a bound: no point between these latitudes and longitudes is nearer. Infinite sides,
    and coordinates that are not on the earth, count as near."""
    if not (south >= -90.0 and north <= 90.0 and abs(longitude) <= _FAR):
        return 0.0
    if not (west >= -_FAR and east <= _FAR):
        return 0.0
    apart = np.radians(max(south - latitude, latitude - north, 0.0))
    chord = np.sin(apart / 2.0) ** 2 if apart <= np.pi else 0.0
    # Half the difference in longitude goes through a multiple of pi: the meridian is inside.
    first, last = np.radians(west - longitude) / 2.0, np.radians(east - longitude) / 2.0
    if np.floor(first / np.pi) == np.floor(last / np.pi) and first % np.pi != 0.0:
        across = min(abs(np.sin(first)), abs(np.sin(last)))
        narrow = min(np.cos(np.radians(south)), np.cos(np.radians(north)))
        chord += max(0.0, narrow) * np.cos(np.radians(latitude)) * across * across
    chord = min(1.0, max(0.0, chord))
    return float(2.0 * _RADIUS * np.arctan2(np.sqrt(chord), np.sqrt(1.0 - chord)))


@kernel
def score_of(
    kind: int, point: Floats, weight: Floats, length: float, q: int, points: Floats, row: int,
    terms: Floats,
) -> float:  # fmt: skip
    """Return the score that query q gives to a row of ``points``; NaN if it has none.

    The query computes ``kind`` with its row of ``point`` (or vector, of that ``length``) and of
    ``weight``. ``terms`` is scratch room, one entry for each dimension. A vector of length 0 has no
    direction, and no score. Behind the coordinates a row may have scores that are GIVEN; then
    ``length`` is the column. Elements are read one by one, since a view of a row would cost more
    than the score.
    """
    dimensions = len(terms)
    if kind == DISTANCE:
        if dimensions == 2:
            across = points[row, 0] - point[q, 0]
            along = points[row, 1] - point[q, 1]
            return float(-np.sqrt(across * across + along * along))
        for i in range(dimensions):
            apart = points[row, i] - point[q, i]
            terms[i] = apart * apart
        return float(-np.sqrt(_total(terms)))
    if kind == WEIGHTED_DISTANCE:
        for i in range(dimensions):
            apart = points[row, i] - point[q, i]
            terms[i] = weight[q, i] * (apart * apart)
        return float(-np.sqrt(_total(terms)))
    if kind == ATTRIBUTE_DISTANCE:
        largest = 0.0
        for i in range(dimensions):
            apart = weight[q, i] * abs(points[row, i] - point[q, i])
            if not apart <= largest:
                largest = apart
            if apart != apart:
                break
        return float(-largest)
    if kind == WEIGHTED_SUM:
        total = weight[q, 0] * points[row, 0]
        for i in range(1, dimensions):  # from left to right, as a query is written
            total += weight[q, i] * points[row, i]
        return float(total)
    if kind == GIVEN:
        return float(points[row, int(length)])
    if kind == HAVERSINE:
        return _haversine(points[row, 0], points[row, 1], point[q, 0], point[q, 1])
    product, square = 0.0, 0.0
    for i in range(dimensions):
        product += points[row, i] * point[q, i]
        square += points[row, i] * points[row, i]
    both = np.sqrt(square) * length
    return float(product / both) if both > 0.0 else np.nan


@kernel
def best_in_box(
    kind: int, point: Floats, weight: Floats, length: float, q: int, low: Floats, high: Floats
) -> float:
    """Return a bound: no point with ``low <= x <= high`` scores better; sides may be infinite."""
    if kind in (DISTANCE, WEIGHTED_DISTANCE):
        total = 0.0
        for i in range(len(low)):
            apart = max(low[i] - point[q, i], point[q, i] - high[i], 0.0)
            total += apart * apart * (weight[q, i] if kind == WEIGHTED_DISTANCE else 1.0)
        # The sum may overflow here and not in the order of the score.
        return float(-np.sqrt(min(total, _LARGEST)) * (1.0 - _ROUNDING))
    if kind == ATTRIBUTE_DISTANCE:
        largest = 0.0
        for i in range(len(low)):
            if weight[q, i] != 0.0:
                apart = max(low[i] - point[q, i], point[q, i] - high[i], 0.0)
                largest = max(largest, weight[q, i] * apart)
        return float(-largest)  # each step of the score is monotone, rounding included
    if kind == WEIGHTED_SUM:
        total, size = 0.0, 0.0
        for i in range(len(low)):
            if weight[q, i] != 0.0:
                term = weight[q, i] * (high[i] if weight[q, i] > 0.0 else low[i])
                total += term
                size += abs(term)
        # An open side, or terms that are infinite in any order and of any sign.
        return total + size * _ROUNDING if size < np.inf else np.inf
    if kind == HAVERSINE:
        near = _nearest_on_earth(point[q, 0], point[q, 1], low[0], high[0], low[1], high[1])
        return float(_SLACK - near * (1.0 - _ROUNDING))
    if kind == GIVEN:
        return np.inf
    # The largest product over the shortest or, if it is negative, the longest vector of the box.
    product, shortest, longest = 0.0, 0.0, 0.0
    for i in range(len(low)):
        if point[q, i] != 0.0:
            product += point[q, i] * (high[i] if point[q, i] > 0.0 else low[i])
        nearest = max(low[i], -high[i], 0.0)
        farthest = max(abs(low[i]), abs(high[i]))
        shortest += nearest * nearest
        longest += farthest * farthest
    if not np.isfinite(product) or min(shortest, length) < VANISHING * VANISHING:
        return np.inf  # an open side, or lengths too small to be right: no cosine then
    if product >= 0.0:
        both = np.sqrt(shortest) * length
        return float(min(product / both, 1.0) + _ROUNDING)
    if not np.isfinite(longest):
        return _ROUNDING
    return float(product / (np.sqrt(longest) * length) + _ROUNDING)


@kernel
def is_plain(points: Floats, row: int, dimensions: int) -> bool:
    """Whether every query with ordinary constants has a score for a row of ``points``."""
    largest = 0.0 if dimensions else 1.0
    for i in range(points.shape[1]):
        size = abs(points[row, i])
        if not size <= LARGE:
            return False
        if i < dimensions:
            largest = max(largest, size)
    return largest >= SMALL


@kernel
def score_rows(
    kind: int, point: Floats, weight: Floats, length: float, points: Floats, scores: Floats
) -> None:
    """Write the scores that a query gives to all rows; ``point`` and ``weight`` have one row."""
    terms = np.empty(points.shape[1])
    for row in range(len(points)):
        scores[row] = score_of(kind, point, weight, length, 0, points, row, terms)
