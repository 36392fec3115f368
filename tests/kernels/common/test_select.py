"""The k best of every group, against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile
from crestline.kernels.common.order import find_late, has_nan, is_ascending, pane_starts
from crestline.kernels.common.select import select_groups, select_partitioned, select_runs
from crestline.types import Floats, Ints

SHAPES = ("random", "few values", "rising", "falling", "mostly inf", "mostly -inf", "hostile")


def scores_of(shape: str, n: int, rng: np.random.Generator) -> Floats:
    values = rng.random(n)
    if shape == "few values":
        values = np.floor(values * 5)
    elif shape == "rising":
        values = np.sort(values)
    elif shape == "falling":
        values = np.sort(values)[::-1].copy()
    elif shape == "mostly inf":
        values[rng.random(n) < 0.7] = np.inf
    elif shape == "mostly -inf":
        values[rng.random(n) < 0.7] = -np.inf
    elif shape == "hostile":
        values = rng.choice(hostile.SCORES, n)
    return values


def best_with_ties(scores: Floats, places: Ints, k: int) -> list[int]:
    if len(places) == 0:
        return []
    least = np.sort(scores[places])[::-1][min(k, len(places)) - 1]
    return [int(i) for i in places if scores[i] >= least]


@pytest.mark.parametrize("shape", SHAPES)
@given(st.integers(0, 2**32), st.integers(1, 600), st.integers(1, 40), st.integers(0, 8))
def test_runs_and_partitions(shape: str, seed: int, n: int, k: int, cuts: int) -> None:
    rng = np.random.default_rng(seed)
    scores = scores_of(shape, n, rng)
    starts = np.unique(np.concatenate(([0, n], rng.integers(0, n + 1, cuts))))
    runs = [np.arange(a, b) for a, b in zip(starts[:-1], starts[1:], strict=True)]

    wanted = [i for run in runs for i in best_with_ties(scores, run, k)]
    for guess in ([-np.inf, 0.0], [rng.random(), 3.0], [np.inf, 1.0], [np.nan, 1.0]):
        kept = select_runs(scores, starts, k, np.array(guess))
        assert sorted(kept.tolist()) == wanted, guess

    partition = rng.integers(0, 4, n)
    wanted = sorted(
        i
        for run in runs
        for p in range(4)
        for i in best_with_ties(scores, run[partition[run] == p], k)
    )
    assert select_partitioned(scores, partition, 4, starts, k).tolist() == wanted
    wanted = sorted(
        i for p in range(4) for i in best_with_ties(scores, np.flatnonzero(partition == p), k)
    )
    assert select_groups(scores, partition, 4, k).tolist() == wanted


def test_a_drifting_stream_keeps_its_answers() -> None:
    """The guessed threshold of one run is far off for the next, upwards and downwards."""
    rng = np.random.default_rng(1)
    drift = np.concatenate((np.linspace(0, 50, 5_000), np.linspace(50, -50, 5_000)))
    scores = rng.random(10_000) + drift
    starts = np.arange(0, 10_001, 250)
    wanted = [i for a in starts[:-1] for i in best_with_ties(scores, np.arange(a, a + 250), 10)]
    kept = select_runs(scores, starts, 10, np.array([-np.inf, 0.0]))
    assert sorted(kept.tolist()) == wanted


def test_large_k_keeps_the_best_and_only_a_few_more() -> None:
    rng = np.random.default_rng(2)
    scores, k = rng.random(200_000), 2_000
    starts = np.arange(0, 200_001, 20_000)
    kept = set(select_runs(scores, starts, k, np.array([-np.inf, 0.0])).tolist())
    more = 0
    for start in starts[:-1]:
        run = np.arange(start, start + 20_000)
        best = set(best_with_ties(scores, run, k))
        assert best <= kept
        extra = len(kept.intersection(run.tolist())) - len(best)
        assert extra <= 7 * np.sqrt(k)
        more += extra > 0
    assert more > 3  # the shortcut is really taken


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=60), st.integers(1, 20))
def test_pane_starts_cut_where_the_pane_changes(times: list[int], length: int) -> None:
    ascending = np.sort(np.array(times))
    panes = ascending // length
    wanted = [i for i in range(len(panes)) if i == 0 or panes[i] != panes[i - 1]]
    assert pane_starts(ascending, length).tolist() == [*wanted, len(times)]


@given(st.lists(st.integers(-9, 9), max_size=40), st.integers(0, 5))
def test_late_is_judged_record_by_record(times: list[int], lateness: int) -> None:
    late, count, latest = find_late(np.array(times, np.int64), -100, lateness)
    wanted = [t < max([-100, *times[:i]]) - lateness for i, t in enumerate(times)]
    assert late.tolist() == wanted
    assert count == sum(wanted)
    assert latest == max([-100, *times])


@given(st.lists(st.integers(0, 3), max_size=9000))
def test_ascending_and_nan(values: list[int]) -> None:
    assert is_ascending(np.array(values, np.int64)) == (values == sorted(values))
    floats = np.array(values, np.float64)
    assert not has_nan(floats)
    if len(floats):
        floats[len(floats) // 2] = np.nan
        assert has_nan(floats)
