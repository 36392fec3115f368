"""Segments of compact sets, brought up to date at every step. See ``crestline.uncertain.scsq``."""

from __future__ import annotations

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    DONE,
    LAST,
    LEAVES,
    NEVER,
    STALE,
    List,
    Setting,
    Told,
    answer,
    copy,
    depth,
    leading,
    merged,
    next_step,
    oldest,
    precedes,
    room,
    stay,
    told_at,
)
from crestline.kernels.uncertain.segments import (
    CLOSED,
    NEWEST,
    SEGMENTS,
    WHOLE,
    Queue,
    adapt,
    append,
    expire,
    join_small,
    needed,
    update,
)
from crestline.types import Floats, Ints


@kernel
def run_scsq(
    setting: Setting, arrivals: List, steps: Ints, until: int, meta: Ints, newest: List,
    queue: List, bounds: Ints, sizes: Ints, whole: List, shown_id: Ints, shown: Floats, told: Told,
) -> tuple[List, Queue, List, Ints, Floats, Told]:  # fmt: skip
    """Handle all steps up to ``until``."""
    af, ai = arrivals
    nf, ni = newest
    f, i = queue
    wf, wi = whole
    at = 0
    while True:
        arriving = steps[at] if at < len(steps) else NEVER
        changing = oldest(wi, 0, meta[WHOLE])
        step = next_step(setting, arriving, meta[DONE], meta[LAST], changing)
        if step > until:
            break
        meta[DONE] = step
        lost = changing <= step
        touched = meta[STALE] > 0 or lost
        expire(f, i, bounds, sizes, meta, step)
        if meta[SEGMENTS] == 0:
            meta[NEWEST] = stay(nf, ni, 0, meta[NEWEST], step)
        first = at
        while at < len(steps) and steps[at] == step:
            meta[LAST] = max(meta[LAST], ai[LEAVES, at])
            at += 1
        if at > first:
            count = at - first
            f, i, bounds, sizes = update(setting, f, i, bounds, sizes, meta, af, ai, first, count)
            nf, ni, meta[NEWEST] = merged(nf, ni, meta[NEWEST], af, ai, first, count)
            f, i, bounds, sizes = _close_newest(setting, nf, ni, f, i, bounds, sizes, meta)
            adapt(sizes, meta)
            if meta[CLOSED] and not lost and precedes(af, ai, first, wf, wi, meta[WHOLE] - 1):
                more = leading(af, ai, first, count, wf, wi, meta[WHOLE] - 1)
                wf, wi, meta[WHOLE] = merged(wf, wi, meta[WHOLE], af, ai, first, more)
                touched = True
        f, i, bounds, sizes = join_small(f, i, bounds, sizes, meta)
        if lost or not meta[CLOSED]:  # what the window needs is to be found anew
            touched |= at > first
            meta[CLOSED] = meta[SEGMENTS] > 0
            if meta[SEGMENTS]:
                wf, wi = needed(f, i, bounds, sizes, wf, wi)
                meta[WHOLE] = bounds[1]
            else:
                wf, wi = room(wf, wi, 0, meta[NEWEST])
                for a in range(meta[NEWEST]):
                    copy(wf, wi, a, nf, ni, a)
                meta[WHOLE] = meta[NEWEST]
        changed = False
        if touched:
            found, changed, shown_id, shown = answer(
                setting, wf, wi, meta[WHOLE], shown_id, shown, meta
            )
            meta[WHOLE] = meta[WHOLE] if found < 0 else found
        told = told_at(setting, step, changed, shown_id, shown, meta, told)
    meta[DONE] = max(meta[DONE], until)
    expire(f, i, bounds, sizes, meta, meta[DONE])
    f, i, bounds, sizes = join_small(f, i, bounds, sizes, meta)
    return (nf, ni), (f, i, bounds, sizes), (wf, wi), shown_id, shown, told


@kernel
def _close_newest(
    setting: Setting, nf: Floats, ni: Ints, f: Floats, i: Ints, bounds: Ints, sizes: Ints,
    meta: Ints,
) -> Queue:  # fmt: skip
    """While the newest records close, their compact set becomes a segment, and what is not newer
    than its oldest record is forgotten."""
    segments = meta[SEGMENTS]
    if segments:  # records of a unit may arrive at several steps, also after it has closed
        last = oldest(i, bounds[segments - 1], sizes[segments - 1])
        meta[NEWEST] = stay(nf, ni, 0, meta[NEWEST], last)
    while meta[NEWEST]:
        closed = depth(setting, nf, ni, 0, meta[NEWEST])
        if closed < 0:
            break
        f, i, bounds, sizes = append(f, i, bounds, sizes, meta, nf, ni, 0, closed, 0)
        meta[NEWEST] = stay(nf, ni, 0, meta[NEWEST], oldest(ni, 0, closed))
    return f, i, bounds, sizes


__all__ = ["run_scsq"]
