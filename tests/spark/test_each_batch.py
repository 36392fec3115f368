"""Micro-batches by ``foreachBatch``: the rows of ``topk``, written once, whatever fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

import crestline
from crestline.core.errors import PlanError, StateError
from crestline.spark import EachBatch
from crestline.testing import expect
from local.engines import assert_same_rows
from spark.test_engines_agree import SEED, on_spark
from spark.test_streaming import Feed, in_time, rows_of_query
from strategies import Case, splits, to_table

SECOND = 1_000_000
PLAIN = "SELECT TOP 2 x FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY x DESC"
BY_G = PLAIN.replace("ORDER", "PARTITION BY g ORDER")
TABLE = pa.table(
    {
        "ts": pa.array([i * SECOND for i in range(120)], pa.timestamp("us", "UTC")),
        "g": [i % 3 for i in range(120)],
        "x": [(i * 37) % 101 for i in range(120)],
        "p": [0.1 + (i % 8) / 10 for i in range(120)],
    }
)
#: What topk shows of several queries, of objects, and of uncertain records.
TEXTS = {
    "by g": BY_G,
    "late": PLAIN + " LATENESS 9 SECONDS",
    "all columns": PLAIN.replace("TOP 2 x", "TOP 2 *"),
    "objects": (
        "SELECT TOP 2 x FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS ON ts]"
        " COMBINE SUM(p) ACROSS g OBJECT x"
    ),
    "several": f"CREATE QUERY a AS {PLAIN}; CREATE QUERY b AS {BY_G} EMIT CHANGES",
}  # fmt: skip


@contextmanager
def running(feed: Feed, each: Callable[[Any, int], None]) -> Iterator[Any]:
    writer = feed.frame().writeStream.foreachBatch(each)
    query = writer.option("checkpointLocation", str(feed.folder / "checkpoint")).start()
    try:
        yield query
    finally:
        query.stop()


def collect_into(feed: Feed) -> Callable[[Any, int], None]:
    def write(rows: Any, number: int) -> None:
        feed.rows.append(rows.toArrow())

    return write


@seed(SEED + 31)
@on_spark(2)
@given(in_time(), st.data())
def test_files_of_any_size_equal_the_oracle(
    spark: Any, tmp_path_factory: Any, found: list[Case], data: st.DataObject
) -> None:
    """Stopped and resumed in the middle; after each file exactly what is due is out."""
    records = found[0].records
    feed = Feed(spark, tmp_path_factory.mktemp("feed"), to_table([]).schema)
    cuts = data.draw(splits(len(records)))
    half = len(cuts) // 2
    text = ";".join(case.spec.text() for case in found)
    for part in (cuts[:half], cuts[half:]):
        each = EachBatch(text, collect_into(feed), state=feed.folder / "state", buckets=3)
        with running(feed, each) as query:
            for start, end in part:
                feed.add(to_table(records[start:end]))
                query.processAllAvailable()
                for case in found:
                    due = expect(case.spec, records[:end], finished=False).rows
                    about = f"{end} of {case.spec.text()}"
                    assert_same_rows(rows_of_query(feed.table(), case), due, about)


@pytest.mark.parametrize("case", [*TEXTS, "late, pruned"])
def test_rows_and_columns_are_those_of_a_stream_that_was_pushed(
    spark: Any, tmp_path: Path, case: str
) -> None:
    """The last rows of a micro-batch, which say how far time has come, are never among the best."""
    name, _, prune = case.partition(", ")
    text = TEXTS[name]
    feed = Feed(spark, tmp_path, TABLE.schema)
    each = EachBatch(text, collect_into(feed), state=tmp_path / "state", prune=bool(prune))
    session = crestline.open(text)
    pushed = []
    with running(feed, each) as query:
        for start in range(0, TABLE.num_rows, 40):
            feed.add(TABLE.slice(start, 40))
            query.processAllAvailable()
            pushed.append(session.push(TABLE.slice(start, 40)))
            assert by_query(feed.table()) == by_query(pa.concat_tables(pushed))
    shown = [counts.result_rows for counts in each.metrics.values()]
    assert sum(shown) == feed.table().num_rows > 10


def by_query(table: pa.Table) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {}
    for row in table.to_pylist():
        rows.setdefault(row.get("query", ""), []).append(row)
    return rows


def test_a_micro_batch_that_fails_is_repeated_with_the_same_rows(
    spark: Any, tmp_path: Path
) -> None:
    feed = Feed(spark, tmp_path, TABLE.schema)
    written: dict[int, list[Any]] = {}
    calls: list[int] = []

    def write(rows: Any, number: int) -> None:
        calls.append(number)
        written[number] = rows.toArrow().to_pylist()
        if calls == [0, 1]:
            raise RuntimeError("the disk is full")

    for start in (0, 40):
        each = EachBatch(BY_G, write, state=tmp_path / "state", buckets=2)
        with running(feed, each) as query:
            feed.add(TABLE.slice(start, 40))
            if start:
                with pytest.raises(Exception, match="the disk is full"):
                    query.processAllAvailable()
            else:
                query.processAllAvailable()
    failed = written[1]
    each = EachBatch(BY_G, write, state=tmp_path / "state")
    with running(feed, each) as query:
        feed.add(TABLE.slice(80, 40))
        query.processAllAvailable()
    assert calls == [0, 1, 1, 2]
    assert written[1] == failed
    expected = crestline.open(BY_G).push(TABLE).to_pylist()
    assert [row for number in range(3) for row in written[number]] == expected
    assert each.metrics["query"].rows_in == 120


def test_records_that_are_set_aside_are_listed_and_empty_batches_pass(
    spark: Any, tmp_path: Path
) -> None:
    feed = Feed(spark, tmp_path, TABLE.schema)
    bad = TABLE.slice(0, 40).set_column(2, "x", pa.array([None, *range(39)], pa.int64()))
    each = EachBatch(PLAIN, collect_into(feed), state=tmp_path / "state")
    with running(feed, each) as query:
        feed.add(bad)
        query.processAllAvailable()
        assert each.rejects.to_pydict()["reason"] == ["score is NULL"]
        feed.add(TABLE.slice(0, 0))
        query.processAllAvailable()
        feed.add(TABLE.slice(40, 40))
        query.processAllAvailable()
        assert each.rejects.num_rows == 0
    assert each.metrics["query"].rejected == {"score is NULL": 1}
    pushed = crestline.open(PLAIN).push(pa.concat_tables([bad, TABLE.slice(40, 40)]))
    assert feed.table().to_pylist() == pushed.to_pylist()


def test_what_cannot_be_is_refused_before_a_stream_starts(tmp_path: Path) -> None:
    EachBatch(PLAIN, print, state=tmp_path / "state")
    with pytest.raises(StateError, match="belongs to another query"):
        EachBatch(BY_G, print, state=tmp_path / "state")
    with pytest.raises(StateError, match="made with 1 buckets, not 3"):
        EachBatch(PLAIN, print, state=tmp_path / "state", buckets=3)
    several = (
        "SELECT TOP 2 g FROM a, b [RANGE 20 SECONDS SLIDE 10 SECONDS ON ts]"
        " COMBINE SUM(x) ACROSS stream OBJECT g"
    )
    with pytest.raises(PlanError, match="a micro-batch is one frame"):
        EachBatch(several, print, state=tmp_path / "other")
    assert not (tmp_path / "other").exists()
