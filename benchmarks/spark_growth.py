"""How the cost of a micro-batch on Spark grows, for the suite `spark`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Say, short
from benchmarks.spark_rivals import PANES_FIRST, STORES, Asked, Formulation, crestline_topk
from benchmarks.spark_stream import Plan, Stream, measure, setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Micro-batches of the contenders that copy every row ten times, and of these series.
SOME = 5


def asking(formulation: Formulation, asked: Asked) -> Plan:
    """The plan of a formulation for one question."""
    return lambda frame: formulation(frame, asked)


def growth(stream: Stream, folder: Path, quick: bool, say: Say) -> dict[str, list[dict[str, Any]]]:
    """Measure how the cost grows: rows, k, keys, queries, buckets, shuffle partitions, stores."""
    session = stream.session

    def steady(what: str, on: Stream, plan: Plan) -> dict[str, Any]:
        say(f"growth: {what}")
        found = measure(on, plan, batches=SOME)
        return {"seconds": found.get("steady"), "state_bytes": found.get("state_bytes")}

    def few(values: tuple[int, ...]) -> tuple[int, ...]:
        return (values[0], values[-1]) if quick else values

    series: dict[str, list[dict[str, Any]]] = {}
    for by, name in ((False, ""), (True, ", by symbol")):
        series[f"rows a micro-batch{name}"] = [
            {"value": short(stream_rows)}
            | steady(
                f"micro-batches of {count} files{name}",
                Stream(session, folder, count),
                asking(crestline_topk, Asked(10, by=by)),
            )
            for count in few((1, 2, 4))
            for stream_rows in [_rows_of(folder, count)]
        ]
        series[f"k{name}"] = [
            {"value": k}
            | steady(f"k = {k}{name}", stream, asking(crestline_topk, Asked(10, by=by, k=k)))
            for k in few((1, 10, 100, 1_000))
        ]
    series["keys (slide 50 s)"] = [
        {"value": short(count)} | steady(f"{count} keys", stream, _by_many(count))
        for count in few((1, 500, 10_000, 100_000))
    ]
    series["queries in one plan"] = [
        {"value": count} | steady(f"{count} queries", stream, _several(count))
        for count in few((1, 4, 16))
    ]
    series["buckets of state, by symbol"] = [
        {"value": count} | steady(f"{count} buckets", stream, _in_buckets(count))
        for count in few((1, 4, 16, 64))
    ]
    by_symbol = Asked(10, by=True)
    partitions = []
    for count in few((1, 2, 8)):
        with setting(session, {"spark.sql.shuffle.partitions": str(count)}):
            plan = asking(crestline_topk, by_symbol)
            got = steady(f"{count} shuffle partitions", stream, plan)
            partitions.append({"value": count} | got)
    series["shuffle partitions, by symbol"] = partitions
    for name, formulation in PANES_FIRST.items():
        stores = []
        for store, settings in STORES.items():
            with setting(session, settings):
                got = steady(f"{name}, state in {store}", stream, asking(formulation, by_symbol))
                stores.append({"value": store} | got)
        series[f"state store of the rival {name!r}, by symbol"] = stores
    return series


def _rows_of(folder: Path, files: int) -> int:
    import pyarrow.parquet

    return files * int(pyarrow.parquet.read_metadata(min(folder.iterdir())).num_rows)


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


__all__ = ["SOME", "asking", "growth"]
