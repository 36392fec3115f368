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
from crestline.kernels.certain.bands import PROBABLE
from crestline.kernels.certain.scoring import score_of
from crestline.kernels.certain.standing_grid import cell_of, cover, threshold_of, wish_of
from crestline.kernels.certain.standing_lists import place, put, take, tidy
from crestline.kernels.certain.standing_order import note_oldest, pop
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_FULL,
    BAND_LIMIT,
    BORN,
    CANDIDATES,
    COVERED,
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
    OUTPUT_FULL,
    ROOM,
    SINCE,
    SIZE,
    SNAPSHOTS,
    START,
    TIMED,
    TOUCHED,
    WIDTH,
    WRITTEN,
    Algorithm,
    Changes,
    Grid,
    K,
    Lists,
    Output,
    Points,
    Queries,
    Scratch,
    Standing,
    TimeOrder,
)  # fmt: skip
from crestline.kernels.jit.tiers import kernel
from crestline.types import Ints

#: After so many records another query is asked whether it needs all of its cells.
_REVIEW = 16


@kernel
def _enter_band(
    algorithm: Algorithm, queries: Queries, lists: Lists, order: TimeOrder, q: int, score: float,
    number: int, born: int, latest: Ints,
) -> bool:  # fmt: skip
    """Put a record into a band; whether the answer changed. One that is there already stays."""
    table, values = queries.table, queries.values
    scores, ints = lists
    kind, rows = algorithm.band, algorithm.band_rows
    rank = place(table, BAND, scores, ints, q, score, number)
    if rank < table[q, BAND + SIZE]:
        at = table[q, BAND + START] + rank
        if ints[NUMBER, at] == number and scores[at] == score:
            return False
    put(table, BAND, scores, ints, q, rank, score, number, born, rows)
    most = table[q, CANDIDATES] + algorithm.additional
    tidy(table, values, BAND, scores, ints, q, kind, rank, algorithm.gamma, most, rows, latest)
    if rank < table[q, K] or kind == PROBABLE:
        note_oldest(table, ints, q, kind, order.heaps, order.sizes)
    return bool(rank < table[q, K])


@kernel
def _expire(
    algorithm: Algorithm, queries: Queries, lists: Lists, order: TimeOrder, q: int, now: int
) -> bool:
    """Drop what is no longer in the window; whether the answer changed."""
    table, values = queries.table, queries.values
    scores, ints = lists
    kind, rows = algorithm.band, algorithm.band_rows
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
    note_oldest(table, ints, q, kind, order.heaps, order.sizes)
    return changed


@kernel
def _leave_filter(
    algorithm: Algorithm, queries: Queries, lists: Lists, q: int, score: float, number: int
) -> bool:
    """The oldest record leaves the buffer; whether it is to be offered to the band."""
    table, values = queries.table, queries.values
    scores, ints = lists
    k, start = table[q, K], table[q, FILTER + START]
    rank = place(table, FILTER, scores, ints, q, score, number)
    if rank < table[q, FILTER + SIZE] and ints[NUMBER, start + rank] == number:
        take(table, FILTER, scores, ints, q, rank, algorithm.filter_rows)
        if algorithm.filter == PROBABLE:
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
def _mark(changes: Changes, q: int) -> None:
    """Note that the answer of a query has changed."""
    changed, marks = changes
    if not changed[q]:
        changed[q] = True
        marks[0] += 1
        marks[marks[0]] = q


# -- the steps of an arrival ----------------------------------------------------------------------


@kernel
def _expire_due(
    algorithm: Algorithm, standing: Standing, which: int, clock: int, scratch: Scratch
) -> None:
    """Drop what expires by now, of the queries that count records (0) or are on time (1)."""
    queries, order = standing.queries, standing.order
    table, values = queries.table, queries.values
    heaps, sizes = order
    while sizes[which] > 0 and heaps[which, 0] <= clock:
        due, q = heaps[which, 0], heaps[which, 1]
        sizes[which] = pop(heaps, which, sizes[which])
        stale = table[q, ACTIVE] == 0 or table[q, TIMED] != which
        if stale or table[q, OLDEST] + table[q, WIDTH] != due:
            continue
        if _expire(algorithm, queries, standing.band, order, q, clock):
            _mark(standing.changes, q)
        if algorithm.filter == NO_FILTER and values[q, BAND_LIMIT] < values[q, COVERED]:
            _cover_more(algorithm, standing, q, scratch)


@kernel
def _cover_more(algorithm: Algorithm, standing: Standing, q: int, scratch: Scratch) -> None:
    """Enter a query whose threshold has fallen into more cells."""
    wish, _ = wish_of(
        standing.queries.table, standing.queries.values, standing.band.score,
        standing.filter.score, q, algorithm.band, algorithm.filter,
    )  # fmt: skip
    cover(standing.queries, standing.grid, q, wish, False, scratch.low, scratch.high)


@kernel
def _room(table: Ints, grid: Grid, cell: int, filtered: bool) -> tuple[int, int]:
    """Whether the lists of all queries of a cell can take one more record: ``FINISHED``, or which
    list is full and the query it belongs to."""
    reason, about = FINISHED, 0
    for i in range(grid.count[cell]):
        q = grid.members[cell, i]
        if table[q, BAND + SIZE] >= table[q, BAND + ROOM]:
            reason, about = BAND_FULL, q
        elif filtered and table[q, FILTER + SIZE] >= table[q, FILTER + ROOM]:
            reason, about = FILTER_FULL, q
    return reason, about


@kernel
def _leave_buffer(
    algorithm: Algorithm, standing: Standing, cursor: Ints, number: int, now: int, scratch: Scratch
) -> tuple[int, int]:
    """Offer what leaves the buffer with this arrival for the second time; see ``_room``."""
    queries, grid, buffer = standing.queries, standing.grid, standing.buffer
    table, values, point, weight = queries
    filter_score, band_score = standing.filter.score, standing.band.score
    ring = len(buffer.time)
    while cursor[HEAD] < number:
        head = cursor[HEAD]
        index = head % ring
        if number - head < algorithm.most and buffer.time[index] > now - algorithm.span:
            break
        cell = buffer.cell[index]
        reason, about = _room(table, grid, cell, False)
        if reason != FINISHED:
            return reason, about
        cursor[TOUCHED] += grid.count[cell]
        for i in range(grid.count[cell]):
            q = grid.members[cell, i]
            if head < table[q, SINCE]:
                continue
            score = score_of(
                table[q, KIND], point, weight, values[q, LENGTH], q, buffer.point, index,
                scratch.terms,
            )  # fmt: skip
            size, start = table[q, FILTER + SIZE], table[q, FILTER + START]
            if score != score or (size >= table[q, K] and score < filter_score[start + size - 1]):
                continue  # by far the most: not in the filter, and beaten by all that are
            if not _leave_filter(algorithm, queries, standing.filter, q, score, head):
                continue
            born = buffer.time[index] if table[q, TIMED] else head
            clock = now if table[q, TIMED] else number
            if born > clock - table[q, WIDTH] and _enter_band(
                algorithm, queries, standing.band, standing.order, q, score, head, born,
                scratch.latest,
            ):  # fmt: skip
                _mark(standing.changes, q)
            threshold = threshold_of(
                table, values, filter_score, q, algorithm.band, algorithm.filter
            )
            if threshold < values[q, COVERED]:
                wish, _ = wish_of(
                    table, values, band_score, filter_score, q, algorithm.band, algorithm.filter
                )
                cover(queries, grid, q, wish, False, scratch.low, scratch.high)
        cursor[HEAD] = head + 1
    return FINISHED, 0


@kernel
def _pass_filter(
    algorithm: Algorithm, standing: Standing, q: int, score: float, number: int, latest: Ints
) -> bool:
    """Whether an arrival may matter to a query; the query's filter, if any, takes it in."""
    table, values = standing.queries.table, standing.queries.values
    if algorithm.filter == NO_FILTER:
        return bool(algorithm.band != PROBABLE or score >= values[q, BAND_LIMIT])
    k, rows = table[q, K], algorithm.filter_rows
    full = table[q, FILTER + SIZE] >= k
    if algorithm.filter == PROBABLE and full and score < values[q, FILTER_LIMIT]:
        return False
    scores, ints = standing.filter
    rank = place(table, FILTER, scores, ints, q, score, number)
    put(table, FILTER, scores, ints, q, rank, score, number, number, rows)
    tidy(
        table, values, FILTER, scores, ints, q, algorithm.filter, rank, algorithm.gamma,
        table[q, CANDIDATES], rows, latest,
    )  # fmt: skip
    return bool(rank < k)


@kernel
def _arrive(
    algorithm: Algorithm, standing: Standing, points: Points, at: int, cell: int, scratch: Scratch
) -> None:
    """Show an arrival to the queries of its cell."""
    queries, grid = standing.queries, standing.grid
    table, values, point, weight = queries
    number, now = points.first + at, points.time[at]
    for i in range(grid.count[cell]):
        q = grid.members[cell, i]
        score = score_of(
            table[q, KIND], point, weight, values[q, LENGTH], q, points.point, at, scratch.terms
        )
        if score != score or not _pass_filter(
            algorithm, standing, q, score, number, scratch.latest
        ):
            continue
        born = now if table[q, TIMED] else number
        if _enter_band(
            algorithm, queries, standing.band, standing.order, q, score, number, born,
            scratch.latest,
        ):  # fmt: skip
            _mark(standing.changes, q)
        # Cells are left if the threshold has risen far above what they are good for, and where it
        # is known for the first time.
        wish, best = wish_of(
            table, values, standing.band.score, standing.filter.score, q, algorithm.band,
            algorithm.filter,
        )  # fmt: skip
        first_time = values[q, COVERED] == -np.inf and wish > -np.inf
        if first_time or (best < np.inf and values[q, COVERED] < wish - 0.5 * (best - wish)):
            cover(queries, grid, q, wish, True, scratch.low, scratch.high)


@kernel
def _review(algorithm: Algorithm, standing: Standing, q: int, scratch: Scratch) -> None:
    """Ask a query whether it needs all of its cells: of strict and relaxed filters it is not known
    what is far."""
    table, values = standing.queries.table, standing.queries.values
    wish, best = wish_of(
        table, values, standing.band.score, standing.filter.score, q, algorithm.band,
        algorithm.filter,
    )  # fmt: skip
    if table[q, ACTIVE] == 1 and best == np.inf and values[q, COVERED] < wish:
        cover(standing.queries, standing.grid, q, wish, True, scratch.low, scratch.high)


@kernel
def _report(standing: Standing, cursor: Ints, number: int, now: int, output: Output) -> None:
    """Write the answers that have changed."""
    table, marks = standing.queries.table, standing.changes.marks
    out_snapshot, out_number, out_score = output
    for i in range(1, marks[0] + 1):
        q = marks[i]
        standing.changes.changed[q] = False
        best_few = min(table[q, K], table[q, BAND + SIZE])
        at = 3 * cursor[SNAPSHOTS]
        out_snapshot[at] = q
        out_snapshot[at + 1] = now if table[q, TIMED] else number + 1
        out_snapshot[at + 2] = best_few
        cursor[SNAPSHOTS] += 1
        start, written = table[q, BAND + START], cursor[WRITTEN]
        for j in range(best_few):
            out_number[written + j] = standing.band.ints[NUMBER, start + j]
            out_score[written + j] = standing.band.score[start + j]
        cursor[WRITTEN] += best_few
    marks[0] = 0


@kernel
def take_records(
    algorithm: Algorithm, standing: Standing, points: Points, at: int, cursor: Ints, output: Output
) -> tuple[int, int, int]:
    """Take ``points`` in from ``at`` on.

    Returns why it came back, the query it is about and the next record; nothing is half done then.
    """
    table, grid, buffer = standing.queries.table, standing.grid, standing.buffer
    dimensions, ring = points.point.shape[1], len(buffer.time)
    filtered = algorithm.filter != NO_FILTER
    scratch = Scratch(
        np.empty(dimensions), np.empty(dimensions), np.empty(dimensions),
        np.empty(max(1, table[:, K].max()), np.int64),
    )  # fmt: skip
    rows = table[:, K].sum()
    while at < len(points.point):
        number, now = points.first + at, points.time[at]
        no_snapshot = 3 * (cursor[SNAPSHOTS] + len(table)) > len(output.snapshot)
        if no_snapshot or cursor[WRITTEN] + rows > len(output.number):
            return OUTPUT_FULL, 0, at
        _expire_due(algorithm, standing, 0, number, scratch)
        _expire_due(algorithm, standing, 1, now, scratch)
        if filtered:
            reason, about = _leave_buffer(algorithm, standing, cursor, number, now, scratch)
            if reason != FINISHED:
                return reason, about, at
        cell = cell_of(grid.edges, points.point, at)
        reason, about = _room(table, grid, cell, filtered)
        if reason != FINISHED:
            return reason, about, at
        cursor[TOUCHED] += grid.count[cell]
        _arrive(algorithm, standing, points, at, cell, scratch)
        if filtered:
            if number % _REVIEW == 0:
                _review(algorithm, standing, number // _REVIEW % len(table), scratch)
            for i in range(dimensions):
                buffer.point[number % ring, i] = points.point[at, i]
            buffer.time[number % ring] = now
            buffer.cell[number % ring] = cell
        _report(standing, cursor, number, now, output)
        at += 1
    return FINISHED, 0, at
