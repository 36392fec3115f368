"""The queue of compact sets, each written out. See ``crestline.uncertain.csq``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.common.output import Report
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import (
    RecordList,
    copy,
    leading,
    merge,
    merged,
    oldest,
    precedes,
    room,
    same_ids,
    stay,
)
from crestline.kernels.uncertain.steps import (
    OWN,
    STEP,
    Shown,
    SynopsisQuery,
    add_due,
    answer,
    compact_size,
    depth,
    next_step,
    take_step,
)
from crestline.types import Ints

#: Entries of ``meta``: records of the newest suffix that does not close, sets in the queue.
NEWEST, SETS = OWN, OWN + 1


class SetQueue(NamedTuple):
    """Compact sets, the oldest first. Set s is at ``bounds[s] .. bounds[s + 1]``."""

    records: RecordList
    bounds: Ints


@kernel
def run_csq(
    query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, meta: Ints,
    newest: RecordList, queue: SetQueue, shown: Shown, report: Report,
) -> tuple[RecordList, SetQueue, Shown, Report]:  # fmt: skip
    """Handle all steps up to ``until``."""
    position = 0
    while True:
        arriving = steps[position] if position < len(steps) else NEVER
        changing = _changing(newest, queue, meta)
        step = next_step(query, arriving, changing, meta)
        if step > until:
            break
        meta[STEP] = step
        touched = False
        while meta[SETS] and changing <= step:  # the oldest set has lost a record: it is useless
            _drop_first(queue, meta)
            changing = oldest(queue.records, 0, queue.bounds[1]) if meta[SETS] else NEVER
            touched = True
        if meta[SETS] == 0:
            kept = stay(newest, 0, meta[NEWEST], step)
            touched |= kept < meta[NEWEST]
            meta[NEWEST] = kept
        first = position
        position = take_step(arrivals, steps, position, step, meta)
        if position > first:
            count = position - first
            affected = _oldest_affected(queue, meta, arrivals, first)
            touched |= affected == 0
            queue = _update(query, queue, meta, affected, arrivals, first, count)
            newest = merged(newest, meta[NEWEST], arrivals, first, count)
            meta[NEWEST] += count
            before = meta[SETS]
            queue = _close_newest(query, newest, queue, meta)
            touched |= before == 0
        changed = False
        if touched and meta[SETS] == 0:
            _, changed, shown = answer(query, newest, meta[NEWEST], shown, meta)
        elif touched:
            _, changed, shown = answer(query, queue.records, queue.bounds[1], shown, meta)
        report = add_due(query, step, changed, shown, meta, report)
    meta[STEP] = max(meta[STEP], until)
    return newest, queue, shown, report


@kernel
def _changing(newest: RecordList, queue: SetQueue, meta: Ints) -> int:
    """Return the step at which the compact set of the window loses a record."""
    if meta[SETS]:
        return oldest(queue.records, 0, queue.bounds[1])
    return oldest(newest, 0, meta[NEWEST])


@kernel
def _drop_first(queue: SetQueue, meta: Ints) -> None:
    """Remove the oldest set from the queue."""
    records, bounds = queue
    dropped = bounds[1]
    for a in range(dropped, bounds[meta[SETS]]):
        copy(records, a - dropped, records, a)
    for s in range(meta[SETS]):
        bounds[s] = bounds[s + 1] - dropped
    meta[SETS] -= 1


@kernel
def _oldest_affected(queue: SetQueue, meta: Ints, arrivals: RecordList, first: int) -> int:
    """Find the oldest set that the arrivals change: the best of them ranks before its last record.
    The older a set, the higher its last record ranks."""
    s = meta[SETS]
    while s > 0 and precedes(arrivals, first, queue.records, queue.bounds[s] - 1):
        s -= 1
    return int(s)


@kernel
def _update(
    query: SynopsisQuery, queue: SetQueue, meta: Ints, start: int, arrivals: RecordList,
    first: int, count: int,
) -> SetQueue:  # fmt: skip
    """Merge the arrivals into the sets from ``start`` on; of equal sets one is enough."""
    records, bounds = queue
    sets = meta[SETS]
    if start == sets:
        return queue
    base, total = bounds[start], bounds[sets]
    old = RecordList(records.floats[:, base:total].copy(), records.ints[:, base:total].copy())
    ends = bounds[start : sets + 1] - base
    records = room(records, base, total + (sets - start) * count)
    meta[SETS] = start
    end = base
    for s in range(len(ends) - 1):
        size = ends[s + 1] - ends[s]
        for j in range(size):
            copy(records, end + j, old, ends[s] + j)
        more = leading(arrivals, first, count, old, ends[s + 1] - 1)
        merge(records, end, size, arrivals, first, more)
        size = compact_size(query, records, end, size + more)
        if not _repeats(records, bounds, meta[SETS], end, size):
            end += size
            meta[SETS] += 1
            bounds[meta[SETS]] = end
    return SetQueue(records, bounds)


@kernel
def _repeats(records: RecordList, bounds: Ints, sets: int, start: int, size: int) -> bool:
    """Whether the set that begins at ``start`` equals the last one of the queue."""
    if sets == 0 or bounds[sets] - bounds[sets - 1] != size:
        return False
    return same_ids(records, bounds[sets - 1], records, start, size)


@kernel
def _close_newest(
    query: SynopsisQuery, newest: RecordList, queue: SetQueue, meta: Ints
) -> SetQueue:
    """While the newest records close, move their compact set to the queue and forget what is not
    newer than its oldest record."""
    records, bounds = queue
    sets = meta[SETS]
    if sets:  # records of a unit may arrive at several steps, also after it has closed
        newest_set = oldest(records, bounds[sets - 1], bounds[sets] - bounds[sets - 1])
        meta[NEWEST] = stay(newest, 0, meta[NEWEST], newest_set)
    while meta[NEWEST]:
        closed = depth(query, newest, 0, meta[NEWEST])
        if closed < 0:
            break
        end = bounds[meta[SETS]]
        records = room(records, end, end + closed)
        for j in range(closed):
            copy(records, end + j, newest, j)
        if not _repeats(records, bounds, meta[SETS], end, closed):
            meta[SETS] += 1
            if meta[SETS] == len(bounds):
                longer = np.empty(2 * len(bounds), np.int64)
                for s in range(len(bounds)):
                    longer[s] = bounds[s]
                bounds = longer
            bounds[meta[SETS]] = end + closed
        meta[NEWEST] = stay(newest, 0, meta[NEWEST], oldest(newest, 0, closed))
    return SetQueue(records, bounds)


__all__ = ["NEWEST", "SETS", "SetQueue", "run_csq"]
