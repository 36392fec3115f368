"""Csv and json lines, read by DuckDB, which infers types and rejects lines that do not fit."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.core.tables import REJECTS
from crestline.runtime.sql import connect, quoted_names, quoted_text
from crestline.sources.base import BATCH_ROWS, Source, batch_source, holding, unreadable
from crestline.sources.copies import NAME_ENCODING, readable
from crestline.sources.endings import CSV
from crestline.sources.hive import Partitions

#: Why a record whose bytes are not text is rejected.
NOT_UTF8 = f"not UTF-8 text: {NAME_ENCODING}"


def text_source(files: list[str], ending: str, stream: str, encoding: str | None = None) -> Source:
    """The records of all files. Columns in the names of folders come last."""
    csv = ending in CSV
    copies = readable(files, stream, encoding, marked=csv)
    connection = connect()
    names = "[" + ", ".join(map(quoted_text, copies.files)) + "]"
    if csv:
        scan = f"read_csv({names}, store_rejects = true, hive_partitioning = false)"
    else:
        layout = "auto" if ending == ".json" else "newline_delimited"
        scan = (
            f"read_json({names}, format = '{layout}', union_by_name = true, ignore_errors = true,"
            " hive_partitioning = false)"
        )
    try:
        schema = _schema(connection, scan)
        partitions = Partitions.of(files)
        if partitions.without(schema.names).schema != partitions.schema:
            partitions = Partitions.of([])  # DuckDB reads all of them or none
        if partitions.schema.names:
            types = f"hive_partitioning = true, hive_types = {partitions.duckdb_types}"
            scan = scan.replace("hive_partitioning = false", types)
            schema = _schema(connection, scan)
    except duckdb.Error as error:
        if "invalid UTF-8" in str(error):
            raise SourceError(
                f"stream {stream!r}: {files[0]} is not UTF-8 text: {NAME_ENCODING}"
            ) from None
        raise unreadable(stream, error, files[0]) from None

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            rows = connection.sql(f"SELECT {quoted_names(columns)} FROM {scan}")
            reader = rows.to_arrow_reader(BATCH_ROWS)
        except duckdb.Error as error:
            raise unreadable(stream, error) from None
        yield from batch_source(reader.schema, reader, stream).read(columns)

    def rejects() -> pa.Table:
        return csv_rejects(connection, stream) if csv else REJECTS.empty_table()

    opened = Source(schema, False, read, None, rejects, spelled=partitions.schema.names)
    return holding(opened, copies)


def _schema(connection: duckdb.DuckDBPyConnection, scan: str) -> pa.Schema:
    return connection.sql(f"SELECT * FROM {scan} LIMIT 0").to_arrow_table().schema


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
