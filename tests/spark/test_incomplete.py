"""COMBINE on Spark: split by object and merged, batch and streaming, equals one process."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

import crestline
from crestline.core.errors import PlanError, RecordError, SourceError
from crestline.core.tables import table_from
from crestline.language import parse
from crestline.planner import Bundle, plan
from crestline.runtime.projection import Projection
from crestline.runtime.queries import named_queries
from crestline.runtime.rounds import Round
from crestline.runtime.shards import can_be_split
from crestline.spark import rejects, topk
from crestline.spark.bounded import run_bounded
from crestline.spark.follow import Follow, checkpoint_at
from crestline.spark.spread import spread_by
from crestline.spark.stages import Member, Merge, Reading, Step
from crestline.spark.stages.prune import Pruning
from incomplete.asking import a_spec, declared, records_for, table_of
from incomplete.judge import Spec, expect
from local.engines import assert_same_rows, rejects_of, rows_of, run_heeding
from spark.test_streaming import Feed

MANY = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 1
SECOND = 1_000_000
SLIDING, ARRIVALS = "RANGE 20 SECONDS SLIDE 5 SECONDS ON ts", "RANGE 15 SECONDS ON ts"
ROADS = "ACROSS road IN ('north', 'south', 'west')"


def ask(
    window: str = SLIDING,
    function: str = "SUM",
    across: str = ROADS,
    by: str = "",
    tail: str = "",
    inputs: str = "s",
    k: int = 3,
) -> str:
    return (
        f"SELECT TOP {k} car FROM {inputs} [{window}] {by} COMBINE {function}(speed) {across}"
        f" OBJECT car VALUES BETWEEN 0 AND 1 {tail}"
    )


#: All kinds of queries that go to Spark in a different way.
QUERIES = {
    "split": ask(),
    "split_parts": ask(function="AVG", by="PARTITION BY lane", k=2),
    "split_repeats": ask(function="MIN", tail="REPEATS MAX AT MOST 3", k=5).replace(
        "car FROM", "car AS _car FROM"
    ),
    "seen_streams": ask(across="ACROSS road", by="PARTITION BY lane"),
    "arrivals": ask(ARRIVALS, tail="REPEATS SUM AT MOST 2"),
    "counted": ask("ROWS 40 SLIDE 3 ON ts", function="MAX"),
    "counted_parts": ask("ROWS 15 ON ts", by="PARTITION BY lane"),
    "changes": ask(tail="EMIT CHANGES"),
    "weighted": ask(tail="USING SLA").replace(
        "SUM(speed)", "WEIGHTED_SUM(speed, ('north' => 2, 'south' => 0.5, 'west' => 1))"
    ),
}


def sightings(count: int, seed: int, repeats: bool = True) -> pa.Table:
    """Values in the order of time, with ties; cars have names that begin alike."""
    rng = np.random.default_rng(seed)
    cars = rng.integers(0, max(2, count // 10), count)
    roads = rng.integers(0, 3, count)
    if not repeats:  # an object and a stream meet once
        cars, roads = np.arange(count) // 3, np.arange(count) % 3
    return pa.table(
        {
            "ts": pa.array(
                np.sort(rng.integers(0, count // 3, count)) * 500_000, pa.timestamp("us", "UTC")
            ),
            "car": [f"the car with the number plate {i:03}" for i in cars],
            "road": [("north", "south", "west")[i] for i in roads],
            "lane": rng.integers(0, 2, count),
            "speed": rng.integers(0, 5, count) / 4,
        }
    )


def named(queries: dict[str, str]) -> str:
    return ";\n".join(f"CREATE QUERY {name} AS {text}" for name, text in queries.items())


def in_order(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that came in any order; those of changes keep theirs."""

    def place(row: dict[str, Any]) -> Any:
        return row.get("window_end", row.get("at")), row.get("lane") or 0, row.get("rank") or 0

    return sorted(rows, key=place)


# -- who goes where -------------------------------------------------------------------------------


def test_records_are_spread_by_what_can_be_answered_apart() -> None:
    spread = {name: spread_by(plan(parse(text))) for name, text in QUERIES.items()}
    assert spread == {
        "split": ("o",),
        "split_parts": ("p0", "o"),
        "split_repeats": ("o",),
        "seen_streams": ("p0",),
        "arrivals": (),
        "counted": (),
        "counted_parts": ("p0",),
        "changes": (),
        "weighted": ("o",),
    }
    approximate = plan(parse(ask(tail="APPROXIMATE")))
    assert not can_be_split(approximate)


# -- the stages without a JVM ---------------------------------------------------------------------


@dataclass
class Stages:
    """One query on ``buckets`` buckets: tasks, shuffles and states by hand."""

    spec: Spec
    buckets: int
    bounded: bool
    states: dict[int, bytes] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[dict[str, Any]] = field(default_factory=list)
    accounts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bundle = Bundle.of({"query": parse(self.spec.text())})
        self.projection = Projection(bundle.plan.query, table_of([]).schema)
        self.spread = spread_by(bundle.plan)
        self.member = Member.of(0, bundle, self.projection.schema, buckets=self.buckets)

    def task(self, table: pa.Table, chunk: int) -> Iterator[pa.RecordBatch]:
        pruning = Pruning((self.member,), self.buckets, Reading(keep_rejects=True))
        for start in range(0, table.num_rows, 9):
            columns = self.projection(table.slice(start, 9))
            pruning.sieves[0].add(chunk, columns)
        return pruning.payloads()

    def round(self, tasks: Sequence[pa.Table], first: int) -> None:
        gathered: dict[int, list[bytes]] = {}
        for number, task in enumerate(tasks, first):
            for piece in self.task(task, number):
                for bucket, payload in zip(*(c.to_pylist() for c in piece.columns), strict=True):
                    gathered.setdefault(bucket, []).append(payload)
        step = Step((self.member,), self.buckets, self.bounded, keep_rejects=True)
        outcomes = []
        for bucket, payloads in gathered.items():
            outcome, after = step(bucket, self.states.get(bucket), payloads[::-1])
            outcomes.append(outcome)
            if not self.bounded:
                self.states[bucket] = after
            told = [row for row in outcome.to_pylist() if row["kind"] == "account"]
            self.accounts[bucket] = json.loads(told[0]["payload"])
        for batch in Merge((self.member,))(outcomes):
            for row in batch.to_pylist():
                if row["kind"] == "rows":
                    table = table_from(row["payload"])
                    assert row["result_rows"] == table.num_rows
                    self.rows += rows_of(table)
                elif row["kind"] == "rejects":
                    self.rejects += table_from(row["payload"]).to_pylist()

    def sorted_rows(self) -> list[dict[str, Any]]:
        columns = [name for name in self.rows[0] if name != "query"] if self.rows else []
        rows = [{name: row[name] for name in columns} for row in self.rows]
        return sorted(rows, key=lambda r: (r["window_end"], r.get("part", 0), r["rank"]))

    def rejected(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for account in self.accounts.values():
            found.update(account["aside"])
            found.update((account["ledger"] or {}).get("rejected", {}))
        return found


def in_time(rng: np.random.Generator) -> Spec:
    """A question for which nothing in ``records_for`` is late; mostly one that can be split."""
    spec = replace(declared(a_spec(rng)), lateness=None)
    if rng.random() < 0.6:
        streams = spec.streams or tuple("abc")
        slide = spec.slide or int(rng.integers(1, 15))
        spec = replace(spec, timed=True, counted=False, slide=slide, streams=streams)
    return replace(spec, lateness=5) if spec.timed else spec


@pytest.mark.parametrize("buckets", [1, 2, 5])
def test_the_stages_equal_the_judge(buckets: int) -> None:
    """Whatever the tasks are: rows, and who was set aside."""
    for seed in range(25 * MANY):
        rng = np.random.default_rng([seed, buckets])
        spec = in_time(rng)
        records = records_for(spec, rng, int(rng.integers(1, 90)))
        if rng.random() < 0.5:  # then nothing is late, in any order
            spec = replace(spec, lateness=None)
            if spec.timed:
                rng.shuffle(records)  # type: ignore[arg-type]
        stages = Stages(spec, buckets, bounded=True)
        cuts = [0, *sorted(rng.integers(0, len(records) + 1, 2).tolist()), len(records)]
        tasks = [table_of(records[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]
        stages.round(tasks, 0)
        wanted = expect(spec, records)
        about = f"seed {seed}: {spec.text()}"
        assert_same_rows(stages.sorted_rows(), wanted.rows, about)
        found = {cuts[row["chunk"]] + row["row"]: row["reason"] for row in stages.rejects}
        assert found == wanted.rejects, about
        assert stages.rejected() == Counter(wanted.rejects.values()), about


@pytest.mark.parametrize("buckets", [1, 3])
def test_rounds_equal_the_judge(buckets: int) -> None:
    """After each micro-batch exactly what is due is out, from states that were stored as bytes."""
    for seed in range(25 * MANY):
        rng = np.random.default_rng([seed, buckets, 1])
        spec = in_time(rng)
        records = records_for(spec, rng, int(rng.integers(1, 90)))
        stages = Stages(spec, buckets, bounded=False)
        cuts = sorted({0, len(records), *rng.integers(0, len(records) + 1, 4).tolist()})
        for start, stop in zip(cuts, cuts[1:], strict=False):
            half = (start + stop) // 2
            stages.round([table_of(records[start:half]), table_of(records[half:stop])], start)
            due = expect(spec, records[:stop], finished=False)
            about = f"seed {seed}, after {stop}: {spec.text()}"
            assert_same_rows(stages.sorted_rows(), due.rows, about)
        assert len(stages.rejects) == stages.rejected().total()


# -- batch ----------------------------------------------------------------------------------------


def test_a_bounded_run_equals_one_process(spark: Any) -> None:
    table = sightings(300, seed=5)
    here = crestline.run(named(QUERIES), {"s": table}, engine="local")
    there = run_bounded(spark, named_queries(named(QUERIES)), {"s": table}, keep_rejects=False)
    for name in QUERIES:
        wanted = rows_of(here.of(name))
        assert len(wanted) > 20, name
        assert_same_rows(rows_of(there.of(name)), wanted, name)
        ours, theirs = here.by_query[name], there.by_query[name]
        for count in ("rows_in", "rows_late", "rejected", "result_rows", "partitions"):
            assert getattr(theirs, count) == getattr(ours, count), (name, count)


@pytest.mark.parametrize("name", ["split", "split_parts"])
def test_the_number_of_buckets_does_not_matter(spark: Any, name: str, tmp_path: Path) -> None:
    table = sightings(200, seed=6, repeats=False)
    wanted = rows_of(crestline.run(QUERIES[name], {"s": table}, engine="local").to_arrow())
    pq.write_table(table, tmp_path / "s.parquet")
    frame = spark.read.parquet(str(tmp_path / "s.parquet")).repartition(3)
    for buckets in (1, 4):
        got = topk({"S": frame}, QUERIES[name], buckets=buckets).toArrow()
        assert_same_rows(in_order(rows_of(got)), wanted, f"{buckets} buckets")


def broken() -> pa.Table:
    """Late records, and one for each reason to set a record aside."""
    table = sightings(90, seed=8).slice(0, 90)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    columns["speed"][10] = None
    columns["speed"][20] = 1.5
    columns["speed"][30] = float("nan")
    columns["car"][40] = None
    columns["road"][50] = "a road that nobody declared"
    columns["ts"][60] = None
    columns["ts"][70] = columns["ts"][1]
    return pa.table(columns, schema=table.schema)


@pytest.mark.parametrize("name", ["split", "split_parts", "arrivals", "counted"])
def test_records_set_aside_are_told_by_their_place(spark: Any, name: str) -> None:
    table = broken()
    query = f"{QUERIES[name]} LATENESS 0 SECONDS"
    (here, warned), (there, as_well) = (
        run_heeding(query, table, engine=engine) for engine in ("local", "spark")
    )
    assert len(warned) == 1 and as_well == warned
    assert rejects_of(there) == rejects_of(here)
    assert {reason for _, _, reason in rejects_of(here)} == {
        "value is NULL", "value is outside its range", "value is NaN", "object is NULL",
        "stream is not one of those declared", "event time is NULL", "late", "repeat",
    }  # fmt: skip
    assert there.metrics.rejected == here.metrics.rejected
    assert there.metrics.rows_late == here.metrics.rows_late == 1
    assert_same_rows(rows_of(there.to_arrow()), rows_of(here.to_arrow()), name)


def test_strict_runs_end_at_a_repeat(spark: Any) -> None:
    table = pa.concat_tables([sightings(9, 1, repeats=False)] * 2).sort_by("ts")
    with pytest.raises(RecordError, match="repeat"):
        crestline.run(ask(), {"s": table}, engine="spark", strict=True)


# -- several inputs -------------------------------------------------------------------------------

ROAD_NAMES = ("north", "south", "west")
TOGETHER = ask(across="ACROSS road", inputs="north, south, west", tail="LATENESS 2 SECONDS")


def by_road(table: pa.Table) -> dict[str, pa.Table]:
    """Each road on its own; the column that names it says nothing there."""
    apart = {}
    for name in ROAD_NAMES:
        mine = table.filter(pc.equal(table.column("road"), name))
        nothing = pa.array(["nothing"] * mine.num_rows, pa.string())
        apart[name] = mine.set_column(2, "road", nothing)
    return apart


def test_several_inputs(spark: Any, tmp_path: Path) -> None:
    """From memory and files, with types that differ; a record is late within its own input only."""
    inputs = by_road(sightings(240, seed=11))
    # The whole of one input is long over when that of another begins.
    shifted = pc.add(inputs["west"].column("ts"), pa.scalar(30 * SECOND, pa.duration("us")))
    inputs["west"] = inputs["west"].set_column(0, "ts", shifted)
    north = inputs["north"].slice(0, 50)
    late = north.slice(0, 2)  # and that is late, as well
    north = pa.concat_tables([north, late])
    lanes = inputs["south"].column("lane").cast(pa.int32())
    south = inputs["south"].set_column(3, "LANE", lanes)
    pcsv.write_csv(south, tmp_path / "south.csv")
    pq.write_table(inputs["west"], tmp_path / "west.parquet")
    streams = {
        "north": north,
        "South": str(tmp_path / "south.csv"),
        "west": tmp_path / "west.parquet",
    }
    texts = {
        "split": TOGETHER,
        "parts": TOGETHER.replace("COMBINE", "PARTITION BY lane COMBINE"),
        "counted": TOGETHER.replace("COMBINE", "WHERE speed > 0.3 COMBINE").replace(
            SLIDING, "ROWS 30 SLIDE 2 ON ts"
        ),
    }
    here, there = (
        crestline.run(named(texts), streams, engine=engine) for engine in ("local", "spark")
    )
    for name in texts:
        wanted = rows_of(here.of(name))
        assert len(wanted) > 20
        assert_same_rows(rows_of(there.of(name)), wanted, name)
        ours, theirs = here.by_query[name], there.by_query[name]
        assert theirs.rejected == ours.rejected
        assert theirs.rows_late == ours.rows_late > 0
        assert (theirs.rows_in, theirs.rows_filtered) == (ours.rows_in, ours.rows_filtered)
    # On Spark records are told by their places in their own inputs.
    told = there.rejects.filter(pc.equal(there.rejects.column("reason"), "late"))
    assert set(zip(told["stream"].to_pylist(), told["row"].to_pylist(), strict=True)) == {
        ("north", 50), ("north", 51),
    }  # fmt: skip


def test_inputs_without_a_record(spark: Any, tmp_path: Path) -> None:
    """One of several, or all of them: there is not even a column."""
    inputs = by_road(sightings(60, seed=1, repeats=False))
    (tmp_path / "empty.csv").touch()
    streams: dict[str, Any] = inputs | {"west": tmp_path / "empty.csv", "south": []}
    here, there = (crestline.run(TOGETHER, streams, engine=e) for e in ("local", "spark"))
    assert_same_rows(rows_of(there.to_arrow()), rows_of(here.to_arrow()))
    assert len(here) > 0
    streams["north"] = tmp_path / "empty.csv"
    assert len(crestline.run(TOGETHER, streams, engine="spark")) == 0


def test_several_frames(spark: Any) -> None:
    table = sightings(120, seed=12, repeats=False)
    query = TOGETHER.replace(" LATENESS 2 SECONDS", "")
    wanted = rows_of(crestline.run(query, by_road(table), engine="local").to_arrow())
    frames = {
        name: spark.createDataFrame(mine.to_pandas()) for name, mine in by_road(table).items()
    }
    got = topk(frames, query, buckets=3).toArrow()
    assert_same_rows(in_order(rows_of(got)), wanted)
    with pytest.raises(PlanError, match="a DataFrame for each"):
        topk(frames["north"], query)
    with pytest.raises(SourceError, match="'west'"):
        topk({name: frames[name] for name in ("north", "south")}, query)
    again = pa.concat_tables([by_road(table)["north"]] * 2).to_pandas()
    repeated = rejects(frames | {"north": spark.createDataFrame(again)}, query).toArrow()
    assert set(repeated["reason"].to_pylist()) == {"repeat"}


# -- streams --------------------------------------------------------------------------------------

FOLLOWED = {name: QUERIES[name] for name in ("split", "split_parts", "arrivals")}


def test_a_stream_equals_one_process(spark: Any, tmp_path: Path) -> None:
    """Files as they come, stopped and resumed: what is due is what one process would have told."""
    table = sightings(200, seed=7)
    feed = Feed(spark, tmp_path, table.schema)
    cuts = [(0, 60), (60, 61), (61, 120), (120, 200)]
    for part in (cuts[:2], cuts[2:]):
        with feed.running(topk(feed.frame(), named(FOLLOWED), buckets=3)) as running:
            for start, stop in part:
                feed.add(table.slice(start, stop - start))
                running.processAllAvailable()
    given = rows_of(feed.table())
    repeats = shown = 0
    for name, text in FOLLOWED.items():
        session = crestline.open(f"CREATE QUERY {name} AS {text}", engine="local")
        due = rows_of(pa.concat_tables([session.push(table.slice(a, b - a)) for a, b in cuts]))
        mine = [row for row in given if row["query"] == name]
        wanted = [{column: row.get(column) for column in given[0]} for row in due]
        assert_same_rows(in_order(mine), in_order(wanted), name)
        repeats += session.metrics.rejected["repeat"]
        shown += len(due)
    assert feed.total("result_rows") == shown > 100
    assert feed.total("rows_rejected") == repeats > 50


def test_late_values_of_a_stream_are_counted(spark: Any, tmp_path: Path) -> None:
    table = sightings(60, seed=9, repeats=False)
    feed = Feed(spark, tmp_path, table.schema)
    with feed.running(topk(feed.frame(), ask(), buckets=2)) as running:
        for part in (table.slice(10), table.slice(0, 10)):
            feed.add(part)
            running.processAllAvailable()
    assert feed.total("rows_late") == 10


def test_following_several_folders(spark: Any, tmp_path: Path) -> None:
    table = sightings(300, seed=13)
    query = parse(TOGETHER.replace("2 SECONDS", "25 SECONDS"))
    inputs = by_road(table)
    paths = {name: str(tmp_path / name) for name in ROAD_NAMES}
    rounds: list[Round] = []

    def add(number: int) -> None:
        for name, folder in paths.items():
            Path(folder).mkdir(exist_ok=True)
            part = inputs[name].slice(number * 34, 34)
            pq.write_table(part, Path(folder) / f".{number}")
            (Path(folder) / f".{number}").rename(Path(folder) / f"{number}.parquet")

    add(0)
    checkpoint = checkpoint_at(tmp_path / "checkpoint", {"query": query}, None)
    assert checkpoint.buckets > 1
    for number in (1, 2):
        follow = Follow(spark, {"query": query}, paths, checkpoint, rounds.append, "200 ms")
        follow.start()
        try:
            follow.process_all_available()
            add(number)
            follow.process_all_available()
        finally:
            follow.stop()
    session = crestline.open(query, engine="local")
    given = [
        session.push(inputs[name].slice(number * 34, 34), name)
        for number in range(3)
        for name in ROAD_NAMES
    ]
    due = rows_of(pa.concat_tables(given))
    assert len(due) > 10
    got = [row for each in rounds for row in rows_of(each.rows["query"])]
    assert_same_rows(in_order(got), in_order(due))
    metrics = rounds[-1].metrics["query"]
    assert metrics.rejected.get("repeat", 0) == session.metrics.rejected["repeat"]
    told = Counter(row["reason"] for each in rounds for row in each.rejects.to_pylist())
    assert told["repeat"] == metrics.rejected["repeat"]


# -- real flows -----------------------------------------------------------------------------------

FLOWS = "netflow_westermo_3routers_20230310.parquet"


@pytest.mark.data
@pytest.mark.parametrize("by", ["", "PARTITION BY protocol"])
def test_flows_at_three_routers(spark: Any, shared_data: Path, by: str, tmp_path: Path) -> None:
    query = (
        f"SELECT TOP 5 flow FROM flows [RANGE 2 MINUTES SLIDE 20 SECONDS ON ts] {by} COMBINE"
        " SUM(bytes) ACROSS router IN ('bottom', 'left', 'right') OBJECT flow"
        " VALUES BETWEEN 0 AND 1e7 REPEATS SUM AT MOST 50"
    )
    flows = pq.read_table(shared_data / FLOWS)
    moments = pc.multiply(flows.column("start"), 1e6).cast(pa.int64(), safe=False)
    names = [flows.column(name).cast(pa.string()) for name in ("sAddress", "rAddress")]
    table = pa.table(
        {
            "ts": moments.cast(pa.timestamp("us", "UTC")),
            "flow": pc.binary_join_element_wise(*names, " > "),
            "router": flows.column("router"),
            "protocol": flows.column("protocol"),
            "bytes": flows.column("sBytesSum"),
        }
    ).sort_by("ts")
    pq.write_table(table, tmp_path / "flows.parquet", row_group_size=10_000)
    ours, theirs = (
        crestline.run(query, {"flows": tmp_path / "flows.parquet"}, engine=engine)
        for engine in ("spark", "local")
    )
    wanted = rows_of(theirs.to_arrow())
    assert len(wanted) > 500
    assert_same_rows(rows_of(ours.to_arrow()), wanted)
    assert rejects_of(ours) == rejects_of(theirs)
    assert ours.metrics.rejected == theirs.metrics.rejected
