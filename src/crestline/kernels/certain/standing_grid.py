"""The grid over standing queries; see ``kernels.certain.standing``.

Each cell lists the queries that a point of the cell may still reach. When the threshold of a query
falls, the query enters more cells at once. When it rises, the query leaves cells only when it is in
far too many.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.certain.band_lists import lowered
from crestline.kernels.certain.bands import PROBABLE
from crestline.kernels.certain.scoring import (
    ATTRIBUTE_DISTANCE,
    DISTANCE,
    GIVEN,
    VANISHING,
    WEIGHTED_DISTANCE,
    best_in_box,
)  # fmt: skip
from crestline.kernels.certain.standing_table import (
    BAND,
    BAND_LIMIT,
    BEST,
    COVERED,
    FILTER,
    FILTER_LIMIT,
    KIND,
    LENGTH,
    NO_FILTER,
    SIZE,
    SKYBAND,
    START,
    Grid,
    K,
    Queries,
    Scratch,
)  # fmt: skip
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints


@kernel
def slice_of(edges: Floats, dimension: int, x: float) -> int:
    low, high = 0, edges.shape[1]
    while low < high:
        middle = (low + high) >> 1
        if edges[dimension, middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def cell_of(edges: Floats, points: Floats, row: int) -> int:
    cell = 0
    for i in range(len(edges)):
        cell = cell * (edges.shape[1] + 1) + slice_of(edges, i, points[row, i])
    return cell


@kernel
def _reach_of(
    table: Ints, point: Floats, weight: Floats, edges: Floats, q: int, i: int, threshold: float
) -> tuple[int, int]:
    """Return the first and the last slice of dimension i in which a point may score ``threshold``
    or more; for distances, those within a radius of the query."""
    everything = 0, edges.shape[1]
    kind = table[q, KIND]
    if threshold == -np.inf or kind not in (DISTANCE, WEIGHTED_DISTANCE, ATTRIBUTE_DISTANCE):
        return everything
    factor = 1.0
    if kind == WEIGHTED_DISTANCE:
        factor = np.sqrt(weight[q, i])
    elif kind == ATTRIBUTE_DISTANCE:
        factor = weight[q, i]
    if factor == 0.0:
        return everything
    # Squares and products of small numbers vanish: a point that near may score the threshold.
    radius = (max(0.0, -threshold) + VANISHING) / factor * (1.0 + 1e-12) + VANISHING
    return slice_of(edges, i, point[q, i] - radius), slice_of(edges, i, point[q, i] + radius)


@kernel
def cover(
    queries: Queries, grid: Grid, q: int, threshold: float, give_up: bool, low: Floats, high: Floats
) -> None:
    """Enter the query into every cell that may hold a point with a score of ``threshold`` or more;
    with ``give_up``, take it out of all others. ``low`` and ``high`` are room for a point."""
    table, values, point, weight = queries
    edges, count, members, entered, reach = grid
    values[q, COVERED] = threshold
    if table[q, KIND] == GIVEN:
        return  # it meets records by their scores
    dimensions, last_slice = len(low), edges.shape[1]
    # The block of cells that may be reached, and the position in it, slice by slice.
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
def meet(grid: Grid, cell: int, points: Floats, row: int, floors: Floats, scratch: Scratch) -> int:
    """List the queries that meet a record: those of its cell, and those whose given score is good
    enough. Return how many there are."""
    met, meets, owner = grid.sizes[cell], scratch.meets, scratch.owner
    for i in range(met):
        meets[i] = grid.members[cell, i]
    given = points.shape[1] - len(owner)
    for column in range(len(owner)):
        if points[row, given + column] >= floors[column]:
            meets[met] = owner[column]
            met += 1
    return int(met)


@kernel
def set_floors(
    table: Ints, values: Floats, filter_score: Floats, q: int, band: int, filter: int,
    scratch: Scratch,
) -> None:  # fmt: skip
    """Note which given scores a query looks at."""
    column = int(values[q, LENGTH]) - len(scratch.terms)
    arriving, leaving = -np.inf, -np.inf
    size = table[q, FILTER + SIZE]
    if filter == NO_FILTER:
        arriving = values[q, BAND_LIMIT] if band == PROBABLE else -np.inf
    elif size >= table[q, K]:
        arriving = values[q, FILTER_LIMIT] if filter == PROBABLE else -np.inf
        leaving = filter_score[table[q, FILTER + START] + size - 1]
    scratch.owner[column] = q
    scratch.floors[0, column], scratch.floors[1, column] = arriving, leaving


@kernel
def spare_of(k: int) -> int:
    """Return how many records beyond the k-th the cells of a probable filter reach, so that it
    hardly ever has fewer than k: then its query would have to enter all cells. Measured: none or
    all of its candidates cost more."""
    return 4 + int(np.sqrt(k))


@kernel
def has_threshold(band: int) -> bool:
    """Whether records below the limit of such a band are none of it."""
    return band in (PROBABLE, BEST, SKYBAND)


@kernel
def threshold_of(
    table: Ints, values: Floats, filter_score: Floats, q: int, band: int, filter: int
) -> float:
    """Return the score below which a record cannot matter to the query now: that of the band, or
    the k-th score of the filter, which decides both times that a record is offered."""
    if filter == NO_FILTER:
        return float(values[q, BAND_LIMIT]) if has_threshold(band) else -np.inf
    k = table[q, K]
    if table[q, FILTER + SIZE] < k:
        return -np.inf
    return float(filter_score[table[q, FILTER + START] + k - 1])


@kernel
def wish_of(
    table: Ints, values: Floats, band_score: Floats, filter_score: Floats, q: int, band: int,
    filter: int,
) -> tuple[float, float]:  # fmt: skip
    """Return the threshold to enter cells for, and the best score in the list, if that tells when
    the cells reach too far. Cells of PA and of probable filters reach further than needed, so that
    not every loss changes the grid."""
    threshold = threshold_of(table, values, filter_score, q, band, filter)
    if threshold == -np.inf and band != SKYBAND:
        return threshold, np.inf
    if filter == PROBABLE:
        start, k = table[q, FILTER + START], table[q, K]
        last = start + min(table[q, FILTER + SIZE], k + spare_of(k)) - 1
        return float(filter_score[last]), float(filter_score[start])
    if filter == NO_FILTER:
        best = float(band_score[table[q, BAND + START]])
        if band == SKYBAND:
            last = table[q, K] + spare_of(table[q, K])
            if table[q, BAND + SIZE] < last:
                return -np.inf, np.inf
            return float(band_score[table[q, BAND + START] + last - 1]), best
        return lowered(threshold, best, threshold, 0.1), best
    return threshold, np.inf
