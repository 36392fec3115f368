"""Sessions may be remote (Spark Connect); then there is no SparkContext in this process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


#: Of remote sessions, which have to run a job to tell.
_remote_parallelism: WeakKeyDictionary[SparkSession, int] = WeakKeyDictionary()


def context_of(session: SparkSession) -> SparkContext | None:
    """The context of a session; None if the session is remote."""
    context: SparkContext | None = getattr(session, "sparkContext", None)
    return context


def remote_session(address: str | None) -> SparkSession | None:
    """The session at an address such as ``sc://host:15002``, or the remote session that is active;
    None if there is neither."""
    if address is not None and address.startswith("sc://"):
        from pyspark.sql import SparkSession

        return SparkSession.builder.remote(address).getOrCreate()
    module: Any = sys.modules.get("pyspark.sql.connect.session")
    active: SparkSession | None = None
    if module is not None and address is None:
        active = module.SparkSession.getActiveSession()
    return active


def on_this_machine(session: SparkSession) -> bool:
    """Whether all workers run on this machine, as far as Spark tells."""
    context = context_of(session)
    return context is not None and str(context.master).startswith("local")


def parallelism(session: SparkSession) -> int:
    """The number of tasks that run at once, as far as Spark tells."""
    context = context_of(session)
    if context is not None:
        return max(1, int(context.defaultParallelism))
    if session not in _remote_parallelism:
        from pyspark.sql import functions as F

        # A remote session has no context, but its ranges have one part for each core.
        tasks = session.range(0, 4096).select(F.spark_partition_id().alias("task"))
        _remote_parallelism[session] = max(1, tasks.distinct().count())
    return _remote_parallelism[session]


__all__ = ["context_of", "on_this_machine", "parallelism", "remote_session"]
