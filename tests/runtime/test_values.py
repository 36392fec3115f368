"""Scores, partitions and selected columns of every type, and values that are easily confused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import SourceError
from local.engines import (
    ask,
    column,
    rejects_of,
    rows_of,
)


def test_large_integers_that_differ_by_one() -> None:
    base = 2**62
    table = pa.table({"id": list("abcd"), "val": [base, base + 1, base - 1, base + 2]})
    query = "SELECT TOP 4 id FROM s [ROWS 4 SLIDE 4] ORDER BY val {}"
    assert column(query.format("DESC"), table, "id") == list("dbac")
    assert column(query.format("ASC"), table, "id") == list("cabd")


def test_decimals_wider_than_any_machine_number() -> None:
    scores = [Decimal(10) ** 30, Decimal(10) ** 30 + 1, -(Decimal(10) ** 30)]
    table = pa.table({"id": list("abc"), "val": pa.array(scores, pa.decimal128(38, 0))})
    query = "SELECT TOP 3 id FROM s [ROWS 3 SLIDE 3] ORDER BY val DESC"
    assert column(query, table, "id") == ["b", "a", "c"]


def test_a_boolean_score_is_refused_or_counts_as_a_number() -> None:
    table = pa.table({"id": [1, 2], "val": [False, True]})
    try:
        assert column("SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] ORDER BY val DESC", table, "id") == [
            2
        ]
    except SourceError as error:
        assert "val" in str(error)


@pytest.mark.parametrize(
    "values", [["a", "b"], [[1], [2]], [{"x": 1}, {"x": 2}], [b"a", b"b"]], ids=repr
)
def test_scores_that_are_no_numbers_name_the_column(values: list[Any]) -> None:
    table = pa.table({"id": [1, 2], "val": pa.array(values)})
    with pytest.raises(SourceError, match="val"):
        ask("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY val DESC", table)


def test_a_score_that_divides_by_zero() -> None:
    """Spark SQL gives NULL for x / 0, and NULL is a reason to set the record aside."""
    table = pa.table({"id": [1, 2], "a": [1.0, 1.0], "b": [0.0, 2.0]})
    query = "SELECT TOP 2 id FROM s [ROWS 1] ORDER BY a / b DESC"
    results = crestline.run(query, {"s": table}, engine="local")
    assert [row["id"] for row in rows_of(results.to_arrow())] == [2]
    assert [(row, reason) for row, _, reason in rejects_of(results)] == [(0, "score is NULL")]


def test_a_null_column_as_score() -> None:
    table = pa.table({"id": [1, 2], "val": pa.nulls(2)})
    try:
        results = crestline.run(
            "SELECT TOP 1 id FROM s [ROWS 2] ORDER BY val DESC", {"s": table}, engine="local"
        )
    except SourceError as error:
        assert "val" in str(error)
    else:
        assert len(results) == 0
        assert results.rejects.num_rows == 2


def test_partition_values_that_are_easily_confused() -> None:
    """NULL, the empty text, blanks, text that looks like NULL, and neighbours that run together."""
    pairs = [
        (None, "x"),
        ("", "x"),
        (" ", "x"),
        ("NULL", "x"),
        ("a", "bc"),
        ("ab", "c"),
        (None, None),
    ]
    table = pa.table(
        {
            "a": [a for a, _ in pairs] * 2,
            "b": [b for _, b in pairs] * 2,
            "id": list(range(14)),
            "val": [1.0] * 14,
        }
    )
    rows = ask("SELECT TOP 9 id FROM s [ROWS 2 SLIDE 2] PARTITION BY a, b ORDER BY val DESC", table)
    got = {(row["a"], row["b"]): [] for row in rows}  # type: dict[Any, list[int]]
    for row in rows:
        got[(row["a"], row["b"])].append(row["id"])
    assert got == {pair: [n + 7, n] for n, pair in enumerate(pairs)}


def test_partition_by_an_expression() -> None:
    table = pa.table({"id": [1, 2, 3], "price": [5.0, 15.0, 12.0]})
    query = (
        "SELECT TOP 1 id FROM s [ROWS 1] PARTITION BY price > 10 AS dear ORDER BY price DESC"
        " EMIT SNAPSHOTS"
    )
    rows = ask(query, table)
    assert [(row["window_end"], row["dear"], row["id"]) for row in rows] == [
        (1, False, 1), (1, True, 2), (2, True, 3),
    ]  # fmt: skip


ODD_TYPES = [
    pytest.param(pa.array([{"a": 1}, {"a": None}]), id="struct"),
    pytest.param(pa.array([{"a": None}, {"a": None}]), id="struct of NULL"),
    pytest.param(pa.array([[1], []]), id="list"),
    pytest.param(pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())), id="map"),
    pytest.param(pa.array([[("k", None)], []], pa.map_(pa.string(), pa.null())), id="map to NULL"),
    pytest.param(pa.array([b"a", b"\xff"]), id="binary"),
    pytest.param(pa.array([b"a", b"\xff"], pa.binary_view()), id="binary view"),
    pytest.param(pa.array(["a", "b"], pa.string_view()), id="text view"),
    pytest.param(pa.array([["a"], ["b"]], pa.list_(pa.string_view())), id="list of views"),
    pytest.param(pa.array([1.5, 2.5], pa.float16()), id="half"),
    pytest.param(pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal32(5, 2)), id="decimal32"),
    pytest.param(pa.array([Decimal(100), Decimal(300)], pa.decimal128(5, -2)), id="hundreds"),
    pytest.param(pa.array([5, 7], pa.time32("s")), id="time"),
    pytest.param(pa.array([5, 7], pa.duration("ns")), id="duration"),
    pytest.param(pa.array([(1, 2, 3), (3, 2, 1)], pa.month_day_nano_interval()), id="interval"),
    pytest.param(pa.array([5, 7]).dictionary_encode(), id="dictionary of numbers"),
    pytest.param(pa.RunEndEncodedArray.from_arrays([1, 2], pa.array([5, 7])), id="runs"),
    pytest.param(pa.nulls(2), id="NULL"),
]


@pytest.mark.parametrize("odd", ODD_TYPES)
def test_columns_of_every_type_can_be_selected_and_break_ties(odd: pa.Array) -> None:
    table = pa.table({"odd": odd, "val": [1.0, 1.0]})
    for rest in ("ORDER BY val", "ORDER BY val, odd", "ORDER BY val KEY (odd)"):
        query = f"SELECT TOP 2 odd FROM s [ROWS 2 SLIDE 2] {rest}"
        assert len(column(query, table, "odd")) == 2
    query = "SELECT TOP 1 odd FROM s [ROWS 1] ORDER BY val + 1"
    results = crestline.run(query, {"s": table}, engine="local").to_arrow()
    assert results.column("odd").to_pylist() == odd.to_pylist()


@pytest.mark.parametrize("odd", ODD_TYPES)
def test_partitions_of_every_type_or_a_refusal(odd: pa.Array) -> None:
    table = pa.table({"odd": odd, "val": [1.0, 2.0]})
    query = "SELECT TOP 1 val FROM s [ROWS 1] PARTITION BY odd ORDER BY val"
    if pa.types.is_nested(odd.type) and not pa.types.is_run_end_encoded(odd.type):
        with pytest.raises(SourceError, match="odd is of type .* PARTITION BY a number"):
            ask(query, table)
    else:
        assert len(ask(query, table)) == 2


@pytest.mark.parametrize("second", [9.75, 2**63, "x", True, [1], {"a": 1}, b"a"], ids=repr)
def test_files_of_a_folder_that_differ_in_a_type(second: Any, tmp_path: Path) -> None:
    """Whatever a column is used for, a file of another type is counted or set aside."""
    pq.write_table(pa.table({"id": [1], "val": [1]}), tmp_path / "a.parquet")
    values = pa.array([second], pa.uint64() if second == 2**63 else None)
    pq.write_table(pa.table({"id": [2], "val": values}), tmp_path / "b.parquet")
    counts = isinstance(second, float | int) and second is not True
    for query in (
        "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1] ORDER BY val DESC",
        "SELECT TOP 2 val FROM s [ROWS 2 SLIDE 1] ORDER BY id DESC",
        "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1] PARTITION BY val ORDER BY id DESC",
        "SELECT TOP 2 id FROM s [ROWS 2 SLIDE 1] WHERE val > 0 ORDER BY val * 2 DESC",
    ):
        results = crestline.run(query, {"s": str(tmp_path)}, engine="local")
        assert sum(results.metrics.rejected.values()) == (not counts)
        assert results.rejects.column("row").to_pylist() == [1][: not counts]


def test_a_condition_is_true_or_false() -> None:
    table = pa.table({"val": [1.0, 2.0], "txt": ["a", "b"]})
    query = "SELECT TOP 1 val FROM s [ROWS 1] WHERE {} ORDER BY val"
    assert ask(query.format("NULL"), table) == []
    for condition in ("val", "txt", "val + 1", "upper(txt)"):
        with pytest.raises(SourceError, match="a condition is needed"):
            ask(query.format(condition), table)
