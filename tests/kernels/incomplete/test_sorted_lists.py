"""Lists and the view of SLA, against sorting all objects."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.incomplete import Combination
from crestline.kernels.incomplete.heaps import SCORE
from crestline.kernels.incomplete.sorted_lists import ranked_by_lists, strike
from crestline.kernels.incomplete.store import FILLS, FLOOR, LISTED_OBJECTS
from kernels.incomplete.stores import Row, a_query, a_store, take_in


def some_rows(count: int, seed: int) -> list[Row]:
    """Each object once on each of two streams, in random order."""
    rng = np.random.default_rng(seed)
    pairs = [(o, x) for o in range(count) for x in range(2)]
    return [(*pairs[i], float(rng.random()), 0) for i in rng.permutation(len(pairs)).tolist()]


@pytest.mark.parametrize("function", ["SUM", "MIN", "MAX"])
def test_the_best_of_the_lists_are_the_best_of_all(function: str) -> None:
    query = a_query(Combination(function, 2, 0.0, 1.0), listed=True, k=5)
    store = a_store(query)
    take_in(store, query, some_rows(400, 6), -100)
    live, left = store.slots(), 400
    while left > 40:
        best = ranked_by_lists(query.rule, store.arrays, query.k)
        order = live[np.argsort(-store.objects["score"][live], kind="stable")]
        assert best.tolist() == order[:5].tolist()
        for slot in best.tolist():  # the view loses its best until it must be filled again
            strike(store.meta, store.heaps, slot)
        live, left = np.setdiff1d(live, best), left - len(best)
        assert store.meta[LISTED_OBJECTS] == left
    assert store.meta[FILLS] > 2
    view = store.heaps.slot[SCORE, : store.heaps.size[SCORE]]
    assert sorted(view) == live[store.objects["score"][live] > store.thresholds[FLOOR]].tolist()


def test_a_view_that_is_too_large_is_cut() -> None:
    query = a_query(Combination("SUM", 2, 0.0, 1.0), listed=True, k=1)
    store = a_store(query)
    take_in(store, query, some_rows(300, 7), -100)
    assert store.heaps.size[SCORE] == 300
    best = ranked_by_lists(query.rule, store.arrays, 1)
    assert store.objects["score"][best[0]] == store.objects["score"][store.slots()].max()
    assert store.heaps.size[SCORE] == 34
