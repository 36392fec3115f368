"""What an approximate answer misses of a sample of objects."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.kernels.incomplete.control import missed_scores
from crestline.kernels.incomplete.sampled import SAMPLED, hashed
from kernels.incomplete.stores import Row, a_query, a_store, take_in


def test_objects_are_missed_that_are_not_stored_with_their_score() -> None:
    query = a_query(Combination("SUM", 2, 0.0, 9.0), k=2)
    rows: list[Row] = [(1, 0, 5.0, 0), (2, 0, 6.0, 0), (2, 1, 2.0, 1), (3, 0, 1.0, 1)]
    stored = a_store(query)
    take_in(stored, query, rows[:2], 2)  # without the second value of object 2, and without 3
    observations = np.zeros(len(rows) + 1, SAMPLED).view(np.recarray)
    objects = np.array([row[0] for row in rows] + [4])
    observations.key = hashed(np.zeros_like(objects), objects)
    observations.stream[:4], observations.value[:4] = zip(*[row[1:3] for row in rows], strict=True)
    observations.leaves = 9
    observations.leaves[4], observations.value[4] = 2, 8.5  # it has left
    missed = missed_scores(query.rule, stored.arrays, observations, 0, 0.0)
    assert sorted(missed.tolist()) == [1.0, 8.0]
    assert missed_scores(query.rule, stored.arrays, observations, 0, 7.0).tolist() == [8.0]
    assert len(missed_scores(query.rule, stored.arrays, observations, 1, 0.0)) == 0
