"""Inputs that are no path go through the same conversion as in one process; others are told."""

from __future__ import annotations

import bz2
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.spark import scans
from crestline.spark.stages.scan import Warm
from local.engines import rejects_of, rows_of

QUERY = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts] ORDER BY x DESC"
RECORDS = [
    {"id": n, "ts": f"2024-05-01T09:00:{n:02}", "x": None if n == 7 else n * 7 % 11}
    for n in range(30)
]
FORMS: dict[str, Callable[[], Any]] = {
    "generator": lambda: iter(RECORDS),
    "columns": lambda: pl.DataFrame(RECORDS).to_dict(as_series=False),
    "LazyFrame": lambda: pl.LazyFrame(RECORDS),
    "DuckDB relation": lambda: duckdb.connect().from_arrow(pa.Table.from_pylist(RECORDS)),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_what_is_in_memory_is_read_as_in_one_process(spark: Any, form: str) -> None:
    wanted = crestline.run(QUERY, RECORDS)
    found = crestline.run(QUERY, FORMS[form](), engine="spark")
    assert rows_of(found.to_arrow()) == rows_of(wanted.to_arrow())
    assert rejects_of(found) == rejects_of(wanted) != []


def test_a_list_of_paths(spark: Any, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.csv" for name in "ba"]
    for number, path in enumerate(paths):
        pyarrow.csv.write_csv(pa.Table.from_pylist(RECORDS[15 * number :][:15]), path)
    wanted = crestline.run(QUERY, RECORDS)
    found = crestline.run(QUERY, paths, engine="spark")
    assert rows_of(found.to_arrow()) == rows_of(wanted.to_arrow())
    assert rejects_of(found) == rejects_of(wanted)


def test_standard_input(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    found = crestline.run(QUERY, "-", engine="spark")
    assert rows_of(found.to_arrow()) == rows_of(crestline.run(QUERY, RECORDS).to_arrow())


def test_files_that_spark_itself_would_not_read(spark: Any, tmp_path: Path) -> None:
    """Columns in the names of folders, other encodings, other compressions."""
    folder = tmp_path / "data" / "region=north"
    folder.mkdir(parents=True)
    pyarrow.csv.write_csv(pa.Table.from_pylist(RECORDS), folder / "s.csv")
    packed = tmp_path / "s.csv.bz2"
    packed.write_bytes(bz2.compress((folder / "s.csv").read_bytes()))
    foreign = tmp_path / "latin.csv"
    named = [record | {"id": f"\xe9{record['id']}"} for record in RECORDS]
    text = "id,ts,x\n" + "".join(f"{r['id']},{r['ts']},{r['x'] or ''}\n" for r in named)
    foreign.write_bytes(text.encode("latin-1"))
    by_region = QUERY.replace(" ORDER", " PARTITION BY region ORDER")
    for query, path, encoding in (
        (by_region, tmp_path / "data", None), (QUERY, packed, None), (QUERY, foreign, "latin-1"),
    ):  # fmt: skip
        here, there = (
            crestline.run(query, path, engine=engine, encoding=encoding)
            for engine in ("local", "spark")
        )
        assert rows_of(there.to_arrow()) == rows_of(here.to_arrow()) != []
        assert rejects_of(there) == rejects_of(here) != []


def test_row_groups_that_are_not_read_are_counted(spark: Any, tmp_path: Path) -> None:
    """Numbers of rows and counts are those of one process, which reads all of them."""
    count = 4_000
    times = [datetime(2024, 5, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(count)]
    scores = [None if n % 500 == 7 else float(n * 7 % 101) for n in range(count)]
    table = pa.table({"id": range(count), "ts": times, "x": scores})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=100)
    query = (
        "SELECT TOP 2 id FROM s [RANGE 1 MINUTE SLIDE 30 SECONDS ON ts]"
        " WHERE id >= 1000 AND id < 3500 ORDER BY x DESC"
    )
    here, there = (crestline.run(query, tmp_path, engine=e) for e in ("local", "spark"))
    assert there.to_arrow().equals(here.to_arrow())
    assert rejects_of(there) == rejects_of(here)
    assert len(rejects_of(here)) == 5
    assert there.metrics.rows_in == here.metrics.rows_in == count
    assert there.metrics.rows_filtered == here.metrics.rows_filtered == 1_500


def test_kernels_are_compiled_before_the_records_come(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in a session for each family, and not for a few records."""
    families: list[tuple[str, ...]] = []

    def warmed(made: tuple[str, ...]) -> Warm:
        families.append(made)
        return Warm(made)

    monkeypatch.setattr(scans, "Warm", warmed)
    monkeypatch.setattr(scans, "_warmed", set())
    crestline.run(QUERY, RECORDS, engine="spark")
    assert families == []
    monkeypatch.setattr(scans, "_MANY_BYTES", 1)
    for _ in range(2):
        crestline.run(QUERY, RECORDS, engine="spark")
    assert families == [("steps",)]
