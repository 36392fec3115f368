"""``crestline demo``: what it shows and what it leaves behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import crestline as library
from cli.command import crestline, left_behind
from crestline.cli import demo
from crestline.cli.trades import Snapshot, plain_view, snapshots
from crestline.streams import generate

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.usefixtures("spark")
def test_the_demo_leaves_results_query_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_PLAIN_SECONDS", 0.5)
    folder = tmp_path / "demo"
    crestline("demo", "--out", folder, "--trades", 1)  # the next one clears up after it
    told = crestline("demo", "--out", folder, "--trades", 30_000).stdout
    assert "Starting Spark" in told and "records kept" in told
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


def test_the_demo_wants_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert "is a file" in crestline("demo", "--out", file, code=2).stderr
    assert file.read_text() == "mine"


@pytest.fixture
def seen() -> list[Snapshot]:
    batches = list(generate("trades", 40_000, 1, rate=1_000))
    return snapshots(library.run(demo.QUERY, {"trades": batches}).to_arrow())


def test_a_result_as_lines_tells_moves(seen: list[Snapshot]) -> None:
    before = Snapshot(seen[-2].end, seen[-1].trades[1:])
    lines = plain_view(seen[-1], before).splitlines()
    assert len(lines) == 11
    assert [line[6:11].strip() for line in lines[1:]] == ["new"] + ["▼ 1"] * 9


def test_the_picture_copes_with_few_trades_and_none() -> None:
    trades = next(iter(generate("trades", 6_000, 1, rate=1_000)))
    for few in (trades, trades.slice(0, 1), trades.slice(0, 0)):
        rows = library.run(demo.QUERY, {"trades": few}).to_arrow()
        assert demo.picture(rows).startswith(PNG)
