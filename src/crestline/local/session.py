"""Runs in one process: bounded streams from beginning to end, and sessions that go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.errors import CrestlineError, PlanError, SourceError, StateError
from crestline.core.order import sort_codes
from crestline.core.state import pack, unpack
from crestline.core.window import counts_rows
from crestline.language import Query, parse_all
from crestline.local.engine import Engine
from crestline.local.gate import REJECTS
from crestline.local.metrics import Metrics
from crestline.local.sources import from_dicts, source
from crestline.planner import Plan, plan


class Results:
    """The rows of a bounded run; see ``to_arrow`` and ``to_pandas``."""

    def __init__(
        self, tables: dict[str, pa.Table], rejects: pa.Table, metrics: dict[str, Metrics]
    ) -> None:
        self._tables, self.rejects, self.by_query = tables, rejects, metrics

    @property
    def metrics(self) -> Metrics:
        """The counts of the run; of several queries, the first one's (see ``by_query``)."""
        return next(iter(self.by_query.values()))

    def of(self, query: str) -> pa.Table:
        """The rows of one query of several."""
        if query not in self._tables:
            raise CrestlineError(f"no query {query!r}: there are {', '.join(self._tables)}")
        return self._tables[query]

    def to_arrow(self) -> pa.Table:
        """All rows. Several queries with different columns: NULL where a query lacks a column."""
        return pa.concat_tables(list(self._tables.values()), promote_options="permissive")

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def __len__(self) -> int:
        return sum(table.num_rows for table in self._tables.values())

    def __repr__(self) -> str:
        return f"<Results: {len(self):,} rows of {', '.join(self._tables)}>"


def run_bounded(
    queries: Mapping[str, Query], streams: Mapping[str, Any], strict: bool = False
) -> Results:
    """All results of the queries over streams that end."""
    tables: dict[str, pa.Table] = {}
    metrics: dict[str, Metrics] = {}
    rejects: list[pa.Table] = []
    for name, single in queries.items():
        bounded = BoundedRun(single, name, streams, strict)
        rows = list(bounded)
        table = pa.concat_tables([bounded.schema.empty_table(), *rows])
        tables[name] = _in_order(table, single)
        metrics[name] = bounded.metrics
        rejects.append(bounded.take_rejects())
    return Results(tables, pa.concat_tables(rejects), metrics)


def _in_order(table: pa.Table, query: Query) -> pa.Table:
    """Rows by window end, then partition. Only partitions that count their own records can report
    out of this order, as one may be far ahead of another."""
    if not (query.partition_by and counts_rows(query.window)):
        return table
    end = "at" if query.emit == "CHANGES" else "window_end"
    names = [end, *(item.name for item in query.partition_by)]
    keys = [sort_codes(table.column(name)) for name in names]
    return table.take(np.lexsort(keys[::-1]))


def named_queries(query: str | Query) -> dict[str, Query]:
    """The queries of a text by their names: ``query``, or ``query_1`` and so on, where they have
    none."""
    queries = (query,) if isinstance(query, Query) else parse_all(query)
    if len(queries) == 1:
        return {queries[0].name or "query": queries[0]}
    named: dict[str, Query] = {}
    for number, single in enumerate(queries, 1):
        name = single.name or f"query_{number}"
        if name in named:
            raise PlanError(f"two queries are called {name}: name them apart")
        named[name] = single
    return named


class BoundedRun:
    """One query over its stream from beginning to end: iterate over it to get result tables."""

    def __init__(
        self,
        query: Query,
        name: str,
        streams: Mapping[str, Any],
        strict: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """``progress`` is called with the number of records read so far."""
        self._plan = plan(query)
        self._source = source(stream_of(query, streams), query.stream)
        self._progress = progress
        self._engine: Engine | None = None
        if self._source.schema.names:
            self._engine = Engine(
                self._plan, self._source.schema, name=name, typed=self._source.typed, strict=strict
            )
        self.rows = self._source.rows

    @property
    def schema(self) -> pa.Schema:
        return self._engine.schema if self._engine else pa.schema([])

    @property
    def metrics(self) -> Metrics:
        return self._engine.metrics if self._engine else Metrics()

    def take_rejects(self) -> pa.Table:
        """The records set aside since the last call."""
        return self._engine.rejects.take() if self._engine else REJECTS.empty_table()

    def __iter__(self) -> Iterator[pa.Table]:
        engine = self._engine
        if engine is None:  # an empty file: not even columns
            return
        for batch in self._source.read(engine.projection.columns):
            yield from engine.push(batch)
            if self._progress is not None:
                self._progress(engine.metrics.rows_in)
        engine.rejects.add_table(self._source.rejects())
        yield from engine.finish()
        engine.metrics.rejected = dict(engine.rejects.counts)


class Session:
    """A query that stands: push records, take the results as they fall due."""

    def __init__(self, query: Query, *, strict: bool = False, state: bytes | None = None) -> None:
        self._plan: Plan = plan(query)
        self._name = query.name or "query"
        self._strict = strict
        self._engine: Engine | None = None
        self._rejects: list[pa.Table] = []
        if state is not None:
            self._resume(unpack(state))

    def _resume(self, state: dict[str, Any]) -> None:
        try:
            if state["engine"] is not None:
                self._engine = Engine.from_state(self._plan, state["engine"], strict=self._strict)
        except (KeyError, TypeError, IndexError, pa.ArrowException) as error:
            raise StateError(f"this state does not make sense: {error!r}") from error

    def push(self, data: Any) -> pa.Table:
        """Take records in (whatever ``run`` takes as a stream, or one dictionary) and return the
        result rows that are due now."""
        stream = self._plan.query.stream
        if isinstance(data, dict):
            data = [data]
        if self._engine is not None and isinstance(data, list):
            given = source(from_dicts(data, self._engine.stream_schema), stream)
        else:
            given = source(data, stream)
        if self._engine is None:
            if not given.schema.names:
                return pa.table({})
            self._engine = Engine(
                self._plan, given.schema, name=self._name, typed=given.typed, strict=self._strict
            )
        engine = self._engine
        columns = engine.projection.columns
        missing = [name for name in columns if name not in given.schema.names]
        if missing:
            raise SourceError(f"stream {stream!r}: this batch has no column {missing[0]!r}")
        rows = [table for batch in given.read(columns) for table in engine.push(batch)]
        return pa.concat_tables([engine.schema.empty_table(), *rows])

    def finish(self) -> pa.Table:
        """Declare the stream over and return what is still due."""
        if self._engine is None:
            return pa.table({})
        return pa.concat_tables([self._engine.schema.empty_table(), *self._engine.finish()])

    @property
    def rejects(self) -> pa.Table:
        """The records set aside so far (in this process)."""
        if self._engine is not None:
            self._rejects.append(self._engine.rejects.take())
        return pa.concat_tables([REJECTS.empty_table(), *self._rejects])

    @property
    def metrics(self) -> Metrics:
        return self._engine.metrics if self._engine else Metrics()

    def snapshot(self) -> bytes:
        """The whole state, versioned and checked; ``open(query, state=...)`` resumes from it."""
        return pack({"engine": None if self._engine is None else self._engine.state()})


def stream_of(query: Query, streams: Mapping[str, Any]) -> Any:
    """What the query's stream stands for."""
    if query.stream in streams:
        return streams[query.stream]
    alike = [name for name in streams if name.casefold() == query.stream.casefold()]
    if len(alike) == 1:
        return streams[alike[0]]
    given = ", ".join(map(repr, streams)) or "none"
    raise SourceError(
        f"the query reads the stream {query.stream!r}, but the streams given are {given}"
    )


__all__ = ["BoundedRun", "Results", "Session", "named_queries", "run_bounded", "stream_of"]
