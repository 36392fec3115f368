"""Bounded runs on Spark: the rows of an in-process run, late and bad records included.

Without LATENESS nothing is late. With it, a first pass assumes so, which is nearly always right,
and notes how each chunk of the stream lies in time. Only where that shows that a record is late, or
where bad records are to be told by their place in the stream, does a second pass look at each
record in its place.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crestline.core.errors import RecordError, SourceError
from crestline.core.sentinels import LONG_AGO
from crestline.core.tables import REJECTS
from crestline.language import Query, in_full
from crestline.planner import arrange
from crestline.runtime.metrics import Metrics
from crestline.runtime.projection import resolve
from crestline.runtime.queries import stream_of
from crestline.runtime.results import Results
from crestline.runtime.roles import Carried, columns_of
from crestline.runtime.uncertainty import refuse_rules_above_one
from crestline.sources import Source, is_path, is_paths, source
from crestline.sources.grouping import read_together
from crestline.spark.failures import explaining
from crestline.spark.files import (
    BAD_COLUMN,
    BAD_REASON,
    BAD_VALUE,
    CHUNK,
    INPUT_BITS,
    FileStream,
    open_files,
)
from crestline.spark.inputs import open_inputs
from crestline.spark.outcome import Outcome, read_outcome
from crestline.spark.pipeline import pipeline
from crestline.spark.progress import Progress, watching
from crestline.spark.stages import Reading
from crestline.types import Bools

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_bounded(
    session: SparkSession,
    queries: dict[str, Query],
    streams: Mapping[str, Any],
    *,
    strict: bool = False,
    keep_rejects: bool = True,
    progress: Progress | None = None,
) -> Results:
    """All results of the queries over streams that end: files, or whatever ``run`` takes."""
    arrange(queries)
    found: dict[str, _Found] = {}
    notes: list[str] = []
    with explaining(), tempfile.TemporaryDirectory(prefix="crestline-") as scratch:
        for group in read_together(queries, streams):
            inputs = _inputs(group, streams)
            group = _in_full(group, inputs)
            notes += _notes(group, inputs)
            given = _opened(session, group, inputs, Path(scratch))
            with watching(session, progress):
                found |= _run_group(given, group, strict or keep_rejects)
    if strict:
        _refuse_bad(found, queries)
    return Results(
        queries,
        {name: found[name].rows for name in queries},
        pa.concat_tables([found[name].rejects for name in queries]),
        {name: found[name].metrics for name in queries},
        list(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    rows: pa.Table
    rejects: pa.Table
    metrics: Metrics


#: What is given as a stream, by its name, and how it is read.
_Inputs = dict[str, tuple[Any, Source]]


def _inputs(group: dict[str, Query], streams: Mapping[str, Any]) -> _Inputs:
    first = next(iter(group.values()))
    data = {name: stream_of(first, streams, name) for name in first.inputs}
    return {name: (given, source(given, name)) for name, given in data.items()}


def _in_full(group: dict[str, Query], inputs: _Inputs) -> dict[str, Query]:
    """The queries with columns for ``*``, which only those of one input can have."""
    _, given = next(iter(inputs.values()))
    return in_full(group, given.schema.names)


def _notes(group: dict[str, Query], inputs: _Inputs) -> list[str]:
    """What is to be said of the types of the columns that are read."""
    needed = {column.casefold() for query in group.values() for column in columns_of(query)}
    return [
        note
        for _, given in inputs.values()
        for note in given.notes_of(name for name in given.notes if name.casefold() in needed)
    ]


def _opened(
    session: SparkSession, group: dict[str, Query], inputs: _Inputs, scratch: Path
) -> FileStream:
    """The group's inputs as files: what is in memory is written to some first."""
    data = {name: data for name, (data, _) in inputs.items()}
    given = {name: read for name, (_, read) in inputs.items()}

    def opened(name: str, columns: list[str]) -> FileStream:
        if is_path(data[name]) or is_paths(data[name]):
            return open_files(session, data[name], name, columns)
        folder = scratch / str(len(list(scratch.iterdir())))
        folder.mkdir()
        known = given[name].schema
        if not known.names:
            nothing = pa.schema([(column, pa.string()) for column in columns]).empty_table()
            pq.write_table(nothing, folder / "0.parquet")
            return open_files(session, folder, name, columns)
        times = {query.window.on for query in group.values() if query.window.on is not None}
        _write(given[name], columns, set(resolve(list(times), known, name).values()), folder)
        return replace(open_files(session, folder, name, columns), typed=given[name].typed)

    return open_inputs(group, given, opened)


def _write(given: Source, columns: list[str], times: set[str], folder: Path) -> None:
    """Write a stream to files in its order: a new one where the types of its batches change.
    ``times`` are its event times."""
    schema = pa.schema([_plain(given.schema.field(column)) for column in columns])
    with ExitStack() as stack:
        numbers = count()
        writer = stack.enter_context(pq.ParquetWriter(_numbered_file(folder, numbers), schema))
        for batch in given.read(columns):
            table = pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch
            table = table.select(columns)
            types = pa.schema([_plain(field) for field in table.schema])
            if types != schema:
                schema = types
                file = _numbered_file(folder, numbers)
                writer = stack.enter_context(pq.ParquetWriter(file, schema))
            for place, field in enumerate(table.schema):
                if pa.types.is_timestamp(field.type) and field.type.unit in _COARSE:
                    moments = _in_microseconds(table.column(place), field.name, field.name in times)
                    table = table.set_column(place, field.name, moments)
            writer.write_table(table.cast(schema))


def _numbered_file(folder: Path, numbers: Iterator[int]) -> Path:
    return folder / f"{next(numbers):06}.parquet"  # files are read in the order of their names


#: Microseconds of the units that reach farther than Spark's times.
_COARSE = {"s": 1_000_000, "ms": 1_000}


def _in_microseconds(column: pa.ChunkedArray, name: str, event_time: bool) -> pa.ChunkedArray:
    """Times as Spark has them. Event times beyond that are set aside anyway: they may be any other
    time that is."""
    numbers = np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy())
    factor = _COARSE[column.type.unit]
    limit = np.iinfo(np.int64).max // factor
    if (np.abs(numbers) > limit).any() and not event_time:
        raise SourceError(
            f"the column {name!r} holds times that Spark has no type for: use engine='local'"
        )
    moments = pa.array(np.clip(numbers, -limit, limit) * factor, mask=~_valid(column))
    return pa.chunked_array([moments.cast(pa.timestamp("us", column.type.tz))])


def _valid(column: pa.ChunkedArray) -> Bools:
    return np.asarray(column.is_valid().to_numpy())


def _plain(field: pa.Field) -> pa.Field:
    """A type that parquet and Spark have: views and dictionaries are ways to store, not types."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind):
        kind = pa.string()
    if pa.types.is_null(kind):
        kind = pa.string()
    if pa.types.is_timestamp(kind) and kind.unit in _COARSE:
        kind = pa.timestamp("us", kind.tz)
    return pa.field(field.name, kind)


def _run_group(given: FileStream, group: dict[str, Query], told: bool) -> dict[str, _Found]:
    reading = Reading(chunk=CHUNK)
    if BAD_REASON in given.frame.columns:
        reading = replace(reading, bad=(BAD_COLUMN, BAD_REASON, BAD_VALUE))
    found, rows_in = _pass(given, group, reading)
    results: dict[str, _Found] = {}
    for bundle in arrange(group):
        first, query = next(iter(bundle.queries)), bundle.plan.query
        before, late = _chunks_before(found[first], query)
        if late or (told and found[first].rejected):
            careful = replace(reading, before=before, keep_rejects=True)
            if late and query.late == "REVISE":
                # Corrections depend on what came when: all records are replayed, in one place.
                careful = replace(careful, whole=True)
            again, _ = _pass(given, dict(bundle.queries), careful)
            found |= again
        for name in bundle.queries:
            outcome = found[name]
            metrics = outcome.metrics(query, outcome.rows.num_rows)
            if rows_in is not None:
                metrics.rows_filtered += rows_in - metrics.rows_in
                metrics.rows_in = rows_in
            results[name] = _Found(outcome.rows, _numbered(outcome, query), metrics)
    return results


def _pass(
    given: FileStream, group: dict[str, Query], reading: Reading
) -> tuple[dict[str, Outcome], int | None]:
    """One read of the stream; also how many records it has, if the filter hides that from us."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    frame = given.frame
    careful = reading.before is not None
    bundles = arrange(group)
    filtered = not careful and len(bundles) == 1 and bundles[0].plan.query.where is not None
    observation = Observation()
    if filtered:
        frame = frame.observe(observation, F.count(F.lit(1)).alias("rows"))
    planned = pipeline(
        frame, group, reading=reading, typed=given.typed, filtering=not careful,
        buckets=1 if reading.whole else None,
    )  # fmt: skip
    collected = planned.outcome.toArrow()
    rows_in = int(observation.get["rows"]) if filtered else None
    return read_outcome(collected, planned.projected.members, group), rows_in


def _chunks_before(outcome: Outcome, query: Query) -> tuple[dict[int, int], bool]:
    """The largest event time in all chunks of the same input before each, and whether any record
    is late."""
    if outcome.ledger is None or query.lateness is None:
        return {}, False
    before: dict[int, int] = {}
    late = False
    latest, input_before = LONG_AGO, 0
    for chunk, _, earliest, newest, out_of_order in sorted(outcome.ledger["chunks"]):
        if chunk >> INPUT_BITS != input_before:
            latest, input_before = LONG_AGO, chunk >> INPUT_BITS
        before[chunk] = latest
        late |= bool(out_of_order) or earliest < latest - query.lateness
        latest = max(latest, newest)
    return before, late and query.window.on is not None


def _numbered(outcome: Outcome, query: Query) -> pa.Table:
    """Rejects by their rows in the stream; those of several inputs by their rows in each."""
    rejects = outcome.rejects
    if rejects.num_rows == 0 or outcome.ledger is None:
        return REJECTS.empty_table()
    chunks = np.array(sorted(outcome.ledger["chunks"]), np.int64)
    first = np.cumsum(chunks[:, 1]) - chunks[:, 1]
    number = chunks[:, 0] >> INPUT_BITS
    first -= first[np.searchsorted(number, number)]
    of = np.searchsorted(chunks[:, 0], np.asarray(rejects.column(Carried.CHUNK).to_numpy()))
    rows = first[of] + np.asarray(rejects.column("row").to_numpy())
    rejects = rejects.set_column(1, "row", pa.array(rows)).drop_columns([Carried.CHUNK])
    if query.others:
        names = pa.array(query.inputs).take(pa.array(number[of]))
        rejects = rejects.set_column(0, "stream", names)
    return rejects.take(np.lexsort((rows, number[of]))).cast(REJECTS)


def _refuse_bad(found: dict[str, _Found], queries: dict[str, Query]) -> None:
    for name, query in queries.items():
        for bad in found[name].rejects.to_pylist():
            if bad["reason"] != "late":
                raise RecordError(bad["stream"], bad["row"], bad["column"], bad["reason"])
        refuse_rules_above_one(query, found[name].metrics.rules_above_one)
