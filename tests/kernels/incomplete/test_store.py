"""The arrays of a partition, as kernels take them."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.kernels.incomplete.heaps import STREAM, WAKE
from crestline.kernels.incomplete.store import META, THRESHOLDS, chosen
from crestline.kernels.jit.signature import key
from kernels.incomplete.stores import Row, a_query, a_store, arrivals, scores_of, take_in

QUERY = a_query(Combination("SUM", 2, 0.0, 9.0))


def test_chosen_rows_are_contiguous() -> None:
    rows = arrivals([(o, 0, float(o), o) for o in range(6)])
    for some in (np.array([4, 1]), slice(0, 6, 3)):
        taken = chosen(rows, some)
        assert taken.id.tolist() == np.arange(6)[some].tolist()
        assert all(column.flags.c_contiguous for column in taken)


def test_arrays_keep_their_types_as_they_grow() -> None:
    store = a_store(QUERY)
    before = key(tuple(store.arrays))
    take_in(store, QUERY, [(o, 0, 1.0, o) for o in range(100)], 100)
    assert key(tuple(store.arrays)) == before
    assert (len(store.meta), len(store.thresholds)) == (META, THRESHOLDS)


def test_a_tight_store_grows_only_where_it_is_full() -> None:
    """Forty values of four objects come at once, again and again."""
    query = a_query(Combination("SUM", 2, 0.0, 9.0, "MAX", 40), width=20)
    roomy, tight = a_store(query), a_store(query, tight=True)
    for time in range(0, 400, 20):
        rows: list[Row] = [(i % 4, i % 2, float(i), time + i // 2) for i in range(40)]
        answers = [scores_of(take_in(store, query, rows, time)[0]) for store in (roomy, tight)]
        assert answers[0] == answers[1]
    assert len(tight.objects) == 9
    assert len(roomy.objects) > 40
    assert 40 <= len(tight.observations) < len(roomy.observations)


def test_trimmed_arrays_hold_what_is_needed_and_little_more() -> None:
    query = QUERY._replace(width=500)
    store = a_store(query, tight=True)
    take_in(store, query, [(o, 0, 1.0, o) for o in range(400)], 400)
    take_in(store, query, [(o, 1, 1.0, 880 + o) for o in range(10)], 890)
    assert store.values == store.live == 20
    before = sorted(store.objects["low"][store.slots()])
    store.trim(24, 24)
    assert len(store.observations) == len(store.objects) == 24 + 24 // 16 + 1
    assert len(store.table) == 52
    assert sorted(store.objects["low"][store.slots()]) == before


def test_there_is_no_room_for_what_an_algorithm_does_not_have() -> None:
    for hides in (False, True):
        store = a_store(QUERY._replace(hides=hides))
        store.reserve(10, 2)
        assert len(store.heaps.slot) == WAKE + hides
        assert store.heaps.lists.size == 0
    listed = a_store(QUERY._replace(listed=True))
    listed.reserve(10, 2)
    assert len(listed.heaps.slot) == len(listed.heaps.size) == STREAM + 2
    assert listed.heaps.lists.shape == (len(listed.objects), 3)
