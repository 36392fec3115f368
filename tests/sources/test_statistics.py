"""Row groups that WHERE leaves out by their statistics hold no record that passes."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.language import Expression
from crestline.runtime.columns import usable
from crestline.runtime.sql import Evaluator
from crestline.sources import source
from crestline.sources.statistics import left_out

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
#: Columns by type: their values, and constants to compare them with.
KINDS: dict[str, tuple[pa.DataType, list[Any], list[str]]] = {
    "int": (pa.int64(), [0, 1, 2, 5, -(2**63), 2**63 - 1, None], ["1", "-3", "2.5", "9e18"]),
    "small": (pa.int8(), [0, 1, 2, 5, -128, 127, None], ["1", "-3", "2.5", "300"]),
    "double": (
        pa.float64(), [0.0, -0.0, 1.5, math.inf, -math.inf, math.nan, None],
        ["0", "1.5", "-1", "1e300"],
    ),
    "float": (pa.float32(), [0.0, -0.0, 1.5, 0.1, math.inf, math.nan, None], ["0", "0.1", "1.5"]),
    "time": (
        pa.timestamp("us", "UTC"), [BEGIN + timedelta(seconds=s) for s in (0, 1, 7)] + [None],
        ["TIMESTAMP '2024-01-01 00:00:01'", "TIMESTAMP '2023-01-01'", "TIMESTAMP '2025-01-01'"],
    ),
    "day": (
        pa.date32(), [date(2024, 1, 1), date(2024, 2, 1), None],
        ["DATE '2024-01-15'", "TIMESTAMP '2024-01-01 10:00:00'"],
    ),
    "text": (pa.string(), ["a", "b", "ü" * 100, None], ["'a'", "'b'"]),
}  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[pa.Table, str, int]:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=2))
    rows = draw(st.integers(1, 12))
    columns, conditions = {}, []
    for number, kind in enumerate(kinds):
        dtype, values, constants = KINDS[kind]
        some = draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))
        columns[f"c{number}"] = pa.array(some, dtype)
        operator = draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]))
        constant = draw(st.sampled_from(constants))
        written = [f"c{number} {operator} {constant}", f"{constant} {operator} c{number}"]
        conditions.append(draw(st.sampled_from(written)))
    where = draw(st.sampled_from([" AND ", " OR "])).join(conditions)
    where = draw(st.sampled_from([where, f"({where})", f"NOT ({where})"]))
    return pa.table(columns), where, draw(st.integers(1, 5))


@given(cases())
def test_what_is_left_out_does_not_pass(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[pa.Table, str, int]
) -> None:
    table, where, size = case
    path = tmp_path_factory.mktemp("groups") / "s.parquet"
    pq.write_table(table, path, row_group_size=size)
    parquet = pq.ParquetFile(path)
    condition = Expression(where)
    out = left_out(parquet.metadata, parquet.schema_arrow, condition, "s")
    usables = {n: usable(table.column(n), n, "s") for n in table.column_names}
    passing = Evaluator("s")(pa.table(usables), {"w": condition.to("duckdb")})["w"].to_pylist()
    for group in range(parquet.metadata.num_row_groups):
        if out[group]:
            assert True not in passing[group * size : (group + 1) * size]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("x > 25", [True, True, False, False]), ("x < 10", [False, True, True, True]),
        ("x = 15", [True, False, True, True]), ("25 < x AND x < 35", [True, True, False, False]),
        ("y < 10", [False, True, True, True]), ("y > 25", [False] * 4), ("x + 0 > 25", [False] * 4),
        ("x = 10", [True, False, True, True]), ("x = 19", [True, False, True, True]),
        ("x <= 10", [False, False, True, True]), ("x >= 19", [True, False, False, False]),
        ("x > 25 OR y < 1", [False] * 4), ("x <> 5", [False] * 4),
    ],
)  # fmt: skip
def test_which_groups_are_left_out(tmp_path: Path, where: str, wanted: list[bool]) -> None:
    table = pa.table({"x": pa.array(range(40)), "y": pa.array(map(float, range(40)))})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=10)
    parquet = pq.ParquetFile(tmp_path / "s.parquet")
    found = left_out(parquet.metadata, parquet.schema_arrow, Expression(where), "s")
    assert found.tolist() == wanted


def test_pieces_are_cut_where_row_groups_are_left_out(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array(range(40))})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=10)
    opened = source(str(tmp_path), "s")
    assert opened.pieces is not None
    pieces = opened.pieces(Expression("x >= 10 AND x < 20"))
    assert [(piece.left_out, piece.weight > 0) for piece in pieces] == [
        (10, False), (0, True), (20, False),
    ]  # fmt: skip


def test_files_of_other_types_are_read(tmp_path: Path) -> None:
    """A value that does not fit the type of the stream is rejected, whatever WHERE says of it."""
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [1.5]}), tmp_path / "2.parquet")
    opened = source(str(tmp_path), "s")
    assert opened.pieces is not None
    assert [piece.left_out for piece in opened.pieces(Expression("x > 5"))] == [0, 0]


def test_a_later_file_may_have_more_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [9], "more": ["y"]}), tmp_path / "2.parquet")
    opened = source(str(tmp_path), "s")
    assert opened.pieces is not None
    assert [piece.left_out for piece in opened.pieces(Expression("x > 5"))] == [1, 0]
