"""Arrays that grow, and reports of snapshots, against lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.kernels.common.output import (
    add_head,
    add_snapshot,
    new_report,
    put,
    room_for,
    roomy,
    written,
)


def test_put_copies_a_stretch() -> None:
    target = np.zeros(5, np.int64)
    put(target, 1, np.arange(10), 4, 3)
    assert target.tolist() == [0, 4, 5, 6, 0]


def test_room_is_made_only_where_it_lacks() -> None:
    array = np.arange(4)
    assert room_for(array, 2, 2) is array
    larger = room_for(array, 3, 5)
    assert len(larger) == 8 and larger[:3].tolist() == [0, 1, 2]


@given(st.lists(st.lists(st.integers(0, 99), max_size=7), max_size=40))
def test_a_report_holds_what_was_added(snapshots: list[list[int]]) -> None:
    report = new_report(0, 1, 1)
    for number, records in enumerate(snapshots):
        source = np.array([-1, *records], np.int64)
        report = add_snapshot(report, number % 3, 10 * number, source, 1, len(records))
    result = written(report)
    assert result.partition.tolist() == [i % 3 for i in range(len(snapshots))]
    assert result.end.tolist() == [10 * i for i in range(len(snapshots))]
    assert result.count.tolist() == [len(records) for records in snapshots]
    assert result.records.tolist() == [record for records in snapshots for record in records]
    assert result.numbers.shape == (0, len(result.records))


def test_numbers_stand_beside_their_records_when_a_report_grows() -> None:
    report = new_report(2, 0, 0)
    for number in range(5):
        report = roomy(report, 3)
        first = add_head(report, 0, number, 7, 3)
        for i in range(3):
            report.records[first + i] = number
            report.numbers[0, first + i], report.numbers[1, first + i] = number, i
    result = written(report)
    assert result.query.tolist() == [7] * 5
    assert result.records.tolist() == result.numbers[0].tolist() == np.repeat(range(5), 3).tolist()
    assert result.numbers[1].tolist() == [0, 1, 2] * 5
