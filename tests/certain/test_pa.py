"""PA: its limit, its bound in random order, and that RAPF takes over where there is none."""

from __future__ import annotations

import time
from fractions import Fraction
from math import ceil, comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile
from crestline.certain import PA, RAPF, Naive
from crestline.certain.disorder import LENGTH, OrderWatch, in_order
from crestline.certain.probable import candidate_limit, convex_beyond, p_practice
from crestline.core.batch import Batch
from crestline.core.state import pack, unpack
from crestline.types import Floats

KS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
TABLE_V = {
    10**3: (18, 21, 26, 32, 40, 56, 72, 91, 106),
    10**4: (22, 25, 30, 37, 46, 65, 86, 116, 172),
    10**5: (25, 28, 34, 41, 51, 72, 95, 128, 192),
    10**6: (28, 32, 38, 46, 56, 78, 103, 138, 207),
}
TABLE_X = {
    10**3: (4, 7, 12, 19, 33, 69, 125, 232, 539),
    10**4: (4, 7, 12, 19, 33, 69, 126, 236, 555),
    10**5: (4, 7, 12, 19, 33, 69, 126, 237, 557),
    10**6: (4, 7, 12, 19, 33, 69, 126, 237, 557),
}


@pytest.mark.parametrize("n", TABLE_V)
def test_tables_v_and_x(n: int) -> None:
    assert tuple(candidate_limit(k, n, 0.001) for k in KS) == TABLE_V[n]
    assert tuple(ceil(convex_beyond(k, n)) for k in KS) == TABLE_X[n]


@given(st.integers(1, 40), st.integers(1, 300), st.floats(0.001, 0.5))
def test_the_limit_leaves_less_than_sigma(k: int, n: int, sigma: float) -> None:
    """What the bisection finds is the first poor rank, and never more than the window."""
    limit = candidate_limit(k, n, sigma)
    assert 0 <= limit <= max(0, n - k)
    if k + limit < n:
        assert p_practice(k + limit + 1, n, k) < sigma / 2


def by_the_paper(rank: int, n: int, k: int) -> float:
    """(9) as it is printed, a sum over k, in whole numbers."""
    terms = (
        Fraction(comb(n - 1, other - 1) * comb(n - 1, rank - 1), comb(2 * n - 2, rank + other - 2))
        for other in range(1, min(k, n) + 1)
    )
    return float(min(Fraction(1), Fraction(n * n, 4 * n - 2) * sum(terms)))


@given(st.data(), st.integers(1, 400))
def test_the_short_sum_is_that_of_the_paper(data: st.DataObject, n: int) -> None:
    k = data.draw(st.integers(1, n + 5))
    rank = data.draw(st.integers(min(k, n), n))
    assert p_practice(rank, n, k) == pytest.approx(by_the_paper(rank, n, k), rel=1e-9)


@pytest.mark.parametrize(
    ("k", "n", "limit"),
    [(1_000, 10**6, 286), (10**7, 8 * 10**7, 27_933), (10**7, 10**18, 42_552)],
)
def test_the_limit_of_a_large_k_is_not_a_long_loop(k: int, n: int, limit: int) -> None:
    start = time.perf_counter()
    assert candidate_limit(k, n, 0.001) == limit
    assert time.perf_counter() - start < 10  # adding up k terms takes minutes


def reported(operator: PA | RAPF | Naive, scores: Floats, batch: int) -> set[int]:
    """Every record that ever was among the best."""
    found: set[int] = set()
    for start in range(0, len(scores), batch):
        operator.observe(scores[start : start + batch])
        found.update(operator.advance().id.tolist())
    return found


@pytest.mark.parametrize("batch", [1_000, 60_000])
def test_few_are_missed_in_random_order(batch: int) -> None:
    n, sigma = 2_000, 0.05
    missed = wrong = 0
    for seed in range(5):
        scores = np.random.default_rng(seed).random(60_000)
        exact = reported(RAPF(9, n, only_changes=True), scores, 60_000)
        got = reported(PA(9, n, only_changes=True, error=sigma), scores, batch)
        missed, wrong = missed + len(exact - got), wrong + len(got - exact)
    assert missed < 5 * sigma * 60_000 / n
    assert wrong < 5 * 1.5 * sigma * 60_000 / n


STREAMS = {
    "falling": -np.arange(30_000.0),
    "rising": np.arange(30_000.0),
    "sawtooth": -(np.arange(30_000) % 2_500).astype(float),
    "waves": np.sin(np.arange(30_000) / 900) + np.random.default_rng(1).normal(0, 0.05, 30_000),
    "stations": np.arange(30_000) % 20 + 8 * np.sin(np.arange(30_000) / 2_000),
}


@pytest.mark.parametrize("few", [(np.inf, -np.inf), (np.inf, 1.0), hostile.SCORES])
@pytest.mark.parametrize("adaptive", [False, True])
def test_infinities_and_other_extremes_do_not_close_the_gate(few: Any, adaptive: bool) -> None:
    """Scores in random order, half of them extreme: the bound holds as for any others."""
    n, missed, wrong = 500, 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = np.where(rng.random(20_000) < 0.5, rng.random(20_000), rng.choice(few, 20_000))
        exact = reported(RAPF(9, n, only_changes=True), scores, 20_000)
        head = scores[:1_500]
        judged = reported(Naive(9, n, 1, only_changes=True), head, 1_500)
        assert reported(RAPF(9, n, only_changes=True), head, 400) == judged
        for batch in (700, 20_000):
            run = PA(9, n, only_changes=True, error=0.05, adaptive=adaptive)
            got = reported(run, scores, batch)
            run._check()
            missed, wrong = missed + len(exact - got), wrong + len(got - exact)
    assert missed < 6 * 0.05 * 20_000 / n
    assert wrong < 6 * 1.5 * 0.05 * 20_000 / n


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("batch", [100, 30_000])
def test_adaptive_misses_nothing_where_there_is_order(name: str, batch: int) -> None:
    scores = STREAMS[name]
    exact = reported(RAPF(5, 1_000, only_changes=True), scores, 30_000)
    run = PA(5, 1_000, only_changes=True, adaptive=True)
    assert reported(run, scores, batch) == exact
    assert run.exact_now and run.notes()["answered_exactly"] == len(scores)
    pure = reported(PA(5, 1_000, only_changes=True), scores, batch)
    assert name == "rising" or len(exact - pure) > 0  # or this shows nothing


def test_adaptive_changes_sides_and_back() -> None:
    rng = np.random.default_rng(8)
    random, falling = rng.random(40_000), 2 - np.arange(4_000) / 4_000
    scores = np.concatenate((random, falling, rng.random(40_000)))
    run = PA(5, 1_000, only_changes=True, adaptive=True)
    exact = reported(RAPF(5, 1_000, only_changes=True), scores, 10_000)
    who = []
    found: set[int] = set()
    for start in range(0, len(scores), 500):
        run.observe(scores[start : start + 500])
        found.update(run.advance().id.tolist())
        run._check()
        run = PA.from_state(unpack(pack(run.state())))
        who.append(run.exact_now)
    assert who[0] and not who[79] and who[85] and not who[-1]
    notes = run.notes()
    assert notes["switches"] == 3 and notes["answering"] == "PA"
    assert 8_000 < notes["answered_exactly"] < 20_000
    assert "random order" in notes["holds"] and notes["error"] == 0.001
    assert len(exact - found) <= 2 and len(exact) > 4_000


def test_with_partitions_rapf_answers() -> None:
    rng = np.random.default_rng(2)
    run = PA(2, 50, only_changes=True, adaptive=True)
    for _ in range(20):
        run.observe(Batch(rng.random(500), None, rng.integers(0, 3, 500)))
        run.advance()
    assert run.exact_now


@pytest.mark.parametrize("adaptive", [False, True])
def test_partitions_are_forgotten_with_all_that_is_theirs(adaptive: bool) -> None:
    """A list of PA's once kept the entries of another length."""
    rng = np.random.default_rng(3)
    run = PA(2, 50, None, only_changes=True, adaptive=adaptive)
    times = np.arange(400)
    run.observe(Batch(rng.random(400), times, times % 3))
    run.advance(399)
    run.keep_partitions(np.array([0, 2]))
    later = np.arange(400, 500)
    run.observe(Batch(rng.random(100), later, later % 2))
    run.advance(499)
    run._check()
    assert run.partitions == 2 and set(run._latest.partition.tolist()) == {0, 1}


def test_pa_on_time_equals_naive_while_few_are_there() -> None:
    """With fewer records than candidates in the window nothing is ignored."""
    rng = np.random.default_rng(4)
    scores, times = rng.integers(0, 9, 300).astype(float), np.sort(rng.integers(0, 900, 300))
    for cuts in ([0, 300], [0, 7, 50, 300]):
        rows = []
        for operator in (PA, Naive):
            run = operator(3, 40, None)
            told = []
            for start, stop in zip(cuts, cuts[1:], strict=False):
                run.observe(Batch(scores[start:stop], times[start:stop]))
                to = int(times[stop]) - 1 if stop < 300 else 900
                told += [(end, ids.tolist()) for _, end, ids, _ in run.advance(to)]
            rows.append(told)
        assert rows[0] == rows[1]


def test_a_tie_with_the_threshold_gets_through_the_gate() -> None:
    """The gate does not know how ties are broken; the band does."""
    run = PA(2, 1_000, additional=0)
    run.observe(np.ones(200))
    run.advance()
    assert run.observe(np.array([0.5, 1.0, 0.9])).tolist() == [1]
    run.set_ties(np.arange(203))
    assert run.advance().id[-2:].tolist() == [201, 199]


def test_the_watch_knows_order_when_it_sees_it() -> None:
    rng = np.random.default_rng(5)
    series = np.stack([rng.random(LENGTH), np.arange(LENGTH), np.zeros(LENGTH)])
    assert in_order(series).tolist() == [False, True, False]
    alarms = 0
    for _ in range(40):
        watch = OrderWatch()
        alarms += sum(watch.add(rng.random(5_000)) for _ in range(10))
    assert alarms <= 2
    watch = OrderWatch()
    one_by_one = [watch.add(np.array([float(-i)])) for i in range(200)]
    assert one_by_one.index(True) == LENGTH - 1
