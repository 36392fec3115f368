"""Parquet: read by Arrow with only the needed columns, a few row groups ahead on other threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crestline.core.errors import SourceError
from crestline.language import Expression
from crestline.runtime.fitting import bare_type, wider
from crestline.sources import stores
from crestline.sources.base import Read, Source
from crestline.sources.hive import Partitions
from crestline.sources.horizon import earliest_by_statistics, horizons
from crestline.sources.statistics import left_out

#: Rows of parquet read at once, roughly: enough to hide the cost of a batch, few enough for caches.
PORTION_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class ParquetPiece:
    """Consecutive row groups of one file."""

    stream: str
    name: str
    file: int
    groups: tuple[int, ...]
    weight: int
    left_out: int
    #: The columns that only the names of its folders spell, and their values.
    spelled: pa.Schema
    values: dict[str, Any]

    def open(self) -> Source:
        parquet = _open_parquet(self.name, self.stream)
        schema, metadata = parquet.schema_arrow, parquet.metadata

        def read(columns: list[str]) -> Iterator[pa.Table]:
            # Small portions stay in the caches.
            for groups in _portions(metadata, self.groups):
                yield self.table(groups, columns, schema, metadata)

        rows = sum(metadata.row_group(group).num_rows for group in self.groups)
        schema_with_folders = pa.schema([*schema, *self.spelled])
        return Source(schema_with_folders, True, _raising(read, self.stream), rows)

    def table(
        self, groups: Sequence[int], columns: list[str], schema: pa.Schema, metadata: Any
    ) -> pa.Table:
        """The needed columns of some row groups."""
        stored = [name for name in columns if name not in self.spelled.names]
        texts = [f.name for f in schema if f.name in stored and _worth_encoding(f.type)]
        # A reader of its own: one reader must not be used by two threads.
        reader = open_parquet(self.name, metadata=metadata, read_dictionary=texts)
        with stores.reading(self.name), reader:
            table = reader.read_row_groups(list(groups), columns=stored, use_threads=False)
        for field in self.spelled:
            if field.name in columns:
                value = pa.scalar(self.values[field.name], field.type)
                table = table.append_column(field, pa.repeat(value, table.num_rows))
        return table


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

    def pieces(where: Expression | None = None) -> list[ParquetPiece]:
        made = []
        for number, (file, parquet) in enumerate(zip(files, opened, strict=True)):
            for groups, out in _runs(parquet, schema, where, stream):
                rows = sum(parquet.metadata.row_group(group).num_rows for group in groups)
                weight = sum(parquet.metadata.row_group(g).total_byte_size for g in groups)
                made.append(
                    ParquetPiece(
                        stream, stores.absolute(file), number, tuple(groups),
                        0 if out else weight, rows if out else 0,
                        partitions.schema, partitions.values[number],
                    )
                )  # fmt: skip
        return made

    portions = pieces()

    def read(columns: list[str]) -> Iterator[pa.Table]:
        def task(piece: ParquetPiece) -> pa.Table:
            parquet = opened[piece.file]
            return piece.table(piece.groups, columns, parquet.schema_arrow, parquet.metadata)

        return _ahead(task, portions)

    def horizons_of(column: str) -> Iterator[int]:
        groups = [earliest_by_statistics(parquet.metadata, column) for parquet in opened]
        return horizons(min(groups[piece.file][g] for g in piece.groups) for piece in portions)

    variants = [parquet.schema_arrow for parquet in opened] if notes else []
    schema = pa.schema([*schema, *partitions.schema])
    return Source(
        schema, True, _raising(read, stream), rows, horizons=horizons_of, variants=variants,
        notes=notes, spelled=partitions.schema.names, pieces=lambda where: list(pieces(where)),
    )  # fmt: skip


def _raising(read: Read, stream: str) -> Read:
    """Turn what Arrow raises while a stream is read into SourceError."""

    def reading(columns: list[str]) -> Iterator[pa.Table]:
        try:
            yield from read(columns)
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"stream {stream!r} cannot be read: {error}") from error

    return reading


def _runs(
    parquet: pq.ParquetFile, schema: pa.Schema, where: Expression | None, stream: str
) -> Iterator[tuple[list[int], bool]]:
    """Neighbouring row groups, and whether WHERE leaves all their records out."""
    metadata = parquet.metadata
    groups = range(metadata.num_row_groups)
    own = parquet.schema_arrow
    # A value that does not fit the type of the stream is rejected before WHERE can leave it out.
    shared = [field for field in own if field.name in schema.names]
    if where is None or any(schema.field(field.name).type != field.type for field in shared):
        for portion in _portions(metadata, groups):
            yield portion, False
        return
    out = left_out(metadata, own, where, stream)
    for outside, some in groupby(groups, key=lambda group: bool(out[group])):
        for portion in _portions(metadata, list(some)):
            yield portion, outside


def _portions(metadata: pq.FileMetaData, groups: Sequence[int]) -> Iterator[list[int]]:
    """Row groups, small ones together: each batch has a cost of its own."""
    gathered: list[int] = []
    rows = 0
    for group in groups:
        gathered.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= PORTION_ROWS or group == groups[-1]:
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
    task: Callable[[ParquetPiece], pa.Table], portions: Sequence[ParquetPiece]
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
