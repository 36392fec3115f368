"""Json: one record a line, or one array a file (.json only), which one task reads whole.

Values are read as text and cast; those of any type and nested ones are left to Spark's reader.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError
from crestline.spark.formats.casts import json_cast
from crestline.spark.formats.scan import (
    BAD_COLUMN,
    BAD_REASON,
    BAD_VALUE,
    Scan,
    column_named,
    no_type,
    places,
    spark_type,
)


def json_scans(files: list[str], schema: pa.Schema, ending: str, stream: str) -> list[Scan]:
    """Files of one record a line, and files (.json only) of one array."""
    connection = duckdb.connect()
    kinds = _json_types(connection, files, ending, schema.names)
    fields, casts = [], {}
    for field in schema:
        _check_key(connection, files, field.name, ending, stream)
        cast = json_cast(field.type, kinds[field.name] == "JSON")
        stored = cast.stored if cast else spark_type(field.type)
        if stored is None:
            raise no_type(field, stream)
        fields.append(T.StructField(field.name, stored))
        casts[field.name] = cast

    def refine(frame: DataFrame) -> DataFrame:
        read = [
            (cast.read(column_named(name)) if cast else column_named(name)).alias(name)
            for name, cast in casts.items()
        ]
        nothing = F.lit(None).cast("string")
        bad = [nothing.alias(name) for name in (BAD_COLUMN, BAD_REASON, BAD_VALUE)]
        return frame.select(*read, *bad, *places(frame))

    shapes: dict[bool, list[str]] = {}
    for file in files:
        shapes.setdefault(ending == ".json" and _is_array(file, stream), []).append(file)
    return [
        Scan("json", {"multiLine": str(array)}, T.StructType(fields), members, refine)
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
