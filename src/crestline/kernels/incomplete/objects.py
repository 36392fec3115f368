"""Objects with several values, as records; heaps of them; where they are found.

An object has a *slot* in an array of records. Heaps hold slots, the best first, and every object
knows its place in each heap (-1: it is not in it), so that it can be moved or taken out wherever it
stands. Which heap is meant is a number (`SCORE`, `BOUND` ...); the larger key is better, and of
equal ones the later time. An open table finds the slot of a key.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.product import product
from crestline.kernels.jit.tiers import kernel
from crestline.types import Ints, Places, Records

#: The heaps: by score, by upper bound, by when it is not hidden any more, what objects are certain
#: to score (the least first), the view of SLA; in the row after that stand the slots that are free;
#: then there is a heap for each stream, by value.
SCORE, BOUND, WAKE, CERTAIN, VIEW, FREE_SLOTS, STREAM = range(7)

OBJECT = np.dtype(
    [
        # Two halves of the key; of equal objects the one with the smaller code comes first.
        ("high", "i8"), ("low", "i8"), ("code", "i8"),
        ("id", "i8"),  # -1: the slot is free
        ("latest", "i8"),  # the time of the newest value
        ("hidden", "i8"),  # until when values are in the window that were forgotten
        ("seen", "i8"),  # streams on which it was seen since it came, as bits
        ("score", "f8"), ("bound", "f8"), ("certain", "f8"),
        ("newest", "i4"),  # its newest observation, or -1
        ("shown", "i4"),
        ("in_scores", "i4"), ("in_bounds", "i4"), ("in_wakes", "i4"), ("in_certain", "i4"),
        ("in_view", "i4"), ("lists", "i4"),  # in how many lists of streams it is
        ("mark", "i8"),
    ],
    align=True,
)  # fmt: skip
#: Of an object on a stream: its value there, and its place in the stream's heap.
LISTED = np.dtype([("value", "f8"), ("place", "i8")], align=True)

#: Entries of ``meta`` that say how many slots were ever used, and how many of them are free again;
#: from where on others have theirs; and from where on the sizes of the heaps stand.
USED, FREE, OTHERS = range(3)
SIZES = 16

_GOLDEN = 0x1E3779B97F4A7C15
_ODD = 0x3F58476D1CE4E5B9
_ALL = (1 << 63) - 1


@kernel
def mixed(high: int, low: int) -> int:
    """A number, not negative, that depends on every bit of both."""
    h = (int(high) & _ALL) ^ product(int(low) & _ALL, _ODD)
    h = product(h ^ (h >> 32), _GOLDEN)
    h = product(h ^ (h >> 29), _ODD)
    return h ^ (h >> 32)


# -- heaps ------------------------------------------------------------------------------------


@kernel
def key(objects: Records, lists: Records, which: int, slot: int) -> float:
    """By what a heap is ordered."""
    if which in (SCORE, VIEW):
        return float(objects[slot].score)
    if which == BOUND:
        return float(objects[slot].bound)
    if which == CERTAIN:
        return -float(objects[slot].certain)
    if which == WAKE:
        return -float(objects[slot].hidden)
    return float(lists[slot, which - STREAM].value)


@kernel
def place_of(objects: Records, lists: Records, which: int, slot: int) -> int:
    """Where an object stands in a heap, or -1."""
    if which == SCORE:
        return int(objects[slot].in_scores)
    if which == BOUND:
        return int(objects[slot].in_bounds)
    if which == WAKE:
        return int(objects[slot].in_wakes)
    if which == CERTAIN:
        return int(objects[slot].in_certain)
    if which == VIEW:
        return int(objects[slot].in_view)
    return int(lists[slot, which - STREAM].place)


@kernel
def _put(heaps: Ints, objects: Records, lists: Records, which: int, slot: int, place: int) -> None:
    if place >= 0:
        heaps[which, place] = slot
    if which == SCORE:
        objects[slot].in_scores = place
    elif which == BOUND:
        objects[slot].in_bounds = place
    elif which == WAKE:
        objects[slot].in_wakes = place
    elif which == CERTAIN:
        objects[slot].in_certain = place
    elif which == VIEW:
        objects[slot].in_view = place
    else:
        lists[slot, which - STREAM].place = place


@kernel
def _better(objects: Records, lists: Records, which: int, a: int, b: int) -> bool:
    mine, other = key(objects, lists, which, a), key(objects, lists, which, b)
    if mine != other:
        return mine > other
    return bool(objects[a].latest > objects[b].latest)


@kernel
def _rise(heaps: Ints, objects: Records, lists: Records, which: int, at: int) -> int:
    """Let an entry rise as far as it should; where it stands then."""
    slot = heaps[which, at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _better(objects, lists, which, slot, heaps[which, parent]):
            break
        _put(heaps, objects, lists, which, heaps[which, parent], at)
        at = parent
    _put(heaps, objects, lists, which, slot, at)
    return at


@kernel
def _sink(heaps: Ints, objects: Records, lists: Records, which: int, at: int, size: int) -> None:
    slot = heaps[which, at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _better(
            objects, lists, which, heaps[which, child + 1], heaps[which, child]
        ):
            child += 1
        if not _better(objects, lists, which, heaps[which, child], slot):
            break
        _put(heaps, objects, lists, which, heaps[which, child], at)
        at = child
    _put(heaps, objects, lists, which, slot, at)


@kernel
def hold(meta: Ints, heaps: Ints, objects: Records, lists: Records, which: int, slot: int) -> None:
    """Put an object in, or in order again after its key has changed."""
    at = place_of(objects, lists, which, slot)
    size = meta[SIZES + which]
    if at < 0:
        heaps[which, size] = slot
        meta[SIZES + which] = size + 1
        _rise(heaps, objects, lists, which, size)
    elif _rise(heaps, objects, lists, which, at) == at:
        _sink(heaps, objects, lists, which, at, size)


@kernel
def release(
    meta: Ints, heaps: Ints, objects: Records, lists: Records, which: int, slot: int
) -> None:
    """Take an object out, if it is in."""
    at = place_of(objects, lists, which, slot)
    if at < 0:
        return
    _put(heaps, objects, lists, which, slot, -1)
    meta[SIZES + which] -= 1
    size = meta[SIZES + which]
    if at < size:
        heaps[which, at] = heaps[which, size]
        if _rise(heaps, objects, lists, which, at) == at:
            _sink(heaps, objects, lists, which, at, size)


@kernel
def begin(heaps: Ints, size: int) -> Ints:
    """For ``next_best``: places whose parents have been found, themselves a heap."""
    fringe = np.empty(16, np.int64)
    fringe[0] = 0
    return fringe


@kernel
def next_best(
    heaps: Ints, objects: Records, lists: Records, which: int, size: int, fringe: Ints, waiting: int
) -> tuple[int, Ints, int]:
    """The next object of a heap, best first; the fringe then, and how many places it has."""
    place = fringe[0]
    waiting -= 1
    # The last of the fringe takes the place of the first and sinks.
    last = fringe[waiting]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= waiting:
            break
        if child + 1 < waiting and _better(
            objects, lists, which, heaps[which, fringe[child + 1]], heaps[which, fringe[child]]
        ):
            child += 1
        if not _better(objects, lists, which, heaps[which, fringe[child]], heaps[which, last]):
            break
        fringe[at] = fringe[child]
        at = child
    if waiting > 0:
        fringe[at] = last
    if waiting + 2 > len(fringe):
        wider = np.empty(2 * len(fringe), np.int64)
        for j in range(waiting):
            wider[j] = fringe[j]
        fringe = wider
    for below in range(2 * place + 1, min(2 * place + 3, size)):
        at = waiting
        while at > 0:
            parent = (at - 1) >> 1
            if not _better(
                objects, lists, which, heaps[which, below], heaps[which, fringe[parent]]
            ):
                break
            fringe[at] = fringe[parent]
            at = parent
        fringe[at] = below
        waiting += 1
    return heaps[which, place], fringe, waiting


@kernel
def leading(
    meta: Ints, heaps: Ints, objects: Records, lists: Records, which: int, wanted: int
) -> Ints:
    """The best objects, best first: as many as wanted, and those equal to the last of them in key
    and time."""
    size = meta[SIZES + which]
    found = np.empty(min(size, wanted) + 4, np.int64)
    fringe, waiting, count = begin(heaps, size), min(1, size), 0
    while waiting > 0:
        if count >= wanted:
            a, b = heaps[which, fringe[0]], found[wanted - 1]
            if key(objects, lists, which, a) != key(objects, lists, which, b):
                break
            if objects[a].latest != objects[b].latest:
                break
        slot, fringe, waiting = next_best(heaps, objects, lists, which, size, fringe, waiting)
        if count == len(found):
            more = np.empty(2 * count, np.int64)
            for j in range(count):
                more[j] = found[j]
            found = more
        found[count] = slot
        count += 1
    return found[:count]


# -- finding objects --------------------------------------------------------------------------


@kernel
def find(objects: Records, table: Places, high: int, low: int) -> int:
    """The slot of an object, or -1."""
    last = len(table) - 1
    at = mixed(high, low) & last
    while table[at] >= 0:
        slot = table[at]
        if objects[slot].low == low and objects[slot].high == high:
            return int(slot)
        at = (at + 1) & last
    return -1


@kernel
def enter(objects: Records, table: Places, slot: int) -> None:
    """Write a slot into the table."""
    last = len(table) - 1
    at = mixed(objects[slot].high, objects[slot].low) & last
    while table[at] >= 0:
        at = (at + 1) & last
    table[at] = slot


@kernel
def enter_all(meta: Ints, objects: Records, table: Places) -> None:
    """Write all slots that are in use into an empty table."""
    for slot in range(meta[USED]):
        if objects[slot].id >= 0:
            enter(objects, table, slot)


@kernel
def _erase(objects: Records, table: Places, slot: int) -> None:
    last = len(table) - 1
    at = mixed(objects[slot].high, objects[slot].low) & last
    while table[at] != slot:
        at = (at + 1) & last
    # Whatever stands behind the gap and would no longer be found moves into it.
    probe = at
    while True:
        probe = (probe + 1) & last
        other = table[probe]
        if other < 0:
            break
        home = mixed(objects[other].high, objects[other].low) & last
        if ((probe - home) & last) >= ((probe - at) & last):
            table[at] = other
            at = probe
    table[at] = -1


@kernel
def new_object(
    meta: Ints,
    heaps: Ints,
    objects: Records,
    table: Places,
    high: int,
    low: int,
    code: int,
    id: int,
) -> int:
    """A slot for an object that was not there."""
    if meta[FREE] > 0:
        meta[FREE] -= 1
        slot = int(heaps[FREE_SLOTS, meta[FREE]])
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


@kernel
def clear(objects: Records, slot: int) -> None:
    """Of a slot nothing is anywhere yet."""
    objects[slot].newest = -1
    objects[slot].in_scores = -1
    objects[slot].in_bounds = -1
    objects[slot].in_wakes = -1
    objects[slot].in_certain = -1
    objects[slot].in_view = -1
    objects[slot].lists = 0
    objects[slot].mark = 0


@kernel
def give_back(meta: Ints, heaps: Ints, objects: Records, table: Places, slot: int) -> None:
    """The slot is free again."""
    _erase(objects, table, slot)
    objects[slot].id = -1
    heaps[FREE_SLOTS, meta[FREE]] = slot
    meta[FREE] += 1
