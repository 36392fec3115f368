"""A board of query texts: each tells what it would tell alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crestline
from crestline.core.errors import CrestlineError, PlanError, SourceError
from hostile import FINITE, spiked

NEAR = "SELECT TOP 2 id FROM s [ROWS {}] ORDER BY DISTANCE((x, y), ({}, {})) ASC EMIT CHANGES"


def stream(rng: np.random.Generator, rows: int, rounded: bool) -> pa.Table:
    x, y = rng.random(rows), rng.random(rows)
    if rounded:
        x, y = np.round(x, 1), np.round(y, 1)  # many ties
    x, y = spiked(rng, x, FINITE), spiked(rng, y, FINITE)
    return pa.table({"id": [f"r{i}" for i in range(rows)], "x": x, "y": y})


def text(rng: np.random.Generator, name: str) -> str:
    a, b, c = spiked(rng, np.round(rng.normal(0.5, 0.5, 3), 2), (5e-324, 1.0, 1e308)).tolist()
    rankings = (
        f"DISTANCE((x, y), ({a}, {b})) ASC",
        f"DISTANCE((y, x), ({a}, {b})) ASC",
        f"WEIGHTED_DISTANCE((x, y), ({a}, {b}), ({abs(c)}, 1)) ASC",
        f"ATTRIBUTE_DISTANCE((x, y), ({a}, {b}), ({abs(c)}, 1)) ASC",
        f"{a} * x - y * {b} DESC",
        f"x + {a} * y ASC",
        "y DESC",
    )
    k, rows = int(rng.integers(1, 5)), int(rng.integers(9, 40))
    shown = ("id", "id, x AS east", "y")[rng.integers(3)]
    ranking = rankings[rng.integers(len(rankings))]
    return (
        f"CREATE QUERY {name} AS SELECT TOP {k} {shown} FROM s [ROWS {rows}]"
        f" ORDER BY {ranking} EMIT CHANGES"
    )


def of(told: pa.Table, name: str, columns: list[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        told.filter(pc.equal(told["query"], name)).select(columns).to_pylist()
    )
    return rows


@settings(max_examples=25)
@given(st.integers(0, 2**32))
def test_each_query_tells_what_it_would_tell_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = stream(rng, 120, bool(rng.integers(2)))
    queries = ["CREATE QUERY both AS " + NEAR.format(30, 0.5, 0.5)]
    queries += [text(rng, f"q{i}") for i in range(4)]
    board = crestline.Board(queries, buffer=int(rng.integers(1, 5)))
    cut = int(rng.integers(1, 119))
    told = [board.push(table.slice(0, cut))]
    board = crestline.Board(state=board.snapshot())
    late = text(rng, "late")
    board.add(late)
    told.append(board.push(table.slice(cut)))
    everything = pa.concat_tables(told, promote_options="permissive")
    for query in queries:
        name = query.split()[2]
        results = crestline.run(query, {"s": table})
        alone = results.to_arrow()
        if results.rejects.num_rows == 0:  # inf - inf: alone, such a record is not counted
            assert of(everything, name, alone.column_names) == alone.to_pylist(), query
    results = crestline.run(late, {"s": table.slice(cut)})
    if results.rejects.num_rows:
        return
    alone = results.to_arrow()
    mine = of(everything, "late", alone.column_names)
    assert [row | {"at": row["at"] - cut} for row in mine] == alone.to_pylist(), late


def test_cosine_by_an_array_column() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(0, 1, (60, 3))
    table = pa.table({"id": range(60), "v": pa.array(vectors.tolist())})
    query = (
        "SELECT TOP 2 id FROM s [ROWS 9] ORDER BY COSINE(v, ARRAY(1.0, 0.5, -2)) {} EMIT CHANGES"
    )
    for direction in ("DESC", "ASC"):
        board = crestline.Board([query.format(direction)], buffer=3)
        told = board.push(table)
        alone = crestline.run(query.format(direction), {"s": table}).to_arrow()
        columns = ["at", "change", "rank", "previous_rank", "id"]
        assert told.select(columns).to_pylist() == alone.select(columns).to_pylist()


def test_neighbours_on_earth() -> None:
    rng = np.random.default_rng(4)
    table = pa.table(
        {"id": range(80), "lat": rng.uniform(-60, 60, 80), "lon": rng.normal(0, 90, 80)}
    )
    query = "SELECT TOP 2 id FROM s [ROWS 9] ORDER BY HAVERSINE(lat, lon, 51.5, -0.1) EMIT CHANGES"
    told = crestline.Board([query], buffer=3).push(table)
    alone = crestline.run(query, {"s": table}).to_arrow()
    columns = ["at", "change", "rank", "previous_rank", "id"]
    assert told.select(columns).to_pylist() == alone.select(columns).to_pylist()
    assert np.allclose(told["score"], alone["score"], rtol=1e-12)


def test_records_without_a_place_are_set_aside_and_counted() -> None:
    board = crestline.Board([NEAR.format(5, 0, 0)], buffer=1)
    told = board.push([{"id": 1, "x": 0.5, "y": 1.0}, {"id": 2, "x": None, "y": 1.0}])
    assert told.column("id").to_pylist() == [1]
    board.push({"id": 3, "x": float("nan"), "y": 0.0})
    assert board.rejects.select(["stream", "row"]).to_pylist() == [
        {"stream": "s", "row": 1}, {"stream": "s", "row": 2},
    ]  # fmt: skip
    assert board.metrics["rows_in"] == 3 and board.metrics["rows_set_aside"] == 2


def test_queries_come_and_go() -> None:
    board = crestline.Board([NEAR.format(50, 0.1, 0.1)], buffer=2)
    table = stream(np.random.default_rng(2), 40, rounded=False)
    board.push(table.slice(0, 20))
    name = board.add(NEAR.format(50, 0.9, 0.9))
    assert board.names == ["query_1", name] and len(board) == 2
    assert name in board.push(table.slice(20)).column("query").to_pylist()
    x, y = (table.column(c).to_numpy()[20:] for c in "xy")
    best = np.argsort(np.hypot(x - 0.9, y - 0.9))[:2] + 20
    assert board.top(name).column("id").to_pylist() == [f"r{i}" for i in best]
    board.remove(name)
    assert board.names == ["query_1"]
    assert set(board.push(table).column("query").to_pylist()) <= {"query_1"}
    assert board.metrics["records_kept"] < 40


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT TOP 1 id FROM s [RANGE 5 s ON t] ORDER BY x EMIT CHANGES", "needs a window .ROWS"),
        ("SELECT TOP 1 id FROM s [ROWS 5] ORDER BY x", "a board tells changes"),
        ("SELECT TOP 1 id FROM s [ROWS 5] WHERE x > 0 ORDER BY x EMIT CHANGES", "WHERE has no"),
        ("SELECT TOP 1 x + 1 AS z FROM s [ROWS 5] ORDER BY x EMIT CHANGES", "plain columns"),
        ("SELECT TOP 1 id FROM s [ROWS 5] ORDER BY x * y EMIT CHANGES", "a board knows DISTANCE"),
        (
            "SELECT TOP 1 id FROM s [ROWS 5] ORDER BY DISTANCE((x), (1.0)) DESC EMIT CHANGES",
            "a board knows DISTANCE",
        ),
        ("SELECT TOP 1 id FROM s [ROWS 5] ORDER BY x EMIT CHANGES USING RA", "USING has no place"),
    ],
)
def test_refusals(query: str, part: str) -> None:
    with pytest.raises(PlanError, match=part):
        crestline.Board([query])


def test_what_does_not_fit_the_board() -> None:
    board = crestline.Board([NEAR.format(5, 0, 0)], buffer=1)
    with pytest.raises(SourceError, match="has no column 'y'"):
        board.push([{"id": 1, "x": 1.0}])
    board = crestline.Board([NEAR.format(5, 0, 0)], buffer=1)
    board.push([{"id": 1, "x": 1.0, "y": 2.0}])
    with pytest.raises(PlanError, match="needs a board of its own"):
        board.add("SELECT TOP 1 id FROM s [ROWS 5] ORDER BY z EMIT CHANGES")
    with pytest.raises(PlanError, match="called query_1 already"):
        board.add("CREATE QUERY query_1 AS " + NEAR.format(5, 0, 0))
    with pytest.raises(PlanError, match="the board watches s"):
        board.add(NEAR.format(5, 0, 0).replace("FROM s", "FROM other"))
    with pytest.raises(PlanError, match="no query ghost"):
        board.remove("ghost")
    with pytest.raises(CrestlineError, match="too long for a window of 3"):
        crestline.Board([NEAR.format(3, 0, 0)], buffer=9).push([{"id": 1, "x": 1.0, "y": 2.0}])
    with pytest.raises(PlanError, match="no query on the board"):
        crestline.Board().push([{"x": 1.0}])
