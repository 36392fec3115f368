"""Arrival bookkeeping: positions within partitions, lateness, runs of panes."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.output import put
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints

_BLOCK = 4096


@kernel
def count_positions(partitions: Ints, counters: Ints) -> Ints:
    """The position of each record within its partition; ``counters`` move on in place."""
    positions = np.empty(len(partitions), np.int64)
    for i in range(len(partitions)):
        p = partitions[i]
        positions[i] = counters[p]
        counters[p] += 1
    return positions


@kernel
def count_panes(first: int, count: int, length: int) -> Ints:
    """The panes of the records at ``first`` and the next positions: a division for each pane, not
    for each record."""
    panes = np.empty(count, np.int64)
    pane, i = first // length, 0
    while i < count:
        stop = min((pane + 1) * length - first, count)
        while i < stop:
            panes[i] = pane
            i += 1
        pane += 1
    return panes


@kernel
def find_late(times: Ints, latest: int, lateness: int) -> tuple[Bools, int, int]:
    """Which records come after the watermark (the largest time before them, less the lateness).

    Returns the mask, how many there are, and the largest time of all.
    """
    late = np.zeros(len(times), np.bool_)
    count = 0
    for i in range(len(times)):
        time = times[i]
        if time >= latest:
            latest = time
        elif latest - time > lateness:
            late[i] = True
            count += 1
    return late, count, latest


@kernel
def is_ascending(values: Ints) -> bool:
    """Whether no value is smaller than the one before it."""
    later = values[1:]
    for start in range(0, len(later), _BLOCK):
        falls = False  # no way out within a block: the compiler vectorises it
        for i in range(start, min(start + _BLOCK, len(later))):
            falls |= later[i] < values[i]
        if falls:
            return False
    return True


@kernel
def reach(scores: Floats, bound: float) -> bool:
    """Whether any score reaches the bound: a loop that the compiler vectorises."""
    hit = False
    for i in range(len(scores)):
        hit |= scores[i] >= bound
    return hit


@kernel
def has_nan(values: Floats) -> bool:
    """Whether any value is not a number."""
    some = False
    for i in range(len(values)):
        some |= values[i] != values[i]
    return some


@kernel
def pane_starts(times: Ints, length: int) -> Ints:
    """Where each pane begins in ascending times, and the end: found by bisection, pane by pane."""
    n = len(times)
    starts = np.empty(64, np.int64)
    count = 0
    position = 0
    while position < n:
        if count + 2 > len(starts):
            larger = np.empty(2 * len(starts), np.int64)
            put(larger, 0, starts, 0, count)
            starts = larger
        starts[count] = position
        count += 1
        following = (times[position] // length + 1) * length
        step = 1  # gallop: a pane of one record must not cost a bisection of the whole
        low = position
        while low + step < n and times[low + step] < following:
            low += step
            step *= 2
        high = min(low + step, n)
        low += 1
        while low < high:
            middle = (low + high) >> 1
            if times[middle] < following:
                low = middle + 1
            else:
                high = middle
        position = low
    starts[count] = n
    return starts[: count + 1].copy()
