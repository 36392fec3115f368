"""The pipeline by hand: the stages of the Spark engine without a JVM.

Tasks, shuffle and state store are a few lines here. So thousands of random streams can go through
the very code that runs in Spark's workers. It needs the extra ``spark``, but starts no Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from crestline.core.tables import table_from
from crestline.language import in_full
from crestline.runtime.entrance import projection_for
from crestline.runtime.queries import named_queries
from crestline.runtime.standing import arranged
from crestline.spark.stages import Member, Reading, Step
from crestline.spark.stages.prune import Pruning
from crestline.testing.rows import rows_of
from crestline.testing.spec import Row

#: Rows in one Arrow batch of a task: few, so that small streams have several batches.
_BATCH = 7


@dataclass
class PipelineByHand:
    """A query over a stream of the given schema, its partitions spread over ``buckets``; or several
    queries that share one structure.

    ``bounded`` makes a run over the whole input in one round; otherwise rounds are micro-batches of
    a stream that goes on. ``whole`` keeps the records in the order of arrival, as LATE REVISE needs
    in a bounded run. ``states`` resumes from the states of another pipeline.

    >>> stream = pa.table({"id": ["a", "b", "c", "d"], "val": [3.0, 1.0, 2.0, 5.0]})
    >>> query = "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] ORDER BY val DESC"
    >>> pipeline = PipelineByHand(query, stream.schema, buckets=1, bounded=False)
    >>> pipeline.round([stream.slice(0, 2)])
    >>> pipeline.round([stream.slice(2, 1), stream.slice(3, 1)])
    >>> [(row["window_end"], row["id"], row["score"]) for row in pipeline.rows]
    [(2, 'a', 3.0), (4, 'd', 5.0)]
    """

    text: str
    schema: pa.Schema
    buckets: int
    bounded: bool
    whole: bool = False
    #: By bucket: its state after the last round.
    states: dict[int, bytes] = field(default_factory=dict)
    #: By bucket: what it counted, as the last round wrote it.
    account: dict[int, dict[str, Any]] = field(default_factory=dict)
    rejects: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        queries = in_full(named_queries(self.text), self.schema.names)
        (bundle,) = arranged(queries, self.schema, bounded=self.bounded)
        self._projection = projection_for(bundle.plan, self.schema, typed=True)
        self._member = Member.of(0, bundle, self._projection.schema, buckets=self.buckets)

    def round(self, tasks: Sequence[pa.Table], reading: Reading | None = None) -> None:
        """Run one round; each table is what one task reads."""
        reading = reading or Reading(keep_rejects=True, whole=self.whole)
        gathered: dict[int, list[bytes]] = {}
        for number, task in enumerate(tasks):
            for piece in self._pruned(number, task, reading):
                for bucket, payload in zip(*(c.to_pylist() for c in piece.columns), strict=True):
                    gathered.setdefault(bucket, []).append(payload)
        step = Step((self._member,), self.buckets, self.bounded, True, self.whole)
        for bucket, payloads in gathered.items():
            # Reversed: a shuffle promises no order.
            outcome, after = step(bucket, self.states.get(bucket), payloads[::-1])
            if not self.bounded:
                self.states[bucket] = after
            for row in outcome.to_pylist():
                if row["kind"] == "rows":
                    self.rows += rows_of(table_from(row["payload"]))
                elif row["kind"] == "rejects":
                    self.rejects += table_from(row["payload"]).to_pylist()
                else:
                    self.account[bucket] = json.loads(row["payload"])

    def _pruned(self, number: int, task: pa.Table, reading: Reading) -> Iterator[pa.RecordBatch]:
        """What a task gives away, by bucket."""
        pruning = Pruning((self._member,), self.buckets, reading)
        (sieve,) = pruning.sieves
        for start in range(0, task.num_rows, _BATCH):
            columns = self._projection(task.slice(start, _BATCH))
            sieve.add(number, columns)
        return pruning.payloads()


__all__ = ["PipelineByHand"]
