"""A bounded ``crestline run``: all rows of streams that end, in this process or on Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crestline.cli.engine import spark
from crestline.cli.output import Outputs, TextWriter, destinations
from crestline.cli.plain import json_lines, tab_header, tab_lines
from crestline.cli.progress import RowsProgress, TasksProgress
from crestline.cli.show import Shown
from crestline.cli.summary import QuerySummary, RunSummary
from crestline.local import BoundedRun
from crestline.local.gate import REJECTS

if TYPE_CHECKING:
    import pyarrow as pa

    from crestline.cli.output import Writer
    from crestline.cli.request import Request
    from crestline.language import Query

#: A writer, and the name of its file if it has one.
Target = tuple["Writer", str | None]


def run_here(request: Request) -> RunSummary:
    """One query after another, each written as it goes."""
    # Every query is planned and every source opened before anything is written.
    runs = {name: _QueryRun(name, query, request) for name, query in request.queries.items()}
    with Outputs() as outputs:
        targets = _targets(outputs, request, {name: run.schema for name, run in runs.items()})
        set_aside = _set_aside(outputs, request)
        summaries = [run.run(*targets[name], set_aside) for name, run in runs.items()]
    return RunSummary("local", summaries, request.rejects)


class _QueryRun:
    """One query's way from its stream to its writer."""

    def __init__(self, name: str, query: Query, request: Request) -> None:
        self._name, self._quiet = name, request.quiet
        self._set_aside: Callable[[Any], None] = lambda table: None
        self._progress = RowsProgress(name, None)
        self._bounded = BoundedRun(query, name, request.streams, request.strict, self._read)
        self.schema = self._bounded.schema

    def _read(self, rows: int) -> None:
        self._progress(rows)
        # Taken all along, so that bad records do not pile up in memory.
        self._set_aside(self._bounded.take_rejects())

    def run(
        self, writer: Writer, output: str | None, set_aside: Callable[[Any], None]
    ) -> QuerySummary:
        self._set_aside = set_aside
        began = time.perf_counter()
        with RowsProgress(self._name, self._bounded.rows, quiet=self._quiet) as self._progress:
            for table in self._bounded:
                writer.write(table)
            set_aside(self._bounded.take_rejects())
        seconds = time.perf_counter() - began
        _end(writer, output)
        return QuerySummary(self._name, self._bounded.metrics, seconds, output)


def run_on_spark(request: Request) -> RunSummary:
    """All queries in one go. What can be wrong with them is told before Spark starts."""
    from crestline.spark.bounded import run_bounded

    schemas = {
        name: BoundedRun(query, name, request.streams).schema
        for name, query in request.queries.items()
    }
    with Outputs() as outputs:
        targets = _targets(outputs, request, schemas)
        set_aside = _set_aside(outputs, request)
        with spark(request.master, request.conf, quiet=request.quiet) as started:
            began = time.perf_counter()
            with TasksProgress("Spark", quiet=request.quiet) as progress:
                results = run_bounded(
                    started.session, dict(request.queries), request.streams,
                    strict=request.strict,
                    keep_rejects=request.rejects is not None or request.strict,
                    progress=progress,
                )  # fmt: skip
            for name in request.queries:
                writer, output = targets[name]
                _write_all(writer, results.of(name), schemas[name])
                _end(writer, output)
            set_aside(results.rejects)
            seconds = time.perf_counter() - began
            summaries = [
                QuerySummary(name, results.by_query[name], seconds, targets[name][1])
                for name in request.queries
            ]
    return RunSummary("spark", summaries, request.rejects, started.master, started.seconds)


def _write_all(writer: Writer, table: pa.Table, schema: pa.Schema) -> None:
    if schema.names:  # else the stream is an empty file, without even columns
        writer.write(table.cast(schema))


def _set_aside(outputs: Outputs, request: Request) -> Callable[[Any], None]:
    if request.rejects is None:
        return lambda table: None
    return outputs.open(Path(request.rejects), REJECTS).write


def _end(writer: Writer, output: str | None) -> None:
    """Files are closed together at the end of the run; the rest is shown now."""
    if output is not None:
        return
    if isinstance(writer, Shown):
        from rich.console import Console

        writer.print(Console())
    else:
        writer.close()


def _targets(
    outputs: Outputs, request: Request, schemas: dict[str, pa.Schema]
) -> dict[str, Target]:
    """Where each query's rows go."""
    if request.out is not None:
        paths = destinations(request.out, schemas)
        # The stream of a query may be an empty file, without even columns: it adds none.
        widest = {
            path: max((schemas[name] for name in schemas if paths[name] == path), key=len)
            for path in paths.values()
        }
        opened = {path: outputs.open(path, schema) for path, schema in widest.items()}
        return {name: (opened[path], str(path)) for name, path in paths.items()}
    if request.as_json:
        return {name: (TextWriter(sys.stdout.buffer, json_lines), None) for name in schemas}
    if sys.stdout.isatty():
        return {name: (Shown(name, request.show), None) for name in schemas}
    first = next(iter(schemas))
    return {name: (_Tabbed(schema, first=name == first), None) for name, schema in schemas.items()}


class _Tabbed:
    """Tab-separated lines on stdout; queries after the first begin with an empty line."""

    def __init__(self, schema: pa.Schema, *, first: bool) -> None:
        self._header = tab_header(schema) if first else b"\n" + tab_header(schema)
        self._writer: Writer | None = None

    def _begun(self) -> Writer:
        if self._writer is None:
            self._writer = TextWriter(sys.stdout.buffer, tab_lines, self._header)
        return self._writer

    def write(self, table: Any) -> None:
        self._begun().write(table)

    def close(self) -> None:
        self._begun().close()


__all__ = ["run_here", "run_on_spark"]
