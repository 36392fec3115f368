"""Following a stream of files on Spark: each round's results are handed to a sink, exactly once.

Spark repeats a round whose end it could not write down, with the same records and from the same
state, so it gives the same rows under the same number. A sink that writes them under that number
(see ``crestline.cli.parts``) therefore neither loses nor repeats anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.core.errors import CrestlineError, RecordError
from crestline.language import Query, in_full
from crestline.planner import arrange
from crestline.runtime.encoders.uncertain import refuse_rules_above_one
from crestline.runtime.queries import stream_of
from crestline.runtime.rounds import Checkpoint, Round, Sink, trigger_seconds
from crestline.sources import source
from crestline.spark.failures import explained, explaining
from crestline.spark.files import BAD_COLUMN, BAD_REASON, BAD_VALUE, FileStream, open_files
from crestline.spark.inputs import open_inputs
from crestline.spark.outcome import read_outcome
from crestline.spark.pipeline import BUCKETS, pipeline
from crestline.spark.spread import spread_by
from crestline.spark.stages import Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def checkpoint_at(
    folder: Path, queries: dict[str, Query], buckets: int | None = None
) -> Checkpoint:
    """The checkpoint of a run on Spark in a folder, made if there is none."""
    spread = any(spread_by(bundle.plan) for bundle in arrange(queries))
    wanted = BUCKETS if spread else 1
    return Checkpoint.at(folder, queries, buckets, engine="spark", new_buckets=wanted)


def trigger_options(text: str) -> dict[str, Any]:
    """What ``--trigger`` means to Spark.

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

    Those with several inputs (``FROM a, b, c``) take a folder for each, by name. A record is late
    by the event time of all of them: let LATENESS be as long as one may be behind another.
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
        """Plan the queries and begin; errors in the query or the files are raised here."""
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
                    self._failure = error  # Spark would only tell its text
                    # And a long text, such as that of a job cancelled by ``stop``, overflows the
                    # stack of the expression by which Spark looks for an interrupt in it.
                    raise RuntimeError(f"the round failed: {type(error).__name__}") from None

            writer = planned.outcome.writeStream.foreachBatch(take)
            writer = writer.option("checkpointLocation", str(self.checkpoint.folder.absolute()))
            self._query = writer.trigger(**options).start()

    def _opened(self) -> FileStream:
        first = next(iter(self.queries.values()))
        paths = self.path if isinstance(self.path, Mapping) else {first.stream: self.path}
        places: dict[str, str] = {name: stream_of(first, paths, name) for name in first.inputs}
        given = {name: source(os.path.abspath(path), name) for name, path in places.items()}
        if any(query.star is not None for query in self.queries.values()):
            columns = self.checkpoint.columns(given[first.stream].schema.names)
            self.queries = in_full(self.queries, columns)

        def opened(name: str, columns: list[str]) -> FileStream:
            return open_files(
                self.session, places[name], name, columns,
                follow=True, files_per_trigger=self.files_per_trigger,
            )  # fmt: skip

        return open_inputs(self.queries, given, opened)

    def _take(self, collected: pa.Table, number: int, members: Any) -> None:
        found = read_outcome(collected, members, self.queries)
        rejects = pa.concat_tables(
            [outcome.rejects.drop_columns(["chunk"]) for outcome in found.values()]
        )
        if self.strict:
            _refuse_bad(rejects)
        for name, outcome in found.items():
            self._shown[name] = self._shown.get(name, 0) + outcome.rows.num_rows
        metrics = {
            name: outcome.metrics(self.queries[name], self._shown[name])
            for name, outcome in found.items()
            if outcome.ledger is not None
        }
        if self.strict:
            for name, known in metrics.items():
                refuse_rules_above_one(self.queries[name], known.rules_above_one)
        rows = {name: outcome.rows for name, outcome in found.items()}
        self.sink(Round(number, rows, rejects, metrics))

    def wait(self, seconds: float | None = None) -> bool:
        """Until the run ends or that much time has passed; whether it has ended. Raises what made
        it fail."""
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
        """Wait until all files that are there have been taken in."""
        try:
            self._query.processAllAvailable()
        except Exception as error:
            raise self._explained(error) from error

    def stop(self) -> None:
        """End now; a round that is not finished is repeated when the checkpoint is resumed."""
        if self._query is not None:
            try:
                self._query.stop()
            except Exception as error:
                if (plain := explained(error)) is not None:
                    raise plain from error
                raise


def _refuse_bad(rejects: pa.Table) -> None:
    for bad in rejects.to_pylist():
        if bad["reason"] != "late":
            raise RecordError(bad["stream"], bad["row"] or 0, bad["column"], bad["reason"])
