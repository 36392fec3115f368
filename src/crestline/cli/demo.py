"""``crestline demo``: a stream of trades, and its top 10 as it changes."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crestline.cli import completion
from crestline.cli.engine import choose
from crestline.cli.errors import Misuse
from crestline.core.errors import MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

    from crestline.cli.engine import Choice
    from crestline.cli.following import Run
    from crestline.cli.trades import TopTrades
    from crestline.language import Query
    from crestline.runtime.metrics import Metrics
    from crestline.runtime.rounds import Checkpoint, Round, Sink

QUERY = """\
-- The 10 largest trades of the last minute, every 5 seconds.
SELECT TOP 10 symbol, price, size, ts
FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS ON ts]
ORDER BY price * size DESC
"""
#: Trades per second of event time, the seed, and trades per file: those of one slide.
RATE, SEED, _FILE_ROWS = 1_000, 7, 5_000
_SLIDE_SECONDS = 5
#: Results printed without a terminal, and the seconds that the stream takes then.
_PRINTED, _PLAIN_SECONDS = 4, 6.0
_TRIGGER, _GLANCE = "100 ms", 0.05
#: What a demo writes into its folder, besides the parts.
_ROWS, _QUERY, _PICTURE = "results.parquet", "query.sql", "ranks.png"


def demo(
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="spark|local",
            autocompletion=completion.engines,
            help="Run on Spark, or in this process. The default is Spark if the extra 'spark' and"
            " Java are installed.",
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write what it makes.")
    ] = "crestline-demo",
    seconds: Annotated[
        float, typer.Option(min=0, metavar="N", help="How long it lasts on a terminal.")
    ] = 20.0,
    live: Annotated[
        bool, typer.Option("--live/--no-live", help="Show every change, or print a few results.")
    ] = True,
    trades: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="The number of trades, 1,000 per second."),
    ] = 600_000,
) -> None:
    """Watch the top 10 of a stream of trades change, on Spark or in this process.

    Files of generated trades appear in a folder, and a query follows them: ten
    minutes of trades in 20 seconds. Without a terminal it prints a few results
    instead. It leaves the results and the query in FOLDER, and a picture if the
    extra 'plot' is installed.

    \b
    [bold]Examples[/]
      crestline demo
      crestline demo --engine local
      crestline demo --seconds 60
      crestline demo --no-live --out /tmp/demo
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise Misuse(f"{out!r} is a file: give --out the name of a folder")
    _check_own(folder)
    choice = choose(engine)
    print(QUERY)
    print(f"over {trades:,} generated trades, {_where(choice)}\n")
    sys.stdout.flush()
    began = time.perf_counter()
    from crestline.cli.output import write_table, write_whole

    _clear(folder / "results")
    watched = live and sys.stdout.isatty()
    pace = seconds if watched else None
    started: float | None = None
    if choice.engine == "spark":
        from crestline.cli.engine import spark

        with spark(None, None, quiet=True) as running:
            started = running.seconds
            rows, metrics = _follow(folder, trades, pace, running.session)
    else:
        rows, metrics = _follow(folder, trades, pace, None)
    write_table(folder / _ROWS, rows)
    write_whole(folder / _QUERY, QUERY.encode())
    seconds = time.perf_counter() - began
    _tell(metrics, folder, trades, seconds, started, _draw(folder, rows))


def _where(choice: Choice) -> str:
    if choice.engine == "spark":
        return "on Spark on this machine. Starting Spark ..."
    why = f" ({choice.why})" if choice.why else ""
    return f"in this process{why} ..."


def _draw(folder: Path, rows: pa.Table) -> str:
    """Draw the ranks, and return what to say about the picture."""
    from crestline.cli.output import write_whole

    try:
        write_whole(folder / _PICTURE, picture(rows))
    except MissingExtraError as error:
        (folder / _PICTURE).unlink(missing_ok=True)  # that of an earlier demo
        return f"no picture: {error}"
    return f"{_PICTURE:<16} how the ranks changed"


def picture(rows: pa.Table) -> bytes:
    """Draw how the ranks of the leading trades changed, as a PNG."""
    from crestline.runtime.plotting import png, rank_figure
    from crestline.runtime.queries import named_queries
    from crestline.runtime.rankings import rankings

    (ranking,) = rankings({"query": rows}, named_queries(QUERY))
    title = "The 10 largest trades of the last minute, every 5 seconds"
    note = (
        "Each line is a trade, from entering the top 10 to leaving it. Coloured: those that were"
        " first, with symbol and value."
    )
    return png(rank_figure([replace(ranking, title=title)], note))


def _check_own(folder: Path) -> None:
    """Raise Misuse if the demo would replace files that are not those of an earlier demo."""
    from crestline.cli.parts import NOTE

    if (folder / "results" / NOTE).exists():
        return
    for name in (_ROWS, _QUERY, _PICTURE):
        if (folder / name).exists():
            raise Misuse(f"{folder / name} is not of a demo: give --out another folder")


def _clear(results: Path) -> None:
    """Remove the parts of an earlier demo, and nothing else."""
    from crestline.cli.parts import NOTE

    if (results / NOTE).exists():
        shutil.rmtree(results)


def _follow(
    folder: Path, trades: int, seconds: float | None, session: Any
) -> tuple[pa.Table, Metrics]:
    """Follow the trades to the last, on Spark if there is a ``session``.

    ``seconds`` is how long that takes on a terminal. None means that there is no terminal.
    """
    import pyarrow as pa

    from crestline.cli.interrupts import first_is_a_request
    from crestline.cli.parts import parts_of
    from crestline.core.unfinished import files
    from crestline.runtime.queries import named_queries

    queries = named_queries(QUERY)
    (name,) = queries
    tables: list[pa.Table] = []
    metrics: dict[str, Metrics] = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(files.scratch("crestline-demo-")))
        checkpoint = _checkpoint(scratch / "checkpoint", queries, session)
        parts = parts_of(str(folder / "results"), queries)[name]
        parts.claim(checkpoint.id, None)
        pace = _PLAIN_SECONDS if seconds is None else seconds
        feeder = stack.enter_context(_feeding(scratch / "trades", trades, pace))
        show, draw = _shown(stack, trades, watched=seconds is not None)

        def take(round: Round) -> None:
            parts.write(round.number, round.rows[name])
            tables.append(round.rows[name])
            metrics.update(round.metrics)
            show(round)
            feeder.go_on()

        run = _run(queries, str(scratch / "trades"), checkpoint, take, session)
        stop_requested = stack.enter_context(first_is_a_request())
        stack.callback(run.stop)
        run.start()
        while name not in metrics or metrics[name].rows_in < trades:
            if stop_requested():
                _hush(session)
                raise KeyboardInterrupt
            run.wait(_GLANCE)
            feeder.check()
            draw()
    return pa.concat_tables(tables), metrics[name]


def _checkpoint(folder: Path, queries: dict[str, Query], session: Any) -> Checkpoint:
    if session is not None:
        from crestline.spark.follow import checkpoint_at

        return checkpoint_at(folder, queries)
    from crestline.runtime.rounds import Checkpoint

    return Checkpoint.at(folder, queries)


def _run(
    queries: dict[str, Query], path: str, checkpoint: Checkpoint, sink: Sink, session: Any
) -> Run:
    if session is not None:
        from crestline.spark.follow import Follow as FollowOnSpark

        return FollowOnSpark(session, queries, path, checkpoint, sink, trigger=_TRIGGER)
    from crestline.local.follow import Follow

    return Follow(queries, {"trades": path}, sink, _TRIGGER)


def _hush(session: Any) -> None:
    if session is not None:
        from crestline.spark.session import hush

        hush()


class _Feeder(threading.Thread):
    """Writes the trades of one slide after another into a folder, at a steady pace.

    The first file is written at once. The others wait until a round has read it, so that the demo
    begins when the engine has warmed up.
    """

    def __init__(self, folder: Path, trades: int, seconds: float) -> None:
        super().__init__(name="trades", daemon=True)
        self._folder = folder
        self._pause = seconds * _FILE_ROWS / trades
        self._ready, self._over = threading.Event(), threading.Event()
        self._failure: BaseException | None = None
        from crestline.streams import generate

        self._batches = generate("trades", trades, SEED, rate=RATE, batch_rows=_FILE_ROWS)
        folder.mkdir()
        self._write(0, next(self._batches))

    def _write(self, number: int, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        from crestline.cli.output import write_table

        write_table(self._folder / f"trades-{number:05}.parquet", pa.table(batch))

    def go_on(self) -> None:
        self._ready.set()

    def check(self) -> None:
        """Raise the error that made it fail, if it failed."""
        if self._failure is not None:
            raise self._failure

    def run(self) -> None:
        self._ready.wait()
        began = time.monotonic()
        try:
            for number, batch in enumerate(self._batches, 1):
                if self._over.wait(max(0.0, began + number * self._pause - time.monotonic())):
                    return
                self._write(number, batch)
        except Exception as error:
            self._failure = error

    def end(self) -> None:
        self._over.set()
        self._ready.set()
        self.join()


@contextmanager
def _feeding(folder: Path, trades: int, seconds: float) -> Iterator[_Feeder]:
    feeder = _Feeder(folder, trades, seconds)
    feeder.start()
    try:
        yield feeder
    finally:
        feeder.end()


def _shown(
    stack: ExitStack, trades: int, *, watched: bool
) -> tuple[Callable[[Round], None], Callable[[], None]]:
    """Return a function that takes a round to show, and one to call now and then to draw."""
    from crestline.runtime.queries import named_queries

    if not watched:
        return _PrintedTrades(trades).take, lambda: None
    from crestline.cli.watch import Screen, Watch

    screen = stack.enter_context(Screen(Watch(named_queries(QUERY))))
    return screen.take, screen.draw


class _PrintedTrades:
    """Prints a few results, evenly spaced, as lines of text."""

    def __init__(self, trades: int) -> None:
        expected = trades / RATE / _SLIDE_SECONDS
        self._wanted = {round(expected * part / _PRINTED) for part in range(1, _PRINTED + 1)}
        self._seen: list[TopTrades] = []

    def take(self, round: Round) -> None:
        from crestline.cli.trades import plain_view, top_trades

        (table,) = round.rows.values()
        for snapshot in top_trades(table):
            before = self._seen[-1] if self._seen else None
            self._seen.append(snapshot)
            if len(self._seen) in self._wanted:
                print(plain_view(snapshot, before), end="\n\n", flush=True)


def _tell(
    metrics: Metrics, folder: Path, trades: int, seconds: float, start: float | None, drawn: str
) -> None:
    query = folder / _QUERY
    starting = "" if start is None else f", {start:.1f} s of it to start Spark"
    print(f"""
{metrics.rows_in:,} trades in {seconds:.1f} s{starting}
records kept: {metrics.kept_text()}

In {folder}:
  results/         the results as they came, a part for each round
  results.parquet  all {metrics.result_rows:,} result rows
  query.sql        the query
  {drawn}

Try next, the same trades from a file, once and as a stream (Ctrl-C ends it), and the plan of the
query:
  crestline generate trades --rows {trades} --rate {RATE} --seed {SEED} --out trades.csv
  crestline run --engine local --query {query} --stream trades=trades.csv
  crestline run --follow --query {query} --stream trades=trades.csv
  crestline explain --query {query}""")


__all__ = ["demo"]
