"""From rows of bytes to rows that users see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from crestline.core.tables import table_from
from crestline.spark.stages.rows import Kind


@dataclass(frozen=True)
class Unpack:
    """For ``mapInArrow``: the result rows, or the rejects, with the columns of ``schema``."""

    kind: Kind
    schema: bytes

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        for batch in batches:
            for kind, payload in zip(batch.column("kind"), batch.column("payload"), strict=True):
                if kind.as_py() == self.kind:
                    yield from widened(table_from(payload.as_py()), schema).to_batches()


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly these columns; NULL in those that it lacks."""
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


__all__ = ["Unpack", "widened"]
