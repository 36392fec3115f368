"""Csv: DuckDB sniffs the dialect of each file, Spark reads its fields as text and casts them.

A file in which DuckDB finds no quotes is split among tasks; one with quotes may hold line breaks
inside them, so one task reads it whole.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError
from crestline.spark.formats.casts import Cast, csv_cast
from crestline.spark.formats.scan import (
    BAD_COLUMN,
    BAD_REASON,
    BAD_VALUE,
    Scan,
    column_named,
    no_type,
    places,
)

_BROKEN = "__crestline_broken"


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What DuckDB found in one csv file. ``names`` are its columns in their order."""

    delimiter: str
    quote: str
    escape: str
    comment: str
    header: bool
    names: tuple[str, ...]


def csv_scans(files: list[str], schema: pa.Schema, columns: list[str], stream: str) -> list[Scan]:
    """One scan for all files of the same dialect and order of columns."""
    connection = duckdb.connect()
    dialects: dict[_Dialect, list[str]] = {}
    formats: dict[str, str] = {}
    header: bool | None = None
    for file in files:
        query = "SELECT * FROM sniff_csv(?, store_rejects = true)"
        found = connection.sql(query, params=[file]).to_arrow_table().to_pylist()[0]
        _check_skipped(file, found["SkipRows"], stream)
        # As DuckDB has it, the first file says whether there is a header.
        header = found["HasHeader"] if header is None else header
        names = tuple(column["name"] for column in found["Columns"])
        if not header or not found["HasHeader"]:
            names = tuple(schema.names)
        for kind, key in (("date", "DateFormat"), ("timestamp", "TimestampFormat")):
            if found[key] and not found[key].startswith("%Y-%m-%d"):
                formats.setdefault(kind, found[key])
        dialect = _Dialect(
            delimiter=_mark(found["Delimiter"]),
            quote=_mark(found["Quote"]),
            escape=_mark(found["Escape"]),
            comment=_mark(found["Comment"]),
            header=bool(header),
            names=names,
        )
        dialects.setdefault(dialect, []).append(file)
    scans = []
    for dialect, members in dialects.items():
        casts = {}
        spelled = {name.lower(): place for place, name in enumerate(dialect.names)}
        for name in columns:
            place = spelled.get(name.lower())
            if place is None:
                raise SourceError(f"stream {stream!r}: {members[0]} lacks the column {name!r}")
            cast = csv_cast(schema.field(name).type, formats)
            if cast is None:
                raise no_type(schema.field(name), stream)
            casts[name] = (place, cast)
        scans.append(_csv_scan(dialect, members, casts))
    return scans


def _mark(found: str) -> str:
    return "" if found == "(empty)" else found


def _check_skipped(file: str, lines: int, stream: str) -> None:
    """Spark skips empty lines before the header, and no others."""
    if not lines:
        return
    with gzip.open(file, "rt") if file.endswith(".gz") else open(file, encoding="utf-8") as opened:
        if any(next(opened, "").strip() for _ in range(lines)):
            raise SourceError(
                f"stream {stream!r}: {file} has {lines} lines before its records, which Spark"
                " cannot skip: remove them, or use --engine local"
            )


def _csv_scan(dialect: _Dialect, files: list[str], casts: dict[str, tuple[int, Cast]]) -> Scan:
    width = len(dialect.names)
    stored = [f"c{place}" for place in range(width)]
    fields = [T.StructField(name, T.StringType()) for name in [*stored, _BROKEN]]
    options = {
        "sep": dialect.delimiter,
        "quote": dialect.quote,
        "escape": dialect.escape or dialect.quote,
        "charToEscapeQuoteEscaping": dialect.escape,
        "comment": dialect.comment,
        "header": str(dialect.header),
        # Line breaks are only possible inside quotes.
        "multiLine": str(bool(dialect.quote)),
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _BROKEN,
        "nullValue": "",
        "emptyValue": "",
        "maxColumns": str(max(20480, width + 1)),
    }
    options = {name: value for name, value in options.items() if value or name == "quote"}

    def refine(frame: DataFrame) -> DataFrame:
        read = [cast.read(F.col(stored[place])).alias(name) for name, (place, cast) in
                casts.items()]  # fmt: skip
        frame = frame.select(*read, *stored, _BROKEN, *places(frame))
        in_order = sorted(casts.items(), key=lambda item: item[1][0])
        found = _fields(dialect)
        # One delimiter too many at the end of a line is forgiven.
        forgiven = (found == width + 1) & F.col(_BROKEN).endswith(dialect.delimiter)
        broken = F.col(_BROKEN).isNotNull() & ~forgiven
        missing = F.get(F.array(*[F.lit(name) for name in dialect.names]), found)
        column = F.when(broken, missing)
        reason = F.when(broken, F.lit("not a well-formed line"))
        for name, (place, cast) in reversed(in_order):
            if cast.fault is not None:
                failed = F.col(stored[place]).isNotNull() & column_named(name).isNull()
                column = F.when(failed, F.lit(name)).otherwise(column)
                reason = F.when(failed, F.lit(cast.fault)).otherwise(reason)
        frame = frame.withColumn(BAD_COLUMN, column).withColumn(BAD_REASON, reason)
        # Spark keeps the text of a broken line only; that of others is put together again.
        line = F.coalesce(_BROKEN, _line(dialect, stored))
        value = F.when(F.col(BAD_REASON).isNotNull(), line).alias(BAD_VALUE)
        needed = [column_named(name) for name in casts]
        return frame.select(*needed, BAD_COLUMN, BAD_REASON, value, *places(frame))

    return Scan("csv", options, T.StructType(fields), files, refine)


def _fields(dialect: _Dialect) -> Column:
    """How many fields a broken line has."""
    line = F.col(_BROKEN)
    if dialect.quote:
        mark = re.escape(dialect.quote)
        line = F.regexp_replace(line, f"{mark}[^{mark}]*{mark}", "")
    rest = F.replace(line, F.lit(dialect.delimiter), F.lit(""))
    return ((F.length(line) - F.length(rest)) / len(dialect.delimiter)).cast("int") + 1


def _line(dialect: _Dialect, stored: list[str]) -> Column:
    parts = []
    for name in stored:
        text = F.coalesce(F.col(name), F.lit(""))
        if dialect.quote:
            mark = F.lit(dialect.quote)
            escaped = F.replace(
                text, mark, F.lit((dialect.escape or dialect.quote) + dialect.quote)
            )
            special = text.contains(dialect.delimiter) | text.contains(dialect.quote)
            special |= text.contains("\n")
            text = F.when(special, F.concat(mark, escaped, mark)).otherwise(text)
        parts.append(text)
    return F.concat_ws(dialect.delimiter, *parts)
