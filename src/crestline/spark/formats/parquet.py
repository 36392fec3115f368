"""Parquet: typed already, so Spark reads it as it is, but for times that it knows otherwise.

Nanoseconds are read as numbers and floored to microseconds; files that hold a column in another
type than the first file are scanned apart and cast to that type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError
from crestline.spark.formats.scan import (
    Scan,
    column_named,
    floor_div,
    local_moment,
    places,
    spark_type,
)


def parquet_scans(
    session: SparkSession, files: list[str], schema: pa.Schema, stream: str
) -> list[Scan]:
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
        scans.append(Scan("parquet", {}, T.StructType(fields), members, refine))
    return scans


def _refine_parquet(
    names: list[str], layout: tuple[Any, ...], target: tuple[Any, ...]
) -> Callable[[DataFrame], DataFrame]:
    def refine(frame: DataFrame) -> DataFrame:
        columns = []
        for name, (kind, old), (wanted, _) in zip(names, layout, target, strict=True):
            column = column_named(name)
            if pa.types.is_timestamp(kind) and kind.unit == "ns" and not old:
                micros = floor_div(column, 1000)
                column = F.timestamp_micros(micros) if kind.tz else local_moment(micros)
            if kind != wanted:
                column = column.cast(spark_type(wanted) or T.StringType())
            columns.append(column.alias(name))
        return frame.select(*columns, *places(frame))

    return refine


def _stored_type(kind: pa.DataType, old_time: bool, name: str, stream: str) -> T.DataType:
    """What Spark reads a parquet column as."""
    if old_time:
        return T.TimestampType()
    if pa.types.is_null(kind):
        return T.IntegerType()
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return T.LongType()
    found = spark_type(kind)
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
