"""``crestline demo``: a stream of trades, and its top 10 changing before your eyes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli.errors import Misuse

if TYPE_CHECKING:
    from crestline.cli.live import Snapshot
    from crestline.local import Session

QUERY = """\
-- The 10 largest trades of the last minute, every 5 seconds.
SELECT TOP 10 symbol, price, size, ts
FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS ON ts]
ORDER BY price * size DESC
"""
#: Trades a second of event time, and the seed.
RATE, SEED = 1_000, 7
#: Trades pushed at a time: few for a smooth show, many where nobody watches.
_LIVE_BATCH, _PLAIN_BATCH = 1_000, 10_000
_SLIDE_SECONDS = 5
#: How many results are printed where there is no terminal, and pictures a second where there is.
_PRINTED, _FRAMES = 4, 12


def demo(
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="What the demo makes goes here.")
    ] = "crestline-demo",
    seconds: Annotated[
        float, typer.Option(min=0, metavar="N", help="How long the show lasts on a terminal.")
    ] = 16.0,
    live: Annotated[
        bool, typer.Option("--live/--no-live", help="Show every change, or print a few results.")
    ] = True,
    trades: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many trades there are, 1,000 a second.")
    ] = 600_000,
) -> None:
    """Watch the top 10 of a stream of trades change.

    Ten minutes of trades pass in a quarter of a minute. Without a terminal a
    few results are printed instead. Leaves the results, the query and a
    picture in FOLDER.

    \b
    [bold]Examples[/]
      crestline demo
      crestline demo --seconds 60
      crestline demo --no-live --out /tmp/demo
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise Misuse(f"{out!r} is a file: give --out the name of a folder")
    print(QUERY)
    print(f"over {trades:,} generated trades, in this process (running it on Spark is to come).\n")
    import crestline
    from crestline.cli.output import Outputs, write_whole
    from crestline.cli.picture import rank_picture

    session = crestline.open(QUERY)
    began = time.perf_counter()
    with Outputs() as outputs:
        watched = live and sys.stdout.isatty()
        tables = _pushed(session, trades, _LIVE_BATCH if watched else _PLAIN_BATCH)
        first = next(tables)
        writer = outputs.open(folder / "results.parquet", first.schema)
        steps = _written(chain([first], tables), writer.write)
        seen = (
            _show_live(steps, session, trades, seconds) if watched else _print_some(steps, trades)
        )
    write_whole(folder / "query.sql", QUERY.encode())
    write_whole(folder / "ranks.png", rank_picture(seen))
    _tell(session, folder, trades, time.perf_counter() - began)


def _pushed(session: Session, trades: int, batch_rows: int) -> Iterator[Any]:
    """The results due after each batch of trades, and those due at the end."""
    from crestline.streams import generate

    for batch in generate("trades", trades, SEED, rate=RATE, batch_rows=batch_rows):
        yield session.push(batch)
    yield session.finish()


def _written(tables: Iterator[Any], write: Callable[[Any], None]) -> Iterator[list[Snapshot]]:
    from crestline.cli.live import snapshots

    for table in tables:
        write(table)
        yield snapshots(table)


def _show_live(
    steps: Iterator[list[Snapshot]], session: Session, trades: int, seconds: float
) -> list[Snapshot]:
    """Draw the latest result again and again, at a pace that takes ``seconds`` in all."""
    from rich.live import Live

    from crestline.cli.live import view

    seen: list[Snapshot] = []
    pause = seconds / (trades / _LIVE_BATCH + 1)
    began = drawn = time.monotonic()
    with Live(auto_refresh=False) as screen:
        for number, fresh in enumerate(steps, 1):
            seen += fresh
            time.sleep(max(0.0, began + number * pause - time.monotonic()))
            if seen and (fresh or time.monotonic() - drawn > 1 / _FRAMES):
                before = seen[-2] if len(seen) > 1 else None
                screen.update(view(seen[-1], before, session.metrics), refresh=True)
                drawn = time.monotonic()
    return seen


def _print_some(steps: Iterator[list[Snapshot]], trades: int) -> list[Snapshot]:
    """Print a few results, evenly spaced, and do not wait."""
    from crestline.cli.live import plain_view

    seen: list[Snapshot] = []
    expected = trades / RATE / _SLIDE_SECONDS
    wanted = {round(expected * part / _PRINTED) for part in range(1, _PRINTED + 1)}
    for fresh in steps:
        for snapshot in fresh:
            before = seen[-1] if seen else None
            seen.append(snapshot)
            if len(seen) in wanted:
                print(plain_view(snapshot, before), end="\n\n")
    return seen


def _tell(session: Session, folder: Path, trades: int, seconds: float) -> None:
    from crestline.cli.summary import kept

    metrics = session.metrics
    query = folder / "query.sql"
    print(f"""
{metrics.rows_in:,} trades in {seconds:.1f} s, {metrics.seconds:.2f} s of it in the engine
records kept: {kept(metrics)}

In {folder}:
  results.parquet  the {metrics.result_rows:,} result rows
  query.sql        the query
  ranks.png        how the ranks changed

Try next, the same trades from a file and the plan of the query:
  crestline generate trades --rows {trades} --rate {RATE} --seed {SEED} --out trades.parquet
  crestline run --query {query} --stream trades=trades.parquet
  crestline explain --query {query}""")


__all__ = ["demo"]
