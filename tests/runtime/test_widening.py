"""Types that differ from batch to batch: columns widen without loss, or records are set aside."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.runtime.fitting import fit, wider
from local.engines import examples

BEST = "SELECT TOP 9 id, x FROM s [ROWS 9] ORDER BY x DESC"


def last(table: pa.Table) -> list[tuple[Any, float]]:
    """Names and scores of the last window."""
    end = max(table.column("window_end").to_pylist(), default=None)
    rows = [row for row in table.to_pylist() if row["window_end"] == end]
    return [(row["id"], row["score"]) for row in rows]


def pushed(query: str, *batches: Any, **options: Any) -> tuple[crestline.Session, list[Any]]:
    session = crestline.open(query, **options)
    return session, [last(session.push(batch)) for batch in batches][-1]


def reasons(session: crestline.Session) -> list[tuple[int, str, str]]:
    rejects = session.rejects.to_pylist()
    return [(row["row"], row["column"], row["reason"]) for row in rejects]


@pytest.mark.parametrize("strict", [False, True])
def test_a_fraction_after_a_whole_number_is_not_cut(strict: bool) -> None:
    session, rows = pushed(BEST, {"id": 1, "x": 1}, {"id": 2, "x": 9.75}, strict=strict)
    assert rows == [(2, 9.75), (1, 1.0)]
    assert session.log == ["the column x is double from now on, and was int64"]
    session.push({"id": 3, "x": 0.5})
    assert len(session.log) == 1


#: First and second value of a column that is the score, and what the second one counts.
SCORES = [
    (1, 9.75, 9.75),
    (1, Decimal("9.75"), 9.75),
    (Decimal("1.5"), 9.75, 9.75),
    (Decimal("1.5"), Decimal("12345.678"), 12345.678),
    (1, 2**63, float(2**63)),
    (1, 2**70, float(2**70)),
    (2**63, -1, -1.0),
    (1, "9.75", 9.75),
    (1, " 7 ", 7.0),
    ("1", 9.75, 9.75),
    ("1", "1e3", 1000.0),
    (None, 9.75, 9.75),
    (None, "9.75", 9.75),
    (0.5, 3, 3.0),
    (np.int8(1), np.float32(0.5), 0.5),
    (np.uint8(200), np.int8(-3), -3.0),
    (np.uint64(2**64 - 1), np.int64(-3), -3.0),
]


@pytest.mark.parametrize(("first", "second", "counts"), SCORES)
def test_scores_of_changing_types(first: Any, second: Any, counts: float) -> None:
    session, rows = pushed(BEST, {"id": 1, "x": first}, {"id": 2, "x": second})
    assert (2, counts) in rows
    assert reasons(session) == ([(0, "x", "score is NULL")] if first is None else [])


MISFITS = [
    (1, "many", "not a number"),
    (0.5, 2**53 + 1, "does not fit the type of the column, double"),
    (2**53 + 1, 0.5, "does not fit the type of the column, int64"),
    (1, True, "does not fit the type of the column, int64"),
    (1, [1], "does not fit the type of the column, int64"),
    (1, datetime(2024, 1, 1), "does not fit the type of the column, int64"),
]


@pytest.mark.parametrize(("first", "second", "reason"), MISFITS)
def test_a_score_that_does_not_fit_is_set_aside(first: Any, second: Any, reason: str) -> None:
    session, rows = pushed(BEST, {"id": 1, "x": first}, {"id": 2, "x": second})
    assert rows == []
    assert reasons(session) == [(1, "x", reason)]
    assert session.metrics.rejected == {reason: 1}
    assert last(session.push({"id": 3, "x": first})) == [(3, float(first)), (1, float(first))]


def test_strict_refuses_what_does_not_fit() -> None:
    session = crestline.open(BEST, strict=True)
    session.push({"id": 1, "x": 1})
    with pytest.raises(crestline.RecordError, match="row 1, column 'x': not a number"):
        session.push({"id": 2, "x": "many"})
    assert last(session.push({"id": 3, "x": 3})) == [(3, 3.0), (1, 1.0)]


#: Values of a column that is only shown: the second one, and how it is shown (None: set aside).
SHOWN = [
    (1, 2.5, 2.5),
    (1, "2", 2),
    (1, "002", None),
    (1, "two", None),
    (1, True, None),
    ("one", 2, "2"),
    ("one", 2.5, "2.5"),
    (True, 1, None),
    (1, 2**64, Decimal(2**64)),
    (date(2024, 1, 1), datetime(2024, 1, 2, 3, tzinfo=UTC), datetime(2024, 1, 2, 3, tzinfo=UTC)),
    (datetime(2024, 1, 2, 3), date(2024, 1, 1), datetime(2024, 1, 1)),
    ([1], [2.5], None),
    ([1.5], [2], [2.0]),
    (None, "two", "two"),
    (None, [2], [2]),
]


@pytest.mark.parametrize(("first", "second", "shown"), SHOWN)
def test_values_that_are_only_shown(first: Any, second: Any, shown: Any) -> None:
    session = crestline.open("SELECT TOP 2 x FROM s [ROWS 9] ORDER BY y DESC")
    session.push({"x": first, "y": 1})
    rows = session.push({"x": second, "y": 2}).to_pylist()
    if shown is None:
        assert rows == [] and session.metrics.rows_in == 2
        assert [(row, column) for row, column, _ in reasons(session)] == [(1, "x")]
    else:
        assert rows[0]["x"] == shown and reasons(session) == []


def test_a_null_leaves_the_type_open() -> None:
    query = "SELECT TOP 2 id, note FROM s [ROWS 9] ORDER BY price * size DESC"
    session = crestline.open(query)
    session.push({"id": None, "note": None, "price": None, "size": None})
    session.push({"id": 1, "note": None, "price": 2.5, "size": None})
    rows = session.push({"id": 2, "note": "so", "price": 2.5, "size": 2}).to_pylist()
    assert [(row["id"], row["note"], row["score"]) for row in rows] == [(2, "so", 5.0)]
    assert session.log == []  # no type has changed


def test_partitions_widen_and_stay_the_same() -> None:
    query = "SELECT TOP 1 id FROM s [ROWS 9] PARTITION BY p ORDER BY x DESC"
    session = crestline.open(query)
    session.push({"id": 1, "p": 1, "x": 1})
    session.push({"id": 2, "p": 1.5, "x": 2})
    rows = session.push({"id": 3, "p": 1, "x": 3}).to_pylist()
    assert [(row["p"], row["id"], row["window_end"]) for row in rows] == [(1.0, 3, 2)]


def test_objects_of_combine_keep_their_type() -> None:
    """An operator knows them by keys made from their values."""
    query = "SELECT TOP 1 o FROM s [ROWS 9] COMBINE SUM(v) ACROSS r OBJECT o"
    session = crestline.open(query)
    session.push({"o": 7, "r": "a", "v": 1.0})
    rows = session.push([{"o": 7.0, "r": "b", "v": 2.0}, {"o": 7.5, "r": "b", "v": 9.0}])
    assert [(row["o"], row["score"]) for row in rows.to_pylist()] == [(7, 3.0)]
    assert reasons(session) == [(2, "o", "does not fit the type of the column, int64")]


@examples(60)
@given(st.data())
def test_no_value_is_changed(data: st.DataObject) -> None:
    """Of any mixture in any order, what is not set aside counts exactly what it is."""
    numbers = st.one_of(
        st.integers(-3, 3),
        st.integers(-(2**70), 2**70),
        st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**64 - 1]),
        st.floats(allow_nan=False),
        st.decimals(-1000, 1000, allow_nan=False, places=2),
        st.integers(-5, 5).map(str),
        st.floats(-9, 9).map(str),
        st.sampled_from(["x", "", None, True]),
    )
    values = data.draw(st.lists(numbers, min_size=1, max_size=12))
    pieces = data.draw(st.lists(st.integers(1, 4), min_size=1))
    session = crestline.open("SELECT TOP 20 id FROM s [ROWS 20] ORDER BY x DESC, id")
    records = [{"id": n, "x": value} for n, value in enumerate(values)]
    got: list[tuple[Any, float]] = []
    for size in [*pieces, *[5] * len(values)]:
        some, records = records[:size], records[size:]
        got = last(session.push(some)) or got
        if data.draw(st.booleans()):
            session = crestline.open(session.text, state=session.snapshot())
    bad = sum(session.metrics.rejected.values())
    assert len(got) + bad == len(values) == session.metrics.rows_in
    for number, score in got:
        assert score == float(values[number])
    assert [score for _, score in got] == sorted((score for _, score in got), reverse=True)


def write(folder: Path, *columns: pa.Array) -> None:
    for number, column in enumerate(columns):
        ids = range(10 * number, 10 * number + len(column))
        pq.write_table(pa.table({"id": list(ids), "x": column}), folder / f"{number}.parquet")


FOLDERS = [
    (pa.array([1, 2]), pa.array([9.75]), [9.75, 2, 1], []),
    (pa.array([9.75]), pa.array([1, 2**53 + 1]), [9.75, 1], [2]),
    (pa.array([1, -2]), pa.array([2**64 - 1], pa.uint64()), [float(2**64 - 1), 1, -2], []),
    (pa.array([1], pa.int8()), pa.array([300], pa.int32()), [300, 1], []),
    (pa.array([Decimal("1.5")]), pa.array([2]), [2, 1.5], []),
    (pa.array([None]), pa.array([2]), [2], [0]),
    (pa.array([1]), pa.array(["2", "x"]), [2, 1], [2]),
    (pa.array([0.5], pa.float32()), pa.array([0.1]), [0.5, 0.1], []),
]


@pytest.mark.parametrize(("first", "second", "scores", "bad"), FOLDERS)
def test_folders_of_files_whose_types_differ(
    tmp_path: Path, first: pa.Array, second: pa.Array, scores: list[float], bad: list[int]
) -> None:
    write(tmp_path, first, second)
    results = crestline.run(
        "SELECT TOP 9 id FROM s [UNBOUNDED SLIDE 1 ROWS] ORDER BY x DESC", {"s": tmp_path}
    )
    assert [score for _, score in last(results.to_arrow())] == scores
    assert results.rejects.column("row").to_pylist() == bad
    nothing = pa.types.is_null(first.type)
    assert len(results.notes) == (not nothing)  # a column of NULL has no type yet


def test_the_command_says_which_columns_have_widened(tmp_path: Path) -> None:
    write(tmp_path, pa.array([1]), pa.array(["2.5"]), pa.array([0.5]))
    done = subprocess.run(
        [sys.executable, "-m", "crestline.cli", "run", "--engine", "local", "--stream",
         f"s={tmp_path}/*.parquet", "--out", f"{tmp_path}/_out.parquet", BEST],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "the column x is double: files have int64 and string and double" in done.stderr
    assert last(pq.read_table(tmp_path / "_out.parquet")) == [(10, 2.5), (0, 1.0), (20, 0.5)]


def test_batches_whose_types_differ() -> None:
    batches = [pa.table({"id": [1], "x": [1]}), pa.table({"id": [2], "x": [9.75]})]
    results = crestline.run(BEST, {"s": iter(batches)})
    assert last(results.to_arrow()) == [(2, 9.75), (1, 1.0)]


def test_csv_files_whose_types_differ(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,x\n1,1\n2,2\n")
    (tmp_path / "b.csv").write_text("id,x\n3,9.75\n")
    results = crestline.run(BEST, {"s": tmp_path})
    assert last(results.to_arrow()) == [(3, 9.75), (2, 2.0), (1, 1.0)]


TYPES = [
    pa.int8(), pa.int64(), pa.uint8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(5, 2),
    pa.decimal128(38, 10), pa.string(), pa.null(), pa.date32(), pa.timestamp("s"), pa.bool_(),
    pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.time32("s"), pa.duration("ms"), pa.binary(),
    pa.dictionary(pa.int32(), pa.string()), pa.large_string(), pa.list_(pa.int64()),
]  # fmt: skip


@pytest.mark.parametrize("one", TYPES, ids=str)
@pytest.mark.parametrize("other", TYPES, ids=str)
def test_widening_twice_changes_nothing_more(one: pa.DataType, other: pa.DataType) -> None:
    for reading in (False, True):
        both = wider(one, other, reading)
        assert wider(both, one, reading) == wider(both, other, reading) == both


def test_floats_pass_exactly() -> None:
    for value, kind, fits in [
        (0.1, pa.decimal128(3, 1), True),
        (0.15, pa.decimal128(3, 1), False),
        (2.0, pa.int64(), True),
        (float("inf"), pa.int64(), False),
        (float("nan"), pa.decimal128(3, 1), False),
        (1e300, pa.float32(), False),
    ]:
        column, unfit = fit(pa.chunked_array([[value]]), kind)
        assert (unfit is None) == fits, (value, kind)
        assert column.null_count == (not fits)
