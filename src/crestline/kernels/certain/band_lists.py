"""The list of a band: records, best first, in the middle of an array with room on both sides.

``chain[head:tail]`` are the records, ``keys`` their scores in the same order, ``ats`` the births by
record. Also the thresholds of probable bands.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def find_place(
    chain: Ints, keys: Floats, head: int, tail: int, score: float, tie: int, ties: Ints
) -> int:
    """Return the index at which a record with this score and tie belongs in ``chain[head:tail]``.
    ``keys`` holds the scores in the order of the list: looking them up by record takes twice as
    long."""
    low, high = head, tail
    while low < high:
        middle = (low + high) >> 1
        key = keys[middle]
        if key > score or (key == score and ties[chain[middle]] >= tie):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def insert(
    chain: Ints, keys: Floats, head: int, tail: int, place: int, record: int, score: float
) -> tuple[int, int]:
    """Insert a record at ``place`` by moving the shorter side, which has room; return the new
    bounds."""
    if place - head < tail - place:
        for i in range(head, place):
            chain[i - 1] = chain[i]
            keys[i - 1] = keys[i]
        chain[place - 1], keys[place - 1] = record, score
        return head - 1, tail
    for i in range(tail, place, -1):
        chain[i] = chain[i - 1]
        keys[i] = keys[i - 1]
    chain[place], keys[place] = record, score
    return head, tail + 1


@kernel
def remove(chain: Ints, keys: Floats, head: int, tail: int, place: int) -> tuple[int, int]:
    """Remove the record at ``place`` by moving the shorter side; return the new bounds."""
    if place - head < tail - place:
        for i in range(place, head, -1):
            chain[i] = chain[i - 1]
            keys[i] = keys[i - 1]
        return head + 1, tail
    for i in range(place, tail - 1):
        chain[i] = chain[i + 1]
        keys[i] = keys[i + 1]
    return head, tail - 1


@kernel
def drop_dominated_by(
    chain: Ints, keys: Floats, head: int, place: int, tail: int, k: int, ats: Ints, dominators: Ints
) -> int:
    """Count the record at ``place`` as a dominator of those behind it, and count its own
    dominators; return the new tail."""
    record = chain[place]
    born = ats[record]
    dominators[record] = 0
    for i in range(head, place):
        dominators[record] += ats[chain[i]] >= born
    stay = place if dominators[record] >= k else place + 1
    for i in range(place + 1, tail):
        behind = chain[i]
        dominators[behind] += ats[behind] <= born
        if dominators[behind] < k:
            chain[stay], keys[stay] = behind, keys[i]
            stay += 1
    return stay


@kernel
def push(heap: Ints | Floats, size: int, value: float) -> None:
    """Add a value to a heap, of which the least comes first. ``heap.sort()`` would do to make one,
    but takes a second to compile."""
    hole = size
    while hole > 0 and heap[(hole - 1) >> 1] > value:
        heap[hole] = heap[(hole - 1) >> 1]
        hole = (hole - 1) >> 1
    heap[hole] = value


@kernel
def sift(heap: Ints | Floats, size: int, value: float) -> None:
    """Replace the least value of the heap by a larger one."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = value


@kernel
def prune(
    chain: Ints, keys: Floats, head: int, tail: int, k: int, ats: Ints, oldest: int, latest: Ints
) -> int:
    """Drop candidates with k dominators and those born before ``oldest``; return the new tail.

    ``latest`` is room for k births: a heap of the latest births among all records that rank before.
    """
    size = 0
    for i in range(head, min(head + k, tail)):
        push(latest, size, ats[chain[i]])
        size += 1
    stay = head + size
    for i in range(head + size, tail):
        born = ats[chain[i]]
        if born > latest[0] and born >= oldest:
            chain[stay], keys[stay] = chain[i], keys[i]
            stay += 1
            sift(latest, size, born)
    return stay


@kernel
def oldest_birth(chain: Ints, head: int, tail: int, k: int, ats: Ints) -> int:
    """The birth of the answer's oldest record."""
    born = NEVER
    for i in range(head, min(head + k, tail)):
        born = min(born, ats[chain[i]])
    return born


@kernel
def lowered(threshold: float, last_but_one: float, last: float, share: float) -> float:
    """Return the threshold less a share of the difference between the two lowest scores.

    No score is below the threshold. So it can be infinite only if both scores are, and equal: then
    the difference counts as 0.
    """
    if last_but_one > last:
        return threshold - share * (last_but_one - last)
    return threshold


@kernel
def threshold_after_loss(
    threshold: float, last: float, last_but_one: float, candidates: int, limit: int
) -> float:
    """Return PA's threshold after a record has expired: lower than before, and minus infinity if
    too few candidates are left (Algorithm 2, lines 13 to 17)."""
    if candidates < max(limit, 2):
        return -np.inf
    return lowered(threshold, last_but_one, last, 0.5)
