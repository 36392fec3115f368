"""Bounded runs on Spark: the rows of an in-process run, late and bad records included.

Without LATENESS no record is late. With it, a first pass assumes that none is, which is nearly
always right, and notes the event times of each chunk of the stream. Only if that shows that a
record is late, a second pass judges every record in its order of arrival.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
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
from crestline.runtime.standing import arranged
from crestline.sources import Source, source
from crestline.sources.grouping import read_together
from crestline.sources.spool import spooled
from crestline.spark.failures import explaining
from crestline.spark.outcome import Outcome, read_outcome, refuse_bad
from crestline.spark.parcels import Parcels
from crestline.spark.progress import Progress, watching
from crestline.spark.remote import on_this_machine, parallelism
from crestline.spark.rounds import by_bucket
from crestline.spark.scans import INPUT_BITS, layout_of, numbered, plan_scan
from crestline.spark.stages import (
    BoundedRun,
    Layout,
    NumberedPiece,
    Reading,
    Step,
    bounded_step,
)
from crestline.spark.stages.rows import OUTCOME, ddl

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
            group = in_full(group, first.schema.names)  # ``*`` goes with one input only
            notes += _notes(group, inputs)
            inputs = _in_files(group, inputs, Path(scratch))
            with watching(session, progress):
                listed = strict or keep_rejects
                answers |= _Group(session, group, inputs, listed, Path(scratch)).answers()
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


def _inputs(group: Mapping[str, Query], streams: Mapping[str, Any]) -> dict[str, Source]:
    first = next(iter(group.values()))
    return {name: source(stream_of(first, streams, name), name) for name in first.inputs}


def _notes(group: Mapping[str, Query], inputs: Mapping[str, Source]) -> list[str]:
    """The notes about the types of the columns that are read."""
    needed = {column.casefold() for query in group.values() for column in columns_of(query)}
    return [
        note
        for each in inputs.values()
        for note in each.notes_of(n for n in each.notes if n.casefold() in needed)
    ]


def _in_files(
    group: Mapping[str, Query], inputs: Mapping[str, Source], scratch: Path
) -> dict[str, Source]:
    """The inputs, those in memory written to files."""
    across = {query.combine.across for query in group.values() if query.combine and query.others}
    names = list(dict.fromkeys(n for q in group.values() for n in columns_of(q)))
    files: dict[str, Source] = {}
    for name, opened in inputs.items():
        if opened.pieces is None and opened.schema.names:
            wanted = [column for column in names if column not in across]
            columns = list(dict.fromkeys(resolve(wanted, opened.schema, name).values()))
            folder = scratch / f"{len(list(scratch.iterdir()))}"
            folder.mkdir()
            opened = spooled(opened, columns, folder, name)
        files[name] = opened
    return files


# -- the passes -----------------------------------------------------------------------------------


class _Group:
    """Queries that read their stream together."""

    def __init__(
        self, session: SparkSession, queries: dict[str, Query], inputs: Mapping[str, Source],
        list_rejects: bool, scratch: Path,
    ) -> None:  # fmt: skip
        self._session, self._queries, self._list_rejects = session, queries, list_rejects
        #: Only the workers of this machine reach the folder.
        self._parcels = Parcels(str(scratch / "parcels")) if on_this_machine(session) else None
        filled = {name: opened for name, opened in inputs.items() if opened.schema.names}
        self._layout: Layout | None = None
        self._pieces: list[NumberedPiece] = []
        if filled:
            self._layout = layout_of(queries, inputs)
            self._pieces = numbered(queries, inputs)

    def answers(self) -> dict[str, _Answer]:
        """The answers of all queries."""
        if self._layout is None:  # an empty file has no columns
            empty = _Answer(pa.table({}), REJECTS.empty_table(), Metrics())
            return dict.fromkeys(self._queries, empty)
        outcomes = self._pass(self._queries, Reading(keep_rejects=self._list_rejects))
        answers: dict[str, _Answer] = {}
        for bundle in arranged(self._queries, self._layout.schema, bounded=True):
            first, query = next(iter(bundle.queries)), bundle.plan.query
            before, late = _chunks_before(outcomes[first], query)
            if late:
                # Corrections depend on the order of arrival, so one task replays all records.
                whole = query.late == "REVISE"
                reading = Reading(before, keep_rejects=self._list_rejects, whole=whole)
                outcomes |= self._pass(dict(bundle.queries), reading)
            for name in bundle.queries:
                outcome = outcomes[name]
                metrics = outcome.metrics(query, outcome.rows.num_rows)
                rejects = self._numbered_rejects(outcome, query)
                answers[name] = _Answer(outcome.rows, rejects, metrics)
        return answers

    def _pass(self, queries: dict[str, Query], reading: Reading) -> dict[str, Outcome]:
        """Read the stream once."""
        assert self._layout is not None
        buckets = 1 if reading.whole else 2 * parallelism(self._session)
        if not any(query.partition_by or query.combine for query in queries.values()):
            buckets = 1
        plan = plan_scan(queries, self._layout, bounded=True, buckets=buckets)
        step = Step(plan.members, plan.buckets, True, reading.keep_rejects, reading.whole)
        outcome = OUTCOME.empty_table()
        if self._pieces:
            parcels = self._parcels
            pruned = plan.pruned(self._session, self._pieces, reading, parcels)
            if parcels is not None or buckets == 1:
                outcome = by_bucket(pruned, BoundedRun(step), parcels)
            else:
                by = pruned.groupBy("bucket")
                outcome = by.applyInArrow(bounded_step(step), ddl(OUTCOME)).toArrow()
            if parcels is not None:
                parcels.clear()
        return read_outcome(outcome, plan.members, queries)

    def _numbered_rejects(self, outcome: Outcome, query: Query) -> pa.Table:
        """The rejects by their rows in the stream, then those that could not be read, by the lines
        of their files. Those of several inputs by input."""
        rejects = outcome.rejects
        if rejects.num_rows == 0 or outcome.ledger is None:
            return REJECTS.empty_table()
        chunks = sorted(outcome.ledger.chunks)
        number = np.array([chunk.number for chunk in chunks], np.int64)
        of_input = number >> INPUT_BITS
        first_row = _counted_before([chunk.rows for chunk in chunks], of_input)
        files = {each.number: each.piece.file for each in self._pieces}
        of_file = np.array([files[chunk.number] for chunk in chunks], np.int64)
        first_line = _counted_before([chunk.lines for chunk in chunks], of_input << 32 | of_file)
        of_reject = np.asarray(rejects.column(Carried.CHUNK).to_numpy())
        lines = of_reject < 0  # marked by ``by_line``
        index = np.searchsorted(number, np.where(lines, ~of_reject, of_reject))
        row = np.asarray(rejects.column("row").to_numpy())
        row = row + np.where(lines, first_line[index], first_row[index])
        rejects = rejects.set_column(1, "row", pa.array(row)).drop_columns([Carried.CHUNK])
        if query.others:
            names = pa.array(query.inputs).take(pa.array(of_input[index]))
            rejects = rejects.set_column(0, "stream", names)
        order = np.lexsort((row, np.where(lines, of_file[index], 0), of_input[index], lines))
        return rejects.take(order).cast(REJECTS)


def _counted_before(counts: list[int], group: Any) -> Any:
    """How many were counted before each chunk in its group; chunks of a group are neighbours."""
    before = np.cumsum(np.array(counts, np.int64)) - counts
    return before - before[np.searchsorted(group, group)]


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
