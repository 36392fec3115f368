"""The objects of each stream in the order of their values, and the threshold algorithm over them.

The list of a stream holds the objects that have a value on it, as a heap: they can be read one
after the other, largest first, and a value comes or goes in O(log n). The *view* is a heap of
objects by score: all that score more than its floor, or all objects if that is -inf. While it holds
k objects, it knows the answer. When it has lost too many, the threshold algorithm of Fagin et al.
fills it anew: it goes down all lists at once, and ends when an object that it has not met, with the
values at which the lists have arrived, would score too little.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.incomplete.combine import AVG, Rule, combined
from crestline.kernels.incomplete.objects import (
    SIZES,
    STREAM,
    VIEW,
    hold,
    leading,
    next_best,
    release,
)
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints, Records

#: Entries of ``edge``: the floor of the view, how many objects there are in any list, how often
#: the view was filled.
FLOOR, OBJECTS, FILLS = range(3, 6)
#: The view holds so many objects more than twice the k asked for.
_SPARE = 32


@kernel
def enlist(
    rule: Rule, meta: Ints, edge: Floats, heaps: Ints, objects: Records, lists: Records, slot: int,
    count: Ints, total: Floats,
) -> None:  # fmt: skip
    """Bring an object's places in the lists and in the view up to date."""
    if objects[slot].lists == 0:
        for x in range(len(count)):
            lists[slot, x].place = -1
        objects[slot].lists = 1
        edge[OBJECTS] += 1
    for x in range(len(count)):
        if count[x] == 0:
            release(meta, heaps, objects, lists, STREAM + x, slot)
            continue
        value = total[x] / count[x] if rule.repeats == AVG else total[x]
        if lists[slot, x].place < 0 or lists[slot, x].value != value:
            lists[slot, x].value = value
            hold(meta, heaps, objects, lists, STREAM + x, slot)
    if objects[slot].score > edge[FLOOR] or edge[FLOOR] == -np.inf:
        hold(meta, heaps, objects, lists, VIEW, slot)
    else:
        release(meta, heaps, objects, lists, VIEW, slot)


@kernel
def strike(
    meta: Ints, edge: Floats, heaps: Ints, objects: Records, lists: Records, slot: int
) -> None:
    """Take an object out of all lists and of the view."""
    if objects[slot].lists == 0:
        return
    for x in range(lists.shape[1]):
        release(meta, heaps, objects, lists, STREAM + x, slot)
    release(meta, heaps, objects, lists, VIEW, slot)
    objects[slot].lists = 0
    edge[OBJECTS] -= 1


@kernel
def ranked_by_lists(
    rule: Rule, order: Ints, weights: Floats, meta: Ints, edge: Floats, heaps: Ints,
    objects: Records, lists: Records, k: int, active: int,
) -> Ints:  # fmt: skip
    """The k best objects and those equal to the last of them, best first."""
    held = meta[SIZES + VIEW]
    if held < k and held < edge[OBJECTS]:
        _fill(rule, order, weights, meta, edge, heaps, objects, lists, 2 * k + _SPARE, active)
    elif held > 4 * (k + _SPARE):
        _cut(meta, edge, heaps, objects, lists, 2 * k + _SPARE)
    return leading(meta, heaps, objects, lists, VIEW, k)


@kernel
def _cut(
    meta: Ints, edge: Floats, heaps: Ints, objects: Records, lists: Records, wanted: int
) -> None:
    """Keep about as many objects in the view as are wanted."""
    best = leading(meta, heaps, objects, lists, VIEW, wanted + 1)
    floor = objects[best[len(best) - 1]].score
    above = 0
    while above < len(best) and objects[best[above]].score > floor:
        above += 1
    if 2 * above < wanted or floor == -np.inf:
        return  # too many are equal
    _empty(meta, heaps, objects)
    edge[FLOOR] = floor
    for j in range(above):
        hold(meta, heaps, objects, lists, VIEW, best[j])


@kernel
def _empty(meta: Ints, heaps: Ints, objects: Records) -> None:
    for j in range(meta[SIZES + VIEW]):
        objects[heaps[VIEW, j]].in_view = -1
    meta[SIZES + VIEW] = 0


@kernel
def _fill(
    rule: Rule, order: Ints, weights: Floats, meta: Ints, edge: Floats, heaps: Ints,
    objects: Records, lists: Records, wanted: int, active: int,
) -> None:  # fmt: skip
    """The threshold algorithm: afterwards the view holds ``wanted`` objects, or all."""
    _empty(meta, heaps, objects)
    edge[FILLS] += 1
    fill = int(edge[FILLS])
    streams = lists.shape[1]
    waiting = np.empty(streams, np.int64)
    fringes = np.zeros((streams, 64), np.int64)
    least, most = np.full(streams, np.inf), np.empty(streams)  # values at which lists have arrived
    for x in range(streams):
        waiting[x] = min(1, meta[SIZES + STREAM + x])
    met = np.empty(64, np.int64)
    found = depth = 0
    check, threshold, ended = max(1, wanted // streams), -np.inf, False
    while not ended:
        ended = True
        depth += 1
        for x in range(streams):
            if waiting[x] == 0:
                least[x] = -np.inf
                continue
            ended = False
            fringe = fringes[x]
            slot, fringe, waiting[x] = next_best(
                heaps, objects, lists, STREAM + x, meta[SIZES + STREAM + x], fringe, waiting[x]
            )
            if len(fringe) > fringes.shape[1]:
                wider = np.zeros((streams, len(fringe)), np.int64)
                for y in range(streams):
                    for j in range(fringes.shape[1]):
                        wider[y, j] = fringes[y, j]
                for j in range(waiting[x]):
                    wider[x, j] = fringe[j]
                fringes = wider
            least[x] = lists[slot, x].value
            if objects[slot].mark != fill:
                objects[slot].mark = fill
                if found == len(met):
                    more = np.empty(2 * found, np.int64)
                    for j in range(found):
                        more[j] = met[j]
                    met = more
                met[found] = slot
                found += 1
        if depth >= check and not ended:
            check = depth + depth // 2 + 1
            for x in range(streams):  # the most that an object can have which was not met
                most[x] = max(least[x], rule.missing)
            threshold = combined(rule, order, weights, active, most)
            above = 0
            for j in range(found):
                above += objects[met[j]].score > threshold
            if above >= wanted and threshold > -np.inf:
                break
    if ended:
        threshold = -np.inf
    edge[FLOOR] = threshold
    for j in range(found):
        if objects[met[j]].score > threshold or ended:
            hold(meta, heaps, objects, lists, VIEW, met[j])
