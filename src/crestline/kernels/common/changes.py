"""What changed from one snapshot to the next, for every partition in one call."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.output import put, room_for
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints

LEAVE, MOVE, ENTER = 0, 1, 2


@borrowing_kernel
def _write(
    table: Ints, filled: int, moment: int, p: int, change: int, rank: int, previous: int, id: int
) -> None:
    table[0, filled] = moment
    table[1, filled] = p
    table[2, filled] = change
    table[3, filled] = rank
    table[4, filled] = previous
    table[5, filled] = id


@kernel
def _roomy(table: Ints, filled: int, more: int) -> Ints:
    """The table itself, or a larger copy if ``more`` columns would not fit behind ``filled``."""
    if filled + more <= table.shape[1]:
        return table
    wider = np.empty((6, 2 * (filled + more)), np.int64)
    for row in range(6):
        put(wider[row], 0, table[row], 0, filled)
    return wider


@kernel
def _filled(table: Ints, filled: int) -> Ints:
    """The columns that were written."""
    written = np.empty((6, filled), np.int64)
    for row in range(6):
        column, part = table[row], written[row]
        for j in range(filled):
            part[j] = column[j]
    return written


@kernel
def _between(before: Ints, now: Ints) -> tuple[int, int, int]:
    """Where two snapshots begin to differ, and where each of them ends to: the records in front of
    it, and those behind it, have kept their ranks."""
    low, stop_before, stop_now = 0, len(before), len(now)
    while low < min(stop_before, stop_now) and before[low] == now[low]:
        low += 1
    if stop_before == stop_now:
        while stop_now > low and before[stop_now - 1] == now[stop_now - 1]:
            stop_now -= 1
        stop_before = stop_now
    return low, stop_before, stop_now


@kernel
def diff_snapshots(
    shown_from: Ints,
    shown: Ints,
    partition: Ints,
    end: Ints,
    offset: Ints,
    id: Ints,
    rank_of: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Changes as columns of (at, partition, change, rank, previous rank, id); ranks count from 1.

    What partition p showed last is ``shown[shown_from[p] : shown_from[p + 1]]``. The new snapshots
    come sorted by partition, then end; no snapshot means no change. ``rank_of`` is zeroed room for
    every id. A snapshot costs a comparison for each record, and more only for those between the
    first and the last that differ.

    Returns the table and what is shown now.
    """
    partitions = len(shown_from) - 1
    table = np.empty((6, 1024), np.int64)
    filled = 0
    new_from = np.zeros(partitions + 1, np.int64)
    new_shown = np.empty(max(64, len(shown)), np.int64)
    kept = 0
    at_snapshot = 0
    for p in range(partitions):
        before = shown[shown_from[p] : shown_from[p + 1]]
        while at_snapshot < len(partition) and partition[at_snapshot] == p:
            now = id[offset[at_snapshot] : offset[at_snapshot + 1]]
            moment = end[at_snapshot]
            at_snapshot += 1
            low, stop_before, stop_now = _between(before, now)
            table = _roomy(table, filled, stop_before + stop_now - 2 * low)
            for i in range(low, stop_now):
                rank_of[now[i]] = i + 1
            for i in range(low, stop_before):
                if rank_of[before[i]] == 0:
                    _write(table, filled, moment, p, LEAVE, 0, i + 1, before[i])
                    filled += 1
            for i in range(low, stop_now):
                rank_of[now[i]] = 0
            for i in range(low, stop_before):
                rank_of[before[i]] = i + 1
            for i in range(low, stop_now):
                previous = rank_of[now[i]]
                if previous != i + 1:
                    change = ENTER if previous == 0 else MOVE
                    _write(table, filled, moment, p, change, i + 1, previous, now[i])
                    filled += 1
            for i in range(low, stop_before):
                rank_of[before[i]] = 0
            before = now
        new_shown = room_for(new_shown, kept, len(before))
        put(new_shown, kept, before, 0, len(before))
        kept += len(before)
        new_from[p + 1] = kept
    return _filled(table, filled), new_from, new_shown[:kept].copy()


@kernel
def diff_uncertain_snapshots(
    shown_from: Ints,
    partition: Ints,
    end: Ints,
    offset: Ints,
    id: Ints,
    probability: Floats,
    first: Ints,
) -> tuple[Ints, Ints, Ints]:
    """As ``diff_snapshots``, for snapshots that may hold a record several times, with
    probabilities.

    The n-th entry of a record is compared with its n-th entry in the next snapshot. A changed
    probability is a move, even if the rank is the same.

    ``id`` and ``probability`` are those of all *entries*: first the shown ones, partition after
    partition, then those of the snapshots, where ``offset`` gives the start of each. ``first`` is
    zeroed room for every id.

    Returns columns of (at, partition, change, rank, previous rank, entry), and what is shown now:
    the start of each partition, and the entries.
    """
    partitions = len(shown_from) - 1
    table = np.empty((6, 1024), np.int64)
    filled = 0
    new_from = np.zeros(partitions + 1, np.int64)
    new_shown = np.empty(64, np.int64)
    kept = 0
    following = np.zeros(len(id), np.int64)  # the same record's next entry in its snapshot, plus 1
    at_snapshot = 0
    for p in range(partitions):
        low, high = shown_from[p], shown_from[p + 1]
        while at_snapshot < len(partition) and partition[at_snapshot] == p:
            start, stop = offset[at_snapshot], offset[at_snapshot + 1]
            moment = end[at_snapshot]
            at_snapshot += 1
            table = _roomy(table, filled, high - low + stop - start)
            for entry in range(high - 1, low - 1, -1):
                following[entry] = first[id[entry]]
                first[id[entry]] = entry + 1
            for entry in range(start, stop):
                rank, previous, change = entry - start + 1, 0, ENTER
                match = first[id[entry]] - 1
                if match >= 0:
                    first[id[entry]] = following[match]
                    previous, change = match - low + 1, MOVE
                if previous != rank or probability[match] != probability[entry]:
                    _write(table, filled, moment, p, change, rank, previous, entry)
                    filled += 1
            for entry in range(low, high):
                # Entries that were not matched have left; the first of several leaves first.
                if first[id[entry]] == entry + 1:
                    _write(table, filled, moment, p, LEAVE, 0, entry - low + 1, entry)
                    filled += 1
                    first[id[entry]] = following[entry]
            low, high = start, stop
        new_shown = room_for(new_shown, kept, high - low)
        for entry in range(low, high):
            new_shown[kept] = entry
            kept += 1
        new_from[p + 1] = kept
    return _filled(table, filled), new_from, new_shown[:kept].copy()
