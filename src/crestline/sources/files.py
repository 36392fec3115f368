"""The files that a path means: a file, a folder, a glob or a list of them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from crestline.core.errors import SourceError
from crestline.sources import stores
from crestline.sources.copies import StreamPath
from crestline.sources.endings import FORMATS, ending_of

_KINDS = "parquet, csv or json lines file"


def encoding_of(paths: Iterable[object]) -> str | None:
    """The encoding that was named for these paths, if any."""
    named = [path.encoding for path in paths if isinstance(path, StreamPath)]
    return next((encoding for encoding in named if encoding is not None), None)


def find_files(path: str, stream: str) -> list[str]:
    """The files of a path, folder or glob, by name; hidden ones are left out.

    Those beyond this disk have names that ``crestline.sources.stores`` opens.
    """
    path = stores.local_path(path)
    if stores.is_remote(path):
        files = stores.find(path)
    elif os.path.isdir(path):
        files = [str(p) for p in Path(path).rglob("*") if p.is_file()]
        files = [file for file in files if ending_of(file) in FORMATS]
    elif os.path.exists(path):
        files = [path]
    else:
        files = [file for file in glob.glob(path, recursive=True) if os.path.isfile(file)]
    files = sorted(f for f in files if not os.path.basename(f).startswith((".", "_")))
    if not files:
        raise SourceError(f"stream {stream!r}: {_nothing_at(path)}")
    for file in files:
        if ending_of(file) not in FORMATS:
            raise SourceError(
                f"stream {stream!r}: cannot tell what {file} is: its name must end in one of"
                f" {', '.join(FORMATS)}"
            )
    return files


def _nothing_at(path: str) -> str:
    """Why no file was found, and what the path has instead."""
    if stores.is_remote(path):
        if os.path.basename(path).startswith((".", "_")):
            return f"{path} is hidden by its name: rename it so that it begins with a letter"
        return f"there is no {_KINDS} at {path}"
    if os.path.isdir(path):
        names = sorted(os.listdir(path))
        some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"the folder {path} holds no {_KINDS}: it {f'holds {some}' if names else 'is empty'}"
    if os.path.exists(path):
        return f"{path} is hidden by its name: rename it so that it begins with a letter"
    if glob.has_magic(path):
        return f"{path} matches no {_KINDS}"
    if re.match(r"[a-z][a-z0-9]+:/", path):
        return (
            f"there is no {path}: write an address as text, since a Path drops one of its slashes"
        )
    folder, name = os.path.split(path.rstrip(os.sep))
    if not os.path.isdir(folder or "."):
        return f"there is no file or folder {path}: there is no folder {folder}"
    close = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.75)
    advice = f": did you mean {os.path.join(folder, close[0])}?" if close else ""
    return f"there is no file or folder {path}{advice}"
