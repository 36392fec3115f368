"""Files beyond this disk: object stores, HDFS and web addresses.

A file is named by a plain text, such as ``s3://bucket/day=1/part.parquet``. Any process can open
it: file systems are made here, once per process, and never passed around. Keys are taken as they
are written, as the tools of the stores do: ``%20`` is three characters. Functions take names of
local files too, unless they say otherwise.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from crestline.core.errors import UnreachableError
from crestline.sources.endings import FORMATS, ending_of

if TYPE_CHECKING:
    from pyarrow.fs import FileType

    from crestline.sources.reaching import Files

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)/?(.*)", re.DOTALL)
#: Requests that wait for a store at the same time.
_AT_ONCE = 16
_PIECE = 1 << 20
#: Seconds in which a store must have answered for the first time.
_PATIENCE = 20
_T = TypeVar("_T")


class Status(NamedTuple):
    """The size of a file in bytes, and when it was last changed, in seconds since 1970."""

    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class _Place:
    """A file or folder of a store: ``address + key``, which the store itself calls ``inside``."""

    files: Files
    address: str
    root: str
    key: str

    @property
    def inside(self) -> str:
        return (self.root + self.key).rstrip("/") or "/"

    def name_of(self, inside: str) -> str:
        """The name of a file by which any process can open it."""
        return self.address + inside.removeprefix(self.root)


# -- names ----------------------------------------------------------------------------------------


def is_remote(name: str) -> bool:
    """Whether a path is the address of something that is not on this disk.

    >>> is_remote("s3://bucket/day.csv"), is_remote("day.csv"), is_remote("file:///tmp/day.csv")
    (True, False, False)
    """
    address = _ADDRESS.match(name)
    return address is not None and address[1].lower() != "file"


def local_path(name: str) -> str:
    """The path of a ``file://`` address; any other path as it is.

    >>> local_path("file:///tmp/a%20day.csv"), local_path("day.csv")
    ('/tmp/a day.csv', 'day.csv')
    """
    address = _ADDRESS.match(name)
    if address is None or address[1].lower() != "file":
        return name
    if address[2] not in ("", "localhost"):
        raise UnreachableError(f"{name} is on another machine: write file:///path for a local file")
    return "/" + unquote(address[3])


def absolute(name: str) -> str:
    """The path, independent of the working directory."""
    return name if is_remote(name) else os.path.abspath(local_path(name))


def matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a glob matches a path, part by part, as the module ``glob`` does it.

    ``**`` is any number of folders. Wildcards leave out names that begin with a dot.

    >>> matches(["**", "*.csv"], ["day", "a.csv"]), matches(["*", "a.csv"], [".tmp", "a.csv"])
    (True, False)
    """
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    hidden = parts[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**":
        return matches(pattern[1:], parts) or (not hidden and matches(pattern, parts[1:]))
    return not hidden and fnmatchcase(parts[0], pattern[0]) and matches(pattern[1:], parts[1:])


# -- files ----------------------------------------------------------------------------------------


def find(path: str) -> list[str]:
    """The files of a remote file, folder or glob. Of a folder, those of a format that is read."""
    from pyarrow.fs import FileType

    with _asking(path):
        place, kind = _promptly(lambda: _first_look(path))
        if kind == FileType.File:
            return [path]
        files: list[str] = []
        if glob.has_magic(place.key):
            files = list(_matching(place))
        elif kind == FileType.Directory:
            below = _below(place.files, place.inside, recursive=True)
            files = [file for file in below if ending_of(file) in FORMATS]
        bucket = place.root.strip("/")
        if files or not bucket or place.files.get_file_info(bucket).type != FileType.NotFound:
            return [place.name_of(file) for file in files]
    raise UnreachableError(f"{path} cannot be reached: there is no bucket {bucket}: check its name")


def _first_look(path: str) -> tuple[_Place, FileType]:
    place = _place(path)
    return place, place.files.get_file_info(place.inside).type


def _promptly(task: Callable[[], _T]) -> _T:
    """The result of a request, or TimeoutError: some libraries wait for minutes."""
    outcome: Future[_T] = Future()

    def attempt() -> None:
        try:
            outcome.set_result(task())
        except Exception as error:
            outcome.set_exception(error)

    Thread(target=attempt, daemon=True).start()
    try:
        return outcome.result(_PATIENCE)
    except TimeoutError:
        if outcome.done():  # the library itself gave up
            raise
        raise TimeoutError(f"nothing came within {_PATIENCE} seconds") from None


def _below(files: Files, folder: str, *, recursive: bool) -> list[str]:
    from pyarrow.fs import FileSelector

    selector = FileSelector(folder, recursive=recursive, allow_not_found=True)
    return [each.path for each in files.get_file_info(selector) if each.is_file]


def _matching(place: _Place) -> Iterator[str]:
    """The files that match a glob, found below the folders before its first wildcard."""
    parts = place.key.split("/")
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    start = (place.root + "/".join(parts[:plain])).rstrip("/") or "/"
    for file in _below(place.files, start, recursive=len(parts) - plain > 1):
        if matches(parts[plain:], file.removeprefix(start).lstrip("/").split("/")):
            yield file


def status(name: str) -> Status:
    """The size and the time of a file."""
    if not is_remote(name):
        local = os.stat(name)
        return Status(local.st_size, local.st_mtime)
    with _asking(name):
        place = _place(name)
        found = place.files.get_file_info(place.inside)
        if not found.is_file:
            raise FileNotFoundError(name)
    # A web server may tell neither.
    return Status(-1 if found.size is None else found.size, (found.mtime_ns or 0) / 1e9)


def size(name: str) -> int:
    """The bytes of a file; -1 if a web server does not tell."""
    return status(name).size


def open_file(name: str) -> pa.NativeFile:
    """The bytes of a file, at any position. One thread may read it."""
    if not is_remote(name):
        return pa.OSFile(name)
    with _asking(name):
        place = _place(name)
        return place.files.open_input_file(place.inside)


def fetch(name: str, target: str) -> None:
    """Copy a remote file to this disk, a piece at a time."""
    with _asking(name):
        place = _place(name)
        opened = place.files.open_input_stream(place.inside, compression=None)
    with opened, open(target, "wb") as out:
        while True:
            with _asking(name):
                piece = opened.read(_PIECE)
            if not piece:
                return
            out.write(piece)


def together(task: Callable[[str], _T], names: Iterable[str]) -> list[_T]:
    """The results of a task for each file. Stores are asked for several files at once."""
    names = list(names)
    if len(names) < 2 or not any(map(is_remote, names)):
        return [task(name) for name in names]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(task, names))


# -- stores ---------------------------------------------------------------------------------------


def _place(name: str) -> _Place:
    address = _ADDRESS.match(name)
    assert address is not None, "only remote names have a place"
    from crestline.sources.reaching import check_address, settings

    check_address(*address.groups())
    files, root = _store(address[1].lower(), address[2], settings())
    return _Place(files, f"{address[1]}://{address[2]}/", root, address[3])


@lru_cache(maxsize=64)
def _store(scheme: str, authority: str, settings: object) -> tuple[Files, str]:
    """The file system of an address, and how its names of files begin. A process makes it once, and
    again when the settings in its environment change."""
    from crestline.sources.reaching import connect

    return connect(scheme, authority)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what a store raises while its file is read into UnreachableError. Files on this disk,
    and content that makes no sense, raise what they raise."""
    try:
        yield
    except pa.ArrowInvalid:
        raise
    except _failures() as error:
        if not is_remote(name):
            raise
        raise _unreachable(name, error) from error


@contextmanager
def _asking(name: str) -> Iterator[None]:
    """Turn whatever a store or its library raises into UnreachableError."""
    try:
        yield
    except _failures() as error:
        raise _unreachable(name, error) from error


def _failures() -> tuple[type[Exception], ...]:
    web = sys.modules.get("aiohttp")
    return (OSError, pa.ArrowException, *(() if web is None else (web.ClientError,)))


def _unreachable(name: str, error: Exception) -> UnreachableError:
    from crestline.sources.reaching import sentence

    return UnreachableError(sentence(name, error))
