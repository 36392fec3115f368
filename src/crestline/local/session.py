"""Sessions: queries that stand in this process while records are pushed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from itertools import chain, islice
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import pyarrow as pa

from crestline.core import sound
from crestline.core.display import cell, counted, folded_html, html_table, text_table
from crestline.core.errors import CrestlineError, PlanError, SourceError
from crestline.core.state import pack, unpack
from crestline.core.tables import REJECTS
from crestline.language import Query
from crestline.local.inputs import batches_for, run_key, run_schema
from crestline.local.shown import HEADINGS, RIGHT, query_rows
from crestline.planner import explain, plan
from crestline.planner.words import listed
from crestline.runtime.fitting import retyped
from crestline.runtime.joining import moment
from crestline.runtime.lateness import warn_of_late
from crestline.runtime.metrics import Metrics
from crestline.runtime.queries import named_queries
from crestline.runtime.results import together
from crestline.runtime.stream_run import StreamRun
from crestline.runtime.views import Named
from crestline.sources import source

P = ParamSpec("P")
R = TypeVar("R")


def _exclusive(
    method: Callable[Concatenate[Session, P], R],
) -> Callable[Concatenate[Session, P], R]:
    """Let a method run alone: calls of other threads wait for the lock."""

    @wraps(method)
    def locked(self: Session, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            if self._broken is not None:
                raise CrestlineError(
                    f"this session broke off in the middle of a call ({self._broken}): open a new"
                    " one from your last snapshot()"
                )
            return method(self, *args, **kwargs)

    return locked


class Session:
    """Queries that stand: push records, take the results as they fall due.

    ``with crestline.open(...) as session`` closes the session at the end of the block: nothing can
    be pushed any more. It does not ``finish`` it, since rows that are still due would be lost: call
    ``finish()`` inside the block for them. Counts, rejects and ``snapshot()`` stay readable.

    Threads may share a session: each call waits until the one before it is done. Sessions of
    their own run side by side.
    """

    def __init__(
        self, queries: Mapping[str, Query], *, strict: bool = False, state: bytes | None = None,
        keep_rejects: int | None = 10_000,
    ) -> None:  # fmt: skip
        for query in queries.values():
            plan(query)
        if keep_rejects is not None and keep_rejects < 0:
            raise CrestlineError(f"keep_rejects is 0 or more, or None for all, not {keep_rejects}")
        self._strict, self._keep_rejects = strict, keep_rejects
        self._lock = RLock()
        self._broken: str | None = None
        self._closed = False
        self._waiting = dict(queries)  # queries whose stream has not been seen yet
        self._runs: dict[str, StreamRun] = {}
        self._rejects = REJECTS.empty_table()
        self._warned = False  # that many records come late
        #: Sentences on queries that came and went, and on columns that widened.
        self.log: list[str] = []
        if state is not None:
            self._resume(unpack(state))

    def _resume(self, state: dict[str, Any]) -> None:
        with sound.reading(pa.ArrowException):
            for key, run_state in state["streams"].items():
                self._runs[key] = self._run_from(self._take_waiting(key), run_state)
            self.log = list(state["log"])

    def _take_waiting(self, key: str) -> dict[str, Query]:
        """Remove the queries of one run from those that wait; return them."""
        taken = {name: query for name, query in self._waiting.items() if run_key(query) == key}
        self._waiting = {n: query for n, query in self._waiting.items() if n not in taken}
        return taken

    def _run_from(self, queries: dict[str, Query], state: dict[str, Any]) -> StreamRun:
        return StreamRun.from_state(
            queries, state, strict=self._strict, keep_rejects=self._keep_rejects
        )

    @property
    @_exclusive
    def queries(self) -> dict[str, Query]:
        """The queries that stand, by name."""
        running = {n: q for run in self._runs.values() for n, q in run.queries.items()}
        return running | self._waiting

    @property
    @_exclusive
    def text(self) -> str:
        """The queries as text: with it ``open`` resumes from ``snapshot()``."""
        single = list(self.queries.items())
        if len(single) == 1 and single[0][0] == "query":
            return str(single[0][1])
        return ";\n\n".join(str(replace(query, name=name)) for name, query in single)

    # -- records ------------------------------------------------------------------------------

    @_exclusive
    def push(self, data: Any, stream: str | None = None) -> pa.Table:
        """Take records in (whatever ``run`` takes as a stream, or one record) and return the
        result rows that are due now. Where queries read several streams, say which one this is.

        Types may differ from push to push: a column widens without loss, which ``log`` notes, and a
        record that does not fit is set aside. After an error the session is as it was before the
        push.

        A query of several inputs takes records in the order in which they are pushed."""
        self._check_open()
        stream = self._stream(stream)
        readers = self._readers(stream)
        if len(readers) > 1 and isinstance(data, Iterator | pa.RecordBatchReader):
            data = tuple(data)
        runs, waiting = dict(self._runs), dict(self._waiting)
        try:
            ready = [self._portion(key, query, data, stream) for key, query in readers.items()]
            tables = self._take([portion for portion in ready if portion is not None])
        except BaseException:
            self._runs, self._waiting = {key: self._runs[key] for key in runs}, waiting
            raise
        if not self._warned and any(run.rows_late for run in self._runs.values()):
            self._warned = warn_of_late(self.by_query, following=True)
        return together(tables)

    def _take(self, portions: list[_Portion]) -> list[pa.Table]:
        """Take in all batches, or none; return the results of each run."""
        firsts = [list(islice(portion.batches, 2)) for portion in portions]
        if max(map(len, firsts), default=0) > 1 or self._may_refuse_admitted():
            return self._take_many(portions, firsts)
        marks = [portion.run.reject_marks() for portion in portions]
        try:
            admitted = [
                (portion.run, [portion.run.admit(batch, portion.typed) for batch in batches])
                for portion, batches in zip(portions, firsts, strict=True)
            ]
        except BaseException:
            for portion, mark in zip(portions, marks, strict=True):
                portion.run.return_rejects_to(mark)
            raise
        with self._breaking():
            return [
                self._table(run, [named for batch in batches for named in run.take(batch)])
                for run, batches in admitted
            ]

    def _take_many(self, portions: list[_Portion], firsts: list[list[Any]]) -> list[pa.Table]:
        """As ``_take``: the state before is saved and restored if a later batch is refused."""
        self._collect_rejects()
        rejects = self._rejects
        saved = {key: (run.queries, pack(run.state())) for key, run in self._runs.items()}
        tables = []
        try:
            for portion, first in zip(portions, firsts, strict=True):
                run = portion.run
                rows: list[Named] = []
                for batch in chain(first, portion.batches):
                    rows += run.take(run.admit(batch, portion.typed))
                tables.append(self._table(run, rows))
            return tables
        except BaseException:
            with self._breaking():
                self._runs = {
                    key: self._run_from(queries, unpack(state))
                    for key, (queries, state) in saved.items()
                }
            self._rejects = rejects
            raise

    def _may_refuse_admitted(self) -> bool:
        """Whether records that were admitted may be refused while they are taken in."""
        return self._strict and any(
            query.combine is not None or query.probability is not None
            for query in self.queries.values()
        )

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        """Mark the session as broken if the block fails: its state is incomplete then."""
        try:
            yield
        except BaseException as error:
            self._broken = f"{type(error).__name__}: {error}"
            raise

    def _readers(self, stream: str) -> dict[str, Query]:
        """A query of each run that reads the stream, or will, by the key of the run."""
        readers: dict[str, Query] = {}
        for query in self.queries.values():
            if stream.casefold() in map(str.casefold, query.inputs):
                readers.setdefault(run_key(query), query)
        return readers

    def _portion(self, key: str, query: Query, data: Any, stream: str) -> _Portion | None:
        """The run and the batches for it; None as long as not even the columns are known."""
        run = self._runs.get(key)
        opened = source(data, stream, () if run is None else run.columns)
        if not opened.schema.names:
            return None
        if run is None:
            run = self._runs[key] = StreamRun(
                self._take_waiting(key), run_schema(query, opened), typed=opened.typed,
                strict=self._strict, keep_rejects=self._keep_rejects,
            )  # fmt: skip
        batches = batches_for(run, query, opened, stream, "this batch")
        return _Portion(run, batches, opened.typed)

    def _stream(self, stream: str | None) -> str:
        """The name of the pushed stream, as the queries spell it."""
        inputs = {name.casefold(): name for q in self.queries.values() for name in q.inputs}
        if stream is not None and stream.casefold() in inputs:
            return inputs[stream.casefold()]
        if stream is None and len(inputs) == 1:
            return next(iter(inputs.values()))
        names = ", ".join(map(repr, inputs.values())) or "none"
        if stream is None:
            raise SourceError(f"say which stream this is: the queries read {names}")
        raise SourceError(f"no query reads the stream {stream!r}: they read {names}")

    def _table(self, run: StreamRun, rows: list[Named]) -> pa.Table:
        """The rows of all queries, NULL where one lacks a column. Logs columns that widened."""
        self.log += [note for note in run.notes if note not in self.log]
        schemas = (run.schema_of(name) for name in run.queries)
        empty = [each.empty_table() for each in {id(each): each for each in schemas}.values()]
        return together([*empty, *(retyped(table, run.schema_of(name)) for name, table in rows)])

    @_exclusive
    def finish(self) -> pa.Table:
        """Declare the streams over and return what is still due."""
        self._check_open()
        with self._breaking():
            return together([self._table(run, list(run.finish())) for run in self._runs.values()])

    @_exclusive
    def close(self) -> None:
        """Take in nothing more. Rows that are still due are lost: ``finish`` returns them."""
        self._closed = True

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *failure: object) -> None:
        with self._lock:
            self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise CrestlineError(
                "this session is closed: open a new one, with state=session.snapshot() to go on"
                " from where it stopped"
            )

    # -- queries that come and go -------------------------------------------------------------

    @_exclusive
    def add(self, query: str | Query, name: str | None = None) -> list[str]:
        """Let one more query stand (or several, separated by ``;``) and return their names.

        It sees the records from now on, as if it had been opened on its own. Where it can share
        with queries that stand already, it begins with the first pane that no record is in yet.
        ``log`` names those queries and the time from which on it sees records.
        """
        self._check_open()
        added = named_queries(query, name, taken=self.queries)
        for each in added.values():
            plan(each)
        done: list[str] = []
        try:
            for called, each in added.items():
                self._add(called, each)
                done.append(called)
        except CrestlineError:
            for called in done:
                self.remove(called)
            raise
        return done

    def _add(self, name: str, query: Query) -> None:
        run = self._runs.get(run_key(query))
        if run is None:
            self._waiting[name] = query
            awaited = " or ".join(query.inputs)
            self.log.append(f"{name} was added: it waits for the stream {awaited}")
            return
        others, begin = run.add(name, query)
        since = "" if begin is None else f", and sees records from {moment(begin)} on"
        shares = f"shares with {listed(others)}" if others else "shares the scan only"
        self.log.append(f"{name} was added: it {shares}{since}")
        self._note_plans(run)

    @_exclusive
    def remove(self, name: str) -> None:
        """Remove a query. Those that it shared with go on."""
        self._check_open()
        if name in self._waiting:
            del self._waiting[name]
            self.log.append(f"{name} was removed")
            return
        for run in self._runs.values():
            if name in run.queries:
                run.remove(name)
                self.log.append(f"{name} was removed")
                self._note_plans(run)
                return
        names = ", ".join(self.queries) or "none"
        raise PlanError(f"there is no query {name}: the queries that stand are {names}")

    def _note_plans(self, run: StreamRun) -> None:
        """Log each new plan once."""
        self.log += [sentence for sentence in run.plans if sentence not in self.log]

    # -- counts and state ----------------------------------------------------------------------

    @property
    @_exclusive
    def rejects(self) -> pa.Table:
        """The records set aside so far (in this process): the first ``keep_rejects`` of them.
        ``metrics.rejected`` counts every one."""
        self._collect_rejects()
        return self._rejects

    def _collect_rejects(self) -> None:
        taken = [run.take_rejects() for run in self._runs.values()]
        self._rejects = pa.concat_tables([self._rejects, *taken]).slice(0, self._keep_rejects)

    @property
    @_exclusive
    def metrics(self) -> Metrics:
        """The counts so far; of several queries, the first one's (see ``by_query``)."""
        return next(iter(self.by_query.values()), Metrics())

    @property
    @_exclusive
    def by_query(self) -> dict[str, Metrics]:
        """The counts of each query."""
        running = {n: run.metrics(n) for run in self._runs.values() for n in run.queries}
        return running | {name: Metrics() for name in self._waiting}

    def __repr__(self) -> str:
        heading, rows = self._shown()
        return f"<Session: {heading}>" + (f"\n{text_table(rows, HEADINGS, RIGHT)}" if rows else "")

    def _repr_html_(self) -> str:
        heading, rows = self._shown()
        table = html_table(rows, HEADINGS, RIGHT)
        plan = folded_html("The plan", explain(self.queries)._repr_html_()) if rows else ""
        return f"<div><b>Session</b>: {escape(heading)}{table}{plan}</div>"

    def _shown(self) -> tuple[str, list[list[str]]]:
        """A heading, and the rows of the queries."""
        if self._broken is not None:
            return f"broken off ({cell(self._broken)})", []
        with self._lock:
            metrics, queries = self.by_query, self.queries
            watermarks = {n: run.watermark(n) for run in self._runs.values() for n in run.queries}
        heading = counted(len(queries), "query") + (", closed" if self._closed else "")
        return heading, query_rows(queries, metrics, watermarks)

    @_exclusive
    def snapshot(self) -> bytes:
        """The whole state, versioned and checked; ``open(query, state=...)`` resumes from it."""
        streams = {stream: run.state() for stream, run in self._runs.items()}
        return pack({"streams": streams, "log": self.log})


@dataclass(frozen=True, slots=True)
class _Portion:
    """The pushed batches that one run takes in."""

    run: StreamRun
    batches: Iterator[pa.Table | pa.RecordBatch]
    typed: bool


__all__ = ["Session"]
