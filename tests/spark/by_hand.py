"""The stages of the pipeline, driven by hand: tasks, shuffle and state without a JVM.

Everything that Spark does around the stages is done here in a few lines, so that thousands of
random streams can go through the very code that runs in the workers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from crestline.core.tables import table_from
from crestline.language import in_full, parse
from crestline.runtime.projection import Projection
from crestline.runtime.roles import partition_role
from crestline.spark.stages import Member, Prune, Reading, Step
from local.engines import in_place, rows_of
from oracle import FOREVER, Row, Spec
from strategies import Case

CHUNK = "chunk_of_row"


@dataclass
class ByHand:
    """One query on ``buckets`` buckets; ``round`` is a micro-batch, its tasks are tables."""

    case: Case
    buckets: int
    bounded: bool
    using: str | None = None
    whole: bool = False
    states: dict[int, bytes] = field(default_factory=dict)
    account: dict[int, dict[str, Any]] = field(default_factory=dict)
    rejects: list[dict[str, Any]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        parsed = {"": parse(self.case.spec.text(self.using))}
        self.query = in_full(parsed, self.case.table.schema.names)[""]
        self.projection = Projection(self.query, self.case.table.schema)
        schema = self.projection.schema
        name = self.query.name or "query"
        partitioned = bool(self.query.partition_by) and self.buckets > 1
        self.member = Member(
            0, ((name, str(self.query)),), {role: role for role in schema.names},
            schema.serialize().to_pybytes(), "bucket_of_row" if partitioned else 0,
        )  # fmt: skip

    def frame(self, table: pa.Table) -> pa.Table:
        """What Catalyst would make of it."""
        columns = self.projection(table)
        parts = [columns.column(partition_role(i)) for i in range(len(self.query.partition_by))]
        texts = [
            repr([v + 0 if isinstance(v, float) else v for v in values]).encode()
            for values in zip(*(part.to_pylist() for part in parts), strict=True)
        ] or [b""] * table.num_rows
        buckets = pa.array([crc32(text) % self.buckets for text in texts], pa.int32())
        return columns.append_column("bucket_of_row", buckets)

    def round(self, tasks: Sequence[pa.Table], reading: Reading | None = None) -> None:
        reading = reading or Reading(keep_rejects=True, whole=self.whole)
        prune = Prune((self.member,), self.buckets, reading)
        gathered: dict[int, list[bytes]] = {}
        for number, task in enumerate(tasks):
            frame = self.frame(task)
            chunk = np.full(task.num_rows, number)
            frame = frame.append_column(CHUNK, pa.array(chunk))
            reads = Reading(CHUNK, reading.before, None, reading.keep_rejects, reading.whole)
            batches = frame.to_batches(max_chunksize=7)
            for piece in Prune(prune.members, self.buckets, reads)(batches):
                for bucket, payload in zip(*(c.to_pylist() for c in piece.columns), strict=True):
                    gathered.setdefault(bucket, []).append(payload)
        step = Step((self.member,), self.buckets, self.bounded, True, self.whole)
        for bucket, payloads in gathered.items():
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

    def sorted_rows(self) -> list[Row]:
        return in_place(self.case.spec, self.rows)


def without_late(spec: Spec) -> Spec:
    """The same question where nothing can be too late."""
    return replace(spec, lateness=FOREVER) if spec.ts else spec
