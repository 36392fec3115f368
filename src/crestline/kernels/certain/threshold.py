"""PA's threshold as a gate: which records get into a probable band at all.

The gate plays through what the band does with the scores alone, so that a record without a chance
is passed over with one comparison and never copied. See ``crestline.certain.pa``.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.certain.bands import threshold_after_loss
from crestline.kernels.certain.filters import better_than, reach
from crestline.kernels.common.output import put, room_for
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

_BLOCK = 64


@kernel
def _at(ats: Ints, first: int, place: int) -> int:
    """When the record at this place was born: on time, or (no ``ats``) counted from the first."""
    return first + place if len(ats) == 0 else ats[place]


@kernel
def _pass_gate(
    k: int,
    width: int,
    limit: int,
    additional: int,
    scores: Floats,
    ats: Ints,
    first_at: int,
    start: int,
    stop: int,
    listed: Floats,
    born: Ints,
    size: int,
    threshold: float,
    out: Ints,
    count: int,
) -> tuple[int, float, int, int]:
    """Lead ``scores[start:stop]`` through the gate with the list ``listed[:size]`` (descending);
    append the places of those that enter to ``out[:count]``. Stops early where that is full; tells
    where."""
    oldest = NEVER
    for i in range(size):
        oldest = min(oldest, born[i])
    at = start
    step_until = start
    while at < stop:
        if at >= step_until:
            while (
                at + _BLOCK <= stop
                and _at(ats, first_at, at + _BLOCK - 1) - width < oldest
                and not reach(scores[at : at + _BLOCK], threshold)
            ):
                at += _BLOCK
            if at == stop:
                break
            step_until = at + _BLOCK
        now, score = _at(ats, first_at, at), scores[at]
        if oldest <= now - width:
            stay, found = 0, size
            oldest = NEVER
            for i in range(found):
                if born[i] > now - width:
                    listed[stay], born[stay] = listed[i], born[i]
                    oldest = min(oldest, born[i])
                    stay += 1
            # One loss after the other, as in the band.
            for left in range(found - 1, stay - 1, -1):
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
            out[count] = at
            count += 1
        at += 1
        if count == len(out):
            break
    return size, threshold, at, count


@kernel
def gate_arrivals(
    k: int,
    width: int,
    limit: int,
    additional: int,
    list_from: Ints,
    list_score: Floats,
    list_born: Ints,
    thresholds: Floats,
    new_from: Ints,
    scores: Floats,
    ats: Ints,
    first_at: int,
) -> tuple[Ints, Floats, Ints, Ints, Ints]:
    """The gates of all partitions: partition p's list and new records are those between
    ``*_from[p]`` and ``*_from[p + 1]``; ``thresholds`` change in place.

    Returns the lists (offsets, scores, births) and what enters (offsets, places).
    """
    partitions = len(list_from) - 1
    room = k + limit + additional + 2
    listed = np.empty(room, np.float64)
    born = np.empty(room, np.int64)
    total = 0
    for p in range(partitions):
        before = list_from[p + 1] - list_from[p]
        total += min(room, before + new_from[p + 1] - new_from[p])
    kept_from = np.zeros(partitions + 1, np.int64)
    kept_score = np.empty(total, np.float64)
    kept_born = np.empty(total, np.int64)
    entered_from = np.zeros(partitions + 1, np.int64)
    out = np.empty(64, np.int64)
    filled, count = 0, 0
    for p in range(partitions):
        size = list_from[p + 1] - list_from[p]
        put(listed, 0, list_score, list_from[p], size)
        put(born, 0, list_born, list_from[p], size)
        at = new_from[p]
        while at < new_from[p + 1]:
            size, thresholds[p], at, count = _pass_gate(
                k, width, limit, additional, scores, ats, first_at, at, new_from[p + 1],
                listed, born, size, thresholds[p], out, count,
            )  # fmt: skip
            out = room_for(out, count, len(out) // 2)
        put(kept_score, filled, listed, 0, size)
        put(kept_born, filled, born, 0, size)
        filled += size
        kept_from[p + 1] = filled
        entered_from[p + 1] = count
    return (
        kept_from,
        kept_score[:filled].copy(),
        kept_born[:filled].copy(),
        entered_from,
        out[:count].copy(),
    )
