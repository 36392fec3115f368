"""Runs in one process: bounded streams from beginning to end, and sessions that go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from itertools import chain, count, islice
from pathlib import Path
from threading import RLock
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.display import cell, counted, folded_html, html_table, text_table
from crestline.core.errors import CrestlineError, PlanError, QueryError, SourceError
from crestline.core.order import sort_codes
from crestline.core.state import pack, unpack
from crestline.core.window import counts_rows
from crestline.language import Query, parse_all
from crestline.local.audit import Audit
from crestline.local.gate import REJECTS, retyped
from crestline.local.joining import moment
from crestline.local.late import warn_of_late
from crestline.local.merging import merged, merging_key, tagged, tagged_schema
from crestline.local.metrics import Metrics
from crestline.local.projection import columns_of, resolve
from crestline.local.results import Results, together
from crestline.local.several import Several
from crestline.local.sources import Source, is_path, is_paths, source
from crestline.local.views import Named
from crestline.planner import explain, plan

P = ParamSpec("P")
R = TypeVar("R")


def run_bounded(
    queries: Mapping[str, Query],
    streams: Mapping[str, Any],
    strict: bool = False,
    audit: bool = False,
) -> Results:
    """All results of the queries over streams that end; those on one stream share their work. An
    ``audit`` compares approximate answers with exact ones."""
    judge = Audit(queries) if audit else None
    if judge is not None:
        bounded = BoundedRun(judge.queries, streams, strict, silent=judge.twins)
    else:
        bounded = BoundedRun(queries, streams, strict)
    found: dict[str, list[pa.Table]] = {name: [] for name in queries}
    for name, table in bounded:
        if judge is None or not judge.see(name, table):
            found[name].append(table)
    tables = {}
    for name, query in queries.items():
        schema = bounded.schema_of(name)  # a column may have widened on the way
        parts = [schema.empty_table(), *(retyped(table, schema) for table in found[name])]
        tables[name] = _in_order(pa.concat_tables(parts), query)
    metrics = {name: bounded.metrics(name) for name in queries}
    if judge is not None:
        metrics = {name: judge.told(name, counts) for name, counts in metrics.items()}
    return Results(queries, tables, bounded.take_rejects(), metrics, bounded.notes)


def _in_order(table: pa.Table, query: Query) -> pa.Table:
    """Rows by window end, then partition. Only partitions that count their own records can report
    out of this order, as one may be far ahead of another."""
    if not (query.partition_by and counts_rows(query.window)):
        return table
    end = "at" if query.emit == "CHANGES" else "window_end"
    names = [end, *(item.name for item in query.partition_by)]
    keys = [sort_codes(table.column(name)) for name in names]
    return table.take(np.lexsort(keys[::-1]))


def named_queries(
    query: str | Query, name: str | None = None, taken: Mapping[str, Query] | None = None
) -> dict[str, Query]:
    """The queries of a text by their names: ``query``, or ``query_1`` and so on, where they have
    none. A single one may be called ``name``; names that are ``taken`` are not given again."""
    if not isinstance(query, str | Query):
        raise QueryError(
            f"a query is a text, or what crestline.parse made of one, not {type(query).__name__}"
        )
    queries = (query,) if isinstance(query, Query) else parse_all(query)
    known = {} if taken is None else taken
    if name is not None and len(queries) > 1:
        raise PlanError(f"there are {len(queries)} queries, which cannot all be called {name}")
    named: dict[str, Query] = {}
    for number, single in enumerate(queries, 1):
        called = name or single.name
        if called is None and len(queries) == 1 and not known:
            called = "query"
        if called is None:
            number = next(n for n in count(number + len(known)) if f"query_{n}" not in known)
            called = f"query_{number}"
        if called in named or called in known:
            raise PlanError(f"two queries are called {called}: name them apart")
        named[called] = single
    return named


class BoundedRun:
    """Queries over their streams from beginning to end: iterate over it to get the names of queries
    and tables of their results."""

    def __init__(
        self,
        queries: Mapping[str, Query],
        streams: Mapping[str, Any],
        strict: bool = False,
        progress: Callable[[int], None] | None = None,
        silent: frozenset[str] = frozenset(),
    ) -> None:
        """``progress`` is called with the number of records read so far; what ``silent`` queries
        set aside is not told."""
        self._progress, self._silent = progress, silent
        self._reads: list[tuple[Source, Several | None, list[str]]] = []
        for group in read_together(queries, streams):
            first = next(iter(group.values()))
            for query in group.values():
                plan(query)
            given = source_of(first, streams)
            several: Several | None = None  # an empty file has not even columns
            if given.schema.names:
                several = Several(
                    group, given.schema, typed=given.typed, strict=strict, bounded=True,
                    variants=given.variants,
                )  # fmt: skip
            self._reads.append((given, several, list(group)))
        known = [given.rows for given, _, _ in self._reads]
        #: How many records there are to read, if that is known.
        self.rows = None if None in known else sum(rows for rows in known if rows is not None)

    def _of(self, name: str) -> Several | None:
        return next(several for _, several, names in self._reads if name in names)

    def schema_of(self, name: str) -> pa.Schema:
        """Of a query's results."""
        several = self._of(name)
        return several.schema_of(name) if several else pa.schema([])

    def metrics(self, name: str) -> Metrics:
        several = self._of(name)
        return several.metrics(name) if several else Metrics()

    @property
    def notes(self) -> list[str]:
        """Which columns had to widen so far, in sentences."""
        found: list[str] = []
        for given, several, _ in self._reads:
            if several is not None:
                found += [*given.notes_of(several.columns), *several.notes]
        return list(dict.fromkeys(found))

    def take_rejects(self) -> pa.Table:
        """The records set aside since the last call."""
        taken = [several.take_rejects(self._silent) for _, several, _ in self._reads if several]
        return pa.concat_tables([REJECTS.empty_table(), *taken])

    def __iter__(self) -> Iterator[Named]:
        before = 0
        for given, several, _ in self._reads:
            if several is None:
                continue
            to_come = {column: given.horizons(column) for column in several.event_times}
            for batch in given.read(several.columns):
                horizons = {column: next(times) for column, times in to_come.items()}
                yield from several.push(batch, horizons)
                if self._progress is not None:
                    self._progress(before + several.rows_in)
            several.add_rejects(given.rejects())
            yield from several.finish()
            before += several.rows_in


def read_together(
    queries: Mapping[str, Query], streams: Mapping[str, Any]
) -> list[dict[str, Query]]:
    """Queries that share a read: those on one stream, or on the same inputs in the same order. Of
    text files a record may be bad for one query and good for another that does not read the column:
    there, those with the same columns, or with all."""
    groups: dict[Any, dict[str, Query]] = {}
    for name, query in queries.items():
        key: tuple[Any, ...] = (query.stream.casefold(), merging_key(query))
        if any(is_text(stream_of(query, streams, stream)) for stream in query.inputs):
            named = () if query.star is not None else columns_of(query)
            key = (*key, query.star is None, frozenset(column.casefold() for column in named))
        groups.setdefault(key, {})[name] = query
    _check_repeatable(groups.values(), streams)
    return list(groups.values())


def _check_repeatable(groups: Iterable[dict[str, Query]], streams: Mapping[str, Any]) -> None:
    """Raise SourceError if what can be read only once would have to be read again."""
    read: set[str] = set()
    for group in groups:
        query = next(iter(group.values()))
        for name in query.inputs:
            data = stream_of(query, streams, name)
            once = isinstance(data, pa.RecordBatchReader | Iterator)
            if once and name.casefold() in read:
                raise SourceError(
                    f"the stream {name!r} can be read only once, but queries put it in order with"
                    " different inputs: give a table or a path, or run them one by one"
                )
            read.add(name.casefold())


def is_text(data: Any) -> bool:
    """Whether a stream is read from text files, where types are only inferred."""
    if is_paths(data):
        return any(is_text(path) for path in data)
    if not is_path(data):
        return False
    if os.fspath(data).endswith((".parquet", ".pq")):
        return False
    folder = Path(os.fspath(data))
    return not (folder.is_dir() and any(folder.rglob("*.parquet")))


def _alone(method: Callable[Concatenate[Session, P], R]) -> Callable[Concatenate[Session, P], R]:
    """One call at a time: others wait for the lock."""

    @wraps(method)
    def locked(self: Session, /, *arguments: P.args, **named: P.kwargs) -> R:
        with self._lock:
            if self._broken is not None:
                raise CrestlineError(
                    f"this session broke off in the middle of a call ({self._broken}): open a new"
                    " one from your last snapshot()"
                )
            return method(self, *arguments, **named)

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
        self._runs: dict[str, Several] = {}
        self._rejects = REJECTS.empty_table()
        self._warned = False  # that many records come late
        #: What became of queries that came and went while records were pushed, in sentences.
        self.log: list[str] = []
        if state is not None:
            self._resume(unpack(state))

    def _resume(self, state: dict[str, Any]) -> None:
        with sound.reading(pa.ArrowException):
            for stream, known in state["streams"].items():
                mine = {n: q for n, q in self._waiting.items() if _run_key(q) == stream}
                self._runs[stream] = self._run_from(mine, known)
                self._waiting = {n: q for n, q in self._waiting.items() if n not in mine}
            self.log = list(state["log"])

    def _run_from(self, queries: dict[str, Query], state: dict[str, Any]) -> Several:
        return Several.from_state(
            queries, state, strict=self._strict, keep_rejects=self._keep_rejects
        )

    @property
    @_alone
    def queries(self) -> dict[str, Query]:
        """The queries that stand, by name."""
        running = {n: q for run in self._runs.values() for n, q in run.queries.items()}
        return running | self._waiting

    @property
    @_alone
    def text(self) -> str:
        """The queries as text: with it ``open`` resumes from ``snapshot()``."""
        single = list(self.queries.items())
        if len(single) == 1 and single[0][0] == "query":
            return str(single[0][1])
        return ";\n\n".join(str(replace(query, name=name)) for name, query in single)

    # -- records ------------------------------------------------------------------------------

    @_alone
    def push(self, data: Any, stream: str | None = None) -> pa.Table:
        """Take records in (whatever ``run`` takes as a stream, or one record) and return the
        result rows that are due now. Where queries read several streams, say which one this is.

        Types may differ from push to push: a column widens without loss, which ``log`` tells, and a
        record that does not fit is set aside. What is refused with an error is refused whole: the
        session is as it was before.

        A query of several inputs takes records as they are pushed: in which order is up to you."""
        self._check_open()
        stream = self._stream(stream)
        readers = self._readers(stream)
        if len(readers) > 1 and isinstance(data, Iterator | pa.RecordBatchReader):
            data = tuple(data)
        runs, waiting = dict(self._runs), dict(self._waiting)
        try:
            ready = [self._ready(key, query, data, stream) for key, query in readers.items()]
            found = self._take([part for part in ready if part is not None])
        except BaseException:
            self._runs, self._waiting = {key: self._runs[key] for key in runs}, waiting
            raise
        if not self._warned and any(run.rows_late for run in self._runs.values()):
            self._warned = warn_of_late(self.by_query, following=True)
        return _joined(found)

    def _take(self, parts: list[_Part]) -> list[pa.Table]:
        """The results of each run. Either all batches are taken in, or none is."""
        firsts = [list(islice(part.batches, 2)) for part in parts]
        if max(map(len, firsts), default=0) > 1 or self._refuses_late():
            return self._take_many(parts, firsts)
        marks = [part.run.reject_marks() for part in parts]
        try:
            admitted = [
                (part.run, [part.run.admit(batch, part.typed) for batch in batches])
                for part, batches in zip(parts, firsts, strict=True)
            ]
        except BaseException:
            for part, mark in zip(parts, marks, strict=True):
                part.run.return_rejects_to(mark)
            raise
        with self._breaking():
            return [
                self._table(run, [named for batch in batches for named in run.take(batch)])
                for run, batches in admitted
            ]

    def _take_many(self, parts: list[_Part], firsts: list[list[Any]]) -> list[pa.Table]:
        """As ``_take``, from a state to return to if some later batch is refused."""
        self._collect_rejects()
        rejects = self._rejects
        saved = {key: (run.queries, pack(run.state())) for key, run in self._runs.items()}
        found = []
        try:
            for part, first in zip(parts, firsts, strict=True):
                rows: list[Named] = []
                for batch in chain(first, part.batches):
                    rows += part.run.take(part.run.admit(batch, part.typed))
                found.append(self._table(part.run, rows))
            return found
        except BaseException:
            with self._breaking():
                self._runs = {
                    key: self._run_from(queries, unpack(state))
                    for key, (queries, state) in saved.items()
                }
            self._rejects = rejects
            raise

    def _refuses_late(self) -> bool:
        """Whether records may be refused while they are taken in, not before."""
        return self._strict and any(
            query.combine is not None or query.probability is not None
            for query in self.queries.values()
        )

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        """What fails in here leaves the session in the middle of something."""
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
                readers.setdefault(_run_key(query), query)
        return readers

    def _ready(self, key: str, query: Query, data: Any, stream: str) -> _Part | None:
        """The run and the batches for it; None as long as not even the columns are known."""
        run = self._runs.get(key)
        given = source(data, stream, () if run is None else run.columns)
        if not given.schema.names:
            return None
        if run is None:
            run = self._begin(key, query, given)
        if query.others:
            return _Part(run, tagged_batches(given, run, query, stream), given.typed)
        columns = run.columns
        missing = [name for name in columns if name not in given.schema.names]
        if missing:
            raise SourceError(f"stream {stream!r}: this batch has no column {missing[0]!r}")
        return _Part(run, given.read(columns), given.typed)

    def _stream(self, stream: str | None) -> str:
        known = {name.casefold(): name for q in self.queries.values() for name in q.inputs}
        if stream is not None and stream.casefold() in known:
            return known[stream.casefold()]
        if stream is None and len(known) == 1:
            return next(iter(known.values()))
        which = ", ".join(map(repr, known.values())) or "none"
        if stream is None:
            raise SourceError(f"say which stream this is: the queries read {which}")
        raise SourceError(f"no query reads the stream {stream!r}: they read {which}")

    def _begin(self, key: str, query: Query, given: Source) -> Several:
        mine = {n: q for n, q in self._waiting.items() if _run_key(q) == key}
        schema = given.schema
        if query.combine is not None and query.others:
            schema = tagged_schema(schema, query.combine.across)
        run = Several(
            mine, schema, typed=given.typed, strict=self._strict, keep_rejects=self._keep_rejects
        )
        self._runs[key] = run
        self._waiting = {n: q for n, q in self._waiting.items() if n not in mine}
        return run

    def _table(self, run: Several, rows: list[Named]) -> pa.Table:
        """The rows of all queries, NULL where one lacks a column; also what was noted of types."""
        self.log += [note for note in run.notes if note not in self.log]
        empty = [run.schema_of(name).empty_table() for name in run.queries]
        return together([*empty, *(retyped(table, run.schema_of(name)) for name, table in rows)])

    @_alone
    def finish(self) -> pa.Table:
        """Declare the streams over and return what is still due."""
        self._check_open()
        with self._breaking():
            return _joined([self._table(run, list(run.finish())) for run in self._runs.values()])

    @_alone
    def close(self) -> None:
        """Take in nothing more. What is still due is not told: ``finish`` does that."""
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

    @_alone
    def add(self, query: str | Query, name: str | None = None) -> list[str]:
        """Let one more query stand (or several, separated by ``;``) and return their names.

        It sees the records from now on, as if it had been opened on its own. Where it can share
        with queries that stand already, it begins with the first pane that no record is in yet;
        ``log`` tells with whom it shares and from when on.
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
        run = self._runs.get(_run_key(query))
        if run is None:
            self._waiting[name] = query
            awaited = " or ".join(query.inputs)
            self.log.append(f"{name} was added: it waits for the stream {awaited}")
            return
        others, begin = run.add(name, query)
        since = "" if begin is None else f", and sees records from {moment(begin)} on"
        shares = f"shares with {', '.join(others)}" if others else "shares the scan only"
        self.log.append(f"{name} was added: it {shares}{since}")
        self._note_plans(run)

    @_alone
    def remove(self, name: str) -> None:
        """Let a query stand no more; those it shared with go on."""
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
        known = ", ".join(self.queries) or "none"
        raise PlanError(f"there is no query {name}: the queries that stand are {known}")

    def _note_plans(self, run: Several) -> None:
        """Tell what was planned anew, once."""
        self.log += [sentence for sentence in run.plans if sentence not in self.log]

    # -- what is known ------------------------------------------------------------------------

    @property
    @_alone
    def rejects(self) -> pa.Table:
        """The records set aside so far (in this process): the first ``keep_rejects`` of them.
        ``metrics.rejected`` counts every one."""
        self._collect_rejects()
        return self._rejects

    def _collect_rejects(self) -> None:
        taken = [run.take_rejects() for run in self._runs.values()]
        self._rejects = pa.concat_tables([self._rejects, *taken]).slice(0, self._keep_rejects)

    @property
    @_alone
    def metrics(self) -> Metrics:
        """The counts so far; of several queries, the first one's (see ``by_query``)."""
        return next(iter(self.by_query.values()), Metrics())

    @property
    @_alone
    def by_query(self) -> dict[str, Metrics]:
        """The counts of each query."""
        found = {n: run.metrics(n) for run in self._runs.values() for n in run.queries}
        return found | {name: Metrics() for name in self._waiting}

    def __repr__(self) -> str:
        heading, table = self._shown()
        return f"<Session: {heading}>" + (f"\n{text_table(*table)}" if table[0] else "")

    def _repr_html_(self) -> str:
        heading, table = self._shown()
        plan = ""
        if table[0]:
            plan = folded_html("The plan", explain(self.queries)._repr_html_())
        return f"<div><b>Session</b>: {escape(heading)}{html_table(*table)}{plan}</div>"

    def _shown(self) -> tuple[str, tuple[list[list[str]], tuple[str, ...], list[bool]]]:
        """A heading, and a table of the queries with their counts."""
        headings = ("query", "stream", "in", "set aside", "kept", "rows out", "watermark")
        right = [False, False, True, True, True, True, False]
        if self._broken is not None:
            return f"broken off ({cell(self._broken)})", ([], headings, right)
        with self._lock:
            known, queries = self.by_query, self.queries
            reached = {n: run.watermark(n) for run in self._runs.values() for n in run.queries}
        rows = []
        for name, metrics in known.items():
            aside, watermark = sum(metrics.rejected.values()), reached.get(name)
            counts = (metrics.rows_in, aside, metrics.kept, metrics.result_rows)
            inputs = ", ".join(queries[name].inputs)
            rows.append([cell(name), cell(inputs), *(f"{count:,}" for count in counts)])
            rows[-1].append("" if watermark is None else moment(watermark))
        heading = counted(len(queries), "query") + (", closed" if self._closed else "")
        return heading, (rows, headings, right)

    @_alone
    def snapshot(self) -> bytes:
        """The whole state, versioned and checked; ``open(query, state=...)`` resumes from it."""
        streams = {stream: run.state() for stream, run in self._runs.items()}
        return pack({"streams": streams, "log": self.log})


def _run_key(query: Query) -> str:
    """What queries of one run have in common: their stream, or their inputs and what names them."""
    if query.combine is None or not query.others:
        return query.stream.casefold()
    return "\0".join((*query.inputs, query.combine.across.casefold()))


def tagged_batches(given: Source, run: Several, query: Query, stream: str) -> Iterator[pa.Table]:
    """The batches of one of several inputs, as the run wants them."""
    assert query.combine is not None
    named = query.combine.across
    across = resolve([named], run.schema, stream)[named]
    name = next(each for each in query.inputs if each.casefold() == stream.casefold())
    columns = [column for column in run.columns if column != across]
    theirs = list(resolve(columns, given.schema, stream).values())

    def batches() -> Iterator[pa.Table]:
        for batch in given.read(theirs):
            yield tagged(pa.table([batch.column(n) for n in theirs], names=columns), name, across)

    return batches()


@dataclass(frozen=True, slots=True)
class _Part:
    """What one run is to take in of what was pushed."""

    run: Several
    batches: Iterator[pa.Table | pa.RecordBatch]
    typed: bool


def _joined(tables: list[pa.Table]) -> pa.Table:
    if len(tables) == 1:
        return tables[0]
    return together(tables) if tables else pa.table({})


def source_of(query: Query, streams: Mapping[str, Any]) -> Source:
    """What the query reads; several inputs are one source, with the ACROSS column."""
    inputs = {name: source(stream_of(query, streams, name), name) for name in query.inputs}
    return merged(query, inputs) if query.others else inputs[query.stream]


def stream_of(query: Query, streams: Mapping[str, Any], name: str | None = None) -> Any:
    """What the query's stream stands for; ``name`` says which one of several."""
    name = query.stream if name is None else name
    if name in streams:
        return streams[name]
    alike = [given for given in streams if given.casefold() == name.casefold()]
    if len(alike) == 1:
        return streams[alike[0]]
    given = ", ".join(map(repr, streams)) or "none"
    raise SourceError(f"the query reads the stream {name!r}, but the streams given are {given}")


__all__ = [
    "BoundedRun",
    "Session",
    "named_queries",
    "run_bounded",
    "source_of",
    "stream_of",
    "tagged_batches",
]
