"""Frames in memory, recognised by their methods: nothing here imports pandas or Polars.

===========================================  =====================================================
Arrow tables, batches, readers, datasets     as they are
pandas                                       by column; one of mixed objects as in dictionaries
Polars, NumPy records, dictionaries of       as Arrow tables; a LazyFrame is computed in batches
columns
DuckDB relations, anything with              as Arrow readers, a batch at a time
``__arrow_c_stream__``
===========================================  =====================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.runtime.sql import duckdb_errors
from crestline.sources.base import BATCH_ROWS, Source, batch_source, table_source, unreadable
from crestline.sources.records import UNFIT, column, numpy_column

#: Types of Polars that Arrow lacks.
_NOT_OF_ARROW = ("Object", "Int128", "UInt128")


def frame_source(data: Any, stream: str) -> Source | None:
    """The source of a frame; None if the data is no frame."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        return table_source(pa.table(data) if isinstance(data, pa.RecordBatch) else data)
    if isinstance(data, pa.RecordBatchReader):
        return batch_source(data.schema, data, stream)
    if isinstance(data, np.ndarray):
        return _from_numpy(data, stream)
    try:
        return _from_library(data, stream)
    except (*duckdb_errors(), *UNFIT) as error:
        if getattr(data, "ndim", 2) == 1 or type(data).__name__ == "Series":
            raise SourceError(
                f"stream {stream!r} is a Series, which is one column: give a data frame"
            ) from None
        raise unreadable(stream, error) from None


def _from_library(data: Any, stream: str) -> Source | None:
    module = type(data).__module__
    library = module.partition(".")[0].lstrip("_")
    if library == "pandas" and hasattr(data, "iloc"):
        return _from_pandas(data)
    if library == "duckdb" and type(data).__name__ == "DuckDBPyRelation":
        reader = data.to_arrow_reader(BATCH_ROWS)
        return batch_source(reader.schema, reader, stream)
    if module == "pyarrow._dataset":
        return _from_dataset(data, stream)
    if library == "polars" and hasattr(data, "to_dicts"):
        return _from_polars(data)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return batch_source(reader.schema, reader, stream)
    if hasattr(data, "__arrow_c_array__"):
        return table_source(pa.table(pa.record_batch(data)))
    return None


def lazy_frames(data: Any, stream: str) -> Iterator[Any] | None:
    """The frames that a Polars LazyFrame computes, one after another; None for other data."""
    if not (type(data).__module__.startswith("polars.") and hasattr(data, "collect_batches")):
        return None

    def frames() -> Iterator[Any]:
        try:
            yield data.limit(0).collect()  # its columns, even if there is no record
            yield from data.collect_batches(chunk_size=BATCH_ROWS)
        except Exception as error:  # whatever Polars meets while it computes
            raise unreadable(stream, error) from error

    return frames()


def column_source(columns: Mapping[Any, Any], stream: str) -> Source:
    """A dictionary of columns; SourceError if their lengths differ."""
    lengths = {name: len(values) for name, values in columns.items()}
    for name, length in lengths.items():
        first = next(iter(lengths))
        if length != lengths[first]:
            raise SourceError(
                f"stream {stream!r}: the column {first!r} has {lengths[first]} values and"
                f" {name!r} has {length}: give all columns one length; one record with lists in it"
                " goes into a list: [record]"
            )
    arrays = [_column_of(values) for values in columns.values()]
    return table_source(pa.table(arrays, names=[str(name) for name in columns]), typed=False)


def is_column(values: Any) -> bool:
    """Whether a value of a dictionary can be a column: a sequence other than a text."""
    if isinstance(values, str | bytes | bytearray | Mapping) or not hasattr(values, "__len__"):
        return False
    return getattr(values, "ndim", 1) > 0 and hasattr(values, "__getitem__")


def _column_of(values: Any) -> pa.Array | pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray):
        return numpy_column(values)
    try:
        if type(values).__module__.startswith("pandas."):
            return _pandas_column(values)[0]
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if hasattr(values, "__arrow_c_array__"):
            return pa.array(values)
    except UNFIT:
        pass
    return column(list(values))


def _from_numpy(data: np.ndarray[Any, Any], stream: str) -> Source:
    if data.dtype.names is None:
        raise SourceError(
            f"stream {stream!r} is an array without names: give records with named fields, or a"
            " dictionary of columns such as {'id': ids, 'x': array}"
        )
    return column_source({name: data[name].ravel() for name in data.dtype.names}, stream)


def _from_dataset(data: Any, stream: str) -> Source:
    """A dataset of pyarrow, or a scanner over one."""
    if hasattr(data, "projected_schema"):
        return batch_source(data.projected_schema, data.to_batches(), stream)

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from batch_source(data.schema, data.to_batches(columns=columns), stream).read(columns)

    return Source(data.schema, True, read)


def _from_polars(frame: Any) -> Source:
    """A data frame. Columns of types that Arrow lacks are read value by value."""
    odd = [name for name, dtype in frame.schema.items() if str(dtype) in _NOT_OF_ARROW]
    table = pa.table(frame.drop(odd))
    for name in odd:
        table = table.append_column(name, column(frame[name].to_list()))
    return table_source(table, typed=not odd)


def _from_pandas(frame: Any) -> Source:
    """A data frame. Columns of mixed objects are read value by value."""
    if frame.ndim == 1:
        raise TypeError("a Series")
    names = frame.index.names
    if None not in names and not set(names) & set(frame.columns):
        frame = frame.reset_index()  # an index with a name is a column as well
    try:
        return table_source(pa.Table.from_pandas(frame, preserve_index=False))
    except UNFIT:
        pass
    columns = [_pandas_column(frame.iloc[:, i]) for i in range(frame.shape[1])]
    table = pa.table([array for array, _ in columns], names=[str(name) for name in frame.columns])
    return table_source(table, typed=all(typed for _, typed in columns))


def _pandas_column(series: Any) -> tuple[pa.Array | pa.ChunkedArray, bool]:
    """A series as a column, and whether it has one type."""
    try:
        return pa.array(series, from_pandas=True), True
    except UNFIT:
        nulls = series.isna().to_list()
        values = [None if null else v for v, null in zip(series.to_list(), nulls, strict=True)]
        return column(values), False
