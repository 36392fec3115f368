"""Objects after their values have changed: heaps, hiding, and everything derived again."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.incomplete.invariants import check_store
from crestline.kernels.incomplete.combine import StreamSums
from crestline.kernels.incomplete.heaps import BOUND, WAKE
from crestline.kernels.incomplete.objects import find
from crestline.kernels.incomplete.refresh import gather, hide, refresh
from kernels.incomplete.stores import a_query, a_store, scores_of, take_in

QUERY = a_query(Combination("SUM", 2, 0.0, 9.0))
ROWS = [(1, 0, 5.0, 0), (2, 0, 3.0, 1), (1, 1, 2.0, 2), (2, 1, 9.0, 3)]


def test_values_are_gathered_while_they_are_in_the_window() -> None:
    store = a_store(QUERY)
    take_in(store, QUERY, ROWS, 0)
    slot = find(store.objects, store.table, 0, 1)
    newest = int(store.objects[slot].newest)
    for step, totals in ((4, [5.0, 2.0]), (5, [0.0, 2.0]), (7, [0.0, 0.0])):
        sums = StreamSums(np.ones(2, np.int64), np.zeros(2))
        values = gather(QUERY.rule, store.meta, store.observations, newest, step, sums)
        assert values == sums.counts.sum() == np.count_nonzero(totals)
        assert np.where(sums.counts > 0, sums.totals, 0).tolist() == totals


def test_a_hidden_object_is_in_no_answer_until_it_wakes() -> None:
    store = a_store(QUERY)
    take_in(store, QUERY, ROWS[:3], 3)
    slot = find(store.objects, store.table, 0, 1)
    hide(store.heaps, slot, 5)
    refresh(QUERY, store.arrays, slot, store.passed, StreamSums(np.zeros(2, np.int64), np.zeros(2)))
    assert store.heaps.size[BOUND] == store.heaps.size[WAKE] == 1
    snapshots, _ = take_in(store, QUERY, [(3, 0, 0.5, 3)], 6)
    # Object 2 leads at steps 4 and 5 ... with its value, until object 1 wakes with 2 at step 5.
    assert scores_of(snapshots) == {4: [3.0], 5: [3.0], 6: [2.0]}


def test_a_restored_store_has_the_same_heaps_and_goes_on_alike() -> None:
    for listed in (False, True):
        query = QUERY._replace(listed=listed)
        store, again = a_store(query), a_store(query)
        take_in(store, query, ROWS[:3], 3)
        again.restore(store.state(), query)
        check_store(again, query)
        assert again.heaps.size.tolist() == store.heaps.size.tolist()
        ends = [scores_of(take_in(each, query, ROWS[3:], 9)[0]) for each in (store, again)]
        assert ends[0] == ends[1] == {4: [12.0], 5: [12.0], 6: [9.0], 7: [9.0]}
