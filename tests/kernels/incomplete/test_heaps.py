"""Heaps of objects, against sorting."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.incomplete.store import ObjectStore
from crestline.kernels.incomplete.heaps import (
    BOUND,
    SCORE,
    WAKE,
    Heaps,
    hold,
    leading,
    position_of,
    release,
)
from crestline.kernels.incomplete.objects import clear
from kernels.incomplete.stores import a_query, a_store


def with_objects(count: int) -> ObjectStore:
    store = a_store(a_query(Combination("SUM", 2, 0.0, 1.0)))
    store.reserve(count, 2)
    for slot in range(count):
        clear(store.objects, slot)
        store.objects[slot].latest = 0
    return store


def in_order(heaps: Heaps, which: int) -> list[int]:
    return leading(heaps, which, int(heaps.size[which])).tolist()


def test_objects_come_best_first_whatever_happens_to_their_keys() -> None:
    rng = np.random.default_rng(1)
    store = with_objects(20)
    heaps, held = store.heaps, set()
    for _ in range(400):
        slot = int(rng.integers(20))
        if slot in held and rng.random() < 0.4:
            release(heaps, BOUND, slot)
            held.discard(slot)
        else:
            heaps.objects[slot].bound = float(rng.integers(100)) + slot / 100  # no two are equal
            hold(heaps, BOUND, slot)
            held.add(slot)
        assert in_order(heaps, BOUND) == sorted(held, key=lambda s: -heaps.objects[s].bound)
        assert all((position_of(heaps, BOUND, s) >= 0) == (s in held) for s in range(20))


def test_of_equal_keys_the_later_time_comes_first() -> None:
    heaps = with_objects(3).heaps
    for slot, latest in enumerate((5, 9, 7)):
        heaps.objects[slot].score, heaps.objects[slot].latest = 1.0, latest
        hold(heaps, SCORE, slot)
    assert in_order(heaps, SCORE) == [1, 2, 0]


def test_equals_of_the_last_one_are_among_the_leading() -> None:
    heaps = with_objects(40).heaps
    for slot in range(40):
        heaps.objects[slot].score = 2.0 if slot == 3 else 1.0
        hold(heaps, SCORE, slot)
    assert leading(heaps, SCORE, 1).tolist() == [3]
    assert sorted(leading(heaps, SCORE, 2).tolist()) == list(range(40))
    assert leading(heaps, BOUND, 2).tolist() == []


def test_hidden_objects_wake_in_the_order_of_their_steps() -> None:
    heaps = with_objects(4).heaps
    for slot, hidden in enumerate((7, 3, 9, 5)):
        heaps.objects[slot].hidden = hidden
        hold(heaps, WAKE, slot)
    assert in_order(heaps, WAKE) == [1, 3, 0, 2]
