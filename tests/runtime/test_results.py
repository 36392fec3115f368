"""Results as people look at them, and as other libraries take them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pytest

import crestline
from crestline.core.errors import CrestlineError

HOSTILE = '<script>alert("x")</script>'
MOMENT = pa.timestamp("us")
STREAM = pa.table(
    {
        "ts": pa.array(range(0, 30_000_000, 1_000_000), MOMENT),
        "x": [float(n * 7 % 11) for n in range(28)] + [None, float("nan")],
        "name": [f"n{n % 5}" for n in range(29)] + [HOSTILE],
        "p": [0.5] * 30,
    }
)
WINDOW = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"
RANKED = f"SELECT TOP 2 name {WINDOW} ORDER BY x DESC"
QUERIES = {
    "snapshots": RANKED,
    "changes": f"{RANKED} EMIT CHANGES",
    "probable": f"SELECT TOP 2 name {WINDOW} WITH PROBABILITY p ORDER BY x DESC",
    "combined": f"SELECT TOP 2 name {WINDOW} COMBINE SUM(x) ACROSS p OBJECT name",
    "no columns": f"SELECT TOP 2 {WINDOW} ORDER BY x DESC",
    "no rows": f"SELECT TOP 2 name {WINDOW} WHERE x > 100 ORDER BY x DESC",
    "several": f"{RANKED}; SELECT TOP 3 name, x AS much FROM s [ROWS 4] ORDER BY x EMIT CHANGES",
    "partitions": f"SELECT TOP 1 x AS much {WINDOW} PARTITION BY name ORDER BY x DESC",
    "many": ";".join(f"SELECT TOP {k} name {WINDOW} ORDER BY x DESC" for k in range(1, 21)),
}


def results_of(kind: str) -> crestline.Results:
    return crestline.run(QUERIES[kind], {"s": STREAM})


@pytest.mark.parametrize("kind", QUERIES)
def test_all_forms_have_the_same_rows(kind: str) -> None:
    results = results_of(kind)
    table = results.to_arrow()
    assert len(results) == table.num_rows
    assert list(results) == table.to_pylist()
    assert pa.table(results).equals(table)
    assert results.to_polars().to_dicts() == polars.DataFrame(results).to_dicts() == list(results)
    assert len(results.to_pandas()) == len(results)
    assert duckdb.sql("SELECT count(*) FROM results").fetchall() == [(len(results),)]


@pytest.mark.parametrize("kind", QUERIES)
def test_what_is_shown(kind: str) -> None:
    results = results_of(kind)
    shown, html = repr(results), results._repr_html_()
    assert shown.startswith(f"<Results: {len(results)} rows of quer")
    for text in (shown, html):
        assert "records kept: " in text and " is NaN" in text
        assert ("the window held" in text) == (kind != "no rows")
    assert "<summary>The plan</summary>" in html and "<script" not in html
    assert len(shown.splitlines()) < 90
    if results.queries[next(iter(results.queries))].emit == "SNAPSHOTS" and len(results):
        assert "window_end" in shown and "window_end" in html


def test_a_long_result_shows_its_first_and_its_last_rows() -> None:
    results = crestline.run("SELECT TOP 1 name, ts FROM s [ROWS 3] ORDER BY x DESC", {"s": STREAM})
    lines = repr(results).splitlines()
    assert lines[0] == "<Results: 28 rows of query>"
    starts = [line.split()[0] for line in lines[2:13]]
    assert starts == ["0", "0", "0", "1", "2", "...", "21", "22", "23", "24", "25"]
    assert lines[1].split() == ["window_start", "window_end", "rank", "name", "ts", "score"]
    assert len({len(line) for line in lines[1:13]}) == 1  # all columns are aligned
    assert results._repr_html_().count("<tr>") > 20


def test_many_columns_leave_room_for_the_first_and_the_last() -> None:
    columns = ", ".join(f"name AS a_long_name_{n}" for n in range(30))
    results = crestline.run(f"SELECT TOP 2 {columns} {WINDOW} ORDER BY x DESC", {"s": STREAM})
    heading, *rows = repr(results).splitlines()[1:-2]
    assert len(heading) <= 120 and len({line.index("...") for line in (heading, *rows[:5])}) == 1
    assert heading.startswith("window_start") and heading.endswith("score")
    assert results._repr_html_().count("a_long_name_") >= 30


def test_no_value_becomes_markup_or_steers_a_terminal() -> None:
    stream = STREAM.set_column(2, "name", pa.array([f"{HOSTILE}\x1b[31m\n"] * 30))
    query = f"CREATE QUERY `<b>{HOSTILE}` AS SELECT TOP 2 name AS `<i>` {WINDOW} ORDER BY x DESC"
    results = crestline.run(query, {"s": stream})
    html = results._repr_html_()
    assert "<script" not in html and "<i>" not in html and "<b><" not in html
    assert "&lt;script&gt;" in html and "\x1b" not in html
    assert "\x1b" not in repr(results)


def test_times_that_python_has_not_are_shown_all_the_same() -> None:
    fine, far = pa.timestamp("ns"), pa.timestamp("s")
    stream = pa.table({"fine": pa.array([1], fine), "far": pa.array([10**15], far), "x": [1.0]})
    results = crestline.run("SELECT TOP 1 fine, far FROM s [ROWS 1] ORDER BY x", {"s": stream})
    (row,) = results
    assert row["fine"].microsecond == 0 and row["far"].startswith("31690708-")
    assert "31690708-" in repr(results) and "31690708-" in results._repr_html_()


def test_an_input_without_columns_is_shown(tmp_path: Any) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    results = crestline.run(RANKED, {"s": tmp_path / "empty.jsonl"})
    assert repr(results).startswith("<Results: 0 rows of query>") and results._repr_html_()
    assert list(results) == []


@pytest.mark.parametrize("package", ["polars", "pandas"])
def test_what_is_not_installed_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    results = results_of("snapshots")
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == package:
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    take: Callable[[], Any] = getattr(results, f"to_{package}")
    with pytest.raises(CrestlineError, match=f"pip install {package}"):
        take()
