"""Bad records: set aside with row, column and reason, counted, or an error in strict mode."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

import crestline
from crestline.core.errors import RecordError
from crestline.testing import Spec, admit
from local.engines import (
    assert_judged,
    examples,
    moment,
    rejects_of,
    rows_of,
    run,
    run_heeding,
)
from strategies import Case, cases

QUERY = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY val DESC"
SECOND = 1_000_000


def table(ids: str, seconds: list[int | None], scores: list[float | None]) -> pa.Table:
    times = [None if s is None else s * SECOND for s in seconds]
    return pa.table(
        {
            "id": list(ids),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "val": pa.array(scores, pa.float64()),
        }
    )


def test_each_reason_with_its_row_and_column() -> None:
    data = table("abcde", [1, 2, None, 3, 0], [1.0, None, 1.0, math.nan, 5.0])
    results, _ = run_heeding(f"{QUERY} LATENESS 0 SECONDS", data)
    assert rejects_of(results) == [
        (1, "val", "score is NULL"),
        (2, "ts", "event time is NULL"),
        (3, "val", "score is NaN"),
        (4, "ts", "late"),
    ]
    assert [row["id"] for row in rows_of(results.to_arrow())] == ["a"]
    assert set(results.rejects.column("stream").to_pylist()) == {"s"}
    assert results.metrics.rows_in == 5
    assert results.metrics.rejected["score is NULL"] == 1
    assert results.metrics.rejected["event time is NULL"] == 1
    assert results.metrics.rejected["score is NaN"] == 1


def test_the_rejects_have_their_columns_when_there_are_none() -> None:
    results = crestline.run(QUERY, {"s": table("a", [1], [1.0])}, engine="local")
    schema = results.rejects.schema
    assert results.rejects.num_rows == 0
    assert schema.names == ["stream", "row", "column", "reason", "value"]
    assert schema.types == [pa.string(), pa.int64(), pa.string(), pa.string(), pa.string()]


def test_a_bad_record_takes_no_position_in_rows() -> None:
    data = [{"id": i, "val": v} for i, v in zip("abcd", (1.0, None, 2.0, math.nan), strict=True)]
    results = run(Spec(2, "rows", 2, 2), data)
    assert [(r["window_end"], r["id"]) for r in rows_of(results.to_arrow())] == [(2, "c"), (2, "a")]
    assert [row for row, _, _ in rejects_of(results)] == [1, 3]


def test_nulls_elsewhere_are_no_fault() -> None:
    data = [{"id": None, "ts": moment(1), "val": 1, "grp": None, "more": None}]
    query = QUERY.replace("ORDER BY val DESC", "PARTITION BY grp ORDER BY val DESC, more ASC")
    results = crestline.run(query, {"s": data}, engine="local")
    assert len(results) == 1
    assert results.rejects.num_rows == 0


def test_a_record_that_the_condition_excludes_is_never_bad() -> None:
    data = table("abc", [1, 2, None], [None, 1.0, 2.0])
    query = QUERY.replace("ORDER", "WHERE id = 'b' ORDER")
    results = crestline.run(query, {"s": data}, engine="local")
    assert results.rejects.num_rows == 0
    assert len(results) == 1


def test_a_condition_that_is_null_excludes() -> None:
    data = table("ab", [1, 2], [1.0, 2.0]).append_column("num", pa.array([None, 1]))
    query = QUERY.replace("ORDER", "WHERE num > 0 ORDER")
    assert [r["id"] for r in rows_of(crestline.run(query, {"s": data}).to_arrow())] == ["b"]


@pytest.mark.parametrize(
    ("seconds", "scores", "row", "column", "reason"),
    [
        ([1, 2, 3], [1.0, None, None], 1, "val", "score is NULL"),
        ([1, 2, 3], [1.0, 1.0, math.nan], 2, "val", "score is NaN"),
        ([None, 2, 3], [1.0, 1.0, 1.0], 0, "ts", "event time is NULL"),
    ],
)
def test_strict_names_the_first_one(
    seconds: list[Any], scores: list[Any], row: int, column: str, reason: str
) -> None:
    data = table("abc", seconds, scores)
    with pytest.raises(RecordError) as caught:
        crestline.run(QUERY, {"s": data}, engine="local", strict=True)
    error = caught.value
    assert (error.stream, error.row, error.column, error.reason) == ("s", row, column, reason)
    assert all(word in str(error) for word in ("'s'", str(row), column, reason))


def test_strict_is_content_with_good_records() -> None:
    data = table("ab", [1, 2], [1.0, 2.0])
    assert len(crestline.run(QUERY, {"s": data}, engine="local", strict=True)) == 2


def test_strict_leaves_late_records_to_the_lateness_clause() -> None:
    """LATE DROP was asked for, so a late record is no bad record; it is counted all the same."""
    data = table("abc", [1, 3, 2], [1.0, 1.0, 1.0])
    results, _ = run_heeding(f"{QUERY} LATENESS 0 SECONDS", data, strict=True)
    assert rejects_of(results) == [(2, "ts", "late")]


def test_a_strict_session_names_the_row_of_the_stream_and_not_of_the_batch() -> None:
    session = crestline.open(QUERY, engine="local", strict=True)
    session.push(table("ab", [1, 2], [1.0, 2.0]))
    with pytest.raises(RecordError) as caught:
        session.push(table("cd", [3, 4], [1.0, None]))
    assert caught.value.row == 3


def test_text_in_csv_where_a_number_or_a_time_belongs(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(
        "id,ts,val\n"
        "a,2024-01-01T00:00:01Z,1\n"
        "b,2024-01-01T00:00:02Z,abc\n"
        "c,yesterday,3\n"
        "d,2024-01-01T00:00:03Z,\n"
        "e,2024-01-01T00:00:04Z,2.5\n"
    )
    results = crestline.run(QUERY, {"s": path}, engine="local")
    assert [row["id"] for row in rows_of(results.to_arrow())] == ["e", "a"]
    assert rejects_of(results) == [
        (1, "val", "not a number"),
        (2, "ts", "not a timestamp"),
        (3, "val", "score is NULL"),
    ]
    values = {r["row"]: r["value"] for r in results.rejects.to_pylist()}
    assert (values[1], values[2]) == ("abc", "yesterday")


def test_text_in_json_lines_where_a_number_belongs(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    records: list[dict[str, Any]] = [
        {"id": "a", "ts": "2024-01-01T00:00:01Z", "val": 1},
        {"id": "b", "ts": "2024-01-01T00:00:02Z", "val": "abc"},
        {"id": "c", "ts": "2024-01-01T00:00:03Z"},
        {"id": "d", "ts": "2024-01-01T00:00:04Z", "val": 2.5},
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    results = crestline.run(QUERY, {"s": path}, engine="local")
    assert [row["id"] for row in rows_of(results.to_arrow())] == ["d", "a"]
    assert rejects_of(results) == [(1, "val", "not a number"), (2, "val", "score is NULL")]


def test_a_late_fault_in_a_long_csv_is_still_found(tmp_path: Path) -> None:
    """Further down than any sample that a reader takes to guess the types."""
    path = tmp_path / "s.csv"
    lines = [f"{n},2024-01-01T00:00:01Z,{n % 100}" for n in range(60_000)]
    lines[55_000] = "55000,2024-01-01T00:00:01Z,oops"
    path.write_text("id,ts,val\n" + "\n".join(lines) + "\n")
    results = crestline.run(QUERY, {"s": path}, engine="local")
    assert rejects_of(results) == [(55_000, "val", "not a number")]
    assert [row["score"] for row in rows_of(results.to_arrow())] == [99.0, 99.0]


def test_all_records_bad_is_an_empty_result() -> None:
    results = crestline.run(QUERY, {"s": table("ab", [1, 2], [None, math.nan])}, engine="local")
    assert len(results) == 0
    assert results.metrics.rows_in == 2
    assert results.rejects.num_rows == 2


@examples(60)
@given(cases(where=None, where_sql=None))
def test_nothing_disappears_without_being_counted(case: Case) -> None:
    results = run(case.spec, case.table)
    accepted = len(admit(case.spec, case.records).accepted)
    assert results.metrics.rows_in == accepted + results.rejects.num_rows
    assert_judged(case)
