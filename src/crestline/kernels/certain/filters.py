"""The filters before a band: which of the recent records may matter at all.

The most recent records are in a first-in first-out *buffer*. A *filter* is a list of some of them,
best first. A record is offered to the band twice. When it arrives, it passes unless k records of
the filter beat it: those are so recent that they outlast its time in the buffer (Theorem 5.1 of
Pripuzic et al.; the buffer spans at most half the window). When it leaves the buffer, it passes
unless k records of the filter beat it: all of them are younger and dominate it until it expires. So
any subset of the buffer may be the filter, and the answer stays exact; see
``crestline.certain.arrivals``.

Filters see scores only. Records with equal scores do not beat one another, so ties can be broken
later. In the list, the youngest of equal scores comes first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.certain.band_lists import lowered, push, sift
from crestline.kernels.certain.bands import PROBABLE, RELAXED, STRICT
from crestline.kernels.certain.blocks import BLOCK
from crestline.kernels.common.order import reach
from crestline.kernels.common.output import put
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints


class FilterRule(NamedTuple):
    """What a filter keeps."""

    kind: int
    k: int
    #: The most records in the buffer, and the longest time that it spans.
    most: int
    span: int
    #: Probable: how many candidates there are beside the k best.
    limit: int
    #: Relaxed: the share by which the candidates grow before they are pruned.
    gamma: float


class Buffers(NamedTuple):
    """The buffers of all partitions, oldest first: p's are at ``start[p] .. start[p + 1]``."""

    start: Ints
    score: Floats
    at: Ints
    #: Whether the record has passed.
    passed: Bools


class FilterLists(NamedTuple):
    """The lists of all partitions, best first: p's are at ``start[p] .. start[p + 1]``."""

    start: Ints
    score: Floats
    born: Ints
    dominators: Ints


class NewRecords(NamedTuple):
    """Records that arrive, in order: those of p are at ``start[p] .. start[p + 1]``.

    The time of partition p continues until ``end[p]``.
    """

    start: Ints
    score: Floats
    at: Ints
    end: Ints


class Filtered(NamedTuple):
    """Indices into the buffers and then into the new records: those in the buffers now, whether
    they have passed, those that pass now, and when they pass."""

    buffer_from: Ints
    buffer: Ints
    passed: Bools
    passing_from: Ints
    passing: Ints
    when: Ints


@kernel
def better_than(scores: Floats, size: int, score: float) -> int:
    """Count the descending scores that are larger."""
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
    """Count the descending scores that are as large or larger."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if scores[middle] >= score:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _skip(
    scores: Floats,
    ats: Ints,
    position: int,
    head: int,
    most: int,
    span: int,
    enter: float,
    leave: float,
) -> tuple[int, int]:
    """Skip arrivals below ``enter`` while the records that leave the buffer are below ``leave``:
    they do not change the filter. Return the next arrival and the first record of the buffer."""
    n = len(scores)
    while position + BLOCK <= n:
        end = position + BLOCK
        first = max(head, end - most)
        while first < position and ats[first] <= ats[end - 1] - span:
            first += 1
        if reach(scores[position:end], enter) or reach(scores[head : min(first, position)], leave):
            break
        if first > position:
            break
        position, head = end, first
    return position, head


@kernel
def _insert(
    listed: Floats, born: Ints, dominators: Ints, strict: bool, size: int, place: int,
    score: float, time: int,
) -> None:  # fmt: skip
    for i in range(size, place, -1):
        listed[i] = listed[i - 1]
        born[i] = born[i - 1]
    listed[place], born[place] = score, time
    if strict:
        for i in range(size, place, -1):
            dominators[i] = dominators[i - 1]
        dominators[place] = 0


@kernel
def _remove(
    listed: Floats, born: Ints, dominators: Ints, strict: bool, size: int, place: int
) -> None:
    for i in range(place, size - 1):
        listed[i] = listed[i + 1]
        born[i] = born[i + 1]
    if strict:
        for i in range(place, size - 1):
            dominators[i] = dominators[i + 1]


@kernel
def _drop_beaten(
    listed: Floats, born: Ints, dominators: Ints, size: int, place: int, k: int
) -> int:
    """Count the youngest record, at ``place``, as a dominator of all worse ones; return the new
    size."""
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
    """Drop records beaten by k younger ones; return the new size. ``latest`` is room for k: a heap
    of the latest births among the records with better scores."""
    counted, stay, position = 0, 0, 0
    while position < size:
        first_kept, score = stay, listed[position]
        while position < size and listed[position] == score:
            if counted < k or born[position] > latest[0]:
                listed[stay], born[stay] = listed[position], born[position]  # -0.0 equals 0.0
                stay += 1
            position += 1
        for i in range(first_kept, stay):
            if counted < k:
                push(latest, counted, born[i])
                counted += 1
            elif born[i] > latest[0]:
                sift(latest, k, born[i])
    return stay


@kernel
def pass_filter(
    rule: FilterRule, end: int, scores: Floats, ats: Ints, passed: Bools, buffered: int,
    listed: Floats, born: Ints, dominators: Ints, size: int, bounds: Floats, out: Ints, when: Ints,
) -> tuple[int, int, int]:  # fmt: skip
    """Pass the records of one partition through its filter.

    ``scores[:buffered]`` are the buffer, oldest first. The others arrive one after the other at
    ``ats`` (ascending). Records that were left out before may have arrived until ``end``.
    ``passed`` marks the records that have passed, and is updated. The list is ``listed[:size]``
    (descending) with ``born`` and (STRICT) ``dominators``, and has room. ``bounds`` holds the
    threshold below which arrivals are ignored (PROBABLE) and the size at which to prune (RELAXED).
    The indices of records that pass are written to ``out``, the moments at which they pass to
    ``when``.
    Returns the start of the buffer, the size of the list and how many records passed.
    """
    kind, k, most, span, limit, gamma = rule
    n = len(scores)
    count = 0
    head = 0
    position = buffered
    latest = np.empty(k, np.int64)
    strict = kind == STRICT  # only a strict list counts dominators
    threshold, prune_at = bounds[0], bounds[1]
    step_until = 0  # something happens in this block: go through it step by step
    while True:
        if step_until <= position < n and kind == PROBABLE and size >= k and threshold > -np.inf:
            position, head = _skip(
                scores, ats, position, head, most, span, threshold, listed[size - 1]
            )
            step_until = position + BLOCK
        now = ats[position] if position < n else end
        # A record that leaves the buffer is offered for the second time.
        while head < position and (
            ats[head] <= now - span or (position < n and position - head >= most)
        ):
            score = scores[head]
            if size >= k and score < listed[size - 1]:
                head += 1  # the usual case: not in the list, and beaten by all records in it
                continue
            rank = better_than(listed, size, score)
            last = no_worse_than(listed, size, score)
            if last > rank and born[last - 1] == ats[head]:
                _remove(listed, born, dominators, strict, size, last - 1)
                size -= 1
                if kind == PROBABLE:
                    # Raise the threshold by the difference of the two lowest scores.
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
        if position == n:
            break
        score = scores[position]
        if size < k or kind != PROBABLE or score >= threshold:
            rank = better_than(listed, size, score)
            _insert(listed, born, dominators, strict, size, rank, score, now)
            size += 1
            if strict:
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
                passed[position] = True
                out[count], when[count] = position, now
                count += 1
        position += 1
    bounds[0], bounds[1] = threshold, prune_at
    return head, size, count


@kernel
def _room_of_lists(
    rule: FilterRule, buffers: Buffers, lists: FilterLists, new: NewRecords
) -> tuple[int, int, int]:
    """Return the largest number of records in a buffer with its arrivals, the longest list, and the
    length of all lists together."""
    longest, longest_list, total_lists = 0, 0, 0
    for p in range(len(buffers.start) - 1):
        total = buffers.start[p + 1] - buffers.start[p] + new.start[p + 1] - new.start[p]
        room = min(total, rule.most) + 2
        if rule.kind == PROBABLE:
            room = min(room, rule.k + rule.limit + 2)
        size = lists.start[p + 1] - lists.start[p]
        longest = max(longest, total)
        longest_list = max(longest_list, room, size)
        total_lists += max(room, size)
    return longest, longest_list, total_lists


@kernel
def filter_arrivals(
    rule: FilterRule, buffers: Buffers, lists: FilterLists, bounds: Floats, new: NewRecords
) -> tuple[Filtered, FilterLists]:
    """Run ``pass_filter`` for every partition p; ``bounds[2 p]`` and ``bounds[2 p + 1]`` change in
    place. Return which records passed, and the new lists."""
    partitions = len(buffers.start) - 1
    old = buffers.start[partitions]
    longest, longest_list, total_lists = _room_of_lists(rule, buffers, lists, new)
    scores = np.empty(longest, np.float64)
    ats = np.empty(longest, np.int64)
    passed = np.empty(longest, np.bool_)
    listed = np.empty(longest_list, np.float64)
    born = np.empty(longest_list, np.int64)
    dominators = np.empty(longest_list, np.int64)
    strict = rule.kind == STRICT
    kept_from = np.zeros(partitions + 1, np.int64)
    kept = np.empty(old + min(len(new.score), rule.most * partitions), np.int64)
    kept_passed = np.empty(len(kept), np.bool_)
    list_from = np.zeros(partitions + 1, np.int64)
    list_score = np.empty(total_lists, np.float64)
    list_born = np.empty(total_lists, np.int64)
    list_dominators = np.zeros(total_lists, np.int64)
    passed_from = np.zeros(partitions + 1, np.int64)
    out = np.empty(old + len(new.score), np.int64)
    when = np.empty(old + len(new.score), np.int64)
    filled, listed_all, passed_all = 0, 0, 0
    for p in range(partitions):
        low, start, stop = buffers.start[p], new.start[p], new.start[p + 1]
        buffered = buffers.start[p + 1] - low
        total = buffered + stop - start
        first_listed = lists.start[p]
        size = lists.start[p + 1] - first_listed
        put(passed, 0, buffers.passed, low, buffered)
        put(listed, 0, lists.score, first_listed, size)
        put(born, 0, lists.born, first_listed, size)
        if strict:
            put(dominators, 0, lists.dominators, first_listed, size)
        first, count = 0, 0
        if stop > start or new.end[p] > LONG_AGO:  # else nothing happens to the partition
            put(scores, 0, buffers.score, low, buffered)
            put(scores, buffered, new.score, start, stop - start)
            put(ats, 0, buffers.at, low, buffered)
            put(ats, buffered, new.at, start, stop - start)
            passed[buffered:total] = False
            first, size, count = pass_filter(
                rule, new.end[p], scores[:total], ats[:total], passed, buffered, listed, born,
                dominators, size, bounds[2 * p : 2 * p + 2], out[passed_all:], when[passed_all:],
            )  # fmt: skip
        for i in range(first, total):
            kept[filled] = low + i if i < buffered else old + start + i - buffered
            kept_passed[filled] = passed[i]
            filled += 1
        kept_from[p + 1] = filled
        put(list_score, listed_all, listed, 0, size)
        put(list_born, listed_all, born, 0, size)
        if strict:
            put(list_dominators, listed_all, dominators, 0, size)
        listed_all += size
        list_from[p + 1] = listed_all
        for i in range(passed_all, passed_all + count):
            position = out[i]
            out[i] = low + position if position < buffered else old + start + position - buffered
        passed_all += count
        passed_from[p + 1] = passed_all
    return Filtered(
        kept_from, kept[:filled].copy(), kept_passed[:filled].copy(),
        passed_from, out[:passed_all].copy(), when[:passed_all].copy(),
    ), FilterLists(
        list_from, list_score[:listed_all].copy(), list_born[:listed_all].copy(),
        list_dominators[:listed_all].copy(),
    )  # fmt: skip
