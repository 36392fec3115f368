"""PreTopk's predicted results, all partitions in one call. See ``crestline.certain.pretopk``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO, NOWHERE
from crestline.kernels.common.output import Report, add_snapshot, new_report, put, room_for
from crestline.kernels.common.windows import Ranked, StepWindow, before
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def _push(heap: Ints, size: int, record: int, scores: Floats, ties: Ints) -> None:
    """Add a record to a heap whose root ranks last."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if not before(scores, ties, heap[parent], record):
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = record


@kernel
def _replace_root(heap: Ints, size: int, record: int, scores: Floats, ties: Ints) -> None:
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and before(scores, ties, heap[child], heap[child + 1]):
            child += 1
        if not before(scores, ties, record, heap[child]):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = record


@kernel
def _sorted_heap(heap: Ints, size: int, out: Ints, scores: Floats, ties: Ints) -> None:
    """Empty the heap into ``out[:size]``, best first."""
    for left in range(size - 1, -1, -1):
        out[left] = heap[0]
        if left > 0:
            _replace_root(heap, left, heap[left], scores, ties)


class Windows(NamedTuple):
    """The windows to come of all partitions, each soonest first.

    Partition p has those at ``start[p] .. start[p + 1]``; window w ends at ``end[w]`` and has
    ``size[w]`` records in row w of ``heap``.
    """

    start: Ints
    end: Ints
    size: Ints
    heap: Ints


@kernel
def _offer(
    record: int, end: int, window: StepWindow, records: Ranked, heaps: Ints, sizes: Ints, ends: Ints
) -> int:
    """Offer a record to the windows from ``end`` on that will hold it; return how many of them were
    empty before.

    The search goes from the newest window to the oldest. The newest is the easiest to enter (Lemma
    4.2), so the first refusal ends it.
    """
    scores, ties, panes = records
    k, slide, most = window.k, window.slide, len(sizes)
    begun = 0
    due = (panes[record] + window.width) // slide * slide
    while due >= end:
        row = (due // slide) % most
        if sizes[row] == 0:
            ends[row] = due
            begun += 1
        if sizes[row] < k:
            _push(heaps[row], sizes[row], record, scores, ties)
            sizes[row] += 1
        elif before(scores, ties, record, heaps[row, 0]):
            _replace_root(heaps[row], k, record, scores, ties)
        else:
            break
        due -= slide
    return begun


@kernel
def advance_pretopk(
    window: StepWindow, records: Ranked, windows: Windows, arrived: Ints, shown_end: Ints,
    until: Ints,
) -> tuple[Windows, Report]:  # fmt: skip
    """Report every window that ends by ``until[p]`` for each partition p.

    New records are ``arrived[p] .. arrived[p + 1]``, by pane. ``shown_end[p]`` is the end of the
    last snapshot that held anything, or LONG_AGO if an empty one was reported since; it is updated
    in place. Returns the windows that remain, and the snapshots.
    """
    scores, ties, panes = records
    k, slide = window.k, window.slide
    partitions = len(windows.start) - 1
    most = -(-window.width // slide)
    left_from = np.zeros(partitions + 1, np.int64)
    left_end = np.empty(64, np.int64)
    left_size = np.empty(64, np.int64)
    left_heap = np.empty(64 * k, np.int64)
    left = 0
    report = new_report(0, 64, 64 * k)
    # The window that ends at e lives in row (e / slide) mod most: at most that many overlap.
    heaps = np.empty((most, k), np.int64)
    sizes = np.zeros(most, np.int64)
    ends = np.empty(most, np.int64)
    result = np.empty(k, np.int64)

    for p in range(partitions):
        sizes[:] = 0
        for w in range(windows.start[p], windows.start[p + 1]):
            row = (windows.end[w] // slide) % most
            ends[row] = windows.end[w]
            sizes[row] = windows.size[w]
            put(heaps[row], 0, windows.heap[w], 0, sizes[row])
        new, stop = arrived[p], arrived[p + 1]
        alive = windows.start[p + 1] - windows.start[p]
        end = windows.end[windows.start[p]] if alive > 0 else 0
        while True:
            if new < stop:
                due = (panes[new] // slide + 1) * slide
                end = due if alive == 0 else min(end, due)
            elif alive == 0:
                end = until[p] + 1
            emptied = shown_end[p] + slide
            shows = window.only_changes and shown_end[p] != LONG_AGO
            if shows and emptied < end and emptied <= until[p]:
                report = add_snapshot(report, p, emptied, result, 0, 0)
                shown_end[p] = LONG_AGO
            if end > until[p]:
                break
            while new < stop and panes[new] < end:
                alive += _offer(new, end, window, records, heaps, sizes, ends)
                new += 1
            row = (end // slide) % most
            if sizes[row] > 0 and ends[row] == end:
                _sorted_heap(heaps[row], sizes[row], result, scores, ties)
                report = add_snapshot(report, p, end, result, 0, sizes[row])
                sizes[row] = 0
                alive -= 1
                shown_end[p] = end
            end += slide
        # Windows are consecutive multiples of the slide, so walking on finds all that remain.
        remaining = alive
        while remaining > 0:
            row = (end // slide) % most
            if sizes[row] > 0 and ends[row] == end:
                left_end = room_for(left_end, left, 1)
                left_size = room_for(left_size, left, 1)
                left_heap = room_for(left_heap, left * k, k)
                left_end[left] = end
                left_size[left] = sizes[row]
                put(left_heap, left * k, heaps[row], 0, sizes[row])
                left_heap[left * k + sizes[row] : (left + 1) * k] = NOWHERE
                left += 1
                remaining -= 1
            end += slide
        left_from[p + 1] = left
    heap = left_heap[: left * k].copy().reshape((left, k))
    return Windows(left_from, left_end[:left].copy(), left_size[:left].copy(), heap), report
