"""How the buffer of SCSQ_BUFFER is emptied: segments are made of what it holds.

See ``crestline.uncertain.scsq_buffer``.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import (
    FLOATS,
    ID,
    INTS,
    LEAVES,
    RecordList,
    copy,
    holds,
    merged,
    no_records,
    oldest,
    precedes,
    ranked_copy,
    room,
    stay,
)
from crestline.kernels.uncertain.segments import (
    NEWEST,
    SEGMENTS,
    H,
    SegmentQueue,
    adapt,
    append,
    expire,
    join_small,
    update,
)
from crestline.kernels.uncertain.steps import OWN, STEP, SynopsisQuery, compact_size, depth
from crestline.types import Ints

#: Entries of ``meta``: how many buffered records make it worth a try to empty the buffer; how many
#: of them, the first, the segments know.
FULL, IN_SEGMENTS = OWN + 5, OWN + 6
#: The buffer takes this number of records at least.
LEAST = 64
#: And this many times what the segments hold: emptying it goes through all of these.
TIMES = 3


@kernel
def empty_buffer(
    query: SynopsisQuery, buffer: RecordList, queue: SegmentQueue, meta: Ints
) -> SegmentQueue:
    """Make segments of the buffered records and bring the others up to date. Records newer than
    all segments stay in the buffer."""
    expire(queue, meta, meta[STEP])
    segments, newest_set = meta[SEGMENTS], NEVER
    first = 0
    if segments:
        # What leaves with the oldest of the newest set, or before, belongs to suffixes that have
        # their segments already.
        newest_set = oldest(queue.records, queue.bounds[segments - 1], queue.sizes[segments - 1])
        while first < meta[NEWEST] and buffer.ints[LEAVES, first] <= newest_set:
            first += 1
    else:
        meta[NEWEST], meta[IN_SEGMENTS] = stay(buffer, 0, meta[NEWEST], meta[STEP]), 0
    compact, size, start = _newest_set(query, buffer, first, meta)
    if size == 0 and first == 0:  # nothing closes yet: wait for as many again
        meta[FULL] = max(2 * meta[NEWEST], LEAST)
        return queue
    made, fresh = 0, SegmentQueue(no_records(), np.zeros(1, np.int64), np.zeros(1, np.int64))
    if size > 0:
        newest_set = oldest(compact, 0, size)
        fresh, made, compact, size = _make_segments(
            query, buffer, first, start, compact, size, max(meta[H], size)
        )
    # The compact set of all that is in the buffer, for the segments that are there already.
    compact = merged(compact, size, ranked_copy(buffer, 0, first), 0, first)
    size = compact_size(query, compact, 0, size + first)
    size = _leave_out(compact, size, buffer, meta[IN_SEGMENTS])
    queue = update(query, queue, meta, compact, 0, size)
    for s in range(made - 1, -1, -1):
        begin, members = fresh.bounds[s], fresh.sizes[s]
        extras = fresh.bounds[s + 1] - begin - members
        queue = append(queue, meta, fresh.records, begin, members, extras)
    adapt(queue, meta)
    join_small(queue, meta)
    meta[NEWEST] = meta[IN_SEGMENTS] = stay(buffer, 0, meta[NEWEST], newest_set)
    meta[FULL] = meta[NEWEST] + max(TIMES * queue.bounds[meta[SEGMENTS]], LEAST)
    return queue


@kernel
def _newest_set(
    query: SynopsisQuery, buffer: RecordList, first: int, meta: Ints
) -> tuple[RecordList, int, int]:
    """Find a short suffix of the buffer, from ``first`` on at most, that closes.

    Return its compact set, the size of that (0: there is none), and the start of the records that
    leave no earlier than its oldest.
    """
    total = meta[NEWEST]
    some = min(total - first, max(2 * meta[H], 2 * query.k, 8))
    while some > 0:
        start = total - some
        while start > first and buffer.ints[LEAVES, start - 1] == buffer.ints[LEAVES, start]:
            start -= 1
        compact = ranked_copy(buffer, start, total)
        size = depth(query, compact, 0, total - start)
        if size >= 0:
            leaves = oldest(compact, 0, size)
            while start < total and buffer.ints[LEAVES, start] < leaves:
                start += 1
            return compact, size, start
        if start == first:
            break
        some = min(total - first, 2 * some)
    return no_records(), 0, 0


@kernel
def _make_segments(
    query: SynopsisQuery, buffer: RecordList, first: int, start: int, compact: RecordList,
    size: int, enough: int,
) -> tuple[SegmentQueue, int, RecordList, int]:  # fmt: skip
    """Make segments of the buffered records from ``first`` on, the newest first.

    ``compact`` is the compact set of those from ``start`` on. Older ones become extras; when there
    are enough, the next segment begins. Return the segments, how many they are, the compact set of
    all of the records, and its size.
    """
    records = no_records()
    bounds, sizes = np.zeros(start - first + 2, np.int64), np.empty(start - first + 1, np.int64)
    extra = RecordList(np.empty((FLOATS, start - first)), np.empty((INTS, start - first), np.int64))
    made = extras = 0
    position = start - 1
    while True:
        while position >= first:
            if precedes(buffer, position, compact, size - 1):
                copy(extra, extras, buffer, position)
                extras += 1
            position -= 1
            if extras >= enough and (
                position < first
                or buffer.ints[LEAVES, position] != buffer.ints[LEAVES, position + 1]
            ):
                break
        ranked = ranked_copy(extra, 0, extras)
        end = bounds[made]
        records = room(records, end, end + size + extras)
        for j in range(size):
            copy(records, end + j, compact, j)
        for j in range(extras):
            copy(records, end + size + j, ranked, j)
        sizes[made] = size
        made += 1
        bounds[made] = end + size + extras
        compact = merged(compact, size, ranked, 0, extras)
        size = compact_size(query, compact, 0, size + extras)
        extras = 0
        if position < first:
            return SegmentQueue(records, bounds, sizes), made, compact, size


@kernel
def _leave_out(compact: RecordList, count: int, buffer: RecordList, some: int) -> int:
    """Leave out the first ``some`` records of the buffer; return how many are left."""
    left = 0
    for a in range(count):
        if not holds(buffer, 0, some, compact.ints[ID, a]):
            if left < a:
                copy(compact, left, compact, a)
            left += 1
    return left


__all__ = ["FULL", "IN_SEGMENTS", "LEAST", "TIMES", "empty_buffer"]
