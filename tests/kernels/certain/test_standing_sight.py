"""Which standing queries see a record, and whose answers are written, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.certain.scoring import DISTANCE, LARGE
from crestline.kernels.certain.standing_cells import chain, link, raise_threshold
from crestline.kernels.certain.standing_report import mark, report_marked, room_for_one
from crestline.kernels.certain.standing_sight import is_tame, look, position, sees
from crestline.kernels.certain.standing_table import (
    ACTIVE,
    BAND,
    BAND_FULL,
    BAND_LIMIT,
    COLUMNS,
    FILTER,
    FILTER_FULL,
    FINISHED,
    HIDDEN,
    KIND,
    MARKED,
    MORE,
    NUMBER,
    PLAIN,
    ROOM,
    SAW,
    SINCE,
    SIZE,
    SKIPPED,
    START,
    TIMED,
    VALUES,
    Buffer,
    Chains,
    K,
    Queries,
)
from crestline.kernels.common.output import new_report, written

NONE = -1


def queries_at(points: list[list[float]]) -> Queries:
    """Queries by distance from these points."""
    table = np.zeros((len(points), COLUMNS), np.int64)
    table[:, ACTIVE], table[:, KIND], table[:, K] = 1, DISTANCE, 2
    table[:, HIDDEN] = table[:, SAW] = NONE
    return Queries(
        table, np.zeros((len(points), VALUES)), np.array(points), np.ones((len(points), 2))
    )


def buffer_of(points: list[list[float]]) -> Buffer:
    count = len(points)
    numbers = np.arange(count)
    return Buffer(np.array(points), numbers, numbers % 3, numbers)


def test_a_query_far_out_is_not_tame() -> None:
    queries = queries_at([[0.0, 1.0], [0.0, 2 * LARGE]])
    assert [is_tame(queries, q) for q in (0, 1)] == [True, False]


def test_a_query_notes_what_it_sees() -> None:
    queries = queries_at([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    queries.table[1, SINCE] = 9  # it was added later
    points = np.array([[0.0, 3.0], [np.nan, 3.0]])
    for row, number in ((0, 4), (1, 5), (1, 5)):  # twice makes no difference
        look(queries, points, row, number, number, np.empty(2))
    assert queries.table[:, SAW].tolist() == [4, NONE, 4]
    assert queries.table[:, HIDDEN].tolist() == [5, NONE, 5]
    assert queries.table[:, SKIPPED].tolist() == [1, 0, 1]


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_positions_leave_out_what_is_not_seen(hidden: list[bool]) -> None:
    queries = queries_at([[0.0, 0.0]])
    points = [[np.nan if each else 1.0, 0.0] for each in hidden]
    buffer, terms = buffer_of(points), np.empty(2)
    for number in range(len(points)):
        look(queries, buffer.point, number, number, number, terms)
    seen = [number for number, each in enumerate(hidden) if not each]
    for place, record in enumerate(seen):
        assert position(queries, buffer, 0, record, len(points), terms) == place


def test_a_record_brings_a_report_to_those_that_see_it() -> None:
    table, cursor = np.zeros((2, COLUMNS), np.int64), np.zeros(3, np.int64)
    table[:, SAW], table[1, TIMED], cursor[PLAIN] = (6, 4), 1, 3
    assert [sees(table, cursor, 0, number, 0, False) for number in (3, 6, 7)] == [True, True, False]
    # On time a record since the moment counts, once that is over.
    assert [sees(table, cursor, 1, 7, since, True) for since in (3, 4, 5)] == [True, True, False]
    assert not sees(table, cursor, 1, 7, 3, False)


def test_answers_that_have_changed_are_written_once() -> None:
    queries, marks, cursor = queries_at([[0.0, 0.0]] * 3), np.zeros(4, np.int64), np.zeros(3, int)
    table = queries.table
    table[:, BAND + START], table[:, BAND + SIZE], table[:, BAND + ROOM] = (0, 3, 6), (3, 1, 0), 3
    table[:, SAW], table[:, SKIPPED], cursor[PLAIN] = (8, 8, NONE), (2, 0, 0), NONE
    scores, ints = np.arange(9.0)[::-1].copy(), np.zeros((3, 9), np.int64)
    ints[NUMBER] = np.arange(10, 19)
    for q in (1, 0, 0, 2):
        mark(table, marks, q)
    assert marks.tolist() == [3, 1, 0, 2]
    report = new_report(1, 4, 9)
    report_marked(table, scores, ints, marks, cursor, 8, 80, 8, True, report)
    partition, end, length, _, records, numbers = written(report)
    assert (partition.tolist(), end.tolist(), length.tolist()) == ([1, 0], [9, 7], [1, 2])
    assert records.tolist() == [13, 10, 11] and numbers[0].tolist() == [5.0, 8.0, 7.0]
    assert marks[:2].tolist() == [1, 2], "the query that does not see the record waits"
    assert table[:, MARKED].tolist() == [0, 0, 1]


def test_the_list_that_is_full_is_named() -> None:
    table = np.zeros((3, COLUMNS), np.int64)
    table[:, BAND + ROOM], table[:, FILTER + ROOM] = 2, 2
    table[1, FILTER + SIZE] = 2
    meets = np.array([0, 1, 2])
    assert room_for_one(table, meets, 3, False) == (FINISHED, 0)
    assert room_for_one(table, meets, 3, True) == (FILTER_FULL, 1)
    assert room_for_one(table, meets, 1, True) == (FINISHED, 0), "only those that are met count"
    table[2, BAND + SIZE] = 2
    assert room_for_one(table, meets, 3, True) == (BAND_FULL, 2)


@given(st.integers(1, 20), st.integers(0, 19))
def test_chains_hold_the_records_of_their_cells(count: int, first: int) -> None:
    points = [[float(number % 5), float(-number)] for number in range(count)]
    buffer, first = buffer_of(points), min(first, count - 1)
    extent = np.array([[np.inf, np.inf], [-np.inf, -np.inf]])
    chains = Chains(np.full(3, LONG_AGO), np.full(count, LONG_AGO), extent)
    link(buffer, chains, first, count - 1)
    chain(buffer, chains, count - 1)
    for cell in range(3):
        listed, record = [], int(chains.newest[cell])
        while record >= first:
            listed.append(record)
            record = int(chains.older[record])
        assert listed == [n for n in range(count - 1, first - 1, -1) if n % 3 == cell]
    held = np.array(points[first:])
    assert chains.extent.tolist() == [held.min(axis=0).tolist(), held.max(axis=0).tolist()]


def test_a_threshold_that_rises_drops_what_is_below() -> None:
    table, values = np.zeros((1, COLUMNS), np.int64), np.zeros((1, VALUES))
    table[0, BAND + SIZE] = 4
    raise_threshold(table, values, np.array([9.0, 7.0, 5.0, 3.0]), 0, 5.0)
    assert table[0, BAND + SIZE] == 3 and values[0, BAND_LIMIT] == 5.0 and table[0, MORE] == 1
