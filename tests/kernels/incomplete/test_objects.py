"""Slots of objects and the table that finds them, against a dictionary."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.kernels.incomplete.objects import enter_all, find, give_back, mixed, new_object
from crestline.kernels.incomplete.store import USED
from kernels.incomplete.stores import a_query, a_store


def test_objects_are_found_until_their_slots_are_given_back() -> None:
    rng = np.random.default_rng(2)
    store = a_store(a_query(Combination("SUM", 2, 0.0, 1.0)))
    store.reserve(12, 2)
    meta, heaps, slots = store.meta, store.heaps, {}
    for step in range(500):
        key = int(rng.integers(-3, 3)), int(rng.integers(4))
        if key in slots and rng.random() < 0.5:
            give_back(heaps, store.table, slots.pop(key))
        elif key not in slots and len(slots) < 12:
            slots[key] = new_object(meta, heaps, store.table, *key, 0, step)
        for high in range(-3, 3):
            for low in range(4):
                expected = slots.get((high, low), -1)
                assert find(heaps.objects, store.table, high, low) == expected
    assert meta[USED] <= 12  # slots are used again
    fresh = np.full(64, -1, np.int32)
    enter_all(meta, heaps.objects, fresh)
    assert all(find(heaps.objects, fresh, *key) == slot for key, slot in slots.items())


def test_hashes_depend_on_every_bit() -> None:
    low = {mixed(0, 1 << bit) for bit in range(63)}
    high = {mixed(1 << bit, 0) for bit in range(63)}
    assert (len(low), len(high)) == (63, 63)
    assert all(h >= 0 for h in low | high)
