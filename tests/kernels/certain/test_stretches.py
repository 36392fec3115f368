"""Stretches of steps: what a long batch of small panes reports, against whole windows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.certain import MinTopK, Naive
from crestline.core.batch import Batch
from crestline.core.operator import Operator
from crestline.core.snapshots import Snapshots
from crestline.types import Floats, Ints

SEEDS = st.integers(0, 2**32)
Rows = list[tuple[int, list[int], list[float]]]


def scores_of(rng: np.random.Generator, count: int) -> Floats:
    """Scores that tie, rise, fall, or are infinite now and then."""
    kind = rng.integers(0, 4)
    scores = rng.integers(0, int(rng.choice([3, 50, 10_000])), count).astype(np.float64)
    if kind == 1:
        scores = np.sort(scores)
    elif kind == 2:
        scores = np.sort(scores)[::-1].copy()
    elif kind == 3:
        scores[rng.random(count) < 0.01] = rng.choice([np.inf, -np.inf, 1e300, -1e300])
    return scores


def times_of(rng: np.random.Generator, count: int) -> Ints:
    """Ascending times, with gaps that are far longer than a stretch has records."""
    gaps = rng.integers(0, 3, count)
    gaps[rng.random(count) < 0.01] = int(rng.choice([50, 10**6, 10**12]))
    return np.cumsum(gaps)


def rows(snapshots: Snapshots) -> Rows:
    return [(end, ids.tolist(), scores.tolist()) for _, end, ids, scores in snapshots]


def run(operator: Operator, scores: Floats, times: Ints | None, cuts: Ints) -> Rows:
    found: Rows = []
    for part in np.split(np.arange(len(scores)), cuts):
        if times is None:
            operator.observe(scores[part])
            found += rows(operator.advance())
        elif len(part):
            operator.observe(Batch(scores[part], times[part]))
            found += rows(operator.advance(int(times[part[-1]]) - 1))
        operator._check()
    return found


def changed(found: Rows) -> Rows:
    """Without the snapshots that equal the one before, and without those that become empty."""
    kept = [row for row, last in zip(found, [(0, None, None), *found], strict=False)
            if row[1] != last[1]]  # fmt: skip
    return [row for row in kept if row[1]]


@given(SEEDS)
def test_small_panes_in_long_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, k = int(rng.integers(300, 900)), int(rng.choice([1, 3, 20, 100]))
    slide = int(rng.integers(1, 12))
    window = int(rng.integers(1, 60 * slide))  # shorter than the slide, or no multiple of it
    scores = scores_of(rng, count)
    cuts = np.sort(rng.integers(0, count, int(rng.integers(0, 4))))
    wanted = run(Naive(k, window, slide), scores, None, cuts)
    assert run(MinTopK(k, window, slide), scores, None, cuts) == wanted
    found = run(MinTopK(k, window, slide, only_changes=True), scores, None, cuts)
    assert changed(found) == changed(wanted)


@given(SEEDS)
def test_gaps_longer_than_a_stretch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, k = int(rng.integers(20, 600)), int(rng.choice([1, 3, 20]))
    scores, times = scores_of(rng, count), times_of(rng, count)
    window = int(rng.choice([5, 40, 10**6, 10**13]))
    cuts = np.sort(rng.integers(0, count, int(rng.integers(0, 4))))
    cuts = np.unique(np.searchsorted(times, times[cuts]))  # a batch begins with a new time
    wanted = run(Naive(k, window, None), scores, times, cuts)
    assert run(MinTopK(k, window, None), scores, times, cuts) == wanted
    found = run(MinTopK(k, window, None, only_changes=True), scores, times, cuts)
    assert changed(found) == changed(wanted)
    expiring = run(MinTopK(k, window, 1, only_changes=True), scores, times, cuts)
    ids_at = {end: ids for end, ids, _ in expiring}
    for time, ids, _ in wanted:  # a window on time ends one behind its last arrival
        if time + 1 < times[-1]:
            assert ids_at[max(end for end in ids_at if end <= time + 1)] == ids
