"""The questions asked of Crestline on Spark, with the same settings as `with_spark`."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.rivals import with_spark
from benchmarks.rivals.question import Question, Timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@cache
def session() -> SparkSession:
    from crestline.spark.session import start

    cores = str(os.cpu_count())
    memory = {"spark.driver.memory": with_spark.MEMORY}
    return start("local[*]", memory | {"spark.sql.shuffle.partitions": cores})


def from_stream(q: Question) -> Timed:
    """Followed files, as many in a round as Spark's streams take in a micro-batch. The time is that
    of all rounds, from the look for files to the rows."""
    from crestline.runtime.queries import named_queries
    from crestline.spark.follow import Follow, checkpoint_at

    queries = named_queries(q.text)
    (name,) = queries
    folder, found = Path(q.files).parent, []
    each = with_spark.files_of_a_batch(folder, q)
    with tempfile.TemporaryDirectory(prefix="crestline-rivals-") as scratch:
        run = Follow(
            session(), queries, str(folder), checkpoint_at(Path(scratch, "checkpoint"), queries),
            lambda round: found.append(round.rows[name]), "available-now", files_per_trigger=each,
        )  # fmt: skip
        began = time.perf_counter()
        try:
            run.start()
            run.wait()
            seconds = time.perf_counter() - began
        finally:
            run.stop()
    return Timed(pa.concat_tables(found), seconds)


def from_table(q: Question) -> pa.Table:
    """The files, read once."""
    import crestline

    session()
    return crestline.run(q.text, str(Path(q.files).parent), engine="spark").to_arrow()


CRESTLINE: dict[str, Callable[[Question], pa.Table | Timed]] = {
    "crestline on spark, stream": from_stream,
    "crestline on spark, bounded": from_table,
}
