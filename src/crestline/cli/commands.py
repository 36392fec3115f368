"""All commands together, and the text of ``crestline --help``."""

from __future__ import annotations

from typing import Annotated

import typer

from crestline.cli import bench, catalogue, demo, explain, generate, reproduce, run, warm
from crestline.cli.errors import Commands

_HELP = """
Continuous top-k queries over sliding windows: exact, and keeping only what can still matter.

\b
[bold]A first result[/]
  crestline demo
  crestline generate trades --rows 1M --out trades.parquet
  crestline run --stream trades=trades.parquet \\
    'SELECT TOP 3 symbol, price, size
     FROM trades [RANGE 1 MINUTE SLIDE 20 SECONDS ON ts]
     ORDER BY price * size DESC'

\b
[bold]Exit codes[/]
  0    done
  1    a fault of Crestline (CRESTLINE_DEBUG=1 shows the traceback)
  2    the command or the query is wrong, or cannot be run as asked
  3    the data is wrong: it cannot be read, or --strict met a bad record
  4    Spark could not start, or failed
  130  interrupted with Ctrl-C; unfinished files are removed
"""

app = typer.Typer(
    name="crestline",
    cls=Commands,
    help=_HELP,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run.run)
app.command()(explain.explain)
app.command()(catalogue.algorithms)
app.command(cls=generate.GenerateCommand)(generate.generate)
app.command()(bench.bench)
app.command()(reproduce.reproduce)
app.command()(warm.warm)
app.command()(demo.demo)


def _print_version(asked: bool) -> None:
    if asked:
        from crestline import __version__

        print(f"crestline {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


__all__ = ["app"]
