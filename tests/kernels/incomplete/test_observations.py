"""Observations that come in and leave, step by step, followed by hand.

Object 7 is seen on stream 0 at time 0 and on stream 1 at time 2, object 8 on stream 0 at time 1::

    step      1     2     3     4     5     6     7
    7         5     5   5 + 2 5 + 2   2     2     -
    8               4     4     4     4     -     -
"""

from __future__ import annotations

import pytest

from crestline.incomplete import Combination
from crestline.kernels.incomplete.store import ACTIVE, COUNTED, EMPTY_FROM, GUARDED
from kernels.incomplete.stores import a_query, a_store, scores_of, take_in

SUM = Combination("SUM", 2, 0.0, 9.0)
ROWS = [(7, 0, 5.0, 0), (8, 0, 4.0, 1), (7, 1, 2.0, 2)]


@pytest.mark.parametrize("listed", [False, True])
def test_a_window_on_time(listed: bool) -> None:
    query = a_query(SUM, listed=listed)
    store = a_store(query)
    snapshots, refused = take_in(store, query, ROWS, 9)
    expected = {1: [5.0], 2: [5.0], 3: [7.0], 4: [7.0], 5: [4.0], 6: [2.0]}
    assert scores_of(snapshots) == expected
    assert refused == []
    assert (store.values, store.passed, store.meta[EMPTY_FROM]) == (0, 9, 7)


def test_only_changes_are_told() -> None:
    query = a_query(SUM, only_changes=True)
    snapshots, _ = take_in(a_store(query), query, ROWS, 9)
    # At step 2 the upper bound of object 8 is below that of 7, but 7 is no longer certain.
    assert scores_of(snapshots) == {1: [5.0], 2: [5.0], 3: [7.0], 5: [4.0], 6: [2.0], 7: []}


def test_a_result_at_every_arrival() -> None:
    query = a_query(SUM, on_arrival=True)
    snapshots, _ = take_in(a_store(query), query, ROWS, 9)
    assert scores_of(snapshots) == {0: [5.0], 1: [5.0], 2: [7.0]}


def test_counted_records_pass_steps_by_themselves() -> None:
    query = a_query(SUM, counted=True, width=2, slide=2)
    store = a_store(query)
    snapshots, _ = take_in(store, query, [*ROWS, (9, 0, 1.0, 2)], -100)
    assert scores_of(snapshots) == {1: [5.0], 2: [2.0]}
    assert store.meta[COUNTED] == 4


@pytest.mark.parametrize("guarded", [False, True])
def test_repeats_are_refused_while_the_first_value_is_in_the_window(guarded: bool) -> None:
    query = a_query(SUM)
    store = a_store(query, guarded=guarded)
    _, refused = take_in(store, query, [(7, 0, 5.0, 0), (7, 0, 6.0, 3), (7, 0, 8.0, 4)], 5)
    assert refused == [1]
    assert store.meta[GUARDED] == (2 if guarded else 0)


def test_a_new_stream_counts_for_all_objects() -> None:
    query = a_query(Combination("AVG", None, 0.0, 9.0))
    store = a_store(query)
    snapshots, _ = take_in(store, query, [(7, 0, 6.0, 0), (8, 1, 9.0, 1)], 2)
    assert scores_of(snapshots) == {1: [6.0], 2: [4.5]}
    assert store.meta[ACTIVE] == 0b11
