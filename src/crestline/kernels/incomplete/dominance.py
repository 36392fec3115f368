"""Forgetting values that cannot matter: the k dominance set of Haghani et al.

The *instance* of an object at one of its values is the object without everything that leaves before
that value. Until the value leaves, the instance scores at least ``least`` and at most ``most``. An
object dominates an instance if it is certain to score more than that ``most`` and to stay at least
as long. An instance dominated by k objects will never be among the k best.

One pass from the newest to the oldest value finds all of them. Going back in time, what an object
is certain to score only grows, so the k largest of these scores suffice. A value is forgotten when
no instance needs it: no instance of its object at this or an older value is kept.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.combine import (
    ScoreRule,
    StreamSums,
    add_value,
    score_bounds,
)
from crestline.kernels.incomplete.expectation import Expectation, expected_most
from crestline.kernels.incomplete.refresh import hide, new_sums, refresh, take_out
from crestline.kernels.incomplete.store import (
    ACTIVE,
    CHANGED,
    HEAD,
    INSTANCES,
    PASSED,
    TAIL,
    USED,
    ObjectQuery,
    StoreArrays,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints, Places

#: How much sums of repeats may differ with the order of addition, as a share of the terms added:
#: terms of different signs may be much larger than their sum.
_ROUNDING = 1e-12
_LARGEST = sys.float_info.max


class _Certain(NamedTuple):
    """The k largest scores of which objects are certain: a heap, the least first."""

    heap: Places
    #: By position in the heap.
    scores: Floats
    #: By slot of an object: its position in the heap, or -1.
    position: Places


@borrowing_kernel
def _instance_bounds(
    rule: ScoreRule, store: StoreArrays, i: int, expectation: Expectation, sums: StreamSums
) -> tuple[float, float]:
    """Return the least and the most that the instance at value ``i`` scores."""
    observations, active = store.observations, store.meta[ACTIVE]
    slot = observations[i].slot
    seen, j = store.heaps.objects[slot].seen, store.heaps.objects[slot].newest
    for x in range(len(sums.counts)):
        sums.counts[x] = 0
    while j >= i:
        stream = int(np.int64(observations[j].stream))  # of 64 bits, as elsewhere
        add_value(rule, sums, stream, observations[j].value)
        j = observations[j].older
    _, least, most = score_bounds(rule, sums, active, seen)
    if len(expectation.pairs) > 0:
        most = expected_most(rule, sums, active, seen, expectation)
    return least, most


@borrowing_kernel
def _hold_certain(certain: _Certain, held: int, slot: int, least: float) -> int:
    """Note what an object is certain to score, if it is among the k largest. Return how many
    objects are held; the least of their scores is the first of the heap."""
    heap, scores, position = certain
    node = int(position[slot])
    if node < 0:
        if held < len(heap):
            node = held
            held += 1
        elif least <= scores[0]:
            return held
        else:
            position[heap[0]] = -1
            node = 0
    while node > 0 and least < scores[(node - 1) >> 1]:  # it rises
        parent = (node - 1) >> 1
        heap[node], scores[node] = heap[parent], scores[parent]
        position[heap[node]] = node
        node = parent
    while True:  # it sinks
        child = 2 * node + 1
        if child + 1 < held and scores[child + 1] < scores[child]:
            child += 1
        if child >= held or scores[child] >= least:
            break
        heap[node], scores[node] = heap[child], scores[child]
        position[heap[node]] = node
        node = child
    heap[node], scores[node], position[slot] = slot, least, node
    return held


@borrowing_kernel
def _threshold(rule: ScoreRule, certain: _Certain, held: int) -> float:
    """Return the score below which an instance is dominated by k objects."""
    threshold = certain.scores[0] if held == len(certain.scores) else -np.inf
    if rule.at_most > 1:
        heaviest = 1.0
        for x in range(len(rule.weights)):
            heaviest = max(heaviest, rule.weights[x])
        largest = max(abs(rule.low), abs(rule.high)) if rule.low < 0.0 else 0.0
        terms = rule.at_most * len(rule.order) * largest * heaviest
        threshold = min(threshold, _LARGEST)
        threshold -= (abs(threshold) + terms) * _ROUNDING
    return threshold


@kernel
def _mark_needed(
    rule: ScoreRule,
    store: StoreArrays,
    k: int,
    expectation: Expectation,
    sums: StreamSums,
    needed: Ints,
) -> int:
    """Mark the values whose instances are kept; return how many there are."""
    meta, observations = store.meta, store.observations
    head = meta[HEAD]
    most = np.empty(len(needed))
    room = min(k, meta[USED] + 1)
    certain = _Certain(np.empty(room, np.int32), np.empty(room), np.full(meta[USED], -1, np.int32))
    held = kept = 0
    start = meta[TAIL] - 1
    while start >= head:
        end = start  # values that leave together, from start down to end
        while end > head and observations[end - 1].leaves == observations[start].leaves:
            end -= 1
        for i in range(start, end - 1, -1):
            if observations[i].older >= end:
                continue  # an older value of the object leaves at the same time: one instance
            least, most[i - head] = _instance_bounds(rule, store, i, expectation, sums)
            slot = int(np.int64(observations[i].slot))  # of 64 bits, as elsewhere
            held = _hold_certain(certain, held, slot, least)
        threshold = _threshold(rule, certain, held)
        for i in range(start, end - 1, -1):
            if observations[i].older < end and most[i - head] >= threshold:
                needed[i - head] = 1
                kept += 1
        start = end - 1
    return kept


@kernel
def _compact(store: StoreArrays, needed: Ints) -> Ints:
    """Drop the values that no instance needs; return by slot until when dropped values would have
    been in the window."""
    meta, observations, objects = store.meta, store.observations, store.heaps.objects
    head, tail, used = meta[HEAD], meta[TAIL], meta[USED]
    dropped_until = np.full(used, LONG_AGO)
    for slot in range(used):
        objects[slot].newest = -1
    w = 0
    for i in range(head, tail):
        slot = observations[i].slot
        if needed[i - head] == 0 and objects[slot].newest < 0:
            dropped_until[slot] = max(dropped_until[slot], observations[i].leaves)
            continue
        if w < i:
            observations[w] = observations[i]
        observations[w].older = objects[slot].newest
        objects[slot].newest = w
        w += 1
    meta[HEAD], meta[TAIL] = 0, w
    return dropped_until


@kernel
def sweep(query: ObjectQuery, store: StoreArrays, expectation: Expectation) -> None:
    """Forget every value that no instance of the k dominance set needs.

    With an ``expectation``, instances are dominated by what is expected; if it is empty, by what is
    certain.
    """
    meta, heaps = store.meta, store.heaps
    objects = heaps.objects
    sums = new_sums(len(query.rule.order))
    needed = np.zeros(meta[TAIL] - meta[HEAD], np.int64)
    meta[INSTANCES] = _mark_needed(query.rule, store, query.k, expectation, sums, needed)
    dropped_until = _compact(store, needed)
    changed = meta[CHANGED]
    for slot in range(meta[USED]):
        until = dropped_until[slot]
        if until == LONG_AGO:
            continue
        if query.hides and (objects[slot].newest >= 0 or objects[slot].shown == 1):
            hide(heaps, slot, until)
        if objects[slot].newest >= 0:
            refresh(query, store, slot, meta[PASSED], sums)
        else:
            take_out(query, store, slot)
    meta[CHANGED] = changed  # dropped values are not among the best and never will be
