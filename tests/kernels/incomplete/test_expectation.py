"""What may be expected of an object that streams have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crestline.incomplete import Combination
from crestline.kernels.incomplete.combine import StreamSums
from crestline.kernels.incomplete.expectation import Expectation, expected_most


def expectation(**changes: Any) -> Expectation:
    """Three streams. Stream 0 is followed by 1 with probability 1/4; values are 1/2 on average."""
    fresh = Expectation(
        np.empty(0, np.int64), np.empty((0, 3)), np.array([[0, 0.25, 0], [0, 0, 0.5], [0, 0, 0]]),
        np.full(3, 0.5), np.full(3, 1 / 3), np.ones(3), 0.0,
    )  # fmt: skip
    return fresh._replace(**changes)


def most(told: Expectation, seen: int = 0b001, function: str = "SUM", **options: Any) -> float:
    """What is expected of an object that has 3 on stream 0; values lie between 0 and 4."""
    rule = Combination(function, 3, 0.0, 4.0, **options).rule(np.arange(3))
    sums = StreamSums(np.array([1, 0, 0]), np.array([3.0, 0, 0]))
    return expected_most(rule, sums, 0b111, seen, told)


def test_probability_times_mean_is_added() -> None:
    assert most(expectation()) == 3.0 + 0.25 * 0.5 * 4.0
    assert most(expectation(), function="AVG") == (3.0 + 0.5) / 3
    assert most(expectation(), function="MAX") == 3.0
    assert most(expectation(), function="WEIGHTED_SUM", weights=(1.0, 2.0, 0.0)) == 3.0 + 2 * 0.5


def test_of_several_streams_the_most_probable_pair_counts_unless_their_joint_is_known() -> None:
    assert most(expectation(), seen=0b011) == 3.0 + 0.5 * 0.5 * 4.0
    told = expectation(states=np.array([0b011]), chances=np.array([[0, 0, 0.75]]))
    assert most(told, seen=0b011) == 3.0 + 0.75 * 0.5 * 4.0
    assert most(told, seen=0b001) == most(expectation())


def test_hope_is_a_number_of_standard_deviations() -> None:
    pairs = np.array([[0, 0.25, 0.5], [0, 0, 0], [0, 0, 0]])
    variance = sum(4.0**2 * (p / 3 - (p / 2) ** 2) for p in (0.25, 0.5))
    mean = 3.0 + (0.25 + 0.5) * 0.5 * 4.0
    assert most(expectation(pairs=pairs)) == pytest.approx(mean)
    assert most(expectation(pairs=pairs, hope=0.3)) == pytest.approx(mean + 0.3 * variance**0.5)
    assert most(expectation(pairs=pairs, hope=1e9)) == 3.0 + 4.0 + 4.0  # never more than can be


def test_sums_of_repeats_count_as_many_values_as_are_usual() -> None:
    told = expectation(times=np.array([2.5, 2.0, 1.0]))
    found = most(told, repeats="SUM", at_most=9)
    assert found == 3.0 + 1.5 * 0.5 * 4.0 + 0.25 * 0.5 * 8.0
    assert most(told, repeats="SUM", at_most=2) == 3.0 + 0.5 * 4.0 + 0.25 * 0.5 * 8.0
    assert most(told, repeats="MAX", at_most=9) == most(expectation())
