"""Sweeping forgets what k objects dominate, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.incomplete import Combination
from crestline.incomplete.invariants import check_store
from crestline.kernels.incomplete.dominance import sweep
from crestline.kernels.incomplete.expectation import no_expectation
from crestline.kernels.incomplete.store import HEAD, INSTANCES, TAIL
from kernels.incomplete.stores import Row, a_query, a_store, scores_of, take_in

SUM = Combination("SUM", 2, 0.0, 4.0)


def test_dominated_values_are_forgotten() -> None:
    query = a_query(SUM, width=50)
    store = a_store(query)
    # 1 can still reach 7, 2 can reach 4; 3 is certain of 5 and stays longer than both.
    take_in(store, query, [(1, 0, 3.0, 0), (2, 0, 0.0, 1), (3, 0, 2.0, 2), (3, 1, 3.0, 3)], 4)
    sweep(query, store.arrays, no_expectation())
    kept = store.observations[store.meta[HEAD] : store.meta[TAIL]]
    assert kept.value.tolist() == [3.0, 2.0, 3.0]
    assert store.meta[INSTANCES] == 3
    check_store(store, query)


@pytest.mark.parametrize("k", [1, 3])
def test_answers_stay_the_same(k: int) -> None:
    rng = np.random.default_rng(8)
    query = a_query(SUM, width=20, k=k)
    kept, swept = a_store(query), a_store(query, guarded=True)
    fewer = 0
    for time in range(0, 150, 3):
        rows: list[Row] = [
            (int(rng.integers(30)), int(rng.integers(2)), float(rng.integers(5)), time + i)
            for i in range(3)
        ]
        answers = [take_in(store, query, rows, time + 3) for store in (kept, swept)]
        assert scores_of(answers[0][0]) == scores_of(answers[1][0])
        assert answers[0][1] == answers[1][1]
        sweep(query, swept.arrays, no_expectation())
        check_store(swept, query)
        fewer += kept.values - swept.values
    assert fewer > 10
