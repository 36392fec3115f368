"""How long Spark takes over a stream of parquet files, micro-batch by micro-batch.

Every contender gets the same session, the same files in the same order, a fresh checkpoint, the
trigger `availableNow` and a sink that throws all rows away. Spark itself tells the times:
*addBatch* is the work on a micro-batch, *triggerExecution* adds what comes on top of it for every
plan alike (listing the files, planning, the write-ahead log, the commit).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.spark_rivals import COLUMNS, SETTINGS, Asked, Formulation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

#: Micro-batches that count as the start: the first one compiles, the second is the first to report.
START = 2
#: Seconds after which a contender is stopped; the micro-batches that it has finished count.
PATIENCE = 600
MEMORY = "4g"

Plan = Callable[["DataFrame"], "DataFrame"]


def asking(formulation: Formulation, asked: Asked) -> Plan:
    """The plan of a formulation for one question."""
    return lambda frame: formulation(frame, asked)


def open_session() -> SparkSession:
    """The session that all contenders share."""
    from crestline.spark.session import start

    return start(conf={"spark.driver.memory": MEMORY, **SETTINGS})


@dataclass(frozen=True, slots=True)
class Stream:
    """A folder of parquet files, some of which make a micro-batch."""

    session: SparkSession
    folder: Path
    files_a_batch: int = 2

    def table(self) -> DataFrame:
        """All of it, as a bounded table."""
        return self.session.read.parquet(str(self.folder)).select(*COLUMNS)

    def frame(self, batches: int | None = None) -> DataFrame:
        """All micro-batches, or the first of them."""
        files = sorted(file.name for file in self.folder.iterdir())
        if batches is not None:
            files = files[: batches * self.files_a_batch]
        reader = self.session.readStream.schema(self.session.read.parquet(str(self.folder)).schema)
        reader = reader.option("maxFilesPerTrigger", self.files_a_batch)
        reader = reader.option("pathGlobFilter", "{" + ",".join(files) + "}")
        return reader.parquet(str(self.folder)).select(*COLUMNS)


def in_order(folder: Path) -> Path:
    """The folder, its files modified in the order of their names: so Spark reads them."""
    files = sorted(folder.iterdir())
    times = [file.stat().st_mtime for file in files]
    if any(later - earlier < 0.01 for earlier, later in zip(times, times[1:], strict=False)):
        for number, file in enumerate(files):
            os.utime(file, (times[0] + number, times[0] + number))
    return folder


def measure(
    stream: Stream,
    plan: Plan,
    *,
    batches: int | None = None,
    patience: float = PATIENCE,
    each: Callable[[str], Callable[[DataFrame, int], None]] | None = None,
) -> dict[str, Any]:
    """Run a plan over all micro-batches, or the first `batches`, and tell their times.

    `each` makes what takes the micro-batches by `foreachBatch`; it is given an empty folder.
    """
    with (
        tempfile.TemporaryDirectory(prefix="crestline-bench-") as checkpoint,
        setting(stream.session, {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}),
    ):
        writer = plan(stream.frame(batches)).writeStream.format("noop")
        if each is not None:
            writer = writer.foreachBatch(each(f"{checkpoint}/ours"))
        began = time.perf_counter()
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        finished = _wait(query, patience)
        seconds = time.perf_counter() - began
        found = summary([_figures(progress) for progress in query.recentProgress])
        found |= {"finished": finished, "seconds": round(seconds, 3)}
    return found


def _wait(query: StreamingQuery, patience: float) -> bool:
    """Whether the stream came to its end in time."""
    if query.awaitTermination(patience):
        return True
    query.stop()
    return False


def _figures(progress: Any) -> dict[str, Any]:
    spent = progress.durationMs
    return {
        "rows": progress.numInputRows,
        "add_batch": spent.get("addBatch", 0) / 1000,
        "trigger": spent["triggerExecution"] / 1000,
        "state_bytes": sum(operator.memoryUsedBytes for operator in progress.stateOperators),
    }


def summary(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """Start and steady state of a stream.

    >>> times = [9.0, 3.0, 2.0, 1.0, 1.0]
    >>> found = summary([
    ...     {"rows": 10, "add_batch": t, "trigger": t + 1, "state_bytes": 0} for t in times
    ... ])
    >>> found["first"], found["steady"], found["steady_trigger"], found["steady_batches"]
    (9.0, 1.0, 2.0, 3)
    """
    batches = [batch for batch in batches if batch["rows"]]
    if len(batches) <= START:
        return {"batches": batches, "gave_up": f"{len(batches)} micro-batches in the given time"}
    steady = batches[START:]
    return {
        "batches": batches,
        "rows_a_batch": median(batch["rows"] for batch in steady),
        "first": batches[0]["add_batch"],
        "first_trigger": batches[0]["trigger"],
        "steady": median(batch["add_batch"] for batch in steady),
        "steady_trigger": median(batch["trigger"] for batch in steady),
        "steady_batches": len(steady),
        "state_bytes": median(batch["state_bytes"] for batch in steady),
    }


def collected(stream: Stream, plan: Plan, patience: float = PATIENCE) -> pa.Table:
    """All rows that a plan gives over a stream."""
    name = f"crestline_bench_{time.monotonic_ns()}"
    with tempfile.TemporaryDirectory(prefix="crestline-bench-") as checkpoint:
        writer = plan(stream.frame()).writeStream.format("memory").queryName(name)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        if not _wait(query, patience):
            raise TimeoutError(f"no answer within {patience:g} s")
        try:
            return stream.session.table(name).toArrow()
        finally:
            stream.session.catalog.dropTempView(name)


def batch_seconds(stream: Stream, plan: Plan) -> float:
    """Seconds that a plan takes over all the files as one bounded table."""
    began = time.perf_counter()
    plan(stream.table()).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


@contextmanager
def setting(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session for a while."""
    before = {key: session.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)
