"""The live view of a following run: what it shows of any query, on any terminal."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import crestline as library
from crestline.cli.watch import Watch
from crestline.runtime.metrics import Metrics
from crestline.runtime.queries import named_queries

SLIDING = "SELECT TOP 3 id FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts] ORDER BY x DESC"


def records(*rows: tuple[int, str, float]) -> pa.Table:
    seconds, names, scores = zip(*rows, strict=True)
    times = pa.array([s * 1_000_000 for s in seconds], pa.int64()).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "id": names, "x": scores})


class Run:
    """Queries in this process whose rounds a view watches."""

    def __init__(self, text: str) -> None:
        queries = named_queries(text)
        self.sessions = {name: library.open(query) for name, query in queries.items()}
        self.watch = Watch(queries, "a note")
        self.rounds = 0

    def push(self, data: pa.Table) -> None:
        rows = {name: session.push(data) for name, session in self.sessions.items()}
        metrics = {name: session.metrics for name, session in self.sessions.items()}
        round: Any = SimpleNamespace(number=self.rounds, rows=rows, metrics=metrics)
        self.watch.take(round)
        self.rounds += 1

    def text(self, width: int = 100, height: int = 40, all_steps: bool = True) -> str:
        if all_steps:
            self.watch.skip()
        return drawn(self.watch, width, height)


def drawn(watch: Watch, width: int = 100, height: int = 40) -> str:
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(watch)
    lines = console.export_text().splitlines()
    assert all(len(line) <= width for line in lines) and len(lines) <= max(height, 8)
    return "\n".join(lines)


def ranks(text: str) -> list[tuple[int, str, str]]:
    """Rank, move and first column of the lines that show one."""
    found = re.findall(r"^ +(\d+) (new|[▲▼] \d+)? +(\S+) ", text, re.MULTILINE)
    return [(int(rank), moved, name) for rank, moved, name in found]


@pytest.mark.parametrize("emit", ["", " EMIT CHANGES"])
def test_a_star_is_shown_with_the_columns_of_the_stream(emit: str) -> None:
    run = Run(SLIDING.replace("id FROM", "* FROM") + emit)
    run.push(records((1, "a", 1.0), (2, "b", 2.0), (6, "d", 2.5)))
    assert re.search(r"\bts +id +x\b", run.text())


def test_ranks_moves_and_counts_of_the_latest_result() -> None:
    run = Run(SLIDING)
    assert "the first round is on its way" in run.text()
    run.push(records((1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0), (6, "d", 2.5), (6, "e", 0.5)))
    assert ranks(run.text()) == [(1, "", "c"), (2, "", "b"), (3, "", "a")]
    run.push(records((9, "f", 9.0), (11, "late", 1.0), (1, "old", 5.0)))
    text = run.text()
    assert ranks(text) == [(1, "new", "f"), (2, "▼ 1", "c"), (3, "new", "d")]
    assert "top 3 of s   at 1970-01-01 00:00:10" in text
    assert "rows so far 8" in text and "late 1" in text and "round 1" in text and "a note" in text
    assert "█" * 20 in text


def test_several_results_of_a_round_are_shown_one_after_another() -> None:
    run = Run(SLIDING)
    run.push(records(*[(i, f"r{i:02}", float(i)) for i in range(40)]))
    run.watch.step()
    assert "00:00:05" in run.text(all_steps=False)
    run.watch.step()
    assert "00:00:10" in run.text(all_steps=False)
    assert "00:00:35" in run.text()


CHANGES = [
    records((1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0), (6, "d", 2.5)),
    records((7, "a", 7.0), (8, "c", 0.1), (12, "b", 2.0)),
    records((14, "x", 5.0), (17, "y", 4.0), (23, "z", 6.0)),
    records((59, "q", 1.0)),
]


@pytest.mark.parametrize(
    "window", ["[RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]", "[ROWS 3 SLIDE 2]", "[ROWS 3]"]
)
@pytest.mark.parametrize("partition", ["", "PARTITION BY id = 'c' AS is_c"])
def test_changes_are_applied_to_show_what_snapshots_show(window: str, partition: str) -> None:
    query = f"SELECT TOP 2 id, x FROM s {window} {partition} ORDER BY x DESC"
    snapshots, changes = Run(query), Run(f"{query} EMIT CHANGES")
    for data in CHANGES[:3]:
        snapshots.push(data)
        changes.push(data)
        expected = [(rank, name) for rank, _, name in ranks(snapshots.text())]
        assert [(rank, name) for rank, _, name in ranks(changes.text())] == expected


def test_the_latest_entries_are_shown_newest_first() -> None:
    run = Run("SELECT TOP 2 id FROM s [ROWS 3] ORDER BY x DESC EMIT ENTRIES")
    run.push(records((0, "a", 5.0), (0, "b", 3.0), (0, "c", 9.0)))
    assert "latest entries into the top 2 of s" in run.text()
    assert ranks(run.text()) == [(1, "", "c"), (2, "", "b")]
    run.push(records((0, "d", 1.0), (0, "e", 4.0)))
    assert ranks(run.text()) == [(2, "new", "e"), (1, "", "c")]


@pytest.mark.parametrize("emit", ["SNAPSHOTS", "CHANGES"])
def test_probabilities_are_shown_and_drawn(emit: str) -> None:
    speeds = pa.table({"x": [5.0, 6, 8, 2], "p": [0.8, 0.5, 0.4, 0.4], "id": ["a", "b", "c", "d"]})
    query = "SELECT TOP 2 id FROM s [ROWS 4 SLIDE 4] WITH PROBABILITY p ORDER BY x DESC"
    run = Run(f"{query} EMIT {emit}")
    run.push(speeds)
    text = run.text()
    assert ranks(text) == [(1, "", "a"), (2, "", "b")]
    first, second = (line for line in text.splitlines() if re.match(r" +[12] ", line))
    assert " 5 " in first and " 0.64 " in first and " 0.5 " in second
    assert first.count("█") > second.count("█") > 0  # the probability, not the score
    assert "0.64" in run.text(width=40)


PARTITIONED = "SELECT TOP 2 x FROM s [ROWS 4 SLIDE 1] PARTITION BY id ORDER BY x DESC"


def test_the_first_partitions_are_shown_and_the_others_counted() -> None:
    run = Run(PARTITIONED)
    run.push(records(*[(0, f"p{i % 100:02}", float(i)) for i in range(400)]))
    text = run.text(height=20)
    labels = re.findall(r"^id (p\d\d)$", text, re.MULTILINE)
    assert labels == [f"p{i:02}" for i in range(len(labels))] and len(labels) >= 4
    assert f"and {100 - len(labels)} more partitions" in text
    sliding = Run(f"{SLIDING} ".replace("ORDER", "PARTITION BY x > 1 AS large ORDER"))
    sliding.push(records((1, "a", 1.0), (2, "b", 2.0), (2, "c", 4.0), (6, "d", 2.5)))
    text = sliding.text()
    assert text.index("large false") < text.index("large true") and "00:00:05" in text


def test_a_large_k_is_cut_to_what_fits() -> None:
    run = Run("SELECT TOP 500 id FROM s [ROWS 1000 SLIDE 1000] ORDER BY x ASC")
    run.push(records(*[(0, f"r{i}", float(i)) for i in range(1_000)]))
    text = run.text(height=24)
    shown = len(ranks(text))
    assert 10 < shown < 24 and f"and {500 - shown} more ranks" in text


@pytest.mark.parametrize("width", [12, 30, 60, 100, 220])
def test_any_values_on_any_width(width: int) -> None:
    data = pa.table(
        {
            "name": ["日本語" * 20, "\x1b[31mred\n", None],
            "many": [[1, 2], [3], None],
            "exact": pa.array([Decimal("1.5"), None, Decimal("-2.0")]),
            "raw": [b"\xff", None, b""],
            "seen": pa.array([1, None, 3], pa.timestamp("ns")),
            "yes": [True, False, None],
            "x": [float("inf"), -1e300, 0.0],
        }
    )
    names = "name, many, exact, raw, seen, yes"
    run = Run(
        f"CREATE QUERY a AS SELECT TOP 3 {names} FROM s [ROWS 3 SLIDE 3] ORDER BY x DESC;"
        f"CREATE QUERY b AS SELECT TOP 3 {names} FROM s [ROWS 1] PARTITION BY name, yes"
        " ORDER BY x ASC EMIT CHANGES"
    )
    run.push(data)
    text = run.text(width=width)
    assert "\x1b" not in text
    if width >= 60:
        assert "a: top 3 of s" in text and "b: top 3 of s" in text and "NULL" in text


def test_the_same_record_twice_is_told_apart() -> None:
    run = Run("SELECT TOP 3 id FROM s [ROWS 3 SLIDE 3] ORDER BY x DESC")
    for _ in range(2):
        run.push(records((0, "a", 1.0), (0, "a", 1.0), (0, "b", 0.5)))
        run.watch.skip()
    assert [moved for _, moved, _ in ranks(run.text())] == ["", "", ""]


def test_it_tells_how_fast_rows_come() -> None:
    watch = Watch(named_queries(SLIDING))
    for number in range(2):
        round: Any = SimpleNamespace(
            number=number, rows={}, metrics={"query": Metrics(rows_in=1_000 * number)}
        )
        watch.take(round)
    assert "rows/s" in drawn(watch)
