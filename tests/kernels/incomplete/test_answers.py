"""The answer of a step: ties, certainty, and whether it differs from the latest one."""

from __future__ import annotations

import numpy as np

from crestline.incomplete import Combination
from crestline.incomplete.store import ObjectStore
from crestline.kernels.common.output import new_report
from crestline.kernels.incomplete.answers import NUMBERS, find_answer
from crestline.kernels.incomplete.store import KTH_SCORE, RIVAL, SHOWN, ObjectQuery
from kernels.incomplete.stores import Row, a_query, a_store, arrivals, take_in

SUM = Combination("SUM", 2, 0.0, 9.0)


def stored(query: ObjectQuery, rows: list[Row]) -> ObjectStore:
    """A store with these observations whose last step has not passed."""
    store = a_store(query)
    take_in(store, query, rows, -100)
    return store


def test_ties_go_to_the_later_value_then_to_the_smaller_code() -> None:
    query = a_query(SUM, k=3)
    store = stored(query, [(4, 0, 5.0, 0), (3, 0, 5.0, 1), (2, 0, 5.0, 1), (1, 0, 4.0, 1)])
    differs, answer = find_answer(query, store.arrays, store.answer)
    objects = store.objects["low"][answer.slot[: store.meta[SHOWN]]]
    assert differs
    assert objects.tolist() == [2, 3, 4]
    assert store.thresholds[KTH_SCORE] == 5.0


def test_all_objects_of_the_last_code_are_in_the_answer() -> None:
    query = a_query(SUM, k=1)
    store = a_store(query)
    rows = arrivals([(1, 0, 5.0, 0), (2, 0, 5.0, 0), (3, 0, 5.0, 0)])
    rows = rows._replace(code=np.array([8, 8, 9]))
    store.reserve(3, 2)
    store.run(query, rows, slice(0, 3), -100, 0, new_report(NUMBERS, 0, 0))
    _, answer = find_answer(query, store.arrays, store.answer)
    assert sorted(store.objects["low"][answer.slot[: store.meta[SHOWN]]]) == [1, 2]


def test_certain_is_who_cannot_be_overtaken_by_k_others() -> None:
    query = a_query(SUM, k=1)
    store = stored(query, [(1, 0, 9.0, 0), (1, 1, 9.0, 0), (2, 0, 5.0, 0)])
    _, answer = find_answer(query, store.arrays, store.answer)
    score, upper, certain, latest, rival = answer.numbers[:, 0]
    assert (score, upper, certain, latest, rival) == (18.0, 18.0, 1.0, 0.0, 18.0)
    assert store.thresholds[RIVAL] == 14.0  # object 2 with 9 on the other stream


def test_the_same_answer_does_not_differ() -> None:
    query = a_query(SUM, k=2)
    store = stored(query, [(1, 0, 3.0, 0), (2, 0, 5.0, 0)])
    differs, answer = find_answer(query, store.arrays, store.answer)
    again, answer = find_answer(query, store.arrays, answer)
    assert (differs, again) == (True, False)
    store.objects["bound"][answer.slot[0]] += 1
    assert find_answer(query, store.arrays, answer)[0]
