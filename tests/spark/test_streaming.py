"""Streaming DataFrames: files in any sizes and order give the rows that are due, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

import crestline
from crestline.core.errors import PlanError, ShufflePartitionsWarning
from crestline.spark import rejects, topk
from crestline.testing import Row, expect
from local.engines import assert_same_rows, in_place, moment, rows_of
from spark.test_engines_agree import SEED, on_spark
from strategies import Case, shuffled_within, specs, splits, streams, to_table

SECOND = 1_000_000


class Feed:
    """A folder that grows, a streaming query over it, and what the query has given so far."""

    def __init__(self, spark: Any, folder: Path, schema: pa.Schema) -> None:
        self.spark, self.folder = spark, folder
        self.files, self.written = folder / "in", 0
        self.files.mkdir(parents=True)
        empty = folder / "empty.parquet"
        pq.write_table(schema.empty_table(), empty)
        self.schema = spark.read.parquet(str(empty)).schema
        self.rows: list[pa.Table] = []
        self.counts: list[dict[str, Any]] = []

    def frame(self) -> Any:
        return self.spark.readStream.schema(self.schema).parquet(str(self.files))

    def add(self, table: pa.Table) -> None:
        hidden = self.files / f".{self.written}"
        pq.write_table(table, hidden)
        hidden.rename(self.files / f"part-{self.written:05}.parquet")
        self.written += 1

    @contextmanager
    def running(self, results: Any) -> Iterator[Any]:
        def take(frame: Any, number: int) -> None:
            self.rows.append(frame.toArrow())

        writer = results.writeStream.foreachBatch(take)
        query = writer.option("checkpointLocation", str(self.folder / "checkpoint")).start()
        try:
            yield query
            self.counts += [
                p.observedMetrics["crestline"].asDict()
                for p in query.recentProgress
                if "crestline" in p.observedMetrics
            ]
        finally:
            query.stop()

    def table(self) -> pa.Table:
        return pa.concat_tables([table for table in self.rows if table.num_rows] or self.rows[:1])

    def total(self, name: str) -> int:
        return sum(count[name] or 0 for count in self.counts)


def rows_of_query(table: pa.Table, case: Case) -> list[Row]:
    """One query's rows of several, without the columns that only others have."""
    spec = case.spec
    columns = expect(spec, case.records).rows
    wanted = list(columns[0]) if columns else []
    name = spec.name or "query"
    mine = [row for row in rows_of(table) if row["query"] == name]
    return in_place(spec, [{column: row[column] for column in wanted} for row in mine])


@st.composite
def in_time(draw: st.DrawFn) -> list[Case]:
    """A stream out of order within the lateness that three queries on time share."""
    unit = draw(st.sampled_from((1_000, SECOND)))
    lateness = draw(st.sampled_from((0, 2, 6))) * unit
    ordered = draw(streams(unit=unit, gaps=False, bad=False, backward=False, max_size=40))
    records = draw(shuffled_within(ordered, lateness))
    found = []
    for number in range(3):
        spec = draw(specs(unit, ("range_slide", "range_slide", "range", "unbounded_time")))
        emit = draw(st.sampled_from(("SNAPSHOTS", "CHANGES", "ENTRIES")))
        spec = replace(spec, name=f"q{number}", emit=emit, lateness=lateness)
        found.append(Case(spec, records, unit=unit))
    return found


@seed(SEED + 2)
@on_spark(4)
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
        with feed.running(topk(feed.frame(), text, buckets=3)) as query:
            for start, end in part:
                feed.add(to_table(records[start:end]))
                query.processAllAvailable()
                for case in found:
                    due = expect(case.spec, records[:end], finished=False).rows
                    got = rows_of_query(feed.table(), case) if feed.rows else []
                    assert_same_rows(got, due, f"{end} of {case.spec.text()}")
    assert feed.total("rows_late") == 0


@seed(SEED + 3)
@on_spark(2)
@given(st.data())
def test_counted_windows_take_event_time_order(
    spark: Any, tmp_path_factory: Any, data: st.DataObject
) -> None:
    unit, lateness = SECOND, data.draw(st.sampled_from((0, 3))) * SECOND
    ordered = data.draw(streams(unit=unit, gaps=False, bad=False, backward=False, max_size=30))
    records = data.draw(shuffled_within(ordered, lateness))
    spec = replace(data.draw(specs(unit, ("rows_on",))), lateness=lateness, name=None)
    case = Case(spec, records, unit=unit)
    feed = Feed(spark, tmp_path_factory.mktemp("feed"), to_table([]).schema)
    with feed.running(topk(feed.frame(), spec.text(), buckets=2)) as query:
        for start, end in data.draw(splits(len(records))):
            feed.add(to_table(records[start:end]))
            query.processAllAvailable()
    due = expect(spec, records, finished=False).rows
    assert_same_rows(rows_of_query(feed.table(), case) if feed.rows else [], due, spec.text())


def stream(*records: tuple[str, int, float | None]) -> pa.Table:
    ids, seconds, values = zip(*records, strict=True)
    times = [moment(s * SECOND) for s in seconds]
    return pa.table(
        {
            "id": pa.array(ids),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "val": pa.array(values, pa.float64()),
        }
    )


TEN = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY val DESC"


def told(table: pa.Table) -> list[str]:
    groups: dict[int, str] = {}
    for row in rows_of(table):
        end = row["window_end"] // SECOND
        groups[end] = groups.get(end, "") + row["id"]
    return [f"{end}: {ids}" for end, ids in sorted(groups.items())]


def test_late_and_bad_records_are_counted_in_the_progress(spark: Any, tmp_path: Path) -> None:
    """Record e comes when the result of its window is out; d is behind the watermark (13), but in
    time for the only result it belongs to."""
    feed = Feed(spark, tmp_path, stream(("", 0, 0.0)).schema)
    with feed.running(topk(feed.frame(), f"{TEN} LATENESS 2 SECONDS")) as query:
        feed.add(stream(("a", 5, 1), ("b", 15, 2), ("bad", 15, None), ("nan", 3, float("nan"))))
        query.processAllAvailable()
        assert told(feed.table()) == ["10: a"]
        feed.add(stream(("c", 32, 1), ("d", 12, 9), ("e", 7, 9), ("f", 8, 8)))
        query.processAllAvailable()
    assert told(feed.table()) == ["10: a", "20: db", "30: "][:2]
    assert (feed.total("rows_late"), feed.total("rows_rejected")) == (2, 2)
    assert feed.total("result_rows") == 3


def test_rejects_are_a_stream_of_their_own(spark: Any, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, stream(("", 0, 0.0)).schema)
    with feed.running(rejects(feed.frame(), TEN)) as query:
        feed.add(stream(("a", 5, 1), ("bad", 15, None)))
        query.processAllAvailable()
        feed.add(stream(("b", 25, 1), ("late", 5, 1)))
        query.processAllAvailable()
        feed.add(stream(("late", 5, 1), ("c", 26, 1)))
        query.processAllAvailable()
    found = [(row["column"], row["reason"], row["value"]) for row in feed.table().to_pylist()]
    assert found == [("val", "score is NULL", None), ("ts", "late", "1970-01-01 00:00:05.000000Z")]


def test_the_result_is_plain_spark(spark: Any) -> None:
    frame = spark.createDataFrame(
        [("a", moment(0), 1.0), ("b", moment(SECOND), 2.0)], "id string, ts timestamp, val double"
    )
    result = topk(frame, TEN)
    assert result.schema.simpleString() == (
        "struct<query:string,window_start:timestamp,window_end:timestamp,rank:bigint,id:string,"
        "score:double>"
    )
    assert [row.id for row in result.where("rank = 1").collect()] == ["b"]
    assert result.first().window_end - result.first().window_start == timedelta(seconds=10)


def test_expressions_on_times_need_utc(spark: Any) -> None:
    frame = spark.createDataFrame([("a", moment(0), 1.0)], "id string, ts timestamp, val double")
    query = TEN.replace("TOP 2 id", "TOP 2 id, hour(ts) AS at_hour")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Zurich")
    try:
        assert topk(frame, TEN).count() == 1
        with pytest.raises(PlanError, match="session.timeZone"):
            topk(frame, query)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_queries_with_columns_of_different_types_do_not_fit_together(spark: Any) -> None:
    frame = spark.createDataFrame([("a", moment(0), 1.0)], "id string, ts timestamp, val double")
    counted = "SELECT TOP 1 id FROM s [ROWS 3 ON ts] ORDER BY val"
    with pytest.raises(PlanError, match="window_start is timestamp in one query and bigint"):
        topk(frame, f"{TEN}; {counted}")


@pytest.mark.stress
def test_a_million_keys(spark: Any, tmp_path: Path) -> None:
    """One binary value of state for each bucket, whatever the number of keys."""
    rows, keys = 2_000_000, 1_000_000
    random = np.random.default_rng(11)
    table = pa.table(
        {
            "id": np.arange(rows),
            "ts": pa.array(np.arange(rows) * 100, pa.timestamp("us", "UTC")),
            "val": random.random(rows),
            "grp": random.permutation(np.arange(rows) % keys),
        }
    )
    query = (
        "SELECT TOP 2 id FROM s [RANGE 100 SECONDS SLIDE 100 SECONDS ON ts] PARTITION BY grp"
        " ORDER BY val DESC"
    )
    feed = Feed(spark, tmp_path, table.schema)
    with feed.running(topk(feed.frame(), query, buckets=32)) as running:
        for start in range(0, rows, rows // 4):
            feed.add(table.slice(start, rows // 4))
            running.processAllAvailable()
        stored = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
        assert stored.count() == 32
    session = crestline.open(query)
    wanted = session.push(table)
    assert wanted.num_rows > 800_000
    order = [(name, "ascending") for name in ("window_end", "grp", "rank")]
    got = feed.table().select(wanted.column_names).sort_by(order)
    assert got.equals(wanted.cast(got.schema))


def test_too_many_shuffle_partitions_are_told_once(spark: Any) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "200")
    rate = session.readStream.format("rate").load()
    query = "SELECT TOP 1 value FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON timestamp]"
    query += " ORDER BY value DESC"
    with pytest.warns(ShufflePartitionsWarning) as told:
        topk(rate, query)
    assert len(told) == 1
    assert "spark.conf.set('spark.sql.shuffle.partitions', 2)" in str(told[0].message)
    session.conf.set("spark.sql.shuffle.partitions", "4")
    topk(rate, query)  # a warning would be an error
    batch = session.range(5).selectExpr("id AS value", "timestamp_seconds(id) AS timestamp")
    session.conf.set("spark.sql.shuffle.partitions", "200")
    topk(batch, query)  # Spark joins the partitions of a batch
