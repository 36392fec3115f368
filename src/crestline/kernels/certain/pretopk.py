"""PreTopK's predicted results, all partitions in one call. See ``crestline.certain.pretopk``.

Records and results stay where they are from call to call. A call changes what a new record enters
and what a due window gives up, and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report, add_snapshot, new_report, room_for
from crestline.kernels.common.windows import Ranked, StepWindow, before
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Ints

#: The place of a record is searched for if a result has more than this many times as many records
#: as enter it; else the result is gone through.
_SPARSE = 16
#: Entries of the counters: windows to come of a partition, free rows.
_ALIVE, _FREE = range(2)


class Windows(NamedTuple):
    """The windows to come of all partitions, each soonest first.

    Partition p has those at ``start[p] .. start[p + 1]``; window w ends at ``end[w]`` and has
    ``size[w]`` records in the row ``row[w]`` of the results.
    """

    start: Ints
    end: Ints
    size: Ints
    row: Ints


class Results(NamedTuple):
    """Predicted results: rows of up to k records by slot, best first."""

    slot: Ints
    #: The rows that no window has, as a stack.
    free: Ints
    #: How many results each slot is in.
    uses: Ints


class Ring(NamedTuple):
    """The windows to come of one partition: the one that ends after s slides is entry s modulo
    their largest number. Without records its size is 0."""

    end: Ints
    size: Ints
    row: Ints


@borrowing_kernel
def _begin(results: Results, row: int, new: Ints, first: int, count: int) -> None:
    """Fill an empty row."""
    slot, uses = results.slot, results.uses
    for i in range(count):
        slot[row, i] = new[first + i]
        uses[new[first + i]] += 1


@borrowing_kernel
def _merge(
    results: Results, row: int, size: int, k: int, records: Ranked, new: Ints, first: int,
    entering: int,
) -> int:  # fmt: skip
    """Merge new records, best first, into the ``size`` records of a row, from behind; return how
    many of them are among the k best. The first of the new ones are ``new[first:first+entering]``.
    """
    listed, uses = results.slot[row], results.uses
    scores, ties = records.score, records.tie
    old = size - 1  # the last record that stays
    while old + 1 + entering > k:
        if old < 0 or before(scores, ties, listed[old], new[first + entering - 1]):
            entering -= 1
        else:
            uses[listed[old]] -= 1
            old -= 1
    sparse = old >= _SPARSE * entering
    for i in range(entering - 1, -1, -1):
        record = new[first + i]
        if sparse:
            low, high = 0, old + 1
            while low < high:
                middle = (low + high) >> 1
                if before(scores, ties, record, listed[middle]):
                    high = middle
                else:
                    low = middle + 1
            for place in range(old, low - 1, -1):
                listed[place + i + 1] = listed[place]
            old = low - 1
        else:
            score = scores[record]
            while old >= 0:
                other = listed[old]
                least = scores[other]
                if score < least or (score == least and ties[record] < ties[other]):
                    break
                listed[old + i + 1] = other
                old -= 1
        listed[old + i + 1] = record
        uses[record] += 1
    return entering


@borrowing_kernel
def _offer(
    window: StepWindow, records: Ranked, new: Ints, first: int, count: int, end: int, ring: Ring,
    results: Results, counters: Ints,
) -> None:  # fmt: skip
    """Offer records that enter and leave the same windows, best first, to those of these windows
    that end at ``end`` or later.

    From the newest window to the oldest, fewer and fewer enter: the newest is the easiest to enter
    (Lemma 4.2).
    """
    k, slide, most = window.k, window.slide, len(ring.size)
    due = (records.pane[new[first]] + window.width) // slide * slide
    entering = min(count, k)
    while due >= end and entering > 0:
        place = (due // slide) % most
        size = ring.size[place]
        ring.size[place] = min(size + entering, k)
        if size == 0:
            counters[_FREE] -= 1
            counters[_ALIVE] += 1
            ring.end[place], ring.row[place] = due, results.free[counters[_FREE]]
            _begin(results, ring.row[place], new, first, entering)
        else:
            entering = _merge(results, ring.row[place], size, k, records, new, first, entering)
        due -= slide


@borrowing_kernel
def _stage_end(window: StepWindow, panes: Ints, new: Ints, first: int, stop: int, end: int) -> int:
    """Where the records end that enter the windows from ``end`` on and leave them together with
    ``new[first]``."""
    last = (panes[new[first]] + window.width) // window.slide
    behind = first + 1
    while (
        behind < stop
        and panes[new[behind]] < end
        and (panes[new[behind]] + window.width) // window.slide == last
    ):
        behind += 1
    return behind


@borrowing_kernel
def _give_up(ring: Ring, place: int, results: Results, counters: Ints) -> None:
    """Forget the result of a window that is over."""
    row = ring.row[place]
    for i in range(ring.size[place]):
        results.uses[results.slot[row, i]] -= 1
    results.free[counters[_FREE]] = row
    counters[_FREE] += 1
    counters[_ALIVE] -= 1
    ring.size[place] = 0


@kernel
def advance_pretopk(
    window: StepWindow, records: Ranked, new: Ints, arrived: Ints, windows: Windows,
    results: Results, free: int, shown_end: Ints, until: Ints,
) -> tuple[Windows, Report]:  # fmt: skip
    """Report every window that ends by ``until[p]`` for each partition p.

    Records are known by their slots. The new ones are ``new[arrived[p] : arrived[p + 1]]``, by
    stage (records that enter and leave the same windows), then best first. ``free`` rows are free:
    enough for all windows that may begin. ``shown_end[p]`` is the end of the last snapshot that
    held anything, or LONG_AGO if an empty one was reported since; it is updated in place, and so
    are the results. Returns the windows that remain, and the snapshots as slots.
    """
    slide, panes = window.slide, records.pane
    partitions = len(windows.start) - 1
    most = -(-window.width // slide)
    left_from = np.zeros(partitions + 1, np.int64)
    left_end = np.empty(64, np.int64)
    left_size = np.empty(64, np.int64)
    left_row = np.empty(64, np.int64)
    left = 0
    report = new_report(0, 64, 64 * window.k)
    ring = Ring(np.empty(most, np.int64), np.zeros(most, np.int64), np.empty(most, np.int64))
    counters = np.zeros(2, np.int64)
    counters[_FREE] = free

    for p in range(partitions):
        for w in range(windows.start[p], windows.start[p + 1]):
            place = (windows.end[w] // slide) % most
            ring.end[place], ring.size[place] = windows.end[w], windows.size[w]
            ring.row[place] = windows.row[w]
        first, stop = arrived[p], arrived[p + 1]
        counters[_ALIVE] = windows.start[p + 1] - windows.start[p]
        end = windows.end[windows.start[p]] if counters[_ALIVE] > 0 else 0
        while True:
            if first < stop:
                due = (panes[new[first]] // slide + 1) * slide
                end = due if counters[_ALIVE] == 0 else min(end, due)
            elif counters[_ALIVE] == 0:
                end = until[p] + 1
            emptied = shown_end[p] + slide
            shows = window.only_changes and shown_end[p] != LONG_AGO
            if shows and emptied < end and emptied <= until[p]:
                report = add_snapshot(report, p, emptied, new, 0, 0)
                shown_end[p] = LONG_AGO
            if end > until[p]:
                break
            while first < stop and panes[new[first]] < end:
                behind = _stage_end(window, panes, new, first, stop, end)
                _offer(window, records, new, first, behind - first, end, ring, results, counters)
                first = behind
            place = (end // slide) % most
            if ring.size[place] > 0 and ring.end[place] == end:
                row = results.slot[ring.row[place]]
                report = add_snapshot(report, p, end, row, 0, ring.size[place])
                _give_up(ring, place, results, counters)
                shown_end[p] = end
            end += slide
        # Windows are consecutive multiples of the slide, so walking on finds all that remain.
        while counters[_ALIVE] > 0:
            place = (end // slide) % most
            if ring.size[place] > 0 and ring.end[place] == end:
                left_end = room_for(left_end, left, 1)
                left_size = room_for(left_size, left, 1)
                left_row = room_for(left_row, left, 1)
                left_end[left], left_size[left] = end, ring.size[place]
                left_row[left] = ring.row[place]
                ring.size[place] = 0
                left += 1
                counters[_ALIVE] -= 1
            end += slide
        left_from[p + 1] = left
    return Windows(
        left_from, left_end[:left].copy(), left_size[:left].copy(), left_row[:left].copy()
    ), report
