"""Text that DuckDB cannot read as it lies there, copied into a temporary folder.

DuckDB reads UTF-8, plain or compressed by gzip or zstd. Other encodings and compressions, a byte
order mark before json, and standard input are copied first, a piece at a time.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import weakref
import zlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.sources.base import unreadable

#: Endings of compressed files, with what they begin with.
COMPRESSIONS = {
    ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh", ".xz": b"\xfd7zXZ",
}  # fmt: skip
_BY_DUCKDB = (".gz", ".zst")
_BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, pa.ArrowException)
_PIECE, _START = 1 << 20, 1 << 16
NAME_ENCODING = "name its encoding, such as encoding='latin-1' (--encoding latin-1)"


class Scratch:
    """A folder that is removed as soon as nothing refers to this object."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="crestline-")
        weakref.finalize(self, shutil.rmtree, self.path, True)


@dataclass(frozen=True, slots=True)
class StreamPath(os.PathLike[str]):
    """A path with what else is known of it: how its text is encoded, what must not be removed."""

    path: str
    encoding: str | None = None
    keeps: object = None

    def __fspath__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Copies:
    """Files that DuckDB reads, and the folder of those that were copied."""

    files: list[str]
    scratch: Scratch | None


def compression(file: str) -> str:
    """The ending that tells how a file is compressed, or nothing."""
    return next((ending for ending in COMPRESSIONS if file.lower().endswith(ending)), "")


def readable(files: list[str], stream: str, encoding: str | None, *, marked: bool) -> Copies:
    """The files as DuckDB reads them; a byte order mark stays only in csv, which is ``marked``."""
    scratch: Scratch | None = None
    found = []
    for number, file in enumerate(files):
        try:
            with _opened(file) as given:
                start = given.read(_START)
            spelled = encoding
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                spelled = encoding or "utf-16"
            mark = not marked and start.startswith(codecs.BOM_UTF8)
            if spelled is None and marked:
                _check_header(start, file, stream)
            if spelled is None and not mark and compression(file) in ("", *_BY_DUCKDB):
                found.append(file)
                continue
            scratch = scratch or Scratch()
            # Folders that spell columns stay part of the path.
            folders = [part for part in file.split(os.sep)[:-1] if "=" in part]
            folder = os.path.join(scratch.path, str(number), *folders)
            os.makedirs(folder)
            name = os.path.basename(file[: len(file) - len(compression(file))])
            found.append(os.path.join(folder, name))
            _copy(file, found[-1], spelled)
        except UnicodeError as error:
            raise SourceError(f"stream {stream!r}: {file} is not {spelled} text: {error}") from None
        except _BROKEN as error:
            raise unreadable(stream, error, file) from None
    return Copies(found, scratch)


def _check_header(start: bytes, file: str, stream: str) -> None:
    """Raise SourceError if the columns of a csv file are not named in UTF-8: DuckDB would take the
    line for a bad record."""
    line, end, _ = start.partition(b"\n")
    try:
        (line if end else b"").decode()
    except UnicodeDecodeError:
        raise SourceError(f"stream {stream!r}: {file} is not UTF-8 text: {NAME_ENCODING}") from None


def _copy(file: str, target: str, encoding: str | None) -> None:
    with _opened(file) as given, open(target, "wb") as out:
        if encoding is None:
            start = given.read(3)
            out.write(start.removeprefix(codecs.BOM_UTF8))
            shutil.copyfileobj(given, out, _PIECE)
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        first = True
        while True:
            piece = given.read(_PIECE)
            text = decoder.decode(piece, final=not piece)
            if text and first:
                text, first = text.removeprefix("\ufeff"), False
            out.write(text.encode())
            if not piece:
                return


def _opened(file: str, ending: str | None = None) -> Any:
    """The bytes of a file, without the compression that its ending tells."""
    ending = compression(file) if ending is None else ending
    if ending == ".gz":
        return gzip.open(file)
    if ending == ".bz2":
        return bz2.open(file)
    if ending == ".xz":
        return lzma.open(file)
    return pa.input_stream(file, compression="zstd" if ending == ".zst" else None)


def checked_encoding(encoding: str) -> str:
    """The encoding, or SourceError if Python knows none of that name."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(b"", final=True)
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise SourceError(
            f"there is no encoding {encoding!r}: name one such as utf-8, latin-1, cp1252, utf-16"
        ) from None
    return encoding


# -- standard input -----------------------------------------------------------------------------


def standard_input(stream: str) -> StreamPath:
    """Standard input up to its end, in a file that is named by what it begins with."""
    given = getattr(sys.stdin, "buffer", None)
    if given is None:
        raise SourceError(f"stream {stream!r}: there is no standard input to read: give a path")
    scratch = Scratch()
    file = os.path.join(scratch.path, "stdin")
    with open(file, "wb") as out:
        shutil.copyfileobj(given, out, _PIECE)
    try:
        ending = _kind_of(file)
    except _BROKEN as error:
        raise unreadable(stream, error, "standard input") from None
    os.rename(file, file + ending)
    return StreamPath(file + ending, keeps=scratch)


def _kind_of(file: str) -> str:
    """The ending that a file of parquet, json lines, json or csv deserves by what is in it."""
    with _opened(file, "") as given:
        start = given.read(8)
    if start.startswith(b"PAR1"):
        return ".parquet"
    ending = next((e for e, mark in COMPRESSIONS.items() if start.startswith(mark)), "")
    with _opened(file, ending) as given:
        start = given.read(_START)
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        start = start.removeprefix(mark)
    start = start.replace(b"\0", b"").lstrip()  # every other byte of UTF-16
    kind = {b"{": ".jsonl", b"[": ".json"}.get(start[:1], ".csv")
    return kind + ending
