"""``crestline demo``: what it shows and what it leaves behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import crestline as library
from cli.command import crestline, left_behind
from crestline.cli import demo
from crestline.cli import engine as engine_module
from crestline.cli.trades import TopTrades, plain_view, top_trades
from crestline.streams import generate

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(params=["spark", "local"])
def engine(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name == "spark":
        request.getfixturevalue("spark")
    return name


def test_the_demo_leaves_results_query_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setattr(demo, "_PLAIN_SECONDS", 0.5)
    folder = tmp_path / "demo"
    words = ("demo", "--engine", engine, "--out", folder, "--trades")
    crestline(*words, 1)  # the next one clears up after it
    told = crestline(*words, 30_000).stdout
    assert ("Starting Spark" in told) == (engine == "spark") and "records kept" in told
    assert told.count("top 10 trades of the last minute, at") == 4
    assert sorted(p.name for p in folder.iterdir()) == [
        "query.sql", "ranks.png", "results", "results.parquet",
    ]  # fmt: skip
    assert (folder / "ranks.png").read_bytes().startswith(PNG)
    rows = pq.read_table(folder / "results.parquet")
    assert pq.read_table(sorted((folder / "results").glob("part-*.parquet"))).equals(rows)
    # What it tells to try next gives the same rows, and those of the last window.
    trades = list(generate("trades", 30_000, demo.SEED, rate=demo.RATE))
    again = library.run((folder / "query.sql").read_text(), {"trades": trades}).to_arrow()
    assert rows.equals(again.slice(0, rows.num_rows)) and again.num_rows - rows.num_rows <= 10
    assert left_behind(tmp_path) == []


def test_what_the_demo_tells_to_try_next_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_PLAIN_SECONDS", 0.1)
    monkeypatch.chdir(tmp_path)
    told = crestline("demo", "--engine", "local", "--trades", 11_000).stdout
    commands = [line.split() for line in told.splitlines() if line.startswith("  crestline ")]
    assert [words[1] for words in commands] == ["generate", "run", "run", "explain"]
    for _, *words in commands:
        ends = ("--trigger", "available-now") if "--follow" in words else ()
        crestline(*words, *ends)
    rows = pq.read_table("crestline-demo/results.parquet").num_rows
    _, _, follow, _ = commands
    again = crestline(*follow[1:], "--trigger", "available-now", "--quiet").stdout
    assert len(again.splitlines()) == 1 + rows


def test_the_demo_runs_without_java_and_matplotlib_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_PLAIN_SECONDS", 0.1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(engine_module, "_is_active", lambda: False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = crestline("demo", "--out", tmp_path / "demo", "--trades", 6_000).stdout
    assert "in this process (Spark needs Java; JAVA_HOME is" in told
    assert "no picture: " in told and "pip install 'crestline[plot]'" in told
    assert not (tmp_path / "demo" / "ranks.png").exists()


def test_the_demo_wants_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert "is a file" in crestline("demo", "--out", file, code=2).stderr
    assert file.read_text() == "mine"


@pytest.fixture
def seen() -> list[TopTrades]:
    batches = list(generate("trades", 40_000, 1, rate=1_000))
    return top_trades(library.run(demo.QUERY, {"trades": batches}).to_arrow())


def test_a_result_as_lines_tells_moves(seen: list[TopTrades]) -> None:
    before = TopTrades(seen[-2].end, seen[-1].trades[1:])
    lines = plain_view(seen[-1], before).splitlines()
    assert len(lines) == 11
    assert [line[6:11].strip() for line in lines[1:]] == ["new"] + ["▼ 1"] * 9


def test_the_picture_copes_with_few_trades_and_none() -> None:
    trades = next(iter(generate("trades", 6_000, 1, rate=1_000)))
    for few in (trades, trades.slice(0, 1), trades.slice(0, 0)):
        rows = library.run(demo.QUERY, {"trades": few}).to_arrow()
        assert demo.picture(rows).startswith(PNG)
