"""The filters before a band: which of the recent records may matter at all.

The most recent records stand in a first-in first-out *buffer*; a *filter* is a list of some of
them, best first. A record is offered to the band twice. When it arrives, it passes unless k records
of the filter beat it: those are so recent that they will outlast its time in the buffer (Theorem
5.1 of Pripuzic et al.; the buffer spans at most half the window). When it leaves the buffer, it
passes unless k records of the filter beat it: all of them are younger and dominate it for good.
So any subset of the buffer may serve as filter, and the answer stays exact; see
``crestline.certain.arrivals``.

Filters know scores only. Records with equal scores do not beat one another, so whatever breaks
ties later has them all to choose from. Equal scores stand in the list youngest first.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.certain.bands import lowered
from crestline.kernels.common.output import put, room_for
from crestline.kernels.common.select import select_runs
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints

STRICT, RELAXED, PROBABLE = 0, 1, 2
_BLOCK = 64


@kernel
def better_than(scores: Floats, size: int, score: float) -> int:
    """How many of the descending scores are larger."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if scores[middle] > score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def no_worse_than(scores: Floats, size: int, score: float) -> int:
    """How many of the descending scores are as large or larger."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if scores[middle] >= score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def reach(scores: Floats, bound: float) -> bool:
    """Whether any score reaches the bound: a loop that the compiler vectorises."""
    hit = False
    for i in range(len(scores)):
        hit |= scores[i] >= bound
    return hit


@kernel
def _skip(
    scores: Floats, ats: Ints, at: int, head: int, most: int, span: int, enter: float, leave: float
) -> tuple[int, int]:
    """Pass over arrivals below ``enter`` while what leaves the buffer is below ``leave``: nothing
    happens to the filter then. Returns the next arrival and the buffer's first."""
    n = len(scores)
    while at + _BLOCK <= n:
        end = at + _BLOCK
        first = max(head, end - most)
        while first < at and ats[first] <= ats[end - 1] - span:
            first += 1
        if reach(scores[at:end], enter) or reach(scores[head : min(first, at)], leave):
            break
        if first > at:
            break
        at, head = end, first
    return at, head


@kernel
def pass_blocks(
    scores: Floats,
    ats: Ints,
    first_at: int,
    start: Ints,
    k: int,
    block: int,
    width: int,
    edge_kth: Floats,
    edge_at: Ints,
) -> tuple[Ints, Ints]:
    """The same decision for whole blocks of a long batch, before any filter is asked.

    ``scores[start[p] : start[p + 1]]`` are partition p's records in order, born at ``ats`` (or, if
    that is empty, one after the other from ``first_at`` on). A record that k records of the block
    before its own beat, and k of the block after it, can never be reported: the former outlast the
    arrival of the latter, as long as the three blocks together are shorter than the window.
    ``edge_kth[p]`` and ``edge_at[p]`` are the k-th best score and the first birth of the last block
    of the batch before this, and are updated. Returns the places of all others, and the offsets of
    their partitions.
    """
    partitions = len(start) - 1
    kept_from = np.zeros(partitions + 1, np.int64)
    kept = np.empty(1024, np.int64)
    count = 0
    guess = np.array([-np.inf, 0.0])
    for p in range(partitions):
        low, high = start[p], start[p + 1]
        blocks = (high - low + block - 1) // block
        edges = np.empty(blocks + 1, np.int64)
        for b in range(blocks):
            edges[b] = low + b * block
        edges[blocks] = high
        # The k-th best of every block: what the records beaten by k of it fall short of.
        kth = np.full(blocks, np.inf)
        best = select_runs(scores, edges, k, guess)
        for i in range(len(best)):
            b = (best[i] - low) // block
            kth[b] = min(kth[b], scores[best[i]])
        for b in range(blocks):
            if edges[b + 1] - edges[b] < k:
                kth[b] = -np.inf
        for b in range(blocks):
            bound = -np.inf
            if b < blocks - 1:
                last = _birth(ats, first_at, edges[b + 2] - 1)
                before, first = edge_kth[p], edge_at[p]
                if b > 0:
                    before, first = kth[b - 1], _birth(ats, first_at, edges[b - 1])
                if last - first < width:
                    bound = min(before, kth[b + 1])
            kept = room_for(kept, count, edges[b + 1] - edges[b])
            count = _collect(scores, edges[b], edges[b + 1], bound, kept, count)
        for b in range(blocks):
            if kth[b] > -np.inf:
                edge_kth[p], edge_at[p] = kth[b], _birth(ats, first_at, edges[b])
        kept_from[p + 1] = count
    return kept[:count].copy(), kept_from


@kernel
def _birth(ats: Ints, first_at: int, place: int) -> int:
    return first_at + place if len(ats) == 0 else ats[place]


@kernel
def _collect(scores: Floats, at: int, stop: int, bound: float, kept: Ints, count: int) -> int:
    """Append the places of the scores that reach the bound."""
    while at < stop:
        end = min(at + _BLOCK, stop)
        if reach(scores[at:end], bound):
            for i in range(at, end):
                if scores[i] >= bound:
                    kept[count] = i
                    count += 1
        at = end
    return count


@kernel
def _insert(
    listed: Floats, born: Ints, dominators: Ints, size: int, place: int, score: float, at: int
) -> None:
    for i in range(size, place, -1):
        listed[i] = listed[i - 1]
        born[i] = born[i - 1]
        dominators[i] = dominators[i - 1]
    listed[place], born[place], dominators[place] = score, at, 0


@kernel
def _remove(listed: Floats, born: Ints, dominators: Ints, size: int, place: int) -> None:
    for i in range(place, size - 1):
        listed[i] = listed[i + 1]
        born[i] = born[i + 1]
        dominators[i] = dominators[i + 1]


@kernel
def _drop_beaten(
    listed: Floats, born: Ints, dominators: Ints, size: int, place: int, k: int
) -> int:
    """Count the youngest record, at ``place``, as a dominator of all worse ones; the new size."""
    score = listed[place]
    stay = place + 1
    for i in range(place + 1, size):
        dominators[i] += listed[i] < score
        if dominators[i] < k:
            listed[stay], born[stay], dominators[stay] = listed[i], born[i], dominators[i]
            stay += 1
    return stay


@kernel
def _prune(listed: Floats, born: Ints, size: int, k: int, latest: Ints) -> int:
    """Drop what k younger, better records beat; the new size. ``latest`` is room for k."""
    room = 0  # of ``latest``: the youngest births among strictly better ones, ascending
    stay = 0
    at = 0
    while at < size:
        run = at
        while run < size and listed[run] == listed[at]:
            run += 1
        first_kept = stay
        for i in range(at, run):
            if room < k or born[i] > latest[0]:
                listed[stay], born[stay] = listed[i], born[i]
                stay += 1
        for i in range(first_kept, stay):
            # Into the ascending k youngest; the list is short and mostly in order.
            time = born[i]
            if room < k:
                j = room
                room += 1
            elif time > latest[0]:
                j = 0
                while j + 1 < k and latest[j + 1] < time:
                    latest[j] = latest[j + 1]
                    j += 1
                latest[j] = time
                continue
            else:
                continue
            while j > 0 and latest[j - 1] > time:
                latest[j] = latest[j - 1]
                j -= 1
            latest[j] = time
        at = run
    return stay


@kernel
def pass_filter(
    kind: int,
    k: int,
    most: int,
    span: int,
    limit: int,
    gamma: float,
    end: int,
    scores: Floats,
    ats: Ints,
    passed: Bools,
    buffered: int,
    listed: Floats,
    born: Ints,
    dominators: Ints,
    size: int,
    bounds: Floats,
    out: Ints,
    when: Ints,
) -> tuple[int, int, int]:
    """Lead records of one partition through its filter.

    ``scores[:buffered]`` are the buffer, oldest first, the others arrive one after the other at
    ``ats`` (ascending); others, which need not be looked at, may have arrived until ``end``. The
    buffer holds at most ``most`` records, and of the last ``span`` of time
    only. ``passed`` tells which records have passed and is updated. The list is
    ``listed[:size]`` (descending) with ``born`` and ``dominators``, and has room; ``bounds`` holds
    the threshold below which arrivals are ignored (PROBABLE) and the size at which to prune
    (RELAXED). The places of the records that pass go to ``out``, the moments at which they do to
    ``when``.

    Returns where the buffer begins now, the size of the list and how many passed.
    """
    n = len(scores)
    count = 0
    head = 0
    at = buffered
    latest = np.empty(k, np.int64)
    threshold, prune_at = bounds[0], bounds[1]
    step_until = 0  # in this block something happens: it is gone through step by step
    while True:
        if step_until <= at < n and kind == PROBABLE and size >= k and threshold > -np.inf:
            at, head = _skip(scores, ats, at, head, most, span, threshold, listed[size - 1])
            step_until = at + _BLOCK
        now = ats[at] if at < n else end
        # What leaves the buffer is offered for the second time.
        while head < at and (ats[head] <= now - span or (at < n and at - head >= most)):
            score = scores[head]
            if size >= k and score < listed[size - 1]:
                head += 1  # by far the most: not in the list, and beaten by all that are
                continue
            rank = better_than(listed, size, score)
            last = no_worse_than(listed, size, score)
            if last > rank and born[last - 1] == ats[head]:
                _remove(listed, born, dominators, size, last - 1)
                size -= 1
                if kind == PROBABLE:
                    # Raised, not reset: by as much as the two lowest are apart.
                    if size >= k + 2:
                        threshold = lowered(threshold, listed[size - 2], listed[size - 1], 1.0)
                    else:
                        threshold = -np.inf
            if rank < k and not passed[head]:
                passed[head] = True
                # Its time in the buffer may have been over before this arrival.
                out[count], when[count] = head, min(now, ats[head] + span)
                count += 1
            head += 1
        if at == n:
            break
        score = scores[at]
        if size < k or kind != PROBABLE or score >= threshold:
            rank = better_than(listed, size, score)
            _insert(listed, born, dominators, size, rank, score, now)
            size += 1
            if kind == STRICT:
                size = _drop_beaten(listed, born, dominators, size, rank, k)
            elif kind == RELAXED:
                if size - k >= prune_at:
                    size = _prune(listed, born, size, k, latest)
                    left = max(0, size - k)
                    prune_at = max(left + 1.0, np.ceil((1.0 + gamma) * left))
            else:
                if size - k > limit:
                    size -= 1
                if size - k >= limit:
                    threshold = listed[size - 1]
            if rank < k:
                passed[at] = True
                out[count], when[count] = at, now
                count += 1
        at += 1
    bounds[0], bounds[1] = threshold, prune_at
    return head, size, count


@kernel
def filter_arrivals(
    kind: int,
    k: int,
    most: int,
    span: int,
    limit: int,
    gamma: float,
    buffer_from: Ints,
    buffer_score: Floats,
    buffer_at: Ints,
    buffer_passed: Bools,
    list_from: Ints,
    list_score: Floats,
    list_born: Ints,
    list_dominators: Ints,
    bounds: Floats,
    new_from: Ints,
    new_score: Floats,
    new_at: Ints,
    ends: Ints,
) -> tuple[Ints, Ints, Bools, Ints, Floats, Ints, Ints, Ints, Ints, Ints]:
    """``pass_filter`` for every partition p: its buffer, its list and its new records are those
    between ``*_from[p]`` and ``*_from[p + 1]``, and its time goes on until ``ends[p]``; ``bounds[2
    p]`` and ``bounds[2 p + 1]`` change in
    place.

    Records are places: first in the buffers, then in the new ones. Returns the new buffers
    (offsets, places, passed), the new lists (offsets, scores, births, dominators), and what passed
    (offsets, places, when).
    """
    partitions = len(buffer_from) - 1
    old = buffer_from[partitions]
    longest, listed_most, lists = 0, 0, 0
    for p in range(partitions):
        new = new_from[p + 1] - new_from[p]
        total = buffer_from[p + 1] - buffer_from[p] + new
        room = min(total, most) + 2
        if kind == PROBABLE:
            room = min(room, k + limit + 2)
        size = list_from[p + 1] - list_from[p]
        longest = max(longest, total)
        listed_most = max(listed_most, room, size)
        lists += max(room, size)
    scores = np.empty(longest, np.float64)
    ats = np.empty(longest, np.int64)
    passed = np.empty(longest, np.bool_)
    listed = np.empty(listed_most, np.float64)
    born = np.empty(listed_most, np.int64)
    dominators = np.empty(listed_most, np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    kept = np.empty(old + min(len(new_score), most * partitions), np.int64)
    kept_passed = np.empty(len(kept), np.bool_)
    out_list_from = np.zeros(partitions + 1, np.int64)
    out_list = np.empty(lists, np.float64)
    out_born = np.empty(lists, np.int64)
    out_dominators = np.empty(lists, np.int64)
    passed_from = np.zeros(partitions + 1, np.int64)
    out = np.empty(old + len(new_score), np.int64)
    when = np.empty(old + len(new_score), np.int64)
    filled, listed_all, passed_all = 0, 0, 0
    for p in range(partitions):
        low, high = buffer_from[p], buffer_from[p + 1]
        start, stop = new_from[p], new_from[p + 1]
        buffered = high - low
        total = buffered + stop - start
        size = list_from[p + 1] - list_from[p]
        put(passed, 0, buffer_passed, low, buffered)
        put(listed, 0, list_score, list_from[p], size)
        put(born, 0, list_born, list_from[p], size)
        put(dominators, 0, list_dominators, list_from[p], size)
        first, count = 0, 0
        if stop > start or ends[p] > LONG_AGO:  # else nothing happens to the partition
            put(scores, 0, buffer_score, low, buffered)
            put(scores, buffered, new_score, start, stop - start)
            put(ats, 0, buffer_at, low, buffered)
            put(ats, buffered, new_at, start, stop - start)
            passed[buffered:total] = False
            first, size, count = pass_filter(
                kind, k, most, span, limit, gamma, ends[p], scores[:total], ats[:total], passed,
                buffered,
                listed, born, dominators, size, bounds[2 * p : 2 * p + 2],
                out[passed_all:], when[passed_all:],
            )  # fmt: skip
        for i in range(first, total):
            kept[filled] = low + i if i < buffered else old + start + i - buffered
            kept_passed[filled] = passed[i]
            filled += 1
        kept_from[p + 1] = filled
        put(out_list, listed_all, listed, 0, size)
        put(out_born, listed_all, born, 0, size)
        put(out_dominators, listed_all, dominators, 0, size)
        listed_all += size
        out_list_from[p + 1] = listed_all
        for i in range(passed_all, passed_all + count):
            place = out[i]
            out[i] = low + place if place < buffered else old + start + place - buffered
        passed_all += count
        passed_from[p + 1] = passed_all
    return (
        kept_from,
        kept[:filled].copy(),
        kept_passed[:filled].copy(),
        out_list_from,
        out_list[:listed_all].copy(),
        out_born[:listed_all].copy(),
        out_dominators[:listed_all].copy(),
        passed_from,
        out[:passed_all].copy(),
        when[:passed_all].copy(),
    )
