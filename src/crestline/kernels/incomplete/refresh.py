"""Scores, bounds and heap positions of objects after their values have changed.

A *hidden* object has older values that were forgotten, because until they leave it can neither
reach the k best nor overtake one of them. Until then its score is unknown, and it is in no heap but
that of hidden objects.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.combine import ScoreRule, StreamSums, add_value, score_bounds
from crestline.kernels.incomplete.heaps import BOUND, SCORE, WAKE, Heaps, hold, release
from crestline.kernels.incomplete.objects import clear, enter, give_back
from crestline.kernels.incomplete.sorted_lists import enlist, strike
from crestline.kernels.incomplete.store import (
    ACTIVE,
    CHANGED,
    HEAD,
    KTH_SCORE,
    KTH_TIME,
    PASSED,
    RIVAL,
    TAIL,
    USED,
    ObjectQuery,
    StoreArrays,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints, Records


@kernel
def new_sums(streams: int) -> StreamSums:
    """Make scratch arrays for the values of one object."""
    return StreamSums(np.zeros(streams, np.int64), np.zeros(streams))


@borrowing_kernel
def gather(
    rule: ScoreRule, meta: Ints, observations: Records, newest: int, step: int, sums: StreamSums
) -> int:
    """Sum the values of an object that are in the window at a step; return how many there are."""
    counts = sums.counts
    for x in range(len(counts)):
        counts[x] = 0
    values, i = 0, newest
    while i >= meta[HEAD] and observations[i].leaves > step:
        stream = int(np.int64(observations[i].stream))  # of 64 bits, as elsewhere
        add_value(rule, sums, stream, observations[i].value)
        values += 1
        i = observations[i].older
    return values


@borrowing_kernel
def _note_change(
    meta: Ints, thresholds: Floats, score: float, latest: int, bound: float, other: float
) -> None:
    """Set CHANGED if an object that has or had this score, and these two bounds before and after,
    can change the answer."""
    kth_score = thresholds[KTH_SCORE]
    if score > kth_score or (score == kth_score and latest >= thresholds[KTH_TIME]):
        meta[CHANGED] = 1
    rival = thresholds[RIVAL]
    if not ((bound < rival and other < rival) or (bound > rival and other > rival)):
        meta[CHANGED] = 1


@borrowing_kernel
def refresh(query: ObjectQuery, store: StoreArrays, slot: int, step: int, sums: StreamSums) -> None:
    """Bring an object up to date after its values have changed.

    An object without values is removed, unless it is in the latest answer: the next answer is
    compared with that.
    """
    meta, thresholds, observations = store.meta, store.thresholds, store.observations
    heaps = store.heaps
    objects = heaps.objects
    ranked = objects[slot].in_bounds >= 0
    before = -np.inf
    if ranked:
        before = objects[slot].bound
        _note_change(meta, thresholds, objects[slot].score, objects[slot].latest, before, before)
    newest = objects[slot].newest
    if gather(query.rule, meta, observations, newest, step, sums) == 0:
        objects[slot].newest = -1
        if ranked:
            _note_change(meta, thresholds, -np.inf, LONG_AGO, -np.inf, before)
        take_out(query, store, slot)
        return
    score, _, bound = score_bounds(query.rule, sums, meta[ACTIVE], objects[slot].seen)
    latest = observations[newest].time
    if objects[slot].hidden > step:
        if ranked:
            _note_change(meta, thresholds, -np.inf, LONG_AGO, -np.inf, before)
            release(heaps, SCORE, slot)
            release(heaps, BOUND, slot)
        return
    _note_change(meta, thresholds, score, latest, bound, before)
    objects[slot].score = score
    objects[slot].bound = bound
    objects[slot].latest = latest
    if query.listed:
        enlist(query.rule, meta, thresholds, heaps, slot, sums)
    else:
        hold(heaps, SCORE, slot)
    hold(heaps, BOUND, slot)


@borrowing_kernel
def take_out(query: ObjectQuery, store: StoreArrays, slot: int) -> None:
    """Remove an object without values from all heaps, and free its slot unless it is shown."""
    heaps = store.heaps
    if query.listed:
        strike(store.meta, heaps, slot)
    else:
        release(heaps, SCORE, slot)
    release(heaps, BOUND, slot)
    if heaps.objects[slot].shown == 0:
        release(heaps, WAKE, slot)
        give_back(heaps, store.table, slot)


@borrowing_kernel
def hide(heaps: Heaps, slot: int, until: int) -> None:
    """Hide an object because values of it were forgotten that are in the window until then."""
    heaps.objects[slot].hidden = max(heaps.objects[slot].hidden, until)
    hold(heaps, WAKE, slot)


@kernel
def rebuild(query: ObjectQuery, store: StoreArrays) -> None:
    """Derive everything from the observations and from the keys, ids and marks of objects."""
    meta, observations, heaps = store.meta, store.observations, store.heaps
    objects = heaps.objects
    changed = meta[CHANGED]
    sums = new_sums(len(query.rule.order))
    for slot in range(meta[USED]):
        clear(objects, slot)
        enter(objects, store.table, slot)
    for i in range(meta[TAIL]):
        slot = observations[i].slot
        observations[i].older = objects[slot].newest
        objects[slot].newest = i
    for slot in range(meta[USED]):
        if query.hides and objects[slot].hidden > meta[PASSED]:
            hide(heaps, slot, objects[slot].hidden)
        if objects[slot].newest >= 0:
            refresh(query, store, slot, meta[PASSED], sums)
    meta[CHANGED] = changed
