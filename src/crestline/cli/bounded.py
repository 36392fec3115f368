"""A bounded ``crestline run``: streams that end, in this process or on Spark."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

from crestline.cli.engine import spark
from crestline.cli.output import Outputs, TextWriter, destinations
from crestline.cli.plain import json_lines, tab_header, tab_lines
from crestline.cli.progress import RowsProgress, TasksProgress
from crestline.cli.show import ResultTable
from crestline.cli.summary import QuerySummary, RunSummary
from crestline.core.tables import REJECTS
from crestline.core.unfinished import files
from crestline.kernels.jit.tiers import told_to, waited
from crestline.local import BoundedRun
from crestline.local.audit import Audit

if TYPE_CHECKING:
    import pyarrow as pa

    from crestline.cli.output import Writer
    from crestline.cli.request import Request

#: A writer, and the name of its file if it has one.
Target = tuple["Writer", str | None]
#: Turns a batch into text.
Lines = Callable[["pa.RecordBatch"], bytes]
#: Bytes that wait in memory until it is a query's turn on stdout; more wait in a file.
_IN_MEMORY = 1 << 26


def run_here(request: Request) -> RunSummary:
    """Run all queries at once, and write their rows as they come."""
    shown = RowsProgress("", None)
    set_aside: Callable[[Any], None] = lambda table: None  # noqa: E731

    def read(rows: int) -> None:
        shown(rows)
        # Taken after each read, so that bad records do not pile up in memory.
        set_aside(bounded.take_rejects())

    # Every query is planned and every source opened before anything is written.
    audit = Audit(request.queries) if request.audit else None
    if audit is not None:
        bounded = BoundedRun(audit.queries, request.streams, request.strict, read, audit.twins)
    else:
        bounded = BoundedRun(request.queries, request.streams, request.strict, read)
    schemas = {name: bounded.schema_of(name) for name in request.queries}
    title = f"{len(schemas)} queries" if len(schemas) > 1 else next(iter(schemas))
    with Outputs() as outputs:
        targets = _targets(outputs, request, schemas)
        set_aside = _set_aside(outputs, request)
        began, waited_before = time.perf_counter(), waited()
        progress = RowsProgress(title, bounded.rows, quiet=request.quiet)
        with progress as shown, told_to(shown.compiling):
            for name, table in bounded:
                if audit is None or not audit.see(name, table):
                    targets[name][0].write(table)
            set_aside(bounded.take_rejects())
        compiling = waited() - waited_before
        seconds = time.perf_counter() - began - compiling
        for writer, output in targets.values():
            _end(writer, output)
        counts = {name: bounded.metrics(name) for name in targets}
        if audit is not None:
            counts = {name: audit.with_findings(name, metrics) for name, metrics in counts.items()}
        summaries = [
            QuerySummary(name, counts[name], seconds, output)
            for name, (_, output) in targets.items()
        ]
    return RunSummary(
        "local", summaries, request.rejects, notes=tuple(bounded.notes), compiling=compiling
    )


def run_on_spark(request: Request) -> RunSummary:
    """Run all queries on Spark. Wrong queries are refused before Spark starts."""
    from crestline.spark.bounded import run_bounded

    planned = BoundedRun(request.queries, request.streams)
    schemas = {name: planned.schema_of(name) for name in request.queries}
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
    return RunSummary(
        "spark", summaries, request.rejects, started.master, started.seconds,
        notes=tuple(results.notes),
    )  # fmt: skip


def _write_all(writer: Writer, table: pa.Table, schema: pa.Schema) -> None:
    if schema.names:  # else the stream is an empty file without columns
        writer.write(table.cast(schema))


def _set_aside(outputs: Outputs, request: Request) -> Callable[[Any], None]:
    if request.rejects is None:
        return lambda table: None
    return outputs.open(Path(request.rejects), REJECTS).write


def _end(writer: Writer, output: str | None) -> None:
    """Show the rows of a query that has no file; files are closed at the end of the run."""
    if output is not None:
        return
    if isinstance(writer, ResultTable):
        from rich.console import Console

        writer.print(Console())
    else:
        writer.close()


def _targets(
    outputs: Outputs, request: Request, schemas: dict[str, pa.Schema]
) -> dict[str, Target]:
    """Return where the rows of each query go."""
    if request.out is not None:
        paths = destinations(request.out, schemas)
        # The stream of a query may be an empty file without columns: it adds none.
        widest = {
            path: max((schemas[name] for name in schemas if paths[name] == path), key=len)
            for path in paths.values()
        }
        opened = {path: outputs.open(path, schema) for path, schema in widest.items()}
        return {name: (opened[path], str(path)) for name, path in paths.items()}
    first = next(iter(schemas))
    if request.as_json:
        return {name: (_Lines(json_lines, b"", first=name == first), None) for name in schemas}
    if sys.stdout.isatty():
        return {name: (ResultTable(name, request.show), None) for name in schemas}
    return {
        name: (_Lines(tab_lines, _header(schema, first=name == first), first=name == first), None)
        for name, schema in schemas.items()
    }


def _header(schema: pa.Schema, *, first: bool) -> bytes:
    """Write the column names; queries after the first begin with an empty line."""
    return tab_header(schema) if first else b"\n" + tab_header(schema)


class _Lines:
    """Writes lines to stdout, one query after another.

    The rows of all but the first query wait for their turn, in a file if they are many.
    """

    def __init__(self, lines: Lines, header: bytes, *, first: bool) -> None:
        self._lines, self._header = lines, header
        self._waiting: IO[bytes] | None = None
        if not first:
            self._waiting = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  (``close`` does)
        self._writer: Writer | None = None

    def _begun(self) -> Writer:
        if self._writer is None:
            files.shown()
            out = sys.stdout.buffer if self._waiting is None else self._waiting
            self._writer = TextWriter(cast(BinaryIO, out), self._lines, self._header)
        return self._writer

    def write(self, table: Any) -> None:
        self._begun().write(table)

    def close(self) -> None:
        writer = self._begun()
        if self._waiting is None:
            writer.close()
            return
        self._waiting.seek(0)
        copyfileobj(self._waiting, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        self._waiting.close()


__all__ = ["run_here", "run_on_spark"]
