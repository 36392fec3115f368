"""Sorting records best first inside kernels.

Records are spread over as many buckets as there are records, by equal ranges of their scores.
Buckets that are still large are spread again, and what little disorder is left is put right by
insertion. Where spreading does not help, as with equal or infinite scores, records are merged; if
they come last first, as equal scores often do since later ones win ties, they are turned round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.common.output import put
from crestline.kernels.common.windows import before
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

#: Buckets up to this size are left to insertion.
_FEW = 16
#: How often the records of a bucket are spread again before they are merged.
_LEVELS = 4


class SortRoom(NamedTuple):
    """Room to sort in."""

    spare: Ints
    #: Where the next record of each bucket goes.
    place: Ints
    #: Stretches that are still to be spread: begin, end, level.
    stack: Ints


@kernel
def sort_room(count: int) -> SortRoom:
    """Room to sort up to ``count`` records."""
    return SortRoom(
        np.empty(count, np.int64),
        np.empty(count + 1, np.int64),
        np.empty((count // _FEW + 2, 3), np.int64),
    )


@kernel
def sort_records(
    records: Ints, first: int, count: int, room: SortRoom, scores: Floats, ties: Ints
) -> None:
    """Sort the ``count`` entries of ``records`` from ``first`` on, best first."""
    place, stack = room.place, room.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = first, first + count, 0
    waiting = 1 if count > _FEW else 0
    while waiting > 0:
        waiting -= 1
        low, high, level = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        if level == _LEVELS or not _spread(records, low, high, room.spare, place, scores):
            _merge(records, low, high, room.spare, scores, ties)
            continue
        begin = low
        for bucket in range(high - low):
            end = low + place[bucket]
            if end - begin > _FEW:
                stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = begin, end, level + 1
                waiting += 1
            begin = end
    for i in range(first + 1, first + count):
        record = records[i]
        score, hole = scores[record], i
        while hole > first:
            other = records[hole - 1]
            better = scores[other]
            if score < better or (score == better and ties[record] < ties[other]):
                break
            records[hole] = other
            hole -= 1
        records[hole] = record


@kernel
def _spread(records: Ints, low: int, high: int, spare: Ints, place: Ints, scores: Floats) -> bool:
    """Put ``records[low:high]`` into the order of their buckets, as many as there are records;
    ``place`` then holds the end of each. Return False if there is no order of buckets."""
    count = high - low
    best = worst = scores[records[low]]
    for i in range(low + 1, high):
        score = scores[records[i]]
        best, worst = max(best, score), min(worst, score)
    scale = (count - 1) / (best - worst) if best > worst else np.inf
    if not (best - worst < np.inf and scale < np.inf):
        return False
    for bucket in range(count + 1):
        place[bucket] = 0
    for i in range(low, high):
        place[int((best - scores[records[i]]) * scale) + 1] += 1
    for bucket in range(count):
        place[bucket + 1] += place[bucket]
    for i in range(low, high):
        record = records[i]
        bucket = int((best - scores[record]) * scale)
        spare[place[bucket]] = record
        place[bucket] += 1
    put(records, low, spare, 0, count)
    return True


@kernel
def _merge(records: Ints, low: int, high: int, spare: Ints, scores: Floats, ties: Ints) -> None:
    """Sort ``records[low:high]`` by merging."""
    count, width = high - low, 1
    last = low
    while last + 1 < high and before(scores, ties, records[last + 1], records[last]):
        last += 1
    if last + 1 == high:
        for i in range(count // 2):
            records[low + i], records[last - i] = records[last - i], records[low + i]
        return
    while width < count:
        for left in range(low, high, 2 * width):
            middle, right = min(left + width, high), min(left + 2 * width, high)
            a, b = left, middle
            for position in range(left - low, right - low):
                if b >= right or (a < middle and not before(scores, ties, records[b], records[a])):
                    spare[position] = records[a]
                    a += 1
                else:
                    spare[position] = records[b]
                    b += 1
        put(records, low, spare, 0, count)
        width *= 2


@kernel
def sort_runs(order: Ints, starts: Ints, scores: Floats, ties: Ints) -> None:
    """Sort each run of ``order`` in place, best first."""
    longest = 0
    for r in range(len(starts) - 1):
        longest = max(longest, starts[r + 1] - starts[r])
    room = sort_room(longest)
    for r in range(len(starts) - 1):
        sort_records(order, starts[r], starts[r + 1] - starts[r], room, scores, ties)
