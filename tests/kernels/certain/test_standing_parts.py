"""The parts of standing queries: lists, the time order and the grid, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.certain.bands import PROBABLE, RELAXED, STRICT
from crestline.kernels.certain.scoring import (
    DISTANCE,
    WEIGHTED_DISTANCE,
    WEIGHTED_SUM,
    best_in_box,
    score_of,
)
from crestline.kernels.certain.standing_grid import (
    cell_of,
    cover,
    leave_cell,
    threshold_of,
    wish_of,
)
from crestline.kernels.certain.standing_lists import place, put, take, tidy
from crestline.kernels.certain.standing_order import note_oldest, pop
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_LIMIT,
    BORN,
    COLUMNS,
    DOMINATORS,
    FILTER,
    KIND,
    NO_FILTER,
    NUMBER,
    OLDEST,
    ROOM,
    SIZE,
    START,
    VALUES,
    WIDTH,
    Grid,
    K,
    Queries,
)
from crestline.types import Ints

SEEDS = st.integers(0, 2**32)


def table_of(queries: int, k: int, room: int) -> Ints:
    """Rows of queries with empty bands, one after the other."""
    table = np.zeros((queries, COLUMNS), np.int64)
    table[:, K], table[:, WIDTH], table[:, ACTIVE], table[:, OLDEST] = k, 10, 1, NEVER
    for of in (BAND, FILTER):
        table[:, of + START], table[:, of + ROOM] = room * np.arange(queries), room
    return table


@given(SEEDS, st.sampled_from((STRICT, RELAXED)))
def test_a_list_holds_what_has_fewer_than_k_dominators(seed: int, kind: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 20)), int(rng.integers(1, 4))
    table, values = table_of(2, k, n + 1), np.full((2, VALUES), 0.0)
    scores, ints = np.zeros(2 * n + 2), np.zeros((DOMINATORS + 1, 2 * n + 2), np.int64)
    stream = rng.integers(0, 6, n).astype(float)
    for number, score in enumerate(stream):
        rank = place(table, BAND, scores, ints, 1, score, number)
        put(table, BAND, scores, ints, 1, rank, score, number, number, DOMINATORS + 1)
        tidy(
            table, values, BAND, scores, ints, 1, kind, rank, 0.0, 0, DOMINATORS + 1,
            np.empty(k, np.int64),
        )  # fmt: skip
    part = slice(n + 1, n + 1 + table[1, BAND + SIZE])
    listed = ints[NUMBER, part].tolist()
    order = np.lexsort((-np.arange(n), -stream)).tolist()
    needed = [i for at, i in enumerate(order) if sum(better > i for better in order[:at]) < k]
    if kind == STRICT:
        assert listed == needed
    assert set(needed) <= set(listed) and listed == [i for i in order if i in listed]
    assert scores[part].tolist() == stream[listed].tolist()
    before = table[1, BAND + SIZE]
    take(table, BAND, scores, ints, 1, 0, DOMINATORS + 1)
    assert table[1, BAND + SIZE] == before - 1 and table[0, BAND + SIZE] == 0


def test_a_probable_list_keeps_to_its_limit() -> None:
    table, values = table_of(1, 1, 8), np.zeros((1, VALUES))
    scores, ints = np.zeros(8), np.zeros((DOMINATORS + 1, 8), np.int64)
    for number, score in enumerate((1.0, 5.0, 3.0, 4.0)):
        rank = place(table, BAND, scores, ints, 0, score, number)
        put(table, BAND, scores, ints, 0, rank, score, number, number, BORN + 1)
        tidy(
            table, values, BAND, scores, ints, 0, PROBABLE, rank, 0.0, 2, BORN + 1,
            np.empty(1, np.int64),
        )  # fmt: skip
    assert scores[:3].tolist() == [5.0, 4.0, 3.0] and table[0, BAND + SIZE] == 3
    assert values[0, BAND_LIMIT] == 3.0
    assert threshold_of(table, values, scores, 0, PROBABLE, NO_FILTER) == 3.0
    assert wish_of(table, values, scores, scores, 0, PROBABLE, NO_FILTER) == (2.8, 5.0)


@given(SEEDS)
def test_the_time_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries = int(rng.integers(1, 8))
    table, ints = table_of(queries, 2, 3), rng.integers(0, 50, (DOMINATORS + 1, 3 * queries))
    heaps, sizes = np.zeros((2, 2 * queries), np.int64), np.zeros(2, np.int64)
    table[:, BAND + SIZE] = 3
    for q in range(queries):
        note_oldest(table, ints, q, STRICT, heaps, sizes)
        note_oldest(table, ints, q, STRICT, heaps, sizes)  # noted once
    births = [int(ints[BORN, 3 * q : 3 * q + 2].min()) for q in range(queries)]
    assert table[:, OLDEST].tolist() == births
    popped = []
    while sizes[0]:
        popped.append((int(heaps[0, 0]), int(heaps[0, 1])))
        sizes[0] = pop(heaps, 0, sizes[0])
    assert sorted(popped) == sorted((birth + 10, q) for q, birth in enumerate(births))
    assert [due for due, _ in popped] == sorted(due for due, _ in popped)


@given(SEEDS)
def test_no_cell_with_a_point_in_reach_is_missed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    resolution, dimensions = 4, 2
    edges = np.tile(np.arange(1, resolution) / resolution, (dimensions, 1))
    cells = resolution**dimensions
    grid = Grid(
        edges, np.zeros(cells, np.int64), np.zeros((cells, 3), np.int64),
        np.zeros((cells, 3), np.bool_), np.full((2, 3, dimensions), NEVER),
    )  # fmt: skip
    grid.reach[1] = LONG_AGO
    table = table_of(3, 1, 1)
    table[:, KIND] = DISTANCE, WEIGHTED_DISTANCE, WEIGHTED_SUM
    point, weight = rng.random((3, 2)), rng.random((3, 2))
    queries = Queries(table, np.zeros((3, VALUES)), point, weight)
    thresholds = -rng.random(3) * np.array([0.5, 0.5, -1.0])
    room = np.empty(2), np.empty(2)
    for q in range(3):
        cover(queries, grid, q, -np.inf, True, *room)
        assert grid.entered[:, q].all()
        cover(queries, grid, q, thresholds[q], True, *room)
    points = rng.random((50, 2))
    for row in range(len(points)):
        cell = cell_of(edges, points, row)
        slices = (points[row] * resolution).astype(int)
        assert cell == slices[0] * resolution + slices[1]
        for q in range(3):
            score = score_of(table[q, KIND], point, weight, 0.0, q, points, row, np.empty(2))
            if score >= thresholds[q]:
                assert grid.entered[cell, q], (q, score, thresholds[q])
    for cell in range(cells):
        members = grid.members[cell, : grid.count[cell]].tolist()
        assert sorted(members) == np.flatnonzero(grid.entered[cell]).tolist()
        if members:
            leave_cell(grid.count, grid.members, grid.entered, cell, members[0])
            assert members[0] not in grid.members[cell, : grid.count[cell]].tolist()


@given(SEEDS)
def test_distances_as_numpy_computes_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    point, weight, points = rng.random((1, 3)), rng.random((1, 3)), rng.random((5, 3))
    terms = np.empty(3)
    for row, x in enumerate(points):
        difference = (x - point[0]) ** 2
        scores = [
            score_of(kind, point, weight, 0.0, 0, points, row, terms)
            for kind in (DISTANCE, WEIGHTED_DISTANCE, WEIGHTED_SUM)
        ]
        wanted = [
            -np.sqrt(difference.sum()),
            -np.sqrt((difference * weight[0]).sum()),
            x @ weight[0],
        ]
        assert np.allclose(scores, wanted, rtol=1e-12)
        low, high = np.minimum(x, point[0]), np.maximum(x, point[0])
        assert best_in_box(DISTANCE, point, weight, 0.0, 0, low, high) >= 0.0
