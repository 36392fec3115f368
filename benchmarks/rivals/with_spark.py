"""The questions asked of Spark's own operators, as a stream of files and as one bounded table.

The formulations themselves are those of `benchmarks/spark_rivals.py`. A stream of files is read to
its end (`availableNow`) into a sink in memory; the time is what Spark says its micro-batches took.
A window comes out when the watermark has passed its end, so the last one never does.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.rivals.question import Question, Timed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: Rows of a micro-batch, as far as there are enough for two of them.
A_BATCH = 1_000_000
MEMORY = "4g"


@cache
def session() -> SparkSession:
    """One for all formulations, on all cores, with as many shuffle partitions as cores."""
    from pyspark.sql import SparkSession

    from benchmarks.spark_rivals import SETTINGS

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": MEMORY,
        "spark.driver.maxResultSize": "0",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(os.cpu_count()),
        **SETTINGS,
    }
    builder = SparkSession.builder.master("local[*]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def files_of_a_batch(folder: Path, q: Question) -> int:
    """How many files make a micro-batch."""
    files = len(list(folder.glob("*.parquet")))
    return -(-files // max(2, q.rows // A_BATCH))


def stream(spark: SparkSession, q: Question) -> DataFrame:
    """The files in the order of their names; Spark itself goes by when they were changed."""
    from benchmarks.spark_stream import in_order

    folder = in_order(Path(q.files).parent)
    schema = spark.read.parquet(str(folder)).schema
    each = files_of_a_batch(folder, q)
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", each)
    return reader.parquet(str(folder))


def collected(spark: SparkSession, answer: DataFrame) -> Timed:
    """All rows that a stream gives until the files are read."""
    name = f"rival_{time.monotonic_ns()}"
    with tempfile.TemporaryDirectory(prefix="crestline-rivals-") as checkpoint:
        writer = answer.writeStream.format("memory").queryName(name)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        took = [progress.durationMs["triggerExecution"] for progress in query.recentProgress]
        try:
            return Timed(spark.table(name).toArrow(), sum(took) / 1000)
        finally:
            spark.catalog.dropTempView(name)


def _lists(answer: DataFrame, q: Question) -> DataFrame:
    """The end of each window in microseconds, its symbol, and its records as a list."""
    from pyspark.sql import functions as F

    keys = ["symbol"] if q.by else []
    end = F.unix_micros(F.col("window.end")).alias("window_end")
    return answer.select(end, *keys, F.col("best.price").alias("prices"))


def _ask(formulation: str, bounded: bool, q: Question) -> pa.Table | Timed:
    from benchmarks import spark_rivals

    spark = session()
    plan: Callable[[Any, Any], Any] = getattr(spark_rivals, formulation)
    asked = spark_rivals.Asked(q.slide, by=q.by, width=q.width, k=q.k)
    if bounded:
        table = spark.read.parquet(str(Path(q.files).parent)).select(*spark_rivals.COLUMNS)
        return _lists(plan(table, asked), q).toArrow()
    trades = stream(spark, q).select(*spark_rivals.COLUMNS)
    return collected(spark, _lists(plan(trades, asked), q))


QuerySpec = Callable[[Question], "pa.Table | Timed"]

OBVIOUS: dict[str, QuerySpec] = {
    "spark stream, window + max_by": partial(_ask, "obvious", False),
    "spark bounded, window + max_by": partial(_ask, "obvious", True),
}
PANES_FIRST: dict[str, QuerySpec] = {
    "spark stream, panes, max_by": partial(_ask, "panes_then_max_by", False),
    "spark stream, panes, lists": partial(_ask, "panes_then_lists", False),
    "spark bounded, panes, max_by": partial(_ask, "panes_then_max_by", True),
}
