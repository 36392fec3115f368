"""Many queries on one stream: one buffer, one time order, and a grid over the queries.

Each query has a *band* (as in ``kernels.certain.bands``) and, if the algorithm has one, a *filter*
(as in ``kernels.certain.filters``) of its own; the recent records stand in one buffer for all. A
query's *threshold* is the score below which a record cannot matter to it now. The grid has, for
each cell, the queries that a point of the cell may still reach: only those look at a record, when
it arrives and when it leaves the buffer. What expires next in any band stands in one heap for the
queries that count records and one for those on time.

==================  ============================================
``standing_table``  what is known: named tuples and their columns
``standing_lists``  bands and filters
``standing_order``  what expires next
``standing_grid``   cells and thresholds
==================  ============================================
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.certain.band_lists import lowered, threshold_after_loss
from crestline.kernels.certain.bands import PROBABLE, STRICT
from crestline.kernels.certain.scoring import score_of
from crestline.kernels.certain.standing_grid import cell_of, cover, threshold_of, wish_of
from crestline.kernels.certain.standing_lists import forget_uncovered, place, put, take, tidy
from crestline.kernels.certain.standing_order import note_oldest, pop
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_FULL,
    BAND_LIMIT,
    BORN,
    CANDIDATES,
    COVERED,
    DOMINATORS,
    FILTER,
    FILTER_FULL,
    FILTER_LIMIT,
    FINISHED,
    HEAD,
    KIND,
    LENGTH,
    NO_FILTER,
    NUMBER,
    OLDEST,
    REPORT_FULL,
    ROOM,
    SINCE,
    SIZE,
    START,
    TIMED,
    TOUCHED,
    WIDTH,
    Algorithm,
    Changes,
    K,
    Points,
    Scratch,
    Standing,
)  # fmt: skip
from crestline.kernels.common.output import RECORDS, SNAPSHOTS, Report, add_head
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints

#: After so many records another query is asked whether it needs all of its cells.
_REVIEW = 16


@kernel
def _enter_band(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, gamma: float,
    additional: int, score: float, number: int, born: int, latest: Ints, heaps: Ints, sizes: Ints,
) -> bool:  # fmt: skip
    """Put a record into a band; whether the answer changed. One that is there already stays."""
    rows = DOMINATORS + 1 if kind == STRICT else BORN + 1
    rank = place(table, BAND, scores, ints, q, score, number)
    if rank < table[q, BAND + SIZE]:
        at = table[q, BAND + START] + rank
        if ints[NUMBER, at] == number and scores[at] == score:
            return False
    put(table, BAND, scores, ints, q, rank, score, number, born, rows)
    most = table[q, CANDIDATES] + additional
    tidy(table, values, BAND, scores, ints, q, kind, rank, gamma, most, rows, latest)
    if rank < table[q, K] or kind == PROBABLE:
        note_oldest(table, ints, q, kind, heaps, sizes)
    return bool(rank < table[q, K])


@kernel
def _expire(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, now: int,
    heaps: Ints, sizes: Ints,
) -> bool:  # fmt: skip
    """Drop what is no longer in the window; whether the answer changed."""
    rows = DOMINATORS + 1 if kind == STRICT else BORN + 1
    k, start = table[q, K], table[q, BAND + START]
    changed = False
    alive_from = now - table[q, WIDTH] + 1
    rank = 0
    while rank < table[q, BAND + SIZE] and (kind == PROBABLE or rank < k):
        if ints[BORN, start + rank] >= alive_from:
            rank += 1
            continue
        take(table, BAND, scores, ints, q, rank, rows)
        changed |= rank < k
        if kind == PROBABLE:
            size = table[q, BAND + SIZE]
            if size < 2:
                values[q, BAND_LIMIT] = -np.inf
            else:
                last = start + size - 1
                values[q, BAND_LIMIT] = threshold_after_loss(
                    values[q, BAND_LIMIT], scores[last], scores[last - 1],
                    size - k, table[q, CANDIDATES],
                )  # fmt: skip
    note_oldest(table, ints, q, kind, heaps, sizes)
    return changed


@kernel
def _leave_filter(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, score: float,
    number: int, rows: int,
) -> bool:  # fmt: skip
    """The oldest record leaves the buffer; whether it is to be offered to the band."""
    k, start = table[q, K], table[q, FILTER + START]
    rank = place(table, FILTER, scores, ints, q, score, number)
    if rank < table[q, FILTER + SIZE] and ints[NUMBER, start + rank] == number:
        take(table, FILTER, scores, ints, q, rank, rows)
        if kind == PROBABLE:
            size = table[q, FILTER + SIZE]
            if size >= k + 2:
                last = start + size - 1
                values[q, FILTER_LIMIT] = lowered(
                    values[q, FILTER_LIMIT], scores[last - 1], scores[last], 1.0
                )
            else:
                values[q, FILTER_LIMIT] = -np.inf
    return bool(rank < k)


@kernel
def _mark(changed: Bools, marks: Ints, q: int) -> None:
    """Note that the answer of a query has changed."""
    if not changed[q]:
        changed[q] = True
        marks[0] += 1
        marks[marks[0]] = q


@kernel
def _room(table: Ints, count: Ints, members: Ints, cell: int, filtered: bool) -> tuple[int, int]:
    """Whether the lists of all queries of a cell can take one more record: ``FINISHED``, or which
    list is full and the query it belongs to."""
    reason, about = FINISHED, 0
    for i in range(count[cell]):
        q = members[cell, i]
        if table[q, BAND + SIZE] >= table[q, BAND + ROOM]:
            reason, about = BAND_FULL, q
        elif filtered and table[q, FILTER + SIZE] >= table[q, FILTER + ROOM]:
            reason, about = FILTER_FULL, q
    return reason, about


@borrowing_kernel
def _report(
    table: Ints, band_score: Floats, band_ints: Ints, changes: Changes, number: int, now: int,
    report: Report,
) -> None:  # fmt: skip
    """Write the answers that have changed."""
    changed, marks = changes
    for i in range(1, marks[0] + 1):
        q = marks[i]
        changed[q] = False
        best_few = min(table[q, K], table[q, BAND + SIZE])
        first = add_head(report, q, now if table[q, TIMED] else number + 1, 0, best_few)
        start = table[q, BAND + START]
        for j in range(best_few):
            report.records[first + j] = band_ints[NUMBER, start + j]
            report.numbers[0, first + j] = band_score[start + j]
    marks[0] = 0


@borrowing_kernel
def take_records(
    algorithm: Algorithm, standing: Standing, points: Points, at: int, cursor: Ints,
    report: Report, scratch: Scratch,
) -> tuple[int, int, int]:  # fmt: skip
    """Take ``points`` in from ``at`` on.

    Returns why it came back, the query it is about and the next record; nothing is half done then.

    The steps of an arrival stay in one loop: as functions they took from half to all of the time
    again.
    """
    band, filter, _, filter_rows, gamma, additional, most, span = algorithm
    queries, bands, filters, grid, buffer, order, changes = standing
    table, values, point, weight = queries
    band_score, band_ints = bands
    filter_score, filter_ints = filters
    edges, count, members, entered, _ = grid
    recent_point, recent_time, recent_cell = buffer
    heaps, sizes = order
    changed, marks = changes
    arriving, times, first = points
    filled, most_snapshots, room = report.filled, report.heads.shape[1], len(report.records)
    terms, low, high, latest = scratch
    filtered = filter != NO_FILTER
    dimensions, ring = arriving.shape[1], len(recent_time)
    rows = 0
    for q in range(len(table)):
        rows += table[q, K]
    while at < len(arriving):
        number, now = first + at, times[at]
        if filled[SNAPSHOTS] + len(table) > most_snapshots or filled[RECORDS] + rows > room:
            return REPORT_FULL, 0, at
        # What expires with this arrival, of the queries that count records and of those on time.
        for which in range(2):
            clock = number if which == 0 else now
            while sizes[which] > 0 and heaps[which, 0] <= clock:
                due, q = heaps[which, 0], heaps[which, 1]
                sizes[which] = pop(heaps, which, sizes[which])
                stale = table[q, ACTIVE] == 0 or table[q, TIMED] != which
                if stale or table[q, OLDEST] + table[q, WIDTH] != due:
                    continue
                if _expire(table, values, band_score, band_ints, q, band, clock, heaps, sizes):
                    _mark(changed, marks, q)
                if not filtered and values[q, BAND_LIMIT] < values[q, COVERED]:
                    wish, _ = wish_of(table, values, band_score, filter_score, q, band, filter)
                    cover(queries, grid, q, wish, False, low, high)
        # What leaves the buffer with this arrival.
        while filtered and cursor[HEAD] < number:
            head = cursor[HEAD]
            index = head % ring
            if number - head < most and recent_time[index] > now - span:
                break
            cell = recent_cell[index]
            reason, about = _room(table, count, members, cell, False)
            if reason != FINISHED:
                return reason, about, at
            cursor[TOUCHED] += count[cell]
            for i in range(count[cell]):
                q = members[cell, i]
                if head < table[q, SINCE]:
                    continue
                score = score_of(
                    table[q, KIND], point, weight, values[q, LENGTH], q, recent_point, index, terms
                )
                size, start = table[q, FILTER + SIZE], table[q, FILTER + START]
                if score != score or (
                    size >= table[q, K] and score < filter_score[start + size - 1]
                ):
                    continue  # by far the most: not in the filter, and beaten by all that are
                if not _leave_filter(
                    table, values, filter_score, filter_ints, q, filter, score, head, filter_rows
                ):
                    continue
                born = recent_time[index] if table[q, TIMED] else head
                clock = now if table[q, TIMED] else number
                if born > clock - table[q, WIDTH] and _enter_band(
                    table, values, band_score, band_ints, q, band, gamma, additional, score, head,
                    born, latest, heaps, sizes,
                ):  # fmt: skip
                    _mark(changed, marks, q)
                if threshold_of(table, values, filter_score, q, band, filter) < values[q, COVERED]:
                    wish, _ = wish_of(table, values, band_score, filter_score, q, band, filter)
                    cover(queries, grid, q, wish, False, low, high)
            cursor[HEAD] = head + 1
        # The arrival itself.
        cell = cell_of(edges, arriving, at)
        reason, about = _room(table, count, members, cell, filtered)
        if reason != FINISHED:
            return reason, about, at
        if filtered:
            index = number % ring
            for i in range(dimensions):
                recent_point[index, i] = arriving[at, i]
            recent_time[index], recent_cell[index] = now, cell
        cursor[TOUCHED] += count[cell]
        for i in range(count[cell]):
            q = members[cell, i]
            score = score_of(
                table[q, KIND], point, weight, values[q, LENGTH], q, arriving, at, terms
            )
            if score != score:
                continue
            k = table[q, K]
            if not filtered:
                if band == PROBABLE and score < values[q, BAND_LIMIT]:
                    continue
            else:
                full = table[q, FILTER + SIZE] >= k
                if filter == PROBABLE and full and score < values[q, FILTER_LIMIT]:
                    continue
                rank = place(table, FILTER, filter_score, filter_ints, q, score, number)
                put(
                    table, FILTER, filter_score, filter_ints, q, rank, score, number, number,
                    filter_rows,
                )  # fmt: skip
                tidy(
                    table, values, FILTER, filter_score, filter_ints, q, filter, rank, gamma,
                    table[q, CANDIDATES], filter_rows, latest,
                )  # fmt: skip
                if rank >= k:
                    continue
            born = now if table[q, TIMED] else number
            if _enter_band(
                table, values, band_score, band_ints, q, band, gamma, additional, score, number,
                born, latest, heaps, sizes,
            ):  # fmt: skip
                _mark(changed, marks, q)
            # Cells are left if the threshold has risen far above what they are good for, and where
            # it is known for the first time.
            wish, best = wish_of(table, values, band_score, filter_score, q, band, filter)
            first_time = values[q, COVERED] == -np.inf and wish > -np.inf
            if first_time or (best < np.inf and values[q, COVERED] < wish - 0.5 * (best - wish)):
                cover(queries, grid, q, wish, True, low, high)
                if filtered:
                    forget_uncovered(
                        table, values, filter_score, filter_ints, q, filter, entered, recent_cell,
                        filter_rows,
                    )  # fmt: skip
        if filtered and number % _REVIEW == 0:
            # Of strict and relaxed filters it is not known what is far; they are asked in turn.
            q = number // _REVIEW % len(table)
            wish, best = wish_of(table, values, band_score, filter_score, q, band, filter)
            if table[q, ACTIVE] == 1 and best == np.inf and values[q, COVERED] < wish:
                cover(queries, grid, q, wish, True, low, high)
                forget_uncovered(
                    table, values, filter_score, filter_ints, q, filter, entered, recent_cell,
                    filter_rows,
                )  # fmt: skip
        if marks[0] > 0:
            _report(table, band_score, band_ints, changes, number, now, report)
        at += 1
    return FINISHED, 0, at
