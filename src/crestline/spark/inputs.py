"""What queries read, as one frame: a DataFrame, or several (``FROM a, b, c`` with COMBINE).

Several inputs become a union of their frames, with the columns that they share, in types that fit
all of them. The ACROSS column holds the name of the input, as FROM spells it. A column of that name
in the data is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from crestline.core.errors import PlanError
from crestline.language import Query
from crestline.runtime.projection import resolve
from crestline.runtime.queries import stream_of
from crestline.runtime.roles import columns_of
from crestline.sources import Source
from crestline.sources.merging import merged
from crestline.spark.catalyst import arrow_schema, quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def one_frame(
    frames: DataFrame | Mapping[str, DataFrame], queries: Mapping[str, Query]
) -> DataFrame:
    """Return the frame that the queries read: the only one, or the union of several inputs."""
    query = next(iter(queries.values()))
    for each in queries.values():
        if _reads(each) != _reads(query):
            raise PlanError(
                f"the queries read different streams ({', '.join(query.inputs)} and"
                f" {', '.join(each.inputs)}), or name them differently: ask for them one by one"
            )
    if not isinstance(frames, Mapping):
        if query.others:
            raise PlanError(
                f"the query reads {', '.join(query.inputs)}: give a dictionary with a DataFrame for"
                " each"
            )
        return frames
    chosen: dict[str, DataFrame] = {n: stream_of(query, frames, n) for n in query.inputs}
    if not query.others:
        return chosen[query.stream]
    if len({frame.isStreaming for frame in chosen.values()}) > 1:
        raise PlanError(
            "some of the DataFrames are streaming and some are not: Spark cannot put them together"
        )
    return _united(query, queries, chosen)


def _united(
    query: Query, queries: Mapping[str, Query], frames: Mapping[str, DataFrame]
) -> DataFrame:
    from pyspark.sql import functions as F

    assert query.combine is not None
    across = query.combine.across
    schemas = {name: arrow_schema(frame.schema) for name, frame in frames.items()}
    sources = {name: Source(schema, True, _unread) for name, schema in schemas.items()}
    together = merged(query, sources).schema
    names = list(dict.fromkeys(n for each in queries.values() for n in columns_of(each)))
    spelled = resolve(names, together, query.stream)
    columns = [name for name in dict.fromkeys(spelled.values()) if name != across]
    parts = []
    for name, frame in frames.items():
        own = resolve(columns, schemas[name], name)
        chosen = [_fitting(column, own[column], schemas[name], together) for column in columns]
        parts.append(frame.select(*chosen, F.lit(name).alias(across)))
    return reduce(lambda one, more: one.unionByName(more), parts)


def _fitting(name: str, own_name: str, own: pa.Schema, shared: pa.Schema) -> Column:
    """A column of an input, with the name and the type that all inputs share."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_type

    column = F.col(quoted(own_name))
    dtype = shared.field(name).type
    if own.field(own_name).type != dtype and not pa.types.is_null(dtype):
        column = column.cast(from_arrow_type(dtype))
    return column.alias(name)


def _reads(query: Query) -> tuple[str, ...]:
    """What queries on one frame must agree on. The name of a single input does not matter."""
    if query.combine is None or not query.others:
        return ()
    return (*query.inputs, query.combine.across.casefold())


def _unread(columns: list[str]) -> Iterator[pa.Table]:
    raise AssertionError("only the columns of these inputs are read")


__all__ = ["one_frame"]
