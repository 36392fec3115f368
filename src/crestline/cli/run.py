"""``crestline run``: a query over files, to files or to the terminal."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli import completion
from crestline.cli.arguments import QueryArgument, QueryFile, pairs, query_text
from crestline.cli.defaults import DefaultOption, stream_defaults
from crestline.cli.engine import choose
from crestline.cli.errors import Misuse

if TYPE_CHECKING:
    from crestline.cli.request import Request
    from crestline.cli.summary import RunSummary


def run(
    query: QueryArgument = None,
    query_file: QueryFile = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            "--stream", "-s", metavar="NAME=PATH",
            help="The data of a stream: a file, a folder (also hive-partitioned) or a 'glob*' of"
            " parquet, csv or json lines, also compressed (.gz, .zst, .bz2, .xz), on this disk or"
            " at s3://, gs://, abfs://, hdfs:// or https://. - is stdin. Repeat it for several"
            " streams.",
        ),
    ] = None,
    default: DefaultOption = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The encoding of csv and json lines files that are not UTF-8, such as latin-1,"
            " cp1252 or utf-16 (with --engine local).",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="spark|local",
            autocompletion=completion.engines,
            help="Run on Spark, or in this process (starts at once). The default is Spark if the"
            " extra 'spark' and Java are installed.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spark's master, such as spark://host:7077. The default is all cores here.",
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(
            "--conf", metavar="KEY=VALUE",
            help="A setting of Spark, such as spark.driver.memory=4g. Repeat it for several.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="PATH",
            help="Write the results to a .jsonl, .csv or .parquet file. For several queries with"
            " different columns, put {query} into the name, or name a folder, which gets one"
            " parquet file per query.",
        ),
    ] = None,
    rejects: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write the records that were set aside, with reasons, to such a file.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Fail at the first bad record instead of setting it aside."),
    ] = False,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit",
            help="Run an exact query beside each approximate one and report its precision"
            " (with --engine local).",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the summary as JSON. With --out it goes to stdout. Without --out, stdout"
            " gets the rows as json lines, and stderr the summary.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no summary.")
    ] = False,
    show: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show at most N rows on a terminal; 0: all.")
    ] = 40,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f",
            help="Keep reading as files are added to the stream's folder, or lines to the file,"
            " until Ctrl-C.",
        ),
    ] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="With --follow: save the progress here. The same command resumes from there, also"
            " after a crash. Without it nothing is saved.",
        ),
    ] = None,
    trigger: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", autocompletion=completion.triggers,
            help="With --follow: look for new data every '5 seconds', '500 ms' ... The default is"
            " every second. available-now reads what is there and stops.",
        ),
    ] = None,
    files_per_round: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --follow: take at most N files at a time."),
    ] = None,
) -> None:  # fmt: skip
    """Run a query over files, once or for as long as they grow.

    Without --out, a terminal shows a table of the first and last rows.
    Anything else, such as a pipe, gets the column names and all rows, with
    values separated by tabs. Inside values, tabs and line ends are written as
    \\t and \\n. NULL is empty. A summary goes to stderr.

    Output files appear when they are complete. A run that fails leaves none,
    and does not change old files. They cannot be where the streams are read
    from. Times in text files are ISO 8601 in UTC.

    With --follow, a terminal shows the current top k. A single csv or json
    lines file is followed like tail -f, in this process. Each file of a folder
    is read once. --out names a folder. It gets one part file for each round
    that has rows, in the format of its extension, or as parquet. Several
    queries get one folder each inside, or by {query} in the name. With
    --checkpoint every row is in the parts exactly once, whatever happens.
    Ctrl-C ends the run with exit code 0. A file is read as soon as it is seen:
    write new files under a name that begins with a dot, and rename them when
    they are complete. Files at s3:// and other addresses do not grow: a folder
    there is followed, and a single file is read once.

    Credentials for addresses come from the environment, such as
    AWS_ACCESS_KEY_ID, AWS_PROFILE or GOOGLE_APPLICATION_CREDENTIALS, never from
    the address. Results are written on this disk.

    \b
    [bold]Examples[/]
      crestline run --query top.sql --stream trades=trades.parquet
      crestline run --query top.sql -s 'trades=day-*.csv' --out top.parquet
      crestline run 'SELECT top-3 FROM SENSOR [Range 20 mins] FREQUENCY 2 mins' \\
        -s sensor=readings.csv --default sensor.on=ts \\
        --default 'sensor.order_by=speed DESC' --default sensor.probability=chance
      echo 'SELECT TOP 3 id FROM s [ROWS 1000 SLIDE 100] ORDER BY x DESC' |
        crestline run - -s s=scores.jsonl --engine local --json --out top.jsonl
      gunzip -c day.csv.gz | crestline run --query top.sql -s trades=-
      crestline run --query top.sql -s 'trades=s3://bucket/day=*/*.parquet'
      crestline run --query top.sql -s trades=incoming/ --follow
      crestline run --query top.sql -s trades=trades.jsonl --follow
      crestline run --query top.sql -s trades=incoming/ --follow \\
        --checkpoint remembered/ --out top.jsonl --rejects bad.csv
      crestline run --query top.sql -s trades=/data/trades \\
        --master spark://host:7077 --conf spark.executor.memory=8g
    """
    text = query_text(query, query_file)
    streams = pairs(stream or [], "--stream", "trades=trades.parquet")
    settings = pairs(conf or [], "--conf", "spark.driver.memory=4g")
    if "-" in streams.values() and "-" in (query, query_file):
        raise Misuse("the query and a stream cannot both be stdin: put the query into a file")
    if follow and ("-" in streams.values() or encoding is not None):
        raise Misuse("--follow follows UTF-8 files: leave out --encoding and stdin (-)")
    _check_options(
        engine, follow,
        {"--master": master, "--conf": conf},
        {"--checkpoint": checkpoint, "--trigger": trigger, "--files-per-round": files_per_round},
    )  # fmt: skip
    for_spark = bool(master or conf)
    for option, value in {"--audit": audit, "--encoding": encoding is not None}.items():
        if value and (engine == "spark" or for_spark):
            raise Misuse(f"{option} is for a run in this process: add --engine local")
    here = "--audit" if audit else "--encoding" if encoding is not None else None
    choice = choose(engine, for_spark=for_spark, for_here=_only_here(streams, follow, here))
    from crestline.cli.places import check_run
    from crestline.cli.request import Request
    from crestline.runtime.queries import named_queries
    from crestline.sources import with_paths

    queries = named_queries(text, defaults=stream_defaults(default or [], streams))
    request = Request(
        queries, streams, out, rejects, strict, as_json, quiet, show, master, settings, audit
    )
    check_run(request, follow, checkpoint, query_file)
    request = replace(request, streams=with_paths(streams, encoding))
    summary = _run(request, choice.engine, follow, checkpoint, trigger, files_per_round)
    _tell(replace(summary, why=choice.why), request)


def _check_options(
    engine: str | None, follow: bool, of_spark: dict[str, object], of_following: dict[str, object]
) -> None:
    if engine == "local":
        for option, value in of_spark.items():
            if value:
                raise Misuse(f"{option} is for Spark: leave it out, or leave out --engine local")
    for option, value in of_following.items():
        if value is not None and not follow:
            raise Misuse(f"{option} is for a run that follows its stream: add --follow")


def _only_here(streams: dict[str, str], follow: bool, option: str | None) -> str:
    """Return why Spark cannot do what was asked, or an empty text."""
    from crestline.sources.growing import grows_by_lines

    if option is not None:
        return f"where {option} works"
    if follow and streams and all(map(grows_by_lines, streams.values())):
        return "where a file is followed line by line"
    return ""


def _run(
    request: Request, engine: str, follow: bool, checkpoint: str | None, trigger: str | None,
    files_per_round: int | None,
) -> RunSummary:  # fmt: skip
    if follow:
        from crestline.cli.following import EVERY_SECOND, Following
        from crestline.cli.following import follow as follow_stream

        return follow_stream(
            request, Following(checkpoint, trigger or EVERY_SECOND, files_per_round), engine
        )
    from crestline.cli.bounded import run_here, run_on_spark

    return run_here(request) if engine == "local" else run_on_spark(request)


def _tell(summary: RunSummary, request: Request) -> None:
    from rich.console import Console

    from crestline.cli.summary import print_summary

    if request.as_json and request.out is not None:
        print(json.dumps(summary.as_dict(), indent=2))
    elif not request.quiet:  # the summary includes the warnings
        if request.as_json:
            print(json.dumps(summary.as_dict(), indent=2), file=sys.stderr)
        else:
            print_summary(summary, Console(stderr=True))
        return
    for warning in summary.warnings():
        print(warning, file=sys.stderr)


__all__ = ["run"]
