"""Streams in memory become parquet files that Spark reads like any others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crestline.core.errors import SourceError
from crestline.sources import Source

#: Microseconds in the units that reach farther than Spark's times.
_COARSE_UNITS = {"s": 1_000_000, "ms": 1_000}


def write_stream(source: Source, columns: list[str], times: set[str], folder: Path) -> None:
    """Write a stream to files in its order, with a new file where the types of its batches change.

    ``times`` are the columns of event times.
    """
    schema = pa.schema([_spark_field(source.schema.field(column)) for column in columns])
    with ExitStack() as stack:
        numbers = count()
        writer = stack.enter_context(pq.ParquetWriter(_next_file(folder, numbers), schema))
        for batch in source.read(columns):
            table = pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch
            table = table.select(columns)
            types = pa.schema([_spark_field(field) for field in table.schema])
            if types != schema:
                schema = types
                file = _next_file(folder, numbers)
                writer = stack.enter_context(pq.ParquetWriter(file, schema))
            for i, field in enumerate(table.schema):
                if pa.types.is_timestamp(field.type) and field.type.unit in _COARSE_UNITS:
                    moments = _in_microseconds(table.column(i), field.name, field.name in times)
                    table = table.set_column(i, field.name, moments)
            writer.write_table(table.cast(schema))


def write_nothing(columns: list[str], folder: Path) -> None:
    """Write a file of these columns, as text, without records."""
    schema = pa.schema([(column, pa.string()) for column in columns])
    pq.write_table(schema.empty_table(), _next_file(folder, count()))


def _next_file(folder: Path, numbers: Iterator[int]) -> Path:
    return folder / f"{next(numbers):06}.parquet"  # files are read in the order of their names


def _in_microseconds(column: pa.ChunkedArray, name: str, event_time: bool) -> pa.ChunkedArray:
    """Times as Spark has them. An event time that does not fit becomes the largest one that does:
    no window holds either, so both are rejected for the same reason."""
    numbers = np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy())
    factor = _COARSE_UNITS[column.type.unit]
    limit = np.iinfo(np.int64).max // factor
    if (np.abs(numbers) > limit).any() and not event_time:
        raise SourceError(
            f"the column {name!r} holds times that Spark has no type for: use engine='local'"
        )
    missing = ~np.asarray(column.is_valid().to_numpy())
    moments = pa.array(np.clip(numbers, -limit, limit) * factor, mask=missing)
    return pa.chunked_array([moments.cast(pa.timestamp("us", column.type.tz))])


def _spark_field(field: pa.Field) -> pa.Field:
    """The column in a type that parquet and Spark have. Views and dictionaries only change how
    values are stored."""
    dtype = field.type
    if pa.types.is_dictionary(dtype):
        dtype = dtype.value_type
    if pa.types.is_string_view(dtype) or pa.types.is_null(dtype):
        dtype = pa.string()
    if pa.types.is_timestamp(dtype) and dtype.unit in _COARSE_UNITS:
        dtype = pa.timestamp("us", dtype.tz)
    return pa.field(field.name, dtype)


__all__ = ["write_nothing", "write_stream"]
