"""The operators on NumPy arrays: equal to NAIVE, in batches, through saved states."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certain.replay import ARRIVALS, OPERATORS, Stream, replay
from crestline.certain import SMA, MinTopK, Naive, PreTopK
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from tiers import TIERS, in_tier


@pytest.mark.parametrize("operator", OPERATORS)
@given(st.integers(0, 2**32))
def test_equals_naive(operator: type, seed: int) -> None:
    stream = Stream.random(np.random.default_rng(seed))
    if stream.supports(operator):
        assert stream.through(operator) == stream.through(Naive)


@pytest.mark.parametrize("operator", ARRIVALS)
@given(st.integers(0, 2**32))
def test_long_batches_equal_naive(operator: type, seed: int) -> None:
    stream = Stream.long(np.random.default_rng(seed))
    with patch("crestline.certain.recent._LEAST_BLOCK", 4):  # blocks where the batch is short too
        assert stream.through(operator) == stream.through(Naive)


@pytest.mark.parametrize("operator", ARRIVALS)
def test_infinite_scores_leave_the_filter_open(operator: type) -> None:
    """The threshold of a probabilistic filter once became inf - inf, which nothing reaches."""
    inf = np.inf
    scores = np.array([-inf, 0, 1, 0, -inf, -inf, 0, 0, 1])
    for sign in (1.0, -1.0):
        for cuts in ([0, 9], list(range(10))):
            stream = Stream(2, 15, 1, sign * scores, None, None, cuts)
            rows = stream.through(operator)
            assert rows == stream.through(Naive)
            assert rows[-1][3] == ([1, 1] if sign > 0 else [inf, inf])


@pytest.mark.parametrize("operator", (*OPERATORS, Naive))
@given(st.integers(0, 2**32))
def test_only_changes_leaves_out_repetitions_only(operator: type, seed: int) -> None:
    stream = Stream.random(np.random.default_rng(seed))
    if not stream.supports(operator):
        return
    everything = {(p, e): ids for p, e, ids, _ in stream.through(operator)}
    sparse = {(p, e): ids for p, e, ids, _ in stream.through(operator, only_changes=True)}
    shown: dict[int, list[int]] = {}
    for (p, e), ids in sorted(everything.items(), key=lambda item: item[0][1]):
        # Between two full snapshots a window may have become empty, which is reported as such.
        gone = [end for (q, end), found in sparse.items() if q == p and not found and end < e]
        since = max((end for (q, end) in everything if q == p and end < e), default=None)
        if since is not None and any(end > since for end in gone):
            shown[p] = []
        if ids != shown.get(p, []):
            assert sparse.get((p, e)) == ids
        shown[p] = ids
    assert {key: ids for key, ids in sparse.items() if ids}.items() <= everything.items()


def test_kernels_equal_plain_python() -> None:
    told = []
    for tier in TIERS:
        with in_tier(tier):
            told.append(str(replay(7, 40)))
    assert told[0] == told[1] == told[2]


def test_input_is_not_touched() -> None:
    scores, times = np.array([3.0, 1, 2]), np.array([1, 2, 3])
    for operator in (*OPERATORS, Naive):
        on_time = Stream(1, 2, None, scores, times, None, [0, 3]).supports(operator)
        run = operator(1, 2, None if on_time else 1)
        run.observe(Batch(scores, times))
        run.advance(3)
    assert scores.tolist() == [3, 1, 2] and times.tolist() == [1, 2, 3]


def test_what_is_kept() -> None:
    rising, falling = np.arange(1000.0), np.arange(1000.0)[::-1].copy()
    for scores, kept in ((rising, 5), (falling, 50)):
        run = MinTopK(k=5, window=100, slide=10)
        run.observe(scores)
        run.advance()
        assert run.candidates == kept
    unbounded = MinTopK(k=5, window=None, slide=10)
    unbounded.observe(falling)
    unbounded.observe(rising)
    unbounded.advance()
    assert unbounded.candidates == 5
    whole = SMA(k=5, window=100, slide=10)
    whole.observe(rising)
    whole.advance()
    assert whole.candidates == 100


def test_a_long_gap_costs_nothing() -> None:
    run = MinTopK(k=1, window=10, slide=1)
    run.observe(Batch(np.array([1.0, 2.0]), np.array([0, 10**15])))
    ends = [e for part in run.advance_gradually(10**15 + 20) for _, e, _, _ in part]
    assert ends == [*range(1, 11), *range(10**15 + 1, 10**15 + 11)]


def test_top_is_the_latest_snapshot() -> None:
    run = MinTopK(k=2, window=4, slide=2)
    run.observe(np.array([1.0, 4.0, 2.0, 3.0]))
    run.advance()
    assert run.top().tolist() == [1, 3]
    assert run.top(partition=5).tolist() == []


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: MinTopK(0, 1, 1), "k must be at least 1"),
        (lambda: MinTopK(1, 0, 1), "at least 1"),
        (lambda: PreTopK(1, None, 1), "bounded"),
        (lambda: PreTopK(10**6, 10**6, 1), "future results"),
    ],
)
def test_refusals(make: object, part: str) -> None:
    with pytest.raises(CrestlineError, match=part):
        make()  # type: ignore[operator]


def test_a_record_of_a_reported_pane_is_refused() -> None:
    run = MinTopK(1, 10, 10)
    run.observe(Batch(np.array([1.0]), np.array([25])))
    run.advance(20)
    with pytest.raises(CrestlineError, match="had been reported"):
        run.observe(Batch(np.array([1.0]), np.array([5])))
    with pytest.raises(CrestlineError, match="times with every batch"):
        run.observe(np.array([1.0]))


def test_sma_recomputes_as_the_paper_says() -> None:
    """It kept the skyband of the whole window, so it never had to, and paid for every record."""
    run = SMA(k=100, window=10_000, slide=1_000)
    for seed in range(60):
        run.observe(np.random.default_rng(seed).random(1_000))
        run.advance()
    assert 5 < run.recomputed < 60


def test_mintopk_is_minimal_when_the_window_is_no_multiple_of_the_slide() -> None:
    """5 and 4 leave the window at the same slide, so 4 can never be reported."""
    run = MinTopK(k=1, window=3, slide=2)
    run.observe(np.array([1.0, 5.0, 4.0, 0.0]))
    run.advance()
    assert run.window_marks() == [(1, 4, 4), (3, 6, 6)]


@given(st.integers(0, 2**32))
def test_mintopk_in_long_batches_equals_naive(seed: int) -> None:
    """Long batches of small panes are thinned, and their steps are taken in stretches."""
    rng = np.random.default_rng(seed)
    stream = Stream.long(rng)
    stream.slide = None if stream.slide is None and rng.random() < 0.3 else int(rng.integers(1, 9))
    assert stream.through(MinTopK) == stream.through(Naive)


def test_pretopk_changes_its_results_where_they_are() -> None:
    """Neither results nor records are copied with a batch, and their room is used again."""
    scores = np.random.default_rng(1).random(3_000)
    operator = PreTopK(k=5, window=100, slide=10)
    for first in range(0, len(scores), 10):
        operator.observe(scores[first : first + 10])
        operator.advance()
        operator._check()
        if first == 1_000:
            results, room = operator._results, len(operator._kept)
    assert operator._results is results
    assert len(results) == 10
    assert len(operator._kept) == room < 100
