"""The files of a following run: a folder of parts, each named after its round.

A part is complete or not there at all. A round that is repeated after a crash writes its rows under
the same name, so the folder holds each row once. A note in the folder says which run it belongs to:
the parts of two runs would have the same names and replace each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from crestline.cli.errors import Misuse
from crestline.cli.output import PLACEHOLDER, check_file_name, check_query_name, write_table
from crestline.cli.output import write_whole as write_note
from crestline.core.errors import StateError

if TYPE_CHECKING:
    import pyarrow as pa

NOTE = "_crestline.json"
_DEFAULT_ENDING = ".parquet"


class Parts:
    """The parts of one query in one folder; ``claim`` it for a run before the first ``write``."""

    def __init__(self, folder: Path, ending: str) -> None:
        self.folder, self._ending = folder, ending
        if folder.exists() and not folder.is_dir():
            raise Misuse(
                f"{folder} is a file: a run that follows a stream writes a folder of parts, so give"
                " it another name"
            )
        self._fresh = True

    def claim(self, run: str, checkpoint: Path | None) -> None:
        """Reserve the folder for the run with this id; raise StateError if it holds other files."""
        note = self.folder / NOTE
        if note.exists():
            self._check_owner(note, run)
            for abandoned in self.folder.glob(".part-*.partial-*"):  # by a process that was killed
                abandoned.unlink(missing_ok=True)
            return
        unfinished = f".{NOTE}.partial-"  # by a process that was killed
        if self.folder.is_dir() and any(
            not e.name.startswith(unfinished) for e in self.folder.iterdir()
        ):
            raise StateError(
                f"the folder {self.folder} holds other files: name an empty or a new folder"
            )
        content = {"run": run, "checkpoint": str(checkpoint.absolute()) if checkpoint else None}
        write_note(note, json.dumps(content, indent=2).encode() + b"\n")

    def _check_owner(self, note: Path, run: str) -> None:
        try:
            content = json.loads(note.read_text())
            owner, checkpoint = content["run"], content["checkpoint"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(f"{note} is damaged: name an empty or a new folder") from error
        if owner == run:
            return
        go_on = f", go on with that run (--checkpoint {checkpoint})" if checkpoint else ""
        raise StateError(
            f"the folder {self.folder} holds the results of another run: name an empty or a new"
            f" folder{go_on}, or remove it"
        )

    def write(self, round_number: int, table: pa.Table) -> None:
        """Write the rows of a round; a round without rows leaves no part."""
        if self._fresh:
            self._forget_after(round_number)
            self._fresh = False
        if table.num_rows:
            write_table(self.file_of(round_number), table, f"{self.folder}/")
        else:  # a round that is repeated in this process may have read further
            self.file_of(round_number).unlink(missing_ok=True)

    def file_of(self, round_number: int) -> Path:
        return self.folder / f"part-{round_number:08}{self._ending}"

    def _forget_after(self, round_number: int) -> None:
        """Remove parts of later rounds, which an older checkpoint will write again."""
        for part in self.folder.glob(f"part-*{self._ending}"):
            number = part.name.removeprefix("part-").removesuffix(self._ending)
            if number.isdecimal() and int(number) > round_number:
                part.unlink()


def parts_of(out: str, queries: Iterable[str]) -> dict[str, Parts]:
    """Return the folder of each query: ``out`` itself, one by ``{query}``, or one inside it.

    >>> {name: str(parts.folder) for name, parts in parts_of("top.csv", ["a", "b"]).items()}
    {'a': 'top.csv/a', 'b': 'top.csv/b'}
    """
    names = list(queries)
    ending = Path(out).suffix.lower() or _DEFAULT_ENDING
    if Path(out).suffix:
        check_file_name(Path(out))
    if PLACEHOLDER not in out and len(names) == 1:
        return {names[0]: Parts(Path(out), ending)}
    for name in names:
        check_query_name(name)
    each = out if PLACEHOLDER in out else f"{out}/{PLACEHOLDER}"
    return {name: Parts(Path(each.replace(PLACEHOLDER, name)), ending) for name in names}


__all__ = ["Parts", "parts_of"]
