"""What runs in this process read: the source of a query, and the batches of one input for a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.language import Query
from crestline.runtime.projection import resolve
from crestline.runtime.queries import stream_of
from crestline.runtime.stream_run import StreamRun
from crestline.sources import Source, source
from crestline.sources.merging import merged, tagged, tagged_schema


def source_of(query: Query, streams: Mapping[str, Any]) -> Source:
    """The source of a query. Several inputs are one source, with the ACROSS column."""
    inputs = {name: source(stream_of(query, streams, name), name) for name in query.inputs}
    return merged(query, inputs) if query.others else inputs[query.stream]


def run_schema(query: Query, opened: Source) -> pa.Schema:
    """The schema of a run whose first records come from this source."""
    if query.combine is not None and query.others:
        return tagged_schema(opened.schema, query.combine.across)
    return opened.schema


def run_key(query: Query) -> str:
    """Equal for the queries of one run: their stream, or their inputs and the ACROSS column."""
    if query.combine is None or not query.others:
        return query.stream.casefold()
    return "\0".join((*query.inputs, query.combine.across.casefold()))


def batches_for(
    run: StreamRun, query: Query, opened: Source, stream: str, part: str
) -> Iterator[pa.Table | pa.RecordBatch]:
    """The batches of a source, with the columns of the run. An error calls the source ``part``."""
    if query.others:
        return _tagged_batches(run, query, opened, stream)
    missing = [name for name in run.columns if name not in opened.schema.names]
    if missing:
        raise SourceError(f"stream {stream!r}: {part} has no column {missing[0]!r}")
    return opened.read(run.columns)


def _tagged_batches(
    run: StreamRun, query: Query, opened: Source, stream: str
) -> Iterator[pa.Table]:
    """The batches of one of several inputs, with its name in the ACROSS column."""
    assert query.combine is not None
    named = query.combine.across
    across = resolve([named], run.schema, stream)[named]
    name = next(each for each in query.inputs if each.casefold() == stream.casefold())
    columns = [column for column in run.columns if column != across]
    spelled = list(resolve(columns, opened.schema, stream).values())

    def batches() -> Iterator[pa.Table]:
        for batch in opened.read(spelled):
            yield tagged(pa.table([batch.column(n) for n in spelled], names=columns), name, across)

    return batches()
