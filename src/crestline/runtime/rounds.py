"""Rounds of a run that follows a stream, and the checkpoint that remembers them.

What both engines have in common: a round's results are handed to a sink under a number. A round
that was not remembered is repeated under the same number, so a sink that writes them under it (see
``crestline.cli.parts``) neither loses nor repeats anything.
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
    def at(
        cls, folder: Path, queries: dict[str, Query], buckets: int | None = None, *,
        engine: str = "local", new_buckets: int = 1,
    ) -> Checkpoint:  # fmt: skip
        """The checkpoint in the folder, made if there is none; StateError if it is another's, or if
        nothing can be written there. ``buckets`` must be those it has, ``new_buckets`` is how many
        a new one gets where they are not given."""
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


def _checked(
    file: Path, wanted: dict[str, str], buckets: int | None, engine: str
) -> dict[str, Any]:
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
    if (theirs := identity.get("engine", "spark")) != engine:  # once there was Spark only
        raise StateError(
            f"the checkpoint {folder} was made with --engine {theirs}: add that, or name another"
            " folder"
        )
    if known != wanted:
        texts = "\n\n".join(known.values())
        raise StateError(
            f"the checkpoint {folder} belongs to another query: name another folder, or resume it"
            f" with\n{texts}"
        )
    if buckets is not None and buckets != spread:
        raise StateError(
            f"the checkpoint {folder} was made with {spread} buckets, not {buckets}: leave the"
            " number out, or name another folder"
        )
    return identity


def trigger_seconds(text: str) -> float | None:
    """The time between rounds that ``--trigger`` asks for; None: take what is there and stop.

    >>> trigger_seconds("5 seconds"), trigger_seconds("500 ms"), trigger_seconds("available-now")
    (5.0, 0.5, None)
    """
    plain = text.strip().lower()
    if plain in ("available-now", "available_now", "availablenow", "once"):
        return None
    found = re.fullmatch(r"(\d+)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)", plain)
    if found is None:
        raise PlanError(
            f"--trigger {text!r}: give a time between rounds, such as '5 seconds' or '500 ms', or"
            " available-now to take what is there and stop"
        )
    unit = 0.001 if found[2].startswith(("ms", "milli")) else 1.0 if found[2][0] == "s" else 60.0
    return int(found[1]) * unit


__all__ = ["IDENTITY", "Checkpoint", "Round", "Sink", "trigger_seconds"]
