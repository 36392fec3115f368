"""Lateness: the watermark, records that are just in time, dropped ones and revisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

import crestline
from crestline.core.errors import CrestlineError
from crestline.testing import Spec, expect
from local.engines import (
    ask,
    assert_judged,
    at,
    examples,
    in_place,
    moment,
    rejects_of,
    rows_of,
    run,
    run_heeding,
)
from strategies import TIMED_KINDS, Case, cases

SECOND = 1_000_000


def seconds(*records: tuple[str, int, float]) -> list[dict[str, Any]]:
    return [{"id": i, "ts": moment(s * SECOND), "val": v} for i, s, v in records]


TEN = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY val DESC"


def told(rows: list[dict[str, Any]]) -> list[str]:
    groups: dict[tuple[Any, ...], str] = {}
    for row in rows:
        cell = (row["window_end"] // SECOND, row.get("revision"))
        groups[cell] = groups.get(cell, "") + row["id"]
    return [
        f"{end}: {ids}" if revision is None else f"{end} r{revision}: {ids}"
        for (end, revision), ids in sorted(groups.items())
    ]


def test_just_in_time_and_just_too_late() -> None:
    #   arrival   a   b   c   d   e     lateness 5
    #   time     12   8  20  15  14
    #   watermark 7   7  15  15  15     d (15) is in time, e (14) is late
    data = seconds(("a", 12, 1), ("b", 8, 1), ("c", 20, 1), ("d", 15, 9), ("e", 14, 99))
    results, warned = run_heeding(f"{TEN} LATENESS 5 SECONDS", data)
    assert told(rows_of(results.to_arrow())) == ["10: b", "20: da", "30: c"]
    assert rejects_of(results) == [(4, "ts", "late")]
    assert results.metrics.rows_late == 1
    assert results.metrics.lateness_needed == 6 * SECOND
    assert warned == [
        "1 of 5 records (20%) came late and were dropped: LATENESS 6 SECONDS would have counted"
        " them all."
    ]


def test_without_the_clause_nothing_is_late_in_a_bounded_run() -> None:
    data = seconds(("a", 5, 1), ("b", 100, 2), ("c", 4, 3))
    results = crestline.run(TEN, {"s": data}, engine="local")
    assert told(rows_of(results.to_arrow())) == ["10: ca", "110: b"]
    assert rejects_of(results) == []
    assert results.metrics.rows_late == 0


def test_without_the_clause_a_session_waits_for_nothing() -> None:
    data = seconds(("a", 5, 1), ("b", 5, 2), ("c", 4, 3))
    session = crestline.open(TEN, engine="local")
    got = rows_of(session.push(data)) + rows_of(session.finish())
    assert told(got) == ["10: ba"]
    assert rejects_of(session) == [(2, "ts", "late")]


def test_lateness_is_judged_by_the_record_and_not_by_the_batch() -> None:
    """The largest time of a batch comes after records that were not late when they came."""
    data = seconds(("a", 5, 1), ("b", 100, 1), ("c", 99, 1))
    query = f"{TEN} LATENESS 0 SECONDS"
    whole, _ = run_heeding(query, data)
    session = crestline.open(query, engine="local")
    got = [row for record in data for row in rows_of(session.push([record]))]
    got += rows_of(session.finish())
    assert rejects_of(whole) == rejects_of(session) == [(2, "ts", "late")]
    assert told(got) == told(rows_of(whole.to_arrow())) == ["10: a", "110: b"]


def test_partitions_have_one_watermark() -> None:
    data = seconds(("a", 5, 1), ("b", 100, 1), ("c", 50, 1))
    for record, partition in zip(data, "xyx", strict=True):
        record["grp"] = partition
    query = TEN.replace("ORDER", "PARTITION BY grp ORDER") + " LATENESS 0 SECONDS"
    results, _ = run_heeding(query, data)
    assert results.to_arrow().column("id").to_pylist() == ["a", "b"]


def test_neither_filtered_nor_bad_records_move_the_watermark() -> None:
    data = seconds(("a", 5, 1), ("skip", 1000, 1), ("b", 6, 2))
    data.insert(1, {"id": "bad", "ts": moment(2000 * SECOND), "val": None})
    query = TEN.replace("ORDER", "WHERE id <> 'skip' ORDER") + " LATENESS 0 SECONDS"
    results = crestline.run(query, {"s": data}, engine="local")
    assert told(rows_of(results.to_arrow())) == ["10: ba"]
    # The row is counted in the stream as it arrived, filtered records included.
    assert rejects_of(results) == [(1, "val", "score is NULL")]


def test_a_dropped_record_does_not_stretch_the_run() -> None:
    """The late record lies before the first event: no window may begin with it."""
    data = seconds(("a", 105, 1), ("late", 5, 9))
    results, _ = run_heeding(f"{TEN} LATENESS 0 SECONDS", data)
    assert told(rows_of(results.to_arrow())) == ["110: a"]


def test_revise_sends_the_changed_snapshot_whole() -> None:
    #   0         10        20        30
    #   |    a c  |b        | d       |       arrival: a b c d
    #        1 9   2          3
    data = seconds(("a", 5, 1), ("b", 11, 2), ("c", 7, 9), ("d", 22, 3))
    results = crestline.run(f"{TEN} LATENESS 0 SECONDS LATE REVISE", {"s": data}, engine="local")
    assert told(rows_of(results.to_arrow())) == ["10 r0: a", "10 r1: ca", "20 r0: b", "30 r0: d"]
    assert results.rejects.num_rows == 0
    assert results.metrics.rows_late == 1


def test_a_session_sends_the_correction_when_the_next_result_is_due() -> None:
    data = seconds(("a", 5, 1), ("b", 11, 2), ("c", 7, 9), ("e", 8, 8), ("d", 22, 3))
    session = crestline.open(f"{TEN} LATENESS 0 SECONDS LATE REVISE", engine="local")
    pushed = [told(rows_of(session.push([record]))) for record in data]
    assert pushed == [[], ["10 r0: a"], [], [], ["10 r1: ce", "20 r0: b"]]
    assert told(rows_of(session.finish())) == ["30 r0: d"]


def test_a_session_sends_open_corrections_at_the_end() -> None:
    data = seconds(("a", 5, 1), ("b", 11, 2), ("c", 7, 9))
    session = crestline.open(f"{TEN} LATENESS 0 SECONDS LATE REVISE", engine="local")
    assert told(rows_of(session.push(data))) == ["10 r0: a"]
    assert told(rows_of(session.finish())) == ["10 r1: ca", "20 r0: b"]


def test_revisions_count_on() -> None:
    #   10 is told at b, corrected at c (with x) and again at the end (with y)
    data = seconds(("a", 5, 1), ("b", 11, 2), ("x", 6, 3), ("c", 21, 1), ("y", 7, 4))
    rows = ask(f"{TEN} LATENESS 0 SECONDS LATE REVISE", data)
    assert told(rows) == ["10 r0: a", "10 r1: xa", "10 r2: yx", "20 r0: b", "30 r0: c"]


def test_a_late_record_that_changes_nothing_sends_nothing() -> None:
    data = seconds(("a", 5, 5), ("b", 6, 4), ("c", 11, 2), ("d", 7, 1))
    rows = ask(f"{TEN} LATENESS 0 SECONDS LATE REVISE", data)
    assert told(rows) == ["10 r0: ab", "20 r0: c"]


def test_revisions_reach_far_back() -> None:
    """A year later: a correction may concern any window ever told."""
    start = at("2023-01-01T00:00:05") // SECOND
    year = 365 * 86_400
    data = seconds(("a", start, 1), ("b", start + year, 1), ("late", start + 1, 2))
    rows = ask(f"{TEN} LATENESS 0 SECONDS LATE REVISE", data)
    assert told(rows) == [
        f"{start + 5} r0: a", f"{start + 5} r1: latea", f"{start + year + 5} r0: b",
    ]  # fmt: skip


@pytest.mark.parametrize("lateness", [None, 0, 1, 4, 100])
def test_any_lateness_equals_the_oracle(lateness: int | None) -> None:
    @examples(30)
    @given(cases(kinds=TIMED_KINDS))
    def holds(case: Case) -> None:
        assert_judged(case.with_spec(lateness=None if lateness is None else lateness * case.unit))

    holds()


@examples(60)
@given(cases(kinds=("range_slide", "range", "unbounded_time"), late="REVISE", select=("id",)))
def test_revisions_equal_the_oracle(case: Case) -> None:
    assert_judged(case)


@examples(30)
@given(cases(kinds=("range_slide",), late="REVISE", select=("id",), bad=False))
def test_revised_snapshots_come_out_no_earlier_than_the_lateness_says(case: Case) -> None:
    """Record by record, a session with LATE REVISE sends exactly what the oracle says is due."""
    session = crestline.open(case.spec.text(), engine="local")
    got: list[dict[str, Any]] = []
    table = case.table
    for number in range(len(case.records)):
        got += rows_of(session.push(table.slice(number, 1)))
        due = expect(case.spec, case.records[: number + 1], finished=False)
        assert in_place(case.spec, got) == due.rows, number


def test_positions_cannot_be_revised() -> None:
    """A late record would shift every position after it: refused, with the reason."""
    query = "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 1 ON ts] ORDER BY val LATENESS 1 s LATE REVISE"
    with pytest.raises(CrestlineError, match="LATE REVISE"):
        ask(query, seconds(("a", 1, 1.0)))


def test_a_window_without_event_time_has_nothing_late() -> None:
    spec = Spec(1, "rows", 2, 1)
    data = [{"id": n, "val": n} for n in (3, 1, 2)]
    assert run(spec, data).metrics.rows_late == 0


def test_records_that_correct_the_past_are_counted_as_kept() -> None:
    seconds = np.arange(0, 400) * 1_000_000
    table = pa.table({"t": pa.array(seconds).cast(pa.timestamp("us")), "x": np.arange(400.0)})
    query = "SELECT TOP 2 x FROM s [RANGE 10 s SLIDE 10 s ON t] ORDER BY x DESC LATENESS 0 s"
    dropping = crestline.run(query, {"s": table}).metrics
    revising = crestline.run(f"{query} LATE REVISE", {"s": table}).metrics
    assert revising.kept == 2 * 40 > dropping.kept
