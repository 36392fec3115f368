"""Lists of uncertain records in rank order.

A list is a pair of arrays with one column per record: floats (`SCORE`, `CHANCE`) and integers
(`TIE`, `RULE`, `GROUP`, `LEAVES`, `ID`). ``LEAVES`` is the first step at which a record is gone.
Records arrive in the order in which they leave. Arrays may be longer than the list, so functions
take the number of records that they hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

SCORE, CHANCE = 0, 1
TIE, RULE, GROUP, LEAVES, ID = range(5)
FLOATS, INTS = 2, 5


class RecordList(NamedTuple):
    """A list of records."""

    floats: Floats
    ints: Ints


@kernel
def no_records() -> RecordList:
    """Return an empty list."""
    return RecordList(np.empty((FLOATS, 0)), np.empty((INTS, 0), np.int64))


@kernel
def precedes(left: RecordList, a: int, right: RecordList, b: int) -> bool:
    """Whether record a of one list ranks before record b of another."""
    score, other = left.floats[SCORE, a], right.floats[SCORE, b]
    if score != other:
        return bool(score > other)
    return bool(left.ints[TIE, a] > right.ints[TIE, b])


@kernel
def copy(target: RecordList, a: int, source: RecordList, b: int) -> None:
    """Overwrite record a of the target with record b of the source."""
    target.floats[SCORE, a] = source.floats[SCORE, b]
    target.floats[CHANCE, a] = source.floats[CHANCE, b]
    for row in range(INTS):
        target.ints[row, a] = source.ints[row, b]


@kernel
def room(records: RecordList, filled: int, wanted: int) -> RecordList:
    """Return the list, or a larger copy of its ``filled`` records if ``wanted`` do not fit."""
    capacity = records.floats.shape[1]
    if wanted <= capacity:
        return records
    size = max(2 * capacity, wanted, 8)
    larger = RecordList(np.empty((FLOATS, size)), np.empty((INTS, size), np.int64))
    for a in range(filled):
        copy(larger, a, records, a)
    return larger


@kernel
def merge(
    target: RecordList, start: int, count: int, source: RecordList, first: int, more: int
) -> None:
    """Merge ``more`` records of the source, from ``first`` on, into ``count`` records of the target
    from ``start`` on. Both are in rank order; the target must have room behind its records."""
    a, b, end = start + count - 1, first + more - 1, start + count + more - 1
    while b >= first:
        if a >= start and precedes(source, b, target, a):
            copy(target, end, target, a)
            a -= 1
        else:
            copy(target, end, source, b)
            b -= 1
        end -= 1


@kernel
def merged(
    records: RecordList, count: int, source: RecordList, first: int, more: int
) -> RecordList:
    """Return a list of ``count`` records with ``more`` of another one merged in."""
    records = room(records, count, count + more)
    merge(records, 0, count, source, first, more)
    return records


@kernel
def leading(records: RecordList, first: int, count: int, other: RecordList, lowest: int) -> int:
    """Count the records that rank before record ``lowest`` of another list."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if precedes(records, first + middle, other, lowest):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def stay(records: RecordList, start: int, count: int, step: int) -> int:
    """Move the records together that have not left by ``step``; return how many they are."""
    kept = start
    for a in range(start, start + count):
        if records.ints[LEAVES, a] > step:
            if kept < a:
                copy(records, kept, records, a)
            kept += 1
    return kept - start


@kernel
def oldest(records: RecordList, start: int, count: int) -> int:
    """Return the step at which the first of the records leaves."""
    leaves = records.ints[LEAVES, start : start + count]
    first = NEVER
    for j in range(count):
        first = min(first, leaves[j])
    return first


@kernel
def append_by_leaving(
    target: RecordList, filled: int, arrivals: RecordList, first: int, stop: int
) -> None:
    """Append the arrivals of one step in the order in which they leave; there must be room.

    The records of a step leave at one of two steps.
    """
    early = oldest(arrivals, first, stop - first)
    for late in range(2):
        for a in range(first, stop):
            if (arrivals.ints[LEAVES, a] > early) == (late == 1):
                copy(target, filled, arrivals, a)
                filled += 1


@kernel
def same_ids(left: RecordList, a: int, right: RecordList, b: int, count: int) -> bool:
    """Whether two stretches of lists hold the same records."""
    same = True
    for j in range(count):
        same &= left.ints[ID, a + j] == right.ints[ID, b + j]
    return same


@kernel
def holds(records: RecordList, start: int, stop: int, id: int) -> bool:
    """Whether one of the records has this id."""
    held = False
    for a in range(start, stop):
        held |= records.ints[ID, a] == id
    return held


@kernel
def rank_order(records: RecordList, start: int, stop: int) -> Ints:
    """Return the indices of the records in rank order."""
    count = stop - start
    key = np.empty(count)
    for j in range(count):
        key[j] = -records.floats[SCORE, start + j]
    order = ascending(key)
    first = 0
    while first < count:
        last = first + 1
        while last < count and key[order[last]] == key[order[first]]:
            last += 1
        if last - first > 1:
            tied, ties = order[first:last].copy(), np.empty(last - first, np.int64)
            for j in range(last - first):
                ties[j] = -records.ints[TIE, start + tied[j]]
            by_tie = ascending(ties)
            for j in range(last - first):
                order[first + j] = tied[by_tie[j]]
        first = last
    for j in range(count):
        order[j] += start
    return order


@kernel
def ranked_copy(records: RecordList, start: int, stop: int) -> RecordList:
    """Return a copy of the records in rank order."""
    count = stop - start
    order = rank_order(records, start, stop)
    ranked = RecordList(np.empty((FLOATS, count)), np.empty((INTS, count), np.int64))
    for j in range(count):
        copy(ranked, j, records, order[j])
    return ranked


@kernel
def take(chance: Floats, rule: Ints, group: Ints, indices: Ints) -> tuple[Floats, Ints, Ints]:
    """Return what worlds are weighed by, for the records at these indices."""
    count = len(indices)
    some_chance = np.empty(count)
    some_rule, some_group = np.empty(count, np.int64), np.empty(count, np.int64)
    for j in range(count):
        index = indices[j]
        some_chance[j], some_rule[j], some_group[j] = chance[index], rule[index], group[index]
    return some_chance, some_rule, some_group
