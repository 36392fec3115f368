"""Rounds of a run that follows a stream, and the checkpoint that remembers them.

In both engines a sink receives the results of a round under a number. A round that the checkpoint
does not know is repeated under the same number. So a sink that writes results under their number
(see ``crestline.cli.parts``) neither loses nor repeats any.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa

from crestline.core import state
from crestline.core.errors import PlanError, StateError
from crestline.language import Query
from crestline.runtime.metrics import Metrics

#: The file that makes a folder a checkpoint.
IDENTITY = "crestline.json"
#: A file that a killed run may leave behind.
_PARTIAL = f".{IDENTITY}.partial"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Round:
    """The results of one micro-batch by query. A repeated round has the same ``number``."""

    number: int
    rows: dict[str, pa.Table]
    rejects: pa.Table
    metrics: dict[str, Metrics]


Sink = Callable[[Round], None]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder that holds the state of a run, and the identity of that run."""

    folder: Path
    identity: dict[str, Any]
    #: Whether it existed before.
    resumed: bool = False

    @property
    def id(self) -> str:
        """Stays the same for as long as the checkpoint lives."""
        return str(self.identity["id"])

    @property
    def buckets(self) -> int:
        return int(self.identity["buckets"])

    @classmethod
    def at(
        cls, folder: Path, queries: dict[str, Query], buckets: int | None = None, *,
        engine: str = "local", new_buckets: int = 1,
    ) -> Checkpoint:  # fmt: skip
        """The checkpoint in the folder, or a new one if there is none.

        Raises StateError if the checkpoint belongs to another run, if ``buckets`` is not its number
        of buckets, or if the folder cannot be written. A new one has ``buckets`` buckets, or
        ``new_buckets`` if that is None.
        """
        wanted = {name: str(query) for name, query in queries.items()}
        file = folder / IDENTITY
        try:
            if file.exists():
                identity = _checked(file, wanted, buckets, engine)
                _check_writable(folder)
                return cls(folder, identity, resumed=True)
            if folder.is_dir() and any(entry.name != _PARTIAL for entry in folder.iterdir()):
                raise StateError(
                    f"{folder} is no checkpoint of Crestline: name an empty or a new folder"
                )
            identity = {
                "format": _FORMAT,
                "state_version": state.VERSION,
                "id": uuid.uuid4().hex,
                "queries": wanted,
                "buckets": buckets or new_buckets,
                "engine": engine,
            }
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder, identity)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return cls(folder, identity)

    def columns(self, names: list[str]) -> list[str]:
        """The columns that ``*`` means: those of the run's beginning, or these if it begins."""
        if names and "columns" not in self.identity:
            self.identity["columns"] = names
            try:
                _write(self.folder, self.identity)
            except OSError as error:
                raise _unwritable(self.folder, error) from error
        return [str(name) for name in self.identity.get("columns", ())]


def _write(folder: Path, identity: dict[str, Any]) -> None:
    """Write the identity, whole or not at all."""
    partial = folder / _PARTIAL
    partial.write_text(json.dumps(identity, indent=2))
    partial.replace(folder / IDENTITY)


def _unwritable(folder: Path, error: OSError) -> StateError:
    return StateError(
        f"cannot write the checkpoint {folder}: {error.strerror}: name a folder that this user may"
        " write to"
    )


def _check_writable(folder: Path) -> None:
    """Write to the folder and to those that Spark has made; OSError if that fails.

    Permissions do not decide everything, and Spark would fail later with a long message.
    """
    for each in (folder, *(entry for entry in folder.iterdir() if entry.is_dir())):
        TemporaryFile(dir=each).close()


def _checked(
    file: Path, wanted: dict[str, str], buckets: int | None, engine: str
) -> dict[str, Any]:
    folder = file.parent
    try:
        identity: dict[str, Any] = json.loads(file.read_text())
        versions = (identity["format"], identity["state_version"])
        queries, count = dict(identity["queries"]), int(identity["buckets"])
        str(identity["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(f"{file} is damaged: use another copy, or start again") from error
    if versions != (_FORMAT, state.VERSION):
        raise StateError(
            f"the checkpoint {folder} has state version {versions[1]}, this Crestline writes"
            f" version {state.VERSION}: resume it with the Crestline that wrote it, or start again"
            " in another folder"
        )
    if (theirs := identity.get("engine", "spark")) != engine:  # old ones are all of Spark
        raise StateError(
            f"the checkpoint {folder} was made with --engine {theirs}: add that, or name another"
            " folder"
        )
    if queries != wanted:
        texts = "\n\n".join(queries.values())
        raise StateError(
            f"the checkpoint {folder} belongs to another query: name another folder, or resume it"
            f" with\n{texts}"
        )
    if buckets is not None and buckets != count:
        raise StateError(
            f"the checkpoint {folder} was made with {count} buckets, not {buckets}: leave the"
            " number out, or name another folder"
        )
    return identity


def trigger_seconds(text: str) -> float | None:
    """The seconds between rounds that ``--trigger`` names; None: read what is there and stop.

    >>> trigger_seconds("5 seconds"), trigger_seconds("500 ms"), trigger_seconds("available-now")
    (5.0, 0.5, None)
    """
    plain = text.strip().lower()
    if plain in ("available-now", "available_now", "availablenow", "once"):
        return None
    parts = re.fullmatch(r"(\d+)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)", plain)
    if parts is None:
        raise PlanError(
            f"--trigger {text!r}: give a time between rounds, such as '5 seconds' or '500 ms', or"
            " available-now to take what is there and stop"
        )
    unit = 0.001 if parts[2].startswith(("ms", "milli")) else 1.0 if parts[2][0] == "s" else 60.0
    return int(parts[1]) * unit


__all__ = ["IDENTITY", "Checkpoint", "Round", "Sink", "trigger_seconds"]
