"""The answer of a step: the k best objects of the window.

The objects with the largest scores; of equal scores the one whose newest value is later comes
first, then the one with the smaller ``code``. Codes of different objects may be equal (a code is
the beginning of a long name). Then all objects that might be the k-th are in the answer, and the
caller, who has the names, decides.

An object is *certain* if its score is above the (k + 1)-th largest upper bound: k others cannot
overtake it any more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.common.output import Report, add_head, put, roomy
from crestline.kernels.incomplete.heaps import BOUND, SCORE, WAKE, leading, release
from crestline.kernels.incomplete.objects import give_back
from crestline.kernels.incomplete.sorted_lists import ranked_by_lists
from crestline.kernels.incomplete.store import (
    CHANGED,
    KTH_SCORE,
    KTH_TIME,
    RIVAL,
    SHOWN,
    ObjectQuery,
    StoreArrays,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints, Records

#: Rows of numbers per object: score, upper bound, whether it is certain, time of the newest value,
#: and beside the j-th object the j-th largest bound of any.
NUMBERS = 5


class Answer(NamedTuple):
    """The latest answer; its first ``meta[SHOWN]`` entries count."""

    slot: Ints
    id: Ints
    numbers: Floats


def no_answer() -> Answer:
    """Make the answer of a partition that has none yet."""
    none = np.empty(0, np.int64)
    return Answer(none, none, np.empty((NUMBERS, 0)))


@kernel
def find_answer(query: ObjectQuery, store: StoreArrays, answer: Answer) -> tuple[bool, Answer]:
    """Compute the answer; return whether it differs from the latest one, and the answer."""
    meta, heaps, k = store.meta, store.heaps, query.k
    meta[CHANGED] = 0
    best = ranked_by_lists(query.rule, store, k) if query.listed else leading(heaps, SCORE, k)
    bounds = leading(heaps, BOUND, k + 1)
    best = best[: _in_order(heaps.objects, best, k)]
    differs = len(best) != meta[SHOWN]
    _mark_shown(store, answer.slot, best)
    if len(answer.id) < len(best):
        room = max(len(best), min(2 * len(best), k))
        answer = Answer(
            np.empty(room, np.int64), np.empty(room, np.int64), np.empty((NUMBERS, room))
        )
        differs = True
    differs |= _write(store, best, bounds, k, answer)
    return differs, answer


@borrowing_kernel
def _tie(objects: Records, a: int, b: int) -> bool:
    return bool(objects[a].score == objects[b].score and objects[a].latest == objects[b].latest)


@borrowing_kernel
def _in_order(objects: Records, best: Ints, k: int) -> int:
    """Sort objects of equal score and time by their codes; return how many are in the answer."""
    start = 0
    while start < len(best):
        stop = start + 1
        while stop < len(best) and _tie(objects, best[stop], best[start]):
            stop += 1
        if stop - start > 1:
            _sort_codes(objects, best, start, stop - start)
        start = stop
    count = min(k, len(best))
    while 0 < count < len(best) and _tie(objects, best[count], best[count - 1]):
        if objects[best[count]].code != objects[best[count - 1]].code:
            break
        count += 1
    return count


@borrowing_kernel
def _sort_codes(objects: Records, best: Ints, start: int, size: int) -> None:
    """Sort a run of slots by code, with heap sort: there may be many."""
    for turn in range(size // 2 + size - 1):
        limit, node = size, size // 2 - 1 - turn
        if node < 0:  # the heap is built: its largest entry goes to the end, again and again
            limit, node = size // 2 + size - 1 - turn, 0
            best[start], best[start + limit] = best[start + limit], best[start]
        while True:
            child = 2 * node + 1
            if child >= limit:
                break
            code = objects[best[start + child]].code
            if child + 1 < limit and objects[best[start + child + 1]].code > code:
                child += 1
                code = objects[best[start + child]].code
            if code <= objects[best[start + node]].code:
                break
            best[start + node], best[start + child] = best[start + child], best[start + node]
            node = child


@borrowing_kernel
def _mark_shown(store: StoreArrays, shown: Ints, best: Ints) -> None:
    """Mark the objects of the new answer; free those of the old one that have no values left."""
    heaps = store.heaps
    objects = heaps.objects
    for j in range(len(best)):
        objects[best[j]].shown |= 2
    for j in range(store.meta[SHOWN]):
        slot = shown[j]
        if objects[slot].shown == 1:
            objects[slot].shown = 0
            if objects[slot].newest < 0:
                release(heaps, WAKE, slot)
                give_back(heaps, store.table, slot)
    for j in range(len(best)):
        objects[best[j]].shown = 1


@borrowing_kernel
def _write(store: StoreArrays, best: Ints, bounds: Ints, k: int, answer: Answer) -> bool:
    """Write the answer and its thresholds; return whether an object or a number differs."""
    objects, thresholds = store.heaps.objects, store.thresholds
    slots, ids, numbers = answer
    rival = objects[bounds[k]].bound if len(bounds) > k else -np.inf
    differs, count = False, len(best)
    for j in range(count):
        slot = best[j]
        score, bound = objects[slot].score, objects[slot].bound
        certain = 1.0 if score > rival else 0.0
        differs = (
            differs
            or slots[j] != slot
            or numbers[0, j] != score
            or numbers[1, j] != bound
            or numbers[2, j] != certain
        )
        slots[j], ids[j] = slot, objects[slot].id
        numbers[0, j], numbers[1, j], numbers[2, j] = score, bound, certain
        numbers[3, j] = objects[slot].latest
        numbers[4, j] = objects[bounds[j]].bound if j < len(bounds) else -np.inf
    store.meta[SHOWN] = count
    thresholds[RIVAL] = rival
    thresholds[KTH_SCORE] = thresholds[KTH_TIME] = -np.inf
    if count >= k:
        thresholds[KTH_SCORE], thresholds[KTH_TIME] = numbers[0, count - 1], numbers[3, count - 1]
    return differs


@kernel
def add_answer(report: Report, partition: int, step: int, answer: Answer, count: int) -> Report:
    """Add the first ``count`` objects of the answer to a report, as the snapshot of a step."""
    report = roomy(report, 1, count)
    first = add_head(report, partition, step, 0, count)
    put(report.records, first, answer.id, 0, count)
    for row in range(NUMBERS):
        put(report.numbers[row], first, answer.numbers[row], 0, count)
    return report
