"""Cells over attributes: their order, the influence region, and what is read of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.certain import CPM, SMA, SNN, TMA, Naive
from crestline.certain.cells import AttributeCells
from crestline.certain.grid import GridOperator
from crestline.certain.preferences import (
    AttributeDistance,
    Distance,
    Haversine,
    Preference,
    WeightedDistance,
    WeightedSum,
    checked_preference,
)
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError, StateError
from crestline.core.state import pack, unpack
from crestline.kernels.certain.grid import Cells, GridRule, Slots, read_cells
from crestline.kernels.certain.scoring import score_of
from crestline.types import Floats
from hostile import FINITE, SCORES, WEIGHTS, spiked

GRIDS = (CPM, SNN, SMA, TMA)


def a_preference(rng: np.random.Generator, dimensions: int) -> Preference:
    some = lambda low, high, wild: tuple(  # noqa: E731
        spiked(rng, rng.integers(low, high, dimensions).astype(float), wild).tolist()
    )
    point, weights = some(-1, 7, FINITE), some(0, 3, WEIGHTS)
    kinds: list[Preference] = [
        Distance(point), WeightedDistance(point, weights), AttributeDistance(point, weights),
        WeightedSum(some(-3, 4, FINITE)),
    ]  # fmt: skip
    if dimensions == 2:
        kinds.append(Haversine((float(rng.uniform(-90, 90)), float(rng.uniform(-200, 200)))))
    return kinds[rng.integers(len(kinds))]


def scores_of(preference: Preference, points: Floats) -> Floats:
    dimensions = points.shape[1]
    kind, *numbers = checked_preference(preference, dimensions)
    point, weight = (np.array([each], np.float64) for each in numbers)
    with np.errstate(all="ignore"):
        found = [
            score_of(kind, point, weight, 0.0, 0, points, row, np.empty(dimensions))
            for row in range(len(points))
        ]
    return np.array(found, np.float64)


def test_cells_come_in_the_order_of_their_distance() -> None:
    points = np.array([[0.0, 0.0], [8.0, 4.0]])
    cells = AttributeCells(Distance((2.5, 1.25)), np.zeros(2), np.array([2.0, 1.0]), 4)
    assert cells.order[0] == 16, "the cell of those that fit into none is read first"
    corners = [(2.0 * (cell // 4), 1.0 * (cell % 4)) for cell in range(16)]
    apart = [
        float(np.hypot(max(x - 2.5, 2.5 - x - 2, 0), max(y - 1.25, 1.25 - y - 1, 0)))
        for x, y in corners
    ]
    ranked = [apart[cell] for cell in cells.order[1:]]
    assert ranked == sorted(ranked)
    assert cells.order[1] == 5, "the cell of the point itself"
    assert cells.of(Batch(np.full(2, -9.0), points=points)).tolist() == [0, 15]


def test_a_weighted_sum_is_read_from_its_best_corner() -> None:
    cells = AttributeCells(WeightedSum((1.0, -9.0)), np.zeros(2), np.ones(2), 3)
    # The best corner is that of the largest first and the least second coordinate.
    assert cells.order[1:4].tolist() == [6, 3, 0]
    assert cells.order[-1] == 2


@given(st.integers(0, 2**32))
def test_the_influence_region_is_what_can_hold_a_better_record(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dimensions = int(rng.integers(2, 5))
    preference = a_preference(rng, dimensions)
    points = spiked(rng, rng.normal(3, 2, (60, dimensions)), SCORES)
    scores = scores_of(preference, points)
    points, scores = points[~np.isnan(scores)], scores[~np.isnan(scores)]
    if len(points) == 0:
        return
    cells = AttributeCells.over(preference, points[: max(1, len(points) // 2)], 1_000)
    found = cells.of(Batch(scores, points=points))
    assert (scores <= cells.bounds[found]).all()
    ranked = cells.bounds[cells.order]
    assert (ranked[1:] <= ranked[:-1]).all() and cells.count <= 1_001
    threshold = float(rng.choice(scores))
    influence = cells.influence(threshold)
    assert set(influence.tolist()) == set(np.flatnonzero(cells.bounds >= threshold).tolist())
    assert np.isin(found[scores >= threshold], influence).all()


@given(st.integers(0, 2**32))
def test_a_recomputation_reads_the_cells_that_reach_the_kth_and_no_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, k = rng.random((200, 2)), int(rng.integers(1, 20))
    preference = Distance((float(rng.random()), float(rng.random())))
    scores = scores_of(preference, points)
    cells = AttributeCells.over(preference, points, 256)
    found = cells.of(Batch(scores, points=points))
    first, following = np.full(cells.count, -1), np.full(200, -1)
    for record in range(199, -1, -1):
        following[record], first[found[record]] = first[found[record]], record
    none = np.zeros(200, np.int64)
    slots = Slots(scores, none, none, none, found, following, none)
    chains = Cells(first, first, cells.order, cells.bounds)
    rule = GridRule(False, True, cells.count, False)
    view, size = read_cells(0, k, 200, rule, chains, slots, np.empty(1, np.int64))
    kth = np.sort(scores)[-k]
    reach = np.isin(found, cells.influence(kth))
    assert sorted(view[:size].tolist()) == np.flatnonzero(reach).tolist()


@pytest.mark.parametrize("kind", GRIDS)
@given(st.integers(0, 2**32))
def test_whatever_the_coordinates_hold_answers_are_exact(kind: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dimensions, n = int(rng.integers(2, 5)), int(rng.integers(1, 90))
    preference = a_preference(rng, dimensions)
    points = rng.normal(3, 2, (n, dimensions))
    if rng.random() < 0.5:
        points = rng.integers(0, 6, (n, dimensions)).astype(float)
    points = spiked(rng, points, (*SCORES, np.nan))
    scores = scores_of(preference, points)
    wild = rng.random()
    if wild < 0.3:  # an engine that rounds otherwise
        with np.errstate(over="ignore"):
            scores = scores.astype(np.float32).astype(np.float64)
    elif wild < 0.4:  # scores that have nothing to do with the points
        scores = rng.permutation(scores)
    scores = np.where(np.isnan(scores), 1.0, scores)
    partitions = rng.integers(0, 3, n) if rng.random() < 0.5 else None
    k, window, slide = int(rng.integers(1, 5)), int(rng.integers(1, 30)), int(rng.integers(1, 4))
    if kind in (CPM, SNN):
        slide = 1
    ours: GridOperator = kind(k, window, slide, preference=preference)
    judge = Naive(k, window, slide)
    start = 0
    while start < n:
        stop = min(n, start + int(rng.integers(1, 40)))
        part = None if partitions is None else partitions[start:stop]
        ours.observe(Batch(scores[start:stop], None, part, points=points[start:stop]))
        judge.observe(Batch(scores[start:stop], None, part))
        told, wanted = ours.advance(), judge.advance()
        assert [(p, e, i.tolist()) for p, e, i, _ in told] == [
            (p, e, i.tolist()) for p, e, i, _ in wanted
        ]
        ours._check()
        ours = kind.from_state(unpack(pack(ours.state())))
        start = stop


def test_records_without_points_are_refused() -> None:
    operator = CPM(1, 5, preference=Distance((0.0, 0.0)))
    with pytest.raises(CrestlineError, match="points of 2 coordinates"):
        operator.observe(np.array([1.0]))
    with pytest.raises(CrestlineError, match="must not be negative"):
        CPM(1, 5, preference=WeightedDistance((0.0, 0.0), (1.0, -1.0)))


def test_a_record_in_the_chain_of_another_cell_is_refused() -> None:
    operator = CPM(1, 5, preference=Distance((0.0, 0.0)))
    operator.observe(Batch(np.array([-5.0, -1.0]), points=np.array([[3.0, 4.0], [0.0, 1.0]])))
    operator.advance()
    state = operator.state()
    state["own"]["cell"] = state["own"]["cell"][::-1].copy()
    with pytest.raises(StateError, match="another cell"):
        CPM.from_state(state)
