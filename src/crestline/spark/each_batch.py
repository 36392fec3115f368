"""Queries over the micro-batches of a streaming DataFrame: for Spark's ``foreachBatch``.

``topk`` of a streaming frame keeps its state in Spark's state store. This costs two more Python
stages and a store in every micro-batch. Here a micro-batch is a batch job, and the states are files
of our own, as when files are followed. So a micro-batch takes about half the time, but the folder
of the states has to be named.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from crestline.core.errors import PlanError
from crestline.core.tables import REJECTS
from crestline.language import Query, in_full
from crestline.planner import arrange
from crestline.runtime.metrics import Metrics
from crestline.runtime.queries import named_queries
from crestline.runtime.rounds import Checkpoint
from crestline.spark.catalyst import arranged_on, arrow_schema, project
from crestline.spark.history import States
from crestline.spark.pruning import decide
from crestline.spark.rounds import read_round, run_round
from crestline.spark.spread import BUCKETS, check_buckets, spread_by
from crestline.spark.stages import Prune, Reading, Step
from crestline.spark.stages.rows import PRUNED, ddl
from crestline.spark.stages.unpack import widened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class EachBatch:
    """The results of a query (or several, separated by ``;``), micro-batch by micro-batch.

    >>> def write(rows, number):
    ...     rows.write.mode("overwrite").parquet(f"top/batch={number}")
    >>> stream.writeStream.foreachBatch(EachBatch(text, write, state="state/"))  # doctest: +SKIP

    ``write`` is called after each micro-batch with a DataFrame of the rows that fell due in it, and
    with the number of the micro-batch. Rows, order and lateness are those of ``topk`` on a
    streaming frame. If a micro-batch fails, Spark repeats it, and ``write`` gets the same rows
    under the same number. So results that are written under their number are written exactly once.

    Parameters:
        query: The text of the queries, or a ``Query`` that ``parse`` made of one.
        write: What takes the rows.
        state: A folder for the states, one for each checkpoint of Spark. The driver writes it, and
            with ``PARTITION BY`` all workers do, so it must be on a disk that they share.
        buckets: The number of pieces of state over which partitions and objects are spread; it
            cannot be changed later.
        prune: Prune the rows inside the JVM before they move to Python. This reads each micro-batch
            twice, and both readings must give the same rows. It pays for micro-batches of several
            million rows with many rows in a pane. The counts in ``metrics`` are then those of the
            rows that were moved.
    """

    def __init__(
        self,
        query: str | Query,
        write: Callable[[DataFrame, int], None],
        *,
        state: str | Path,
        buckets: int | None = None,
        prune: bool = False,
    ) -> None:
        queries = named_queries(query)
        for each in queries.values():
            if each.others:
                raise PlanError(
                    "a micro-batch is one frame, but the query has several inputs: use"
                    " crestline.spark.topk"
                )
        if buckets is not None:
            check_buckets(buckets)
        spread = any(spread_by(bundle.plan) for bundle in arrange(queries))
        self._queries, self._write, self._prune = queries, write, prune
        self._checkpoint = Checkpoint.at(
            Path(state), queries, buckets, engine="spark, micro-batches",
            new_buckets=BUCKETS if spread else 1,
        )  # fmt: skip
        self._states = States(str(self._checkpoint.folder.absolute() / "state"))
        self._shown: dict[str, int] = {}
        #: The counts of each query since the state began, and the result rows since this start.
        self.metrics: dict[str, Metrics] = {}
        #: The records that were set aside in the last micro-batch, with reasons.
        self.rejects: pa.Table = REJECTS.empty_table()

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Take a micro-batch in and hand on the rows that fall due."""
        queries = self._queries
        if any(query.star is not None for query in queries.values()):
            queries = in_full(queries, self._checkpoint.columns(frame.columns))
        buckets = self._checkpoint.buckets
        bundles = arranged_on(frame, queries, bounded=False)
        projected = project(frame, bundles, buckets)
        records = projected.frame
        if self._prune:
            bounds = decide(projected, bundles, True).bounds
            assert bounds is not None, "decide raises where rows cannot be pruned"
            records = bounds.pruned(records, keep_latest=True)
        parcels = self._states.parcels if buckets > 1 else None
        prune = Prune(projected.members, buckets, Reading(keep_rejects=True), parcels)
        step = Step(projected.members, buckets, bounded=False, keep_rejects=True)
        pruned = records.mapInArrow(prune, ddl(PRUNED))
        outcome = run_round(pruned, step, self._states, number)
        done = read_round(outcome, step, queries, number, shown=self._shown)
        self.metrics |= done.metrics
        self.rejects = done.rejects
        schema = arrow_schema(projected.results)
        rows = pa.concat_tables([widened(table, schema) for table in done.rows.values()])
        rows = rows.combine_chunks()  # Spark would take the first chunk of a slice for all of it
        self._write(frame.sparkSession.createDataFrame(rows, projected.results), number)


__all__ = ["EachBatch"]
