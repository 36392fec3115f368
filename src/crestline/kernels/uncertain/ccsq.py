"""Compact sets of all suffixes as differences. See ``crestline.uncertain.ccsq``."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    DONE,
    ID,
    LAST,
    LEAVES,
    NEVER,
    OWN,
    STALE,
    List,
    Setting,
    Told,
    answer,
    copy,
    depth,
    merge,
    next_step,
    oldest,
    precedes,
    rank_order,
    room,
    told_at,
)
from crestline.types import Floats, Ints

#: Entries of ``meta``: how many records are kept, how many are in the compact set of the window
#: (all of it, if there is none), whether that one closes.
KEPT, WHOLE, CLOSED = range(OWN, OWN + 3)


@kernel
def run_ccsq(
    setting: Setting, arrivals: List, steps: Ints, until: int, meta: Ints, kept: List, gone: Ints,
    whole: List, shown_id: Ints, shown: Floats, told: Told,
) -> tuple[List, Ints, List, Ints, Floats, Told]:  # fmt: skip
    """Handle all steps up to ``until``.

    ``kept`` is in the order in which records leave. Record t is in the compact sets of the suffixes
    from its own on to, but without, the one that begins with the records leaving at ``gone[t]``.
    """
    af, ai = arrivals
    f, i = kept
    wf, wi = whole
    at = 0
    while True:
        arriving = steps[at] if at < len(steps) else NEVER
        changing = oldest(wi, 0, meta[WHOLE])
        step = next_step(setting, arriving, meta[DONE], meta[LAST], changing)
        if step > until:
            break
        meta[DONE] = step
        touched = meta[STALE] > 0 or changing <= step
        _expire(f, i, gone, meta, step)
        first = at
        while at < len(steps) and steps[at] == step:
            meta[LAST] = max(meta[LAST], ai[LEAVES, at])
            at += 1
        if at > first:
            touched |= meta[CLOSED] == 0 or precedes(af, ai, first, wf, wi, meta[WHOLE] - 1)
            before = meta[KEPT]
            f, i = room(f, i, before, before + at - first)
            if len(gone) < f.shape[1]:
                longer = np.empty(f.shape[1], np.int64)
                for a in range(before):
                    longer[a] = gone[a]
                gone = longer
            _append(f, i, gone, meta, af, ai, first, at)
            _restore(setting, f, i, gone, meta, before)
        changed = False
        if touched:
            wf, wi = _collect(f, i, gone, meta, step, wf, wi)
            found, changed, shown_id, shown = answer(
                setting, wf, wi, meta[WHOLE], shown_id, shown, meta
            )
            meta[CLOSED] = found >= 0
        told = told_at(setting, step, changed, shown_id, shown, meta, told)
    meta[DONE] = max(meta[DONE], until)
    _expire(f, i, gone, meta, until)
    return (f, i), gone, (wf, wi), shown_id, shown, told


@kernel
def _expire(f: Floats, i: Ints, gone: Ints, meta: Ints, step: int) -> None:
    """Remove the records that have left: they are first."""
    count, left = meta[KEPT], 0
    while left < count and i[LEAVES, left] <= step:
        left += 1
    if left:
        for a in range(left, count):
            copy(f, i, a - left, f, i, a)
            gone[a - left] = gone[a]
        meta[KEPT] = count - left


@kernel
def _append(
    f: Floats, i: Ints, gone: Ints, meta: Ints, af: Floats, ai: Ints, first: int, stop: int
) -> None:
    """Add arriving records; they leave at one of two steps, and are put in that order."""
    early = oldest(ai, first, stop - first)
    for late in range(2):
        for a in range(first, stop):
            if (ai[LEAVES, a] > early) == (late == 1):
                copy(f, i, meta[KEPT], af, ai, a)
                gone[meta[KEPT]] = LONG_AGO
                meta[KEPT] += 1


@kernel
def _restore(setting: Setting, f: Floats, i: Ints, gone: Ints, meta: Ints, before: int) -> None:
    """Restore the compact sets from the newest suffix on, with the records from ``before`` on in
    them, until none of those is left in a set; note what has become different."""
    count = meta[KEPT]
    cf, ci = room(np.empty((2, 0)), np.empty((5, 0), np.int64), 0, count)
    if not meta[CLOSED]:  # if all together do not close, no suffix does: nothing is lost
        order = rank_order(f, i, count)
        for j in range(count):
            copy(cf, ci, j, f, i, order[j])
        if depth(setting, cf, ci, 0, count) < 0:
            return
    size = 0
    closed = False
    dead = np.zeros(count, np.bool_)
    start = count
    while start > 0:
        stop = start
        leaving = i[LEAVES, stop - 1]
        while start > 0 and i[LEAVES, start - 1] == leaving:
            start -= 1
            if closed and not precedes(f, i, start, cf, ci, size - 1):
                dead[start] = True
                continue
            merge(cf, ci, 0, size, f, i, start, 1)
            for j in range(size + 1):  # in here, an id is a place among those kept
                if ci[ID, j] == i[ID, start]:
                    ci[ID, j] = -1 - start
            size += 1
        found = depth(setting, cf, ci, 0, size)
        if found >= 0:
            for j in range(found, size):
                place = -1 - ci[ID, j]
                gone[place] = leaving
                dead[place] |= i[LEAVES, place] == leaving
            size = found
            closed = True
        alive = False
        for j in range(size):
            alive |= -1 - ci[ID, j] >= before
        if closed and not alive:
            break
    left = 0
    for a in range(count):
        if not dead[a]:
            if left < a:
                copy(f, i, left, f, i, a)
                gone[left] = gone[a]
            left += 1
    meta[KEPT] = left


@kernel
def _collect(f: Floats, i: Ints, gone: Ints, meta: Ints, step: int, wf: Floats, wi: Ints) -> List:
    """The compact set of the whole window: what no suffix that is still to come has lost."""
    count = 0
    wf, wi = room(wf, wi, 0, meta[KEPT])
    tf, ti = np.empty((2, meta[KEPT])), np.empty((5, meta[KEPT]), np.int64)
    for a in range(meta[KEPT]):
        if gone[a] <= step:
            copy(tf, ti, count, f, i, a)
            count += 1
    order = rank_order(tf, ti, count)
    for j in range(count):
        copy(wf, wi, j, tf, ti, order[j])
    meta[WHOLE] = count
    return wf, wi


__all__ = ["CLOSED", "KEPT", "WHOLE", "run_ccsq"]
