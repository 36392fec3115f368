"""Arrays that grow while kernels write, and the one form in which kernels write snapshots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints

#: Rows of ``Report.heads``: the partition of a snapshot, its end, the number of its records and,
#: where several queries are answered, the query.
PARTITION, END, COUNT, QUERY = range(4)
#: Entries of ``Report.filled``.
SNAPSHOTS, RECORDS = range(2)


class Report(NamedTuple):
    """Snapshots one after the other, each best first; the arrays have room behind what is filled.

    ``add_snapshot`` returns the report with other arrays if these are full.
    """

    heads: Ints
    #: The records of all snapshots: indices or ids.
    records: Ints
    #: Rows of numbers, one for each record; certain records have none.
    numbers: Floats
    #: How many snapshots and records there are.
    filled: Ints


class Written(NamedTuple):
    """What a report holds, without the room behind."""

    partition: Ints
    end: Ints
    length: Ints
    query: Ints
    records: Ints
    numbers: Floats


def written(report: Report) -> Written:
    """Return what a kernel has reported."""
    snapshots, records = report.filled.tolist()
    heads = report.heads[:, :snapshots]
    return Written(
        heads[PARTITION], heads[END], heads[COUNT], heads[QUERY],
        report.records[:records], report.numbers[:, :records],
    )  # fmt: skip


@kernel
def new_report(numbers: int, snapshots: int, records: int) -> Report:
    """An empty report with rows for ``numbers``, and room."""
    return Report(
        np.empty((4, snapshots), np.int64),
        np.empty(records, np.int64),
        np.empty((numbers, records)),
        np.zeros(2, np.int64),
    )


@kernel
def roomy(report: Report, snapshots: int, records: int) -> Report:
    """The report with room for so many more snapshots, of so many records together."""
    heads, listed, numbers, filled = report
    reported, used = filled[SNAPSHOTS], filled[RECORDS]
    if reported + snapshots > heads.shape[1]:
        heads = np.empty((4, 2 * (reported + snapshots) + 64), np.int64)
        for row in range(4):
            put(heads[row], 0, report.heads[row], 0, reported)
    if used + records > len(listed):
        size = 2 * (used + records) + 64
        listed, numbers = np.empty(size, np.int64), np.empty((len(numbers), size))
        put(listed, 0, report.records, 0, used)
        for row in range(len(numbers)):
            put(numbers[row], 0, report.numbers[row], 0, used)
    return Report(heads, listed, numbers, filled)


@borrowing_kernel
def add_head(report: Report, partition: int, end: int, query: int, count: int) -> int:
    """Begin a snapshot, for which there is room; return the index of its first record."""
    heads, filled = report.heads, report.filled
    snapshot, first = filled[SNAPSHOTS], filled[RECORDS]
    heads[PARTITION, snapshot], heads[END, snapshot] = partition, end
    heads[COUNT, snapshot], heads[QUERY, snapshot] = count, query
    filled[SNAPSHOTS] = snapshot + 1
    filled[RECORDS] = first + count
    return int(first)


@kernel
def add_snapshot(
    report: Report, partition: int, end: int, source: Ints, first: int, count: int
) -> Report:
    """Add the snapshot of the ``count`` records of ``source`` from ``first`` on."""
    report = roomy(report, 1, count)
    position = add_head(report, partition, end, 0, count)
    put(report.records, position, source, first, count)
    return report


@kernel
def put(target: Any, start: int, source: Any, first: int, count: int) -> None:
    """Copy ``count`` entries of ``source`` from ``first`` on to ``target`` from ``start`` on.

    Assigning a slice would do the same, but numba compiles more than two seconds of messages about
    shapes with it.
    """
    for i in range(count):
        target[start + i] = source[first + i]


@kernel
def room_for(array: Ints, filled: int, more: int) -> Ints:
    """The array itself, or a larger copy if ``more`` entries would not fit behind ``filled``."""
    if filled + more <= len(array):
        return array
    larger = np.empty(max(2 * len(array), filled + more), np.int64)
    put(larger, 0, array, 0, filled)
    return larger
