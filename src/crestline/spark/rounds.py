"""A round of a stream: records that were gathered go into the states of their buckets.

The states are files (``crestline.spark.history``). For a query without partitions the driver merges
what was gathered, since a single task would do the same later; otherwise one task per bucket does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.language import Query
from crestline.runtime.encoders.uncertain import refuse_rules_above_one
from crestline.runtime.roles import Carried
from crestline.runtime.rounds import Round
from crestline.spark.history import States
from crestline.spark.outcome import read_outcome, refuse_bad
from crestline.spark.remote import parallelism
from crestline.spark.stages import Step, kept_step
from crestline.spark.stages.rows import OUTCOME, ddl, payloads_of, received

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_round(pruned: DataFrame | None, step: Step, states: States, number: int) -> pa.Table:
    """Bring the states up to date with the rows of ``Prune`` or ``Scan``; return the outcome.

    A round that is run again starts from the same states.
    """
    outcome = OUTCOME.empty_table()
    if pruned is not None and step.buckets > 1:
        run = kept_step(step, states, number, states.parcels)
        outcome = received(by_bucket(pruned, step.buckets, run).toArrow())
    elif pruned is not None:
        payloads = payloads_of(pruned.toArrow())
        if payloads:
            batch, state = step(0, states.read(0, number), payloads)
            states.write(0, number, state)
            outcome = pa.Table.from_batches([batch])
    if not outcome.num_rows:  # there was no record, so no bucket had anything to do
        states.carry(step.buckets, number)
    states.parcels.clear()
    return outcome


def by_bucket(
    pruned: DataFrame, buckets: int, run: Callable[[tuple[Any, ...], pa.Table], pa.Table]
) -> DataFrame:
    """What a step makes of the rows of each bucket, in as many tasks as run at once. Spark itself
    would choose one task: it takes the places of large payloads for all there is to do."""
    tasks = min(buckets, parallelism(pruned.sparkSession))
    return pruned.repartition(tasks, "bucket").groupBy("bucket").applyInArrow(run, ddl(OUTCOME))


def read_round(
    collected: pa.Table, step: Step, queries: Mapping[str, Query], number: int, *,
    shown: dict[str, int], strict: bool = False,
) -> Round:  # fmt: skip
    """The outcome of a round by query. ``shown`` counts the rows of each query and is brought up to
    date; ``strict`` raises RecordError for a record that was set aside."""
    outcomes = read_outcome(collected, step.members, queries)
    rejects = pa.concat_tables(
        [outcome.rejects.drop_columns([Carried.CHUNK]) for outcome in outcomes.values()]
    )
    if strict:
        refuse_bad(rejects)
    for name, outcome in outcomes.items():
        shown[name] = shown.get(name, 0) + outcome.rows.num_rows
    metrics = {
        name: outcome.metrics(queries[name], shown[name])
        for name, outcome in outcomes.items()
        if outcome.ledger is not None
    }
    if strict:
        for name, counts in metrics.items():
            refuse_rules_above_one(queries[name], counts.rules_above_one)
    rows = {name: outcome.rows for name, outcome in outcomes.items()}
    return Round(number, rows, rejects, metrics)


__all__ = ["read_round", "run_round"]
