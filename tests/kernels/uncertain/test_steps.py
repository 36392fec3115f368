"""Which step is next, what the answer is, and whether it is reported."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.common.output import new_report, written
from crestline.kernels.uncertain.steps import (
    EMPTY_FROM,
    NUMBERS,
    OVERFULL,
    SHOWN,
    STALE,
    STEP,
    Shown,
    add_answer,
    add_due,
    answer,
    compact_size,
    depth,
    next_step,
    take_step,
)
from kernels.uncertain.windows import query_of, records_of

NOBODY = Shown(np.empty(0, np.int64), np.empty((NUMBERS, 0)))


def meta_of(step: int, empty_from: int) -> np.ndarray:
    meta = np.zeros(12, np.int64)
    meta[STEP], meta[EMPTY_FROM] = step, empty_from
    return meta


def test_the_next_step() -> None:
    filled, empty = meta_of(4, 20), meta_of(4, 4)
    assert next_step(query_of(1), 9, 7, filled) == 9
    assert next_step(query_of(1, every_step=True), 9, 7, filled) == 5
    assert next_step(query_of(1, every_step=True), 9, 7, empty) == 9
    changes = query_of(1, every_step=True, only_changes=True)
    assert next_step(changes, 9, 7, filled) == 7
    assert next_step(changes, 6, 7, filled) == 6
    assert next_step(changes, 9, 2, filled) == 5


def test_arrivals_of_one_step() -> None:
    arrivals, steps = records_of([1.0] * 4, leaves=[5, 8, 6, 9]), np.array([3, 3, 3, 4])
    meta = meta_of(0, 1)
    assert take_step(arrivals, steps, 0, 3, meta) == 3
    assert meta[EMPTY_FROM] == 8
    assert take_step(arrivals, steps, 3, 3, meta) == 3


def test_answers_tell_whether_they_changed() -> None:
    records, meta = records_of([5.0, 4.0, 3.0], [0.5, 0.9, 1.0]), meta_of(0, NEVER)
    query = query_of(1)
    found, changed, shown = answer(query, records, 3, NOBODY, meta)
    assert changed
    assert (found, int(meta[SHOWN]), meta[OVERFULL]) == (1, 1, 0)
    assert (shown.ids[0], shown.numbers[:, 0].tolist()) == (0, [5.0, 0.5])
    _, changed, shown = answer(query, records, 3, shown, meta)
    assert not changed
    _, changed, shown = answer(query, records, 0, shown, meta)
    assert changed
    assert meta[SHOWN] == 0


def test_compact_sets_are_counted() -> None:
    records = records_of([3.0, 2.0, 1.0], [1.0, 0.5, 0.5])
    assert depth(query_of(1), records, 0, 3) == 1
    assert depth(query_of(3), records, 1, 2) == -1
    assert compact_size(query_of(3), records, 1, 2) == 2


def test_what_is_due_is_reported() -> None:
    shown = Shown(np.array([7, 8]), np.array([[2.0, 1.0], [0.5, 0.25]]))
    report, meta = new_report(NUMBERS, 0, 0), meta_of(3, 5)
    meta[SHOWN] = 2
    report = add_due(query_of(2), 4, False, shown, meta, report)
    report = add_due(query_of(2), 5, True, shown, meta, report)  # the window is empty
    changes = query_of(2, only_changes=True)
    report = add_due(changes, 6, False, shown, meta, report)
    meta[STALE] = 1
    report = add_due(changes, 7, False, shown, meta, report)
    assert meta[STALE] == 0
    report = add_answer(report, 9, 3, shown, 1)
    _, end, count, query, ids, numbers = written(report)
    assert end.tolist() == [4, 7, 9]
    assert (count.tolist(), query.tolist()) == ([2, 2, 1], [0, 0, 3])
    assert ids.tolist() == [7, 8, 7, 8, 7]
    assert numbers.tolist() == [[2.0, 1.0, 2.0, 1.0, 2.0], [0.5, 0.25, 0.5, 0.25, 0.5]]
