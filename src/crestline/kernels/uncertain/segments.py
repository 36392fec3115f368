"""The segments of a queue: one compact set each, and what older suffixes may need beside it.

See ``crestline.uncertain.scsq`` for what segments are and for their invariants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import (
    ID,
    LEAVES,
    RecordList,
    copy,
    holds,
    leading,
    merge,
    oldest,
    precedes,
    room,
    same_ids,
    stay,
)
from crestline.kernels.uncertain.steps import OWN, SynopsisQuery, compact_size
from crestline.types import Ints

#: Entries of ``meta``: records of the newest suffixes that are not in the queue yet; segments;
#: records in the compact set of the window (all, if there is none); whether it closes; H.
NEWEST, SEGMENTS, WHOLE, CLOSED, H = range(OWN, OWN + 5)


class SegmentQueue(NamedTuple):
    """Segments, the oldest first. Segment s is at ``bounds[s] .. bounds[s + 1]``: ``sizes[s]``
    records of a compact set, then its *extras* (Lambda in the paper), both in rank order."""

    records: RecordList
    bounds: Ints
    sizes: Ints


@kernel
def expire(queue: SegmentQueue, meta: Ints, step: int) -> None:
    """Remove the segments whose compact sets have lost a record, and extras that have left."""
    records, bounds, sizes = queue
    dropped = 0
    while dropped < meta[SEGMENTS] and oldest(records, bounds[dropped], sizes[dropped]) <= step:
        dropped += 1
    if dropped:
        moved = bounds[dropped]
        for a in range(moved, bounds[meta[SEGMENTS]]):
            copy(records, a - moved, records, a)
        for s in range(dropped, meta[SEGMENTS] + 1):
            bounds[s - dropped] = bounds[s] - moved
            sizes[s - dropped] = sizes[s]
        meta[SEGMENTS] -= dropped
    if meta[SEGMENTS]:  # only the oldest segment can have extras that have left
        extras = bounds[1] - sizes[0]
        if extras and oldest(records, sizes[0], extras) <= step:
            moved = extras - stay(records, sizes[0], extras, step)
            for a in range(bounds[1], bounds[meta[SEGMENTS]]):
                copy(records, a - moved, records, a)
            for s in range(1, meta[SEGMENTS] + 1):
                bounds[s] -= moved


@kernel
def update(
    query: SynopsisQuery, queue: SegmentQueue, meta: Ints, newer: RecordList, first: int,
    count: int,
) -> SegmentQueue:  # fmt: skip
    """Merge records that are newer than all segments into the compact sets that they change.

    A segment keeps the extras that rank before the last of its set. Of segments with equal sets the
    newer takes over the extras of the older.
    """
    records, bounds, sizes = queue
    segments = meta[SEGMENTS]
    start = segments
    while (
        count > 0
        and start > 0
        and precedes(newer, first, records, bounds[start - 1] + sizes[start - 1] - 1)
    ):
        start -= 1
    if start == segments:
        return queue
    base, total = bounds[start], bounds[segments]
    old = RecordList(records.floats[:, base:total].copy(), records.ints[:, base:total].copy())
    old_bounds, old_sizes = bounds[start : segments + 1] - base, sizes[start:segments].copy()
    records = room(records, base, total + (segments - start) * count)
    queue = SegmentQueue(records, bounds, sizes)
    meta[SEGMENTS] = start
    for s in range(len(old_sizes)):
        end = bounds[meta[SEGMENTS]]
        size, origin = old_sizes[s], old_bounds[s]
        for j in range(size):
            copy(records, end + j, old, origin + j)
        more = leading(newer, first, count, old, origin + size - 1)
        merge(records, end, size, newer, first, more)
        size = compact_size(query, records, end, size + more)
        first_extra = origin + old_sizes[s]
        extras = leading(old, first_extra, old_bounds[s + 1] - first_extra, records, end + size - 1)
        _add(queue, meta, size, old, first_extra, extras)
    return queue


@kernel
def append(
    queue: SegmentQueue, meta: Ints, source: RecordList, first: int, size: int, extras: int
) -> SegmentQueue:
    """Add a newest segment: ``size`` records of a compact set, and ``extras`` behind them."""
    records, bounds, sizes = queue
    end = bounds[meta[SEGMENTS]]
    records = room(records, end, end + size + 2 * extras)
    if meta[SEGMENTS] + 1 == len(bounds):
        longer_bounds = np.empty(2 * len(bounds), np.int64)
        longer_sizes = np.empty(2 * len(bounds), np.int64)
        for s in range(len(bounds)):
            longer_bounds[s], longer_sizes[s] = bounds[s], sizes[s]
        bounds, sizes = longer_bounds, longer_sizes
    for j in range(size):
        copy(records, end + j, source, first + j)
    queue = SegmentQueue(records, bounds, sizes)
    _add(queue, meta, size, source, first + size, extras)
    return queue


@kernel
def _add(
    queue: SegmentQueue, meta: Ints, size: int, source: RecordList, first: int, extras: int
) -> None:
    """Make a segment of the ``size`` records behind the last one, and of extras.

    If its set equals that of the segment before it, add its extras to that one's instead.
    """
    records, bounds, sizes = queue
    segments = meta[SEGMENTS]
    start, last = bounds[segments], segments - 1
    if last >= 0 and sizes[last] == size and same_ids(records, bounds[last], records, start, size):
        behind_set = bounds[last] + sizes[last]
        merge(records, behind_set, start - behind_set, source, first, extras)
        bounds[segments] = start + extras
        return
    for j in range(extras):
        copy(records, start + size + j, source, first + j)
    sizes[segments] = size
    bounds[segments + 1] = start + size + extras
    meta[SEGMENTS] += 1


@kernel
def adapt(queue: SegmentQueue, meta: Ints) -> None:
    """Let H follow the largest compact set whenever that has doubled or halved."""
    largest = 0
    for s in range(meta[SEGMENTS]):
        largest = max(largest, queue.sizes[s])
    if largest >= 2 * meta[H] or 2 * largest <= meta[H]:
        meta[H] = largest


@kernel
def join_small(queue: SegmentQueue, meta: Ints) -> None:
    """Restore S3: while a segment and its older neighbour have few extras, the newer one takes
    over the extras of the older and those records of its set that leave first."""
    records, bounds, sizes = queue
    s = meta[SEGMENTS] - 2
    while s >= 0:
        older, newer = bounds[s], bounds[s + 1]
        older_extras = newer - older - sizes[s]
        newer_extras = bounds[s + 2] - newer - sizes[s + 1]
        leaving = oldest(records, older, sizes[s])
        first = 0
        for a in range(older, older + sizes[s]):
            first += records.ints[LEAVES, a] == leaving
        if older_extras + newer_extras + first <= meta[H]:
            _join(queue, meta, s, leaving)
        s -= 1


@kernel
def _join(queue: SegmentQueue, meta: Ints, s: int, leaving: int) -> None:
    """Let segment s + 1 take over what it needs of segment s, and renumber the segments."""
    records, bounds, sizes = queue
    base, total = bounds[s], bounds[meta[SEGMENTS]]
    old = RecordList(records.floats[:, base:total].copy(), records.ints[:, base:total].copy())
    older_size, newer_size = sizes[s], sizes[s + 1]
    newer, after = bounds[s + 1] - base, bounds[s + 2] - base
    end = base
    for a in range(newer, after):
        copy(records, end, old, a)
        end += 1
    # Extras in rank order: those of both, and the records that leave first, one by one.
    extras = base + newer_size
    merge(records, extras, end - extras, old, older_size, newer - older_size)
    end += newer - older_size
    for a in range(older_size):
        # The older set may have lost its first records: then its oldest is an extra already.
        if old.ints[LEAVES, a] == leaving and not holds(records, extras, end, old.ints[ID, a]):
            merge(records, extras, end - extras, old, a, 1)
            end += 1
    shift = end - (base + after)
    for a in range(after, total - base):
        copy(records, base + a + shift, old, a)
    sizes[s] = newer_size
    for t in range(s + 1, meta[SEGMENTS] - 1):
        sizes[t] = sizes[t + 1]
        bounds[t] = bounds[t + 1] + shift
    meta[SEGMENTS] -= 1
    bounds[meta[SEGMENTS]] = total + shift


@kernel
def needed(queue: SegmentQueue, whole: RecordList) -> RecordList:
    """Copy the oldest segment's set and extras, together in rank order, into ``whole``."""
    records, bounds, sizes = queue
    whole = room(whole, 0, bounds[1])
    for a in range(sizes[0]):
        copy(whole, a, records, a)
    merge(whole, 0, sizes[0], records, sizes[0], bounds[1] - sizes[0])
    return whole
