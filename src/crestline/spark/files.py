"""Files read by Spark as the in-process engine reads them: same records, types and rejects.

The driver looks at the files as ``crestline.sources`` does: which they are, their columns and
types, and for text the dialect that DuckDB sniffs in each. Spark only reads: files that share a
layout become one scan (``crestline.spark.formats``), and the scans one frame. Text is read as text
and cast inside Catalyst by expressions that follow DuckDB's rules rather than Spark's.

A csv file in which DuckDB finds no quotes is split among tasks; one with quotes may hold line
breaks inside them, so one task reads it whole. The same goes for compressed text and json arrays.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote as percent_encode

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError
from crestline.sources import (
    compression,
    encoding_of,
    ending_of,
    find_files,
    source,
)
from crestline.spark.formats.csv import csv_scans
from crestline.spark.formats.jsonlines import json_scans
from crestline.spark.formats.parquet import parquet_scans
from crestline.spark.formats.scan import (
    BAD_COLUMN,
    BAD_REASON,
    BAD_VALUE,
    PATH,
    START,
    Scan,
    column_named,
)

__all__ = [
    "BAD_COLUMN",
    "BAD_REASON",
    "BAD_VALUE",
    "CHUNK",
    "INPUT_BITS",
    "FileStream",
    "open_files",
]

#: Orders the pieces of bounded files as the in-process engine reads them: the number of the file in
#: the order of names, then where the piece begins in it. Records of a piece keep their order.
CHUNK = "__crestline_chunk"

_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".tsv")
_START_BITS = 40
#: Above them, the number of the input where there are several; below, as many files as fit.
INPUT_BITS = 57
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


def open_files(
    session: SparkSession,
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    stream: str,
    columns: list[str],
    *,
    follow: bool = False,
    files_per_trigger: int | None = None,
) -> FileStream:
    """A file, a folder or a glob, or a list of them; once or, with ``follow``, a single one
    together with all that appears there.

    Files that are followed must have the layout of the first (for csv also the order of its
    columns). Names that begin with ``.`` or ``_`` are skipped: write under such a name and rename,
    because a file is read as soon as it is seen.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    places = [os.fspath(p) if "://" in os.fspath(p) else os.path.abspath(p) for p in paths]
    given = source(places, stream)
    files = [file for each in places for file in find_files(each, stream)]
    _check_readable(paths, files, [name for name in columns if name in given.spelled], stream)
    stored = pa.schema([field for field in given.schema if field.name not in given.spelled])
    given = replace(given, schema=stored)
    ending = ending_of(files[0])
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
        scans = parquet_scans(session, files[:1] if follow else files, schema, stream)
    elif ending in _CSV:
        scans = csv_scans(files[:1] if follow else files, given.schema, columns, stream)
    else:
        scans = json_scans(files[:1] if follow else files, schema, ending, stream)
    if follow:
        frame = _follow(session, places[0], scans[0], ending, files_per_trigger)
    else:
        frame = _read(session, scans, files)
    kept = [name for name in frame.columns if name not in schema.names]
    frame = frame.select(*[column_named(name) for name in [*columns, *kept]])
    return FileStream(pa.schema([schema.field(name) for name in columns]), given.typed, frame)


def _check_readable(
    paths: Sequence[object], files: list[str], spelled: list[str], stream: str
) -> None:
    """Raise SourceError for what only the in-process engine reads."""
    compressed = next((c for c in map(compression, files) if c not in ("", ".gz")), None)
    problem = None
    if encoding_of(paths) is not None:
        problem = "text in another encoding than UTF-8"
    elif compressed is not None:
        problem = f"{compressed} files"
    elif spelled:
        problem = f"the column {spelled[0]!r}, which only the names of folders spell,"
    if problem is not None:
        raise SourceError(
            f"stream {stream!r}: {problem} can be read in one process only: use engine='local'"
            " (--engine local)"
        )


def _nothing(session: SparkSession, columns: list[str]) -> DataFrame:
    texts_of = [*columns, BAD_COLUMN, BAD_REASON, BAD_VALUE]
    fields = [T.StructField(name, T.StringType()) for name in texts_of]
    place = len(columns)
    fields.insert(place, T.StructField(CHUNK, T.LongType()))
    return session.createDataFrame([], T.StructType(fields))


# -- bounded -----------------------------------------------------------------------------------


def _read(session: SparkSession, scans: list[Scan], files: list[str]) -> DataFrame:
    """The union of the scans, with CHUNK."""
    numbers = {file: number for number, file in enumerate(files)}
    united: DataFrame | None = None
    for scan in scans:
        reader = session.read.format(scan.format).options(**scan.options).schema(scan.schema)
        frame = reader.load([_escaped(file, _SPECIAL) for file in scan.files])
        frame = frame.select(
            "*",
            F.col("_metadata.file_path").alias(PATH),
            F.col("_metadata.file_block_start").alias(START),
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
        table = session.createDataFrame(rows, f"{PATH} string, {CHUNK} long")
        frame = frame.withColumn(PATH, F.regexp_replace(PATH, "^file:/+", "/"))
        frame = frame.join(F.broadcast(table), PATH, "left")
        # A path that is spelled in an unforeseen way must not pass as the first file.
        number = F.coalesce(CHUNK, F.raise_error(F.concat(F.lit("unknown file "), PATH)))
    kept = [column_named(name) for name in frame.columns if name not in (PATH, START, CHUNK)]
    return frame.select(*kept, number.bitwiseOR(F.col(START)).cast("long").alias(CHUNK))


def _uri(file: str) -> str:
    """A path as ``_metadata.file_path`` spells it: escaped as java.net.URI does."""
    parts = []
    for letter in file:
        plain = ord(letter) > 127 and unicodedata.category(letter) not in ("Cc", "Zs", "Zl", "Zp")
        parts.append(letter if plain else percent_encode(letter, safe="/:@&=+$,;!*'()~"))
    return "".join(parts)


# -- growing -----------------------------------------------------------------------------------


def _follow(
    session: SparkSession, path: str, scan: Scan, ending: str, files_per_trigger: int | None
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
        # Spark takes a plain name for a folder. An escaped letter makes a pattern of it, of this
        # file alone, so that nothing else in the folder is looked at.
        path = _escaped(path, _SPECIAL + path[1])
    else:
        path = _escaped(path, "\\{}")
    return scan.refine(reader.load(path))


def _escaped(path: str, special: str) -> str:
    """Characters that mean something to Hadoop's globs and nothing to Python's."""
    return "".join("\\" + letter if letter in special else letter for letter in path)
