"""Records that no window can report: all others stay, few more do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.certain import MinTopK
from crestline.kernels.certain.thinning import kth_outlasting, thin
from crestline.types import Bools, Floats, Ints


def staying(
    scores: Floats, panes: Ints, k: int, width: int, listed: Floats, listed_panes: Ints
) -> Bools:
    """Which records stay, as a mask; their indices ascend."""
    kept = thin(scores, panes, k, width, listed, listed_panes)
    assert (kept[1:] > kept[:-1]).all()
    stays = np.zeros(len(scores), np.bool_)
    stays[kept] = True
    return stays


def test_the_kth_that_outlasts() -> None:
    scores, panes = np.array([9.0, 7, 5, 3]), np.array([1, 4, 2, 4])
    assert kth_outlasting(scores, panes, 2, 0) == 7
    assert kth_outlasting(scores, panes, 2, 2) == 5
    assert kth_outlasting(scores, panes, 3, 3) == -np.inf


def test_between_better_ones_before_and_after() -> None:
    """A window of 8 panes, k = 1: 6 outlasts the batch, and what 6 and a later one beat goes."""
    stays = staying(np.array([3.0, 5, 7, 4, 1, 2]), np.arange(10, 16), 1, 8, np.array([6.0]), _AT_9)
    assert stays[[2, 5]].all()  # 7 is the best for a while, 2 the last
    assert not stays[0]  # the others are counted by ranges of scores: one more may stay
    scores = np.concatenate((np.zeros(200), np.full(200, 5.0), [7.0, 1.0]))
    stays = staying(scores, np.repeat(10, 402), 1, 8, np.array([6.0]), _AT_9)
    assert not stays[:200].any() and stays[400:].all()
    assert staying(scores, np.repeat(10, 402), 1, 8, np.array([6.0]), np.array([1])).all()


_AT_9 = np.array([9])


@given(st.integers(0, 2**32))
def test_whatever_is_reported_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, width = int(rng.integers(1, 4)), int(rng.integers(2, 40))
    count = int(rng.integers(100, 600))
    scores = rng.integers(0, int(rng.choice([4, 1000])), count).astype(np.float64)
    panes = np.sort(rng.integers(0, int(rng.integers(2, 120)), count))
    earlier = rng.integers(0, 1000, 3 * k).astype(np.float64)
    listed, listed_panes = -np.sort(-earlier), rng.integers(-width, 0, 3 * k)
    stays = staying(scores, panes, k, width, listed, listed_panes)
    every, when = np.concatenate((listed, scores)), np.concatenate((listed_panes, panes))
    assert stays[_reported(every, when, k, width)[3 * k :]].all()


def _reported(scores: np.ndarray, panes: np.ndarray, k: int, width: int) -> Bools:
    """Which records are among the k best of a window, ties with the k-th included."""
    reported = np.zeros(len(scores), np.bool_)
    for end in range(1, int(panes.max()) + width + 1):
        inside = np.flatnonzero((panes < end) & (panes >= end - width))
        if len(inside):
            least = np.sort(scores[inside])[-min(k, len(inside))]
            reported[inside[scores[inside] >= least]] = True
    return reported


def test_a_long_batch_of_small_panes_leaves_little() -> None:
    run = MinTopK(k=10, window=10_000, slide=10)
    scores = np.random.default_rng(1).random(14_000)
    run.observe(scores[:10_000])
    run.advance()
    assert len(run.observe(scores[10_000:])) < 400


def test_the_next_part_of_a_batch_thins_the_one_before() -> None:
    """Two parts of 500, k = 10: of the first stay those that beat what is listed, or are among the
    ten best of their part or of the next; without the next part, those that few later ones beat."""
    scores = np.random.default_rng(1).random(1_000)
    listed, ages = np.full(10, 0.95), np.full(10, -1)
    stays = staying(scores, np.arange(1_000), 10, 1_000, listed, ages)
    alone = staying(scores[:500], np.arange(500), 10, 1_000, listed, ages)
    assert stays[:500].sum() < alone.sum() / 1.5
