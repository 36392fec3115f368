"""Large text files, read in ranges of bytes.

A range has the lines that begin in it. They are copied behind the header of the file into a portion
of their own, which DuckDB reads with the dialect and the types of the whole file. Lines must not
contain line breaks, so csv files with quotes are not cut, nor are compressed files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from crestline.core.tables import REJECTS
from crestline.runtime.sql import connect, quoted_names, quoted_text
from crestline.sources import stores
from crestline.sources.base import BATCH_ROWS, Piece, Source, batch_source, unreadable
from crestline.sources.copies import Scratch
from crestline.sources.endings import CSV, LINES, compression

#: Bytes of a range. Files of twice the size are cut.
RANGE_BYTES = 1 << 25
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class RangePiece:
    """The lines of a file that begin in a range of its bytes."""

    stream: str
    name: str
    file: int
    start: int
    stop: int
    #: The lines up to the names of columns.
    header: bytes
    #: Arguments of ``read_csv``; empty for json lines.
    dialect: str
    types: dict[str, str]

    @property
    def weight(self) -> int:
        return self.stop - self.start

    def open(self) -> Source:
        from crestline.sources.text import csv_rejects, duckdb_struct

        scratch = Scratch()
        portion = str(Path(scratch.path, "portion"))
        lines = self._copy(portion)
        columns = duckdb_struct(self.types)
        name, connection = quoted_text(portion), connect()
        scan = f"read_json({name}, format = 'newline_delimited', columns = {columns}, ignore_errors = true)"
        if self.dialect:
            scan = (
                f"read_csv({name}, store_rejects = true, auto_detect = false, {self.dialect},"
                f" columns = {columns})"
            )
        try:
            schema = connection.sql(f"SELECT * FROM {scan} LIMIT 0").to_arrow_table().schema
        except duckdb.Error as error:
            raise unreadable(self.stream, error, self.name) from None

        def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
            assert scratch.path, "the portion lives until it has been read"
            try:
                rows = connection.sql(f"SELECT {quoted_names(columns)} FROM {scan}")
                reader = rows.to_arrow_reader(BATCH_ROWS)
            except duckdb.Error as error:
                raise unreadable(self.stream, error, self.name) from None
            yield from batch_source(reader.schema, reader, self.stream).read(columns)

        def rejects() -> pa.Table:
            return csv_rejects(connection, self.stream) if self.dialect else REJECTS.empty_table()

        return Source(schema, False, read, None, rejects, lines=lambda: lines)

    def _copy(self, portion: str) -> int:
        """Write header and lines to the portion; return the number of lines."""
        lines = 0
        try:
            with open(self.name, "rb") as file, open(portion, "wb") as out:
                out.write(self.header)
                start = max(self.start, len(self.header))
                file.seek(max(0, start - 1))
                if start > len(self.header):  # the line before it belongs to the range before
                    start += len(file.readline()) - 1
                else:
                    file.seek(start)
                left = self.stop - start
                while left > 0 and (piece := file.read(min(left, _PIECE))):
                    left -= len(piece)
                    if left == 0 and not piece.endswith(b"\n"):
                        piece += file.readline()
                    lines += piece.count(b"\n")
                    out.write(piece)
        except OSError as error:
            raise unreadable(self.stream, error, self.name) from None
        return lines


def ranges_of(
    name: str, number: int, ending: str, stream: str, types: dict[str, str]
) -> list[Piece]:
    """The ranges of a large file of lines; none if it cannot be cut."""
    if compression(name) or ending not in LINES or stores.is_remote(name):
        return []
    size = os.path.getsize(name)
    if size < 2 * RANGE_BYTES:
        return []
    header, dialect = b"", ""
    if ending in CSV:
        sniffed = _sniffed(name)
        if sniffed is None:
            return []
        dialect = _dialect(sniffed)
        with open(name, "rb") as file:
            header = b"".join(
                file.readline() for _ in range(sniffed["SkipRows"] + sniffed["HasHeader"])
            )
        if [column["name"] for column in sniffed["Columns"]] != list(types):
            return []  # the columns of another file decide
    starts = [*range(0, size - RANGE_BYTES, RANGE_BYTES), size]
    return [
        RangePiece(stream, name, number, start, stop, header, dialect, types)
        for start, stop in zip(starts, starts[1:], strict=False)
    ]


def _sniffed(name: str) -> dict[str, Any] | None:
    """What DuckDB finds in a csv file; None if a record may span lines."""
    try:
        sniffed = connect().sql(
            f"SELECT * FROM sniff_csv({quoted_text(name)}, store_rejects = true)"
        )
        found: dict[str, Any] = sniffed.to_arrow_table().to_pylist()[0]
    except duckdb.Error:
        return None
    plain = found["Quote"] == "(empty)" and "n" in found["NewLineDelimiter"]
    return found if plain else None


def _dialect(sniffed: dict[str, Any]) -> str:
    marks = {
        "delim": sniffed["Delimiter"],
        "comment": "" if sniffed["Comment"] == "(empty)" else sniffed["Comment"],
        "dateformat": sniffed["DateFormat"] or "",
        "timestampformat": sniffed["TimestampFormat"] or "",
    }
    arguments = [f"{name} = {quoted_text(mark)}" for name, mark in marks.items() if mark]
    header = str(bool(sniffed["HasHeader"])).lower()
    skip = f"skip = {sniffed['SkipRows']}, header = {header}, quote = '', escape = ''"
    return ", ".join([*arguments, skip])
