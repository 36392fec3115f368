"""PA's threshold as a gate: which records enter a probable band at all.

The gate repeats the steps of the band with scores alone. So a record without a chance costs one
comparison and is never copied. See ``crestline.certain.pa``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.certain.band_lists import threshold_after_loss
from crestline.kernels.certain.blocks import BLOCK, birth
from crestline.kernels.certain.filters import better_than
from crestline.kernels.common.order import reach
from crestline.kernels.common.output import put, room_for
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


class GateRule(NamedTuple):
    """The band behind a gate: its k, its window, its candidates."""

    k: int
    width: int
    limit: int
    additional: int


class GateLists(NamedTuple):
    """The lists of all partitions, best first: p's are at ``start[p] .. start[p + 1]``."""

    start: Ints
    score: Floats
    born: Ints


@kernel
def _pass_gate(
    rule: GateRule, scores: Floats, ats: Ints, first_at: int, start: int, stop: int, listed: Floats,
    born: Ints, size: int, threshold: float, out: Ints, count: int,
) -> tuple[int, float, int, int]:  # fmt: skip
    """Lead ``scores[start:stop]`` through the gate with the list ``listed[:size]`` (descending);
    append the indices of those that enter to ``out[:count]``. Stops early where that is full.

    Returns the size of the list, the threshold, the next record and the number of indices."""
    k, width, limit, additional = rule
    oldest = NEVER
    for i in range(size):
        oldest = min(oldest, born[i])
    position = start
    step_until = start
    while position < stop:
        if position >= step_until:
            while (
                position + BLOCK <= stop
                and birth(ats, first_at, position + BLOCK - 1) - width < oldest
                and not reach(scores[position : position + BLOCK], threshold)
            ):
                position += BLOCK
            if position == stop:
                break
            step_until = position + BLOCK
        now, score = birth(ats, first_at, position), scores[position]
        if oldest <= now - width:
            stay, listed_before = 0, size
            oldest = NEVER
            for i in range(listed_before):
                if born[i] > now - width:
                    listed[stay], born[stay] = listed[i], born[i]
                    oldest = min(oldest, born[i])
                    stay += 1
            # Handle losses one after the other, as in the band.
            for left in range(listed_before - 1, stay - 1, -1):
                size = stay
                if size < 2:
                    threshold = -np.inf
                else:
                    threshold = threshold_after_loss(
                        threshold, listed[size - 1], listed[size - 2], left - k, limit
                    )
            size = stay
        if score >= threshold:
            place = better_than(listed, size, score)
            for i in range(size, place, -1):
                listed[i] = listed[i - 1]
                born[i] = born[i - 1]
            listed[place], born[place] = score, now
            size += 1
            oldest = min(oldest, now)
            if size - k > limit + additional:
                size -= 1
                if born[size] == oldest:
                    oldest = NEVER
                    for i in range(size):
                        oldest = min(oldest, born[i])
            if size - k >= limit + additional:
                threshold = listed[size - 1]
            out[count] = position
            count += 1
        position += 1
        if count == len(out):
            break
    return size, threshold, position, count


@kernel
def gate_arrivals(
    rule: GateRule, lists: GateLists, thresholds: Floats, start: Ints, scores: Floats, ats: Ints,
    first_at: int,
) -> tuple[GateLists, Ints, Ints]:  # fmt: skip
    """The gates of all partitions: p's new records are those at ``start[p] .. start[p + 1]``, born
    as in ``pass_blocks``; ``thresholds`` change in place.

    Returns the new lists and what enters (offsets, indices).
    """
    partitions = len(lists.start) - 1
    room = rule.k + rule.limit + rule.additional + 2
    listed = np.empty(room, np.float64)
    born = np.empty(room, np.int64)
    total = 0
    for p in range(partitions):
        before = lists.start[p + 1] - lists.start[p]
        total += min(room, before + start[p + 1] - start[p])
    kept_from = np.zeros(partitions + 1, np.int64)
    kept_score = np.empty(total, np.float64)
    kept_born = np.empty(total, np.int64)
    entered_from = np.zeros(partitions + 1, np.int64)
    out = np.empty(64, np.int64)
    filled, count = 0, 0
    for p in range(partitions):
        size = lists.start[p + 1] - lists.start[p]
        put(listed, 0, lists.score, lists.start[p], size)
        put(born, 0, lists.born, lists.start[p], size)
        position = start[p]
        while position < start[p + 1]:
            size, thresholds[p], position, count = _pass_gate(
                rule, scores, ats, first_at, position, start[p + 1], listed, born, size,
                thresholds[p], out, count,
            )  # fmt: skip
            out = room_for(out, count, len(out) // 2)
        put(kept_score, filled, listed, 0, size)
        put(kept_born, filled, born, 0, size)
        filled += size
        kept_from[p + 1] = filled
        entered_from[p + 1] = count
    kept = GateLists(kept_from, kept_score[:filled].copy(), kept_born[:filled].copy())
    return kept, entered_from, out[:count].copy()
