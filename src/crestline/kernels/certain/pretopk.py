"""PreTopk's predicted results, all partitions in one call. See ``crestline.certain.pretopk``."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import before, put, room_for
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


@kernel
def advance_pretopk(
    k: int,
    width: int,
    slide: int,
    only_changes: bool,
    scores: Floats,
    ties: Ints,
    panes: Ints,
    windows_from: Ints,
    windows_end: Ints,
    windows_size: Ints,
    windows_heap: Ints,
    arrived: Ints,
    shown_end: Ints,
    until: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
    """Report every window that ends by ``until[p]`` for each partition p.

    Partition p's predicted windows are ``windows_from[p] .. windows_from[p + 1]``, soonest first;
    window w ends at ``windows_end[w]`` and holds ``windows_size[w]`` records in row w of
    ``windows_heap``. New records are ``arrived[p] .. arrived[p + 1]``, by pane. ``shown_end[p]`` is
    the end of the last snapshot that held anything, if the next has not been reported empty since;
    it is updated in place.

    Returns the windows that remain (offsets, ends, sizes, heaps row by row) and the snapshots
    (partitions, ends, counts, places).
    """
    partitions = len(windows_from) - 1
    most = -(-width // slide)
    left_from = np.zeros(partitions + 1, np.int64)
    left_end = np.empty(64, np.int64)
    left_size = np.empty(64, np.int64)
    left_heap = np.empty(64 * k, np.int64)
    left = 0
    out_partition = np.empty(64, np.int64)
    out_end = np.empty(64, np.int64)
    out_count = np.empty(64, np.int64)
    out_record = np.empty(64 * k, np.int64)
    snapshots, reported = 0, 0
    # The window that ends at e lives in row (e / slide) mod most: at most that many overlap.
    heaps = np.empty((most, k), np.int64)
    sizes = np.zeros(most, np.int64)
    ends = np.empty(most, np.int64)
    result = np.empty(k, np.int64)

    for p in range(partitions):
        sizes[:] = 0
        for w in range(windows_from[p], windows_from[p + 1]):
            row = (windows_end[w] // slide) % most
            ends[row] = windows_end[w]
            sizes[row] = windows_size[w]
            put(heaps[row], 0, windows_heap[w], 0, sizes[row])
        new, stop = arrived[p], arrived[p + 1]
        alive = windows_from[p + 1] - windows_from[p]
        end = windows_end[windows_from[p]] if alive > 0 else 0
        while True:
            emptied = shown_end[p] + slide
            if new < stop:
                due = (panes[new] // slide + 1) * slide
                end = due if alive == 0 else min(end, due)
            elif alive == 0:
                end = until[p] + 1
            if only_changes and shown_end[p] != LONG_AGO and emptied < end and emptied <= until[p]:
                out_partition = room_for(out_partition, snapshots, 1)
                out_end = room_for(out_end, snapshots, 1)
                out_count = room_for(out_count, snapshots, 1)
                out_partition[snapshots] = p
                out_end[snapshots] = emptied
                out_count[snapshots] = 0
                snapshots += 1
                shown_end[p] = LONG_AGO
            if end > until[p]:
                break
            while new < stop and panes[new] < end:
                pane = panes[new]
                # From the newest window that will hold the record to the oldest: the newest is the
                # easiest to enter (Lemma 4.2), so the first refusal ends the search.
                window = (pane + width) // slide * slide
                while window >= end:
                    row = (window // slide) % most
                    if sizes[row] == 0:
                        ends[row] = window
                        alive += 1
                    if sizes[row] < k:
                        _push(heaps[row], sizes[row], new, scores, ties)
                        sizes[row] += 1
                    elif before(scores, ties, new, heaps[row, 0]):
                        _replace_root(heaps[row], k, new, scores, ties)
                    else:
                        break
                    window -= slide
                new += 1
            row = (end // slide) % most
            if sizes[row] > 0 and ends[row] == end:
                count = sizes[row]
                _sorted_heap(heaps[row], count, result, scores, ties)
                sizes[row] = 0
                alive -= 1
                out_partition = room_for(out_partition, snapshots, 1)
                out_end = room_for(out_end, snapshots, 1)
                out_count = room_for(out_count, snapshots, 1)
                out_record = room_for(out_record, reported, count)
                out_partition[snapshots] = p
                out_end[snapshots] = end
                out_count[snapshots] = count
                put(out_record, reported, result, 0, count)
                snapshots += 1
                reported += count
                shown_end[p] = end
            end += slide
        # Windows are consecutive multiples of the slide, so walking on finds all that remain.
        found = 0
        while found < alive:
            row = (end // slide) % most
            if sizes[row] > 0 and ends[row] == end:
                left_end = room_for(left_end, left, 1)
                left_size = room_for(left_size, left, 1)
                left_heap = room_for(left_heap, left * k, k)
                left_end[left] = end
                left_size[left] = sizes[row]
                put(left_heap, left * k, heaps[row], 0, sizes[row])
                left_heap[left * k + sizes[row] : (left + 1) * k] = -1
                left += 1
                found += 1
            end += slide
        left_from[p + 1] = left
    return (
        left_from,
        left_end[:left].copy(),
        left_size[:left].copy(),
        left_heap[: left * k].copy(),
        out_partition[:snapshots].copy(),
        out_end[:snapshots].copy(),
        out_count[:snapshots].copy(),
        out_record[:reported].copy(),
    )
