"""The kernels of results after every arrival: each against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.sentinels import NEVER
from crestline.kernels.certain.band_lists import (
    drop_dominated_by,
    find_place,
    insert,
    lowered,
    oldest_birth,
    prune,
    remove,
    sift,
    threshold_after_loss,
)
from crestline.kernels.certain.bands import (
    PROBABLE,
    RELAXED,
    STRICT,
    BandRule,
    BandState,
    Born,
    advance_bands,
)
from crestline.kernels.certain.blocks import birth, pass_blocks
from crestline.kernels.certain.filters import (
    Buffers,
    FilterLists,
    FilterRule,
    NewRecords,
    better_than,
    filter_arrivals,
    no_worse_than,
)
from crestline.kernels.certain.threshold import GateLists, GateRule, gate_arrivals
from crestline.kernels.common.output import written
from crestline.types import Floats

SEEDS = st.integers(0, 2**32)
NONE = np.empty(0, np.int64)


def best(scores: Floats, low: int, high: int, k: int) -> list[int]:
    """The k best of the records from ``low`` up to ``high``; of equal scores the later first."""
    inside = np.arange(max(low, 0), high)
    return inside[np.lexsort((-inside, -scores[inside]))][:k].tolist()


def test_a_list_grows_on_its_shorter_side() -> None:
    chain, keys, ties = np.zeros(6, np.int64), np.zeros(6), np.arange(4)
    head = tail = 3
    scores = [5.0, 7.0, 5.0, 1.0]
    for record, score in enumerate(scores):
        place = find_place(chain, keys, head, tail, score, ties[record], ties)
        head, tail = insert(chain, keys, head, tail, place, record, score)
    assert chain[head:tail].tolist() == [1, 2, 0, 3]
    assert oldest_birth(chain, head, tail, 2, np.array([8, 6, 7, 1])) == 6
    assert oldest_birth(chain, head, head, 2, ties) == NEVER
    head, tail = remove(chain, keys, head, tail, head + 2)
    assert chain[head:tail].tolist() == [1, 2, 3] and keys[head:tail].tolist() == [7, 5, 1]


def test_what_has_k_dominators_goes() -> None:
    ats, dominators = np.array([0, 1, 2, 3]), np.zeros(4, np.int64)
    chain, keys = np.array([0, 3, 1, 2]), np.array([9.0, 8.0, 7.0, 6.0])
    tail = drop_dominated_by(chain, keys, 0, 1, 4, 1, ats, dominators)
    assert chain[:tail].tolist() == [0, 3]  # the newest dominates what ranks behind it
    chain, keys = np.array([0, 3, 1, 2]), np.array([9.0, 8.0, 7.0, 6.0])
    tail = prune(chain, keys, 0, 4, 1, ats, 0, np.empty(1, np.int64))
    assert chain[:tail].tolist() == [0, 3]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=9), st.integers(21, 30))
def test_sift_replaces_the_least(values: list[int], value: int) -> None:
    heap = np.array(sorted(values))
    sift(heap, len(heap), value)
    assert sorted(heap.tolist()) == sorted([*sorted(values)[1:], value])
    assert all(heap[(i - 1) // 2] <= heap[i] for i in range(1, len(heap)))


def test_thresholds_fall_with_losses() -> None:
    assert lowered(5.0, 7.0, 5.0, 0.5) == 4.0
    assert lowered(-np.inf, -np.inf, -np.inf, 0.5) == -np.inf
    assert threshold_after_loss(5.0, 5.0, 7.0, 3, 3) == 4.0
    assert threshold_after_loss(5.0, 5.0, 7.0, 2, 3) == -np.inf


@pytest.mark.parametrize("kind", (STRICT, RELAXED))
@given(SEEDS)
def test_bands_hold_the_answer_after_every_arrival(kind: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, width = int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.integers(1, 9))
    scores, ats = rng.integers(0, 6, n).astype(float), np.arange(n)
    rule = BandRule(kind, k, width, True, False, 0.5, 0, 0)
    state = BandState(np.array([1.0]), np.zeros(1, np.int64), np.zeros(1, np.bool_))
    _, kept, report = advance_bands(
        rule, Born(scores, ats, ats, ats), np.zeros(n, np.int64), np.zeros(2, np.int64),
        np.array([0, n]), state, np.array([n]), NONE, np.zeros(2, np.int64),
        int(rng.integers(0, 9)),
    )  # fmt: skip
    _, end, count, _, records, _ = written(report)
    assert end.tolist() == list(range(n))
    parts = np.split(records, np.cumsum(count)[:-1])
    for at, part in enumerate(parts):
        assert part.tolist() == best(scores, at - width + 1, at + 1, k)
    assert set(parts[-1].tolist()) <= set(kept.tolist())


@given(SEEDS)
def test_a_probable_band_without_limits_is_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, width = int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.integers(1, 9))
    scores, times = rng.random(n), np.cumsum(rng.integers(0, 3, n))
    rule = BandRule(PROBABLE, k, width, False, True, 0.0, n, 0)
    state = BandState(np.array([-np.inf]), np.zeros(1, np.int64), np.zeros(1, np.bool_))
    moments = np.unique(times)
    _, _, report = advance_bands(
        rule, Born(scores, np.arange(n), times, times), np.zeros(n, np.int64),
        np.zeros(2, np.int64), np.array([0, n]), state, np.zeros(1, np.int64), moments,
        np.array([0, len(moments)]), 0,
    )  # fmt: skip
    _, end, count, _, records, _ = written(report)
    shown: list[int] = []
    changes = dict(zip(end.tolist(), np.split(records, np.cumsum(count)[:-1]), strict=True))
    for moment in moments.tolist():
        low, high = np.searchsorted(times, (moment - width, moment), "right").tolist()
        if moment in changes:
            shown = changes[moment].tolist()
        assert shown == best(scores, low, high, k), moment


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 9))
def test_ranks_in_descending_scores(values: list[int], score: int) -> None:
    listed = np.array(sorted(values, reverse=True), np.float64)
    assert better_than(listed, len(listed), score) == sum(v > score for v in values)
    assert no_worse_than(listed, len(listed), score) == sum(v >= score for v in values)


@pytest.mark.parametrize("kind", (STRICT, RELAXED, PROBABLE))
@given(SEEDS)
def test_a_filter_passes_all_that_is_ever_reported(kind: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, most = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    window = 2 * most - 1 + int(rng.integers(0, 4))
    n = int(rng.integers(1, 40))
    scores = rng.integers(0, 8, n).astype(float)
    rule = FilterRule(kind, k, most, most, n, 0.5)
    empty = np.zeros(2, np.int64)
    buffers = Buffers(empty, np.empty(0), NONE, np.empty(0, np.bool_))
    lists = FilterLists(empty, np.empty(0), NONE, NONE)
    new = NewRecords(np.array([0, n]), scores, np.arange(n), np.array([n - 1]))
    result, lists = filter_arrivals(rule, buffers, lists, np.array([-np.inf, 4.0 * k]), new)
    passing = set(result.passing.tolist())
    buffered = set(result.buffer.tolist())
    for at in range(n):
        for record in best(scores, at - window + 1, at + 1, k):
            assert record in passing | buffered, (record, at)
    assert result.buffer.tolist() == list(range(max(0, n - most), n))
    assert (np.diff(lists.score) <= 0).all()


@given(SEEDS)
def test_blocks_leave_out_nothing_that_matters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, block = int(rng.integers(20, 60)), int(rng.integers(1, 3)), int(rng.integers(3, 7))
    width = 3 * block + int(rng.integers(0, 5))
    scores = rng.integers(0, 50, n).astype(float)
    kept, start = pass_blocks(
        scores, NONE, 7, np.array([0, n]), k, block, width, np.full(1, -np.inf),
        np.zeros(1, np.int64),
    )  # fmt: skip
    assert start.tolist() == [0, len(kept)] and (np.diff(kept) > 0).all()
    for at in range(n):
        needed = set(best(scores, at - width + 1, at + 1, k))
        assert needed <= set(kept.tolist()), at
    assert birth(NONE, 7, 3) == 10 and birth(np.array([5, 6]), 7, 1) == 6


@given(SEEDS)
def test_an_open_gate_lets_the_best_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, width = int(rng.integers(1, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 12))
    scores = rng.random(n)
    lists = GateLists(np.zeros(2, np.int64), np.empty(0), NONE)
    thresholds = np.full(1, -np.inf)
    kept, start, entered = gate_arrivals(
        GateRule(k, width, width, 0), lists, thresholds, np.array([0, n]), scores, NONE, 0
    )
    assert start.tolist() == [0, len(entered)]
    for at in range(n):
        assert set(best(scores, at - width + 1, at + 1, k)) <= set(entered.tolist())
    assert (np.diff(kept.score) <= 0).all()
    assert (scores[kept.born] == kept.score).all()
