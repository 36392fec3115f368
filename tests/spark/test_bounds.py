"""Rows pruned inside the JVM: the same results, from fewer rows."""

from __future__ import annotations

import logging
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
import hostile
from crestline.core.errors import PlanError
from crestline.planner import arrange
from crestline.runtime.queries import named_queries
from crestline.spark import topk
from crestline.spark.bounds import Bounds, bounds_of
from crestline.spark.catalyst import project
from crestline.spark.estimate import against_pruning, explained

SECOND = 1_000_000
ROWS = 3_000


def times(rng: np.random.Generator, kind: str) -> pa.Array:
    """Times around 1970, some NULL; few different ones, so that many rows share a pane."""
    seconds = rng.integers(-12, 12, ROWS)
    missing = rng.random(ROWS) < 0.01
    if kind == "date":
        return pa.array(seconds.astype("int32") // 6, pa.date32(), mask=missing)
    micros = seconds * SECOND + rng.choice([0, 1, SECOND - 1], ROWS)
    dtype = pa.timestamp("us", "UTC" if kind == "timestamp" else None)
    return pa.array(micros, dtype, mask=missing)


def scores(rng: np.random.Generator, kind: str) -> pa.Array:
    missing = rng.random(ROWS) < 0.02
    if kind == "bigint":
        return pa.array(rng.choice(hostile.INTEGERS, ROWS), pa.int64(), mask=missing)
    if kind == "tinyint":
        return pa.array(rng.integers(-128, 128, ROWS), pa.int8(), mask=missing)
    if kind == "decimal":
        digits = rng.choice([10**37 + n for n in range(-3, 4)] + [0, 1, -1], ROWS)
        values = [Decimal(int(n)).scaleb(-20) for n in digits]
        return pa.array(values, pa.decimal128(38, 20), mask=missing)
    values = hostile.spiked(rng, rng.normal(0, 1, ROWS))
    values = np.where(rng.random(ROWS) < 0.02, np.nan, values)
    if kind == "float":
        with np.errstate(over="ignore"):
            values = values.astype("float32")
    return pa.array(values, mask=missing)


def keys(rng: np.random.Generator, kind: str) -> pa.Array:
    codes = rng.integers(0, 3, ROWS)
    missing = codes == 2
    if kind == "string":
        return pa.array([["a", "A ", ""][code] for code in codes], mask=missing)
    return pa.array(codes, mask=missing)


def stream(seed: int, time: str, score: str, key: str) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {"ts": times(rng, time), "x": scores(rng, score), "g": keys(rng, key)}
    return pa.table({**columns, "id": rng.integers(0, 9, ROWS), "n": np.arange(ROWS)})


WINDOW = "FROM s [RANGE 6 SECONDS SLIDE 4 SECONDS ON ts]"
CASES = {
    "double": (f"SELECT TOP 3 id {WINDOW} ORDER BY x DESC", "timestamp", "double", "string"),
    "float": (f"SELECT TOP 2 n {WINDOW} PARTITION BY g ORDER BY x", "timestamp", "float", "string"),
    "bigint": (f"SELECT TOP 4 n {WINDOW} ORDER BY x ASC, id DESC", "ntz", "bigint", "string"),
    "decimal": (f"SELECT TOP 2 n {WINDOW} ORDER BY x DESC", "timestamp", "decimal", "string"),
    "decimal ascending": (f"SELECT TOP 2 n {WINDOW} ORDER BY x", "timestamp", "decimal", "string"),
    "tinyint": (
        "SELECT TOP 2 id, n FROM s [UNBOUNDED SLIDE 3 SECONDS ON ts] WHERE n % 3 > 0"
        " PARTITION BY g, id % 2 AS h ORDER BY x DESC KEY (n) EMIT CHANGES",
        "timestamp", "tinyint", "bigint",
    ),
    "expression": (
        f"SELECT TOP 5 id, x + 1 AS y {WINDOW} WHERE id <> 4 ORDER BY abs(x) * id DESC, n"
        " LATENESS 1 MINUTE",
        "timestamp", "double", "string",
    ),
    "date": (
        "SELECT TOP 3 n FROM s [RANGE 3 DAYS SLIDE 2 DAYS ON ts] ORDER BY x DESC",
        "date", "double", "string",
    ),
    "shared": (
        f"CREATE QUERY short AS SELECT TOP 2 n {WINDOW} ORDER BY x DESC; CREATE QUERY long AS"
        f" SELECT TOP 5 n {WINDOW.replace('6 SECONDS', '1 MINUTE')} ORDER BY x DESC",
        "timestamp", "double", "string",
    ),
}  # fmt: skip


def frame_of(spark: Any, table: pa.Table) -> Any:
    return spark.createDataFrame(table).repartition(3)


def rows(table: pa.Table) -> list[str]:
    for name in {"window_start", "window_end", "at"} & set(table.column_names):
        moments = table.column(name).cast(pa.timestamp("us", "UTC"))  # only Spark's have a zone
        table = table.set_column(table.column_names.index(name), name, moments)
    return sorted(map(repr, table.to_pylist()))


def bounds_for(frame: Any, text: str) -> tuple[Any, Bounds | str]:
    bundles = arrange(named_queries(text))
    projected = project(frame, bundles, 1)
    return projected.frame, bounds_of(projected, bundles)


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_all_rows_and_of_one_process(spark: Any, case: str) -> None:
    text, *kinds = CASES[case]
    table = stream(sorted(CASES).index(case), *kinds)
    frame = frame_of(spark, table)
    pruned = rows(topk(frame, text, prune=True).toArrow())
    assert pruned == rows(topk(frame, text, prune=False).toArrow())
    results = crestline.run(text, {"s": table})
    names = list(named_queries(text))
    assert pruned == sorted(row for name in names for row in rows(results.of(name)))


def test_few_rows_stay(spark: Any) -> None:
    text = f"SELECT TOP 3 id {WINDOW} PARTITION BY g ORDER BY x DESC"
    plain = spark.range(20_000).selectExpr(
        "timestamp_millis(id) AS ts", "double(hash(id)) AS x", "id % 2 AS g", "id"
    )
    frame, bounds = bounds_for(plain, text)
    assert isinstance(bounds, Bounds)
    kept = bounds.pruned(frame).count()
    panes = 2 * 10  # of 2 seconds, in 20 seconds, for two values of g
    assert 3 * panes <= kept <= 5 * panes


def test_rows_that_cannot_be_compared_stay(spark: Any) -> None:
    text = f"SELECT TOP 1 id {WINDOW} ORDER BY x DESC"
    plain = spark.sql(
        "SELECT timestamp_seconds(id % 2) AS ts, CASE WHEN id < 100 THEN double('NaN')"
        " WHEN id < 200 THEN NULL WHEN id < 500 THEN 7D ELSE 1D END AS x, id FROM range(1000)"
        " UNION ALL SELECT NULL, 3D, id FROM range(50)"
    )
    frame, bounds = bounds_for(plain, text)
    assert isinstance(bounds, Bounds)
    assert bounds.pruned(frame).count() == 100 + 100 + 300 + 50


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=60),
    st.integers(1, 6),
)
def test_the_kth_best_of_groups_bounds_the_kth_best(scored: list[tuple[int, int]], k: int) -> None:
    """What the module's docstring claims, for any way to spread rows over groups."""
    bests: dict[int, int] = {}
    for score, group in scored:
        bests[group] = max(score, bests.get(group, score))
    ranked = sorted(bests.values(), reverse=True)
    bound = ranked[k - 1] if len(ranked) >= k else None
    stay = [score for score, _ in scored if bound is None or score >= bound]
    everything = sorted((score for score, _ in scored), reverse=True)
    assert sorted(stay, reverse=True)[:k] == everything[:k]
    if bound is not None:  # ties with the k-th are all there
        assert stay.count(everything[k - 1]) == everything.count(everything[k - 1])


REFUSED = {
    "SELECT TOP 1 id FROM s [ROWS 10 SLIDE 5] ORDER BY x DESC": "counts rows",
    "SELECT TOP 1 id FROM s [RANGE 9 SECONDS ON ts] ORDER BY x DESC": "every arrival",
    f"SELECT TOP 1 id {WINDOW} WITH PROBABILITY 0.5 ORDER BY x DESC": "WITH PROBABILITY",
    f"SELECT TOP 1 id {WINDOW} ORDER BY x DESC; SELECT TOP 1 id {WINDOW} ORDER BY id": "several",
    f"SELECT TOP 1 id {WINDOW} PARTITION BY d ORDER BY x DESC": "PARTITION BY .* double",
    "SELECT TOP 1 id FROM s [RANGE 9 SECONDS SLIDE 1 SECOND ON w] ORDER BY x DESC": "type string",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_bounds(spark: Any, text: str) -> None:
    frame = spark.sql(
        "SELECT timestamp_seconds(id) AS ts, '1970-01-01T00:00:01' AS w, id, 1D AS x, 2D AS d"
        " FROM range(9)"
    )
    with pytest.raises(PlanError, match=f"prune=True, but .*{REFUSED[text]}"):
        topk(frame, text, prune=True)
    assert topk(frame, text).count() >= 1


def test_a_stream_is_read_once(spark: Any) -> None:
    text = "SELECT TOP 1 value FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS ON timestamp] ORDER BY value"
    frame = spark.readStream.format("rate").load()
    with pytest.raises(PlanError, match="a stream is read once"):
        topk(frame, text, prune=True)


def test_times_without_zone_need_utc(spark: Any) -> None:
    text = f"SELECT TOP 1 id {WINDOW} ORDER BY id DESC"
    frame = spark.sql("SELECT TIMESTAMP_NTZ'1970-01-01' AS ts, id FROM range(9)")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        with pytest.raises(PlanError, match="timestamp_ntz, in a session in the time zone Asia"):
            topk(frame, text, prune=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


# -- what is decided ------------------------------------------------------------------------------

LARGE = (
    "SELECT timestamp_millis(id DIV 10) AS ts, id % 7 AS g, id * 7919 % 100003 AS x"
    " FROM range(4000000)"
)
BEST = f"SELECT TOP 2 x {WINDOW} ORDER BY x DESC"
DECIDED = {
    "large": (lambda frame: frame, BEST, None),
    "filtered": (lambda frame: frame.filter("x % 5 > 2").withColumn("y", frame.x), BEST, None),
    "by seven": (lambda frame: frame, BEST.replace("ORDER", "PARTITION BY g ORDER"), None),
    "one by one": (
        lambda frame: frame, BEST.replace("ORDER", "PARTITION BY x ORDER"), "holds about . rows"
    ),
    "limited": (lambda frame: frame.limit(2_000_000), BEST, "GlobalLimit"),
    "sampled": (lambda frame: frame.sample(0.9), BEST, "Sample"),
    "joined": (lambda frame: frame.join(frame.select("g").distinct(), "g"), BEST, "Join"),
    "random": (
        lambda frame: frame.selectExpr("ts", "g", "x + rand() AS x"), BEST, r"other values \(rand"
    ),
    "in no order": (
        lambda frame: frame.selectExpr("timestamp_seconds(x) AS ts", "x"), BEST, "about . rows"
    ),
    "enormous": (
        lambda frame: frame.sparkSession.range(10**13).selectExpr(
            "timestamp_millis(id) AS ts", "id AS x"
        ), BEST, "too many to broadcast"
    ),
    "small": (lambda frame: frame.filter("false"), BEST, "small|holds about 0 rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", DECIDED)
def test_what_is_decided(spark: Any, case: str, caplog: pytest.LogCaptureFixture) -> None:
    change, text, reason = DECIDED[case]
    frame = change(spark.sql(LARGE))
    with caplog.at_level(logging.INFO, logger="crestline.spark"):
        topk(frame, text)
    (message,) = caplog.messages
    plan = crestline.spark.explain(frame, text)
    assert (plan.pruned, plan.pruning) == (reason is None, message)
    assert str(plan).endswith(f"pruning   {message}")
    if reason is None:
        assert message == "rows are pruned inside the JVM, by the best of 8 groups a pane"
    else:
        assert message.startswith("rows are not pruned inside the JVM: ")
        assert re.search(reason, message), message


def test_explain_tells_what_the_arguments_ask_for(spark: Any) -> None:
    frame = spark.sql(LARGE)
    by_group = BEST.replace("ORDER", "PARTITION BY g ORDER")
    asked = crestline.spark.explain(frame, by_group, buckets=3, prune=False)
    assert (asked.algorithm, asked.streaming, asked.buckets) == ("MINTOPK", False, 3)
    assert asked.pruning == "rows are not pruned inside the JVM: prune=False asks for it"
    assert "on Spark  a batch, 3 pieces of state" in repr(asked)
    assert "3 pieces of state" in asked._repr_html_()
    stream = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "value AS x")
    streamed = crestline.spark.explain(stream, BEST)
    assert (streamed.streaming, streamed.buckets, streamed.pruned) == (True, 1, False)
    assert "a stream is read once; crestline.spark.EachBatch" in streamed.pruning
    with pytest.raises(PlanError, match="prune=True, but .* a stream is read once"):
        crestline.spark.explain(stream, BEST, prune=True)


def test_a_cached_frame_is_cheap_however_it_was_computed(spark: Any) -> None:
    frame = spark.sql(LARGE).repartition(2).sortWithinPartitions("ts").cache()
    try:
        projected, bounds = bounds_for(frame, BEST)
        assert isinstance(bounds, Bounds)
        assert "InMemoryRelation" not in (against_pruning(projected, bounds) or "")
    finally:
        frame.unpersist()


def test_a_plan_that_cannot_be_read_is_not_cheap() -> None:
    assert explained("Spark says something else").parts == ()
