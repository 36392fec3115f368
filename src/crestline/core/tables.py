"""Small things that Arrow tables need everywhere: bytes, columns without dictionaries, rejects."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

#: Records that take no part in a query, one row each, with the reason.
REJECTS = pa.schema(
    [
        ("stream", pa.string()),
        ("row", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("value", pa.string()),
    ]
)


def reject_table(stream: str, rows: Any, column: str, reason: str, values: Any) -> pa.Table:
    """The rejects of some rows that share a column and a reason; ``values`` are texts."""
    columns = {name: pa.repeat(text, len(rows)) for name, text in
               (("stream", stream), ("column", column), ("reason", reason))}  # fmt: skip
    return pa.table(columns | {"row": rows, "value": values}, schema=REJECTS)


def plain_type(dtype: pa.DataType) -> pa.DataType:
    """The type without its dictionary encoding."""
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


def decoded(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The column without its dictionary encoding."""
    return column.cast(plain_type(column.type)) if pa.types.is_dictionary(column.type) else column


def table_bytes(table: pa.Table) -> bytes:
    """The table in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def table_from(data: bytes) -> pa.Table:
    """The table that ``table_bytes`` turned into bytes."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()
