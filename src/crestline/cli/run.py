"""``crestline run``: a query over files, to files or to the terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.arguments import pairs, query_text
from crestline.cli.errors import Misuse
from crestline.cli.progress import RowsProgress

if TYPE_CHECKING:
    from crestline.cli.output import Outputs, Writer
    from crestline.cli.summary import QuerySummary
    from crestline.language import Query


def run(
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="The query, or several with ; between; - is stdin."),
    ] = None,
    query_file: Annotated[
        str | None,
        typer.Option("--query", metavar="FILE", help="Read the query from FILE, or stdin (-)."),
    ] = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream", "-s", metavar="NAME=PATH",
            help="What a stream's name stands for: a file, a folder or a 'glob*' of parquet, csv or"
            " json lines. Repeat it for several streams.",
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(metavar="local|spark", help="Where to run; spark is not available yet."),
    ] = "local",
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as the files grow (not available yet).")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="PATH",
            help="Write the results to a .jsonl, .csv or .parquet file. Several queries with"
            " different columns: put {query} into the name, or name a folder, which gets a parquet"
            " file for each.",
        ),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Write the records that were set aside, with reasons, likewise."
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail at the first bad record instead of setting it aside."),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="The summary as JSON: on stdout with --out; without it, stdout gets the rows as"
            " json lines and stderr the summary.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no summary.")
    ] = False,
    show: Annotated[
        int, typer.Option(min=0, metavar="N", help="Rows shown on a terminal at most; 0: all.")
    ] = 40,
) -> None:  # fmt: skip
    """Run a query over files from beginning to end.

    Without --out, a terminal shows a table of the first and last rows.
    Anything else, such as a pipe, gets all rows, separated by tabs, below the
    column names (tabs and line ends inside values as \\t and \\n, NULL as
    nothing). A summary goes to stderr.

    Output files appear when they are complete: a run that fails leaves none,
    and old files as they were. Times in text files are ISO 8601 in UTC.

    \b
    [bold]Examples[/]
      crestline run --query top.sql --stream trades=trades.parquet
      crestline run --query top.sql -s 'trades=day-*.csv' --out top.parquet
      echo 'SELECT TOP 3 id FROM s [ROWS 1000 SLIDE 100] ORDER BY x DESC' |
        crestline run - -s s=scores.jsonl --json --out top.jsonl --rejects bad.csv
    """
    text = query_text(query, query_file)
    streams = pairs(stream or [], "--stream", "trades=trades.parquet")
    if follow:
        raise Misuse(
            "--follow is not available in this version yet: leave it out to run over the files as"
            " they are, or push records into crestline.open() from Python as they come"
        )
    _finish_run(
        _run_all(text, streams, engine, out, rejects, strict, as_json, quiet, show),
        as_json, quiet, out, rejects,
    )  # fmt: skip


def _run_all(
    text: str,
    streams: Mapping[str, str],
    engine: str,
    out: str | None,
    rejects: str | None,
    strict: bool,
    as_json: bool,
    quiet: bool,
    show: int,
) -> list[QuerySummary]:
    from crestline.cli.output import Outputs
    from crestline.local import named_queries
    from crestline.local.gate import REJECTS

    queries = named_queries(text)
    _check_streams(queries, streams)
    # Every query is planned and every source opened before anything is written.
    runs = [_QueryRun(name, query, streams, engine, strict) for name, query in queries.items()]
    with Outputs() as outputs:
        targets = _targets(outputs, out, runs, as_json, show)
        if rejects is not None:
            aside = outputs.open(Path(rejects), REJECTS)
            for each in runs:
                each.set_aside = aside.write
        return [each.run(*targets[each.name], quiet) for each in runs]


class _QueryRun:
    """One query's way from its stream to its writer."""

    def __init__(
        self, name: str, query: Query, streams: Mapping[str, str], engine: str, strict: bool
    ) -> None:
        from crestline.local import BoundedRun

        self.name = name
        self.set_aside: Callable[[Any], None] = lambda table: None
        self._progress = RowsProgress(name, None)
        self._bounded = BoundedRun(query, name, streams, strict, self._read)
        self.schema = self._bounded.schema

    def _read(self, rows: int) -> None:
        self._progress(rows)
        # Taken all along, so that bad records do not pile up in memory.
        self.set_aside(self._bounded.take_rejects())

    def run(self, writer: Writer, output: str | None, quiet: bool) -> QuerySummary:
        from crestline.cli.show import Shown
        from crestline.cli.summary import QuerySummary

        began = time.perf_counter()
        with RowsProgress(self.name, self._bounded.rows, quiet=quiet) as self._progress:
            for table in self._bounded:
                writer.write(table)
            self.set_aside(self._bounded.take_rejects())
        seconds = time.perf_counter() - began
        if output is None:
            if isinstance(writer, Shown):
                from rich.console import Console

                writer.print(Console())
            else:
                writer.close()
        return QuerySummary(self.name, self._bounded.metrics, seconds, output)


def _check_streams(queries: Mapping[str, Query], streams: Mapping[str, str]) -> None:
    known = {name.casefold() for name in streams}
    for query in queries.values():
        if query.stream.casefold() not in known:
            given = ", ".join(map(repr, streams)) or "none"
            raise Misuse(
                f"the query reads the stream {query.stream!r}, but the streams given are {given}:"
                f" add --stream {query.stream}=PATH"
            )


def _targets(
    outputs: Outputs, out: str | None, runs: list[_QueryRun], as_json: bool, show: int
) -> dict[str, tuple[Writer, str | None]]:
    """Where each query's rows go, and the name of the file if it is one."""
    from crestline.cli.output import TextWriter, destinations
    from crestline.cli.plain import json_lines, tab_header, tab_lines
    from crestline.cli.show import Shown

    if out is not None:
        paths = destinations(out, {each.name: each.schema for each in runs})
        # The stream of a query may be an empty file, without even columns: it adds none.
        schemas = {
            path: max((each.schema for each in runs if paths[each.name] == path), key=len)
            for path in paths.values()
        }
        opened = {path: outputs.open(path, schema) for path, schema in schemas.items()}
        return {name: (opened[path], str(path)) for name, path in paths.items()}
    if as_json:
        return {each.name: (TextWriter(sys.stdout.buffer, json_lines), None) for each in runs}
    if sys.stdout.isatty():
        return {each.name: (Shown(each.name, show), None) for each in runs}
    return {
        each.name: (_Tabbed(tab_header(each.schema), tab_lines, first=each is runs[0]), None)
        for each in runs
    }


class _Tabbed:
    """Tab-separated lines on stdout; queries after the first begin with an empty line."""

    def __init__(self, header: bytes, lines: Callable[[Any], bytes], *, first: bool) -> None:
        self._header, self._lines = header if first else b"\n" + header, lines
        self._writer: Writer | None = None

    def _begun(self) -> Writer:
        from crestline.cli.output import TextWriter

        if self._writer is None:
            self._writer = TextWriter(sys.stdout.buffer, self._lines, self._header)
        return self._writer

    def write(self, table: Any) -> None:
        self._begun().write(table)

    def close(self) -> None:
        self._begun().close()


def _finish_run(
    summaries: list[QuerySummary], as_json: bool, quiet: bool, out: str | None, rejects: str | None
) -> None:
    from rich.console import Console

    from crestline.cli.summary import print_summary

    if as_json:
        if out is None and quiet:
            return
        told = {
            "engine": "local",
            "queries": [summary.as_dict() for summary in summaries],
            "rejects": rejects,
        }
        print(json.dumps(told, indent=2), file=sys.stderr if out is None else sys.stdout)
    elif not quiet:
        print_summary(summaries, Console(stderr=True))


__all__ = ["run"]
