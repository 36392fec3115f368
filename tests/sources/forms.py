"""One small stream in every form that a data person may have at hand, and its rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

import crestline
from local.engines import rejects_of, rows_of

TIMED = "SELECT TOP 2 name FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts] ORDER BY val DESC"

COUNTED = "SELECT TOP 2 name, val FROM s [ROWS 5 SLIDE 2] ORDER BY val DESC"

START = datetime(2024, 5, 1, 9, 0, tzinfo=UTC)

COUNT = 40

#: Scores with ties, a NULL and infinities; every other time is out of order.
SCORES = [[1.5, 7.25, 7.25, -3.0, None, 1e300, 0.0, -0.0][n % 8] for n in range(COUNT)]

TIMES = [START + timedelta(seconds=n - (n % 2) * 3) for n in range(COUNT)]

NAMES = [f"n{n}" for n in range(COUNT)]


def table() -> pa.Table:
    times = pa.array(TIMES, pa.timestamp("us", "UTC"))
    return pa.table({"name": NAMES, "ts": times, "val": pa.array(SCORES, pa.float64())})


def dicts(**changed: Callable[[Any], Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table().to_pylist()
    return [{n: changed[n](v) if n in changed else v for n, v in row.items()} for row in rows]


def plain(results: Any) -> tuple[list[Any], list[tuple[int, str, str]]]:
    return rows_of(results.to_arrow()), rejects_of(results)


WANTED = {query: plain(crestline.run(query, {"s": table()})) for query in (TIMED, COUNTED)}


def iso(moment: datetime) -> str:
    return moment.isoformat()


class Point(NamedTuple):
    name: str
    ts: datetime
    val: float | None


@dataclasses.dataclass
class Reading:
    name: str
    ts: datetime
    val: float | None


class Exported:
    """Something of which only the Arrow protocol is known."""

    def __arrow_c_stream__(self, requested: object = None) -> object:
        return table().__arrow_c_stream__(requested)


def pandas_frame() -> pd.DataFrame:
    return table().to_pandas()


def numpy_records() -> np.ndarray[Any, Any]:
    kind = [("name", "S4"), ("ts", "datetime64[ms]"), ("val", ">f8")]
    rows = [(n, t.replace(tzinfo=None), v) for n, t, v in zip(NAMES, TIMES, SCORES, strict=True)]
    return np.array(rows, dtype=kind)


def pieces() -> Iterator[pa.Table]:
    for start in range(0, COUNT, 7):
        yield table().slice(start, 7)


FORMS: dict[str, Callable[[], Any]] = {
    "Polars": lambda: pl.from_arrow(table()),
    "Polars with text times": lambda: pl.DataFrame(dicts(ts=iso)),
    "LazyFrame": lambda: pl.DataFrame(pl.from_arrow(table())).lazy().filter(pl.col("name") != ""),
    "DuckDB relation": lambda: duckdb.connect().from_arrow(table()),
    "pandas with text times": lambda: pd.DataFrame(dicts(ts=iso)),
    "pandas with its times as index": lambda: pandas_frame().set_index("ts"),
    "pandas with names twice": lambda: pd.concat(
        [pandas_frame(), pd.DataFrame(np.zeros((COUNT, 2)), columns=["x", "x"])], axis=1
    ),
    "Arrow with text times": lambda: pa.Table.from_pylist(dicts(ts=iso)),
    "Arrow batch": lambda: table().combine_chunks().to_batches()[0],
    "Arrow dataset": lambda: ds.dataset(table()),
    "Arrow scanner": lambda: ds.dataset(table()).scanner(),
    "Arrow C stream": Exported,
    "columns in lists": lambda: table().to_pydict(),
    "columns in arrays": lambda: {
        "name": np.array(NAMES),
        "ts": np.array([t.replace(tzinfo=None) for t in TIMES], "datetime64[us]"),
        "val": pa.array(SCORES),
    },
    "columns in series": lambda: {
        "name": pl.Series(NAMES), "ts": pd.Series(TIMES), "val": pl.Series(SCORES),
    },
    "generator of dictionaries": lambda: iter(dicts()),
    "dictionaries with NumPy values": lambda: dicts(
        ts=lambda t: np.datetime64(t.replace(tzinfo=None), "s"),
        val=lambda v: None if v is None else np.float64(v),
    ),
    "dictionaries with pandas values": lambda: dicts(
        ts=pd.Timestamp, val=lambda v: pd.NA if v is None else v
    ),
    "generator of text times": lambda: iter(dicts(ts=iso)),
    "generator of named tuples": lambda: (Point(**row) for row in dicts()),
    "list of data classes": lambda: [Reading(**row) for row in dicts()],
    "generator of pandas": lambda: (piece.to_pandas() for piece in pieces()),
    "list of Polars": lambda: [pl.from_arrow(piece) for piece in pieces()],
    "generator of lists of dictionaries": lambda: (piece.to_pylist() for piece in pieces()),
    "generator of columns": lambda: (piece.to_pydict() for piece in pieces()),
    "generator of all kinds": lambda: (
        make(piece)
        for make, piece in zip(
            [pl.from_arrow, pa.Table.to_pandas, pa.Table.to_pylist] * 2, pieces(), strict=True
        )
    ),
}  # fmt: skip
