"""Segments of compact sets, brought up to date in batches. See
``crestline.uncertain.scsq_buffer``."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.order import reach
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    DONE,
    FLOATS,
    ID,
    INTS,
    LAST,
    LEAVES,
    NEVER,
    OWN,
    SCORE,
    STALE,
    List,
    Setting,
    Told,
    answer,
    copy,
    depth,
    leading,
    merge,
    merged,
    next_step,
    oldest,
    precedes,
    rank_order,
    room,
    stay,
    told_at,
)
from crestline.kernels.uncertain.segments import (
    CLOSED,
    NEWEST,
    SEGMENTS,
    WHOLE,
    H,
    Queue,
    adapt,
    among,
    append,
    expire,
    join_small,
    needed,
    update,
)
from crestline.types import Floats, Ints

#: Entries of ``meta``: how many buffered records make it worth a try to empty the buffer; how many
#: of them, the first, are known to the segments.
FULL, KNOWN = OWN + 5, OWN + 6
#: The buffer takes so many records at least.
LEAST = 64
#: And so many times what the segments hold: emptying it goes through all of these.
TIMES = 3
#: Records looked at together.
_BLOCK = 64


@kernel
def run_buffered(
    setting: Setting, arrivals: List, steps: Ints, until: int, meta: Ints, buffer: List,
    queue: List, bounds: Ints, sizes: Ints, whole: List, shown_id: Ints, shown: Floats, told: Told,
) -> tuple[List, Queue, List, Ints, Floats, Told]:  # fmt: skip
    """Handle all steps up to ``until``. ``buffer`` is in the order in which records leave."""
    af, ai = arrivals
    bf, bi = buffer
    f, i = queue
    wf, wi = whole
    skips = setting[4] and setting[7]
    at = 0
    while True:
        if meta[NEWEST] >= meta[FULL]:
            bf, bi, f, i, bounds, sizes = _empty(setting, bf, bi, f, i, bounds, sizes, meta)
        changing = oldest(wi, 0, meta[WHOLE])
        if skips and meta[CLOSED] and meta[STALE] == 0:
            lowest = wf[SCORE, meta[WHOLE] - 1]
            most = max(0, meta[FULL] - meta[NEWEST])
            stop = _harmless(af[SCORE], steps, at, at + most, min(changing, until + 1), lowest)
            if stop > at:
                bf, bi = room(bf, bi, meta[NEWEST], meta[NEWEST] + stop - at)
                _extend(bf, bi, meta[NEWEST], af, ai, at, stop)
                meta[NEWEST] += stop - at
                meta[DONE], meta[LAST] = steps[stop - 1], max(meta[LAST], ai[LEAVES, stop - 1])
                at = stop
                if meta[NEWEST] >= meta[FULL]:
                    continue
        arriving = steps[at] if at < len(steps) else NEVER
        step = next_step(setting, arriving, meta[DONE], meta[LAST], changing)
        if step > until:
            break
        meta[DONE] = step
        first = at
        while at < len(steps) and steps[at] == step:
            meta[LAST] = max(meta[LAST], ai[LEAVES, at])
            at += 1
        count = at - first
        touched = meta[STALE] > 0 or changing <= step
        if count:
            bf, bi = room(bf, bi, meta[NEWEST], meta[NEWEST] + count)
            _put_in_order(bf, bi, meta, af, ai, first, at)
        if meta[CLOSED] and changing <= step:
            expire(f, i, bounds, sizes, meta, step)
            wf, wi = _find_anew(setting, bf, bi, f, i, bounds, sizes, meta, wf, wi, step)
        elif meta[CLOSED]:
            if count and precedes(af, ai, first, wf, wi, meta[WHOLE] - 1):
                more = leading(af, ai, first, count, wf, wi, meta[WHOLE] - 1)
                wf, wi, meta[WHOLE] = merged(wf, wi, meta[WHOLE], af, ai, first, more)
                touched = True
        else:  # nothing closes: the window is what is in the buffer
            if changing <= step:
                meta[WHOLE] = stay(wf, wi, 0, meta[WHOLE], step)
                meta[NEWEST], meta[KNOWN] = stay(bf, bi, 0, meta[NEWEST], step), 0
            wf, wi, meta[WHOLE] = merged(wf, wi, meta[WHOLE], af, ai, first, count)
            touched |= count > 0
        changed = False
        if touched:
            found, changed, shown_id, shown = answer(
                setting, wf, wi, meta[WHOLE], shown_id, shown, meta
            )
            if found >= 0:
                meta[WHOLE], meta[CLOSED] = found, 1
        told = told_at(setting, step, changed, shown_id, shown, meta, told)
    meta[DONE] = max(meta[DONE], until)
    _forget(bf, bi, f, i, bounds, sizes, meta)
    return (bf, bi), (f, i, bounds, sizes), (wf, wi), shown_id, shown, told


@kernel
def _forget(
    bf: Floats, bi: Ints, f: Floats, i: Ints, bounds: Ints, sizes: Ints, meta: Ints
) -> None:
    """Remove what has left by now, from the segments and from the front of the buffer."""
    expire(f, i, bounds, sizes, meta, meta[DONE])
    count, gone = meta[NEWEST], 0
    while gone < count and bi[LEAVES, gone] <= meta[DONE]:
        gone += 1
    if gone:
        for a in range(gone, count):
            copy(bf, bi, a - gone, bf, bi, a)
        meta[NEWEST], meta[KNOWN] = count - gone, max(0, meta[KNOWN] - gone)


@kernel
def _harmless(
    scores: Floats, steps: Ints, start: int, most: int, before: int, lowest: float
) -> int:
    """Up to where records arrive, before the step ``before``, that rank behind a score."""
    stop = min(most, len(steps))
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
def _extend(bf: Floats, bi: Ints, filled: int, af: Floats, ai: Ints, start: int, stop: int) -> None:
    """Copy records behind those that the buffer holds."""
    count = stop - start
    for row in range(FLOATS):
        floats, more_floats = bf[row, filled : filled + count], af[row, start:stop]
        for j in range(count):
            floats[j] = more_floats[j]
    for row in range(INTS):
        ints, more_ints = bi[row, filled : filled + count], ai[row, start:stop]
        for j in range(count):
            ints[j] = more_ints[j]


@kernel
def _put_in_order(
    bf: Floats, bi: Ints, meta: Ints, af: Floats, ai: Ints, first: int, stop: int
) -> None:
    """Add the records of a step to the buffer; they leave at one of two steps."""
    early = oldest(ai, first, stop - first)
    for late in range(2):
        for a in range(first, stop):
            if (ai[LEAVES, a] > early) == (late == 1):
                copy(bf, bi, meta[NEWEST], af, ai, a)
                meta[NEWEST] += 1


@kernel
def _find_anew(
    setting: Setting, bf: Floats, bi: Ints, f: Floats, i: Ints, bounds: Ints, sizes: Ints,
    meta: Ints, wf: Floats, wi: Ints, step: int,
) -> List:  # fmt: skip
    """What the window needs: of the oldest segment, and of the buffer what that does not know and
    what ranks before its last record; if there is no segment, the whole buffer."""
    meta[CLOSED] = meta[SEGMENTS] > 0
    size = 0
    if meta[SEGMENTS]:
        wf, wi = needed(f, i, bounds, sizes, wf, wi)
        size = bounds[1]
        found = depth(setting, wf, wi, 0, size)
        size = size if found < 0 else found
    else:
        meta[NEWEST], meta[KNOWN] = stay(bf, bi, 0, meta[NEWEST], step), 0
    tf, ti = np.empty((FLOATS, meta[NEWEST])), np.empty((INTS, meta[NEWEST]), np.int64)
    some = 0
    for a in range(meta[KNOWN], meta[NEWEST]):
        if size == 0 or precedes(bf, bi, a, wf, wi, size - 1):
            copy(tf, ti, some, bf, bi, a)
            some += 1
    gf, gi = _in_rank_order(tf[:, :some], ti[:, :some])
    wf, wi = room(wf, wi, size, size + some)
    merge(wf, wi, 0, size, gf, gi, 0, some)
    meta[WHOLE] = size + some
    return wf, wi


# -- emptying the buffer --------------------------------------------------------------------------


@kernel
def _empty(
    setting: Setting, bf: Floats, bi: Ints, f: Floats, i: Ints, bounds: Ints, sizes: Ints,
    meta: Ints,
) -> tuple[Floats, Ints, Floats, Ints, Ints, Ints]:  # fmt: skip
    """Make segments of the buffered records and bring the others up to date; records newer than all
    segments stay in the buffer."""
    expire(f, i, bounds, sizes, meta, meta[DONE])
    segments, known = meta[SEGMENTS], NEVER
    first = 0
    if segments:
        # What leaves with the oldest of the newest set, or before, belongs to suffixes that have
        # their segments already.
        known = oldest(i, bounds[segments - 1], sizes[segments - 1])
        while first < meta[NEWEST] and bi[LEAVES, first] <= known:
            first += 1
    else:
        meta[NEWEST], meta[KNOWN] = stay(bf, bi, 0, meta[NEWEST], meta[DONE]), 0
    cf, ci, size, start = _newest_set(setting, bf, bi, first, meta)
    if size == 0 and first == 0:  # nothing closes yet: wait for as many again
        meta[FULL] = max(2 * meta[NEWEST], LEAST)
        return bf, bi, f, i, bounds, sizes
    made_f, made_i, made_bounds, made_sizes = _no_segments()
    made = 0
    if size > 0:
        known = oldest(ci, 0, size)
        enough = max(meta[H], size)
        made_f, made_i, made_bounds, made_sizes, made, cf, ci, size = _make_segments(
            setting, bf, bi, first, start, cf, ci, size, enough
        )
    # The compact set of all that is in the buffer, for the segments that are there already.
    gf, gi = _in_rank_order(bf[:, :first], bi[:, :first])
    cf, ci, size = merged(cf, ci, size, gf, gi, 0, first)
    found = depth(setting, cf, ci, 0, size)
    size = _unknown(cf, ci, size if found < 0 else found, bi, meta[KNOWN])
    f, i, bounds, sizes = update(setting, f, i, bounds, sizes, meta, cf, ci, 0, size)
    for s in range(made - 1, -1, -1):
        begin = made_bounds[s]
        f, i, bounds, sizes = append(
            f, i, bounds, sizes, meta, made_f, made_i, begin, made_sizes[s],
            made_bounds[s + 1] - begin - made_sizes[s],
        )  # fmt: skip
    adapt(sizes, meta)
    f, i, bounds, sizes = join_small(f, i, bounds, sizes, meta)
    meta[NEWEST] = meta[KNOWN] = stay(bf, bi, 0, meta[NEWEST], known)
    meta[FULL] = meta[NEWEST] + max(TIMES * bounds[meta[SEGMENTS]], LEAST)
    return bf, bi, f, i, bounds, sizes


@kernel
def _unknown(f: Floats, i: Ints, count: int, bi: Ints, known: int) -> int:
    """Leave out what is among the first ``known`` records of the buffer; how many are left."""
    left = 0
    for a in range(count):
        if not among(i[ID, a], bi, 0, known):
            if left < a:
                copy(f, i, left, f, i, a)
            left += 1
    return left


@kernel
def _no_segments() -> Queue:
    none = np.zeros(1, np.int64)
    return np.empty((FLOATS, 0)), np.empty((INTS, 0), np.int64), none, none


@kernel
def _make_segments(
    setting: Setting, bf: Floats, bi: Ints, first: int, start: int, cf: Floats, ci: Ints, size: int,
    enough: int,
) -> tuple[Floats, Ints, Ints, Ints, int, Floats, Ints, int]:  # fmt: skip
    """Segments of the records from ``first`` on, the newest first: the compact set of those from
    ``start`` on is given, older ones become extras; when there are enough, the next segment begins.
    Also how many they are, and the compact set of all of them."""
    made_f, made_i, _, _ = _no_segments()
    made_bounds = np.zeros(start - first + 2, np.int64)
    made_sizes = np.empty(start - first + 1, np.int64)
    made = extras = 0
    xf, xi = np.empty((FLOATS, start - first)), np.empty((INTS, start - first), np.int64)
    at = start - 1
    while True:
        while at >= first:
            if precedes(bf, bi, at, cf, ci, size - 1):
                copy(xf, xi, extras, bf, bi, at)
                extras += 1
            at -= 1
            if extras >= enough and (at < first or bi[LEAVES, at] != bi[LEAVES, at + 1]):
                break
        gf, gi = _in_rank_order(xf[:, :extras], xi[:, :extras])
        end = made_bounds[made]
        made_f, made_i = room(made_f, made_i, end, end + size + extras)
        for j in range(size):
            copy(made_f, made_i, end + j, cf, ci, j)
        for j in range(extras):
            copy(made_f, made_i, end + size + j, gf, gi, j)
        made_sizes[made] = size
        made += 1
        made_bounds[made] = end + size + extras
        cf, ci, together = merged(cf, ci, size, gf, gi, 0, extras)
        found = depth(setting, cf, ci, 0, together)
        size = together if found < 0 else found
        extras = 0
        if at < first:
            return made_f, made_i, made_bounds, made_sizes, made, cf, ci, size


@kernel
def _in_rank_order(f: Floats, i: Ints) -> List:
    """A copy of a list, sorted."""
    count = f.shape[1]
    order = rank_order(f, i, count)
    gf, gi = np.empty((FLOATS, count)), np.empty((INTS, count), np.int64)
    for j in range(count):
        copy(gf, gi, j, f, i, order[j])
    return gf, gi


@kernel
def _newest_set(
    setting: Setting, bf: Floats, bi: Ints, first: int, meta: Ints
) -> tuple[Floats, Ints, int, int]:
    """A short suffix of the buffer, from ``first`` on at most, that closes: its compact set, how
    large that is (0: there is none), and where the records begin that leave no earlier than its
    oldest."""
    total = meta[NEWEST]
    some = min(total - first, max(2 * meta[H], 2 * setting[1], 8))
    while some > 0:
        start = total - some
        while start > first and bi[LEAVES, start - 1] == bi[LEAVES, start]:
            start -= 1
        cf, ci = _in_rank_order(bf[:, start:total], bi[:, start:total])
        size = depth(setting, cf, ci, 0, total - start)
        if size >= 0:
            leaves = oldest(ci, 0, size)
            while start < total and bi[LEAVES, start] < leaves:
                start += 1
            return cf, ci, size, start
        if start == first:
            break
        some = min(total - first, 2 * some)
    return np.empty((FLOATS, 0)), np.empty((INTS, 0), np.int64), 0, 0


__all__ = ["FULL", "LEAST", "TIMES", "run_buffered"]
