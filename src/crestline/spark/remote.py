"""Sessions may be remote (Spark Connect); then there is no SparkContext in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def context_of(session: SparkSession) -> SparkContext | None:
    """The context of a session; None if the session is remote."""
    context: SparkContext | None = getattr(session, "sparkContext", None)
    return context


def parallelism(session: SparkSession) -> int:
    """The number of tasks that run at once, as far as Spark tells."""
    context = context_of(session)
    if context is not None:
        return max(1, int(context.defaultParallelism))
    from pyspark.sql import functions as F

    # A remote session has no context, but its ranges have one part for each core.
    tasks = session.range(0, 4096).select(F.spark_partition_id().alias("task"))
    return max(1, tasks.distinct().count())


__all__ = ["context_of", "parallelism"]
