"""Bounded runs on Spark: the rows of an in-process run, late and bad records included.

Without LATENESS no record is late. With it, a first pass assumes that none is, which is nearly
always right, and notes the event times of each chunk of the stream. A second pass judges every
record in its order of arrival. It runs only if the first one shows that a record is late, or if
rejects are to be listed by their rows in the stream.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crestline.core.sentinels import LONG_AGO
from crestline.core.tables import REJECTS
from crestline.language import Query, in_full
from crestline.planner import arrange
from crestline.runtime.encoders.uncertain import refuse_rules_above_one
from crestline.runtime.metrics import Metrics
from crestline.runtime.projection import resolve
from crestline.runtime.queries import stream_of
from crestline.runtime.results import Results
from crestline.runtime.roles import Carried, columns_of
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
from crestline.spark.outcome import Outcome, read_outcome, refuse_bad
from crestline.spark.pipeline import pipeline
from crestline.spark.progress import Progress, watching
from crestline.spark.scratch_files import write_nothing, write_stream
from crestline.spark.stages import Reading

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
    """Run the queries over streams that end: files, or whatever ``run`` takes."""
    arrange(queries)
    answers: dict[str, _Answer] = {}
    notes: list[str] = []
    with explaining(), tempfile.TemporaryDirectory(prefix="crestline-") as scratch:
        for group in read_together(queries, streams):
            inputs = _inputs(group, streams)
            first = next(iter(inputs.values()))
            group = in_full(group, first.source.schema.names)  # ``*`` goes with one input only
            notes += _notes(group, inputs)
            files = _opened(session, group, inputs, Path(scratch))
            with watching(session, progress):
                answers |= _run_group(files, group, strict or keep_rejects)
    if strict:
        for name, query in queries.items():
            refuse_bad(answers[name].rejects)
            refuse_rules_above_one(query, answers[name].metrics.rules_above_one)
    return Results(
        queries,
        {name: answers[name].rows for name in queries},
        pa.concat_tables([answers[name].rejects for name in queries]),
        {name: answers[name].metrics for name in queries},
        list(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a run gives for one query."""

    rows: pa.Table
    rejects: pa.Table
    metrics: Metrics


# -- what is read ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Input:
    """A stream as the user gave it, and how the in-process engine would read it."""

    data: Any
    source: Source


def _inputs(group: dict[str, Query], streams: Mapping[str, Any]) -> dict[str, _Input]:
    first = next(iter(group.values()))
    data = {name: stream_of(first, streams, name) for name in first.inputs}
    return {name: _Input(stream, source(stream, name)) for name, stream in data.items()}


def _notes(group: dict[str, Query], inputs: Mapping[str, _Input]) -> list[str]:
    """The notes about the types of the columns that are read."""
    needed = {column.casefold() for query in group.values() for column in columns_of(query)}
    return [
        note
        for each in inputs.values()
        for note in each.source.notes_of(n for n in each.source.notes if n.casefold() in needed)
    ]


def _opened(
    session: SparkSession, group: dict[str, Query], inputs: Mapping[str, _Input], scratch: Path
) -> FileStream:
    """Open the inputs of a group as files. Streams in memory are written to files first."""
    times = [query.window.on for query in group.values() if query.window.on is not None]

    def opened(name: str, columns: list[str]) -> FileStream:
        data, stream = inputs[name].data, inputs[name].source
        if is_path(data) or is_paths(data):
            return open_files(session, data, name, columns)
        folder = scratch / str(len(list(scratch.iterdir())))
        folder.mkdir()
        if not stream.schema.names:
            write_nothing(columns, folder)
            return open_files(session, folder, name, columns)
        spelled = resolve(list(dict.fromkeys(times)), stream.schema, name)
        write_stream(stream, columns, set(spelled.values()), folder)
        return replace(open_files(session, folder, name, columns), typed=stream.typed)

    return open_inputs(group, {name: each.source for name, each in inputs.items()}, opened)


# -- the passes -----------------------------------------------------------------------------------


def _run_group(
    files: FileStream, group: dict[str, Query], list_rejects: bool
) -> dict[str, _Answer]:
    reading = Reading(chunk=CHUNK)
    if BAD_REASON in files.frame.columns:
        reading = replace(reading, bad=(BAD_COLUMN, BAD_REASON, BAD_VALUE))
    outcomes, rows_in = _pass(files, group, reading)
    answers: dict[str, _Answer] = {}
    for bundle in arrange(group):
        first, query = next(iter(bundle.queries)), bundle.plan.query
        before, late = _chunks_before(outcomes[first], query)
        if late or (list_rejects and outcomes[first].rejected):
            # Corrections depend on the order of arrival, so one task replays all records.
            whole = late and query.late == "REVISE"
            second = replace(reading, before=before, keep_rejects=True, whole=whole)
            outcomes |= _pass(files, dict(bundle.queries), second)[0]
        for name in bundle.queries:
            outcome = outcomes[name]
            metrics = outcome.metrics(query, outcome.rows.num_rows)
            if rows_in is not None:
                metrics.rows_filtered += rows_in - metrics.rows_in
                metrics.rows_in = rows_in
            answers[name] = _Answer(outcome.rows, _numbered_rejects(outcome, query), metrics)
    return answers


def _pass(
    files: FileStream, group: dict[str, Query], reading: Reading
) -> tuple[dict[str, Outcome], int | None]:
    """Read the stream once; return also how many records it has, if Spark filters them."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    frame = files.frame
    first_pass = reading.before is None
    bundles = arrange(group)
    filtered = first_pass and len(bundles) == 1 and bundles[0].plan.query.where is not None
    observation = Observation()
    if filtered:
        frame = frame.observe(observation, F.count(F.lit(1)).alias("rows"))
    planned = pipeline(
        frame, group, reading=reading, typed=files.typed, filtering=first_pass,
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
    for chunk in sorted(outcome.ledger.chunks):
        if chunk.number >> INPUT_BITS != input_before:
            latest, input_before = LONG_AGO, chunk.number >> INPUT_BITS
        before[chunk.number] = latest
        late |= chunk.out_of_order or chunk.earliest < latest - query.lateness
        latest = max(latest, chunk.latest)
    return before, late and query.window.on is not None


def _numbered_rejects(outcome: Outcome, query: Query) -> pa.Table:
    """The rejects by their rows in the stream; those of several inputs by their rows in each."""
    rejects = outcome.rejects
    if rejects.num_rows == 0 or outcome.ledger is None:
        return REJECTS.empty_table()
    chunks = sorted(outcome.ledger.chunks)
    number = np.array([chunk.number for chunk in chunks], np.int64)
    rows = np.array([chunk.rows for chunk in chunks], np.int64)
    first_row = np.cumsum(rows) - rows
    of_input = number >> INPUT_BITS
    first_row -= first_row[np.searchsorted(of_input, of_input)]
    index = np.searchsorted(number, np.asarray(rejects.column(Carried.CHUNK).to_numpy()))
    row = first_row[index] + np.asarray(rejects.column("row").to_numpy())
    rejects = rejects.set_column(1, "row", pa.array(row)).drop_columns([Carried.CHUNK])
    if query.others:
        names = pa.array(query.inputs).take(pa.array(of_input[index]))
        rejects = rejects.set_column(0, "stream", names)
    return rejects.take(np.lexsort((row, of_input[index]))).cast(REJECTS)
