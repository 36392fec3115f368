"""Following a stream of files on Spark: each round's results are handed to a sink, exactly once.

Spark repeats a round that was interrupted, with the same records and from the same state. So it
gives the same rows under the same number. A sink that writes them under that number (see
``crestline.cli.parts``) neither loses nor repeats anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.core.errors import CrestlineError
from crestline.language import Query, in_full
from crestline.planner import arrange
from crestline.runtime.encoders.uncertain import refuse_rules_above_one
from crestline.runtime.queries import stream_of
from crestline.runtime.roles import Carried
from crestline.runtime.rounds import Checkpoint, Round, Sink, trigger_seconds
from crestline.sources import source
from crestline.spark.failures import explained, explaining
from crestline.spark.files import BAD_COLUMN, BAD_REASON, BAD_VALUE, FileStream, open_files
from crestline.spark.inputs import open_inputs
from crestline.spark.outcome import read_outcome, refuse_bad
from crestline.spark.pipeline import BUCKETS, pipeline
from crestline.spark.spread import spread_by
from crestline.spark.stages import Member, Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def checkpoint_at(
    folder: Path, queries: dict[str, Query], buckets: int | None = None
) -> Checkpoint:
    """Return the checkpoint of a run on Spark in a folder; make one if there is none."""
    spread = any(spread_by(bundle.plan) for bundle in arrange(queries))
    default = BUCKETS if spread else 1
    return Checkpoint.at(folder, queries, buckets, engine="spark", new_buckets=default)


def trigger_options(text: str) -> dict[str, Any]:
    """Translate ``--trigger`` for Spark.

    >>> trigger_options("5 seconds"), trigger_options("available-now")
    ({'processingTime': '5000 milliseconds'}, {'availableNow': True})
    """
    seconds = trigger_seconds(text)
    if seconds is None:
        return {"availableNow": True}
    return {"processingTime": f"{round(seconds * 1000)} milliseconds"}


@dataclass
class Follow:
    """Queries over one growing folder; ``start`` it, then ``wait``, and ``stop`` in any case.

    Queries with several inputs (``FROM a, b, c``) take a folder for each, by name. Whether a record
    is late depends on the event times of all inputs: let LATENESS be as long as one input may be
    behind another.
    """

    session: SparkSession
    queries: dict[str, Query]
    path: str | Mapping[str, str]
    checkpoint: Checkpoint
    sink: Sink
    trigger: str = "1 second"
    strict: bool = False
    files_per_trigger: int | None = None
    _failure: BaseException | None = field(default=None, init=False)
    _query: Any = field(default=None, init=False)
    _shown: dict[str, int] = field(default_factory=dict, init=False)

    def start(self) -> None:
        """Plan the queries and begin. Raises errors in the queries or the files."""
        options = trigger_options(self.trigger)
        with explaining():
            files = self._opened()
            reading = Reading(keep_rejects=True)
            if BAD_REASON in files.frame.columns:
                reading = Reading(keep_rejects=True, bad=(BAD_COLUMN, BAD_REASON, BAD_VALUE))
            planned = pipeline(
                files.frame, self.queries, buckets=self.checkpoint.buckets, reading=reading,
                typed=files.typed, filtering=False,
            )  # fmt: skip
            members = planned.projected.members

            def take(frame: DataFrame, number: int) -> None:
                try:
                    self._take(frame.toArrow(), number, members)
                except BaseException as error:
                    self._failure = error  # Spark would pass on its text only
                    # A long text, such as that of a job cancelled by ``stop``, would overflow the
                    # stack of the regular expression by which Spark looks for an interrupt.
                    raise RuntimeError(f"the round failed: {type(error).__name__}") from None

            writer = planned.outcome.writeStream.foreachBatch(take)
            writer = writer.option("checkpointLocation", str(self.checkpoint.folder.absolute()))
            self._query = writer.trigger(**options).start()

    def _opened(self) -> FileStream:
        first = next(iter(self.queries.values()))
        paths = self.path if isinstance(self.path, Mapping) else {first.stream: self.path}
        folders: dict[str, str] = {name: stream_of(first, paths, name) for name in first.inputs}
        sources = {name: source(os.path.abspath(path), name) for name, path in folders.items()}
        if any(query.star is not None for query in self.queries.values()):
            columns = self.checkpoint.columns(sources[first.stream].schema.names)
            self.queries = in_full(self.queries, columns)

        def opened(name: str, columns: list[str]) -> FileStream:
            return open_files(
                self.session, folders[name], name, columns,
                follow=True, files_per_trigger=self.files_per_trigger,
            )  # fmt: skip

        return open_inputs(self.queries, sources, opened)

    def _take(self, collected: pa.Table, number: int, members: tuple[Member, ...]) -> None:
        outcomes = read_outcome(collected, members, self.queries)
        rejects = pa.concat_tables(
            [outcome.rejects.drop_columns([Carried.CHUNK]) for outcome in outcomes.values()]
        )
        if self.strict:
            refuse_bad(rejects)
        for name, outcome in outcomes.items():
            self._shown[name] = self._shown.get(name, 0) + outcome.rows.num_rows
        metrics = {
            name: outcome.metrics(self.queries[name], self._shown[name])
            for name, outcome in outcomes.items()
            if outcome.ledger is not None
        }
        if self.strict:
            for name, counts in metrics.items():
                refuse_rules_above_one(self.queries[name], counts.rules_above_one)
        rows = {name: outcome.rows for name, outcome in outcomes.items()}
        self.sink(Round(number, rows, rejects, metrics))

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the run ends or so many seconds have passed; return whether it has ended.
        Raises the error that made it fail."""
        try:
            ended = self._query.awaitTermination(seconds)
        except Exception as error:
            raise self._explained(error) from error
        return True if ended is None else bool(ended)

    def _explained(self, error: BaseException) -> BaseException:
        if isinstance(self._failure, CrestlineError):
            return self._failure
        return explained(self._failure or error) or explained(error) or self._failure or error

    def process_all_available(self) -> None:
        """Wait until all files that are there have been read."""
        try:
            self._query.processAllAvailable()
        except Exception as error:
            raise self._explained(error) from error

    def stop(self) -> None:
        """End now. An unfinished round is repeated when the checkpoint is resumed."""
        if self._query is not None:
            try:
                self._query.stop()
            except Exception as error:
                if (plain := explained(error)) is not None:
                    raise plain from error
                raise
