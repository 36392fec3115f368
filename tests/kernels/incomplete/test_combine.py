"""Scores and their bounds, against every way in which missing values may come."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from crestline.incomplete import Combination
from crestline.kernels.incomplete.combine import StreamSums, add_value, combined, plus, score_bounds


@pytest.mark.parametrize("function", ["SUM", "AVG", "MIN", "MAX", "WEIGHTED_SUM"])
@pytest.mark.parametrize("once", [False, True])
def test_bounds_are_those_of_the_best_and_the_worst_completion(function: str, once: bool) -> None:
    weights = (0.5, 0.0, 2.0) if function == "WEIGHTED_SUM" else ()
    rule = Combination(function, 3, -1.0, 4.0, weights=weights, once=once).rule(np.arange(3))
    for values in product((None, -1.0, 0.5, 4.0), repeat=3):
        for seen in range(8):
            sums = StreamSums(np.zeros(3, np.int64), np.zeros(3))
            choices = []
            for x, value in enumerate(values):
                if value is not None:
                    add_value(rule, sums, x, value)
                    choices.append((value,))
                else:
                    closed = once and seen >> x & 1
                    choices.append((-1.0,) if closed else (-1.0, 4.0))
            ends = [combined(rule, 7, np.array(each)) for each in product(*choices)]
            now = combined(rule, 7, np.array([-1.0 if v is None else v for v in values]))
            assert score_bounds(rule, sums, 7, seen) == (now, min(ends), max(ends))


def test_streams_that_are_not_active_do_not_count() -> None:
    rule = Combination("AVG", None, 0.0, 1.0).rule(np.arange(3))
    sums = StreamSums(np.array([1, 0, 1]), np.array([1.0, 0.0, 0.5]))
    score, least, most = score_bounds(rule, sums, 0b101, 0)
    assert (score, least, most) == (0.75, -np.inf, 1.0)  # another stream may come


@pytest.mark.parametrize(
    ("repeats", "total", "least", "most"),
    [
        ("SUM", 5.0, 5.0, 9.0),
        ("AVG", 2.5, 5 / 3, 3.0),
        ("MIN", 2.0, 0.0, 2.0),
        ("MAX", 3.0, 3.0, 4.0),
    ],
)
def test_repeats_become_one_value(repeats: str, total: float, least: float, most: float) -> None:
    rule = Combination("SUM", 1, 0.0, 4.0, repeats, 3).rule(np.arange(1))
    sums = StreamSums(np.zeros(1, np.int64), np.zeros(1))
    add_value(rule, sums, 0, 3.0)
    add_value(rule, sums, 0, 2.0)
    assert score_bounds(rule, sums, 1, 0) == (total, least, most)


def test_infinite_sums_of_different_signs_cancel() -> None:
    assert plus(np.inf, -np.inf) == 0.0
    assert plus(np.inf, 1.0) == np.inf
