"""Sketches, against exact counts."""

from __future__ import annotations

import pytest

from crestline.kernels.incomplete.sketches import chances, estimated, new_sketches, sketch


@pytest.mark.parametrize("objects", [0, 10, 300, 3_000])
def test_estimates_are_near(objects: int) -> None:
    sketches = new_sketches(2)
    for o in range(objects):
        sketch(sketches, o % 2, 0, o, 10)
    both = estimated(sketches, 0b11, 5)
    assert both == pytest.approx(objects, rel=0.2, abs=2)
    assert estimated(sketches, 0b01, 5) == pytest.approx(objects / 2, rel=0.2, abs=2)
    assert estimated(sketches, 0b11, 10) == 0  # all have left


def test_chances_follow_from_the_objects_on_both_streams() -> None:
    sketches = new_sketches(2)
    for o in range(2_000):
        sketch(sketches, 0, 0, o, 10)
        if o < 1_000:
            sketch(sketches, 1, 0, o, 10)
    chance = chances(sketches, 0)
    assert chance[0, 0] == chance[1, 1] == 0
    assert chance[0, 1] == pytest.approx(500 / 1_500, abs=0.1)
    assert chance[1, 0] == pytest.approx(500 / 500, abs=0.2)
