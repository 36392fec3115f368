"""The lists of standing queries: bands and filters, best first; see ``kernels.certain.standing``.

Query q's list is ``table[q, of + SIZE]`` records from ``table[q, of + START]`` on, where ``of`` is
BAND or FILTER: scores in one array, integers in the rows of another. Of two records with equal
scores the later ranks first.

Arrays come one by one here. These are the innermost functions, and numba counts references when
it takes an array out of a tuple.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.certain.band_lists import push, sift
from crestline.kernels.certain.bands import PROBABLE, RELAXED, STRICT
from crestline.kernels.certain.standing_table import (
    BAND,
    BAND_LIMIT,
    BEST,
    BORN,
    DOMINATORS,
    FILTER,
    FILTER_LIMIT,
    MORE,
    NUMBER,
    SIZE,
    SKYBAND,
    START,
    K,
)  # fmt: skip
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints


@kernel
def place(
    table: Ints, of: int, scores: Floats, ints: Ints, q: int, score: float, number: int
) -> int:
    """Count the records of the list that rank before such a record."""
    start = table[q, of + START]
    low, high = 0, table[q, of + SIZE]
    while low < high:
        middle = (low + high) >> 1
        position = start + middle
        if scores[position] > score or (
            scores[position] == score and ints[NUMBER, position] > number
        ):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def put(
    table: Ints, of: int, scores: Floats, ints: Ints, q: int, rank: int, score: float, number: int,
    born: int, rows: int,
) -> None:  # fmt: skip
    """``rows`` of the integers are in use."""
    position = table[q, of + START] + rank
    end = table[q, of + START] + table[q, of + SIZE]
    for i in range(end, position, -1):
        scores[i] = scores[i - 1]
    for row in range(rows):
        for i in range(end, position, -1):
            ints[row, i] = ints[row, i - 1]
    scores[position], ints[NUMBER, position] = score, number
    if rows > BORN:
        ints[BORN, position] = born
    if rows > DOMINATORS:
        ints[DOMINATORS, position] = 0
    table[q, of + SIZE] += 1


@kernel
def take(table: Ints, of: int, scores: Floats, ints: Ints, q: int, rank: int, rows: int) -> None:
    table[q, of + SIZE] -= 1
    position = table[q, of + START] + rank
    end = table[q, of + START] + table[q, of + SIZE]
    for i in range(position, end):
        scores[i] = scores[i + 1]
    for row in range(rows):
        for i in range(position, end):
            ints[row, i] = ints[row, i + 1]


@kernel
def _keep(scores: Floats, ints: Ints, source: int, target: int, rows: int) -> None:
    scores[target] = scores[source]
    for row in range(rows):
        ints[row, target] = ints[row, source]


@kernel
def _drop_dominated_by(table: Ints, of: int, scores: Floats, ints: Ints, q: int, rank: int) -> None:
    """Strict: count the record at ``rank`` as a dominator, and what dominates it."""
    start, size, k = table[q, of + START], table[q, of + SIZE], table[q, K]
    position = start + rank
    number = ints[NUMBER, position]
    for i in range(start, position):
        ints[DOMINATORS, position] += ints[NUMBER, i] > number
    stay = position if ints[DOMINATORS, position] >= k else position + 1
    for i in range(position + 1, start + size):
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
    """Relaxed: drop records that k later ones, which rank before them, dominate."""
    start, size = table[q, of + START], table[q, of + SIZE]
    first = min(table[q, K], size)
    for i in range(first):
        push(latest, i, ints[NUMBER, start + i])
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
def tidy(
    table: Ints, values: Floats, of: int, scores: Floats, ints: Ints, q: int, kind: int, rank: int,
    gamma: float, most: int, rows: int, latest: Ints,
) -> None:  # fmt: skip
    """After a record was put at ``rank``: drop what this kind of list drops."""
    limit = BAND_LIMIT if of == BAND else FILTER_LIMIT
    k = table[q, K]
    if kind in (STRICT, SKYBAND):
        _drop_dominated_by(table, of, scores, ints, q, rank)
    elif kind == BEST:
        table[q, of + SIZE] = min(k, table[q, of + SIZE])
        if table[q, of + SIZE] == k:
            table[q, MORE] = 1
            values[q, limit] = scores[table[q, of + START] + k - 1]
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


@kernel
def forget_uncovered(
    table: Ints, values: Floats, scores: Floats, ints: Ints, q: int, kind: int, entered: Bools,
    recent_cell: Ints, rows: int,
) -> None:  # fmt: skip
    """Drop the filter's records in cells that the query has left: it will not be told when they
    leave the buffer. A strict filter drops them itself before that."""
    if kind == STRICT:
        return
    start, end = table[q, FILTER + START], table[q, FILTER + START] + table[q, FILTER + SIZE]
    stay = start
    for i in range(start, end):
        if entered[recent_cell[ints[NUMBER, i] % len(recent_cell)], q]:
            if stay < i:
                _keep(scores, ints, i, stay, rows)
            stay += 1
    table[q, FILTER + SIZE] = stay - start
    if stay < end and kind == PROBABLE:
        values[q, FILTER_LIMIT] = -np.inf
