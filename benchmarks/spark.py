"""A stream of parquet files through Spark: Crestline against Spark's own operators.

All contenders share one session of Spark on this machine's cores, with as many shuffle partitions
as cores and Spark's default state store. Sections: files that Crestline's workers read, DataFrames
of users, and how the cost of `topk` grows. Contenders take turns; the turn with the quickest steady
state counts, and times count only if answers agree. Contenders that copy every row a hundred times
run on smaller micro-batches, and their times are scaled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks import spark_files, spark_frames, spark_growth
from benchmarks.measure import Say, columns, goal_lines, machine, machine_line, short
from benchmarks.spark_stream import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECTIONS = ("files", "frames", "growth")


def run(
    *,
    quick: bool,
    say: Say,
    sections: tuple[str, ...] = SECTIONS,
    session: SparkSession | None = None,
) -> dict[str, Any]:
    """Measure. Without a `session` there is one for the time of the run."""
    if session is None:
        from crestline.spark.session import stop

        session = open_session()
        try:
            return run(quick=quick, say=say, sections=sections, session=session)
        finally:
            stop(session)
    facts = machine()
    result: dict[str, Any] = {
        "suite": "spark",
        "machine": facts | {"versions": facts["versions"] | {"spark": session.version}},
        "session": _session_facts(session),
    }
    if "files" in sections:
        sizes = spark_files.QUICK if quick else spark_files.Sizes()
        result["files"] = spark_files.files(session, sizes, say)
    if "frames" in sections:
        of_frames = spark_frames.QUICK if quick else spark_frames.Sizes()
        result["frames"] = spark_frames.frames(session, of_frames, say)
    if "growth" in sections:
        result["growth"] = spark_growth.growth(session, quick, say)
    judged = [result[name]["goals"] for name in ("files", "frames") if name in result]
    result["goals"] = [goal for goals in judged for goal in goals]
    return result


def _session_facts(session: SparkSession) -> dict[str, str]:
    store = session.conf.get("spark.sql.streaming.stateStore.providerClass")
    return {
        "master": session.conf.get("spark.master"),
        "driver memory": session.conf.get("spark.driver.memory", "-"),
        "shuffle partitions": session.conf.get("spark.sql.shuffle.partitions"),
        "state store": store.rpartition(".")[2],
        "Arrow rows a batch": session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"),
    }


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    parts = [
        "Trades through Spark, window 100 s, k = 10. Seconds for a micro-batch in steady state: of"
        " Spark's plans and of DataFrames the work on it (addBatch), of files that Crestline"
        " follows the whole round.",
        machine_line(result["machine"]),
        ", ".join(f"{name} {value}" for name, value in result["session"].items()),
    ]
    if "files" in result:
        parts.append(spark_files.table(result["files"]))
    if "frames" in result:
        parts.append(spark_frames.table(result["frames"]))
    parts += [_series_table(name, rows) for name, rows in result.get("growth", {}).items()]
    parts.append(goal_lines(result["goals"]))
    return "\n\n".join(parts)


def _series_table(name: str, series: list[dict[str, Any]]) -> str:
    rows: list[list[object]] = [[name, "steady seconds", "times the first", "state kB"]]
    first = series[0]["seconds"]
    for one in series:
        value = short(one["value"]) if isinstance(one["value"], int) else one["value"]
        if one["seconds"] is None:
            rows.append([value, "gave up", "-", "-"])
            continue
        ratio = f"{one['seconds'] / first:.2f} x" if first else "-"
        rows.append([value, f"{one['seconds']:.3f}", ratio, f"{one['state_bytes'] / 1e3:.0f}"])
    return columns(rows)


__all__ = ["run", "table"]
