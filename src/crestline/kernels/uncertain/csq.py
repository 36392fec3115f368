"""The queue of compact sets, each written out. See ``crestline.uncertain.csq``."""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    DONE,
    LAST,
    LEAVES,
    NEVER,
    OWN,
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
    room,
    same_records,
    stay,
    told_at,
)
from crestline.types import Floats, Ints

#: Entries of ``meta``: records of the newest suffix that does not close, sets in the queue.
NEWEST, SETS = OWN, OWN + 1


@kernel
def run_csq(
    setting: Setting, arrivals: List, steps: Ints, until: int, meta: Ints, newest: List,
    queue: List, bounds: Ints, shown_id: Ints, shown: Floats, told: Told,
) -> tuple[List, List, Ints, Ints, Floats, Told]:  # fmt: skip
    """Handle all steps up to ``until``. ``bounds[s]`` is where set s of the queue begins; the
    oldest is first."""
    af, ai = arrivals
    nf, ni = newest
    qf, qi = queue
    at = 0
    while True:
        arriving = steps[at] if at < len(steps) else NEVER
        sets = meta[SETS]
        first_set = bounds[1] if sets else 0
        changing = oldest(qi, 0, first_set) if sets else oldest(ni, 0, meta[NEWEST])
        step = next_step(setting, arriving, meta[DONE], meta[LAST], changing)
        if step > until:
            break
        meta[DONE] = step
        touched = False
        while meta[SETS] and changing <= step:  # the oldest set has lost a record: it is useless
            qf, qi, bounds = _drop_first(qf, qi, bounds, meta)
            changing = oldest(qi, 0, bounds[1]) if meta[SETS] else NEVER
            touched = True
        if meta[SETS] == 0:
            kept = stay(nf, ni, 0, meta[NEWEST], step)
            touched |= kept < meta[NEWEST]
            meta[NEWEST] = kept
        first = at
        while at < len(steps) and steps[at] == step:
            meta[LAST] = max(meta[LAST], ai[LEAVES, at])
            at += 1
        if at > first:
            oldest_affected = _affected(qf, qi, bounds, meta[SETS], af, ai, first)
            touched |= oldest_affected == 0
            qf, qi, bounds = _update(
                setting, qf, qi, bounds, meta, oldest_affected, af, ai, first, at - first
            )
            nf, ni, meta[NEWEST] = merged(nf, ni, meta[NEWEST], af, ai, first, at - first)
            before = meta[SETS]
            nf, ni, qf, qi, bounds = _close_newest(setting, nf, ni, qf, qi, bounds, meta)
            touched |= before == 0
        changed = False
        if touched and meta[SETS] == 0:
            _, changed, shown_id, shown = answer(
                setting, nf, ni, meta[NEWEST], shown_id, shown, meta
            )
        elif touched:
            _, changed, shown_id, shown = answer(setting, qf, qi, bounds[1], shown_id, shown, meta)
        told = told_at(setting, step, changed, shown_id, shown, meta, told)
    meta[DONE] = max(meta[DONE], until)
    return (nf, ni), (qf, qi), bounds, shown_id, shown, told


@kernel
def _drop_first(qf: Floats, qi: Ints, bounds: Ints, meta: Ints) -> tuple[Floats, Ints, Ints]:
    """Remove the oldest set from the queue."""
    gone, total = bounds[1], bounds[meta[SETS]]
    for a in range(gone, total):
        copy(qf, qi, a - gone, qf, qi, a)
    for s in range(meta[SETS]):
        bounds[s] = bounds[s + 1] - gone
    meta[SETS] -= 1
    return qf, qi, bounds


@kernel
def _affected(
    qf: Floats, qi: Ints, bounds: Ints, sets: int, af: Floats, ai: Ints, first: int
) -> int:
    """The oldest set that the arriving records change: their best ranks before its last. The older
    a set, the higher its last record ranks."""
    s = sets
    while s > 0 and precedes(af, ai, first, qf, qi, bounds[s] - 1):
        s -= 1
    return s


@kernel
def _update(
    setting: Setting, qf: Floats, qi: Ints, bounds: Ints, meta: Ints, start: int, af: Floats,
    ai: Ints, first: int, count: int,
) -> tuple[Floats, Ints, Ints]:  # fmt: skip
    """Take arriving records into the sets from ``start`` on; of equal sets one is enough."""
    sets = meta[SETS]
    if start == sets:
        return qf, qi, bounds
    base, total = bounds[start], bounds[sets]
    tf, ti = qf[:, base:total].copy(), qi[:, base:total].copy()
    ends = bounds[start : sets + 1] - base
    qf, qi = room(qf, qi, base, total + (sets - start) * count)
    meta[SETS] = start
    end = base
    for s in range(len(ends) - 1):
        size = ends[s + 1] - ends[s]
        for j in range(size):
            copy(qf, qi, end + j, tf, ti, ends[s] + j)
        more = leading(af, ai, first, count, tf, ti, ends[s + 1] - 1)
        merge(qf, qi, end, size, af, ai, first, more)
        size += more
        closed = depth(setting, qf, qi, end, size)
        size = size if closed < 0 else closed
        if not _repeats(qi, bounds, meta[SETS], end, size):
            end += size
            meta[SETS] += 1
            bounds[meta[SETS]] = end
    return qf, qi, bounds


@kernel
def _repeats(qi: Ints, bounds: Ints, sets: int, start: int, size: int) -> bool:
    """Whether the set that begins at ``start`` equals the last one of the queue."""
    if sets == 0 or bounds[sets] - bounds[sets - 1] != size:
        return False
    return same_records(qi, bounds[sets - 1], qi, start, size)


@kernel
def _close_newest(
    setting: Setting, nf: Floats, ni: Ints, qf: Floats, qi: Ints, bounds: Ints, meta: Ints
) -> tuple[Floats, Ints, Floats, Ints, Ints]:
    """While the newest records close, their compact set joins the queue and what is not newer than
    its oldest record is forgotten."""
    sets = meta[SETS]
    if sets:  # records of a unit may arrive at several steps, also after it has closed
        newest_set = oldest(qi, bounds[sets - 1], bounds[sets] - bounds[sets - 1])
        meta[NEWEST] = stay(nf, ni, 0, meta[NEWEST], newest_set)
    while meta[NEWEST]:
        closed = depth(setting, nf, ni, 0, meta[NEWEST])
        if closed < 0:
            break
        end = bounds[meta[SETS]]
        qf, qi = room(qf, qi, end, end + closed)
        for j in range(closed):
            copy(qf, qi, end + j, nf, ni, j)
        if not _repeats(qi, bounds, meta[SETS], end, closed):
            meta[SETS] += 1
            if meta[SETS] == len(bounds):
                more = np.empty(2 * len(bounds), np.int64)
                for s in range(len(bounds)):
                    more[s] = bounds[s]
                bounds = more
            bounds[meta[SETS]] = end + closed
        meta[NEWEST] = stay(nf, ni, 0, meta[NEWEST], oldest(ni, 0, closed))
    return nf, ni, qf, qi, bounds


__all__ = ["NEWEST", "SETS", "run_csq"]
