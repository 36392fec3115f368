"""The answers of standing queries that have changed; see ``kernels.certain.standing``."""

from __future__ import annotations

from crestline.kernels.certain.standing_sight import sees
from crestline.kernels.certain.standing_table import (
    BAND,
    BAND_FULL,
    FILTER,
    FILTER_FULL,
    FINISHED,
    MARKED,
    NUMBER,
    ROOM,
    SIZE,
    SKIPPED,
    START,
    TIMED,
    K,
)  # fmt: skip
from crestline.kernels.common.output import Report, add_head
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints


@kernel
def mark(table: Ints, marks: Ints, q: int) -> None:
    """Note that the answer of a query has changed."""
    if not table[q, MARKED]:
        table[q, MARKED] = 1
        marks[0] += 1
        marks[marks[0]] = q


@kernel
def room_for_one(table: Ints, meets: Ints, met: int, filtered: bool) -> tuple[int, int]:
    """Whether the lists of the first queries of ``meets`` can take one more record: ``FINISHED``,
    or which list is full and the query it belongs to."""
    reason, about = FINISHED, 0
    for i in range(met):
        q = meets[i]
        if table[q, BAND + SIZE] >= table[q, BAND + ROOM]:
            reason, about = BAND_FULL, q
        elif filtered and table[q, FILTER + SIZE] >= table[q, FILTER + ROOM]:
            reason, about = FILTER_FULL, q
    return reason, about


@borrowing_kernel
def report_marked(
    table: Ints, band_score: Floats, band_ints: Ints, marks: Ints, cursor: Ints, number: int,
    now: int, moment: int, over: bool, report: Report,
) -> None:  # fmt: skip
    """Write the answers that have changed, of queries that see the record."""
    waiting = 0
    for i in range(1, marks[0] + 1):
        q = marks[i]
        if not sees(table, cursor, q, number, moment, over):
            waiting += 1
            marks[waiting] = q
            continue
        table[q, MARKED] = 0
        best_few = min(table[q, K], table[q, BAND + SIZE])
        end = now if table[q, TIMED] else number - table[q, SKIPPED] + 1
        first = add_head(report, q, end, 0, best_few)
        start = table[q, BAND + START]
        for j in range(best_few):
            report.records[first + j] = band_ints[NUMBER, start + j]
            report.numbers[0, first + j] = band_score[start + j]
    marks[0] = waiting
