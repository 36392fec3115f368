"""Files that grow: what is new in them since the last look, portion by portion.

A text file that is named by itself is followed as ``tail -f`` does: a line is read once its line
end is there. Of a folder or a glob each file is read once, when it is seen first.

DuckDB infers types from each portion, and a portion may be a single line. So what was text stays
text (``007`` is an id, not a number), a value that does not fit a type known before sets its record
aside, and numbers widen from portion to portion as they do between files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.runtime.gate import REJECTS
from crestline.sources import BATCH_ROWS, Source, find_files, source
from crestline.sources.text import csv_rejects

_CSV = (".csv", ".tsv")
_LINES = (*_CSV, ".jsonl", ".ndjson")
#: Bytes of a portion, at most, unless a single line is longer.
_PORTION = 1 << 25
#: Bytes after which a quote that nothing closes no longer holds lines back.
_PATIENCE = 1 << 20
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "FLOAT", "DOUBLE")


class Growing(Protocol):
    """A stream that grows; ``position`` and what it restores are plain JSON values."""

    def more(self) -> Source | None:
        """The next records that have not been taken yet, if there are any."""

    def position(self) -> dict[str, Any]:
        """What has been taken, for ``growing``."""

    def left(self) -> str | None:
        """What cannot be taken yet, in a sentence."""


def growing(
    path: str, stream: str, scratch: Path, position: dict[str, Any] | None = None
) -> Growing:
    """What a path stands for; ``scratch`` is a folder for portions, ``position`` where to go on."""
    if grows_by_lines(path):
        return _GrowingFile(path, stream, scratch / "portion", position)
    return _GrowingFolder(path, stream, position)


def grows_by_lines(path: str) -> bool:
    """Whether a path names one file of lines, to which others may be appended.

    >>> grows_by_lines("new.jsonl"), grows_by_lines("new.csv.gz"), grows_by_lines("folder/*.csv")
    (True, False, False)
    """
    if os.path.splitext(path)[1].lower() not in _LINES:
        return False
    return os.path.isfile(path) or not (os.path.exists(path) or glob.has_magic(path))


class _GrowingFile:
    """One text file; complete lines as they are appended."""

    def __init__(
        self, path: str, stream: str, portion: Path, position: dict[str, Any] | None
    ) -> None:
        self._path, self._stream, self._portion = path, stream, portion
        self._csv = path.lower().endswith(_CSV)
        known = position or {"offset": 0, "file": None, "rows": 0, "texts": None}
        self._offset: int = known["offset"]
        self._file: list[int] | None = known["file"]
        self._rows: int = known["rows"]
        self._texts = _Texts(stream, self._csv, known["texts"])
        self._held = 0

    def position(self) -> dict[str, Any]:
        return {
            "offset": self._offset, "file": self._file, "rows": self._rows,
            "texts": self._texts.known(),
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
        given = self._texts.open(str(self._portion), self._path, self._rows)
        if not self._offset:
            self._rows -= self._texts.keep_header(lines)
        self._rows += lines.count(b"\n")
        self._offset += len(lines)
        return given

    def _lines(self) -> bytes:
        """Complete lines after the last that was taken; of csv, at first a header and a record."""
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

    def _check(self, found: os.stat_result) -> None:
        """Raise SourceError if this is not the file of before with something appended."""
        identity = [found.st_dev, found.st_ino]
        if self._file is None:
            self._file = identity
        problem = "was replaced by another file" if identity != self._file else "has shrunk"
        if identity != self._file or found.st_size < self._offset:
            raise SourceError(
                f"stream {self._stream!r}: {self._path} {problem} while it was followed: only"
                " appended lines can be followed; start a new run"
            )


def _outside_quotes(text: bytes, end: int) -> int:
    """The last line end before ``end`` that no quotes stand around.

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
        known = position or {"taken": [], "texts": None}
        self._taken: dict[str, None] = dict.fromkeys(known["taken"])
        self._waiting: list[str] = []
        self._texts: dict[bool, _Texts] = {}
        for csv, texts in (known["texts"] or {}).items():
            self._texts[csv == "csv"] = _Texts(stream, csv == "csv", texts)

    def position(self) -> dict[str, Any]:
        texts = {"csv" if csv else "json": texts.known() for csv, texts in self._texts.items()}
        return {"taken": list(self._taken), "texts": texts}

    def left(self) -> str | None:
        return None

    def more(self) -> Source | None:
        if not self._waiting:
            self._waiting = sorted(self._new(), key=lambda file: (os.path.getmtime(file), file))
        while self._waiting:
            file = self._waiting.pop(0)
            self._taken[file] = None
            ending = os.path.splitext(file.removesuffix(".gz"))[1].lower()
            if ending not in _LINES:
                return source(file, self._stream)
            csv = ending in _CSV
            texts = self._texts.setdefault(csv, _Texts(self._stream, csv, None))
            return texts.open(file, file, 0)
        return None

    def _new(self) -> list[str]:
        try:
            files = find_files(self._path, self._stream)
        except SourceError:  # all that was there has been taken away
            return []
        return [f for f in files if f not in self._taken and os.path.getsize(f)]


class _Texts:
    """How the text of a stream is read: the dialect of csv, and the types found so far."""

    def __init__(self, stream: str, csv: bool, known: dict[str, Any] | None) -> None:
        self._stream, self._csv = stream, csv
        known = known or {"dialect": "", "types": {}, "header": ""}
        self._dialect: str = known["dialect"]
        self._types: dict[str, str] = dict(known["types"])
        #: The lines up to the names of columns; they stand before every portion.
        self.header: bytes = known["header"].encode("latin-1")
        self._header_lines = 0

    def known(self) -> dict[str, Any]:
        return {
            "dialect": self._dialect, "types": self._types,
            "header": self.header.decode("latin-1"),
        }  # fmt: skip

    def keep_header(self, first: bytes) -> int:
        """Remember the header of the first portion; how many lines it has."""
        self.header = b"".join(first.splitlines(keepends=True)[: self._header_lines])
        return self._header_lines

    def open(self, file: str, name: str, rows_before: int) -> Source:
        """The records of a file, in types that fit those found before."""
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        try:
            scan = self._scan(connection, file)
            schema = connection.sql(f"SELECT * FROM {scan} LIMIT 0").to_arrow_table().schema
        except duckdb.Error as error:
            reason = str(error).split("\n")[0]
            raise SourceError(f"stream {self._stream!r}: {name} cannot be read: {reason}") from None

        def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
            chosen = ", ".join(_quoted(column) for column in columns)
            try:
                found = connection.sql(f"SELECT {chosen} FROM {scan}")
                yield from found.to_arrow_reader(BATCH_ROWS)
            except (duckdb.Error, OSError, pa.ArrowException) as error:
                reason = str(error).split("\n")[0]
                told = f"stream {self._stream!r}: {name} cannot be read: {reason}"
                raise SourceError(told) from None

        def rejects() -> pa.Table:
            found = csv_rejects(connection, self._stream) if self._csv else REJECTS.empty_table()
            rows = pa.array([row + rows_before for row in found["row"].to_pylist()], pa.int64())
            place = found.schema.get_field_index("row")
            return found.set_column(place, found.schema.field(place), rows)

        return Source(schema=schema, typed=False, read=read, rejects=rejects)

    def _scan(self, connection: duckdb.DuckDBPyConnection, file: str) -> str:
        """What DuckDB reads, with the types of the columns; sniffs the dialect at first."""
        name = _literal(file)
        if not self._csv:
            lines = f"{name}, format = 'newline_delimited', ignore_errors = true"
            self._learn(connection, f"read_json({lines})")
            return f"read_json({lines}, columns = {self._columns()})"
        if not self._dialect:
            sniffed = connection.sql(f"SELECT * FROM sniff_csv({name}, store_rejects = true)")
            found = sniffed.to_arrow_table().to_pylist()[0]
            self._dialect = _dialect(found)
            self._header_lines = found["SkipRows"] + found["HasHeader"]
        self._learn(connection, f"read_csv({name}, store_rejects = true, {self._dialect})")
        return (
            f"read_csv({name}, store_rejects = true, auto_detect = false, {self._dialect},"
            f" columns = {self._columns()})"
        )

    def _learn(self, connection: duckdb.DuckDBPyConnection, scan: str) -> None:
        """Take the types that DuckDB infers as far as they fit those known."""
        try:
            found = connection.sql(f"DESCRIBE SELECT * FROM {scan}").fetchall()
        except duckdb.Error:
            if not self._types:
                raise
            return  # the lines will be set aside
        if not self._types:
            self._types = {column: kind for column, kind, *_ in found}
            return
        for column, kind, *_ in found:
            if column in self._types:
                self._types[column] = _fitting(self._types[column], kind)

    def _columns(self) -> str:
        kinds = (f"{_literal(name)}: {_literal(kind)}" for name, kind in self._types.items())
        return "{" + ", ".join(kinds) + "}"


def _dialect(found: dict[str, Any]) -> str:
    """What was sniffed as arguments of ``read_csv``. Quotes may come later, so they are allowed."""
    marks = {
        "delim": found["Delimiter"],
        "quote": '"' if found["Quote"] == "(empty)" else found["Quote"],
        "escape": '"' if found["Escape"] == "(empty)" else found["Escape"],
        "comment": "" if found["Comment"] == "(empty)" else found["Comment"],
        "dateformat": found["DateFormat"],
        "timestampformat": found["TimestampFormat"],
    }
    told = [f"{name} = {_literal(mark)}" for name, mark in marks.items() if mark]
    header = str(found["HasHeader"]).lower()
    return ", ".join([*told, f"skip = {found['SkipRows']}", f"header = {header}"])


def _fitting(known: str, seen: str) -> str:
    """The type in which a portion is read, of what is known and what was inferred from it.

    >>> _fitting("VARCHAR", "BIGINT"), _fitting("BIGINT", "DOUBLE"), _fitting("DOUBLE", "VARCHAR")
    ('VARCHAR', 'DOUBLE', 'DOUBLE')
    """
    numbers = known in _NUMBERS and seen in _NUMBERS
    finer = known == "DATE" and seen.startswith("TIMESTAMP")
    return seen if numbers or finer or known == '"NULL"' else known


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


__all__ = ["Growing", "growing", "grows_by_lines"]
