"""Uncertain streams on Spark: every meaning, batch and streaming, equals one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crestline
from crestline.spark import topk
from hostile import PROBABILITIES, spiked
from local.engines import rows_of
from spark.test_streaming import Feed

ASKED = (
    "AS PK_TOPK", "AS PT_K(0.3)", "AS U_KRANKS", "AS U_TOPK", "AS EXPECTED_RANK", "AS PRF(0.8)",
    "BY SUM OF PROBABILITY",
)  # fmt: skip
WINDOWS = ("RANGE 60 SECONDS SLIDE 20 SECONDS ON ts", "RANGE 40 SECONDS ON ts", "ROWS 50 ON ts")


def text(window: str, emit: str = "SNAPSHOTS") -> str:
    """A query for every meaning, with partitions and exclusive records in some."""
    queries = []
    for number, asked in enumerate(ASKED):
        exclusive = " EXCLUSIVE BY car" if number % 2 == 0 else ""
        divided = " PARTITION BY site" if number % 3 == 0 else ""
        selected = "sensor" if "SUM" in asked else "id, sensor"
        queries.append(
            f"CREATE QUERY q{number} AS SELECT TOP 3 {selected} FROM s [{window}]{divided}"
            f" WITH PROBABILITY p{exclusive} {asked} ORDER BY speed DESC KEY (id) EMIT {emit}"
        )
    return ";\n".join(queries)


def readings(count: int, seed: int) -> pa.Table:
    """Readings in the order of time, with ties, some of them exclusive, one of them bad."""
    rng = np.random.default_rng(seed)
    cars = rng.integers(0, count // 3, count)
    p = spiked(rng, rng.integers(1, 9, count) / 8, PROBABILITIES)
    # What is divided must not vanish: 0 is no probability.
    p = np.maximum(p / np.maximum(np.bincount(cars, p), 1)[cars], min(PROBABILITIES))
    p[count // 2] = 1.5
    at = np.sort(rng.integers(0, 2 * count, count)) * 500_000
    return pa.table(
        {
            "id": np.arange(count),
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
            "site": [f"site {i}" for i in rng.integers(0, 2, count)],
            "sensor": [f"sensor {i}" for i in rng.integers(0, 5, count)],
            "car": [f"car {i}" if i % 4 else None for i in cars],
            "speed": spiked(rng, rng.integers(0, 40, count).astype(np.float64)),
            "p": p,
        }
    )


def by_query(table: pa.Table, number: int) -> list[dict[str, Any]]:
    """One query's rows, without the columns that only others have."""
    mine = [row for row in rows_of(table) if row["query"] == f"q{number}"]
    filled = {name for row in mine for name, value in row.items() if value is not None}
    return [{name: row[name] for name in sorted(filled)} for row in mine]


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: repr(sorted(row.items())))


@pytest.mark.parametrize("window", WINDOWS)
def test_a_bounded_run_equals_one_process(spark: Any, window: str) -> None:
    table = readings(160, seed=len(window))
    emit = "CHANGES" if "SLIDE" in window else "SNAPSHOTS"
    query = text(window, emit)
    here = crestline.run(query, {"s": table}, engine="local")
    there = crestline.run(query, {"s": table}, engine="spark")
    for number, asked in enumerate(ASKED):
        ours, theirs = (rows_of(results.of(f"q{number}")) for results in (here, there))
        assert theirs == ours, asked
        assert len(ours) > 20, asked
        metrics = there.by_query[f"q{number}"]
        assert metrics.rejected == {"probability is outside (0, 1]": 1}


def test_a_stream_equals_one_process(spark: Any, tmp_path: Any) -> None:
    """Files as they come, stopped and resumed: what is due is what one process would have told."""
    table = readings(150, seed=7)
    query = text(WINDOWS[0])
    feed = Feed(spark, tmp_path, table.schema)
    cuts = [(0, 40), (40, 41), (41, 90), (90, 150)]
    for part in (cuts[:2], cuts[2:]):
        with feed.running(topk(feed.frame(), query, buckets=2)) as running:
            for start, stop in part:
                feed.add(table.slice(start, stop - start))
                running.processAllAvailable()
    given = feed.table()
    for number, asked in enumerate(ASKED):
        single = query.split(";\n")[number]
        session = crestline.open(single, engine="local")
        due = rows_of(pa.concat_tables([session.push(table.slice(a, b - a)) for a, b in cuts]))
        filled = {name for row in due for name, value in row.items() if value is not None}
        wanted = [{name: row[name] for name in sorted(filled)} for row in due]
        assert ordered(by_query(given, number)) == ordered(wanted), asked
        assert len(due) > 10


def test_pruned_near_the_source(spark: Any) -> None:
    """Of many records in a pane few are moved: the state lives on what compact sets hold."""
    rng = np.random.default_rng(3)
    count = 30_000
    table = pa.table(
        {
            "id": np.arange(count),
            "ts": pa.array(np.sort(rng.integers(0, 60_000_000, count)), pa.timestamp("us", "UTC")),
            "speed": rng.random(count),
            "p": 1.0 - rng.random(count),
        }
    )
    query = (
        "SELECT TOP 5 id FROM s [RANGE 30 SECONDS SLIDE 10 SECONDS ON ts]"
        " WITH PROBABILITY p ORDER BY speed DESC"
    )
    here = crestline.run(query, {"s": table}, engine="local")
    there = crestline.run(query, {"s": table}, engine="spark")
    assert rows_of(there.to_arrow()) == rows_of(here.to_arrow())
    assert there.metrics.kept_peak < 1_000
