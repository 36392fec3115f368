"""Objects with several values, as records in slots, and the table that finds them.

An object occupies a *slot* of an array of records. An open-addressing table finds the slot of a
key. ``heaps`` orders the slots.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.product import product
from crestline.kernels.incomplete.heaps import FREE_SLOTS, Heaps
from crestline.kernels.incomplete.store import USED
from crestline.kernels.jit.tiers import borrowing_kernel
from crestline.types import Ints, Places, Records

OBJECT = np.dtype(
    [
        # Two halves of the key. Of equal objects the one with the smaller code comes first.
        ("high", "i8"), ("low", "i8"), ("code", "i8"),
        ("id", "i8"),  # -1: the slot is free
        ("latest", "i8"),  # the time of the newest value
        ("hidden", "i8"),  # the step until which forgotten values are in the window
        ("seen", "i8"),  # a bit for each stream on which it was seen since it entered the window
        ("score", "f8"), ("bound", "f8"),
        ("newest", "i4"),  # index of its newest observation, or -1
        ("in_scores", "i4"), ("in_bounds", "i4"), ("in_wakes", "i4"),  # positions in heaps, or -1
        ("shown", "i1"),  # 1: in the latest answer
    ]
)  # fmt: skip
#: An object on a stream: its value there, and as number its position in the stream's heap, or -1.
#: The number of the first column is the last filling of the view that met the object.
LISTED = np.dtype([("value", "f8"), ("number", "i8")], align=True)

_GOLDEN = 0x1E3779B97F4A7C15
_ODD = 0x3F58476D1CE4E5B9
_ALL = (1 << 63) - 1
_HALF = (1 << 32) - 1


@borrowing_kernel
def mixed(high: int, low: int) -> int:
    """Return a hash, not negative, that depends on every bit of both numbers."""
    h = (int(high) & _ALL) ^ product(int(low) & _ALL, _ODD)
    h = product(h ^ (h >> 32), _GOLDEN)
    h = product(h ^ (h >> 29), _ODD)
    return h ^ (h >> 32)


@borrowing_kernel
def _home(key: int, places: int) -> int:
    """Return the first place for a hash in a table with so many places."""
    return ((key & _HALF) * places) >> 32


@borrowing_kernel
def find(objects: Records, table: Places, high: int, low: int) -> int:
    """Return the slot of an object, or -1."""
    index = _home(mixed(high, low), len(table))
    while table[index] >= 0:
        slot = table[index]
        if objects[slot].low == low and objects[slot].high == high:
            return int(slot)
        index = index + 1 if index + 1 < len(table) else 0
    return -1


@borrowing_kernel
def find_hashed(objects: Records, table: Places, key: int) -> int:
    """Return the slot of an object with this hash, or -1."""
    index = _home(key, len(table))
    while table[index] >= 0:
        slot = table[index]
        if mixed(objects[slot].high, objects[slot].low) == key:
            return int(slot)
        index = index + 1 if index + 1 < len(table) else 0
    return -1


@borrowing_kernel
def enter(objects: Records, table: Places, slot: int) -> None:
    """Write a slot into the table."""
    index = _home(mixed(objects[slot].high, objects[slot].low), len(table))
    while table[index] >= 0:
        index = index + 1 if index + 1 < len(table) else 0
    table[index] = slot


@borrowing_kernel
def enter_all(meta: Ints, objects: Records, table: Places) -> None:
    """Write every used slot into an empty table."""
    for slot in range(meta[USED]):
        if objects[slot].id >= 0:
            enter(objects, table, slot)


@borrowing_kernel
def _erase(objects: Records, table: Places, slot: int) -> None:
    places = len(table)
    gap = _home(mixed(objects[slot].high, objects[slot].low), places)
    while table[gap] != slot:
        gap = gap + 1 if gap + 1 < places else 0
    # An entry behind the gap that a search would no longer reach moves into the gap.
    probe = gap
    while True:
        probe = probe + 1 if probe + 1 < places else 0
        other = table[probe]
        if other < 0:
            break
        home = _home(mixed(objects[other].high, objects[other].low), places)
        from_home = probe - home if probe >= home else probe - home + places
        from_gap = probe - gap if probe >= gap else probe - gap + places
        if from_home >= from_gap:
            table[gap] = other
            gap = probe
    table[gap] = -1


@borrowing_kernel
def new_object(
    meta: Ints, heaps: Heaps, table: Places, high: int, low: int, code: int, id: int
) -> int:
    """Return a slot for an object that had none."""
    objects = heaps.objects
    if heaps.size[FREE_SLOTS] > 0:
        heaps.size[FREE_SLOTS] -= 1
        slot = int(heaps.slot[FREE_SLOTS, heaps.size[FREE_SLOTS]])
    else:
        slot = int(meta[USED])
        meta[USED] += 1
    objects[slot].high = high
    objects[slot].low = low
    objects[slot].code = code
    objects[slot].id = id
    clear(objects, slot)
    objects[slot].hidden = LONG_AGO
    objects[slot].seen = 0
    objects[slot].shown = 0
    enter(objects, table, slot)
    return slot


@borrowing_kernel
def clear(objects: Records, slot: int) -> None:
    """Take note that the object of a slot has no observations and is in no heap. ``Heaps.lists``
    says so already: of fresh slots and of those that were given back."""
    objects[slot].newest = -1
    objects[slot].in_scores = -1
    objects[slot].in_bounds = -1
    objects[slot].in_wakes = -1


@borrowing_kernel
def give_back(heaps: Heaps, table: Places, slot: int) -> None:
    """Free a slot."""
    _erase(heaps.objects, table, slot)
    heaps.objects[slot].id = -1
    heaps.slot[FREE_SLOTS, heaps.size[FREE_SLOTS]] = slot
    heaps.size[FREE_SLOTS] += 1
