"""Standing queries whose bands are read from the cells: CPM/w and SNN (Mouratidis, Papadias 2007).

All queries share one grid, which holds the records of the longest window. When records of an answer
expire and too few are left, the query reads cells in the order of the best score that each can hold
until no other can hold one of its k best. The next cell comes from a heap. It begins with the cell
of the query's point, or of the best corner; a cell that is read puts its neighbours farther out
onto the heap. So that each cell has one way to the heap, a cell that was reached along dimension i
goes on along i and the dimensions after it. The bound falls along each step, since scores are
distances and weighted sums, which get worse in each dimension by itself.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NOWHERE
from crestline.kernels.certain.band_lists import lowered
from crestline.kernels.certain.scoring import WEIGHTED_SUM, best_in_box, score_of
from crestline.kernels.certain.standing_grid import cover, slice_of
from crestline.kernels.certain.standing_sight import position
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_LIMIT,
    BORN,
    COVERED,
    DOMINATORS,
    HIDDEN,
    KIND,
    LENGTH,
    MORE,
    NUMBER,
    SINCE,
    SIZE,
    SKIPPED,
    SKYBAND,
    START,
    TIMED,
    WIDTH,
    Buffer,
    Chains,
    Grid,
    K,
    Lists,
    Queries,
    Scratch,
)  # fmt: skip
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def link(buffer: Buffer, chains: Chains, first: int, last: int) -> None:
    """Chain the records of the ring from ``first`` up to ``last``, which have their cells."""
    chains.newest[:] = NOWHERE
    for number in range(first, last):
        chain(buffer, chains, number)


@kernel
def chain(buffer: Buffer, chains: Chains, number: int) -> None:
    """Put a record of the ring into the chain of its cell."""
    index = number % len(buffer.time)
    cell = buffer.cell[index]
    chains.older[index] = chains.newest[cell]
    chains.newest[cell] = number
    extent = chains.extent
    for i in range(extent.shape[1]):
        x = buffer.point[index, i]
        extent[0, i] = min(extent[0, i], x)
        extent[1, i] = max(extent[1, i], x)


@kernel
def oldest_needed(
    queries: Queries, buffer: Buffer, first: int, number: int, now: int, terms: Floats
) -> int:
    """Return the first record of the ring that a query may still have in its window when record
    ``number`` comes; ``first`` is the oldest there is."""
    table, values, point, weight = queries
    ring = len(buffer.time)
    oldest = number
    for q in range(len(table)):
        if table[q, ACTIVE] == 0:
            continue
        width = table[q, WIDTH]
        if table[q, TIMED]:
            low, high = first, number
            while low < high:
                middle = (low + high) >> 1
                if buffer.time[middle % ring] <= now - width:
                    low = middle + 1
                else:
                    high = middle
        else:
            low = number - width
            if table[q, HIDDEN] >= low:  # its window reaches further back
                low, seen = number, 0
                while low > first and seen < width:
                    low -= 1
                    score = score_of(
                        table[q, KIND], point, weight, values[q, LENGTH], q, buffer.point,
                        low % ring, terms,
                    )  # fmt: skip
                    seen += score == score
        oldest = min(oldest, low)
    return max(oldest, first)


@kernel
def _sides(grid: Grid, extent: Floats, cell: int, low: Floats, high: Floats, at: Ints) -> None:
    """Write the sides of a cell, and its slice in each dimension."""
    edges = grid.edges
    slices = edges.shape[1] + 1
    for i in range(len(low) - 1, -1, -1):
        at[i] = cell % slices
        cell //= slices
        low[i] = extent[0, i] if at[i] == 0 else edges[i, at[i] - 1]
        high[i] = extent[1, i] if at[i] == slices - 1 else edges[i, at[i]]


@kernel
def _push(bounds: Floats, cells: Ints, size: int, bound: float, cell: int) -> None:
    """Put a cell onto the heap, of which the best bound comes first."""
    hole = size
    while hole > 0 and bounds[(hole - 1) >> 1] < bound:
        bounds[hole], cells[hole] = bounds[(hole - 1) >> 1], cells[(hole - 1) >> 1]
        hole = (hole - 1) >> 1
    bounds[hole], cells[hole] = bound, cell


@kernel
def _pop(bounds: Floats, cells: Ints, size: int) -> None:
    """Take the first cell from a heap that has ``size`` cells afterwards."""
    bound, cell = bounds[size], cells[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and bounds[child + 1] > bounds[child]:
            child += 1
        if bounds[child] <= bound:
            break
        bounds[hole], cells[hole] = bounds[child], cells[child]
        hole = child
    bounds[hole], cells[hole] = bound, cell


@kernel
def _sink(
    scores: Floats, ints: Ints, start: int, size: int, hole: int, score: float, record: int,
    born: int,
) -> None:  # fmt: skip
    """Put a record in at a place of a heap of records, of which the worst comes first, or behind
    it."""
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        at = start + child
        if child + 1 < size and (
            scores[at + 1] < scores[at]
            or (scores[at + 1] == scores[at] and ints[NUMBER, at + 1] < ints[NUMBER, at])
        ):
            at += 1
        if scores[at] > score or (scores[at] == score and ints[NUMBER, at] > record):
            break
        scores[start + hole] = scores[at]
        ints[NUMBER, start + hole], ints[BORN, start + hole] = ints[NUMBER, at], ints[BORN, at]
        hole = at - start
    at = start + hole
    scores[at], ints[NUMBER, at], ints[BORN, at] = score, record, born


@kernel
def _heap(scores: Floats, ints: Ints, start: int, size: int) -> None:
    """Make a heap of the records of a list."""
    for hole in range(size // 2 - 1, -1, -1):
        at = start + hole
        _sink(scores, ints, start, size, hole, scores[at], ints[NUMBER, at], ints[BORN, at])


@kernel
def _sort(scores: Floats, ints: Ints, start: int, size: int) -> None:
    """Sort a heap of records, best first."""
    for left in range(size - 1, 0, -1):
        last = start + left
        score, record, born = scores[last], ints[NUMBER, last], ints[BORN, last]
        scores[last] = scores[start]
        ints[NUMBER, last], ints[BORN, last] = ints[NUMBER, start], ints[BORN, start]
        _sink(scores, ints, start, left, 0, score, record, born)


@kernel
def _read_cell(
    queries: Queries, band: Lists, buffer: Buffer, chains: Chains, q: int, cell: int, first: int,
    number: int, now: int, terms: Floats,
) -> int:  # fmt: skip
    """Let the k best so far take in the records of a cell that are in the query's window; return
    how many were looked at. Once there are k, they are a heap."""
    table, values, point, weight = queries
    scores, ints = band
    # Once, and not in the loop: numba counts references when an array is taken out of a tuple.
    points, times, _, serials = buffer
    older = chains.older
    k, kind, width, timed = table[q, K], table[q, KIND], table[q, WIDTH], table[q, TIMED]
    start, ring = table[q, BAND + START], len(times)
    skipped, hidden, since = table[q, SKIPPED], table[q, HIDDEN], table[q, SINCE]
    length = values[q, LENGTH]
    looked = 0
    record = chains.newest[cell]
    while record >= first:
        index = record % ring
        if timed:
            born = times[index]
            alive = born > now - width
        else:
            born = record - skipped
            if hidden > record:
                born = position(queries, buffer, q, record, number, terms)
            alive = born > number - skipped - width
        if not alive:
            break  # those before it are older
        looked += 1
        if serials[index] >= since:
            score = score_of(kind, point, weight, length, q, points, index, terms)
            size = table[q, BAND + SIZE]
            if score != score:
                pass
            elif size < k:
                at = start + size
                scores[at], ints[NUMBER, at], ints[BORN, at] = score, record, born
                table[q, BAND + SIZE] = size + 1
                if size + 1 == k:
                    _heap(scores, ints, start, k)
            elif score > scores[start] or (score == scores[start] and record > ints[NUMBER, start]):
                _sink(scores, ints, start, k, 0, score, record, born)
        record = older[index]
    return looked


@kernel
def read_again(
    queries: Queries, band: Lists, grid: Grid, buffer: Buffer, chains: Chains, q: int, kind: int,
    first: int, number: int, now: int, scratch: Scratch,
) -> int:  # fmt: skip
    """Read the k best of the query's window from the cells; return how many records were looked at.

    The k-th score becomes the threshold; if there are fewer, all records belong into the band.
    """
    table, values, point, weight = queries
    scores, ints = band
    terms, low, high = scratch.terms, scratch.low, scratch.high
    bounds, cells = scratch.bounds, scratch.cells
    edges, dimensions = grid.edges, len(low)
    slices, k, start = edges.shape[1] + 1, table[q, K], table[q, BAND + START]
    table[q, BAND + SIZE] = 0
    begin, at = np.empty(dimensions, np.int64), np.empty(dimensions, np.int64)
    cell = 0
    for i in range(dimensions):
        if table[q, KIND] == WEIGHTED_SUM:
            begin[i] = slices - 1 if weight[q, i] > 0.0 else 0
        else:
            begin[i] = slice_of(edges, i, point[q, i])
        cell = cell * slices + begin[i]
    bounds[0], cells[0] = np.inf, cell
    waiting, looked = 1, 0
    while waiting > 0:
        if table[q, BAND + SIZE] == k and bounds[0] < scores[start]:
            break
        cell = cells[0]
        waiting -= 1
        _pop(bounds, cells, waiting)
        looked += _read_cell(queries, band, buffer, chains, q, cell, first, number, now, terms)
        _sides(grid, chains.extent, cell, low, high, at)
        stride = 1
        for i in range(dimensions - 1, -1, -1):
            low_side, high_side = low[i], high[i]
            for step in (-1, 1):
                there = at[i] + step
                # Away from the beginning, and not beyond the last slice.
                if there < 0 or there >= slices or (begin[i] - at[i]) * step > 0:
                    continue
                low[i] = chains.extent[0, i] if there == 0 else edges[i, there - 1]
                high[i] = chains.extent[1, i] if there == slices - 1 else edges[i, there]
                bound = best_in_box(table[q, KIND], point, weight, values[q, LENGTH], q, low, high)
                if bound == bound:  # where a bound overflows, so do all scores
                    _push(bounds, cells, waiting, bound, cell + step * stride)
                    waiting += 1
            low[i], high[i] = low_side, high_side
            stride *= slices
            if at[i] != begin[i]:
                break  # dimensions before this one are left to the cells on the way here
    size = table[q, BAND + SIZE]
    if size < k:
        _heap(scores, ints, start, size)
    _sort(scores, ints, start, size)
    values[q, BAND_LIMIT] = scores[start + size - 1] if size == k else -np.inf
    table[q, MORE] = size == k
    if kind == SKYBAND:
        for i in range(start, start + size):
            ints[DOMINATORS, i] = 0
            for j in range(start, i):
                ints[DOMINATORS, i] += ints[NUMBER, j] > ints[NUMBER, i]
    return looked


@kernel
def widen(queries: Queries, scores: Floats, grid: Grid, q: int, low: Floats, high: Floats) -> None:
    """Enter more cells if the threshold of the band has fallen; with a margin, so that not every
    fall changes the grid."""
    table, values, _, _ = queries
    limit = values[q, BAND_LIMIT]
    if limit < values[q, COVERED]:
        if limit > -np.inf:
            limit = lowered(limit, scores[table[q, BAND + START]], limit, 0.1)
        cover(queries, grid, q, limit, False, low, high)


@kernel
def raise_threshold(table: Ints, values: Floats, scores: Floats, q: int, threshold: float) -> None:
    """Forget what is in a skyband below a threshold that rises."""
    values[q, BAND_LIMIT], table[q, MORE] = threshold, 1
    last = table[q, BAND + START] + table[q, BAND + SIZE] - 1
    while scores[last] < threshold:
        table[q, BAND + SIZE] -= 1
        last -= 1
