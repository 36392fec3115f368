"""Segments of compact sets, brought up to date at every step. See ``crestline.uncertain.scsq``."""

from __future__ import annotations

from crestline.core.sentinels import NEVER
from crestline.kernels.common.output import Report
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import (
    RecordList,
    copy,
    leading,
    merged,
    oldest,
    precedes,
    room,
    stay,
)
from crestline.kernels.uncertain.segments import (
    CLOSED,
    NEWEST,
    SEGMENTS,
    WHOLE,
    SegmentQueue,
    adapt,
    append,
    expire,
    join_small,
    needed,
    update,
)
from crestline.kernels.uncertain.steps import (
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
from crestline.types import Ints


@kernel
def run_scsq(
    query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, meta: Ints,
    newest: RecordList, queue: SegmentQueue, whole: RecordList, shown: Shown,
    report: Report,
) -> tuple[RecordList, SegmentQueue, RecordList, Shown, Report]:  # fmt: skip
    """Handle all steps up to ``until``."""
    position = 0
    while True:
        arriving = steps[position] if position < len(steps) else NEVER
        changing = oldest(whole, 0, meta[WHOLE])
        step = next_step(query, arriving, changing, meta)
        if step > until:
            break
        meta[STEP] = step
        lost = changing <= step
        touched = meta[STALE] > 0 or lost
        expire(queue, meta, step)
        if meta[SEGMENTS] == 0:
            meta[NEWEST] = stay(newest, 0, meta[NEWEST], step)
        first = position
        position = take_step(arrivals, steps, position, step, meta)
        count = position - first
        if count:
            queue = update(query, queue, meta, arrivals, first, count)
            newest = merged(newest, meta[NEWEST], arrivals, first, count)
            meta[NEWEST] += count
            queue = _close_newest(query, newest, queue, meta)
            adapt(queue, meta)
            if meta[CLOSED] and not lost and precedes(arrivals, first, whole, meta[WHOLE] - 1):
                more = leading(arrivals, first, count, whole, meta[WHOLE] - 1)
                whole = merged(whole, meta[WHOLE], arrivals, first, more)
                meta[WHOLE] += more
                touched = True
        join_small(queue, meta)
        if lost or not meta[CLOSED]:
            touched |= count > 0
            whole = _restore_whole(newest, queue, whole, meta)
        changed = False
        if touched:
            closed, changed, shown = answer(query, whole, meta[WHOLE], shown, meta)
            meta[WHOLE] = meta[WHOLE] if closed < 0 else closed
        report = add_due(query, step, changed, shown, meta, report)
    meta[STEP] = max(meta[STEP], until)
    expire(queue, meta, meta[STEP])
    join_small(queue, meta)
    return newest, queue, whole, shown, report


@kernel
def _restore_whole(
    newest: RecordList, queue: SegmentQueue, whole: RecordList, meta: Ints
) -> RecordList:
    """Find again what the window needs: the oldest segment, or, without one, the newest records."""
    meta[CLOSED] = meta[SEGMENTS] > 0
    if meta[SEGMENTS]:
        meta[WHOLE] = queue.bounds[1]
        return needed(queue, whole)
    meta[WHOLE] = meta[NEWEST]
    whole = room(whole, 0, meta[NEWEST])
    for a in range(meta[NEWEST]):
        copy(whole, a, newest, a)
    return whole


@kernel
def _close_newest(
    query: SynopsisQuery, newest: RecordList, queue: SegmentQueue, meta: Ints
) -> SegmentQueue:
    """While the newest records close, make a segment of their compact set and forget what is not
    newer than its oldest record."""
    segments = meta[SEGMENTS]
    if segments:  # records of a unit may arrive at several steps, also after it has closed
        last = oldest(queue.records, queue.bounds[segments - 1], queue.sizes[segments - 1])
        meta[NEWEST] = stay(newest, 0, meta[NEWEST], last)
    while meta[NEWEST]:
        closed = depth(query, newest, 0, meta[NEWEST])
        if closed < 0:
            break
        queue = append(queue, meta, newest, 0, closed, 0)
        meta[NEWEST] = stay(newest, 0, meta[NEWEST], oldest(newest, 0, closed))
    return queue


__all__ = ["run_scsq"]
