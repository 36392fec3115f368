"""Many queries on one stream: one buffer, one time order, and a grid over the queries.

Each query has a *band* (as in ``kernels.certain.bands``) and, if the algorithm has one, a *filter*
(as in ``kernels.certain.filters``) of its own; the recent records stand in one buffer for all. A
query's *threshold* is the score below which a record cannot matter to it now. The grid has, for
each cell, the queries that a point of the cell may still reach: only those look at a record, when
it arrives and when it leaves the buffer. When a threshold falls, the query is entered into more
cells at once; when it rises, cells are given up only when they are far too many. What expires next
in any band stands in one heap for the queries that count records and one for those on time.

Of two records with equal scores the later ranks first.

All that is known of a query stands in a row of ``table`` and of ``values``: few arrays to hand
around. (Tuples of arrays would be nicer, but every look-up in them counts a reference.) A list is
``table[q, of + SIZE]`` records, best first, from ``table[q, of + START]`` on, where ``of`` is BAND
or FILTER: their scores in one array, and in the rows of another their numbers in the stream, their
births (number or time; bands only) and their dominators (strict lists only).
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.certain.bands import (
    PROBABLE,
    RELAXED,
    STRICT,
    lowered,
    sift,
    threshold_after_loss,
)
from crestline.kernels.certain.scoring import (
    DISTANCE,
    VANISHING,
    WEIGHTED_DISTANCE,
    best_in_box,
    score_of,
)
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints

#: Why ``take_records`` came back: all taken, or no room in a band, a filter or the output.
FINISHED, BAND_FULL, FILTER_FULL, OUTPUT_FULL = 0, 1, 2, 3
#: No filter.
NONE = -1
#: After so many records another query is asked whether it needs all of its cells.
_REVIEW = 16

#: Columns of ``table``: k, window, whether that is on time, candidates (probable lists), the first
#: record that is seen, the birth of what expires first, whether there is such a query, what it
#: computes; then the two lists.
K, WIDTH, TIMED, CANDIDATES, SINCE, OLDEST, ACTIVE, KIND, BAND, FILTER = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    11,
)
START, ROOM, SIZE = 0, 1, 2
COLUMNS = 14
#: Columns of ``values``: what the cells are good for, the length of the vector, and of the lists
#: the candidates that set off the next pruning (relaxed) or the threshold (probable).
COVERED, LENGTH, BAND_LIMIT, FILTER_LIMIT = 0, 1, 2, 3
VALUES = 4
#: Rows of a list's integers.
NUMBER, BORN, DOMINATORS = 0, 1, 2


# -- lists ----------------------------------------------------------------------------------------


@kernel
def _place(
    table: Ints, of: int, scores: Floats, ints: Ints, q: int, score: float, number: int
) -> int:
    """How many records of the list rank before such a record."""
    start = table[q, of + START]
    low, high = 0, table[q, of + SIZE]
    while low < high:
        middle = (low + high) >> 1
        at = start + middle
        if scores[at] > score or (scores[at] == score and ints[NUMBER, at] > number):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _put(
    table: Ints, of: int, scores: Floats, ints: Ints, q: int, rank: int, score: float, number: int,
    born: int, rows: int,
) -> None:  # fmt: skip
    """``rows`` of the integers are in use."""
    at = table[q, of + START] + rank
    end = table[q, of + START] + table[q, of + SIZE]
    for i in range(end, at, -1):
        scores[i] = scores[i - 1]
    for row in range(rows):
        for i in range(end, at, -1):
            ints[row, i] = ints[row, i - 1]
    scores[at], ints[NUMBER, at] = score, number
    if rows > BORN:
        ints[BORN, at] = born
    if rows > DOMINATORS:
        ints[DOMINATORS, at] = 0
    table[q, of + SIZE] += 1


@kernel
def _take(table: Ints, of: int, scores: Floats, ints: Ints, q: int, rank: int, rows: int) -> None:
    table[q, of + SIZE] -= 1
    at = table[q, of + START] + rank
    end = table[q, of + START] + table[q, of + SIZE]
    for i in range(at, end):
        scores[i] = scores[i + 1]
    for row in range(rows):
        for i in range(at, end):
            ints[row, i] = ints[row, i + 1]


@kernel
def _keep(scores: Floats, ints: Ints, at: int, to: int, rows: int) -> None:
    scores[to] = scores[at]
    for row in range(rows):
        ints[row, to] = ints[row, at]


@kernel
def _drop_dominated_by(table: Ints, of: int, scores: Floats, ints: Ints, q: int, rank: int) -> None:
    """Strict: count the record at ``rank`` as a dominator, and what dominates it."""
    start, size, k = table[q, of + START], table[q, of + SIZE], table[q, K]
    at = start + rank
    number = ints[NUMBER, at]
    for i in range(start, at):
        ints[DOMINATORS, at] += ints[NUMBER, i] > number
    stay = at if ints[DOMINATORS, at] >= k else at + 1
    for i in range(at + 1, start + size):
        ints[DOMINATORS, i] += ints[NUMBER, i] < number
        if ints[DOMINATORS, i] < k:
            if stay < i:
                _keep(scores, ints, i, stay, DOMINATORS + 1)
            stay += 1
    table[q, of + SIZE] = stay - start


@kernel
def _prune(
    table: Ints, of: int, scores: Floats, ints: Ints, q: int, rows: int, latest: Ints
) -> None:
    """Relaxed: drop what k later records that rank before it dominate."""
    start, size = table[q, of + START], table[q, of + SIZE]
    first = min(table[q, K], size)
    for i in range(first):
        latest[i] = ints[NUMBER, start + i]
    latest[:first].sort()  # what is sorted is a heap
    stay = start + first
    for i in range(start + first, start + size):
        number = ints[NUMBER, i]
        if number > latest[0]:
            if stay < i:
                _keep(scores, ints, i, stay, rows)
            stay += 1
            sift(latest, first, number)
    table[q, of + SIZE] = stay - start


@kernel
def _tidy(
    table: Ints, values: Floats, of: int, scores: Floats, ints: Ints, q: int, kind: int, rank: int,
    gamma: float, most: int, rows: int, latest: Ints,
) -> None:  # fmt: skip
    """After a record was put at ``rank``: drop what the kind of list drops."""
    limit = BAND_LIMIT if of == BAND else FILTER_LIMIT
    k = table[q, K]
    if kind == STRICT:
        _drop_dominated_by(table, of, scores, ints, q, rank)
    elif kind == RELAXED:
        if table[q, of + SIZE] - k >= values[q, limit]:
            _prune(table, of, scores, ints, q, rows, latest)
            left = max(0, table[q, of + SIZE] - k)
            values[q, limit] = max(left + 1.0, np.ceil((1.0 + gamma) * left))
    else:
        if table[q, of + SIZE] - k > most:
            table[q, of + SIZE] -= 1
        if table[q, of + SIZE] - k >= most:
            values[q, limit] = scores[table[q, of + START] + table[q, of + SIZE] - 1]


# -- the time order -------------------------------------------------------------------------------


@kernel
def _push(heaps: Ints, which: int, size: int, due: int, q: int) -> int:
    """A heap holds pairs (due, query), the least due first; returns the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heaps[which, 2 * parent] <= due:
            break
        heaps[which, 2 * child] = heaps[which, 2 * parent]
        heaps[which, 2 * child + 1] = heaps[which, 2 * parent + 1]
        child = parent
    heaps[which, 2 * child], heaps[which, 2 * child + 1] = due, q
    return size + 1


@kernel
def _pop(heaps: Ints, which: int, size: int) -> int:
    size -= 1
    due, q = heaps[which, 2 * size], heaps[which, 2 * size + 1]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heaps[which, 2 * child + 2] < heaps[which, 2 * child]:
            child += 1
        if heaps[which, 2 * child] >= due:
            break
        heaps[which, 2 * hole] = heaps[which, 2 * child]
        heaps[which, 2 * hole + 1] = heaps[which, 2 * child + 1]
        hole = child
    heaps[which, 2 * hole], heaps[which, 2 * hole + 1] = due, q
    return size


@kernel
def _schedule(table: Ints, q: int, heaps: Ints, sizes: Ints) -> None:
    """Note when the query's band loses a record next. Notes that have become wrong stay until they
    come up; if they are too many, all are written anew."""
    if table[q, OLDEST] == NEVER:
        return
    which = table[q, TIMED]
    if 2 * sizes[which] + 2 > heaps.shape[1]:
        sizes[which] = 0
        for other in range(len(table)):
            alive = table[other, ACTIVE] == 1 and table[other, OLDEST] < NEVER
            if alive and table[other, TIMED] == which and other != q:
                due = table[other, OLDEST] + table[other, WIDTH]
                sizes[which] = _push(heaps, which, sizes[which], due, other)
    due = table[q, OLDEST] + table[q, WIDTH]
    sizes[which] = _push(heaps, which, sizes[which], due, q)


@kernel
def _note_oldest(table: Ints, ints: Ints, q: int, kind: int, heaps: Ints, sizes: Ints) -> None:
    """The first of the records that matter when they expire: the answer's; all, if probable."""
    start, watched = table[q, BAND + START], table[q, BAND + SIZE]
    if kind != PROBABLE:
        watched = min(watched, table[q, K])
    oldest = NEVER
    for i in range(start, start + watched):
        oldest = min(oldest, ints[BORN, i])
    if oldest != table[q, OLDEST]:
        table[q, OLDEST] = oldest
        _schedule(table, q, heaps, sizes)


# -- the grid -------------------------------------------------------------------------------------


@kernel
def _slice_of(edges: Floats, dimension: int, x: float) -> int:
    low, high = 0, edges.shape[1]
    while low < high:
        middle = (low + high) >> 1
        if edges[dimension, middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _cell_of(edges: Floats, points: Floats, row: int) -> int:
    cell = 0
    for i in range(points.shape[1]):
        cell = cell * (edges.shape[1] + 1) + _slice_of(edges, i, points[row, i])
    return cell


@kernel
def _reach_of(
    table: Ints, point: Floats, weight: Floats, edges: Floats, q: int, i: int, threshold: float
) -> tuple[int, int]:
    """The first and last slice of dimension i in which a point may have a score from ``threshold``
    on; for distances, a radius around the query."""
    everything = 0, edges.shape[1]
    kind = table[q, KIND]
    if threshold == -np.inf or kind not in (DISTANCE, WEIGHTED_DISTANCE):
        return everything
    factor = weight[q, i] if kind == WEIGHTED_DISTANCE else 1.0
    if factor == 0.0:
        return everything
    # Squares of what is small vanish: who is that near may still score the threshold.
    radius = (max(0.0, -threshold) + VANISHING) / np.sqrt(factor) * (1.0 + 1e-12) + VANISHING
    return _slice_of(edges, i, point[q, i] - radius), _slice_of(edges, i, point[q, i] + radius)


@kernel
def cover(
    table: Ints, values: Floats, point: Floats, weight: Floats, edges: Floats, count: Ints,
    members: Ints, entered: Bools, reach: Ints, q: int, threshold: float, give_up: bool,
    low: Floats, high: Floats,
) -> None:  # fmt: skip
    """Enter the query into every cell that may hold a point with a score from ``threshold`` on,
    and with ``give_up`` into no other.

    ``edges[i]`` are the inner borders of dimension i. Cell c's queries are ``members[c,
    :count[c]]``; ``entered[c, q]`` tells whether q is one of them. All cells of q lie from
    ``reach[0, q, i]`` to ``reach[1, q, i]`` in dimension i. ``low`` and ``high`` are room.
    """
    values[q, COVERED] = threshold
    dimensions, last_slice = len(low), edges.shape[1]
    # The block of cells that may be concerned, and the place in it, slice by slice.
    first = np.empty(dimensions, np.int64)
    last = np.empty(dimensions, np.int64)
    for i in range(dimensions):
        first[i], last[i] = _reach_of(table, point, weight, edges, q, i, threshold)
        if give_up:
            wanted_first, wanted_last = first[i], last[i]
            first[i] = min(first[i], reach[0, q, i])
            last[i] = max(last[i], reach[1, q, i])
            reach[0, q, i], reach[1, q, i] = wanted_first, wanted_last
        else:
            reach[0, q, i] = min(first[i], reach[0, q, i])
            reach[1, q, i] = max(last[i], reach[1, q, i])
    place = first.copy()
    kind, length = table[q, KIND], values[q, LENGTH]
    while True:
        cell = 0
        for i in range(dimensions):
            cell = cell * (last_slice + 1) + place[i]
            low[i] = -np.inf if place[i] == 0 else edges[i, place[i] - 1]
            high[i] = np.inf if place[i] == last_slice else edges[i, place[i]]
        if give_up or not entered[cell, q]:
            wanted = best_in_box(kind, point, weight, length, q, low, high) >= threshold
            if wanted and not entered[cell, q]:
                entered[cell, q] = True
                members[cell, count[cell]] = q
                count[cell] += 1
            elif entered[cell, q] and not wanted:
                leave_cell(count, members, entered, cell, q)
        i = dimensions - 1
        while i >= 0 and place[i] == last[i]:
            place[i] = first[i]
            i -= 1
        if i < 0:
            break
        place[i] += 1


@kernel
def leave_cell(count: Ints, members: Ints, entered: Bools, cell: int, q: int) -> None:
    entered[cell, q] = False
    count[cell] -= 1
    last = count[cell]
    for i in range(last):
        if members[cell, i] == q:
            members[cell, i] = members[cell, last]
            break


@kernel
def threshold_of(
    table: Ints, values: Floats, filter_score: Floats, q: int, band: int, filter: int
) -> float:
    """The score below which a record cannot matter to the query now: PA's threshold, or the k-th
    score of the filter, which decides on both attempts."""
    if filter == NONE:
        return float(values[q, BAND_LIMIT]) if band == PROBABLE else -np.inf
    k = table[q, K]
    if table[q, FILTER + SIZE] < k:
        return -np.inf
    return float(filter_score[table[q, FILTER + START] + k - 1])


@kernel
def _wish_of(
    table: Ints, values: Floats, band_score: Floats, filter_score: Floats, q: int, band: int,
    filter: int,
) -> tuple[float, float]:  # fmt: skip
    """The threshold that cells are entered for, some way below the one that is needed, and the best
    score in the list: so that the grid is not busy with every loss."""
    threshold = threshold_of(table, values, filter_score, q, band, filter)
    if filter == PROBABLE and threshold > -np.inf:
        # What fills the filter's candidates too.
        best = filter_score[table[q, FILTER + START]]
        return min(threshold, values[q, FILTER_LIMIT]), best
    if filter == NONE and threshold > -np.inf:
        best = band_score[table[q, BAND + START]]
        return lowered(threshold, best, threshold, 0.1), best
    return threshold, np.inf


# -- records --------------------------------------------------------------------------------------


@kernel
def _enter_band(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, gamma: float,
    additional: int, score: float, number: int, born: int, rows: int, latest: Ints, heaps: Ints,
    sizes: Ints,
) -> bool:  # fmt: skip
    """Put a record into a band; whether the answer changed. One that is there already stays."""
    rank = _place(table, BAND, scores, ints, q, score, number)
    if rank < table[q, BAND + SIZE]:
        at = table[q, BAND + START] + rank
        if ints[NUMBER, at] == number and scores[at] == score:
            return False
    _put(table, BAND, scores, ints, q, rank, score, number, born, rows)
    most = table[q, CANDIDATES] + additional
    _tidy(table, values, BAND, scores, ints, q, kind, rank, gamma, most, rows, latest)
    if rank < table[q, K] or kind == PROBABLE:
        _note_oldest(table, ints, q, kind, heaps, sizes)
    return bool(rank < table[q, K])


@kernel
def _expire(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, now: int,
    rows: int, heaps: Ints, sizes: Ints,
) -> bool:  # fmt: skip
    """Drop what is no longer in the window; whether the answer changed."""
    k, start = table[q, K], table[q, BAND + START]
    changed = False
    alive_from = now - table[q, WIDTH] + 1
    rank = 0
    while rank < table[q, BAND + SIZE] and (kind == PROBABLE or rank < k):
        if ints[BORN, start + rank] >= alive_from:
            rank += 1
            continue
        _take(table, BAND, scores, ints, q, rank, rows)
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
    _note_oldest(table, ints, q, kind, heaps, sizes)
    return changed


@kernel
def _leave_filter(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, score: float,
    number: int, rows: int,
) -> bool:  # fmt: skip
    """The oldest record leaves the buffer; whether it is to be offered to the band."""
    k, start = table[q, K], table[q, FILTER + START]
    rank = _place(table, FILTER, scores, ints, q, score, number)
    if rank < table[q, FILTER + SIZE] and ints[NUMBER, start + rank] == number:
        _take(table, FILTER, scores, ints, q, rank, rows)
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
    """``marks[0]`` tells how many queries follow whose answer has changed."""
    if not changed[q]:
        changed[q] = True
        marks[0] += 1
        marks[marks[0]] = q


@kernel
def take_records(
    band: int,
    filter: int,
    gamma: float,
    additional: int,
    most: int,
    span: int,
    points: Floats,
    times: Ints,
    first: int,
    at: int,
    cursor: Ints,
    table: Ints,
    values: Floats,
    point: Floats,
    weight: Floats,
    band_score: Floats,
    band_ints: Ints,
    filter_score: Floats,
    filter_ints: Ints,
    edges: Floats,
    count: Ints,
    members: Ints,
    entered: Bools,
    reach: Ints,
    recent_point: Floats,
    recent_time: Ints,
    recent_cell: Ints,
    heaps: Ints,
    sizes: Ints,
    changed: Bools,
    marks: Ints,
    out_snapshot: Ints,
    out_number: Ints,
    out_score: Floats,
) -> tuple[int, int, int]:
    """Take ``points[at:]`` in, which are the records from number ``first`` on.

    ``cursor`` holds the number of the buffer's first record, snapshots and records written, and
    how often a query looked at a record. The buffer is a ring of the latest records. Returns why it
    came back, the query it is about and the next record; nothing is half done then.
    """
    dimensions = points.shape[1]
    terms = np.empty(dimensions)
    low, high = np.empty(dimensions), np.empty(dimensions)
    latest = np.empty(max(1, table[:, K].max()), np.int64)
    band_rows = DOMINATORS + 1 if band == STRICT else BORN + 1
    filter_rows = DOMINATORS + 1 if filter == STRICT else NUMBER + 1
    ring = len(recent_time)
    rows = table[:, K].sum()
    head, snapshots, written, touched = cursor[0], cursor[1], cursor[2], cursor[3]
    reason, about = FINISHED, 0
    while at < len(points):
        number, now = first + at, times[at]
        if 3 * snapshots + 3 * len(table) > len(out_snapshot) or written + rows > len(out_number):
            reason = OUTPUT_FULL
            break
        # What expires with this arrival.
        for which in range(2):
            clock = number if which == 0 else now
            while sizes[which] > 0 and heaps[which, 0] <= clock:
                due, q = heaps[which, 0], heaps[which, 1]
                sizes[which] = _pop(heaps, which, sizes[which])
                stale = table[q, ACTIVE] == 0 or table[q, TIMED] != which
                if stale or table[q, OLDEST] + table[q, WIDTH] != due:
                    continue
                if _expire(
                    table, values, band_score, band_ints, q, band, clock, band_rows, heaps, sizes
                ):
                    _mark(changed, marks, q)
                if filter == NONE and values[q, BAND_LIMIT] < values[q, COVERED]:
                    wish, _ = _wish_of(table, values, band_score, filter_score, q, band, filter)
                    cover(
                        table, values, point, weight, edges, count, members, entered, reach, q,
                        wish, False, low, high,
                    )  # fmt: skip
        # What leaves the buffer with this arrival.
        while (
            filter != NONE
            and head < number
            and (number - head >= most or recent_time[head % ring] <= now - span)
        ):
            place = head % ring
            cell = recent_cell[place]
            for i in range(count[cell]):
                q = members[cell, i]
                if table[q, BAND + SIZE] >= table[q, BAND + ROOM]:
                    reason, about = BAND_FULL, q
            if reason != FINISHED:
                break
            touched += count[cell]
            for i in range(count[cell]):
                q = members[cell, i]
                if head < table[q, SINCE]:
                    continue
                score = score_of(
                    table[q, KIND], point, weight, values[q, LENGTH], q, recent_point, place, terms
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
                born = recent_time[place] if table[q, TIMED] else head
                clock = now if table[q, TIMED] else number
                if born > clock - table[q, WIDTH] and _enter_band(
                    table, values, band_score, band_ints, q, band, gamma, additional, score, head,
                    born, band_rows, latest, heaps, sizes,
                ):  # fmt: skip
                    _mark(changed, marks, q)
                if threshold_of(table, values, filter_score, q, band, filter) < values[q, COVERED]:
                    wish, _ = _wish_of(table, values, band_score, filter_score, q, band, filter)
                    cover(
                        table, values, point, weight, edges, count, members, entered, reach, q,
                        wish, False, low, high,
                    )  # fmt: skip
            head += 1
        if reason != FINISHED:
            break
        # The arrival itself.
        cell = _cell_of(edges, points, at)
        for i in range(count[cell]):
            q = members[cell, i]
            if table[q, BAND + SIZE] >= table[q, BAND + ROOM]:
                reason, about = BAND_FULL, q
            elif filter != NONE and table[q, FILTER + SIZE] >= table[q, FILTER + ROOM]:
                reason, about = FILTER_FULL, q
        if reason != FINISHED:
            break
        touched += count[cell]
        for i in range(count[cell]):
            q = members[cell, i]
            score = score_of(table[q, KIND], point, weight, values[q, LENGTH], q, points, at, terms)
            if score != score:
                continue
            k = table[q, K]
            if filter == NONE:
                if band == PROBABLE and score < values[q, BAND_LIMIT]:
                    continue
            else:
                full = table[q, FILTER + SIZE] >= k
                if filter == PROBABLE and full and score < values[q, FILTER_LIMIT]:
                    continue
                rank = _place(table, FILTER, filter_score, filter_ints, q, score, number)
                _put(
                    table, FILTER, filter_score, filter_ints, q, rank, score, number, number,
                    filter_rows,
                )  # fmt: skip
                _tidy(
                    table, values, FILTER, filter_score, filter_ints, q, filter, rank, gamma,
                    table[q, CANDIDATES], filter_rows, latest,
                )  # fmt: skip
                if rank >= k:
                    continue
            born = now if table[q, TIMED] else number
            if _enter_band(
                table, values, band_score, band_ints, q, band, gamma, additional, score, number,
                born, band_rows, latest, heaps, sizes,
            ):  # fmt: skip
                _mark(changed, marks, q)
            # Cells are left if the threshold has risen far above what they are good for, and where
            # it is known for the first time.
            wish, best = _wish_of(table, values, band_score, filter_score, q, band, filter)
            first_time = values[q, COVERED] == -np.inf and wish > -np.inf
            if first_time or (best < np.inf and values[q, COVERED] < wish - 0.5 * (best - wish)):
                cover(
                    table, values, point, weight, edges, count, members, entered, reach, q, wish,
                    True, low, high,
                )  # fmt: skip
        if number % _REVIEW == 0 and filter != NONE:
            # Of strict and relaxed filters it is not known what is far; one by one, they are asked.
            q = number // _REVIEW % len(table)
            wish, best = _wish_of(table, values, band_score, filter_score, q, band, filter)
            if table[q, ACTIVE] == 1 and best == np.inf and values[q, COVERED] < wish:
                cover(
                    table, values, point, weight, edges, count, members, entered, reach, q, wish,
                    True, low, high,
                )  # fmt: skip
        if filter != NONE:
            place = number % ring
            for i in range(dimensions):
                recent_point[place, i] = points[at, i]
            recent_time[place] = now
            recent_cell[place] = cell
        for i in range(1, marks[0] + 1):
            q = marks[i]
            changed[q] = False
            best_few = min(table[q, K], table[q, BAND + SIZE])
            out_snapshot[3 * snapshots] = q
            out_snapshot[3 * snapshots + 1] = now if table[q, TIMED] else number + 1
            out_snapshot[3 * snapshots + 2] = best_few
            snapshots += 1
            start = table[q, BAND + START]
            for j in range(best_few):
                out_number[written + j] = band_ints[NUMBER, start + j]
                out_score[written + j] = band_score[start + j]
            written += best_few
        marks[0] = 0
        at += 1
    cursor[0], cursor[1], cursor[2], cursor[3] = head, snapshots, written, touched
    return reason, about, at
