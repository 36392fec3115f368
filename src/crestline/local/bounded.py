"""Queries over streams that end, from beginning to end, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.order import sort_codes
from crestline.core.tables import REJECTS
from crestline.core.window import counts_rows
from crestline.language import Query
from crestline.local.audit import Audit
from crestline.local.inputs import source_of
from crestline.planner import plan
from crestline.runtime.fitting import joined
from crestline.runtime.metrics import Metrics
from crestline.runtime.results import Results
from crestline.runtime.stream_run import StreamRun
from crestline.runtime.views import Named
from crestline.sources import Source
from crestline.sources.grouping import read_together


def run_bounded(
    queries: Mapping[str, Query],
    streams: Mapping[str, Any],
    strict: bool = False,
    audit: bool = False,
) -> Results:
    """All results of the queries. Those on one stream share their work.

    An ``audit`` compares approximate answers with exact ones.
    """
    judge = Audit(queries) if audit else None
    if judge is None:
        run = BoundedRun(queries, streams, strict)
    else:
        run = BoundedRun(judge.queries, streams, strict, silent=judge.twins)
    parts: dict[str, list[pa.Table]] = {name: [] for name in queries}
    for name, table in run:
        if judge is None or not judge.see(name, table):
            parts[name].append(table)
    tables = {
        name: _in_order(joined(run.schema_of(name), parts[name]), query)
        for name, query in queries.items()
    }
    metrics = {name: run.metrics(name) for name in queries}
    if judge is not None:
        metrics = {name: judge.with_findings(name, counts) for name, counts in metrics.items()}
    return Results(queries, tables, run.take_rejects(), metrics, run.notes)


def _in_order(table: pa.Table, query: Query) -> pa.Table:
    """Rows by window end, then partition. Only partitions that count their own records can report
    out of this order, as one may be far ahead of another."""
    if not (query.partition_by and counts_rows(query.window)):
        return table
    end = "window_end" if query.emit == "SNAPSHOTS" else "at"
    names = [end, *(item.name for item in query.partition_by)]
    keys = [sort_codes(table.column(name)) for name in names]
    return table.take(np.lexsort(keys[::-1]))


@dataclass(frozen=True, slots=True)
class _Read:
    """Queries that read a source together. An empty file has no columns, and no run."""

    source: Source
    queries: Mapping[str, Query]
    run: StreamRun | None


class BoundedRun:
    """Queries over their streams: iterate to get names of queries with tables of their results.

    Parameters:
        queries: The queries by name.
        streams: What they read, by name.
        strict: Raise ``RecordError`` for the first rejected record.
        progress: Called with the number of records read so far.
        silent: Queries whose rejects are not reported.
    """

    def __init__(
        self,
        queries: Mapping[str, Query],
        streams: Mapping[str, Any],
        strict: bool = False,
        progress: Callable[[int], None] | None = None,
        silent: frozenset[str] = frozenset(),
    ) -> None:
        self._progress, self._silent = progress, silent
        self._reads: list[_Read] = []
        for group in read_together(queries, streams):
            for query in group.values():
                plan(query)
            source = source_of(next(iter(group.values())), streams)
            run: StreamRun | None = None
            if source.schema.names:
                run = StreamRun(
                    group, source.schema, typed=source.typed, strict=strict, bounded=True,
                    variants=source.variants,
                )  # fmt: skip
            self._reads.append(_Read(source, group, run))
        counts = [read.source.rows for read in self._reads]
        #: How many records there are to read, if all sources know it.
        self.rows = None if None in counts else sum(count for count in counts if count is not None)

    def _run_of(self, name: str) -> StreamRun | None:
        return next(read.run for read in self._reads if name in read.queries)

    def schema_of(self, name: str) -> pa.Schema:
        """The schema of a query's results."""
        run = self._run_of(name)
        return run.schema_of(name) if run else pa.schema([])

    def metrics(self, name: str) -> Metrics:
        run = self._run_of(name)
        return run.metrics(name) if run else Metrics()

    @property
    def notes(self) -> list[str]:
        """One sentence for each column that has widened so far."""
        notes: list[str] = []
        for read in self._reads:
            if read.run is not None:
                notes += [*read.source.notes_of(read.run.columns), *read.run.notes]
        return list(dict.fromkeys(notes))

    def take_rejects(self) -> pa.Table:
        """The records rejected since the last call."""
        taken = [read.run.take_rejects(self._silent) for read in self._reads if read.run]
        return pa.concat_tables([REJECTS.empty_table(), *taken])

    def __iter__(self) -> Iterator[Named]:
        rows_before = 0
        for read in self._reads:
            run = read.run
            if run is None:
                continue
            to_come = {column: read.source.horizons(column) for column in run.event_times}
            for batch in read.source.read(run.columns):
                horizons = {column: next(times) for column, times in to_come.items()}
                yield from run.push(batch, horizons)
                if self._progress is not None:
                    self._progress(rows_before + run.rows_in)
            run.add_rejects(read.source.rejects())
            yield from run.finish()
            rows_before += run.rows_in


__all__ = ["BoundedRun", "run_bounded"]
