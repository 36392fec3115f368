"""Compact sets of all suffixes as differences. See ``crestline.uncertain.ccsq``."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.common.output import Report
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import (
    ID,
    LEAVES,
    RecordList,
    append_by_leaving,
    copy,
    merge,
    no_records,
    oldest,
    precedes,
    ranked_copy,
    room,
)
from crestline.kernels.uncertain.steps import (
    OWN,
    STALE,
    STEP,
    Shown,
    SynopsisQuery,
    add_due,
    answer,
    depth,
    next_step,
    take_step,
)
from crestline.types import Bools, Ints

#: Entries of ``meta``: how many records are kept, how many are in the compact set of the window
#: (all of it, if there is none), whether that one closes.
KEPT, WHOLE, CLOSED = range(OWN, OWN + 3)


@kernel
def run_ccsq(
    query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, meta: Ints,
    kept: RecordList, gone: Ints, whole: RecordList, shown: Shown, report: Report,
) -> tuple[RecordList, Ints, RecordList, Shown, Report]:  # fmt: skip
    """Handle all steps up to ``until``.

    ``kept`` is in the order in which records leave. Record t is in the compact sets of the suffixes
    from its own on to, but without, the one that begins with the records leaving at ``gone[t]``.
    """
    position = 0
    while True:
        arriving = steps[position] if position < len(steps) else NEVER
        changing = oldest(whole, 0, meta[WHOLE])
        step = next_step(query, arriving, changing, meta)
        if step > until:
            break
        meta[STEP] = step
        touched = meta[STALE] > 0 or changing <= step
        _expire(kept, gone, meta, step)
        first = position
        position = take_step(arrivals, steps, position, step, meta)
        if position > first:
            touched |= meta[CLOSED] == 0 or precedes(arrivals, first, whole, meta[WHOLE] - 1)
            before = meta[KEPT]
            kept, gone = _append(kept, gone, meta, arrivals, first, position)
            _restore(query, kept, gone, meta, before)
        changed = False
        if touched:
            whole = _collect(kept, gone, meta, step)
            closed, changed, shown = answer(query, whole, meta[WHOLE], shown, meta)
            meta[CLOSED] = closed >= 0
        report = add_due(query, step, changed, shown, meta, report)
    meta[STEP] = max(meta[STEP], until)
    _expire(kept, gone, meta, until)
    return kept, gone, whole, shown, report


@kernel
def _expire(kept: RecordList, gone: Ints, meta: Ints, step: int) -> None:
    """Remove the records that have left; they are the first ones."""
    count, left = meta[KEPT], 0
    while left < count and kept.ints[LEAVES, left] <= step:
        left += 1
    if left:
        for a in range(left, count):
            copy(kept, a - left, kept, a)
            gone[a - left] = gone[a]
        meta[KEPT] = count - left


@kernel
def _append(
    kept: RecordList, gone: Ints, meta: Ints, arrivals: RecordList, first: int, stop: int
) -> tuple[RecordList, Ints]:
    """Add the arrivals of a step."""
    before, after = meta[KEPT], meta[KEPT] + stop - first
    kept = room(kept, before, after)
    capacity = kept.floats.shape[1]
    if len(gone) < capacity:
        longer = np.empty(capacity, np.int64)
        for a in range(before):
            longer[a] = gone[a]
        gone = longer
    append_by_leaving(kept, before, arrivals, first, stop)
    for a in range(before, after):
        gone[a] = LONG_AGO
    meta[KEPT] = after
    return kept, gone


@kernel
def _restore(query: SynopsisQuery, kept: RecordList, gone: Ints, meta: Ints, before: int) -> None:
    """Restore the compact sets, the newest suffix first, until none of the records from ``before``
    on is in a set; note which suffix loses each record."""
    count = meta[KEPT]
    if not meta[CLOSED]:  # if all together do not close, no suffix does: nothing is lost
        ranked = ranked_copy(kept, 0, count)
        if depth(query, ranked, 0, count) < 0:
            return
    compact = room(no_records(), 0, count)  # in here, ids are indices of ``kept``, as -1 - index
    size = 0
    closed = False
    lost = np.zeros(count, np.bool_)
    start = count
    while start > 0:
        leaving = kept.ints[LEAVES, start - 1]
        while start > 0 and kept.ints[LEAVES, start - 1] == leaving:
            start -= 1
            if closed and not precedes(kept, start, compact, size - 1):
                lost[start] = True
                continue
            merge(compact, 0, size, kept, start, 1)
            for j in range(size + 1):
                if compact.ints[ID, j] == kept.ints[ID, start]:
                    compact.ints[ID, j] = -1 - start
            size += 1
        prefix = depth(query, compact, 0, size)
        if prefix >= 0:
            for j in range(prefix, size):
                index = -1 - compact.ints[ID, j]
                gone[index] = leaving
                lost[index] |= kept.ints[LEAVES, index] == leaving
            size = prefix
            closed = True
        fresh = False
        for j in range(size):
            fresh |= -1 - compact.ints[ID, j] >= before
        if closed and not fresh:
            break
    _forget(kept, gone, meta, lost)


@kernel
def _forget(kept: RecordList, gone: Ints, meta: Ints, lost: Bools) -> None:
    """Remove the records that their own suffix has lost."""
    left = 0
    for a in range(meta[KEPT]):
        if not lost[a]:
            if left < a:
                copy(kept, left, kept, a)
                gone[left] = gone[a]
            left += 1
    meta[KEPT] = left


@kernel
def _collect(kept: RecordList, gone: Ints, meta: Ints, step: int) -> RecordList:
    """Collect the compact set of the whole window: what no suffix that is still to come lost."""
    count = 0
    some = room(no_records(), 0, meta[KEPT])
    for a in range(meta[KEPT]):
        if gone[a] <= step:
            copy(some, count, kept, a)
            count += 1
    meta[WHOLE] = count
    return ranked_copy(some, 0, count)


__all__ = ["CLOSED", "KEPT", "WHOLE", "run_ccsq"]
