"""Files read by Spark as the in-process engine reads them: same records, types and rejects.

The driver looks at the files as ``crestline.local.sources`` does: which they are, their columns and
types, and for text the dialect that DuckDB sniffs in each. Spark only reads: files that share a
layout become one scan, and the scans one frame. Text is read as text and cast inside Catalyst by
expressions that follow DuckDB's rules rather than Spark's.

A csv file in which DuckDB finds no quotes is split among tasks; one with quotes may hold line
breaks inside them, so one task reads it whole. The same goes for compressed text and json arrays.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import time
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote as percent_encode

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError
from crestline.local.sources import find_files, source

#: Orders the pieces of bounded files as the in-process engine reads them: the number of the file in
#: the order of names, then where the piece begins in it. Records of a piece keep their order.
CHUNK = "__crestline_chunk"
#: Text formats only: which needed column of a record could not be read, why, and the record's text.
BAD_COLUMN = "__crestline_bad_column"
BAD_REASON = "__crestline_bad_reason"
BAD_VALUE = "__crestline_bad_value"

_PATH, _START, _BROKEN = "__crestline_path", "__crestline_start", "__crestline_broken"
_PARQUET, _CSV, _JSON = (".parquet", ".pq"), (".csv", ".tsv"), (".jsonl", ".ndjson", ".json")
_START_BITS = 40
#: What means something in Hadoop's globs; a name may hold them.
_SPECIAL = "\\*?[]{}"


@dataclass(frozen=True, slots=True)
class FileStream:
    """The needed columns of files. ``schema`` and ``typed`` are what local sources say of them.

    ``frame`` has the needed columns and, if bounded, CHUNK; for text also the three BAD columns,
    NULL for a sound record. Text files without a byte have no columns: then ``schema`` has no
    names, and ``frame`` has the needed columns as text, and no rows.
    """

    schema: pa.Schema
    typed: bool
    frame: DataFrame


@dataclass(frozen=True, slots=True)
class _Scan:
    """Files of one layout: Spark's format, options and schema, and the columns made of it."""

    format: str
    options: dict[str, str]
    schema: T.StructType
    files: list[str]
    refine: Callable[[DataFrame], DataFrame]


def open_files(
    session: SparkSession,
    path: str | os.PathLike[str],
    stream: str,
    columns: list[str],
    *,
    follow: bool = False,
    files_per_trigger: int | None = None,
) -> FileStream:
    """A file, a folder or a glob, once or, with ``follow``, together with all that appears there.

    Files that are followed must have the layout of the first (for csv also the order of its
    columns). Names that begin with ``.`` or ``_`` are skipped: write under such a name and rename,
    because a file is read as soon as it is seen.
    """
    place = os.path.abspath(path) if "://" not in os.fspath(path) else os.fspath(path)
    given = source(place, stream)
    files = find_files(place, stream)
    ending = _ending(files[0])
    if ending not in _PARQUET:
        files = [file for file in files if os.path.getsize(file)]
    if not files:
        if follow:
            raise SourceError(f"stream {stream!r}: {path} holds only empty files so far")
        return FileStream(given.schema, given.typed, _nothing(session, columns))
    for name in columns:
        if name not in given.schema.names:
            known = ", ".join(given.schema.names)
            raise SourceError(f"stream {stream!r} has no column {name!r}: it has {known}")
    # In the order of the files: of several faults in a record, the first is reported.
    schema = pa.schema([field for field in given.schema if field.name in columns])
    if ending in _PARQUET:
        scans = _parquet_scans(session, files[:1] if follow else files, schema, stream)
    elif ending in _CSV:
        scans = _csv_scans(files[:1] if follow else files, given.schema, columns, stream)
    else:
        scans = _json_scans(files[:1] if follow else files, schema, ending, stream)
    if follow:
        frame = _follow(session, place, scans[0], ending, files_per_trigger)
    else:
        frame = _read(session, scans, files)
    kept = [name for name in frame.columns if name not in schema.names]
    frame = frame.select(*[_column(name) for name in [*columns, *kept]])
    return FileStream(pa.schema([schema.field(name) for name in columns]), given.typed, frame)


def wait_for_files(path: str | os.PathLike[str], stream: str, patience: float) -> list[str]:
    """The files of a path as soon as there is one with a byte; SourceError after ``patience`` s."""
    deadline = time.monotonic() + patience
    while True:
        try:
            files = find_files(os.path.abspath(path), stream)
            if any(os.path.getsize(file) for file in files):
                return files
            raise SourceError(f"stream {stream!r}: {path} holds only empty files so far")
        except (SourceError, FileNotFoundError) as error:
            left = deadline - time.monotonic()
            if left <= 0:
                if isinstance(error, SourceError):
                    raise
                raise SourceError(f"stream {stream!r}: {error}") from error
        time.sleep(min(0.2, max(left, 0.01)))


def _nothing(session: SparkSession, columns: list[str]) -> DataFrame:
    texts_of = [*columns, BAD_COLUMN, BAD_REASON, BAD_VALUE]
    fields = [T.StructField(name, T.StringType()) for name in texts_of]
    place = len(columns)
    fields.insert(place, T.StructField(CHUNK, T.LongType()))
    return session.createDataFrame([], T.StructType(fields))


def _ending(file: str) -> str:
    return os.path.splitext(file.removesuffix(".gz"))[1].lower()


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


# -- bounded ----------------------------------------------------------------------------------


def _read(session: SparkSession, scans: list[_Scan], files: list[str]) -> DataFrame:
    """The union of the scans, with CHUNK."""
    numbers = {file: number for number, file in enumerate(files)}
    united: DataFrame | None = None
    for scan in scans:
        reader = session.read.format(scan.format).options(**scan.options).schema(scan.schema)
        frame = reader.load([_escaped(file, _SPECIAL) for file in scan.files])
        frame = frame.select(
            "*",
            F.col("_metadata.file_path").alias(_PATH),
            F.col("_metadata.file_block_start").alias(_START),
        )
        frame = _number(session, scan.refine(frame), {file: numbers[file] for file in scan.files})
        united = frame if united is None else united.unionByName(frame)
    assert united is not None, "there is a file"
    return united


def _number(session: SparkSession, frame: DataFrame, numbers: dict[str, int]) -> DataFrame:
    """CHUNK from the path and the start of the piece, which are dropped."""
    if len(numbers) == 1:
        number = F.lit(next(iter(numbers.values())) << _START_BITS)
    else:
        # A hash join, since a chain of comparisons would be as long as the list of files.
        rows = [(_uri(file), number << _START_BITS) for file, number in numbers.items()]
        table = session.createDataFrame(rows, f"{_PATH} string, {CHUNK} long")
        frame = frame.withColumn(_PATH, F.regexp_replace(_PATH, "^file:/+", "/"))
        frame = frame.join(F.broadcast(table), _PATH, "left")
        # A path that is spelled in an unforeseen way must not pass as the first file.
        number = F.coalesce(CHUNK, F.raise_error(F.concat(F.lit("unknown file "), _PATH)))
    kept = [_column(name) for name in frame.columns if name not in (_PATH, _START, CHUNK)]
    return frame.select(*kept, number.bitwiseOR(F.col(_START)).cast("long").alias(CHUNK))


def _uri(file: str) -> str:
    """A path as ``_metadata.file_path`` spells it: escaped as java.net.URI does."""
    parts = []
    for letter in file:
        plain = ord(letter) > 127 and unicodedata.category(letter) not in ("Cc", "Zs", "Zl", "Zp")
        parts.append(letter if plain else percent_encode(letter, safe="/:@&=+$,;!*'()~"))
    return "".join(parts)


# -- growing ----------------------------------------------------------------------------------


def _follow(
    session: SparkSession, path: str, scan: _Scan, ending: str, files_per_trigger: int | None
) -> DataFrame:
    reader = session.readStream.format(scan.format).options(**scan.options).schema(scan.schema)
    if files_per_trigger is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_trigger)
    if os.path.isdir(path):
        either = "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in ending)
        reader = reader.option("recursiveFileLookup", "true")
        reader = reader.option("pathGlobFilter", "*" + "{" + either + "," + either + ".gz}")
        path = _escaped(path, _SPECIAL)
    elif "**" in path.split("/"):
        folder, pattern = path.split("/**/", 1) if "/**/" in path else (path[:-3], "*")
        if "/" in pattern:
            raise SourceError(f"cannot follow {path}: only a file name may come after **")
        reader = reader.option("recursiveFileLookup", "true")
        reader = reader.option("pathGlobFilter", _escaped(pattern, "\\{}"))
        path = _escaped(folder, "\\{}")
    elif os.path.exists(path):
        reader = reader.option("pathGlobFilter", _escaped(os.path.basename(path), _SPECIAL))
        path = _escaped(os.path.dirname(path), _SPECIAL)
    else:
        path = _escaped(path, "\\{}")
    return scan.refine(reader.load(path))


def _escaped(path: str, special: str) -> str:
    """Characters that mean something to Hadoop's globs and nothing to Python's."""
    return "".join("\\" + letter if letter in special else letter for letter in path)


# -- parquet ----------------------------------------------------------------------------------


def _parquet_scans(
    session: SparkSession, files: list[str], schema: pa.Schema, stream: str
) -> list[_Scan]:
    """One scan for all files whose needed columns have the same types."""
    layouts: dict[tuple[Any, ...], list[str]] = {}
    for file in files:
        with pq.ParquetFile(file) as parquet:
            physical = {
                parquet.schema.column(place).path: parquet.schema.column(place).physical_type
                for place in range(len(parquet.schema))
            }
            found = parquet.schema_arrow
        for field in schema:
            alike = [name for name in found.names if name.lower() == field.name.lower()]
            if len(alike) > 1:
                raise SourceError(
                    f"stream {stream!r}: the columns {' and '.join(map(repr, alike))} differ only"
                    " in case, which Spark cannot tell apart: rename one, or use --engine local"
                )
        layout = tuple((found.field(f.name).type, physical.get(f.name) == "INT96") for f in schema)
        layouts.setdefault(layout, []).append(file)
    target = next(iter(layouts))
    scans = []
    for layout, members in layouts.items():
        fields = [
            T.StructField(field.name, _stored_type(kind, old, field.name, stream))
            for field, (kind, old) in zip(schema, layout, strict=True)
        ]
        if any(pa.types.is_timestamp(k) and k.unit == "ns" and not old for k, old in layout):
            # Spark has no other way to read nanoseconds, and asks when the scan is planned.
            session.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
        refine = _refine_parquet(schema.names, layout, target)
        scans.append(_Scan("parquet", {}, T.StructType(fields), members, refine))
    return scans


def _refine_parquet(
    names: list[str], layout: tuple[Any, ...], target: tuple[Any, ...]
) -> Callable[[DataFrame], DataFrame]:
    def refine(frame: DataFrame) -> DataFrame:
        columns = []
        for name, (kind, old), (wanted, _) in zip(names, layout, target, strict=True):
            column = _column(name)
            if pa.types.is_timestamp(kind) and kind.unit == "ns" and not old:
                micros = _floor_div(column, 1000)
                column = F.timestamp_micros(micros) if kind.tz else _local_moment(micros)
            if kind != wanted:
                column = column.cast(_spark_type(wanted) or T.StringType())
            columns.append(column.alias(name))
        return frame.select(*columns, *_places(frame))

    return refine


def _stored_type(kind: pa.DataType, old_time: bool, name: str, stream: str) -> T.DataType:
    """What Spark reads a parquet column as."""
    if old_time:
        return T.TimestampType()
    if pa.types.is_null(kind):
        return T.IntegerType()
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return T.LongType()
    found = _spark_type(kind)
    if found is None or _holds_nanoseconds(kind):
        raise SourceError(
            f"stream {stream!r}: Spark cannot read the column {name!r}, a {kind}:"
            " cast it to another type, or use --engine local"
        )
    return found


def _holds_nanoseconds(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return bool(kind.unit == "ns")
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return any(_holds_nanoseconds(part) for part in inner)


_PLAIN: dict[pa.DataType, T.DataType] = {
    pa.bool_(): T.BooleanType(), pa.int8(): T.ByteType(), pa.int16(): T.ShortType(),
    pa.int32(): T.IntegerType(), pa.int64(): T.LongType(), pa.uint8(): T.ShortType(),
    pa.uint16(): T.IntegerType(), pa.uint32(): T.LongType(), pa.uint64(): T.DecimalType(20, 0),
    pa.float32(): T.FloatType(), pa.float64(): T.DoubleType(), pa.string(): T.StringType(),
    pa.large_string(): T.StringType(), pa.string_view(): T.StringType(),
    pa.binary(): T.BinaryType(), pa.large_binary(): T.BinaryType(), pa.date32(): T.DateType(),
    pa.binary_view(): T.BinaryType(), pa.date64(): T.DateType(), pa.null(): T.StringType(),
}  # fmt: skip


def _spark_type(kind: pa.DataType) -> T.DataType | None:
    """Spark's type for an Arrow type, or None: times of day, half floats, durations, and more."""
    if isinstance(kind, pa.BaseExtensionType):
        return _spark_type(kind.storage_type)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return T.TimestampType() if kind.tz else T.TimestampNTZType()
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale) if kind.precision <= 38 else None
    if pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    if pa.types.is_map(kind):
        key, item = _spark_type(kind.key_type), _spark_type(kind.item_type)
        return T.MapType(key, item) if key and item else None
    if pa.types.is_struct(kind):
        fields = [(part.name, _spark_type(part.type)) for part in kind]
        found = [T.StructField(name, inner) for name, inner in fields if inner is not None]
        return T.StructType(found) if len(found) == len(fields) else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = _spark_type(kind.value_type)
        return None if inner is None else T.ArrayType(inner)
    return None


def _places(frame: DataFrame) -> list[Column]:
    return [F.col(name) for name in (_PATH, _START) if name in frame.columns]


# -- csv --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What DuckDB found in one csv file. ``names`` are its columns in their order."""

    delimiter: str
    quote: str
    escape: str
    comment: str
    header: bool
    names: tuple[str, ...]


def _csv_scans(files: list[str], schema: pa.Schema, columns: list[str], stream: str) -> list[_Scan]:
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
            cast = _csv_cast(schema.field(name).type, formats)
            if cast is None:
                raise _no_type(schema.field(name), stream)
            casts[name] = (place, cast)
        scans.append(_csv_scan(dialect, members, casts))
    return scans


def _no_type(field: pa.Field, stream: str) -> SourceError:
    return SourceError(
        f"stream {stream!r}: Spark has no type for the column {field.name!r}, a {field.type}:"
        " use --engine local"
    )


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


def _csv_scan(dialect: _Dialect, files: list[str], casts: dict[str, tuple[int, _Cast]]) -> _Scan:
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
        frame = frame.select(*read, *stored, _BROKEN, *_places(frame))
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
                failed = F.col(stored[place]).isNotNull() & _column(name).isNull()
                column = F.when(failed, F.lit(name)).otherwise(column)
                reason = F.when(failed, F.lit(cast.fault)).otherwise(reason)
        frame = frame.withColumn(BAD_COLUMN, column).withColumn(BAD_REASON, reason)
        # Spark keeps the text of a broken line only; that of others is put together again.
        line = F.coalesce(_BROKEN, _line(dialect, stored))
        value = F.when(F.col(BAD_REASON).isNotNull(), line).alias(BAD_VALUE)
        needed = [_column(name) for name in casts]
        return frame.select(*needed, BAD_COLUMN, BAD_REASON, value, *_places(frame))

    return _Scan("csv", options, T.StructType(fields), files, refine)


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


# -- json -------------------------------------------------------------------------------------


def _json_scans(files: list[str], schema: pa.Schema, ending: str, stream: str) -> list[_Scan]:
    """Files of one record a line, and files (.json only) of one array."""
    connection = duckdb.connect()
    kinds = _json_types(connection, files, ending, schema.names)
    fields, casts = [], {}
    for field in schema:
        _check_key(connection, files, field.name, ending, stream)
        cast = _json_cast(field.type, kinds[field.name] == "JSON")
        stored = cast.stored if cast else _spark_type(field.type)
        if stored is None:
            raise _no_type(field, stream)
        fields.append(T.StructField(field.name, stored))
        casts[field.name] = cast

    def refine(frame: DataFrame) -> DataFrame:
        read = [
            (cast.read(_column(name)) if cast else _column(name)).alias(name)
            for name, cast in casts.items()
        ]
        nothing = F.lit(None).cast("string")
        bad = [nothing.alias(name) for name in (BAD_COLUMN, BAD_REASON, BAD_VALUE)]
        return frame.select(*read, *bad, *_places(frame))

    shapes: dict[bool, list[str]] = {}
    for file in files:
        shapes.setdefault(ending == ".json" and _is_array(file, stream), []).append(file)
    return [
        _Scan("json", {"multiLine": str(array)}, T.StructType(fields), members, refine)
        for array, members in shapes.items()
    ]


def _json_types(
    connection: duckdb.DuckDBPyConnection, files: list[str], ending: str, names: Iterable[str]
) -> dict[str, str]:
    """DuckDB's types: Arrow does not tell text from JSON of any type."""
    form = "auto" if ending == ".json" else "newline_delimited"
    found = connection.execute(
        f"DESCRIBE SELECT * FROM read_json(?, format = '{form}', union_by_name = true,"
        " ignore_errors = true)",
        [files],
    ).fetchall()
    return {row[0]: row[1] for row in found if row[0] in names}


def _check_key(
    connection: duckdb.DuckDBPyConnection, files: list[str], name: str, ending: str, stream: str
) -> None:
    """DuckDB gives new names to keys that differ only in case; Spark must find the keys."""
    if name != "json" and not re.search(r"_\d+$", name):
        return
    form = "auto" if ending == ".json" else "newline_delimited"
    key = '$."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    found = connection.execute(
        f"SELECT 1 FROM (SELECT json FROM read_json_objects(?, format = '{form}',"
        " ignore_errors = true) LIMIT 100000) WHERE json_exists(json, ?) LIMIT 1",
        [files, key],
    ).fetchone()
    if found is None:
        raise SourceError(
            f"stream {stream!r}: no record has the key {name!r}: keys that differ only in case, and"
            " lines that are no records, cannot be read by Spark: use --engine local"
        )


def _is_array(file: str, stream: str) -> bool:
    """Whether a .json file is one array, not a record a line."""
    opener = gzip.open if file.endswith(".gz") else open
    with opener(file, "rt", encoding="utf-8", errors="replace") as opened:
        line = next((line for line in opened if line.strip()), "")
    if line.lstrip().startswith("["):
        return True
    if line.lstrip().startswith("{"):
        try:
            json.loads(line)
        except ValueError:
            raise SourceError(
                f"stream {stream!r}: the first record of {file} is not on a line of its own: Spark"
                " reads one record a line or one array; convert the file, or use --engine local"
            ) from None
    return False


# -- text to values, by DuckDB's rules --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cast:
    """How a stored column is read; ``fault`` is said of a value that cannot be read."""

    read: Callable[[Column], Column]
    fault: str | None = None
    stored: T.DataType = T.StringType()  # noqa: RUF009


def _csv_cast(kind: pa.DataType, formats: dict[str, str]) -> _Cast | None:
    """None where Spark has no type."""
    wanted = _spark_type(kind)
    if wanted is None:
        return None
    if pa.types.is_integer(kind):
        return _Cast(lambda text: _integer(text, wanted, F.round), "not a number")
    if pa.types.is_floating(kind):
        return _Cast(_double, "not a number")
    if pa.types.is_boolean(kind):
        return _Cast(_boolean, "not a number")
    if pa.types.is_date(kind):
        return _Cast(lambda text: _date(text, formats.get("date")), "not a timestamp")
    if pa.types.is_timestamp(kind):
        form = None if kind.tz else formats.get("timestamp")
        return _Cast(lambda text: _moment(text, bool(kind.tz), form), "not a timestamp")
    if pa.types.is_decimal(kind):
        return _Cast(lambda text: text.try_cast(wanted), "not a number")
    if wanted == T.StringType():
        return _Cast(lambda text: text)
    return None


def _json_cast(kind: pa.DataType, any_type: bool) -> _Cast | None:
    """None for nested values, which Spark's own reader reads."""
    if any_type:
        return _Cast(
            lambda value: F.nullif(F.to_json(value), F.lit("null")), stored=T.VariantType()
        )
    if pa.types.is_integer(kind):
        # DuckDB rounds halves of numbers in json to even, and those in text away from zero.
        wanted = _PLAIN[kind]
        return _Cast(lambda text: _integer(_without_truth(text), wanted, F.bround))
    if pa.types.is_floating(kind):
        return _Cast(lambda text: _double(_without_truth(text)))
    if pa.types.is_boolean(kind):
        return _Cast(lambda text: F.coalesce(_boolean(text), _double(text) != 0))
    if pa.types.is_date(kind):
        return _Cast(lambda text: _date(text, "%Y-%m-%d"))
    if pa.types.is_timestamp(kind) and not kind.tz:
        return _Cast(lambda text: _moment(text, False, None, shift=True))
    return _csv_cast(kind, {})


_SPACES = " \t\n\x0b\x0c\r"


def _trimmed(text: Column) -> Column:
    return F.btrim(text, F.lit(_SPACES))


def _without_truth(text: Column) -> Column:
    """In json, true is 1, false is 0, and so is -0 (but not -0.0)."""
    return F.when(text == "true", "1").when(text.isin("false", "-0"), "0").otherwise(text)


def _without_separators(text: Column) -> Column:
    """1_000 is a number to DuckDB, 1__0 and _1 are none."""
    return F.regexp_replace(_trimmed(text), r"(?<=\d)_(?=\d)", "")


def _integer(text: Column, kind: T.DataType, rounded: Callable[[Column, int], Column]) -> Column:
    plain = _without_separators(text)
    # Halves away from zero or to even, as the caller says; 20 digits before the point are enough.
    number = plain.rlike(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    decimal = rounded(plain.try_cast(T.DecimalType(38, 18)), 0)
    sign = F.when(plain.startswith("-"), F.lit("-")).otherwise(F.lit(""))
    based = F.when(plain.rlike("^[+-]?0[xX][0-9a-fA-F]{1,15}$"), F.lit(16)).when(
        plain.rlike("^[+-]?0[bB][01]{1,62}$"), F.lit(2)
    )
    digits = F.regexp_replace(plain, "^[+-]?0[xXbB]", "")
    other = F.when(number, decimal.try_cast(kind)).when(
        based.isNotNull(),
        F.concat(
            sign,
            F.when(based == 16, F.conv(digits, 16, 10)).otherwise(F.conv(digits, 2, 10)),
        ).try_cast(kind),
    )
    return F.coalesce(text.try_cast(kind), other)


def _double(text: Column) -> Column:
    plain = _without_separators(text)
    # Java also reads 1d, 1f and 0x1p3.
    digits = r"^[0-9.eE+\-]+$"
    word = F.lower(plain)
    return (
        F.when(text.rlike(digits), text.try_cast("double"))
        .when(plain.rlike(digits), plain.try_cast("double"))
        .when(word.isin("inf", "infinity", "+inf", "+infinity"), F.lit(float("inf")))
        .when(word.isin("-inf", "-infinity"), F.lit(float("-inf")))
        .when(word.isin("nan", "-nan", "+nan"), F.lit(float("nan")))
    )


def _boolean(text: Column) -> Column:
    return F.lower(_trimmed(text)).try_cast("boolean")


def _date(text: Column, form: str | None) -> Column:
    """Without a format, an ISO date, whatever stands after it."""
    pattern, iso = r"^\s*(\d{1,6})([-/])(\d{1,2})\2(\d{1,2})([ T].*)?$", "$1-$3-$4"
    if form is not None:
        pattern, iso, _ = _translated(form)
    found = _year_of_four(F.regexp_replace(text, pattern, iso)).try_cast("date")
    return F.when(text.rlike(pattern), found)


_USUAL = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?"
_CLOCK = r"\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?"
_ZONE = r"\s*([zZ]|UTC|[+-]\d{1,2}(:?\d{2})?)"
_ISO = rf"^\d{{1,6}}([-/])\d{{1,2}}\1\d{{1,2}}([T ]{_CLOCK}({_ZONE})?)?$"


def _moment(text: Column, zoned: bool, form: str | None, shift: bool = False) -> Column:
    """A timestamp with or without zone. A text that names no zone means UTC.

    Without zone, the zone that a text names counts in json (``shift``) and not in csv.
    """
    given, text = text, _trimmed(text)
    hours = None
    if form is None:
        sound = text.rlike(_ISO)
        iso = _year_of_four(F.replace(text, F.lit("/"), F.lit("-")))
    else:
        pattern, shape, hours = _translated(form)
        sound = text.rlike(pattern)
        iso = _year_of_four(F.regexp_replace(text, pattern, shape))
    has_zone = iso.rlike(rf":[\d.]+{_ZONE}$")
    if zoned:
        rest = F.when(~iso.contains(":"), " 00:00:00Z").when(iso.rlike("^[^:]*:[^:]*$"), ":00Z")
        full = F.concat(iso, rest.otherwise("Z"))
        read = F.when(has_zone, iso).otherwise(full).try_cast("timestamp")
    else:
        read = iso.try_cast("timestamp_ntz")
    if shift:
        shifted = _local_moment(F.unix_micros(F.when(has_zone, iso).try_cast("timestamp")))
        read = F.when(has_zone, shifted).otherwise(read)
    if hours is not None:
        twelve = F.regexp_replace(text, pattern, hours)
        hour = F.split_part(twelve, F.lit(" "), F.lit(1)).try_cast("int") % 12
        hour = hour + F.when(F.upper(twelve).endswith("PM"), 12).otherwise(0)
        read = read + F.make_dt_interval(hours=hour)
    if form is not None:
        return F.when(sound, read)
    # Nearly all times are written like this, and need no second look.
    usual = given.rlike(_USUAL + (r"(Z|[+-]\d\d:\d\d)$" if zoned else "$"))
    quick = given.try_cast("timestamp" if zoned else "timestamp_ntz")
    return F.when(usual, quick).when(sound, read)


def _year_of_four(text: Column) -> Column:
    """Spark wants four digits. Two that strptime calls %y are marked and mean 1969 to 2068."""
    padded = F.regexp_replace(F.concat(F.lit("000"), text), r"^0*(\d{4,}-)", "$1")
    late = F.regexp_replace(text, "^y", "20")
    early = F.regexp_replace(text, "^y", "19")
    return (
        F.when(text.rlike(r"^\d{4}-"), text)
        .when(text.rlike("^y(69|[789])"), early)
        .when(text.startswith("y"), late)
        .otherwise(padded)
    )


_PARTS = {
    "Y": r"(\d{1,4})", "y": r"(\d{2})", "m": r"(\d{1,2})", "d": r"(\d{1,2})", "H": r"(\d{1,2})",
    "I": r"(\d{1,2})", "M": r"(\d{1,2})", "S": r"(\d{1,2})", "f": r"(\d{1,9})",
    "p": r"([aApP][mM])", "z": r"([zZ]|[+-]\d{2}(?::?\d{2})?)",
}  # fmt: skip


def _translated(form: str) -> tuple[str, str, str | None]:
    """A strptime format as a pattern, the ISO text made of its groups, and the 12-hour clock."""
    groups: dict[str, int] = {}
    pattern = ""
    for literal, part in re.findall(r"([^%]+)|%-?(.)", form):
        if part:
            pattern += _PARTS[part]
            groups[part] = len(groups) + 1
        else:
            pattern += re.escape(literal)
    found = {part: f"${number}" for part, number in groups.items()}
    iso = f"{found.get('Y') or 'y' + found['y']}-{found['m']}-{found['d']}"
    hour = found.get("H") or ("00" if "I" in found else None)
    if hour is not None:
        iso += f" {hour}:{found.get('M', '00')}:{found.get('S', '00')}"
        iso += f".{found['f']}" if "f" in found else ""
        iso += found.get("z", "")
    clock = f"{found['I']} {found.get('p', 'AM')}" if "I" in found else None
    return rf"^\s*{pattern}\s*$", iso, clock


def _floor_div(number: Column, by: int) -> Column:
    """Integer division that rounds down, also below zero, without a detour over floats."""
    whole = F.call_function("div", number, F.lit(by).cast("long"))
    return whole - F.when(number % by < 0, 1).otherwise(0)


def _local_moment(micros: Column) -> Column:
    """A timestamp without zone from microseconds since 1970, whatever zone the session is in."""
    day = 86_400_000_000
    seconds = F.pmod(micros, F.lit(day)).cast(T.DecimalType(18, 6)) / 1_000_000
    since = F.make_dt_interval(days=_floor_div(micros, day).cast("int"), secs=seconds)
    return F.lit("1970-01-01 00:00:00").cast("timestamp_ntz") + since
