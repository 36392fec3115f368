"""Near the source: each task keeps the records that can matter, and sends them to their buckets."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from crestline.runtime.rehearsal import warm_for
from crestline.spark.stages.ledger import LEDGER
from crestline.spark.stages.member import Member
from crestline.spark.stages.rows import PRUNED, TaskOutput, to_payload
from crestline.spark.stages.sieve import Reading, Sieve

#: Rows handed to a kernel at once: enough to hide the cost of a call.
_ROWS = 1 << 17


@dataclass(frozen=True)
class Prune:
    """For ``mapInArrow``: gathers the records of a task that can matter, by bucket."""

    members: tuple[Member, ...]
    buckets: int
    reading: Reading = field(default_factory=Reading)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sieves = [Sieve(member, self.reading) for member in self.members]
        queries = {
            n: query for member in self.members for n, query in member.bundle.queries.items()
        }
        task = _task_number()
        for number, table in enumerate(_portions(batches)):
            if number == 0:  # a small first portion is the only one
                warm_for(queries, table.num_rows)
            for chunk, records in _by_chunk(table, self.reading.chunk, task):
                for sieve in sieves:
                    sieve.add(chunk, records)
        if any(sieve.rows_in for sieve in sieves):
            yield self._payloads(sieves)

    def _payloads(self, sieves: list[Sieve]) -> pa.RecordBatch:
        """One row per bucket. A bucket without records also learns how far time has come."""
        records = [sieve.by_bucket(self.buckets) for sieve in sieves]
        payloads = []
        for bucket in range(self.buckets):
            outputs = [
                TaskOutput(
                    sieve.latest,
                    by_bucket.get(bucket),
                    sieve.account() if bucket == LEDGER else None,
                )
                for sieve, by_bucket in zip(sieves, records, strict=True)
            ]
            payloads.append(to_payload(outputs))
        numbers = pa.array(range(self.buckets), pa.int32())
        return pa.record_batch([numbers, pa.array(payloads, pa.binary())], schema=PRUNED)


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


def _by_chunk(table: pa.Table, column: str | None, task: int) -> Iterator[tuple[int, pa.Table]]:
    """Cut the table where one chunk of the stream ends and another begins."""
    if column is None:
        yield task, table
        return
    chunks = np.asarray(table.column(column).to_numpy())
    starts = [0, *(np.flatnonzero(np.diff(chunks)) + 1).tolist(), len(chunks)]
    for start, stop in zip(starts, starts[1:], strict=False):
        yield int(chunks[start]), table.slice(start, stop - start)


def _task_number() -> int:
    """The number of this task in its stage; 0 outside of Spark."""
    module = sys.modules.get("pyspark.taskcontext")
    context = module.TaskContext.get() if module is not None else None
    return 0 if context is None else int(context.partitionId())


__all__ = ["Prune"]
