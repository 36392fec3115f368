"""Following a stream of files on Spark: each round's results are handed to a sink, exactly once.

Spark repeats a round whose end it could not write down, with the same records and from the same
state, so it gives the same rows under the same number. A sink that writes them under that number
(see ``crestline.cli.parts``) therefore neither loses nor repeats anything.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.core import state
from crestline.core.errors import CrestlineError, PlanError, RecordError, StateError
from crestline.language import Query, in_full
from crestline.local import Metrics
from crestline.local.doubt import refuse_rules_above_one
from crestline.local.session import stream_of
from crestline.local.sources import source
from crestline.planner import arrange
from crestline.spark.failures import explained, explaining
from crestline.spark.files import BAD_COLUMN, BAD_REASON, BAD_VALUE, FileStream, open_files
from crestline.spark.inputs import open_inputs
from crestline.spark.outcome import read_outcome
from crestline.spark.pipeline import BUCKETS, pipeline
from crestline.spark.spread import spread_by
from crestline.spark.stages import Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The file that makes a folder a checkpoint.
IDENTITY = "crestline.json"
#: What a run that was killed may leave.
_PARTIAL = f".{IDENTITY}.partial"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Round:
    """What one micro-batch brought, by query; ``number`` is the same if it is repeated."""

    number: int
    rows: dict[str, pa.Table]
    rejects: pa.Table
    metrics: dict[str, Metrics]


Sink = Callable[[Round], None]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder that remembers a run, and which run that is."""

    folder: Path
    identity: dict[str, Any]
    #: Whether it was there before.
    resumed: bool = False

    @property
    def id(self) -> str:
        """Stays the same for as long as the checkpoint lives."""
        return str(self.identity["id"])

    @property
    def buckets(self) -> int:
        return int(self.identity["buckets"])

    @classmethod
    def at(cls, folder: Path, queries: dict[str, Query], buckets: int | None) -> Checkpoint:
        """The checkpoint in the folder, made if there is none; StateError if it is another's, or if
        nothing can be written there."""
        wanted = {name: str(query) for name, query in queries.items()}
        file = folder / IDENTITY
        try:
            if file.exists():
                identity = _checked(file, wanted, buckets)
                _check_writable(folder)
                return cls(folder, identity, resumed=True)
            if folder.is_dir() and any(entry.name != _PARTIAL for entry in folder.iterdir()):
                raise StateError(
                    f"{folder} is no checkpoint of Crestline: name an empty or a new folder"
                )
            spread = any(spread_by(bundle.plan) for bundle in arrange(queries))
            identity = {
                "format": _FORMAT,
                "state_version": state.VERSION,
                "id": uuid.uuid4().hex,
                "queries": wanted,
                "buckets": buckets or (BUCKETS if spread else 1),
            }
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder, identity)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return cls(folder, identity)

    def columns(self, names: list[str]) -> list[str]:
        """What ``*`` stands for: these columns, or those that it stood for when the run began."""
        if names and "columns" not in self.identity:
            self.identity["columns"] = names
            try:
                _write(self.folder, self.identity)
            except OSError as error:
                raise _unwritable(self.folder, error) from error
        return [str(name) for name in self.identity.get("columns", ())]


def _write(folder: Path, identity: dict[str, Any]) -> None:
    """Whole, or not at all."""
    partial = folder / _PARTIAL
    partial.write_text(json.dumps(identity, indent=2))
    partial.replace(folder / IDENTITY)


def _unwritable(folder: Path, error: OSError) -> StateError:
    return StateError(
        f"cannot write the checkpoint {folder}: {error.strerror}: name a folder that this user may"
        " write to"
    )


def _check_writable(folder: Path) -> None:
    """Try it, in the folder and in those that Spark has made: rights alone do not tell, and Spark
    would tell it late and at length."""
    for each in (folder, *(entry for entry in folder.iterdir() if entry.is_dir())):
        TemporaryFile(dir=each).close()


def _checked(file: Path, wanted: dict[str, str], buckets: int | None) -> dict[str, Any]:
    folder = file.parent
    try:
        identity: dict[str, Any] = json.loads(file.read_text())
        versions = (identity["format"], identity["state_version"])
        known, spread = dict(identity["queries"]), int(identity["buckets"])
        str(identity["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"{file} is damaged: use another copy, or start anew") from error
    if versions != (_FORMAT, state.VERSION):
        raise StateError(
            f"the checkpoint {folder} has state version {versions[1]}, this Crestline writes"
            f" version {state.VERSION}: resume it with the Crestline that wrote it, or start anew"
            " in another folder"
        )
    if known != wanted:
        theirs = "\n\n".join(known.values())
        raise StateError(
            f"the checkpoint {folder} belongs to another query: name another folder, or resume it"
            f" with\n{theirs}"
        )
    if buckets is not None and buckets != spread:
        raise StateError(
            f"the checkpoint {folder} was made with {spread} buckets, not {buckets}: leave the"
            " number out, or name another folder"
        )
    return identity


def trigger_options(text: str) -> dict[str, Any]:
    """What ``--trigger`` means to Spark.

    >>> trigger_options("5 seconds"), trigger_options("available-now")
    ({'processingTime': '5 seconds'}, {'availableNow': True})
    """
    plain = text.strip().lower()
    if plain in ("available-now", "available_now", "availablenow", "once"):
        return {"availableNow": True}
    found = re.fullmatch(r"(\d+)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)", plain)
    if found is None:
        raise PlanError(
            f"--trigger {text!r}: give a time between rounds, such as '5 seconds' or '500 ms', or"
            " available-now to take what is there and stop"
        )
    unit = {"ms": "milliseconds", "s": "seconds", "m": "minutes"}.get(found[2], found[2])
    unit = {"sec": "seconds", "secs": "seconds", "min": "minutes", "mins": "minutes"}.get(
        unit, unit
    )
    return {"processingTime": f"{found[1]} {unit}"}


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
