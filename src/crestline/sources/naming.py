"""Which input is which stream: a dictionary by name, or one bare input for a single stream."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crestline.core.errors import SourceError
from crestline.language import Query
from crestline.runtime.roles import columns_of
from crestline.sources.copies import StreamPath, checked_encoding, standard_input
from crestline.sources.opening import is_path, is_paths


def named_streams(
    queries: Mapping[str, Query], data: Any, encoding: str | None = None
) -> dict[str, Any]:
    """The streams by name. ``data`` is a dictionary of them or, where queries read one stream, that
    stream; a path ``-`` is standard input. ``encoding`` is that of text files."""
    names = list(dict.fromkeys(name for q in queries.values() for name in q.inputs))
    single = {name.casefold() for name in names}
    if _by_name(queries, single, data):
        streams = {str(name): stream for name, stream in data.items()}
    elif len(single) == 1:
        streams = {names[0]: data}
    else:
        raise SourceError(
            f"the queries read the streams {', '.join(map(repr, names))}: give a dictionary with"
            " one input for each"
        )
    return with_paths(streams, encoding)


def _by_name(queries: Mapping[str, Query], streams: set[str], data: Any) -> bool:
    """Whether a dictionary has streams by name, not the columns or values of a single one."""
    if not isinstance(data, Mapping):
        return False
    keys = {str(key).casefold() for key in data}
    written = [replace(query, star=None) for query in queries.values()]  # * tells no names
    columns = {name.casefold() for query in written for name in columns_of(query)}
    if len(streams) > 1 or not columns & keys or keys <= streams:
        return True
    if not keys & streams:
        return False
    if columns <= keys:
        name = next(iter(keys & streams))
        raise SourceError(
            f"{name!r} is both a stream of the query and a column of the data: give"
            f" {{{name!r}: data}}"
        )
    return True


def with_paths(streams: Mapping[str, Any], encoding: str | None = None) -> dict[str, Any]:
    """The streams with standard input in a file, and paths that know the encoding of their text."""
    found = dict(streams)
    inputs = [name for name, data in streams.items() if isinstance(data, str) and data == "-"]
    if len(inputs) > 1:
        raise SourceError(
            f"the streams {' and '.join(map(repr, inputs))} are both '-': there is one standard"
            " input"
        )
    for name in inputs:
        found[name] = standard_input(name)
    if encoding is None:
        return found
    checked_encoding(encoding)
    if not any(is_path(data) or is_paths(data) for data in found.values()):
        raise SourceError(
            "an encoding is for csv and json lines files: leave it out, as no stream is a path"
        )
    return {name: _encoded(data, encoding) for name, data in found.items()}


def _encoded(data: Any, encoding: str) -> Any:
    if is_paths(data):
        return [_encoded(path, encoding) for path in data]
    return StreamPath(os.fspath(data), encoding, data) if is_path(data) else data
