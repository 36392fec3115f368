"""A round of a stream: records that were gathered go into the states of their buckets.

The states are files (``crestline.spark.history``). The driver merges what was gathered itself if
there is one bucket or little to do: a job would only do the same later. Otherwise tasks do, each
for some of the buckets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import pyarrow as pa

from crestline.language import Query
from crestline.runtime.encoders.uncertain import refuse_rules_above_one
from crestline.runtime.roles import Carried
from crestline.runtime.rounds import Round
from crestline.spark.history import States
from crestline.spark.outcome import read_outcome, refuse_bad
from crestline.spark.parcels import Parcels, fetched, size_of
from crestline.spark.remote import parallelism
from crestline.spark.stages import KeptRun, Run, RunTasks, Step
from crestline.spark.stages.rows import OUTCOME, ddl, received

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Bytes of payloads and states that the driver merges as quickly as a job of several tasks.
LITTLE = 1 << 25
#: Buckets whose states the driver reads and writes as quickly.
FEW = 64


def run_round(pruned: DataFrame | None, step: Step, states: States, number: int) -> pa.Table:
    """Bring the states up to date with the rows of ``Prune`` or ``Scan``; return the outcome.

    A round that is run again starts from the same states.
    """
    outcome = OUTCOME.empty_table()
    if pruned is not None:
        kept = (states.size(bucket, number) for bucket in range(step.buckets))
        outcome = by_bucket(pruned, KeptRun(step, states, number), states.parcels, kept)
    if not outcome.num_rows:  # there was no record, so no bucket had anything to do
        states.carry(step.buckets, number)
    states.parcels.clear()
    return outcome


def by_bucket(
    pruned: DataFrame, run: Run, parcels: Parcels | None, kept: Iterable[int] = ()
) -> pa.Table:
    """What ``run`` makes of the payloads of each bucket. ``kept`` are the bytes of their states.

    The driver gathers the payloads, large ones as their places, so Spark has nothing to shuffle.
    Without ``parcels`` there must be one bucket.
    """
    gathered = pruned.toArrow()
    payloads: dict[int, list[bytes]] = {}
    for bucket, payload in zip(*(column.to_pylist() for column in gathered.columns), strict=True):
        payloads.setdefault(bucket, []).append(payload)
    sizes = {bucket: sum(map(size_of, each)) for bucket, each in payloads.items()}
    if len(payloads) <= 1 or (len(payloads) <= FEW and _little(chain(sizes.values(), kept))):
        runs = (run(bucket, list(map(fetched, each))) for bucket, each in payloads.items())
        return pa.Table.from_batches(runs, OUTCOME)
    assert parcels is not None, "payloads of several buckets do not cross Spark twice"
    session = pruned.sparkSession
    tasks = [
        {bucket: payloads[bucket] for bucket in buckets}
        for buckets in dealt(sizes, parallelism(session))
    ]
    numbers = session.range(0, len(tasks), 1, len(tasks))
    outcome = numbers.mapInArrow(RunTasks(run, tuple(tasks), parcels), ddl(OUTCOME))
    return received(outcome.toArrow())


def _little(sizes: Iterable[int]) -> bool:
    """Whether the sum is at most ``LITTLE``; looks no further than it must."""
    return all(total <= LITTLE for total in accumulate(sizes))


def dealt(sizes: Mapping[int, int], tasks: int) -> list[list[int]]:
    """Buckets for so many tasks, or fewer: each of the largest in turn to the task with the least.

    >>> dealt({0: 1, 1: 9, 2: 3, 3: 4}, 2)
    [[1], [3, 2, 0]]
    """
    hands: list[list[int]] = [[] for _ in range(min(tasks, len(sizes)))]
    held = [0] * len(hands)
    for bucket in sorted(sizes, key=lambda bucket: sizes[bucket], reverse=True):
        least = held.index(min(held))
        hands[least].append(bucket)
        held[least] += sizes[bucket]
    return hands


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


__all__ = ["LITTLE", "by_bucket", "dealt", "read_round", "run_round"]
