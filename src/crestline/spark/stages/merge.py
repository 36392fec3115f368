"""Answers about some of the objects each become one answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from crestline.core.tables import table_from
from crestline.runtime.shards import merged
from crestline.spark.stages.member import Member
from crestline.spark.stages.rows import OUTCOME, Kind, OutcomeRow, outcome_batch


@dataclass(frozen=True)
class Merge:
    """For ``mapInArrow``, where one task sees a member's rows of all buckets.

    All buckets report a window end in the same round, so no state is needed. Rows of members
    without shards pass as they are.
    """

    members: tuple[Member, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sharded = {member.number: member for member in self.members if member.shards}
        tables: dict[int, list[pa.Table]] = {}
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("member", "kind", "payload"))
            passes = []
            for number, kind, payload in zip(*columns, strict=True):
                passes.append(kind != Kind.ROWS or number not in sharded)
                if not passes[-1]:
                    tables.setdefault(number, []).append(table_from(payload))
            others = batch.filter(pa.array(passes, pa.bool_()))
            yield pa.record_batch(others.columns, schema=OUTCOME)
        rows = []
        for number, parts in tables.items():
            member = sharded[number]
            table = merged(member.query, parts)
            rows.append(OutcomeRow.of_results(number, member.name, table))
        yield outcome_batch(rows)


__all__ = ["Merge"]
