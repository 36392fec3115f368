"""The sample of objects and what an approximate answer misses of it."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.kernels.incomplete.control import in_sample, missed_scores
from kernels.incomplete.stores import a_query, a_store, take_in


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    low = np.arange(4_000)
    samples = [in_sample(np.zeros_like(low), low, level) for level in range(4)]
    assert samples[0].all()
    for level in range(1, 4):
        assert not (samples[level] & ~samples[level - 1]).any()
        assert 0.8 < samples[level].mean() * 2**level < 1.2


def test_objects_are_missed_that_are_not_stored_with_their_score() -> None:
    query = a_query(Combination("SUM", 2, 0.0, 9.0), k=2)
    rows = [(1, 0, 5.0, 0), (2, 0, 6.0, 0), (2, 1, 2.0, 1), (3, 0, 1.0, 1)]
    exact, stored = a_store(query), a_store(query)
    take_in(exact, query, rows, 2)
    take_in(stored, query, rows[:2], 2)  # without the second value of object 2, and without 3
    missed = missed_scores(stored.objects, stored.table, exact.heaps, 0.0)
    assert sorted(missed.tolist()) == [1.0, 8.0]
    assert missed_scores(stored.objects, stored.table, exact.heaps, 7.0).tolist() == [8.0]
