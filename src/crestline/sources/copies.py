"""Copies of text that DuckDB cannot read in place, in a temporary folder.

DuckDB reads UTF-8, plain or compressed by gzip or zstd. Files of other encodings and compressions,
json after a byte order mark, files beyond this disk and standard input are copied first, a piece at
a time.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import shutil
import sys
import zlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.sources import stores
from crestline.sources.base import unreadable
from crestline.sources.endings import COMPRESSIONS, compression
from crestline.sources.scratch import Scratch

_BY_DUCKDB = (".gz", ".zst")
_BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, pa.ArrowException)
_PIECE, _START = 1 << 20, 1 << 16
NAME_ENCODING = "name its encoding, such as encoding='latin-1' (--encoding latin-1)"


@dataclass(frozen=True, slots=True)
class StreamPath(os.PathLike[str]):
    """A path with its encoding, and an object that must live as long as the path is used."""

    path: str
    encoding: str | None = None
    keeps: object = None

    def __fspath__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Copies:
    """Files that DuckDB can read, and the folder of those that were copied."""

    files: list[str]
    scratch: Scratch | None


def fetched(files: list[str], stream: str) -> Copies:
    """The files, or copies of those that are beyond this disk."""
    if not any(map(stores.is_remote, files)):
        return Copies(files, None)
    scratch = Scratch()
    targets = {
        file: _target(scratch, f"fetched-{number}", file) if stores.is_remote(file) else file
        for number, file in enumerate(files)
    }

    def fetch(file: str) -> str:
        if stores.is_remote(file):
            stores.fetch(file, targets[file])
        return targets[file]

    try:
        return Copies(stores.together(fetch, files), scratch)
    except OSError as error:  # of this disk
        raise SourceError(f"stream {stream!r} cannot be copied: {error}") from None


def _target(scratch: Scratch, folder: str, file: str) -> str:
    """Where a copy goes. Folders that name columns and values stay part of the path."""
    folders = [part for part in file.split(os.sep)[:-1] if "=" in part]
    path = os.path.join(scratch.path, folder, *folders)
    os.makedirs(path)
    return os.path.join(path, os.path.basename(file))


def readable(files: list[str], stream: str, encoding: str | None, *, marked: bool) -> Copies:
    """The files, or copies that DuckDB reads. Only ``marked`` ones may have a byte order mark."""
    here = fetched(files, stream)
    scratch = here.scratch
    copies = []
    for number, (name, file) in enumerate(zip(files, here.files, strict=True)):
        try:
            with _opened(file) as opened:
                start = opened.read(_START)
            spelled = encoding
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                spelled = encoding or "utf-16"
            mark = not marked and start.startswith(codecs.BOM_UTF8)
            if spelled is None and marked:
                _check_header(start, name, stream)
            if spelled is None and not mark and compression(file) in ("", *_BY_DUCKDB):
                copies.append(file)
                continue
            scratch = scratch or Scratch()
            plain = name[: len(name) - len(compression(name))]
            copies.append(_target(scratch, str(number), plain))
            _copy(file, copies[-1], spelled)
        except UnicodeError as error:
            raise SourceError(f"stream {stream!r}: {name} is not {spelled} text: {error}") from None
        except _BROKEN as error:
            raise unreadable(stream, error, name) from None
    return Copies(copies, scratch)


def _check_header(start: bytes, file: str, stream: str) -> None:
    """Raise SourceError if the header of a csv file is not UTF-8: DuckDB would take that line for a
    bad record."""
    line, end, _ = start.partition(b"\n")
    try:
        (line if end else b"").decode()
    except UnicodeDecodeError:
        raise SourceError(f"stream {stream!r}: {file} is not UTF-8 text: {NAME_ENCODING}") from None


def _copy(file: str, target: str, encoding: str | None) -> None:
    with _opened(file) as opened, open(target, "wb") as out:
        if encoding is None:
            start = opened.read(3)
            out.write(start.removeprefix(codecs.BOM_UTF8))
            shutil.copyfileobj(opened, out, _PIECE)
            return
        decoder = codecs.getincrementaldecoder(encoding)()
        first = True
        while True:
            piece = opened.read(_PIECE)
            text = decoder.decode(piece, final=not piece)
            if text and first:
                text, first = text.removeprefix("\ufeff"), False
            out.write(text.encode())
            if not piece:
                return


def _opened(file: str, ending: str | None = None) -> Any:
    """The bytes of a file, decompressed as its ending says."""
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
    """All of standard input, copied to a file. Its first bytes decide the ending of the file."""
    bytes_in = getattr(sys.stdin, "buffer", None)
    if bytes_in is None:
        raise SourceError(f"stream {stream!r}: there is no standard input to read: give a path")
    scratch = Scratch()
    file = os.path.join(scratch.path, "stdin")
    with open(file, "wb") as out:
        shutil.copyfileobj(bytes_in, out, _PIECE)
    try:
        ending = _ending_for(file)
    except _BROKEN as error:
        raise unreadable(stream, error, "standard input") from None
    os.rename(file, file + ending)
    return StreamPath(file + ending, keeps=scratch)


def _ending_for(file: str) -> str:
    """The ending for a file of parquet, json lines, json or csv, by its first bytes."""
    with _opened(file, "") as opened:
        start = opened.read(8)
    if start.startswith(b"PAR1"):
        return ".parquet"
    ending = next((e for e, mark in COMPRESSIONS.items() if start.startswith(mark)), "")
    with _opened(file, ending) as opened:
        start = opened.read(_START)
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        start = start.removeprefix(mark)
    start = start.replace(b"\0", b"").lstrip()  # every other byte of UTF-16
    return {b"{": ".jsonl", b"[": ".json"}.get(start[:1], ".csv") + ending
