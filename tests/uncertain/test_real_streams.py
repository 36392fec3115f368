"""Sightings of icebergs: how sure each is depends on the method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import crestline
from crestline.testing import Spec
from local.engines import rows_of
from uncertain.asking import (
    Question,
    Row,
    assert_right,
    windows,
)
from uncertain.cases import DAY, each_algorithm

#: How sure a sighting is, by its method (Jin et al. 2008, section 6).
METHODS = {
    "R/V": 0.8, "VIS": 0.7, "RAD": 0.6, "SAT-LOW": 0.5, "SAT-MED": 0.4, "SAT-HIGH": 0.3, "EST": 0.4,
}  # fmt: skip

CASE = " ".join(f"WHEN method = '{method}' THEN {p}" for method, p in METHODS.items())


@pytest.fixture(scope="module")
def icebergs(shared_data: Path) -> pa.Table:
    """In order of time, numbered. ``share`` divides the probability of a berg among its sightings,
    of which then no more than one is real."""
    path = next(shared_data.glob("iip_icebergs*.parquet"))
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    return con.sql(
        "SELECT row_number() OVER (ORDER BY ts, seq_in_origin) - 1 AS id, ts, latitude, method,"
        f" berg_number, CAST(CASE {CASE} END AS DOUBLE) AS prob,"
        " prob / count(*) OVER (PARTITION BY berg_number) AS share"
        f" FROM read_parquet('{path}') WHERE ice_year = 2021 ORDER BY id"
    ).to_arrow_table()


def sightings(table: pa.Table, *, exclusive: bool = False) -> list[Row]:
    """As records of the judge."""
    micros = table.column("ts").cast(pa.timestamp("us")).cast(pa.int64())
    plain = table.set_column(table.column_names.index("ts"), "ts", micros).to_pylist()
    return [
        {
            "id": r["id"],
            "ts": r["ts"],
            "val": r["latitude"],
            "prob": r["share" if exclusive else "prob"],
            "rule": r["berg_number"] if exclusive else None,
        }
        for r in plain
    ]


_DUE: dict[Any, Any] = {}


def known_windows(question: Question, records: list[Row]) -> Any:
    """The judge's windows, worked out once, whatever is asked and whoever answers."""
    key = (question.spec, question.exclusive)
    if key not in _DUE:
        _DUE[key] = windows(question, records)
    return _DUE[key]


@pytest.mark.data
@each_algorithm
@pytest.mark.parametrize(
    "asked", ["PK_TOPK", "PT_K(0.5)", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF(0.8)"]
)
def test_southernmost_icebergs(icebergs: pa.Table, using: str, asked: str) -> None:
    """Of seven days, every day."""
    query = (
        "SELECT TOP 5 id FROM s [RANGE 7 DAYS SLIDE 1 DAY ON ts]"
        f" WITH PROBABILITY CASE {CASE} END AS {asked} ORDER BY latitude ASC USING {using}"
    )
    spec = Spec(5, "range_slide", 7 * DAY, DAY, "ts", order=(("val", False),), select=("id",))
    question = Question(spec, asked, exclusive=False)
    part = icebergs.slice(2_000, 2_500)
    results = crestline.run(query, {"s": part}, engine="local")
    assert results.rejects.num_rows == 0
    due = known_windows(question, sightings(part))
    assert max(len(window.records) for window in due.values()) > 300
    assert_right(question, rows_of(results.to_arrow()), due, every=31)


@pytest.mark.data
@each_algorithm
def test_the_last_icebergs_at_every_sighting(icebergs: pa.Table, using: str) -> None:
    part = icebergs.slice(0, 400)
    query = (
        "SELECT TOP 10 id FROM s [ROWS 200] WITH PROBABILITY prob ORDER BY latitude ASC"
        f" USING {using}"
    )
    spec = Spec(10, "rows", 200, 1, None, order=(("val", False),), select=("id",))
    question = Question(spec, "PK_TOPK", exclusive=False)
    rows = rows_of(crestline.run(query, {"s": part}, engine="local").to_arrow())
    assert_right(question, rows, known_windows(question, sightings(part)), every=53)


@pytest.mark.data
@each_algorithm
@pytest.mark.parametrize("asked", ["PK_TOPK", "U_TOPK", "EXPECTED_RANK", "PRF(0.8)"])
def test_sightings_of_a_berg_exclude_one_another(
    icebergs: pa.Table, using: str, asked: str
) -> None:
    part = icebergs.slice(2_000, 1_000)
    query = (
        "SELECT TOP 4 id FROM s [ROWS 100 SLIDE 30] WITH PROBABILITY share EXCLUSIVE BY berg_number"
        f" AS {asked} ORDER BY latitude ASC USING {using}"
    )
    spec = Spec(4, "rows", 100, 30, None, order=(("val", False),), select=("id",))
    question = Question(spec, asked)
    results = crestline.run(query, {"s": part}, engine="local", strict=True)
    due = known_windows(question, sightings(part, exclusive=True))
    assert any(window.judge.has_rules for window in due.values())
    assert_right(question, rows_of(results.to_arrow()), due, every=3)
