"""Scores and upper bounds of objects, recomputed from all values of a window, for ``NAIVE``.

Nothing here is shared with the algorithms that ``NAIVE`` judges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.incomplete.combination import Combination
from crestline.types import Bools, Floats, Ints


def by_stream(
    combination: Combination, whose: Ints, stream: Ints, value: Floats, objects: int,
    streams: list[int],
) -> tuple[Ints, Floats]:  # fmt: skip
    """Return by object and stream how many values there are, and their total.

    Value i belongs to object ``whose[i]``. Newer values are added first.
    """
    column = np.zeros(max([*streams, -1]) + 1, np.int64)
    column[streams] = np.arange(len(streams))
    cell = whose[::-1], column[stream[::-1]]
    newest_first = value[::-1]
    count = np.zeros((objects, len(streams)), np.int64)
    np.add.at(count, cell, 1)
    total = np.zeros((objects, len(streams)))
    if combination.repeats in ("MIN", "MAX"):
        total = np.full(total.shape, np.inf if combination.repeats == "MIN" else -np.inf)
        extreme = np.minimum if combination.repeats == "MIN" else np.maximum
        extreme.at(total, cell, newest_first)
    else:
        with np.errstate(over="ignore"):
            np.add.at(total, cell, newest_first)
    return count, total


def scores(
    combination: Combination, count: Ints, total: Floats, seen: Bools, streams: list[int]
) -> tuple[Floats, Floats]:
    """Return the scores, and what they can become with the largest values allowed.

    With ``once``, ``seen[o, column]`` says whether object o was seen on that stream.
    """
    high = np.inf if combination.high is None else combination.high
    now, most = [], []
    for column in range(len(streams)):
        value, bound = _stream_values(combination, count[:, column], total[:, column], high)
        if combination.once:
            bound = np.where(seen[:, column], value, bound)
        now.append(value)
        most.append(bound)
    score = _folded(combination, now, streams)
    upper = _folded(combination, most, streams)
    if combination.streams is None:  # a stream that was not seen yet may come
        if combination.function == "SUM":
            upper = np.full(len(score), np.inf)
        elif combination.function != "MIN":
            upper = np.maximum(score, high)
    return score, upper


def _stream_values(
    combination: Combination, count: Ints, total: Floats, high: float
) -> tuple[Floats, Floats]:
    """Return what one stream counts for each object now, and at most."""
    repeats, many = combination.repeats, combination.at_most
    value = total / np.maximum(count, 1) if repeats == "AVG" else total
    value = np.where(count > 0, value, combination.missing)
    more = many - count
    with np.errstate(invalid="ignore", over="ignore"):
        if repeats == "SUM" and many > 1:
            begun = np.where(count > 0, total, 0.0)
            both = np.maximum(_plus(begun, high), _plus(begun, more * high))
            bound = np.maximum(value, both)
        elif repeats == "AVG" and many > 1:
            begun = np.where(count > 0, _plus(total, more * high) / many, high)
            bound = np.maximum(value, begun)
        elif repeats == "MIN" and many > 1:
            bound = np.where(count > 0, value, np.maximum(value, high))
        else:
            bound = np.maximum(value, high)
    return value, np.where(more > 0, bound, value)


def _folded(combination: Combination, values: list[Floats], streams: list[int]) -> Floats:
    """Combine the values of the streams, one array for each stream."""
    if combination.function == "MIN":
        return np.asarray(np.minimum.reduce(values))
    if combination.function == "MAX":
        return np.asarray(np.maximum.reduce(values))
    together = np.zeros(len(values[0]))
    for x, value in zip(streams, values, strict=True):
        if combination.function != "WEIGHTED_SUM":
            together = _plus(together, value)
        elif combination.weights[x] > 0:
            with np.errstate(over="ignore"):
                together = _plus(together, combination.weights[x] * value)
    return together / len(values) if combination.function == "AVG" else together


def _plus(a: Floats, b: Any) -> Floats:
    """Add; overflows of different signs cancel."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
    return np.where(np.isnan(total), 0.0, total)
