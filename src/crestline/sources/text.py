"""Csv and json lines, read by DuckDB, which infers types and rejects lines that do not fit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import duckdb
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.core.tables import REJECTS
from crestline.language import Expression
from crestline.runtime.sql import connect, quoted_names, quoted_text
from crestline.sources import stores
from crestline.sources.base import BATCH_ROWS, Piece, Source, batch_source, holding, unreadable
from crestline.sources.copies import NAME_ENCODING, readable
from crestline.sources.endings import CSV, ending_of
from crestline.sources.files import find_files
from crestline.sources.hive import Partitions
from crestline.sources.ranges import Range, ranges_of
from crestline.sources.scratch import Scratch

#: The column in which DuckDB tells the file of a record.
_FILE = "__crestline_file"
#: DuckDB infers the types of columns from so many files at most, those of csv from fewer.
_DECISIVE, _SNIFFED = 32, 10
#: Why a record whose bytes are not text is rejected.
NOT_UTF8 = f"not UTF-8 text: {NAME_ENCODING}"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A file, or a range of it. DuckDB infers its types from the same files as for the whole
    stream."""

    stream: str
    name: str
    file: int
    weight: int
    ending: str
    encoding: str | None
    #: The files that decide the types, and this one.
    bound: tuple[str, ...]
    #: DuckDB's types of the columns, where not all files that decide them are at hand.
    types: dict[str, str] | None = None
    #: Arguments of ``read_csv``, where another file decides them.
    dialect: str = ""
    #: The part of the file, if it is not the whole.
    range: Range | None = None
    left_out: int = 0

    def open(self) -> Source:
        if self.range is None:
            return self._source(list(self.bound), self.bound.index(self.name))
        scratch = Scratch()
        portion = os.path.join(scratch.path, "portion")
        lines = self.range.copy(self.name, portion, self.stream)
        opened = self._source([*self.bound, portion], len(self.bound), len(self.bound))
        return replace(holding(opened, scratch), lines=lambda: lines)

    def _source(self, files: list[str], only: int, decisive: int | None = None) -> Source:
        return text_source(
            files, self.ending, self.stream, self.encoding,
            only=only, types=self.types, dialect=self.dialect, decisive=decisive,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextLayout:
    """How the files of a growing stream are read: as the first ones were."""

    types: dict[str, str]
    dialect: str

    @classmethod
    def of(cls, path: str, stream: str, columns: Sequence[str]) -> TextLayout:
        """The layout of the files that are there; only ``columns`` are read."""
        files = [file for file in find_files(path, stream) if stores.size(file)]
        copies = readable(files[:1], stream, None, marked=True)
        opened = text_source(files, ending_of(files[0]), stream)
        types = {name: dtype for name, dtype in opened.types().items() if name in columns}
        dialect = ""
        if ending_of(files[0]) in CSV:
            first = quoted_text(copies.files[0])
            sniffed = connect().sql(f"SELECT * FROM sniff_csv({first}, store_rejects = true)")
            dialect = csv_dialect(sniffed.to_arrow_table().to_pylist()[0])
        return cls(types, dialect)

    def pieces(self, file: str, stream: str) -> list[Piece]:
        """A new file as a piece."""
        size = max(0, stores.size(file))
        ending = ending_of(file)
        return [TextPiece(stream, file, 0, size, ending, None, (file,), self.types, self.dialect)]

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> TextLayout:
        return cls(**plain)


def text_source(
    files: list[str], ending: str, stream: str, encoding: str | None = None, *,
    only: int | None = None, types: Mapping[str, str] | None = None, dialect: str = "",
    decisive: int | None = None,
) -> Source:  # fmt: skip
    """The records of all files, or of the one with the number ``only``. Columns in the names of
    folders come last. ``types`` are DuckDB's types of the columns, and ``dialect`` arguments of
    ``read_csv``; by default DuckDB infers them, from the first ``decisive`` files at most."""
    csv = ending in CSV
    copies = readable(files, stream, encoding, marked=csv)
    connection = connect()
    names = "[" + ", ".join(map(quoted_text, copies.files)) + "]"
    options = f"hive_partitioning = false, filename = {quoted_text(_FILE)}"
    if csv:
        options += "" if types is None else f", types = {duckdb_struct(types)}"
        options += f", {dialect}" if dialect else ""
        options += "" if decisive is None else f", files_to_sniff = {min(decisive, _SNIFFED)}"
        scan = f"read_csv({names}, store_rejects = true, {options})"
    else:
        layout = "auto" if ending == ".json" else "newline_delimited"
        settled = f"union_by_name = {str(decisive is None).lower()}"
        if types is not None:
            settled = f"columns = {duckdb_struct(types)}"
        options += "" if decisive is None else f", maximum_sample_files = {decisive}"
        scan = (
            f"read_json({names}, format = '{layout}', {settled}, ignore_errors = true, {options})"
        )
    try:
        schema = _schema(connection, scan)
        partitions = Partitions.of(files)
        if partitions.without(schema.names).schema != partitions.schema:
            partitions = Partitions.of([])  # DuckDB reads all of them or none
        if partitions.schema.names:
            folders = f"hive_partitioning = true, hive_types = {partitions.duckdb_types}"
            scan = scan.replace("hive_partitioning = false", folders)
            schema = _schema(connection, scan)
    except duckdb.Error as error:
        if "invalid UTF-8" in str(error):
            raise SourceError(
                f"stream {stream!r}: {files[0]} is not UTF-8 text: {NAME_ENCODING}"
            ) from None
        raise unreadable(stream, error, files[0]) from None
    condition = "" if only is None else f" WHERE {_FILE} = {quoted_text(copies.files[only])}"

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            rows = connection.sql(f"SELECT {quoted_names(columns)} FROM {scan}{condition}")
            reader = rows.to_arrow_reader(BATCH_ROWS)
        except duckdb.Error as error:
            raise unreadable(stream, error) from None
        yield from batch_source(reader.schema, reader, stream).read(columns)

    def rejects() -> pa.Table:
        return csv_rejects(connection, stream) if csv else REJECTS.empty_table()

    def inferred() -> dict[str, str]:
        return _types(connection, scan, partitions.schema.names)

    def pieces(where: Expression | None) -> list[Piece]:
        return _pieces(files, copies.files == files, ending, stream, encoding, inferred())

    opened = Source(
        schema, False, read, None, rejects, spelled=partitions.schema.names, pieces=pieces,
        types=inferred,
    )  # fmt: skip
    return holding(opened, copies)


def _pieces(
    files: list[str], in_place: bool, ending: str, stream: str, encoding: str | None,
    types: dict[str, str],
) -> list[Piece]:  # fmt: skip
    """The files, large ones in ranges of bytes."""
    names = [stores.absolute(file) for file in files]
    sizes = stores.together(stores.size, names)
    pieces: list[Piece] = []
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        bound = names[:_DECISIVE] if in_place else names[:1]
        if name not in bound:
            bound = [*bound, name]
        settled = None if in_place else types
        whole = TextPiece(
            stream, name, number, max(0, size), ending, encoding, tuple(bound), settled
        )
        ranges = ranges_of(name, ending) if in_place else []
        # Of several json files, each would have a say in the types, and so would a portion.
        cut = replace(whole, types=None if ending in CSV or len(names) == 1 else types)
        pieces += [replace(cut, range=part, weight=part.stop - part.start) for part in ranges] or [
            whole
        ]
    return pieces


def _types(
    connection: duckdb.DuckDBPyConnection, scan: str, without: Sequence[str]
) -> dict[str, str]:
    """DuckDB's types of the columns of files."""
    described = connection.sql(f"DESCRIBE SELECT * EXCLUDE ({_FILE}) FROM {scan}").fetchall()
    return {name: dtype for name, dtype, *_ in described if name not in without}


def csv_dialect(sniffed: dict[str, Any]) -> str:
    """The arguments of ``read_csv`` for a sniffed dialect. Quotes may come later: allow them."""
    marks = {
        "delim": sniffed["Delimiter"],
        "quote": '"' if sniffed["Quote"] == "(empty)" else sniffed["Quote"],
        "escape": '"' if sniffed["Escape"] == "(empty)" else sniffed["Escape"],
        "comment": "" if sniffed["Comment"] == "(empty)" else sniffed["Comment"],
        "dateformat": sniffed["DateFormat"],
        "timestampformat": sniffed["TimestampFormat"],
    }
    arguments = [f"{name} = {quoted_text(mark)}" for name, mark in marks.items() if mark]
    header = str(sniffed["HasHeader"]).lower()
    return ", ".join([*arguments, f"skip = {sniffed['SkipRows']}", f"header = {header}"])


def duckdb_struct(values: Mapping[str, str]) -> str:
    """Names and types of columns, as DuckDB's options take them.

    >>> duckdb_struct({"id": "BIGINT"})
    "{'id': 'BIGINT'}"
    """
    pairs = (f"{quoted_text(name)}: {quoted_text(value)}" for name, value in values.items())
    return "{" + ", ".join(pairs) + "}"


def _schema(connection: duckdb.DuckDBPyConnection, scan: str) -> pa.Schema:
    columns = f"SELECT * EXCLUDE ({_FILE}) FROM {scan} LIMIT 0"
    return connection.sql(columns).to_arrow_table().schema


def csv_rejects(connection: duckdb.DuckDBPyConnection, stream: str) -> pa.Table:
    """Lines that DuckDB rejected. ``row`` counts records from 0, bad lines included."""
    tables = connection.sql("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'")
    if not tables.fetchall():
        return REJECTS.empty_table()
    errors = connection.sql(
        "SELECT DISTINCT ON (file_id, line) line, column_name, error_type, error_message, csv_line"
        " FROM reject_errors ORDER BY file_id, line"
    ).fetchall()
    rows = []
    for line, column, error, message, text in errors:
        reason = "not a well-formed line"
        if error == "CAST":
            time = "TIMESTAMP" in message or "DATE" in message
            reason = "not a timestamp" if time else "not a number"
        elif error == "INVALID ENCODING":
            reason = NOT_UTF8
        values = (stream, max(0, line - 2), column, reason, text)
        rows.append(dict(zip(REJECTS.names, values, strict=True)))
    return pa.Table.from_pylist(rows, REJECTS)
