"""Many queries on one stream: one buffer, one time order, and a grid over the queries.

Each query has a *band* (as in ``kernels.certain.bands``) and, if the algorithm has one, a *filter*
(as in ``kernels.certain.filters``) of its own; the recent records stand in one buffer for all. A
query's *threshold* is the score below which a record cannot matter to it now. The grid has, for
each cell, the queries that a point of the cell may still reach: only those look at a record, when
it arrives and when it leaves the buffer. What expires next in any band stands in one heap for the
queries that count records and one for those on time.

Bands and filters are in ``standing_lists``, what expires next in ``standing_order``, cells and
thresholds in ``standing_grid``, bands that are read from the cells in ``standing_cells``, which
queries see a record in ``standing_sight``, changed answers in ``standing_report``.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.certain.band_lists import lowered, threshold_after_loss
from crestline.kernels.certain.bands import PROBABLE, STRICT
from crestline.kernels.certain.scoring import GIVEN, is_plain, score_of
from crestline.kernels.certain.standing_cells import chain, raise_threshold, read_again, widen
from crestline.kernels.certain.standing_grid import (
    cell_of,
    cover,
    has_threshold,
    meet,
    set_floors,
    threshold_of,
    wish_of,
)  # fmt: skip
from crestline.kernels.certain.standing_lists import forget_uncovered, place, put, take, tidy
from crestline.kernels.certain.standing_order import note_oldest, pop, schedule
from crestline.kernels.certain.standing_report import mark, report_marked, room_for_one
from crestline.kernels.certain.standing_sight import is_tame, look, position, sees
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_LIMIT,
    BEST,
    BORN,
    CANDIDATES,
    COVERED,
    DOMINATORS,
    EVERY,
    FILTER,
    FILTER_LIMIT,
    FINISHED,
    HEAD,
    KIND,
    LENGTH,
    MARKED,
    MORE,
    NO_FILTER,
    NUMBER,
    OLDEST,
    PLAIN,
    REPORT_FULL,
    RING_FULL,
    SAW,
    SINCE,
    SIZE,
    SKIPPED,
    SKYBAND,
    START,
    TIMED,
    TOUCHED,
    WIDTH,
    Algorithm,
    K,
    Points,
    Scratch,
    Standing,
)  # fmt: skip
from crestline.kernels.common.output import RECORDS, SNAPSHOTS, Report
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints

#: After so many records another query is asked whether it needs all of its cells.
_REVIEW = 16


@kernel
def _enter_band(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, gamma: float,
    additional: int, score: float, number: int, born: int, latest: Ints, heaps: Ints, sizes: Ints,
) -> bool:  # fmt: skip
    """Put a record into a band; whether the answer changed. One that is there already stays."""
    rows = DOMINATORS + 1 if kind in (STRICT, SKYBAND) else BORN + 1
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
    rows = DOMINATORS + 1 if kind in (STRICT, SKYBAND) else BORN + 1
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
    queries, bands, filters, grid, buffer, chains, order, marks = standing
    table, values, point, weight = queries
    band_score, band_ints = bands
    filter_score, filter_ints = filters
    edges, entered = grid.edges, grid.entered
    recent_point, recent_time, recent_cell, recent_serial = buffer
    heaps, sizes = order
    arriving, times, serials, first = points
    filled, most_snapshots, room = report.filled, report.heads.shape[1], len(report.records)
    terms, low, high, latest, floors, owner, meets, _, _ = scratch
    floors[:] = np.nan
    filtered, limited = filter != NO_FILTER, has_threshold(band)
    whole = band in (BEST, SKYBAND)
    width, ring = arriving.shape[1], len(recent_time)
    rows, newest, every = 0, LONG_AGO, False
    marks[0] = 0
    for q in range(len(table)):
        rows += table[q, K]
        if table[q, ACTIVE] == 1:
            newest = max(newest, table[q, SINCE] if is_tame(queries, q) else NEVER)
            every = every or table[q, EVERY] == 1
            if table[q, KIND] == GIVEN:
                set_floors(table, values, filter_score, q, band, filter, scratch)
            if table[q, MARKED]:
                marks[0] += 1
                marks[marks[0]] = q
    moment = at
    while moment > 0 and times[moment - 1] == times[moment]:
        moment -= 1
    moment += first
    while at < len(arriving):
        number, now = first + at, times[at]
        if at > 0 and times[at - 1] != now:
            moment = number
        if filled[SNAPSHOTS] + len(table) > most_snapshots or filled[RECORDS] + rows > room:
            return REPORT_FULL, 0, at
        if whole and number - cursor[HEAD] >= ring:
            return RING_FULL, 0, at
        plain = serials[at] >= newest and is_plain(arriving, at, len(terms))
        if plain:
            cursor[PLAIN] = number
        else:
            look(queries, arriving, at, serials[at], number, terms)
        # What expires with this arrival, of the queries that count records and of those on time.
        for which in range(2):
            clock = number if which == 0 else now
            while sizes[which] > 0 and heaps[which, 0] <= clock:
                q = heaps[which, 1]
                sizes[which] = pop(heaps, which, sizes[which])
                stale = table[q, ACTIVE] == 0 or table[q, TIMED] != which
                if stale or table[q, OLDEST] == NEVER:
                    continue
                own = now if which else number - table[q, SKIPPED]
                if table[q, OLDEST] + table[q, WIDTH] > own:
                    if table[q, SKIPPED] > 0:
                        schedule(table, q, heaps, sizes)
                    continue
                if _expire(table, values, band_score, band_ints, q, band, own, heaps, sizes):
                    mark(table, marks, q)
                if table[q, KIND] == GIVEN:
                    set_floors(table, values, filter_score, q, band, filter, scratch)
                if whole and table[q, MORE] == 1 and table[q, BAND + SIZE] < table[q, K]:
                    cursor[TOUCHED] += read_again(
                        queries, bands, grid, buffer, chains, q, band, cursor[HEAD], number, now,
                        scratch,
                    )  # fmt: skip
                    note_oldest(table, band_ints, q, band, heaps, sizes)
                    widen(queries, band_score, grid, q, low, high)
                if not filtered and not whole and values[q, BAND_LIMIT] < values[q, COVERED]:
                    wish, _ = wish_of(table, values, band_score, filter_score, q, band, filter)
                    cover(queries, grid, q, wish, False, low, high)
        # What leaves the buffer with this arrival.
        while filtered and cursor[HEAD] < number:
            head = cursor[HEAD]
            index = head % ring
            if number - head < most and recent_time[index] > now - span:
                break
            met = meet(grid, recent_cell[index], recent_point, index, floors[1], scratch)
            reason, about = room_for_one(table, meets, met, False)
            if reason != FINISHED:
                return reason, about, at
            cursor[TOUCHED] += met
            for i in range(met):
                q = meets[i]
                if recent_serial[index] < table[q, SINCE]:
                    continue
                score = score_of(
                    table[q, KIND], point, weight, values[q, LENGTH], q, recent_point, index, terms
                )
                size, start = table[q, FILTER + SIZE], table[q, FILTER + START]
                if score != score or (
                    size >= table[q, K] and score < filter_score[start + size - 1]
                ):
                    continue  # by far the most: not in the filter, and beaten by all that are
                offered = _leave_filter(
                    table, values, filter_score, filter_ints, q, filter, score, head, filter_rows
                )
                if table[q, KIND] == GIVEN:
                    set_floors(table, values, filter_score, q, band, filter, scratch)
                if not offered:
                    continue
                if table[q, TIMED]:
                    born, clock = recent_time[index], now
                else:
                    born = position(queries, buffer, q, head, number, terms)
                    clock = number - table[q, SKIPPED]
                if born > clock - table[q, WIDTH] and _enter_band(
                    table, values, band_score, band_ints, q, band, gamma, additional, score, head,
                    born, latest, heaps, sizes,
                ):  # fmt: skip
                    mark(table, marks, q)
                if threshold_of(table, values, filter_score, q, band, filter) < values[q, COVERED]:
                    wish, _ = wish_of(table, values, band_score, filter_score, q, band, filter)
                    cover(queries, grid, q, wish, False, low, high)
            cursor[HEAD] = head + 1
        # The arrival itself.
        cell = cell_of(edges, arriving, at)
        met = meet(grid, cell, arriving, at, floors[0], scratch)
        reason, about = room_for_one(table, meets, met, filtered)
        if reason != FINISHED:
            return reason, about, at
        if filtered or whole:
            index = number % ring
            for i in range(width):
                recent_point[index, i] = arriving[at, i]
            recent_time[index], recent_cell[index] = now, cell
            recent_serial[index] = serials[at]
        if whole:
            chain(buffer, chains, number)
        cursor[TOUCHED] += met
        for i in range(met):
            q = meets[i]
            if not plain and table[q, SAW] != number:
                continue
            score = score_of(
                table[q, KIND], point, weight, values[q, LENGTH], q, arriving, at, terms
            )
            k = table[q, K]
            if not filtered:
                if limited and score < values[q, BAND_LIMIT]:
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
                if table[q, KIND] == GIVEN:
                    set_floors(table, values, filter_score, q, band, filter, scratch)
                if rank >= k:
                    continue
            born = now if table[q, TIMED] else number - table[q, SKIPPED]
            if _enter_band(
                table, values, band_score, band_ints, q, band, gamma, additional, score, number,
                born, latest, heaps, sizes,
            ):  # fmt: skip
                mark(table, marks, q)
            if table[q, KIND] == GIVEN:
                set_floors(table, values, filter_score, q, band, filter, scratch)
                continue
            # Cells are left if the threshold has risen far above what they are good for, and where
            # it is known for the first time.
            wish, best = wish_of(table, values, band_score, filter_score, q, band, filter)
            first_time = values[q, COVERED] == -np.inf and wish > -np.inf
            if first_time or (best < np.inf and values[q, COVERED] < wish - 0.5 * (best - wish)):
                cover(queries, grid, q, wish, True, low, high)
                if band == SKYBAND:
                    raise_threshold(table, values, band_score, q, wish)
                if filtered:
                    forget_uncovered(
                        table, values, filter_score, filter_ints, q, filter, entered, recent_cell,
                        filter_rows,
                    )  # fmt: skip
        if filtered and number % _REVIEW == 0:
            # Of strict and relaxed filters it is not known what is far; they are asked in turn.
            q = number // _REVIEW % len(table)
            if table[q, ACTIVE] == 1 and table[q, KIND] != GIVEN:
                wish, best = wish_of(table, values, band_score, filter_score, q, band, filter)
                if best == np.inf and values[q, COVERED] < wish:
                    cover(queries, grid, q, wish, True, low, high)
                    forget_uncovered(
                        table, values, filter_score, filter_ints, q, filter, entered, recent_cell,
                        filter_rows,
                    )  # fmt: skip
        over = at + 1 == len(arriving) or times[at + 1] != now
        if every:
            for q in range(len(table)):
                wanted = table[q, ACTIVE] == 1 and table[q, EVERY] == 1
                if wanted and sees(table, cursor, q, number, moment, over):
                    mark(table, marks, q)
        if marks[0] > 0:
            report_marked(
                table, band_score, band_ints, marks, cursor, number, now, moment, over, report
            )
        at += 1
    return FINISHED, 0, at
