"""The guard against repeats, compared with a list of everything that was seen."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.guard import admits, copy_guard, new_guard, seen_until


@pytest.mark.parametrize("most", [1, 2])
def test_a_value_is_a_repeat_while_enough_others_are_in_the_window(most: int) -> None:
    rng, width, streams = np.random.default_rng(3), 6, 2
    guard, entries = new_guard(200), 0
    seen: list[tuple[int, int, int]] = []  # object, stream, when it leaves
    for step in range(150):
        low, stream = int(rng.integers(5)), int(rng.integers(streams))
        own = [leaves for o, x, leaves in seen if o == low and leaves > step]
        until, _ = seen_until(guard, False, 0, low, streams, step)
        assert until == max(own, default=LONG_AGO)
        same = [x for o, x, leaves in seen if (o, x) == (low, stream) and leaves > step]
        admitted, more = admits(guard, False, most, 0, low, stream, step, step + width)
        assert admitted == (len(same) < most)
        if admitted:
            seen.append((low, stream, step + width))
        entries += more
        if step % 50 == 49:  # expired entries go when the table is copied
            fresh = new_guard(200)
            entries = copy_guard(guard, fresh, step)
            assert entries == sum(leaves > step for *_, leaves in seen)
            guard = fresh


def test_once_counts_all_streams_since_the_object_entered() -> None:
    guard = new_guard(8)
    assert admits(guard, True, 1, 0, 7, 0, 1, 5) == (True, 1)
    assert admits(guard, True, 1, 0, 7, 1, 4, 8) == (True, 0)
    assert admits(guard, True, 1, 0, 7, 0, 6, 10) == (False, 0)  # it stayed because of stream 1
    assert seen_until(guard, True, 0, 7, 2, 6) == (8, 0b11)
    assert admits(guard, True, 1, 0, 7, 0, 8, 12) == (True, 0)  # it had left
    assert seen_until(guard, True, 0, 7, 2, 8) == (12, 0b01)


def test_an_empty_guard_remembers_nothing() -> None:
    assert seen_until(new_guard(0), False, 0, 7, 2, 0) == (LONG_AGO, 0)
