"""How the cost of `topk` on a streaming DataFrame grows, for the suite `spark`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Say
from benchmarks.spark_rivals import Asked, crestline_topk
from benchmarks.spark_stream import START, Plan, Stream, asking, in_order, measure, setting
from benchmarks.trades import trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILE_ROWS, _FILES_A_BATCH = 500_000, 2
#: Micro-batches of a measurement.
SOME = START + 3
_STORE = "spark.sql.streaming.stateStore."
_PACKAGE = "org.apache.spark.sql.execution.streaming.state."
_CHANGELOG = f"{_STORE}rocksdb.changelogCheckpointing.enabled"
_ROCKSDB = f"{_PACKAGE}RocksDBStateStoreProvider"
#: Where Spark can keep state, as settings.
STORES = {
    "heap (default)": {f"{_STORE}providerClass": f"{_PACKAGE}HDFSBackedStateStoreProvider"},
    "RocksDB": {f"{_STORE}providerClass": _ROCKSDB, _CHANGELOG: "false"},
    "RocksDB, changelog": {f"{_STORE}providerClass": _ROCKSDB, _CHANGELOG: "true"},
}

Series = list[dict[str, Any]]


def growth(
    session: SparkSession, quick: bool, say: Say, file_rows: int = _FILE_ROWS
) -> dict[str, Series]:
    """Measure how the cost grows: k, keys, queries, buckets, and by settings of Spark."""
    rows = SOME * _FILES_A_BATCH * (file_rows // 10 if quick else file_rows)
    folder = in_order(trades(rows, say, files=SOME * _FILES_A_BATCH))
    stream = Stream(session, folder, _FILES_A_BATCH)

    def steady(what: str, value: object, plan: Plan, settings: Mapping[str, str]) -> dict[str, Any]:
        say(f"growth: {what}: {value}")
        with setting(session, settings):
            found = measure(stream, plan)
        return {
            "value": value,
            "seconds": found.get("steady"),
            "state_bytes": found.get("state_bytes"),
        }

    def few(values: tuple[int, ...]) -> tuple[int, ...]:
        return (values[0], values[-1]) if quick else values

    plans: dict[str, dict[int, Plan]] = {
        "k": {k: asking(crestline_topk, Asked(10, k=k)) for k in few((1, 10, 100, 1_000))},
        "keys (slide 50 s)": {n: _by_many(n) for n in few((1, 500, 10_000, 100_000))},
        "queries in one plan": {n: _several(n) for n in few((1, 4, 16))},
        "buckets of state, by symbol": {n: _in_buckets(n) for n in few((1, 4, 16, 64))},
    }
    say("growth: warming up (not counted)")
    measure(stream, asking(crestline_topk, Asked(10)))
    series: dict[str, Series] = {
        what: [steady(what, value, plan, {}) for value, plan in by_value.items()]
        for what, by_value in plans.items()
    }
    by_symbol = asking(crestline_topk, Asked(10, by=True))
    partitions = {n: {"spark.sql.shuffle.partitions": str(n)} for n in few((1, 2, 8))}
    batches = {
        n: {"spark.sql.execution.arrow.maxRecordsPerBatch": str(n)}
        for n in few((1_000, 10_000, 100_000))
    }
    settings: dict[str, Mapping[Any, Mapping[str, str]]] = {
        "shuffle partitions, by symbol": partitions,
        "state store, by symbol": STORES,
        "Arrow rows a batch, by symbol": batches,
    }
    for what, by_setting in settings.items():
        series[what] = [steady(what, n, by_symbol, conf) for n, conf in by_setting.items()]
    return series


def _by_many(count: int) -> Plan:
    """By a made-up key, so that all else stays the same."""

    def plan(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        keyed = frame.withColumn("key", F.pmod(F.xxhash64("ts"), F.lit(count)))
        return crestline_topk(keyed, Asked(50, by=True, key="key"))

    return plan


def _several(count: int) -> Plan:
    """Queries of different k and slide, named."""
    ks, slides = (10, 5, 20, 50), (10, 5, 2, 1)
    asked = [Asked(slides[(i + i // 4) % 4], k=ks[i % 4]) for i in range(count)]
    text = "; ".join(f"CREATE QUERY q{i} AS {one.text}" for i, one in enumerate(asked))

    def plan(frame: DataFrame) -> DataFrame:
        from crestline.spark import topk

        return topk(frame, text)

    return plan


def _in_buckets(count: int) -> Plan:
    def plan(frame: DataFrame) -> DataFrame:
        from crestline.spark import topk

        return topk(frame, Asked(10, by=True).text, buckets=count)

    return plan


__all__ = ["growth"]
