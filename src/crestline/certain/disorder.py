"""A watch over recent scores, at several scales: does a stream come in random order?

PA's bound holds only for streams in random order. The watch looks for order in time: in the latest
scores, and in the largest scores of ever longer blocks. A trend over a whole window hides in the
noise of single records (many sensors that take turns, say), and the largest scores make the top k.
In a stream in random order, each of these short series is in random order too.

Each series is judged by Bartels' rank version of the von Neumann ratio: with ranks ``r`` of ``m``
values, ``sum (r[i + 1] - r[i])^2 / sum (r[i] - mean)^2`` is about normal around 2 with a standard
deviation of ``2 / sqrt(m)`` if the order is random. It is smaller if neighbours resemble each
other, as in trends, waves and slow drifts. Ties share ranks; a series of equal values shows no
order.

A false alarm costs time, not answers. At ``CRITICAL`` = 4 about one test in 30,000 gives one.

>>> import numpy as np
>>> watch = OrderWatch()
>>> watch.add(np.random.default_rng(1).random(100_000))
False
>>> watch.add(np.linspace(1, 0, 1_000))
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.types import Bools, Floats

#: Values in a series; and standard deviations beyond which it counts as ordered.
LENGTH, CRITICAL = 64, 4.0
#: How many values of the series before it one value of a series stands for: the first is the scores
#: themselves, the others the largest of 64, 512, 4,096 and 32,768 of them.
GROUPS = (1, 64, 8, 8, 8)
#: How many stretches of a long batch are tested, in each series.
_STRETCHES = 4


class OrderWatch:
    """Takes in scores as they arrive and reports when they come in some order."""

    def __init__(self) -> None:
        self._series = [np.empty(0) for _ in GROUPS]
        # Groups that have begun: their largest value so far, and how many are in them.
        self._largest = np.full(len(GROUPS), -np.inf)
        self._filled = np.zeros(len(GROUPS), np.int64)

    def add(self, scores: Floats) -> bool:
        """Add scores; return whether a series shows order in time."""
        tests = []
        values = scores
        for scale, size in enumerate(GROUPS):
            if size > 1:
                values = self._largest_of_groups(scale, size, values)
            if len(values) == 0:
                break
            series = np.concatenate((self._series[scale], values))
            self._series[scale] = series[-(LENGTH - 1) :]
            if len(series) >= LENGTH:
                last = len(series) - LENGTH
                indices = np.unique(np.linspace(0, last, _STRETCHES).astype(np.int64))
                tests.append(series[indices[:, None] + np.arange(LENGTH)])
        return bool(tests) and bool(in_order(np.concatenate(tests)).any())

    def _largest_of_groups(self, scale: int, size: int, values: Floats) -> Floats:
        to_fill = size - int(self._filled[scale])
        if len(values) < to_fill:
            self._filled[scale] += len(values)
            self._largest[scale] = max(self._largest[scale], values.max())
            return np.empty(0)
        first = max(self._largest[scale], values[:to_fill].max())
        whole = (len(values) - to_fill) // size
        rest = values[to_fill + whole * size :]
        self._largest[scale] = rest.max() if len(rest) else -np.inf
        self._filled[scale] = len(rest)
        middle = values[to_fill : to_fill + whole * size].reshape(whole, size).max(axis=1)
        return np.concatenate(([first], middle))

    def state(self) -> dict[str, Any]:
        series = {f"series{scale}": values for scale, values in enumerate(self._series)}
        return series | {"largest": self._largest, "filled": self._filled}

    def restore(self, state: dict[str, Any]) -> None:
        self._series = [state[f"series{scale}"] for scale in range(len(GROUPS))]
        self._largest, self._filled = state["largest"], state["filled"]


def in_order(series: Floats) -> Bools:
    """For each row, whether neighbours resemble each other more than chance allows."""
    length = series.shape[1]
    ranks = _ranks(series)
    spread = ((ranks - ranks.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    steps = (np.diff(ranks, axis=1) ** 2).sum(axis=1)
    ratio = np.divide(steps, spread, out=np.full(len(series), 2.0), where=spread > 0)
    ordered: Bools = (2.0 - ratio) * np.sqrt(length) / 2.0 > CRITICAL
    return ordered


def _ranks(series: Floats) -> Floats:
    """Return ranks along each row; equal values share the mean of their ranks."""
    order = np.argsort(series, axis=1, kind="stable")
    rows = np.arange(len(series))[:, None]
    ordered = series[rows, order]
    new = np.ones(series.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    length = series.shape[1]
    group = np.cumsum(new, axis=1) - 1 + rows * length
    indices = np.broadcast_to(np.arange(length, dtype=np.float64), series.shape)
    total = np.bincount(group.ravel(), indices.ravel(), minlength=series.size)
    count = np.bincount(group.ravel(), minlength=series.size)
    mean = np.divide(total, count, out=np.zeros(series.size), where=count > 0)
    ranks = np.empty(series.shape)
    ranks[rows, order] = mean[group]
    return ranks
