"""Csv and json lines, read by DuckDB, which infers types and rejects lines that do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.core.tables import REJECTS
from crestline.runtime.sql import connect, quoted_names, quoted_text
from crestline.sources import stores
from crestline.sources.base import BATCH_ROWS, Piece, Source, batch_source, holding, unreadable
from crestline.sources.copies import NAME_ENCODING, readable
from crestline.sources.endings import CSV
from crestline.sources.hive import Partitions
from crestline.sources.ranges import ranges_of

#: The column in which DuckDB tells the file of a record.
_FILE = "__crestline_file"
#: DuckDB infers the types of columns from so many files at most.
_DECISIVE = 32
#: Why a record whose bytes are not text is rejected.
NOT_UTF8 = f"not UTF-8 text: {NAME_ENCODING}"


@dataclass(frozen=True, slots=True)
class TextPiece:
    """One whole file. DuckDB infers its types from the same files as for the whole stream."""

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

    def open(self) -> Source:
        return text_source(
            list(self.bound), self.ending, self.stream, self.encoding,
            only=self.bound.index(self.name), types=self.types,
        )  # fmt: skip


def text_source(
    files: list[str], ending: str, stream: str, encoding: str | None = None, *,
    only: int | None = None, types: Mapping[str, str] | None = None,
) -> Source:  # fmt: skip
    """The records of all files, or of the one with the number ``only``. Columns in the names of
    folders come last. ``types`` are DuckDB's types of the columns; by default it infers them."""
    csv = ending in CSV
    copies = readable(files, stream, encoding, marked=csv)
    connection = connect()
    names = "[" + ", ".join(map(quoted_text, copies.files)) + "]"
    options = f"hive_partitioning = false, filename = {quoted_text(_FILE)}"
    if csv:
        settled = "" if types is None else f", types = {duckdb_struct(types)}"
        scan = f"read_csv({names}, store_rejects = true{settled}, {options})"
    else:
        layout = "auto" if ending == ".json" else "newline_delimited"
        settled = "union_by_name = true" if types is None else f"columns = {duckdb_struct(types)}"
        scan = f"read_json({names}, format = '{layout}', {settled}, ignore_errors = true, {options})"
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

    def pieces() -> list[Piece]:
        inferred = _types(connection, scan, partitions.schema.names)
        return _pieces(files, copies.files == files, ending, stream, encoding, inferred)

    opened = Source(
        schema, False, read, None, rejects, spelled=partitions.schema.names, pieces=pieces
    )
    return holding(opened, copies)


def _pieces(
    files: list[str], in_place: bool, ending: str, stream: str, encoding: str | None,
    types: dict[str, str],
) -> list[Piece]:  # fmt: skip
    """The files, large ones in ranges of bytes."""
    names = [stores.absolute(file) for file in files]
    pieces: list[Piece] = []
    for number, (name, size) in enumerate(zip(names, stores.together(stores.size, names), strict=True)):
        ranges = ranges_of(name, number, ending, stream, types) if in_place else []
        if ranges:
            pieces += ranges
            continue
        bound = names[:_DECISIVE] if in_place else names[:1]
        if name not in bound:
            bound = [*bound, name]
        settled = None if in_place else types
        pieces.append(
            TextPiece(stream, name, number, max(0, size), ending, encoding, tuple(bound), settled)
        )
    return pieces


def _types(
    connection: duckdb.DuckDBPyConnection, scan: str, without: Sequence[str]
) -> dict[str, str]:
    """DuckDB's types of the columns of files."""
    described = connection.sql(f"DESCRIBE SELECT * EXCLUDE ({_FILE}) FROM {scan}").fetchall()
    return {name: dtype for name, dtype, *_ in described if name not in without}


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
