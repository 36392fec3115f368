"""Which standing queries see a record; see ``kernels.certain.standing``.

A query does not see a record for which it has no score (NaN), nor one from before it was added.
Such a record does not count in its window and brings it no report; what has changed meanwhile is
reported with the next record that it sees. Records with ordinary numbers (``is_plain``) have a
score for all, so most records are not looked at for that.
"""

from __future__ import annotations

from crestline.kernels.certain.scoring import COSINE, LARGE, SMALL, score_of
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    HIDDEN,
    KIND,
    LENGTH,
    PLAIN,
    SAW,
    SINCE,
    SKIPPED,
    TIMED,
    Buffer,
    Queries,
)  # fmt: skip
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def is_tame(queries: Queries, q: int) -> bool:
    """Whether the query has a score for all records that are plain."""
    table, values, point, weight = queries
    for i in range(point.shape[1]):
        if not (abs(point[q, i]) <= LARGE and abs(weight[q, i]) <= LARGE):
            return False
    return bool(table[q, KIND] != COSINE or values[q, LENGTH] >= SMALL)


@kernel
def look(
    queries: Queries, points: Floats, row: int, serial: int, number: int, terms: Floats
) -> None:
    """Let each query note whether it sees the record; to do so twice makes no difference."""
    table, values, point, weight = queries
    for q in range(len(table)):
        if table[q, ACTIVE] == 0 or table[q, HIDDEN] == number or serial < table[q, SINCE]:
            continue
        length = values[q, LENGTH]
        score = score_of(table[q, KIND], point, weight, length, q, points, row, terms)
        if score == score:
            table[q, SAW] = number
        else:
            table[q, HIDDEN] = number
            table[q, SKIPPED] += 1


@kernel
def position(
    queries: Queries, buffer: Buffer, q: int, record: int, number: int, terms: Floats
) -> int:
    """Return the position of a record of the buffer among those that the query has seen."""
    table, values, point, weight = queries
    since = 0  # records since then for which the query has no score
    if table[q, HIDDEN] > record:
        ring, length = len(buffer.time), values[q, LENGTH]
        for other in range(record + 1, number):
            score = score_of(
                table[q, KIND], point, weight, length, q, buffer.point, other % ring, terms
            )
            since += score != score
        since += table[q, HIDDEN] == number
    return int(record - (table[q, SKIPPED] - since))


@kernel
def sees(table: Ints, cursor: Ints, q: int, number: int, moment: int, over: bool) -> bool:
    """Whether the record brings the query a report: it sees the record or, on time, one of those
    since ``moment``, and the moment is ``over``."""
    since = moment if table[q, TIMED] else number
    seen = cursor[PLAIN] >= since or table[q, SAW] >= since
    return bool(seen and (over or table[q, TIMED] == 0))
