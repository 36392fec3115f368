"""Near the source: each task keeps the records that can matter, and sends them to their buckets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from crestline.language import Query
from crestline.planner import Plan
from crestline.runtime.rehearsal import warm_for
from crestline.spark.parcels import Parcels
from crestline.spark.stages.ledger import LEDGER
from crestline.spark.stages.member import Member
from crestline.spark.stages.rows import PRUNED, TaskOutput, to_payload
from crestline.spark.stages.settling import settle
from crestline.spark.stages.sieve import Reading, Sieve

#: Rows handed to a kernel at once: enough to hide the cost of a call.
_ROWS = 1 << 17


class Pruning:
    """One task near the source: a sieve for each member, and what they send to the buckets."""

    def __init__(self, members: tuple[Member, ...], buckets: int, reading: Reading) -> None:
        self._buckets = buckets
        self.sieves = [Sieve(member, reading) for member in members]

    def payloads(self, parcels: Parcels | None = None) -> Iterator[pa.RecordBatch]:
        """One row per bucket, if there was a record. A bucket without records also learns how far
        time has come. With ``parcels`` large payloads go to files."""
        sieves = self.sieves
        if not any(sieve.has_read for sieve in sieves):
            return
        records = [sieve.by_bucket(self._buckets) for sieve in sieves]
        payloads = []
        for bucket in range(self._buckets):
            outputs = [
                TaskOutput(
                    sieve.latest,
                    by_bucket.get(bucket),
                    sieve.account() if bucket == LEDGER else None,
                )
                for sieve, by_bucket in zip(sieves, records, strict=True)
            ]
            payloads.append(to_payload(outputs))
        if parcels is not None:
            payloads = parcels.sent(payloads)
        numbers = pa.array(range(self._buckets), pa.int32())
        yield pa.record_batch([numbers, pa.array(payloads, pa.binary())], schema=PRUNED)


@dataclass(frozen=True)
class Prune:
    """For ``mapInArrow`` over a projected frame: gathers the records that can matter, by bucket."""

    members: tuple[Member, ...]
    buckets: int
    reading: Reading = field(default_factory=Reading)
    parcels: Parcels | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pruning = Pruning(self.members, self.buckets, self.reading)
        task = _task_number()
        for number, table in enumerate(_portions(batches)):
            if number == 0:  # a small first portion is the only one
                warm_for(plans_of(self.members), table.num_rows)
            for sieve in pruning.sieves:
                member = sieve.member
                arrays = [table.column(name) for name in member.columns.values()]
                columns = pa.table(arrays, names=list(member.columns)).cast(member.schema)
                sieve.add(task, columns)
        yield from pruning.payloads(self.parcels)
        settle()


def plans_of(members: Iterable[Member]) -> list[Plan]:
    """The plans of all members."""
    return [member.plan for member in members]


def queries_of(members: Iterable[Member]) -> dict[str, Query]:
    """The queries of all members, by name."""
    return {name: query for member in members for name, query in member.bundle.queries.items()}


def _portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches until they are worth a call."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            rows += batch.num_rows
        if rows >= _ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _task_number() -> int:
    """The number of this task in its stage; 0 outside of Spark."""
    module = sys.modules.get("pyspark.taskcontext")
    context = module.TaskContext.get() if module is not None else None
    return 0 if context is None else int(context.partitionId())


__all__ = ["Prune", "Pruning", "plans_of", "queries_of"]
