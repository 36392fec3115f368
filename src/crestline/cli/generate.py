"""``crestline generate``: seeded streams in files, for trials and measurements."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from crestline.cli import completion
from crestline.cli.arguments import count, number, pairs
from crestline.cli.errors import Misuse
from crestline.cli.progress import RowsProgress
from crestline.core.errors import SourceError


class GenerateCommand(TyperCommand):
    """Lists the kinds of streams in its help. Only then are they imported."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.help = f"{self.help}\n\n\b\n[bold]Kinds[/]\n{kinds_text()}"
        super().format_help(ctx, formatter)


def kinds_text() -> str:
    """Describe the kinds with their columns and options, in lines for a narrow terminal."""
    from crestline.streams import KINDS

    lines = []
    for kind in KINDS.values():
        paragraphs = [
            kind.description,
            f"columns: {', '.join(kind.schema.names)}",
            f"by default {kind.rate:,g} records per second",
            *(f"--set {name}={o.default}: {o.meaning}" for name, o in kind.options.items()),
        ]
        lines.append(f"  {kind.name}")
        for text in paragraphs:
            lines += wrap(text, 76, initial_indent=" " * 4, subsequent_indent=" " * 6)
    return "\n".join(lines)


def generate(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND", autocompletion=completion.kinds,
            help="The kind of stream. Leave it out to list the kinds.",
        ),
    ] = None,
    rows: Annotated[
        str | None, typer.Option(metavar="N", help="The number of records: 1000, 200k, 10M.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="PATH",
            help="A .parquet, .csv or .jsonl file. A name without extension is a folder of parquet"
            " files.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed gives the same stream.")
    ] = 0,
    files: Annotated[
        int, typer.Option(min=1, metavar="N", help="The number of files in a folder.")
    ] = 1,
    rate: Annotated[
        float | None,
        typer.Option(metavar="X", help="Records per second of event time, on average."),
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"],
            metavar="TIME", help="The first time: 2024-01-31, or 2024-01-31T12:00:00 (UTC).",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the kind; see below."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, no summary.")
    ] = False,
) -> None:  # fmt: skip
    """Write a seeded stream to files, for trials and measurements.

    The same kind, seed and options give the same records. Fewer rows give
    the beginning of the same stream. A file appears when it is complete.

    \b
    [bold]Examples[/]
      crestline generate trades --rows 1M --out trades.parquet
      crestline generate trades --rows 10M --set symbols=5000 --out day --files 8
      crestline generate sensors --rows 50k --seed 7 --rate 20 --out sensors.csv
    """
    from crestline import streams

    if kind is None:
        print(kinds_text())
        return
    if rows is None or out is None:
        raise Misuse("say how many records and where to: --rows 100k --out trades.parquet")
    from crestline.cli.places import check_is_here

    check_is_here("--out", out)
    total = count(rows, "--rows")
    options = {
        name: number(value, f"--set {name}")
        for name, value in pairs(settings or [], "--set", "symbols=1000").items()
    }
    written = 0
    began = time.perf_counter()
    with RowsProgress(f"writing {kind}", total, quiet=quiet) as progress:

        def advance(more: int) -> None:
            nonlocal written
            written += more
            progress(written)

        try:
            streams.write(
                kind, total, out, seed, files=files, progress=advance, rate=rate,
                start=start or streams.generator.START, **options,
            )  # fmt: skip
        except SourceError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise Misuse(str(error)) from error  # a kind or an option that does not exist
    if not quiet:
        seconds = time.perf_counter() - began
        size = f"{_size(Path(out)) / 1e6:,.1f} MB, {seconds:,.1f} s"
        print(f"{total:,} records of {kind} written to {out} ({size})", file=sys.stderr)


def _size(path: Path) -> int:
    files = [path] if path.is_file() else list(path.iterdir())
    return sum(os.path.getsize(file) for file in files)


__all__ = ["GenerateCommand", "generate", "kinds_text"]
