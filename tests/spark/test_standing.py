"""Standing queries on Spark: one structure for all, and each gives what it gives alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.core.errors import StateError
from crestline.core.state import pack, unpack
from crestline.language import parse_all
from crestline.planner import StandingPlan
from crestline.runtime.queries import named_queries
from crestline.runtime.rounds import Round
from crestline.runtime.standing import arranged
from crestline.spark import EachBatch, explain, rejects, topk
from crestline.spark.follow import Follow, checkpoint_at
from crestline.spark.stages import Member
from crestline.testing.pipeline import PipelineByHand
from local.engines import examples, rejects_of
from runtime.standing_cases import from_cells, near, points, stream, texts
from spark.test_streaming import Feed

#: Queries of all kinds on one stream: placed, computed, and one with a condition of its own.
TEXT = (
    near(3) + "; CREATE QUERY own AS SELECT TOP 2 id FROM s [ROWS 60] WHERE id % 3 > 0"
    " ORDER BY 3 * x + y DESC"
    + "; CREATE QUERY sums AS SELECT TOP 3 id FROM s [ROWS 50] ORDER BY x - 2 * y EMIT CHANGES"
)
NAMES = ("q0", "q1", "q2", "own", "sums")
TABLE = pa.Table.from_pylist(points(90) + [{"id": 90, "x": None, "y": 0.5}])


def cut(rng: np.random.Generator, table: pa.Table, parts: int) -> list[pa.Table]:
    """A table in parts, of which some may be empty."""
    inner = rng.integers(0, table.num_rows + 1, parts - 1).tolist()
    edges = sorted([0, *inner, table.num_rows])
    return [table.slice(a, b - a) for a, b in zip(edges, edges[1:], strict=False)]


@examples(60)
@given(st.integers(0, 2**32), st.booleans())
def test_each_query_gives_what_it_gives_alone(seed: int, bounded: bool) -> None:
    """The stages without a JVM: tasks, rounds, and a state as bytes after each round."""
    rng = np.random.default_rng(seed)
    timed = bool(rng.integers(2))
    table = stream(rng, int(rng.integers(2, 80)), shuffled=timed and bounded)
    queries = texts(rng, timed) if rng.random() < 0.6 else from_cells(rng, timed)
    parsed = named_queries(";".join(queries.values()))
    rounds = [cut(rng, part, 3) for part in cut(rng, table, 1 if bounded else 4)]
    for bundle in arranged(parsed, table.schema, bounded=bounded):
        together = ";".join(queries[name] for name in bundle.queries)
        runs = {name: _run(queries[name], rounds, bounded) for name in bundle.queries}
        shared = _run(together, rounds, bounded)
        for name, alone in runs.items():
            rows = [row for row in shared.rows if row["query"] == name]
            assert rows == alone.rows, queries[name]
            if bounded:  # as in one process
                local = crestline.run(queries[name], {"s": table}, engine="local")
                assert len(rows) == len(local.to_arrow()), queries[name]
        everywhere = set.union(*(_rejected(alone) for alone in runs.values()))
        assert _rejected(shared) == everywhere, together


def _run(text: str, rounds: list[list[pa.Table]], bounded: bool) -> PipelineByHand:
    run = PipelineByHand(text, rounds[0][0].schema, buckets=1, bounded=bounded)
    for tasks in rounds:
        run.round(tasks)
    return run


def _rejected(run: PipelineByHand) -> set[tuple[Any, ...]]:
    return {(row["chunk"], row["row"], row["reason"]) for row in run.rejects}


def of_one_process(table: pa.Table = TABLE) -> crestline.Results:
    return crestline.run(TEXT, {"s": table}, engine="local")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The table in three files, their names in order of arrival."""
    folder = tmp_path / "files"
    folder.mkdir()
    for i, part in enumerate((TABLE.slice(0, 40), TABLE.slice(40, 1), TABLE.slice(41))):
        pq.write_table(part, folder / f"part-{i}.parquet", row_group_size=16)
    return folder


@pytest.mark.usefixtures("spark")
def test_files_give_the_rows_rejects_and_counts_of_one_process(files: Path) -> None:
    ours, theirs = crestline.run(TEXT, {"s": str(files)}, engine="spark"), of_one_process()
    assert rejects_of(ours) == rejects_of(theirs)
    for name in NAMES:
        assert ours.of(name).to_pylist() == theirs.of(name).to_pylist()
        mine, wanted = ours.by_query[name], theirs.by_query[name]
        assert (mine.sharing, mine.rows_in, mine.rows_filtered, mine.rejected, mine.kept) == (
            5, wanted.rows_in, wanted.rows_filtered, wanted.rejected, wanted.kept,
        )  # fmt: skip
    assert ours.by_query["own"].rows_filtered == 30


@pytest.mark.usefixtures("spark")
def test_queries_of_one_where_have_their_records_late_alike(tmp_path: Path) -> None:
    """On time, with LATENESS and records out of order: a second pass judges each record."""
    text = (
        near(3).replace("[ROWS 50]", "[RANGE 5 SECONDS ON ts]").replace(";", " LATENESS 1 SECOND;")
    )
    text += " LATENESS 1 SECOND"
    seconds = [i // 9 - (4 if i % 11 == 7 else 0) for i in range(90)]
    times = pa.array([1_000_000 * s for s in seconds], pa.timestamp("us", "UTC"))
    table = pa.Table.from_pylist(points(90)).append_column("ts", times)
    pq.write_table(table, tmp_path / "late.parquet", row_group_size=20)
    with pytest.warns(crestline.LateRecordsWarning):
        ours = crestline.run(text, {"s": str(tmp_path / "late.parquet")}, engine="spark")
    with pytest.warns(crestline.LateRecordsWarning):
        theirs = crestline.run(text, {"s": table}, engine="local")
    assert ours.by_query["q0"].sharing == 3
    assert ours.by_query["q0"].rows_late == theirs.by_query["q0"].rows_late > 0
    assert rejects_of(ours) == rejects_of(theirs)
    assert all(ours.of(f"q{i}").equals(theirs.of(f"q{i}")) for i in range(3))


def test_a_followed_folder_continues_where_it_stopped(
    spark: Any, tmp_path: Path, files: Path
) -> None:
    """Each file is a run of its own, so the state is read from the checkpoint each time."""
    queries, got = named_queries(TEXT), []

    def sink(done: Round) -> None:
        got.append(done)

    for _ in range(3):
        checkpoint = checkpoint_at(tmp_path / "checkpoint", queries)
        run = Follow(spark, queries, str(files), checkpoint, sink, files_per_trigger=1)
        run.trigger = "available-now"
        run.start()
        run.wait()
    wanted = of_one_process()
    for name in NAMES:
        rows = [row for done in got for row in done.rows[name].to_pylist()]
        assert rows == wanted.of(name).to_pylist()
    assert got[-1].metrics["own"].rows_filtered == 30
    assert got[-1].metrics["q0"].sharing == 5


def test_frames_give_the_rows_of_each_query_alone(spark: Any) -> None:
    frame = spark.createDataFrame(TABLE.to_pandas()).coalesce(1)
    found = topk(frame, TEXT).toArrow()
    for query in parse_all(TEXT):
        name = query.name or ""
        mine = found.filter(pc.equal(found["query"], name))
        alone = topk(frame, query).toArrow()
        assert mine.select(alone.column_names).to_pylist() == alone.to_pylist()
    told = str(explain(frame, TEXT))
    assert "shared by  q0, q1, q2, own, sums" in told
    bad = rejects(frame, TEXT).toArrow()
    assert set(bad["row"].to_pylist()) == {90}


def test_scores_that_are_no_doubles_stand_alone(spark: Any) -> None:
    """A decimal is ranked exactly by a query alone, so it must not be rounded among others."""
    frame = spark.createDataFrame(TABLE.slice(0, 20).to_pandas()).selectExpr(
        "id", "x", "y", "CAST(x AS DECIMAL(20, 4)) AS d"
    )
    text = "; ".join(
        f"CREATE QUERY {name} AS SELECT TOP 1 id FROM s [ROWS 50] ORDER BY {score} DESC"
        for name, score in zip("abcde", ("x * y", "abs(x)", "d / 2", "x / y", "d * 2"), strict=True)
    )
    assert "shared by  a, b, c, d\n" in (told := str(explain(frame, text)))
    assert "alone    e" in told


@pytest.mark.parametrize("how", ["topk", "EachBatch"])
def test_streaming_frames(spark: Any, tmp_path: Path, how: str) -> None:
    feed = Feed(spark, tmp_path, TABLE.schema)

    def take(rows: Any, number: int) -> None:
        feed.rows.append(rows.toArrow())

    if how == "topk":
        writer = topk(feed.frame(), TEXT).writeStream.foreachBatch(take)
    else:
        each = EachBatch(TEXT, take, state=tmp_path / "state")
        writer = feed.frame().writeStream.foreachBatch(each)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    for start in (0, 50):  # the second run continues from the state of the first
        feed.add(TABLE.slice(start, 50))
        writer.trigger(availableNow=True).start().awaitTermination()
    found, wanted = feed.table(), of_one_process()
    for name in NAMES:
        columns = wanted.of(name).column_names
        mine = found.filter(pc.equal(found["query"], name)).select(columns).to_pylist()
        assert mine == wanted.of(name).to_pylist()


def test_a_member_is_no_other_structure_than_what_was_decided() -> None:
    queries = named_queries(TEXT)
    (bundle,) = arranged(queries, TABLE.schema, bounded=True)
    member = Member.of(0, bundle, pa.schema([]), buckets=1)
    assert member.plan.standing is not None
    assert member.plan.standing.state() == bundle.plan.standing.state()  # type: ignore[union-attr]
    assert member.standing is not None
    decided = unpack(member.standing) | {"columns": ["x"]}
    with pytest.raises(StateError):
        StandingPlan.from_state(queries, unpack(pack(decided)))


def test_frames_have_the_columns_of_all_queries(spark: Any) -> None:
    """Each query reads another column, in its score or in its condition."""
    frame = spark.createDataFrame(
        [(i, i * 7 % 10 / 1.0, i * 3 % 11 / 1.0, i % 4 / 1.0, i % 3) for i in range(30)],
        "id int, x double, y double, z double, g int",
    ).coalesce(1)
    scores = ["x * y", "y * z", "abs(z)", "ln(x + 1)"]
    placed = "DISTANCE((x, y), ({}, 2)) {}"
    texts = [
        *(f"SELECT TOP 2 id FROM s [ROWS 9] ORDER BY {score}" for score in scores),
        "SELECT TOP 2 id FROM s [ROWS 9] ORDER BY " + placed.format(1, ""),
        "SELECT TOP 2 id FROM s [ROWS 9] WHERE g > 0 ORDER BY " + placed.format(3, ""),
    ]
    found = topk(frame, ";".join(texts)).toArrow()
    for i, text in enumerate(texts, 1):
        mine = found.filter(pc.equal(found["query"], f"query_{i}")).drop_columns(["query"])
        assert mine.to_pylist() == topk(frame, text).toArrow().drop_columns(["query"]).to_pylist()


@pytest.mark.usefixtures("spark")
def test_a_value_that_does_not_fit_is_rejected_for_the_queries_that_read_it(tmp_path: Path) -> None:
    """``g`` is read by one query only: the others see the records whose g is no number."""
    for name, first, g in (("a", 0, [1, 0] * 10), ("b", 20, [[1]] * 20)):
        table = pa.Table.from_pylist(points(40)[first : first + 20]).append_column("g", pa.array(g))
        pq.write_table(table, tmp_path / f"{name}.parquet")
    text = (
        near(2, 12)
        + "; "
        + near(1, 12).replace("q0 AS", "own AS").replace(" ORDER", " WHERE g > 0 ORDER")
    )
    ours, theirs = (
        crestline.run(text, {"s": str(tmp_path)}, engine=engine) for engine in ("spark", "local")
    )
    assert ours.by_query["own"].sharing == 3
    assert rejects_of(ours) == rejects_of(theirs)
    for name in ("q0", "q1", "own"):
        assert ours.of(name).to_pylist() == theirs.of(name).to_pylist()
    assert max(ours.of("q0").column("id").to_pylist()) > 20
    assert max(ours.of("own").column("id").to_pylist()) < 20
