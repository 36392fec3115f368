"""What queries read, as one frame: a stream, or several (``FROM a, b, c`` with COMBINE).

Several inputs are a union of their frames, of the columns they share, in types that fit all of
them; the ACROSS column is the name of the input, as FROM spells it. A column of that name in the
data is not read.
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

#: Gives these columns of the input of that name, as it spells them; of one that has none, as text.
Opener = Callable[[str, list[str]], FileStream]
_BAD = (BAD_COLUMN, BAD_REASON, BAD_VALUE)


def open_inputs(
    queries: Mapping[str, Query], inputs: Mapping[str, Source], opened: Opener
) -> FileStream:
    """What the queries need of their inputs, which must be the same for all of them."""
    query = next(iter(queries.values()))
    names = list(dict.fromkeys(n for each in queries.values() for n in columns_of(each)))
    if not query.others:
        given = inputs[query.stream]
        if not given.schema.names:  # no record, and nothing that tells the columns
            return replace(opened(query.stream, names), typed=False)
        spelled = resolve(names, given.schema, query.stream)
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
        nothing = opened(query.stream, [name for name in names if name != across])
        return replace(nothing, typed=False, frame=nothing.frame.withColumn(across, F.lit("")))
    spelled = resolve(names, together.schema, query.stream)
    columns = [name for name in dict.fromkeys(spelled.values()) if name != across]
    streams: list[FileStream] = []
    for number, (name, given) in enumerate(inputs.items()):
        if not given.schema.names:
            opened(name, [])  # which is not enough to follow it
            continue
        theirs = resolve(columns, given.schema, name)
        found = opened(name, list(dict.fromkeys(theirs.values())))
        chosen = [
            _fitting(column, theirs[column], given.schema, together.schema) for column in columns
        ]
        chosen.append(F.lit(name).alias(across))
        frame = found.frame.select(*chosen, *_marks(found.frame, number))
        streams.append(FileStream(together.schema, found.typed, frame))
    frame = reduce(lambda one, more: one.unionByName(more), _alike([s.frame for s in streams]))
    return FileStream(together.schema, all(s.typed for s in streams), frame)


def _fitting(name: str, theirs: str, given: pa.Schema, wanted: pa.Schema) -> Column:
    """An input's column by the name and in the type that all inputs share."""
    from pyspark.sql.pandas.types import from_arrow_type

    column = column_named(theirs)
    kind = wanted.field(name).type
    if given.field(theirs).type != kind and not pa.types.is_null(kind):
        column = column.cast(from_arrow_type(kind))
    return column.alias(name)


def _marks(frame: DataFrame, number: int) -> Iterator[Column]:
    """What else a frame of files has: where a record is from, and whether it is bad."""
    from pyspark.sql import functions as F

    if CHUNK in frame.columns:
        yield F.col(CHUNK).bitwiseOR(F.lit(number << INPUT_BITS)).alias(CHUNK)
    yield from (F.col(name) for name in _BAD if name in frame.columns)


def _alike(frames: list[DataFrame]) -> list[DataFrame]:
    """The frames with the same columns: text files tell of bad records, others have none."""
    from pyspark.sql import functions as F

    if not any(BAD_REASON in frame.columns for frame in frames):
        return frames
    none = {name: F.lit(None).cast("string") for name in _BAD}
    return [frame if BAD_REASON in frame.columns else frame.withColumns(none) for frame in frames]


def one_frame(
    frames: DataFrame | Mapping[str, DataFrame], queries: Mapping[str, Query]
) -> DataFrame:
    """The frame that the queries read: the one given, or those of several inputs as one."""
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
    """What queries on one frame have in common; with one input it does not matter what it is."""
    if query.combine is None or not query.others:
        return ()
    return (*query.inputs, query.combine.across.casefold())


def _unread(columns: list[str]) -> Iterator[pa.Table]:
    raise AssertionError("only the columns of these inputs are looked at")


__all__ = ["one_frame", "open_inputs"]
