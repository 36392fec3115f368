"""The segments of a queue: a compact set each, and what older suffixes may need beside it.

``bounds[s]`` is where segment s begins in the queue, the oldest first; its compact set is
``sizes[s]`` long, and the rest, up to ``bounds[s + 1]``, are its *extras* (the paper's Lambda), in
rank order too. See ``crestline.uncertain.scsq`` for what they are and the invariants.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    ID,
    LEAVES,
    OWN,
    List,
    Setting,
    copy,
    depth,
    leading,
    merge,
    oldest,
    precedes,
    room,
    same_records,
    stay,
)
from crestline.types import Floats, Ints

#: Entries of ``meta``: records of the newest suffixes that are not in the queue yet; segments;
#: records in the compact set of the window (all, if there is none); whether it closes; H.
NEWEST, SEGMENTS, WHOLE, CLOSED, H = range(OWN, OWN + 5)

#: The queue's records, where its segments begin, how large their compact sets are.
Queue = tuple[Floats, Ints, Ints, Ints]


@kernel
def expire(f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints, step: int) -> None:
    """Remove the segments whose compact sets have lost a record, and extras that have left."""
    gone = 0
    while gone < meta[SEGMENTS] and oldest(i, bounds[gone], sizes[gone]) <= step:
        gone += 1
    if gone:
        moved = bounds[gone]
        for a in range(moved, bounds[meta[SEGMENTS]]):
            copy(f, i, a - moved, f, i, a)
        for s in range(gone, meta[SEGMENTS] + 1):
            bounds[s - gone] = bounds[s] - moved
            sizes[s - gone] = sizes[s]
        meta[SEGMENTS] -= gone
    if meta[SEGMENTS]:  # only the oldest segment can have extras that have left
        extras = bounds[1] - sizes[0]
        if extras and oldest(i, sizes[0], extras) <= step:
            moved = extras - stay(f, i, sizes[0], extras, step)
            for a in range(bounds[1], bounds[meta[SEGMENTS]]):
                copy(f, i, a - moved, f, i, a)
            for s in range(1, meta[SEGMENTS] + 1):
                bounds[s] -= moved


@kernel
def update(
    setting: Setting, f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints, gf: Floats,
    gi: Ints, first: int, count: int,
) -> Queue:  # fmt: skip
    """Take records that are newer than all segments into the compact sets that they change; a
    segment keeps the extras that rank before the last of its set. Of segments with equal sets the
    newer takes over the extras of the older."""
    segments = meta[SEGMENTS]
    start = segments
    while (
        count > 0
        and start > 0
        and precedes(gf, gi, first, f, i, bounds[start - 1] + sizes[start - 1] - 1)
    ):
        start -= 1
    if start == segments:
        return f, i, bounds, sizes
    base, total = bounds[start], bounds[segments]
    tf, ti = f[:, base:total].copy(), i[:, base:total].copy()
    old_bounds, old_sizes = bounds[start : segments + 1] - base, sizes[start:segments].copy()
    f, i = room(f, i, base, total + (segments - start) * count)
    meta[SEGMENTS] = start
    for s in range(len(old_sizes)):
        end = bounds[meta[SEGMENTS]]
        size, origin = old_sizes[s], old_bounds[s]
        for j in range(size):
            copy(f, i, end + j, tf, ti, origin + j)
        more = leading(gf, gi, first, count, tf, ti, origin + size - 1)
        merge(f, i, end, size, gf, gi, first, more)
        size += more
        closed = depth(setting, f, i, end, size)
        size = size if closed < 0 else closed
        extras = leading(
            tf, ti, origin + old_sizes[s], old_bounds[s + 1] - origin - old_sizes[s], f, i,
            end + size - 1,
        )  # fmt: skip
        if not _joins(f, i, bounds, sizes, meta, end, size, tf, ti, origin + old_sizes[s], extras):
            for j in range(extras):
                copy(f, i, end + size + j, tf, ti, origin + old_sizes[s] + j)
            sizes[meta[SEGMENTS]] = size
            meta[SEGMENTS] += 1
            bounds[meta[SEGMENTS]] = end + size + extras
    return f, i, bounds, sizes


@kernel
def _joins(
    f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints, start: int, size: int, tf: Floats,
    ti: Ints, first: int, extras: int,
) -> bool:  # fmt: skip
    """If the set at ``start`` equals that of the segment before it, add its extras to that one's
    (the set is then forgotten); whether that was so."""
    last = meta[SEGMENTS] - 1
    if last < 0 or sizes[last] != size or not same_records(i, bounds[last], i, start, size):
        return False
    known = bounds[last] + sizes[last]
    merge(f, i, known, start - known, tf, ti, first, extras)
    bounds[last + 1] = start + extras
    return True


@kernel
def append(
    f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints, gf: Floats, gi: Ints, first: int,
    size: int, extras: int,
) -> Queue:  # fmt: skip
    """Add a newest segment: ``size`` records of a compact set and ``extras`` behind them."""
    segments = meta[SEGMENTS]
    end = bounds[segments]
    f, i = room(f, i, end, end + size + 2 * extras)
    if segments + 1 == len(bounds):
        longer_bounds = np.empty(2 * len(bounds), np.int64)
        longer_sizes = np.empty(2 * len(bounds), np.int64)
        for s in range(len(bounds)):
            longer_bounds[s], longer_sizes[s] = bounds[s], sizes[s]
        bounds, sizes = longer_bounds, longer_sizes
    for j in range(size):
        copy(f, i, end + j, gf, gi, first + j)
    if not _joins(f, i, bounds, sizes, meta, end, size, gf, gi, first + size, extras):
        for j in range(extras):
            copy(f, i, end + size + j, gf, gi, first + size + j)
        sizes[segments] = size
        bounds[segments + 1] = end + size + extras
        meta[SEGMENTS] += 1
    return f, i, bounds, sizes


@kernel
def adapt(sizes: Ints, meta: Ints) -> None:
    """H follows the largest compact set, whenever that has doubled or halved."""
    largest = 0
    for s in range(meta[SEGMENTS]):
        largest = max(largest, sizes[s])
    if largest >= 2 * meta[H] or 2 * largest <= meta[H]:
        meta[H] = largest


@kernel
def join_small(f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints) -> Queue:
    """Restore the second invariant: while a segment and its older neighbour have few extras, the
    newer takes over the extras of the older and those records of its set that leave first."""
    s = meta[SEGMENTS] - 2
    while s >= 0:
        older, newer = bounds[s], bounds[s + 1]
        older_extras = newer - older - sizes[s]
        newer_extras = bounds[s + 2] - newer - sizes[s + 1]
        leaving = oldest(i, older, sizes[s])
        first = 0
        for a in range(older, older + sizes[s]):
            first += i[LEAVES, a] == leaving
        if older_extras + newer_extras + first <= meta[H]:
            f, i = _join(f, i, bounds, sizes, meta, s, leaving)
        s -= 1
    return f, i, bounds, sizes


@kernel
def _join(f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints, s: int, leaving: int) -> List:
    """Let segment s + 1 take over what it needs of segment s, and number the segments anew."""
    base, total = bounds[s], bounds[meta[SEGMENTS]]
    tf, ti = f[:, base:total].copy(), i[:, base:total].copy()
    older_size, newer_size = sizes[s], sizes[s + 1]
    newer, after = bounds[s + 1] - base, bounds[s + 2] - base
    end = base
    for a in range(newer, after):
        copy(f, i, end, tf, ti, a)
        end += 1
    # Extras in rank order: those of both, and the records that leave first, one by one.
    extras = base + newer_size
    merge(f, i, extras, end - extras, tf, ti, older_size, newer - older_size)
    end += newer - older_size
    for a in range(older_size):
        # The older set may have lost its first records: then its oldest is an extra already.
        if ti[LEAVES, a] == leaving and not among(ti[ID, a], i, extras, end):
            merge(f, i, extras, end - extras, tf, ti, a, 1)
            end += 1
    shift = end - (base + after)
    for a in range(after, total - base):
        copy(f, i, base + a + shift, tf, ti, a)
    sizes[s] = newer_size
    for t in range(s + 1, meta[SEGMENTS] - 1):
        sizes[t] = sizes[t + 1]
        bounds[t] = bounds[t + 1] + shift
    meta[SEGMENTS] -= 1
    bounds[meta[SEGMENTS]] = total + shift
    return f, i


@kernel
def among(id: int, i: Ints, start: int, stop: int) -> bool:
    """Whether one of the records has this id."""
    found = False
    for a in range(start, stop):
        found |= i[ID, a] == id
    return found


@kernel
def needed(f: Floats, i: Ints, bounds: Ints, sizes: Ints, wf: Floats, wi: Ints) -> List:
    """The oldest segment's set and extras together, in rank order."""
    wf, wi = room(wf, wi, 0, bounds[1])
    for a in range(sizes[0]):
        copy(wf, wi, a, f, i, a)
    merge(wf, wi, 0, sizes[0], f, i, sizes[0], bounds[1] - sizes[0])
    return wf, wi
