"""Parquet: read by Arrow with only the needed columns, a few row groups ahead on other threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crestline.core.errors import SourceError
from crestline.runtime.fitting import bare_type, wider
from crestline.sources import stores
from crestline.sources.base import Source
from crestline.sources.hive import Partitions
from crestline.sources.horizon import earliest_by_statistics, horizons

#: Rows of parquet read at once, roughly: enough to hide the cost of a batch, few enough for caches.
PORTION_ROWS = 1 << 18


def parquet_source(files: list[str], stream: str) -> Source:
    """The records of all files, file after file. Columns in the names of folders come last."""
    opened = stores.together(partial(_open_parquet, stream=stream), files)
    schema = opened[0].schema_arrow
    dtypes: dict[str, dict[str, None]] = {}
    for file, parquet in zip(files, opened, strict=True):
        for column in schema:
            index = parquet.schema_arrow.get_field_index(column.name)
            if index < 0:
                raise SourceError(f"stream {stream!r}: {file} lacks the column {column.name!r}")
            dtype = parquet.schema_arrow.field(index).type
            schema = schema.set(
                schema.get_field_index(column.name), column.with_type(wider(column.type, dtype))
            )
            if not pa.types.is_null(dtype):
                dtypes.setdefault(column.name, {})[str(bare_type(dtype))] = None
    notes = {
        name: f"the column {name} is {schema.field(name).type}: files have {' and '.join(several)}"
        for name, several in dtypes.items()
        if len(several) > 1
    }
    partitions = Partitions.of(files).without(schema.names)
    rows = sum(parquet.metadata.num_rows for parquet in opened)
    portions = [(i, g) for i, parquet in enumerate(opened) for g in _portions(parquet.metadata)]

    def read(columns: list[str]) -> Iterator[pa.Table]:
        def task(portion: tuple[int, list[int]]) -> pa.Table:
            file, groups = portion
            fields = opened[file].schema_arrow
            stored = [name for name in columns if name not in partitions.schema.names]
            texts = [f.name for f in fields if f.name in stored and _worth_encoding(f.type)]
            # A reader of its own: one reader must not be used by two threads.
            reader = open_parquet(
                files[file], metadata=opened[file].metadata, read_dictionary=texts
            )
            with stores.reading(files[file]), reader:
                table = reader.read_row_groups(groups, columns=stored, use_threads=False)
            return _with_partitions(table, columns, partitions, file)

        try:
            yield from _ahead(task, portions)
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"stream {stream!r} cannot be read: {error}") from error

    def horizons_of(column: str) -> Iterator[int]:
        groups = [earliest_by_statistics(parquet.metadata, column) for parquet in opened]
        return horizons(min(groups[file][g] for g in some) for file, some in portions)

    variants = [parquet.schema_arrow for parquet in opened] if notes else []
    schema = pa.schema([*schema, *partitions.schema])
    return Source(
        schema, True, read, rows, horizons=horizons_of, variants=variants, notes=notes,
        spelled=partitions.schema.names,
    )  # fmt: skip


def _with_partitions(
    table: pa.Table, columns: list[str], partitions: Partitions, file: int
) -> pa.Table:
    """The table with the needed columns from the names of its file's folders."""
    for field in partitions.schema:
        if field.name in columns:
            value = pa.scalar(partitions.values[file][field.name], field.type)
            table = table.append_column(field, pa.repeat(value, table.num_rows))
    return table


def _portions(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Row groups, small ones together: each batch has a cost of its own."""
    gathered: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        gathered.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= PORTION_ROWS or group == metadata.num_row_groups - 1:
            yield gathered
            gathered, rows = [], 0


def open_parquet(file: str, **options: Any) -> pq.ParquetFile:
    """A parquet file on this disk or beyond. It reads only the bytes of the columns asked for."""
    if not stores.is_remote(file):
        return pq.ParquetFile(file, **options)
    with stores.reading(file):
        return pq.ParquetFile(stores.open_file(file), pre_buffer=True, **options)


def _open_parquet(file: str, stream: str) -> pq.ParquetFile:
    try:
        return open_parquet(file)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"stream {stream!r}: {file} is not a parquet file: {error}") from error


def _worth_encoding(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype))


def _ahead(
    task: Callable[[tuple[int, list[int]]], pa.Table], portions: list[tuple[int, list[int]]]
) -> Iterator[pa.Table]:
    """The results of the task in order, computed ahead on a few threads."""
    threads = min(4, os.cpu_count() or 1)
    waiting: deque[Future[pa.Table]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for portion in portions:
                waiting.append(pool.submit(task, portion))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
