"""Which queries read their streams together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.language import Query
from crestline.runtime.queries import stream_of
from crestline.runtime.roles import columns_of
from crestline.sources.merging import merging_key
from crestline.sources.opening import is_path, is_paths


def read_together(
    queries: Mapping[str, Query], streams: Mapping[str, Any]
) -> list[dict[str, Query]]:
    """Queries that share a read: those on one stream, or on the same inputs in the same order. Of
    text files a record may be bad for one query and good for another that does not read the column:
    there, those with the same columns, or with all."""
    groups: dict[Any, dict[str, Query]] = {}
    for name, query in queries.items():
        key: tuple[Any, ...] = (query.stream.casefold(), merging_key(query))
        if any(is_text(stream_of(query, streams, stream)) for stream in query.inputs):
            named = () if query.star is not None else columns_of(query)
            key = (*key, query.star is None, frozenset(column.casefold() for column in named))
        groups.setdefault(key, {})[name] = query
    _check_repeatable(groups.values(), streams)
    return list(groups.values())


def _check_repeatable(groups: Iterable[dict[str, Query]], streams: Mapping[str, Any]) -> None:
    """Raise SourceError if what can be read only once would have to be read again."""
    read: set[str] = set()
    for group in groups:
        query = next(iter(group.values()))
        for name in query.inputs:
            data = stream_of(query, streams, name)
            once = isinstance(data, pa.RecordBatchReader | Iterator)
            if once and name.casefold() in read:
                raise SourceError(
                    f"the stream {name!r} can be read only once, but queries put it in order with"
                    " different inputs: give a table or a path, or run them one by one"
                )
            read.add(name.casefold())


def is_text(data: Any) -> bool:
    """Whether a stream is read from text files, where types are only inferred."""
    if is_paths(data):
        return any(is_text(path) for path in data)
    if not is_path(data):
        return False
    if os.fspath(data).endswith((".parquet", ".pq")):
        return False
    folder = Path(os.fspath(data))
    return not (folder.is_dir() and any(folder.rglob("*.parquet")))


__all__ = ["is_text", "read_together"]
