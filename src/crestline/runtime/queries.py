"""The queries of a text by their names, and the streams that they read."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from crestline.core.errors import PlanError, QueryError, SourceError
from crestline.language import Query, StreamDefaults, parse_all


def named_queries(
    query: str | Query, name: str | None = None, taken: Mapping[str, Query] | None = None,
    defaults: Mapping[str, StreamDefaults] | None = None,
) -> dict[str, Query]:  # fmt: skip
    """The queries of a text by name.

    A query without a name is called ``query``, or ``query_1`` and so on if there are several.
    ``name`` is the name of a single query. Names in ``taken`` are not given again. ``defaults``,
    by stream, complete what a text leaves out.
    """
    if not isinstance(query, str | Query):
        raise QueryError(
            f"a query is a text, or what crestline.parse made of one, not {type(query).__name__}"
        )
    queries = (query,) if isinstance(query, Query) else parse_all(query, defaults)
    taken = {} if taken is None else taken
    if name is not None and len(queries) > 1:
        raise PlanError(f"there are {len(queries)} queries, which cannot all be called {name}")
    named: dict[str, Query] = {}
    for number, single in enumerate(queries, 1):
        called = name or single.name
        if called is None and len(queries) == 1 and not taken:
            called = "query"
        if called is None:
            number = next(n for n in count(number + len(taken)) if f"query_{n}" not in taken)
            called = f"query_{number}"
        if called in named or called in taken:
            raise PlanError(f"two queries are called {called}: name them apart")
        named[called] = single
    return named


def stream_of(query: Query, streams: Mapping[str, Any], name: str | None = None) -> Any:
    """The data of a query's stream, or of the input ``name`` of several."""
    name = query.stream if name is None else name
    if name in streams:
        return streams[name]
    alike = [each for each in streams if each.casefold() == name.casefold()]
    if len(alike) == 1:
        return streams[alike[0]]
    names = ", ".join(map(repr, streams)) or "none"
    raise SourceError(f"the query reads the stream {name!r}, but the streams given are {names}")


__all__ = ["named_queries", "stream_of"]
