"""Following files on Spark: rounds that neither lose nor repeat a row.

A round takes the files that are new. The driver notes their names in the checkpoint, and workers
read and prune them (``crestline.spark.scans``). What they gather goes to the state of its bucket
(``crestline.spark.rounds``). Then the sink gets the results under the number of the round. A round
that the checkpoint does not know as done is repeated under the same number.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from crestline.language import Query, in_full
from crestline.planner import arrange
from crestline.runtime.queries import stream_of
from crestline.runtime.rounds import Checkpoint, Sink, trigger_seconds
from crestline.sources.stores import absolute
from crestline.spark.failures import explained
from crestline.spark.followed import FollowedInputs
from crestline.spark.history import Files, History
from crestline.spark.rounds import read_round, run_round
from crestline.spark.scans import plan_scan
from crestline.spark.session import check_running
from crestline.spark.spread import BUCKETS, spread_by
from crestline.spark.stages import Reading, Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds between looks for new files while ``process_all_available`` waits.
_GLANCE = 0.02


def checkpoint_at(
    folder: Path, queries: dict[str, Query], buckets: int | None = None
) -> Checkpoint:
    """Return the checkpoint of a run on Spark in a folder; make one if there is none."""
    spread = any(spread_by(bundle.plan) for bundle in arrange(queries))
    default = BUCKETS if spread else 1
    return Checkpoint.at(folder, queries, buckets, engine="spark", new_buckets=default)


@dataclass
class Follow:
    """Queries over one growing folder; ``start`` it, then ``wait``, and ``stop`` in any case.

    Queries with several inputs (``FROM a, b, c``) take a folder for each, by name. Whether a record
    is late depends on the event times of all inputs: let LATENESS be as long as one input may be
    behind another. Rounds run in a thread of their own.
    """

    session: SparkSession
    queries: dict[str, Query]
    path: str | Mapping[str, str]
    checkpoint: Checkpoint
    sink: Sink
    trigger: str = "1 second"
    strict: bool = False
    files_per_trigger: int | None = None
    #: Sentences for the end of the run.
    notes: list[str] = field(default_factory=list, init=False)
    _failure: BaseException | None = field(default=None, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)
    #: How often no new file was found.
    _idle: int = field(default=0, init=False)
    _shown: dict[str, int] = field(default_factory=dict, init=False)
    _tag: str = field(default_factory=lambda: f"crestline-{uuid.uuid4().hex}", init=False)

    def start(self) -> None:
        """Plan the queries and begin. Raises errors in the queries or the files."""
        trigger_seconds(self.trigger)
        first = next(iter(self.queries.values()))
        paths = self.path if isinstance(self.path, Mapping) else {first.stream: self.path}
        self._history = History.at(self.checkpoint.folder)
        inputs = FollowedInputs(
            {name: absolute(stream_of(first, paths, name)) for name in first.inputs}
        )
        if any(query.star is not None for query in self.queries.values()):
            names = inputs.columns(first.stream)
            self.queries = in_full(self.queries, self.checkpoint.columns(names))
        inputs.settle(self.queries, self._history.layout)
        self._inputs = inputs
        self._plan = plan_scan(
            self.queries, inputs.layout, bounded=False, buckets=self.checkpoint.buckets
        )
        self._thread = threading.Thread(target=self._run, name="crestline-rounds", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.session.addTag(self._tag)
            pause = trigger_seconds(self.trigger)
            # With available-now, files that come later wait for the next run.
            there = self._inputs.new_files(self._history.taken) if pause is None else None
            while not self._stopped.is_set():
                began = time.monotonic()
                if self._round(there):
                    continue
                self._idle += 1
                if pause is None:
                    return
                self._stopped.wait(max(0.0, began + pause - time.monotonic()))
        except BaseException as error:
            self._failure = error

    # -- rounds -------------------------------------------------------------------------------

    def _round(self, among: Files | None) -> bool:
        """Take new files in; return whether there were any."""
        history = self._history
        files = history.begun or self._next(among)
        if not any(files.values()):
            return False
        history.begin(files, self._inputs.settings())
        gone = self._inputs.gone(files)
        self.notes += [f"{file} was removed before it was read" for file in gone]
        left = {name: [f for f in names if f not in gone] for name, names in files.items()}
        plan, number, pruned = self._plan, history.round, None
        if pieces := self._inputs.pieces(left):
            pruned = plan.pruned(
                self.session, pieces, Reading(keep_rejects=True), history.states.parcels
            )
        step = Step(plan.members, plan.buckets, bounded=False, keep_rejects=True)
        outcome = run_round(pruned, step, history.states, number)
        if self._stopped.is_set():
            return False
        self.sink(
            read_round(outcome, step, self.queries, number, shown=self._shown, strict=self.strict)
        )
        history.done()
        return True

    def _next(self, among: Files | None) -> Files:
        """The files of the next round: new ones, or those ``among`` these that were not taken."""
        taken = self._history.taken
        files = self._inputs.new_files(taken) if among is None else among
        return {
            name: [file for file in names if file not in taken.get(name, ())]
            [: self.files_per_trigger]
            for name, names in files.items()
        }  # fmt: skip

    # -- waiting ------------------------------------------------------------------------------

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the run ends or so many seconds have passed; return whether it has ended.
        Raises the error that made it fail."""
        assert self._thread is not None, "start comes first"
        self._thread.join(seconds)
        failure = self._failure
        if failure is not None and not self._stopped.is_set():
            plain = explained(failure)
            if plain is None or plain is failure:
                raise failure
            raise plain from failure
        if self._thread.is_alive():
            check_running()  # between rounds nothing else would notice
            return False
        return True

    def process_all_available(self) -> None:
        """Wait until all files that are there have been read."""
        before = self._idle
        # The look that is under way may have begun before the last file came.
        while self._idle < before + 2 and not self.wait(_GLANCE):
            pass

    def stop(self) -> None:
        """End now. An unfinished round is repeated when the checkpoint is resumed."""
        self._stopped.set()
        if self._thread is not None and self._thread.is_alive():
            try:
                self.session.interruptTag(self._tag)
            except Exception as error:
                if (plain := explained(error)) is not None:
                    raise plain from error
                raise
            self._thread.join()


__all__ = ["Follow", "checkpoint_at"]
