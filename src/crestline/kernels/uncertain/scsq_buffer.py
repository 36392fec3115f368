"""Segments of compact sets behind a buffer, step by step. See
``crestline.uncertain.scsq_buffer``; how the buffer is emptied: ``kernels.uncertain.emptying``."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.common.order import reach
from crestline.kernels.common.output import Report
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.emptying import FULL, IN_SEGMENTS, empty_buffer
from crestline.kernels.uncertain.lists import (
    FLOATS,
    INTS,
    LEAVES,
    SCORE,
    RecordList,
    append_by_leaving,
    copy,
    leading,
    merged,
    oldest,
    precedes,
    ranked_copy,
    room,
    stay,
)
from crestline.kernels.uncertain.segments import (
    CLOSED,
    NEWEST,
    SEGMENTS,
    WHOLE,
    SegmentQueue,
    expire,
    needed,
)
from crestline.kernels.uncertain.steps import (
    EMPTY_FROM,
    STALE,
    STEP,
    Shown,
    SynopsisQuery,
    add_due,
    answer,
    compact_size,
    next_step,
    take_step,
)
from crestline.types import Floats, Ints

#: Records whose scores are compared together.
_BLOCK = 64


@kernel
def run_buffered(
    query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, meta: Ints,
    buffer: RecordList, queue: SegmentQueue, whole: RecordList, shown: Shown,
    report: Report,
) -> tuple[RecordList, SegmentQueue, RecordList, Shown, Report]:  # fmt: skip
    """Handle all steps up to ``until``. ``buffer`` is in the order in which records leave."""
    skips = query.only_changes and query.leave_together
    position = 0
    while True:
        if meta[NEWEST] >= meta[FULL]:
            queue = empty_buffer(query, buffer, queue, meta)
        changing = oldest(whole, 0, meta[WHOLE])
        if skips and meta[CLOSED] and meta[STALE] == 0:
            lowest = whole.floats[SCORE, meta[WHOLE] - 1]
            stop = position + max(0, meta[FULL] - meta[NEWEST])
            before = min(changing, until + 1)
            stop = _harmless(arrivals.floats[SCORE], steps, position, stop, before, lowest)
            if stop > position:
                buffer = _extend(buffer, arrivals, steps, position, stop, meta)
                position = stop
                if meta[NEWEST] >= meta[FULL]:
                    continue
        arriving = steps[position] if position < len(steps) else NEVER
        step = next_step(query, arriving, changing, meta)
        if step > until:
            break
        meta[STEP] = step
        first = position
        position = take_step(arrivals, steps, position, step, meta)
        count = position - first
        touched = meta[STALE] > 0 or changing <= step
        if count:
            buffer = room(buffer, meta[NEWEST], meta[NEWEST] + count)
            append_by_leaving(buffer, meta[NEWEST], arrivals, first, position)
            meta[NEWEST] += count
        if meta[CLOSED] and changing <= step:
            expire(queue, meta, step)
            whole = _restore_whole(query, buffer, queue, whole, meta)
        elif meta[CLOSED]:
            if count and precedes(arrivals, first, whole, meta[WHOLE] - 1):
                more = leading(arrivals, first, count, whole, meta[WHOLE] - 1)
                whole = merged(whole, meta[WHOLE], arrivals, first, more)
                meta[WHOLE] += more
                touched = True
        else:  # nothing closes: the window is what is in the buffer
            if changing <= step:
                meta[WHOLE] = stay(whole, 0, meta[WHOLE], step)
                meta[NEWEST], meta[IN_SEGMENTS] = stay(buffer, 0, meta[NEWEST], step), 0
            whole = merged(whole, meta[WHOLE], arrivals, first, count)
            meta[WHOLE] += count
            touched |= count > 0
        changed = False
        if touched:
            closed, changed, shown = answer(query, whole, meta[WHOLE], shown, meta)
            if closed >= 0:
                meta[WHOLE], meta[CLOSED] = closed, 1
        report = add_due(query, step, changed, shown, meta, report)
    meta[STEP] = max(meta[STEP], until)
    expire(queue, meta, meta[STEP])
    _expire_buffer(buffer, meta)
    return buffer, queue, whole, shown, report


@kernel
def _expire_buffer(buffer: RecordList, meta: Ints) -> None:
    """Remove the records that have left; they are the first ones."""
    count, left = meta[NEWEST], 0
    while left < count and buffer.ints[LEAVES, left] <= meta[STEP]:
        left += 1
    if left:
        for a in range(left, count):
            copy(buffer, a - left, buffer, a)
        meta[NEWEST], meta[IN_SEGMENTS] = count - left, max(0, meta[IN_SEGMENTS] - left)


@kernel
def _harmless(
    scores: Floats, steps: Ints, start: int, stop: int, before: int, lowest: float
) -> int:
    """Return the end of the records from ``start`` on that arrive before the step ``before`` and
    rank behind the score ``lowest``; it is ``stop`` at most."""
    stop = min(stop, len(steps))
    if start < stop and steps[stop - 1] >= before:
        low, high = start, stop
        while low < high:
            middle = (low + high) >> 1
            if steps[middle] < before:
                low = middle + 1
            else:
                high = middle
        stop = low
    while start + _BLOCK <= stop:
        if reach(scores[start : start + _BLOCK], lowest):
            break
        start += _BLOCK
    while start < stop and scores[start] < lowest:
        start += 1
    return start


@kernel
def _extend(
    buffer: RecordList, arrivals: RecordList, steps: Ints, start: int, stop: int, meta: Ints
) -> RecordList:
    """Append arrivals that change no answer to the buffer, and go on to the step of the last."""
    count, filled = stop - start, meta[NEWEST]
    buffer = room(buffer, filled, filled + count)
    # Row by row, which the compiler vectorises.
    for row in range(FLOATS):
        floats = buffer.floats[row, filled : filled + count]
        more_floats = arrivals.floats[row, start:stop]
        for j in range(count):
            floats[j] = more_floats[j]
    for row in range(INTS):
        ints, more_ints = buffer.ints[row, filled : filled + count], arrivals.ints[row, start:stop]
        for j in range(count):
            ints[j] = more_ints[j]
    meta[NEWEST] += count
    meta[STEP] = steps[stop - 1]
    meta[EMPTY_FROM] = max(meta[EMPTY_FROM], arrivals.ints[LEAVES, stop - 1])
    return buffer


@kernel
def _restore_whole(
    query: SynopsisQuery, buffer: RecordList, queue: SegmentQueue, whole: RecordList, meta: Ints
) -> RecordList:
    """Find again what the window needs: the oldest segment, and those buffered records that it
    does not know and that rank before its last record; without a segment, the whole buffer."""
    meta[CLOSED] = meta[SEGMENTS] > 0
    size = 0
    if meta[SEGMENTS]:
        whole = needed(queue, whole)
        size = compact_size(query, whole, 0, queue.bounds[1])
    else:
        meta[NEWEST], meta[IN_SEGMENTS] = stay(buffer, 0, meta[NEWEST], meta[STEP]), 0
    some = RecordList(np.empty((FLOATS, meta[NEWEST])), np.empty((INTS, meta[NEWEST]), np.int64))
    count = 0
    for a in range(meta[IN_SEGMENTS], meta[NEWEST]):
        if size == 0 or precedes(buffer, a, whole, size - 1):
            copy(some, count, buffer, a)
            count += 1
    meta[WHOLE] = size + count
    return merged(whole, size, ranked_copy(some, 0, count), 0, count)


__all__ = ["run_buffered"]
