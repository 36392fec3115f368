"""Types that differ from file to file, and times that no window can hold: as in one process."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline

pytestmark = pytest.mark.usefixtures("spark")

SCORE = "SELECT TOP 9 id FROM s [UNBOUNDED SLIDE 1 DAY ON ts] ORDER BY x DESC"
#: The column is the score of one query, and only shown by the other.
BOTH = f"""
    CREATE QUERY scored AS {SCORE};
    CREATE QUERY shown AS {SCORE.replace("id FROM", "id, x FROM").replace("BY x", "BY y")}, id
"""

#: Columns of files, in the order of the files.
COLUMNS = {
    "int and double": (pa.array([1, 2, None]), pa.array([9.75, 3.0])),
    "double and large int": (pa.array([9.75]), pa.array([1, 2**53 + 1, 2**63 - 1])),
    "int64 and uint64": (pa.array([1, -2]), pa.array([2**64 - 1], pa.uint64())),
    "small ints": (pa.array([1], pa.int8()), pa.array([300], pa.int32()), pa.array([2])),
    "decimals": (pa.array([Decimal("1.5")]), pa.array([2]), pa.array([Decimal("0.125")])),
    "decimal and double": (pa.array([Decimal("1.10")]), pa.array([2.5])),
    "nothing and double": (pa.array([None], pa.null()), pa.array([2.5])),
    "floats": (pa.array([0.5], pa.float32()), pa.array([0.1])),
}


def written(folder: Path, columns: tuple[pa.Array, ...]) -> Path:
    for number, column in enumerate(columns):
        ids = [10 * number + i for i in range(len(column))]
        moments = pa.array([datetime(2024, 1, 1)] * len(column))
        table = pa.table({"id": ids, "x": column, "y": [1.0] * len(column), "ts": moments})
        pq.write_table(table, folder / f"{number}.parquet")
    return folder


def told(query: str, stream: Any, engine: str) -> tuple[Any, ...]:
    results = crestline.run(query, {"s": stream}, engine=engine)
    rejects = sorted((r["row"], r["column"], r["reason"]) for r in results.rejects.to_pylist())
    rows = results.to_arrow().to_pylist()
    return rows, rejects, dict(results.metrics.rejected), results.notes


@pytest.mark.parametrize("kind", COLUMNS)
def test_files_whose_types_differ(kind: str, tmp_path: Path) -> None:
    folder = written(tmp_path, COLUMNS[kind])
    alone, spark = (told(BOTH, folder, engine) for engine in ("local", "spark"))
    assert spark == alone
    assert len(alone[0]) + len(alone[1]) >= 2 * sum(map(len, COLUMNS[kind]))


def test_batches_whose_types_differ() -> None:
    tables = [
        pa.table({"id": [1], "x": [1], "ts": pa.array([datetime(2024, 1, 1)])}),
        pa.table({"id": [2, 3], "x": [9.75, 0.5], "ts": pa.array([datetime(2024, 1, 1)] * 2)}),
        pa.table({"id": [4], "x": [2], "ts": pa.array([date(2024, 1, 1)])}),
    ]
    alone, spark = (told(SCORE, iter(tables), engine) for engine in ("local", "spark"))
    assert spark[:3] == alone[:3]
    assert [row["score"] for row in spark[0]] == [9.75, 2.0, 1.0, 0.5]


def test_text_among_numbers(tmp_path: Path) -> None:
    folder = written(tmp_path, (pa.array([1]), pa.array(["2", "x"])))
    alone, spark = (told(SCORE, folder, engine) for engine in ("local", "spark"))
    assert spark == alone
    assert [reject[2] for reject in spark[1]] == ["not a number"]


FAR = {
    "us": pa.array([2**63 - 1, 0, (1 << 61) + 1, -(2**62)], pa.timestamp("us", "UTC")),
    "ms": pa.array([2**62, 0, 2**60, -(2**62)], pa.timestamp("ms")),
    "s": pa.array([2**62, 0, 2**50, -(2**62)], pa.timestamp("s", "UTC")),
    "days": pa.array([2**31 - 1, 0, 2**30, -(2**31)], pa.date32()),
}


@pytest.mark.parametrize("unit", FAR)
def test_times_beyond_what_windows_hold(unit: str) -> None:
    table = pa.table({"id": [1, 2, 3, 4], "x": [4, 3, 2, 1], "ts": FAR[unit]})
    alone, spark = (told(SCORE, table, engine) for engine in ("local", "spark"))
    assert spark == alone
    assert spark[2] == {"event time is out of range": 3}


def test_files_with_times_beyond_what_spark_itself_reads(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "x": [4, 3], "ts": FAR["ms"].slice(0, 2)})
    pq.write_table(table, tmp_path / "s.parquet")
    alone, spark = (told(SCORE, tmp_path, engine) for engine in ("local", "spark"))
    assert spark == alone
    assert spark[2] == {"event time is out of range": 1}
