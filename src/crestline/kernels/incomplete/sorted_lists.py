"""The objects of each stream in the order of their values, and the threshold algorithm over them.

The list of a stream is a heap of the objects with a value on it. It is read largest first, and a
value comes or goes in O(log n). The *view* is a heap of objects by score: all that score more than
its floor, or all objects if the floor is -inf. While it holds k objects, it has the answer. When it
has lost too many, the threshold algorithm of Fagin et al. fills it again. The algorithm reads all
lists in parallel. It stops when an object not met so far would score too little, given the values
that the lists have reached.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.incomplete.combine import ScoreRule, StreamSums, combined, stream_value
from crestline.kernels.incomplete.heaps import (
    SCORE,
    STREAM,
    Heaps,
    appended,
    hold,
    leading,
    next_best,
    release,
)
from crestline.kernels.incomplete.store import (
    ACTIVE,
    FILLS,
    FLOOR,
    LISTED_OBJECTS,
    StoreArrays,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints

#: The view is filled with this many objects more than twice k.
_SPARE = 32


@borrowing_kernel
def enlist(
    rule: ScoreRule, meta: Ints, thresholds: Floats, heaps: Heaps, slot: int, sums: StreamSums
) -> None:
    """Update an object's positions in the lists and in the view."""
    objects, lists = heaps.objects, heaps.lists
    counts, totals = sums
    was_listed = False
    for x in range(len(counts)):
        was_listed = was_listed or lists[slot, 1 + x].number >= 0
        if counts[x] == 0:
            if lists[slot, 1 + x].number >= 0:
                release(heaps, STREAM + x, slot)
            continue
        value = stream_value(rule, counts[x], totals[x])
        if lists[slot, 1 + x].number < 0 or lists[slot, 1 + x].value != value:
            lists[slot, 1 + x].value = value
            hold(heaps, STREAM + x, slot)
    meta[LISTED_OBJECTS] += 0 if was_listed else 1
    floor = thresholds[FLOOR]
    if objects[slot].score > floor or floor == -np.inf:
        hold(heaps, SCORE, slot)
    else:
        release(heaps, SCORE, slot)


@borrowing_kernel
def strike(meta: Ints, heaps: Heaps, slot: int) -> None:
    """Remove an object from all lists and from the view."""
    was_listed = False
    for x in range(heaps.lists.shape[1] - 1):
        if heaps.lists[slot, 1 + x].number >= 0:
            release(heaps, STREAM + x, slot)
            was_listed = True
    release(heaps, SCORE, slot)
    meta[LISTED_OBJECTS] -= 1 if was_listed else 0


@kernel
def ranked_by_lists(rule: ScoreRule, store: StoreArrays, k: int) -> Ints:
    """Return the k best objects and those equal to the last of them, best first."""
    held = store.heaps.size[SCORE]
    if held < k and held < store.meta[LISTED_OBJECTS]:
        _fill(rule, store, 2 * k + _SPARE)
    elif held > 4 * (k + _SPARE):
        _cut(store.thresholds, store.heaps, 2 * k + _SPARE)
    return leading(store.heaps, SCORE, k)


@kernel
def _cut(thresholds: Floats, heaps: Heaps, wanted: int) -> None:
    """Keep about ``wanted`` objects in the view."""
    objects = heaps.objects
    best = leading(heaps, SCORE, wanted + 1)
    floor = objects[best[len(best) - 1]].score
    above = 0
    while above < len(best) and objects[best[above]].score > floor:
        above += 1
    if 2 * above < wanted or floor == -np.inf:
        return  # too many are equal
    _empty(heaps)
    thresholds[FLOOR] = floor
    for j in range(above):
        hold(heaps, SCORE, best[j])


@borrowing_kernel
def _empty(heaps: Heaps) -> None:
    """Remove all objects from the view."""
    for j in range(heaps.size[SCORE]):
        heaps.objects[heaps.slot[SCORE, j]].in_scores = -1
    heaps.size[SCORE] = 0


@kernel
def _fill(rule: ScoreRule, store: StoreArrays, wanted: int) -> None:
    """Run the threshold algorithm: afterwards the view holds ``wanted`` objects, or all."""
    meta, heaps = store.meta, store.heaps
    objects = heaps.objects
    _empty(heaps)
    meta[FILLS] += 1
    streams = heaps.lists.shape[1] - 1
    waiting = np.empty(streams, np.int64)
    fringes = np.zeros((streams, 64), np.int64)
    reached = np.full(streams, np.inf)  # the values that the lists have reached
    for x in range(streams):
        waiting[x] = min(1, heaps.size[STREAM + x])
    met, count = np.empty(64, np.int64), 0
    depth, check, threshold, ended = 0, max(1, wanted // streams), -np.inf, False
    while not ended:
        ended = True
        depth += 1
        for x in range(streams):
            if waiting[x] == 0:
                reached[x] = -np.inf
                continue
            ended = False
            slot, fringe, waiting[x] = next_best(heaps, STREAM + x, fringes[x], waiting[x])
            if len(fringe) > fringes.shape[1]:
                fringes = _widened(fringes, fringe, x, waiting[x])
            reached[x] = heaps.lists[slot, 1 + x].value
            if heaps.lists[slot, 0].number != meta[FILLS]:
                heaps.lists[slot, 0].number = meta[FILLS]
                met, count = appended(met, count, slot)
        if depth >= check and not ended:
            check = depth + depth // 2 + 1
            threshold = _most_unmet(rule, meta[ACTIVE], reached)
            above = 0
            for j in range(count):
                above += objects[met[j]].score > threshold
            if above >= wanted and threshold > -np.inf:
                break
    if ended:
        threshold = -np.inf
    store.thresholds[FLOOR] = threshold
    for j in range(count):
        if objects[met[j]].score > threshold or ended:
            hold(heaps, SCORE, met[j])


@kernel
def _widened(fringes: Ints, fringe: Ints, stream: int, count: int) -> Ints:
    """Return the fringes of all streams with room for the longer one of ``stream``."""
    wider = np.zeros((len(fringes), len(fringe)), np.int64)
    for y in range(len(fringes)):
        for j in range(fringes.shape[1]):
            wider[y, j] = fringes[y, j]
    for j in range(count):
        wider[stream, j] = fringe[j]
    return wider


@kernel
def _most_unmet(rule: ScoreRule, active: int, reached: Floats) -> float:
    """Return the most that an object can score that was met in no list."""
    most = np.empty(len(reached))
    for x in range(len(reached)):
        most[x] = max(reached[x], rule.missing)
    return combined(rule, active, most)
