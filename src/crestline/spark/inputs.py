"""What queries read, as one frame: a stream, or several (``FROM a, b, c`` with COMBINE).

Several inputs become a union of their frames, with the columns that they share, in types that fit
all of them. The ACROSS column holds the name of the input, as FROM spells it. A column of that name
in the data is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
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
from crestline.spark.catalyst import arrow_schema
from crestline.spark.files import BAD_COLUMN, BAD_REASON, BAD_VALUE, CHUNK, INPUT_BITS, FileStream
from crestline.spark.formats.scan import column_named

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Opens columns of an input, by its name. An input of unknown columns gives them as text.
Opener = Callable[[str, list[str]], FileStream]
_BAD = (BAD_COLUMN, BAD_REASON, BAD_VALUE)


def open_inputs(
    queries: Mapping[str, Query], inputs: Mapping[str, Source], opened: Opener
) -> FileStream:
    """Open what the queries need of their inputs, which must be the same for all queries."""
    query = next(iter(queries.values()))
    names = list(dict.fromkeys(n for each in queries.values() for n in columns_of(each)))
    if not query.others:
        schema = inputs[query.stream].schema
        if not schema.names:  # no record, so the columns are unknown
            return replace(opened(query.stream, names), typed=False)
        spelled = resolve(names, schema, query.stream)
        return opened(query.stream, list(dict.fromkeys(spelled.values())))
    return _united(query, names, inputs, opened)


def _united(
    query: Query, names: list[str], inputs: Mapping[str, Source], opened: Opener
) -> FileStream:
    from pyspark.sql import functions as F

    assert query.combine is not None
    across = query.combine.across
    together = merged(query, inputs)
    if not together.schema.names:
        empty = opened(query.stream, [name for name in names if name != across])
        return replace(empty, typed=False, frame=empty.frame.withColumn(across, F.lit("")))
    spelled = resolve(names, together.schema, query.stream)
    columns = [name for name in dict.fromkeys(spelled.values()) if name != across]
    streams: list[FileStream] = []
    for number, (name, each) in enumerate(inputs.items()):
        if not each.schema.names:
            opened(name, [])  # raises if the input is to be followed
            continue
        own_names = resolve(columns, each.schema, name)
        stream = opened(name, list(dict.fromkeys(own_names.values())))
        chosen = [
            _fitting(column, own_names[column], each.schema, together.schema) for column in columns
        ]
        chosen.append(F.lit(name).alias(across))
        frame = stream.frame.select(*chosen, *_marks(stream.frame, number))
        streams.append(FileStream(together.schema, stream.typed, frame))
    frame = reduce(lambda one, more: one.unionByName(more), _alike([s.frame for s in streams]))
    return FileStream(together.schema, all(s.typed for s in streams), frame)


def _fitting(name: str, own_name: str, own: pa.Schema, shared: pa.Schema) -> Column:
    """A column of an input, with the name and the type that all inputs share."""
    from pyspark.sql.pandas.types import from_arrow_type

    column = column_named(own_name)
    dtype = shared.field(name).type
    if own.field(own_name).type != dtype and not pa.types.is_null(dtype):
        column = column.cast(from_arrow_type(dtype))
    return column.alias(name)


def _marks(frame: DataFrame, number: int) -> Iterator[Column]:
    """The columns that a reader of files adds: the chunk of a record, and whether it is bad."""
    from pyspark.sql import functions as F

    if CHUNK in frame.columns:
        yield F.col(CHUNK).bitwiseOR(F.lit(number << INPUT_BITS)).alias(CHUNK)
    yield from (F.col(name) for name in _BAD if name in frame.columns)


def _alike(frames: list[DataFrame]) -> list[DataFrame]:
    """Give all frames the same columns: only text files have those for bad records."""
    from pyspark.sql import functions as F

    if not any(BAD_REASON in frame.columns for frame in frames):
        return frames
    none = {name: F.lit(None).cast("string") for name in _BAD}
    return [frame if BAD_REASON in frame.columns else frame.withColumns(none) for frame in frames]


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
    schemas = {name: arrow_schema(frame.schema) for name, frame in chosen.items()}
    sources = {name: Source(schema, True, _unread) for name, schema in schemas.items()}

    def opened(name: str, columns: list[str]) -> FileStream:
        return FileStream(schemas[name], True, chosen[name].select(*map(column_named, columns)))

    return open_inputs(queries, sources, opened).frame


def _reads(query: Query) -> tuple[str, ...]:
    """What queries on one frame must agree on. The name of a single input does not matter."""
    if query.combine is None or not query.others:
        return ()
    return (*query.inputs, query.combine.across.casefold())


def _unread(columns: list[str]) -> Iterator[pa.Table]:
    raise AssertionError("only the columns of these inputs are read")


__all__ = ["one_frame", "open_inputs"]
