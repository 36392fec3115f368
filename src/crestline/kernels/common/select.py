"""The k best of every group of records, ties at the k-th included.

A pane's records expire together, so only its k best can ever be reported: this is the pruning that
makes everything after it cheap. A record that ties with the k-th best stays, because the tie is
broken later by values that no kernel sees.

``select_runs`` reads contiguous groups and is bound by memory: blocks of 64 in which nothing beats
the current threshold are skipped with one vectorised comparison. The survivors go to a buffer of
2k; when it is full, quickselect halves it and raises the threshold. ``select_groups`` reads groups
that are interleaved (partitions) and keeps a heap for each.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.output import put, room_for
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

_BLOCK = 64
#: Few records of a run are kept if it has at least this many times k.
_SPARSE = 16
#: From this k on, a run may keep a few records more than it must.
_MANY = 1000


@kernel
def keep_largest(values: Floats, where: Ints, count: int, k: int) -> None:
    """Reorder ``values[:count]`` (and ``where`` with it) so that the k largest come first."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) >> 1
        a, b, c = values[low], values[middle], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                where[i], where[j] = where[j], where[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@kernel
def _cut(values: Floats, where: Ints, count: int, k: int, lost: float) -> tuple[float, float]:
    """Keep the k largest of the buffer; return the new threshold and the largest tie given up."""
    keep_largest(values, where, count, k)
    threshold = values[0]
    for i in range(1, k):
        threshold = min(threshold, values[i])
    for i in range(k, count):
        if values[i] == threshold:
            lost = threshold
    return threshold, lost


@kernel
def _reaches(block: Floats, threshold: float) -> bool:
    """Whether any score is as large as the threshold: a loop that the compiler vectorises."""
    hit = False
    for i in range(len(block)):
        hit |= block[i] >= threshold
    return hit


@kernel
def _gather(
    scores: Floats, begin: int, end: int, k: int, floor: float, values: Floats, where: Ints
) -> tuple[int, float]:
    """Fill the buffer with the scores of a run that reach ``floor`` or, once it is full, its k-th.

    Returns how many there are and the largest score that was given up while tied with the k-th.
    """
    full, many = len(values) - _BLOCK, end - begin < _SPARSE * k
    threshold, lost = floor, -np.inf
    count = 0
    position = begin
    while position < end:
        block = scores[position : min(position + _BLOCK, end)]
        if _reaches(block, threshold):
            for i in range(len(block)):
                if many:  # then no branch: which ones reach it cannot be foreseen
                    values[count], where[count] = block[i], position + i
                    count += block[i] >= threshold
                elif block[i] >= threshold:
                    values[count], where[count] = block[i], position + i
                    count += 1
            if count > full:
                threshold, lost = _cut(values, where, count, k, lost)
                count = k
        position += _BLOCK
    return count, lost


@kernel
def select_runs(scores: Floats, starts: Ints, k: int, guess: Floats) -> Ints:
    """Positions of each run's k best scores, ties with the k-th included, run after run.

    Where k is large (``_MANY``), up to 7 sqrt(k) of the next best may be among them.

    ``starts`` holds the first position of every run and, last, the end. Within a run the positions
    are in no particular order. Scores must not be NaN. ``guess`` is a floor for the first
    run's threshold and the length of the run it comes from; both are updated in place for the next
    call. Start with -inf and 0; the k best do not depend on it.
    """
    runs = len(starts) - 1
    room, longest = 0, 0
    for r in range(runs):
        room += min(k, starts[r + 1] - starts[r])
        longest = max(longest, starts[r + 1] - starts[r])
    if longest <= k:
        return np.arange(starts[0], starts[runs])
    kept = np.empty(room, np.int64)
    filled = 0
    # A run usually resembles the one before it. So the threshold starts where a few more than k
    # of the last run's scores reached it, and nearly all of the run is then skipped at once. Should
    # fewer than k reach that floor, the run is read again from no floor at all; after such a miss
    # the guess rests for a while, longer if misses are many.
    slack = int(1.6 * np.sqrt(k)) + 1
    wide = k + 4 * int(np.sqrt(k)) + 4
    values = np.empty(2 * wide + _BLOCK, np.float64)
    where = np.empty(2 * wide + _BLOCK, np.int64)
    floor, usual = guess[0], guess[1]
    rest, penalty = 0, 1
    for r in range(runs):
        begin, end = starts[r], starts[r + 1]
        if end - begin <= k:
            kept = room_for(kept, filled, end - begin)
            for i in range(begin, end):
                kept[filled] = i
                filled += 1
            continue
        goal = min(wide, end - begin)
        # A piece of a run, at the edge of a batch, says nothing about a whole one.
        short = end - begin < usual / 2
        guessing = rest <= 0 and not short
        used = floor if guessing else -np.inf
        count, lost = _gather(scores, begin, end, goal, used, values, where)
        missed = count < k
        if missed:
            count, lost = _gather(scores, begin, end, goal, -np.inf, values, where)
        blind = used == -np.inf or missed
        if k >= _MANY and not blind and lost == -np.inf and k + slack <= count <= k + 4 * slack:
            # Close enough: a few too many cost less than finding out which they are.
            kept = room_for(kept, filled, count)
            put(kept, filled, where, 0, count)
            filled += count
            usual = float(end - begin)
            continue
        if blind and count >= goal:
            used, lost = _cut(values, where, count, goal, lost)
            count = goal
        threshold, lost = _cut(values, where, count, k, lost)
        if not short:
            rest -= 1
            if missed:
                rest, penalty = penalty, min(2 * penalty, 1 << 10)
            elif penalty > 1:
                penalty -= 1
            # Where the goal-th best lies, by the line through the k-th and the count-th.
            floor = used
            if not blind and threshold < np.inf:  # else the line has no place
                floor = threshold - (threshold - used) * (goal - k + 1) / (count - k + 1)
            usual = float(end - begin)
        if lost != threshold:
            kept = room_for(kept, filled, k)
            put(kept, filled, where, 0, k)
            filled += k
            continue
        tied = 0
        for i in range(begin, end):
            tied += scores[i] >= threshold
        kept = room_for(kept, filled, tied)
        for i in range(begin, end):
            if scores[i] >= threshold:
                kept[filled] = i
                filled += 1
    guess[0], guess[1] = floor, usual
    return kept[:filled]


@kernel
def select_groups(scores: Floats, groups: Ints, n_groups: int, k: int) -> Ints:
    """Positions, ascending, of each group's k best scores, ties with the k-th included.

    ``groups[i]`` in ``0 .. n_groups - 1`` is the group of record i. Scores must not be NaN.
    """
    n = len(scores)
    offsets = np.zeros(n_groups + 1, np.int64)
    for i in range(n):
        offsets[groups[i] + 1] += 1
    crowded = False
    for g in range(n_groups):
        crowded |= offsets[g + 1] > k
        # A group of no more than k records needs no heap: all of them stay.
        offsets[g + 1] = offsets[g] + (k if offsets[g + 1] > k else 0)
    if not crowded:
        return np.arange(n)
    heaps = np.empty(offsets[n_groups], np.float64)
    sizes = np.zeros(n_groups, np.int64)
    for i in range(n):
        g = groups[i]
        base = offsets[g]
        if offsets[g + 1] == base:
            continue
        score = scores[i]
        size = sizes[g]
        if size < k:
            child = size
            while child > 0 and heaps[base + ((child - 1) >> 1)] > score:
                heaps[base + child] = heaps[base + ((child - 1) >> 1)]
                child = (child - 1) >> 1
            heaps[base + child] = score
            sizes[g] = size + 1
        elif score > heaps[base]:
            hole = 0
            while True:
                child = 2 * hole + 1
                if child >= k:
                    break
                if child + 1 < k and heaps[base + child + 1] < heaps[base + child]:
                    child += 1
                if heaps[base + child] >= score:
                    break
                heaps[base + hole] = heaps[base + child]
                hole = child
            heaps[base + hole] = score
    kept = np.empty(n, np.int64)
    filled = 0
    for i in range(n):
        base = offsets[groups[i]]
        if offsets[groups[i] + 1] == base or scores[i] >= heaps[base]:
            kept[filled] = i
            filled += 1
    return kept[:filled].copy()


@kernel
def select_partitioned(
    scores: Floats, partitions: Ints, n_partitions: int, starts: Ints, k: int
) -> Ints:
    """As ``select_groups``, where a group is a partition within one of the runs of ``starts``."""
    kept = np.empty(len(scores), np.int64)
    filled = 0
    for r in range(len(starts) - 1):
        begin, end = starts[r], starts[r + 1]
        chosen = select_groups(scores[begin:end], partitions[begin:end], n_partitions, k)
        for i in range(len(chosen)):
            kept[filled] = begin + chosen[i]
            filled += 1
    return kept[:filled].copy()
