"""The files of a followed run's checkpoint: which files each round took, and the state after it.

``rounds.jsonl`` begins with the layout of the stream. A line with the files of a round is written
before the round runs, and a line that it is done after its results were written. A round that was
interrupted is therefore repeated with the same files, from the state before it.

The state of a bucket after a round is a file of its own, written by whoever ran the step: the
driver, or a task. The last two are kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crestline.core.errors import StateError
from crestline.spark.parcels import Parcels

_ROUNDS, _STATE = "rounds.jsonl", "state"
#: The files of a round, by input.
Files = dict[str, list[str]]


@dataclass
class History:
    """What a followed run has read so far."""

    folder: Path
    #: The layout of the stream, as plain values; None before the first round.
    layout: dict[str, Any] | None = None
    #: The number of the next round.
    round: int = 0
    #: The files of that round, if it was begun.
    begun: Files | None = None
    #: The files of all rounds before, by input.
    taken: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> History:
        """The history in a checkpoint, which may be empty."""
        history = cls(folder)
        path = folder / _ROUNDS
        if not path.exists():
            return history
        complete = 0
        with path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break  # the run was killed while it wrote this line
                complete += len(line)
                try:
                    history._read(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise StateError(
                        f"{path} is damaged: use another copy, or start with a new checkpoint"
                    ) from error
        os.truncate(path, complete)
        return history

    def _read(self, line: dict[str, Any]) -> None:
        if "layout" in line:
            self.layout = line["layout"]
        elif "files" in line:
            self.round, self.begun = int(line["round"]), dict(line["files"])
        else:
            self._finish(int(line["done"]))

    def begin(self, files: Files, layout: dict[str, Any]) -> None:
        """Note the files of the next round, unless it was begun before."""
        if self.layout is None:
            self.layout = layout
            self._append({"layout": layout})
        if self.begun is None:
            self.begun = files
            self._append({"round": self.round, "files": files})

    def done(self) -> None:
        """Note that the round is over: its results were written."""
        self._append({"done": self.round})
        self._finish(self.round)

    def _finish(self, number: int) -> None:
        for name, files in (self.begun or {}).items():
            self.taken.setdefault(name, set()).update(files)
        self.round, self.begun = number + 1, None

    def _append(self, line: dict[str, Any]) -> None:
        try:
            with (self.folder / _ROUNDS).open("ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(self.folder, error) from error

    @property
    def states(self) -> States:
        return States(str(self.folder.absolute() / _STATE))


@dataclass(frozen=True, slots=True)
class States:
    """The states of buckets, in a folder that the driver and all workers reach."""

    folder: str

    @property
    def parcels(self) -> Parcels:
        """Where large payloads of the running round go."""
        return Parcels(str(Path(self.folder).with_name("parcels")))

    def read(self, bucket: int, number: int) -> bytes | None:
        """The state of a bucket before a round; None before the first record."""
        if number == 0:
            return None
        path = self._path(bucket, number - 1)
        try:
            return path.read_bytes() or None
        except FileNotFoundError:
            raise StateError(
                f"the checkpoint lacks the file {path}: it is damaged, or this machine does not"
                " reach its folder. All workers need it: name one on a disk that they share"
            ) from None

    def size(self, bucket: int, number: int) -> int:
        """The bytes of the state of a bucket before a round, as far as it is there."""
        try:
            return self._path(bucket, number - 1).stat().st_size
        except FileNotFoundError:
            return 0

    def write(self, bucket: int, number: int, state: bytes) -> None:
        """Write the state of a bucket after a round, whole or not at all."""
        path = self._path(bucket, number)
        # Tasks that are tried twice at the same time write the same bytes.
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(partial, "wb") as file:
                file.write(state)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
            for old in self._before(path.parent, number - 1):
                old.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(Path(self.folder).parent, error) from error

    def carry(self, buckets: int, number: int) -> None:
        """Keep the states of all buckets through a round without records."""
        for bucket in range(buckets):
            self.write(bucket, number, self.read(bucket, number) or b"")

    def _path(self, bucket: int, number: int) -> Path:
        return Path(self.folder, f"bucket-{bucket:05}", f"{number:09}.bin")

    @staticmethod
    def _before(folder: Path, number: int) -> Iterator[Path]:
        for path in folder.iterdir():
            if path.suffix == ".partial" or int(path.stem) < number:
                yield path


def unwritable(folder: Path, error: OSError) -> StateError:
    return StateError(f"cannot write the checkpoint {folder}: {error.strerror}")


__all__ = ["Files", "History", "States"]
