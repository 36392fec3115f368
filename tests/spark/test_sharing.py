"""Several queries on Spark: one pipeline, one structure for those that share; equal to one process,
and to each query alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crestline
from crestline.runtime.queries import named_queries
from crestline.spark import topk
from crestline.spark.pipeline import pipeline
from hostile import PROBABILITIES, spiked
from local.engines import rows_of
from spark.test_streaming import Feed

CERTAIN = """
CREATE QUERY a AS SELECT TOP 3 id, x FROM s [RANGE 60 s SLIDE 20 s ON ts] {} ORDER BY x DESC;
CREATE QUERY b AS SELECT TOP 9 id, x FROM s [RANGE 300 s SLIDE 30 s ON ts] {} ORDER BY x DESC;
CREATE QUERY c AS SELECT TOP 5 id, x FROM s [RANGE 10 s SLIDE 5 s ON ts] {} ORDER BY x DESC
  EMIT CHANGES;
CREATE QUERY d AS SELECT TOP 2 id, x FROM s [RANGE 60 s SLIDE 20 s ON ts] WHERE x > 7 {}
  ORDER BY x DESC;
CREATE QUERY e AS SELECT TOP 4 id, x FROM s [RANGE 90 s ON ts] {} ORDER BY x DESC FREQUENCY 30 s;
CREATE QUERY f AS SELECT TOP 2 id, x FROM s [RANGE 45 s ON ts] {} ORDER BY x DESC FREQUENCY 20 s;
CREATE QUERY g AS SELECT TOP 3 id, x FROM s [ROWS 40 SLIDE 8 ON ts] {} ORDER BY x DESC;
CREATE QUERY h AS SELECT TOP 6 id, x FROM s [ROWS 90 SLIDE 20 ON ts] {} ORDER BY x DESC
"""
UNCERTAIN = """
CREATE QUERY a AS SELECT TOP 3 id, x FROM s [RANGE 60 s ON ts] {} WITH PROBABILITY p ORDER BY x DESC
  FREQUENCY 20 s;
CREATE QUERY b AS SELECT TOP 5 id, x FROM s [RANGE 60 s ON ts] {} WITH PROBABILITY p AS U_KRANKS
  ORDER BY x DESC FREQUENCY 30 s;
CREATE QUERY c AS SELECT TOP 4 id, x FROM s [RANGE 60 s ON ts] {} WITH PROBABILITY p AS PT_K(0.3)
  ORDER BY x DESC FREQUENCY 30 s EMIT CHANGES
"""
SHARING = {
    CERTAIN: [["a", "b", "c"], ["d"], ["e", "f"], ["g", "h"]],
    UNCERTAIN: [["a", "b", "c"]],
}


def records(count: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(count),
            "ts": pa.array(np.sort(rng.integers(0, 4 * count, count)) * 500_000,
                           pa.timestamp("us", "UTC")),
            "site": [f"site {i}" for i in rng.integers(0, 3, count)],
            "x": spiked(rng, rng.integers(0, 30, count).astype(np.float64)),
            "p": spiked(rng, rng.integers(1, 9, count) / 8, PROBABILITIES),
        }
    )  # fmt: skip


def filled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the columns that only other queries have, in any order."""
    names = {name for row in rows for name, value in row.items() if value is not None}
    plain = [{name: row[name] for name in sorted(names)} for row in rows]
    return sorted(plain, key=lambda row: repr(sorted(row.items())))


@pytest.mark.parametrize("clause", ["", "PARTITION BY site"])
@pytest.mark.parametrize("text", [CERTAIN, UNCERTAIN], ids=["certain", "uncertain"])
def test_a_bounded_run_equals_one_process_and_each_alone(
    spark: Any, text: str, clause: str
) -> None:
    table = records(200, seed=len(clause))
    query = text.replace("{}", clause)
    here = crestline.run(query, {"s": table})
    there = crestline.run(query, {"s": table}, engine="spark")
    for name, single in named_queries(query).items():
        ours = rows_of(here.of(name))
        assert rows_of(there.of(name)) == ours, name
        assert len(ours) > 10
        if single.frequency is None:  # the plan picks other moments for a query among others
            alone = crestline.run(single, {"s": table}, engine="spark")
            assert rows_of(alone.to_arrow()) == ours, name
    sizes = {name: len(names) for names in SHARING[text] for name in names}
    assert {name: metrics.sharing for name, metrics in there.by_query.items()} == sizes


@pytest.mark.parametrize("text", [CERTAIN, UNCERTAIN], ids=["certain", "uncertain"])
def test_a_stream_stopped_and_resumed_equals_one_process(
    spark: Any, tmp_path: Path, text: str
) -> None:
    table = records(150, seed=3)
    # Positions and times are no one column of a frame: the queries on rows stay behind.
    query = ";".join(text.replace("{}", "PARTITION BY site").split(";")[:6])
    feed = Feed(spark, tmp_path, table.schema)
    cuts = [(0, 40), (40, 41), (41, 90), (90, 150)]
    for part in (cuts[:2], cuts[2:]):
        with feed.running(topk(feed.frame(), query, buckets=2)) as running:
            for start, stop in part:
                feed.add(table.slice(start, stop - start))
                running.processAllAvailable()
    given = rows_of(feed.table())
    session = crestline.open(query)
    due = [row for a, b in cuts for row in rows_of(session.push(table.slice(a, b - a)))]
    for name in named_queries(query):
        mine = [row for row in given if row["query"] == name]
        wanted = [row for row in due if row["query"] == name]
        assert filled(mine) == filled(wanted), name
        assert len(mine) > 5


def test_queries_that_share_are_one_member_of_one_pipeline(spark: Any) -> None:
    """One read, one projection, and a member (a sieve, a state) for each structure."""
    frame = spark.createDataFrame(records(20, 1).to_pandas())
    planned = pipeline(frame, named_queries(CERTAIN.replace("{}", "")))
    members = planned.projected.members
    assert [[name for name, _ in member.queries] for member in members] == SHARING[CERTAIN]
    columns = [column for column in planned.projected.frame.columns if "e" not in column[-2:]]
    assert len(columns) == len(set(columns)) <= 4  # id, ts, x and the condition, once each


def test_late_and_bad_records_are_told_once_by_queries_that_share(spark: Any) -> None:
    table = records(60, seed=5)
    times = table["ts"].to_pylist()
    times[50], times[20] = times[3], None
    odd = table.set_column(1, "ts", pa.array(times, pa.timestamp("us", "UTC")))
    texts = CERTAIN.replace("{}", "").split(";")[:3]
    query = ";".join(text.replace("x DESC", "x DESC LATENESS 0 s") for text in texts)
    with pytest.warns(
        crestline.LateRecordsWarning, match=r"^query a: 1 of 60 .* LATENESS \d+"
    ) as w:
        here = crestline.run(query, {"s": odd})
        there = crestline.run(query, {"s": odd}, engine="spark")
    assert len({str(warning.message) for warning in w}) == 1
    assert there.rejects.to_pylist() == here.rejects.to_pylist()
    assert sorted(there.rejects["row"].to_pylist()) == [20, 50]
    for name in ("a", "b", "c"):
        assert rows_of(there.of(name)) == rows_of(here.of(name))
        assert there.by_query[name].rejected == {"event time is NULL": 1, "late": 1}
