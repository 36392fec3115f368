"""Queries on a DataFrame: project, prune near the source, one stateful step, unpack.

::

    frame -> Catalyst: filter, score -> Prune -> shuffle by bucket -> Step -> Unpack -> result rows
                                        few rows                    state

A bucket is a hash of the PARTITION BY values; a query without PARTITION BY has one bucket. The
state of all queries for one bucket is one binary value. With COMBINE, where the answer allows it,
the bucket is a hash of the object too, and the rows of all buckets are merged (``Merge``). Merging
needs no state, because all buckets report a window end in the same round. The watermark is our own:
each task tells every bucket how far time has come, so a result comes out in the round that makes it
due.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.core.errors import ShufflePartitionsWarning
from crestline.core.tables import REJECTS
from crestline.language import Query, in_full
from crestline.planner import Bundle
from crestline.runtime.queries import named_queries
from crestline.spark.catalyst import Projected, arranged_on, arrow_schema, project
from crestline.spark.inputs import one_frame
from crestline.spark.pruning import decide
from crestline.spark.remote import parallelism
from crestline.spark.spread import BUCKETS, check_buckets, spread_by
from crestline.spark.stages import (
    Merge,
    Prune,
    Reading,
    Step,
    Unpack,
    bounded_step,
    stateful_step,
)
from crestline.spark.stages.rows import OUTCOME, PRUNED, Kind, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData, SparkSession
    from pyspark.sql.types import StructType


_log = logging.getLogger("crestline.spark")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Queries planned on a frame; ``outcome`` is a frame of all that they give, as bytes."""

    projected: Projected
    outcome: DataFrame
    #: The frame before the step, by bucket, and the step: only of a batch that is not merged.
    gathered: tuple[GroupedData, Step] | None = None

    def merged(self) -> Pipeline:
        """The same pipeline, with the answers of shards merged."""
        from pyspark.sql import functions as F

        sharded = sum(member.shards for member in self.projected.members)
        if not sharded:
            return self
        # Spark shuffles the rows of a stateful step only after a computation on them.
        member = F.coalesce("member", F.lit(-1)).alias("member")
        others = [name for name in OUTCOME.names if name != "member"]
        gathered = self.outcome.select(member, *others).repartition(sharded, "member")
        merged = gathered.mapInArrow(Merge(self.projected.members), ddl(OUTCOME))
        return replace(self, outcome=merged, gathered=None)

    def results(self) -> DataFrame:
        """The result rows of all queries. The outcome must be ``merged``."""
        schema = self.projected.results
        stage = Unpack(Kind.ROWS, arrow_schema(schema).serialize().to_pybytes())
        return self._unpacked(stage, schema)

    def rejects(self) -> DataFrame:
        """The records that were set aside, with their reasons."""
        stage = Unpack(Kind.REJECTS, REJECTS.serialize().to_pybytes())
        return self._unpacked(stage, ddl(REJECTS))

    def _unpacked(self, stage: Unpack, schema: StructType | str) -> DataFrame:
        if self.gathered is None:
            return self.outcome.mapInArrow(stage, schema)
        # The step unpacks too, which saves a Python worker per task.
        by_bucket, step = self.gathered
        return by_bucket.applyInArrow(_step_and_unpack(step, stage), schema)


def pipeline(
    frame: DataFrame,
    queries: dict[str, Query],
    *,
    buckets: int | None = None,
    reading: Reading | None = None,
    prune: bool | None = False,
) -> Pipeline:
    """Plan the queries on a batch or streaming frame. ``prune`` is that of ``topk``."""
    reading = reading or Reading()
    bounded = not frame.isStreaming
    bundles = arranged_on(frame, queries, bounded=bounded)  # refuses queries before anything runs
    buckets = buckets_for(frame, bundles, buckets)
    if not bounded:
        _warn_of_partitions(frame.sparkSession, buckets)
    projected = project(frame, bundles, buckets)
    step = Step(projected.members, buckets, bounded, reading.keep_rejects, reading.whole)
    records = projected.frame
    if prune is not False:
        decision = decide(projected, bundles, prune)
        _log.info(decision.told)
        if decision.bounds is not None:
            records = decision.bounds.pruned(records)
    best = records.mapInArrow(Prune(projected.members, buckets, reading), ddl(PRUNED))
    by_bucket = best.groupBy("bucket")
    if bounded:
        outcome = by_bucket.applyInArrow(bounded_step(step), ddl(OUTCOME))
        return Pipeline(projected, outcome, (by_bucket, step))
    outcome = by_bucket.applyInPandasWithState(
        stateful_step(step), ddl(OUTCOME), "state binary", "append", "NoTimeout"
    )
    return Pipeline(projected, outcome)


def _step_and_unpack(step: Step, stage: Unpack) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """For ``groupBy("bucket").applyInArrow``."""
    stepped = bounded_step(step)

    def run(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        rows = stage(stepped(key, table).to_batches())
        return pa.Table.from_batches(rows, pa.ipc.read_schema(pa.py_buffer(stage.schema)))

    return run


def buckets_for(frame: DataFrame, bundles: list[Bundle], buckets: int | None) -> int:
    """The number of buckets: what is asked for, if it can be, or what suits the frame."""
    if buckets is not None:
        check_buckets(buckets)
        return buckets
    if not any(spread_by(bundle.plan) for bundle in bundles):
        return 1
    return BUCKETS if frame.isStreaming else 2 * parallelism(frame.sparkSession)


def _warn_of_partitions(session: SparkSession, buckets: int) -> None:
    """Warn if the session has many more shuffle partitions than there is state to spread.

    Spark takes the number of a stateful step from the session when a query starts, so only the user
    can change it.
    """
    setting = "spark.sql.shuffle.partitions"
    partitions = session.conf.get(setting) or ""
    enough = max(buckets, parallelism(session))
    if partitions.isdecimal() and int(partitions) > 2 * enough:
        warnings.warn(
            f"{setting} is {partitions}, but the query has {buckets} pieces of state. Each of the"
            " others costs a task and some files in every round. Before a new checkpoint is begun:"
            f" spark.conf.set('{setting}', {enough})",
            ShufflePartitionsWarning,
            stacklevel=4,
        )


def topk(
    frame: DataFrame | Mapping[str, DataFrame],
    query: str | Query,
    *,
    buckets: int | None = None,
    metrics: str | None = "crestline",
    prune: bool | None = None,
) -> DataFrame:
    """The results of a query (or several, separated by ``;``) over a DataFrame, as a DataFrame.

    Streaming frames give an append-only stream of the rows that fall due. Batch frames give the
    rows of a bounded run. A batch has no order of arrival, so none of its records is late.

    A query with several inputs (``FROM a, b, c``) takes a dictionary with a frame for each. Whether
    a record of a stream is late depends on the event times of all inputs: let LATENESS be as long
    as one input may be behind another.

    ``buckets`` is the number of pieces of state over which partitions and objects are spread. It is
    part of a streaming query's checkpoint.

    A streaming query reports in its progress what each round brought, as observed metrics under the
    name ``metrics``: ``result_rows``, ``rows_late`` and ``rows_rejected`` of the round, the
    ``records_kept`` after it, and the ``lateness_needed`` so far. The latter is the LATENESS, in
    microseconds, that no record would have been late with.

    ``prune`` says whether the rows of a batch are pruned inside the JVM before they move to Python.
    This reads the frame twice. No result changes, if both readings give the same rows. By default
    Crestline decides. ``crestline.spark.explain`` says what it decides and why, and so does the
    logger ``crestline.spark`` at level INFO.
    """
    queries = named_queries(query)
    together = one_frame(frame, queries)
    queries = in_full(queries, together.columns)
    planned = pipeline(together, queries, buckets=buckets, prune=prune).merged()
    if together.isStreaming and metrics is not None:
        planned = replace(planned, outcome=_observed(planned.outcome, metrics))
    return planned.results()


def _observed(outcome: DataFrame, name: str) -> DataFrame:
    from pyspark.sql import functions as F

    counts = [field.name for field in OUTCOME if field.type == pa.int64()]
    most = F.max("lateness_needed").alias("lateness_needed")
    sums = [F.sum(count).alias(count) for count in counts if count != "lateness_needed"]
    return outcome.observe(name, *sums, most)


def rejects(
    frame: DataFrame | Mapping[str, DataFrame], query: str | Query, *, buckets: int | None = None
) -> DataFrame:
    """The records that ``topk`` sets aside, with reasons: a run of its own over the same frame.

    Late records are listed if they could have been among the k best; ``topk`` counts all of them.
    """
    reading = Reading(keep_rejects=True)
    queries = named_queries(query)
    together = one_frame(frame, queries)
    queries = in_full(queries, together.columns)
    return pipeline(together, queries, buckets=buckets, reading=reading).rejects()
