"""Sketches, against exact counts."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.kernels.incomplete.moments import count_signs, new_moments, self_joins
from crestline.kernels.incomplete.sketches import (
    BITS,
    estimated,
    highest,
    joined,
    new_sketches,
    sizes,
    sketch,
    with_room,
    without_unused,
)
from crestline.types import Ints


def sketched(streams: Ints, objects: Ints, sketches: Ints) -> Ints:
    zeros = np.zeros_like(objects)
    sketches = with_room(sketches, 1 + highest(zeros, objects))
    sketch(sketches, streams, zeros, objects, np.full(len(objects), 10))
    return sketches


@pytest.mark.parametrize("objects", [0, 10, 300, 3_000])
def test_estimates_are_near(objects: int) -> None:
    every = np.arange(objects)
    sketches = sketched(every % 2, every, new_sketches(2))
    both = estimated(sketches, 0b11, 5)
    assert both == pytest.approx(objects, rel=0.2, abs=2)
    assert estimated(sketches, 0b01, 5) == pytest.approx(objects / 2, rel=0.2, abs=2)
    assert estimated(sketches, 0b11, 10) == 0  # all have left


def test_only_positions_that_are_set_are_held() -> None:
    every = 1 + np.arange(3_000)  # the hash of 0 sets the last position
    sketches = sketched(every % 2, every, new_sketches(2))
    assert 8 < sketches.shape[2] < BITS
    assert without_unused(sketches, 5).shape == sketches.shape
    assert without_unused(sketches, 10).shape[2] == 1
    assert estimated(with_room(sketches, BITS), 0b11, 5) == estimated(sketches, 0b11, 5)


def test_joins_follow_from_unions() -> None:
    every = np.arange(2_000)
    sketches = new_sketches(3)
    for x, count in enumerate((2_000, 1_000, 500)):  # each stream sees a part of the one before
        sketches = sketched(np.full(count, x), every[:count], sketches)
    unions = sizes(sketches, 0)
    assert joined(unions, 0b001) == pytest.approx(2_000, rel=0.2)
    assert joined(unions, 0b011) == pytest.approx(1_000, rel=0.3)
    assert joined(unions, 0b111) == pytest.approx(500, rel=0.4)


def test_self_joins_tell_how_often_objects_return() -> None:
    """Stream 0 sees each of 100 objects 6 times, stream 1 each of 600 once."""
    counters, values, parts = new_moments(2)
    for x, objects in ((0, np.tile(np.arange(100), 6)), (1, np.arange(600))):
        leaves = np.arange(len(objects)) // 10 + 1
        streams, zeros = np.full(len(objects), x), np.zeros_like(objects)
        count_signs(counters, values, parts, 8, streams, zeros, objects, leaves)
    joins, counts = self_joins(counters, values, parts, 8, 0)
    assert counts.tolist() == [600, 600]
    assert joins[0] / counts[0] == pytest.approx(6, rel=0.4)
    assert joins[1] / counts[1] == pytest.approx(1, rel=0.4)
    _, later = self_joins(counters, values, parts, 8, 31)  # half of all have left
    assert 300 <= later[0] < 400
