"""The source of whatever a user gives as a stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.sources.base import Source, table_source
from crestline.sources.copies import standard_input
from crestline.sources.frames import column_source, frame_source, is_column, lazy_frames
from crestline.sources.paths import path_source
from crestline.sources.records import as_record, from_dicts, record_source


def source(data: Any, stream: str, columns: Sequence[str] = ()) -> Source:
    """The source of whatever a user gives as a stream. Where dictionaries lack one of ``columns``,
    it is NULL."""
    opened = _opened(data, stream, columns)
    if opened is None:
        raise SourceError(
            f"stream {stream!r} is of type {type(data).__name__}: give a data frame (Arrow, pandas,"
            " Polars, DuckDB), dictionaries, or the path of parquet, csv or json lines files"
        )
    return opened


def _opened(data: Any, stream: str, columns: Sequence[str]) -> Source | None:
    if is_path(data):
        return path_source([standard_input(stream) if data == "-" else data], stream)
    if is_paths(data):
        return path_source(data, stream)
    frame = frame_source(data, stream)
    if frame is not None:
        return frame
    record = as_record(data)
    if record is not None:
        if _is_frame(record):
            return column_source(record, stream)
        return table_source(from_dicts([record], columns), typed=False)
    if isinstance(data, list) and all(isinstance(item, Mapping) for item in data):
        return table_source(from_dicts(data, columns), typed=False)
    items = lazy_frames(data, stream) or _items(data, stream)
    return None if items is None else _from_items(items, stream, columns)


def is_path(data: Any) -> bool:
    """Whether a stream is a file, a folder or a glob."""
    return isinstance(data, str | os.PathLike)


def is_paths(data: Any) -> bool:
    """Whether a stream is a list of paths."""
    return isinstance(data, list | tuple) and bool(data) and all(map(is_path, data))


def _items(data: Any, stream: str) -> Iterator[Any] | None:
    """An iterator over the data; None if there is none, SourceError if it cannot yield records."""
    if hasattr(data, "__aiter__"):
        raise SourceError(
            f"stream {stream!r} is asynchronous: open a session and write"
            " 'async for batch in stream: rows = session.push(batch)'"
        )
    if hasattr(data, "readline"):
        raise SourceError(f"stream {stream!r} is an open file: give its path")
    plain = isinstance(data, Iterable) and not isinstance(data, bytes | bytearray)
    return iter(data) if plain else None


def _from_items(items: Iterator[Any], stream: str, columns: Sequence[str]) -> Source:
    """Records, or frames of any kind. The first item decides which, and the columns."""
    head = table_source(from_dicts([], columns), typed=False)
    for first in items:
        if as_record(first) is not None and not _is_frame(first):
            return record_source(first, items, stream, columns)
        head = _part(first, stream, columns)
        if head.schema.names:
            break

    def read(columns: list[str]) -> Iterator[pa.Table | pa.RecordBatch]:
        parts = (_part(item, stream, columns) for item in items)
        for part in chain([head], parts):
            if part.rows == 0:
                continue
            missing = [name for name in columns if name not in part.schema.names]
            if missing:
                names = ", ".join(part.schema.names) or "none"
                raise SourceError(
                    f"stream {stream!r}: a later part has no column {missing[0]!r}: its columns are"
                    f" {names}"
                )
            yield from part.read(columns)

    return Source(head.schema, head.typed, read)


def _is_frame(item: Any) -> bool:
    """Whether a dictionary holds columns rather than the values of one record."""
    return isinstance(item, Mapping) and bool(item) and all(map(is_column, item.values()))


def _part(item: Any, stream: str, columns: Sequence[str]) -> Source:
    if is_path(item):
        raise SourceError(f"stream {stream!r} yields paths: give them as a list")
    bare = isinstance(item, list | tuple) and any(as_record(each) is None for each in item)
    part = None if bare else _opened(item, stream, columns)
    if part is None:
        raise SourceError(
            f"stream {stream!r} yields {type(item).__name__}: yield data frames, Arrow batches, or"
            " dictionaries, which name the columns"
        )
    return part
