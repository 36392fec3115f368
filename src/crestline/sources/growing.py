"""Files that grow: the new records since the last portion.

A single text file is followed as ``tail -f`` does: a line is read once it has its line end. In a
folder or a glob each file is read once, when it is first seen. Files beyond this disk do not grow.

DuckDB infers types from each portion, and a portion may be a single line. So a column of text stays
text (``007`` is an id, not a number), a record is rejected if a value does not fit the type of the
portions before, and numbers widen from portion to portion as they do between files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from crestline.core.errors import SourceError, UnreachableError
from crestline.core.tables import REJECTS
from crestline.runtime.sql import connect, quoted_names, quoted_text
from crestline.sources import stores
from crestline.sources.base import BATCH_ROWS, Source, holding, unreadable
from crestline.sources.copies import fetched
from crestline.sources.endings import CSV, LINES
from crestline.sources.files import find_files
from crestline.sources.opening import source
from crestline.sources.text import csv_dialect, csv_rejects, duckdb_struct

#: Bytes of a portion, at most, unless a single line is longer.
_PORTION = 1 << 25
#: Bytes after which lines behind an open quote are read nevertheless.
_PATIENCE = 1 << 20
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "FLOAT", "DOUBLE")


class Growing(Protocol):
    """A stream that grows."""

    def more(self) -> Source | None:
        """The next records, if there are any."""

    def position(self) -> dict[str, Any]:
        """How far the stream was read, as plain JSON values for ``growing``."""

    def left(self) -> str | None:
        """A sentence on data that cannot be read yet."""


def growing(
    path: str, stream: str, scratch: Path, position: dict[str, Any] | None = None
) -> Growing:
    """The stream of a path. ``scratch`` is a folder for portions, ``position`` where to go on."""
    path = stores.local_path(path)
    if grows_by_lines(path):
        return _GrowingFile(path, stream, scratch / "portion", position)
    return _GrowingFolder(path, stream, position)


def grows_by_lines(path: str) -> bool:
    """Whether a path names one file, to which lines may be appended.

    >>> grows_by_lines("new.jsonl"), grows_by_lines("new.csv.gz"), grows_by_lines("folder/*.csv")
    (True, False, False)
    """
    path = stores.local_path(path)
    if os.path.splitext(path)[1].lower() not in LINES or stores.is_remote(path):
        return False
    return os.path.isfile(path) or not (os.path.exists(path) or glob.has_magic(path))


class _GrowingFile:
    """One text file; complete lines as they are appended."""

    def __init__(
        self, path: str, stream: str, portion: Path, position: dict[str, Any] | None
    ) -> None:
        self._path, self._stream, self._portion = path, stream, portion
        self._csv = path.lower().endswith(CSV)
        position = position or {"offset": 0, "file": None, "rows": 0, "texts": None}
        self._offset: int = position["offset"]
        self._file: list[int] | None = position["file"]
        self._rows: int = position["rows"]
        self._texts = _Texts(stream, self._csv, position["texts"])
        self._held = 0

    def position(self) -> dict[str, Any]:
        return {
            "offset": self._offset, "file": self._file, "rows": self._rows,
            "texts": self._texts.state(),
        }  # fmt: skip

    def left(self) -> str | None:
        if not self._held:
            return None
        return (
            f"the end of {self._path} was not read ({self._held:,} bytes): it has no line end yet"
        )

    def more(self) -> Source | None:
        lines = self._lines()
        if not lines:
            return None
        self._portion.write_bytes(self._texts.header + lines)
        opened = self._texts.open(str(self._portion), self._path, self._rows)
        if not self._offset:
            self._rows -= self._texts.keep_header(lines)
        self._rows += lines.count(b"\n")
        self._offset += len(lines)
        return opened

    def _lines(self) -> bytes:
        """The complete lines that were not read yet. Csv begins with a header and a record."""
        try:
            with open(self._path, "rb") as file:
                self._check(os.fstat(file.fileno()))
                file.seek(self._offset)
                text = file.read(_PORTION)
                while text and b"\n" not in text and (more := file.read(_PORTION)):
                    text += more
        except OSError as error:
            raise SourceError(
                f"stream {self._stream!r}: cannot go on reading {self._path}: {error.strerror}"
            ) from error
        end = text.rfind(b"\n") + 1
        if self._csv:
            end = _outside_quotes(text, end)
            if not self._offset and text.count(b"\n", 0, end) < 2:
                end = 0
        self._held = len(text) - end
        return text[:end]

    def _check(self, status: os.stat_result) -> None:
        """Raise SourceError unless this is the same file, with lines appended or not."""
        identity = [status.st_dev, status.st_ino]
        if self._file is None:
            self._file = identity
        problem = "was replaced by another file" if identity != self._file else "has shrunk"
        if identity != self._file or status.st_size < self._offset:
            raise SourceError(
                f"stream {self._stream!r}: {self._path} {problem} while it was followed: only"
                " appended lines can be followed; start a new run"
            )


def _outside_quotes(text: bytes, end: int) -> int:
    """The position after the last line end up to ``end`` that is not inside quotes.

    >>> _outside_quotes(b'a,1\\n"b\\nc', 7), _outside_quotes(b'a,1\\n"b\\nc",2\\n', 13)
    (4, 13)
    """
    last = end
    while end and text.count(b'"', 0, end) % 2:
        end = text.rfind(b"\n", 0, end - 1) + 1
    return last if last - end > _PATIENCE else end


class _GrowingFolder:
    """The files of a folder or a glob, or one that cannot grow; each is read once."""

    def __init__(self, path: str, stream: str, position: dict[str, Any] | None) -> None:
        self._path, self._stream = path, stream
        position = position or {"taken": [], "texts": None}
        self._taken: dict[str, None] = dict.fromkeys(position["taken"])
        self._waiting: list[str] = []
        self._texts: dict[bool, _Texts] = {}
        for csv, texts in (position["texts"] or {}).items():
            self._texts[csv == "csv"] = _Texts(stream, csv == "csv", texts)

    def position(self) -> dict[str, Any]:
        texts = {"csv" if csv else "json": texts.state() for csv, texts in self._texts.items()}
        return {"taken": list(self._taken), "texts": texts}

    def left(self) -> str | None:
        return None

    def more(self) -> Source | None:
        if not self._waiting:
            self._waiting = new_files(self._path, self._stream, self._taken)
        while self._waiting:
            file = self._waiting.pop(0)
            self._taken[file] = None
            ending = os.path.splitext(file.removesuffix(".gz"))[1].lower()
            if ending not in LINES:
                return source(file, self._stream)
            csv = ending in CSV
            texts = self._texts.setdefault(csv, _Texts(self._stream, csv, None))
            copies = fetched([file], self._stream)
            return holding(texts.open(copies.files[0], file, 0), copies)
        return None


def new_files(path: str, stream: str, taken: Collection[str]) -> list[str]:
    """The files of a path that were not taken yet and are not empty, oldest first."""
    try:
        files = find_files(path, stream)
    except UnreachableError:
        raise
    except SourceError:  # all files were removed
        return []
    files = [file for file in files if file not in taken]
    status = dict(zip(files, stores.together(stores.status, files), strict=True))
    return sorted(
        (file for file in files if status[file].size),
        key=lambda file: (status[file].modified, file),
    )


class _Texts:
    """How the text of a stream is read: the dialect of csv, and the types inferred so far."""

    def __init__(self, stream: str, csv: bool, state: dict[str, Any] | None) -> None:
        self._stream, self._csv = stream, csv
        state = state or {"dialect": "", "types": {}, "header": ""}
        self._dialect: str = state["dialect"]
        self._types: dict[str, str] = dict(state["types"])
        #: The lines up to the names of columns. Every portion begins with them.
        self.header: bytes = state["header"].encode("latin-1")
        self._header_lines = 0

    def state(self) -> dict[str, Any]:
        return {
            "dialect": self._dialect, "types": self._types,
            "header": self.header.decode("latin-1"),
        }  # fmt: skip

    def keep_header(self, first: bytes) -> int:
        """Keep the header of the first portion; return how many lines it has."""
        self.header = b"".join(first.splitlines(keepends=True)[: self._header_lines])
        return self._header_lines

    def open(self, file: str, name: str, rows_before: int) -> Source:
        """The records of a file, in the types inferred before where they fit."""
        connection = connect()
        try:
            scan = self._scan(connection, file)
            schema = connection.sql(f"SELECT * FROM {scan} LIMIT 0").to_arrow_table().schema
        except duckdb.Error as error:
            raise unreadable(self._stream, error, name) from None

        def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
            try:
                rows = connection.sql(f"SELECT {quoted_names(columns)} FROM {scan}")
                yield from rows.to_arrow_reader(BATCH_ROWS)
            except (duckdb.Error, OSError, pa.ArrowException) as error:
                raise unreadable(self._stream, error, name) from None

        def rejects() -> pa.Table:
            if not self._csv:
                return REJECTS.empty_table()
            rejected = csv_rejects(connection, self._stream)
            rows = pa.array([row + rows_before for row in rejected["row"].to_pylist()], pa.int64())
            index = REJECTS.get_field_index("row")
            return rejected.set_column(index, REJECTS.field(index), rows)

        return Source(schema=schema, typed=False, read=read, rejects=rejects)

    def _scan(self, connection: duckdb.DuckDBPyConnection, file: str) -> str:
        """The table function that reads the file; the first call sniffs the dialect."""
        name = quoted_text(file)
        if not self._csv:
            lines = f"{name}, format = 'newline_delimited', ignore_errors = true"
            self._learn(connection, f"read_json({lines})")
            return f"read_json({lines}, columns = {duckdb_struct(self._types)})"
        if not self._dialect:
            sniffed = connection.sql(f"SELECT * FROM sniff_csv({name}, store_rejects = true)")
            properties = sniffed.to_arrow_table().to_pylist()[0]
            self._dialect = csv_dialect(properties)
            self._header_lines = properties["SkipRows"] + properties["HasHeader"]
        self._learn(connection, f"read_csv({name}, store_rejects = true, {self._dialect})")
        return (
            f"read_csv({name}, store_rejects = true, auto_detect = false, {self._dialect},"
            f" columns = {duckdb_struct(self._types)})"
        )

    def _learn(self, connection: duckdb.DuckDBPyConnection, scan: str) -> None:
        """Infer the types of a portion; keep those that the types before can become."""
        try:
            inferred = connection.sql(f"DESCRIBE SELECT * FROM {scan}").fetchall()
        except duckdb.Error:
            if not self._types:
                raise
            return  # the lines will be rejected
        if not self._types:
            self._types = {column: dtype for column, dtype, *_ in inferred}
            return
        for column, dtype, *_ in inferred:
            if column in self._types:
                self._types[column] = _fitting(self._types[column], dtype)


def _fitting(known: str, seen: str) -> str:
    """The type in which a portion is read: the type before, or a wider one inferred from it.

    >>> _fitting("VARCHAR", "BIGINT"), _fitting("BIGINT", "DOUBLE"), _fitting("DOUBLE", "VARCHAR")
    ('VARCHAR', 'DOUBLE', 'DOUBLE')
    """
    numbers = known in _NUMBERS and seen in _NUMBERS
    finer = known == "DATE" and seen.startswith("TIMESTAMP")
    return seen if numbers or finer or known == '"NULL"' else known


__all__ = ["Growing", "growing", "grows_by_lines", "new_files"]
