"""Heaps of objects that know their positions in them.

Each heap holds slots of objects, the best first, and is named by a number (`SCORE`, `BOUND`, ...).
The larger key is better; of equal keys the later time is. Every object stores its position in each
heap (-1: not in it), so it can be moved or removed wherever it stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Ints, Places, Records

#: The heaps. SCORE and BOUND: the largest score and upper bound first; where there are lists of
#: streams, SCORE holds those objects only that are in the view (``sorted_lists``). FREE_SLOTS is a
#: row of unused slots, not a heap. WAKE: hidden objects, the first to be visible again first. From
#: STREAM on there is one heap per stream, by value. The last two are there where they are needed.
SCORE, BOUND, FREE_SLOTS, WAKE, STREAM = range(5)


class Heaps(NamedTuple):
    """All heaps of one partition and the objects in them."""

    #: How many slots each row of ``slot`` holds.
    size: Ints
    #: By heap and position.
    slot: Places
    #: By slot: records of the dtype ``objects.OBJECT``.
    objects: Records
    #: By slot, and from the second column on by stream: records of the dtype ``objects.LISTED``;
    #: empty without lists.
    lists: Records


@borrowing_kernel
def key(heaps: Heaps, which: int, slot: int) -> float:
    """Return the number by which a heap is ordered."""
    objects = heaps.objects
    if which == SCORE:
        return float(objects[slot].score)
    if which == BOUND:
        return float(objects[slot].bound)
    if which == WAKE:
        return -float(objects[slot].hidden)
    return float(heaps.lists[slot, which - WAKE].value)


@borrowing_kernel
def position_of(heaps: Heaps, which: int, slot: int) -> int:
    """Return the position of an object in a heap, or -1."""
    objects = heaps.objects
    if which == SCORE:
        return int(objects[slot].in_scores)
    if which == BOUND:
        return int(objects[slot].in_bounds)
    if which == WAKE:
        return int(objects[slot].in_wakes)
    return int(heaps.lists[slot, which - WAKE].number)


@borrowing_kernel
def _put(heaps: Heaps, which: int, slot: int, position: int) -> None:
    objects = heaps.objects
    if position >= 0:
        heaps.slot[which, position] = slot
    if which == SCORE:
        objects[slot].in_scores = position
    elif which == BOUND:
        objects[slot].in_bounds = position
    elif which == WAKE:
        objects[slot].in_wakes = position
    else:
        heaps.lists[slot, which - WAKE].number = position


@borrowing_kernel
def _better(heaps: Heaps, which: int, a: int, b: int) -> bool:
    first, second = key(heaps, which, a), key(heaps, which, b)
    if first != second:
        return first > second
    return bool(heaps.objects[a].latest > heaps.objects[b].latest)


@borrowing_kernel
def _rise(heaps: Heaps, which: int, position: int) -> int:
    """Move an entry up as far as it belongs; return its new position."""
    slots = heaps.slot
    slot = slots[which, position]
    while position > 0:
        parent = (position - 1) >> 1
        if not _better(heaps, which, slot, slots[which, parent]):
            break
        _put(heaps, which, slots[which, parent], position)
        position = parent
    _put(heaps, which, slot, position)
    return position


@borrowing_kernel
def _sink(heaps: Heaps, which: int, position: int, size: int) -> None:
    """Move an entry down as far as it belongs."""
    slots = heaps.slot
    slot = slots[which, position]
    while True:
        child = 2 * position + 1
        if child >= size:
            break
        if child + 1 < size and _better(heaps, which, slots[which, child + 1], slots[which, child]):
            child += 1
        if not _better(heaps, which, slots[which, child], slot):
            break
        _put(heaps, which, slots[which, child], position)
        position = child
    _put(heaps, which, slot, position)


@borrowing_kernel
def hold(heaps: Heaps, which: int, slot: int) -> None:
    """Insert an object, or move it to its place after its key has changed."""
    position = position_of(heaps, which, slot)
    size = heaps.size[which]
    if position < 0:
        heaps.slot[which, size] = slot
        heaps.size[which] = size + 1
        _rise(heaps, which, size)
    elif _rise(heaps, which, position) == position:
        _sink(heaps, which, position, size)


@borrowing_kernel
def release(heaps: Heaps, which: int, slot: int) -> None:
    """Remove an object if it is in the heap."""
    position = position_of(heaps, which, slot)
    if position < 0:
        return
    _put(heaps, which, slot, -1)
    heaps.size[which] -= 1
    size = heaps.size[which]
    if position < size:
        heaps.slot[which, position] = heaps.slot[which, size]
        if _rise(heaps, which, position) == position:
            _sink(heaps, which, position, size)


@kernel
def next_best(heaps: Heaps, which: int, fringe: Ints, waiting: int) -> tuple[int, Ints, int]:
    """Return the next object of a heap, best first, then the fringe and its length.

    The fringe is itself a heap: the positions whose parents were returned and which were not. It
    begins as ``[0]``, or empty for an empty heap.
    """
    slots, size = heaps.slot, heaps.size[which]
    best = fringe[0]
    waiting -= 1
    # The last entry of the fringe replaces the first and sinks.
    last = fringe[waiting]
    node = 0
    while True:
        child = 2 * node + 1
        if child >= waiting:
            break
        if child + 1 < waiting and _better(
            heaps, which, slots[which, fringe[child + 1]], slots[which, fringe[child]]
        ):
            child += 1
        if not _better(heaps, which, slots[which, fringe[child]], slots[which, last]):
            break
        fringe[node] = fringe[child]
        node = child
    if waiting > 0:
        fringe[node] = last
    if waiting + 2 > len(fringe):
        wider = np.empty(2 * len(fringe), np.int64)
        for j in range(waiting):
            wider[j] = fringe[j]
        fringe = wider
    for below in range(2 * best + 1, min(2 * best + 3, size)):
        node = waiting
        while node > 0:
            parent = (node - 1) >> 1
            if not _better(heaps, which, slots[which, below], slots[which, fringe[parent]]):
                break
            fringe[node] = fringe[parent]
            node = parent
        fringe[node] = below
        waiting += 1
    return slots[which, best], fringe, waiting


@kernel
def leading(heaps: Heaps, which: int, wanted: int) -> Ints:
    """Return the ``wanted`` best objects, best first, and those that equal the last of them in key
    and time."""
    objects, size = heaps.objects, heaps.size[which]
    best = np.empty(min(size, wanted) + 4, np.int64)
    fringe, waiting, count = np.zeros(16, np.int64), min(1, size), 0
    while waiting > 0:
        if count >= wanted:
            a, b = heaps.slot[which, fringe[0]], best[wanted - 1]
            if key(heaps, which, a) != key(heaps, which, b):
                break
            if objects[a].latest != objects[b].latest:
                break
        slot, fringe, waiting = next_best(heaps, which, fringe, waiting)
        best, count = appended(best, count, slot)
    return best[:count]


@kernel
def appended(slots: Ints, count: int, slot: int) -> tuple[Ints, int]:
    """Return the slots with one more, in a larger array if need be, and how many they are."""
    if count == len(slots):
        larger = np.empty(2 * count, np.int64)
        for j in range(count):
            larger[j] = slots[j]
        slots = larger
    slots[count] = slot
    return slots, count + 1
