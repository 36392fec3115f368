"""``crestline run --follow``: queries over files that grow, until Ctrl-C.

An interrupt is the usual way to end such a run. So it ends with complete files, a summary and exit
code 0.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from crestline.cli.errors import Misuse
from crestline.cli.interrupts import first_is_a_request
from crestline.cli.output import write_fully
from crestline.cli.parts import Parts, parts_of
from crestline.cli.plain import json_lines, tab_header, tab_lines
from crestline.cli.summary import QuerySummary, RunSummary
from crestline.core.errors import SourceError, UnreachableError
from crestline.core.unfinished import files
from crestline.local import BoundedRun
from crestline.planner import plan
from crestline.runtime.lateness import many_late
from crestline.runtime.metrics import Metrics
from crestline.runtime.rounds import Checkpoint, Round, Sink, trigger_seconds
from crestline.sources.arrival import wait_for_files

if TYPE_CHECKING:
    import pyarrow as pa

    from crestline.cli.request import Request

EVERY_SECOND = "1 second"
#: Seconds between checks whether the run has ended, or should end.
_GLANCE = 0.1


@dataclass(frozen=True, slots=True)
class Following:
    """The options of a following run."""

    checkpoint: str | None = None
    trigger: str = EVERY_SECOND
    files_per_round: int | None = None

    @property
    def ends_by_itself(self) -> bool:
        return trigger_seconds(self.trigger) is None


class Run(Protocol):
    """A following run, on Spark or in this process."""

    def start(self) -> None: ...

    def wait(self, seconds: float) -> bool: ...

    def stop(self) -> None: ...


def follow(request: Request, following: Following, engine: str = "spark") -> RunSummary:
    """Run until the end, an interrupt or an error. Everything is checked before Spark starts."""
    trigger_seconds(following.trigger)
    for query in request.queries.values():
        plan(query)
    paths = _paths(request)
    results, rejects = _folders(request)
    with ExitStack() as stack:
        if following.checkpoint is None:
            folder = Path(stack.enter_context(files.scratch("crestline-")), "checkpoint")
        else:
            folder = Path(following.checkpoint)
        checkpoint = _checkpoint(folder, request, engine)
        for parts in [*results.values(), *([rejects] if rejects else [])]:
            parts.claim(checkpoint.id, None if following.checkpoint is None else folder)
        tally = _Tally(request, engine, results, checkpoint.resumed)
        for stream, path in paths.items():
            if not _wait_for_the_first(path, stream, following, request.quiet):
                return tally.summary(following, rejects)
        sinks: list[Sink] = [lambda round: _write(round, results, rejects)]

        def sink(round: Round) -> None:
            for each in sinks:
                each(round)

        kept = checkpoint if following.checkpoint or engine == "spark" else None
        make = _on_spark if engine == "spark" else _here
        run = make(request, following, paths, kept, sink, tally, stack)
        stop_requested = stack.enter_context(first_is_a_request())
        show, draw = _shown(request, stack)
        sinks += [show, tally.take]
        tally.began = time.perf_counter()
        stack.callback(run.stop)
        run.start()
        while not stop_requested() and not _has_ended(run, stop_requested):
            draw()
        tally.ended(run)
        return tally.summary(following, rejects)


def _checkpoint(folder: Path, request: Request, engine: str) -> Checkpoint:
    if engine == "local":
        return Checkpoint.at(folder, dict(request.queries))
    from crestline.spark.follow import checkpoint_at

    return checkpoint_at(folder, dict(request.queries))


def _here(
    request: Request, following: Following, paths: dict[str, str], checkpoint: Checkpoint | None,
    sink: Sink, tally: _Tally, stack: ExitStack,
) -> Run:  # fmt: skip
    from crestline.local.follow import Follow

    tally.where = ""
    return Follow(dict(request.queries), paths, sink, following.trigger, request.strict, checkpoint)


def _on_spark(
    request: Request, following: Following, paths: dict[str, str], checkpoint: Checkpoint | None,
    sink: Sink, tally: _Tally, stack: ExitStack,
) -> Run:  # fmt: skip
    from crestline.cli.engine import spark
    from crestline.spark.follow import Follow

    assert checkpoint is not None
    BoundedRun(request.queries, request.streams)  # says which column is missing
    started = stack.enter_context(spark(request.master, request.conf, quiet=request.quiet))
    tally.where, tally.started_in = started.master, started.seconds
    for path in filter(os.path.isfile, paths.values()):
        tally.notes.append(f"Spark reads {path} once: lines that are appended later are not seen")
    return Follow(
        started.session, dict(request.queries), paths, checkpoint, sink,
        trigger=following.trigger, strict=request.strict,
        files_per_trigger=following.files_per_round,
    )  # fmt: skip


def _has_ended(run: Run, stop_requested: Callable[[], bool]) -> bool:
    """Wait a moment, then tell whether the run has ended.

    Raises what made it fail, unless an interrupt came: a terminal also sends it to Spark's
    workers, which then fail.
    """
    try:
        return run.wait(_GLANCE)
    except Exception:
        if not stop_requested():
            raise
        return True


def _paths(request: Request) -> dict[str, str]:
    """Return the inputs that all queries read, by name, with their paths."""
    by_inputs = {
        tuple(name.casefold() for name in query.inputs): query for query in request.queries.values()
    }
    if len(by_inputs) > 1:
        names = ", ".join(name for query in by_inputs.values() for name in query.inputs)
        raise Misuse(
            f"--follow takes queries on one stream, these read {names}: start a run for each"
        )
    paths = {name.casefold(): path for name, path in request.streams.items()}
    inputs = next(iter(by_inputs.values())).inputs
    return {name: request.streams.get(name, paths[name.casefold()]) for name in inputs}


def _folders(request: Request) -> tuple[dict[str, Parts], Parts | None]:
    results = {} if request.out is None else parts_of(request.out, request.queries)
    if request.rejects is None:
        return results, None
    (rejects,) = parts_of(request.rejects, ["rejects"]).values()
    if any(parts.folder.resolve() == rejects.folder.resolve() for parts in results.values()):
        raise Misuse("results and rejects need two folders: --out and --rejects name the same")
    return results, rejects


def _write(round: Round, results: dict[str, Parts], rejects: Parts | None) -> None:
    for name, parts in results.items():
        parts.write(round.number, round.rows[name])
    if rejects is not None:
        rejects.write(round.number, round.rejects)


def _wait_for_the_first(path: str, stream: str, following: Following, quiet: bool) -> bool:
    """Wait for a first file, which has the columns; tell whether it came before an interrupt."""
    if following.ends_by_itself:
        wait_for_files(path, stream, 0)
        return True
    announced = False
    with first_is_a_request() as stop_requested:
        while not stop_requested():
            try:
                wait_for_files(path, stream, 2 * _GLANCE if announced else 0)
                return not stop_requested()
            except UnreachableError:
                raise
            except SourceError:
                if not announced and not quiet:
                    print(f"waiting for the first file in {path} ...", file=sys.stderr, flush=True)
                announced = True
    return False


# -- what is shown during the run -----------------------------------------------------------------


def _shown(
    request: Request, stack: ExitStack
) -> tuple[Callable[[Round], None], Callable[[], None]]:
    """Return a function that takes a round to show, and one to call now and then to draw."""
    rows_wanted = request.out is None and (request.as_json or not sys.stdout.isatty())
    if rows_wanted:
        return _PrintedRows(request.as_json).take, lambda: None
    if request.quiet or request.as_json or not sys.stdout.isatty():
        return lambda round: None, lambda: None
    from crestline.cli.watch import Screen, Watch

    screen = stack.enter_context(Screen(Watch(request.queries, "Ctrl-C ends the run.")))
    return screen.take, screen.draw


class _PrintedRows:
    """Prints rows as they come, with column names at the beginning and where they change."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._header: bytes | None = None

    def take(self, round: Round) -> None:
        files.shown()
        for table in round.rows.values():
            self._write(table)
        sys.stdout.buffer.flush()

    def _write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        header = tab_header(table.schema)
        if not self._as_json and header != self._header:
            write_fully(sys.stdout.buffer, header if self._header is None else b"\n" + header)
            self._header = header
        for batch in table.to_batches():
            lines = json_lines(batch) if self._as_json else tab_lines(batch)
            write_fully(sys.stdout.buffer, lines)


@dataclass
class _Tally:
    """Counts for the summary."""

    request: Request
    engine: str
    results: dict[str, Parts]
    resumed: bool
    rounds: int = 0
    where: str = "not started"
    started_in: float | None = None
    began: float = field(default_factory=time.perf_counter)
    notes: list[str] = field(default_factory=list)
    _metrics: dict[str, Metrics] = field(default_factory=dict)
    _warned: bool = False

    def take(self, round: Round) -> None:
        self.rounds += 1
        self._metrics |= round.metrics
        if not self._warned:  # at once: such a run may have no end
            warnings = [many_late(metrics, following=True) for metrics in self._metrics.values()]
            if (first := next(filter(None, warnings), None)) is not None:
                print(first, file=sys.stderr, flush=True)
                self._warned = True

    def ended(self, run: Run) -> None:
        """Stop the run and take its notes."""
        if self.engine == "spark":
            from crestline.spark.session import hush

            hush()
        self.notes += getattr(run, "notes", [])
        run.stop()

    def summary(self, following: Following, rejects: Parts | None) -> RunSummary:
        seconds = time.perf_counter() - self.began
        queries = []
        for name in self.request.queries:
            metrics = self._metrics.get(name, Metrics())
            parts = self.results.get(name)
            output = None if parts is None else str(parts.folder) + os.sep
            resumed = self.resumed and name in self._metrics
            queries.append(QuerySummary(name, metrics, seconds, output, resumed))
        return RunSummary(
            self.engine, queries, None if rejects is None else str(rejects.folder) + os.sep,
            self.where, self.started_in, self.rounds, following.checkpoint,
            notes=tuple(self.notes),
        )  # fmt: skip


__all__ = ["Following", "follow"]
