"""The questions asked of Crestline on Spark, with the same settings as `with_spark`."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.rivals import with_spark
from benchmarks.rivals.question import Question, Timed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@cache
def session() -> SparkSession:
    from crestline.spark.session import start

    cores = str(os.cpu_count())
    memory = {"spark.driver.memory": with_spark.MEMORY}
    return start("local[*]", memory | {"spark.sql.shuffle.partitions": cores})


def from_stream(q: Question) -> Timed:
    from crestline.spark import topk

    spark = session()
    return with_spark.collected(spark, topk(with_spark.stream(spark, q), q.text))


def from_table(q: Question) -> pa.Table:
    from crestline.spark import topk

    trades = session().read.parquet(str(Path(q.files).parent))
    return topk(trades, q.text).toArrow()


CRESTLINE: dict[str, Callable[[Question], pa.Table | Timed]] = {
    "crestline on spark, stream": from_stream,
    "crestline on spark, bounded": from_table,
}
