"""Refuse outputs that would replace inputs, before anything is opened.

Files are compared by identity, not by name: links, hard links and relative paths may lead to the
same file. A file that does not exist yet is refused if it would become part of the stream that it
is made from.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crestline.cli.errors import Misuse
from crestline.cli.output import files_of
from crestline.cli.parts import parts_of
from crestline.core.errors import SourceError

if TYPE_CHECKING:
    from crestline.cli.request import Request

#: An option, and a file that is read or written because of it.
Named = tuple[str, Path]


def check_run(
    request: Request, follow: bool, checkpoint: str | None, query_file: str | None
) -> None:
    """Raise Misuse if a run would replace a file that it reads, or add one to its streams."""
    for option, place in (
        ("--out", request.out),
        ("--rejects", request.rejects),
        ("--checkpoint", checkpoint),
    ):
        check_is_here(option, place)
    outputs: list[Named] = []
    for option, place, names in (
        ("--out", request.out, list(request.queries)),
        ("--rejects", request.rejects, ["rejects"]),
    ):
        if place is None:
            continue
        if follow:
            outputs += [(option, parts.file_of(0)) for parts in parts_of(place, names).values()]
        elif option == "--out":
            outputs += [(option, file) for file in files_of(place, names).values()]
        else:
            outputs.append((option, Path(place)))
    if checkpoint is not None:
        from crestline.runtime.rounds import IDENTITY

        note = Path(checkpoint, IDENTITY)
        for option, part in outputs:
            if is_read(str(part.parent), note):
                raise Misuse(
                    f"--checkpoint: {checkpoint} is in the folder of {option}, {part.parent}:"
                    " name a folder elsewhere"
                )
        outputs.append(("--checkpoint", note))
    reads = [] if query_file in (None, "-") else [("--query", Path(query_file or ""))]
    check_places(request.streams, outputs, reads)


def check_is_here(option: str, place: str | None) -> None:
    """Raise Misuse if an output is an address: only streams are read from beyond this disk."""
    from crestline.sources import stores

    if place is not None and (stores.is_remote(place) or place.lower().startswith("file://")):
        scheme = place.partition("://")[0]
        raise Misuse(
            f"{option} writes on this disk, not to {scheme}://: name a path, and copy it from there"
        )


def check_places(
    streams: Mapping[str, str], outputs: Sequence[Named], others: Sequence[Named] = ()
) -> None:
    """Raise Misuse if an output is also an input, or if two outputs are one file.

    Inputs are the files of the streams, now or once the output exists, and ``others``.
    """
    for number, (option, file) in enumerate(outputs):
        for stream, path in streams.items():
            if is_read(path, file):
                part = "is" if file.exists() else "would become"
                raise Misuse(
                    f"{option}: {file} {part} part of the stream {stream!r} ({path}): name a file"
                    " elsewhere"
                )
        for other, read in others:
            if _identity(file) == _identity(read):
                raise Misuse(f"{option}: {file} is what {other} reads: name another file")
        for other, second in outputs[number + 1 :]:
            if option != other and _identity(file) == _identity(second):
                raise Misuse(
                    f"{option} and {other} need two files: {file} and {second} are the same"
                )


def is_read(path: str, file: Path) -> bool:
    """Tell whether a run over a file, folder or glob reads the file, or would if it existed.

    >>> is_read("day/*.csv", Path("day/top.csv")), is_read("day/*.csv", Path("day/top.jsonl"))
    (True, False)
    """
    from crestline.sources import stores

    path = stores.local_path(path)
    if stores.is_remote(path):
        return False
    if file.exists():
        return any(_identity(file) == _identity(each) for each in [path, *_files_of(path)])
    name = Path(os.path.realpath(file))
    if name.name.startswith((".", "_")):  # sources leave out such files
        return False
    if os.path.exists(path):
        return os.path.isdir(path) and _identity(path) in map(_identity, name.parents)
    # A glob, or a folder that does not exist yet. Folders before the first wildcard may be links.
    parts = Path(path).parts
    plain = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    start = Path(os.path.realpath(os.path.join(".", *parts[:plain]))).parts
    return stores.matches((*start, *(parts[plain:] or ["**"])), name.parts)


def _files_of(path: str) -> list[str]:
    from crestline.sources import find_files

    try:
        return find_files(path, "")
    except SourceError:  # nothing exists yet, or it will be refused later
        return []


def _identity(path: str | Path) -> tuple[object, ...]:
    """Return the same value for all names of one file, whether it exists or not."""
    try:
        status = os.stat(path)
    except OSError:
        folder, name = os.path.split(os.path.realpath(path))
        return (*_identity(folder), name) if name else (folder,)
    return status.st_dev, status.st_ino


__all__ = ["check_is_here", "check_places", "check_run", "is_read"]
