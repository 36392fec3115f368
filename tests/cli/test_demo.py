"""``crestline demo``: what it shows and what it leaves behind."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rich.console import Console

import crestline as library
from cli.command import crestline, left_behind
from crestline.cli import demo
from crestline.cli.live import Snapshot, Trade, plain_view, snapshots, view
from crestline.cli.picture import rank_picture
from crestline.streams import generate

PNG = b"\x89PNG\r\n\x1a\n"


def test_the_demo_leaves_results_query_and_picture(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    told = crestline("demo", "--out", folder, "--trades", 30_000).stdout
    assert "in this process" in told and "records kept" in told
    assert told.count("top 10 trades of the last minute, at") == 4
    assert sorted(p.name for p in folder.iterdir()) == ["query.sql", "ranks.png", "results.parquet"]
    assert (folder / "ranks.png").read_bytes().startswith(PNG)
    # What it tells to try next gives the same rows.
    trades = list(generate("trades", 30_000, demo.SEED, rate=demo.RATE))
    again = library.run((folder / "query.sql").read_text(), {"trades": trades}).to_arrow()
    assert pq.read_table(folder / "results.parquet").equals(again)
    assert left_behind(tmp_path) == []


def test_a_tiny_demo_works_too(tmp_path: Path) -> None:
    crestline("demo", "--out", tmp_path, "--trades", 1, "--no-live")
    assert pq.read_table(tmp_path / "results.parquet").num_rows == 1


def test_the_demo_wants_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert "is a file" in crestline("demo", "--out", file, code=2).stderr
    assert file.read_text() == "mine"


@pytest.fixture
def seen() -> list[Snapshot]:
    batches = list(generate("trades", 40_000, 1, rate=1_000))
    return snapshots(library.run(demo.QUERY, {"trades": batches}).to_arrow())


def test_the_live_view_tells_moves_and_ages(seen: list[Snapshot]) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(view(seen[-1], seen[-2], library.Metrics(rows_in=40_000, kept=31)))
    text = console.export_text()
    assert "40,000 trades so far" in text and "kept: 31" in text
    assert seen[-1].trades[0].symbol in text and "█" in text
    assert plain_view(seen[-1], seen[-2]).count("\n") == 10


def test_the_picture_copes_with_few_and_with_returning_trades(seen: list[Snapshot]) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    a, b, c = (Trade(start, name, 10.0, 100) for name in "ABC")
    orders = [(a, b), (b, c), (a, c), (c,)]
    back = [Snapshot(start + timedelta(seconds=5 * i), t) for i, t in enumerate(orders)]
    for shown in (seen, seen[:1], back):
        assert rank_picture(shown).startswith(PNG)
