"""Parquet: typed already, so Spark reads it as it is, but for times that it knows otherwise.

Nanoseconds are read as numbers and floored to microseconds. Files that hold a column in different
types are scanned apart and brought to the wider one (see ``crestline.runtime.fitting``); a record
with a value that does not fit is marked as bad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError
from crestline.runtime.conforming import misfit_reason
from crestline.runtime.fitting import bare_type, is_number
from crestline.spark.formats.scan import (
    BAD_COLUMN,
    BAD_REASON,
    BAD_VALUE,
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
            _check_times(parquet.metadata, schema.names, stream)
        for field in schema:
            alike = [name for name in found.names if name.lower() == field.name.lower()]
            if len(alike) > 1:
                raise SourceError(
                    f"stream {stream!r}: the columns {' and '.join(map(repr, alike))} differ only"
                    " in case, which Spark cannot tell apart: rename one, or use --engine local"
                )
        layout = tuple((found.field(f.name).type, physical.get(f.name) == "INT96") for f in schema)
        layouts.setdefault(layout, []).append(file)
    mixed = {
        field.name
        for place, field in enumerate(schema)
        if len({bare_type(layout[place][0]) for layout in layouts}) > 1
    }
    scans = []
    for layout, members in layouts.items():
        fields = [
            T.StructField(field.name, _stored_type(kind, old, field.name, stream))
            for field, (kind, old) in zip(schema, layout, strict=True)
        ]
        if any(pa.types.is_timestamp(k) and k.unit == "ns" and not old for k, old in layout):
            # Spark has no other way to read nanoseconds, and asks when the scan is planned.
            session.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
        refine = _refine_parquet(schema, layout, mixed, stream)
        scans.append(Scan("parquet", {}, T.StructType(fields), members, refine))
    return scans


def _check_times(metadata: pq.FileMetaData, names: list[str], stream: str) -> None:
    """Raise SourceError if milliseconds reach farther than Spark's microseconds: it would fail in
    the middle of the run."""
    for group in range(metadata.num_row_groups):
        for place in range(metadata.num_columns):
            column = metadata.row_group(group).column(place)
            if column.path_in_schema not in names or column.physical_type != "INT64":
                continue
            known = column.statistics
            if (
                known is None
                or not known.has_min_max
                or "milliseconds" not in str(known.logical_type)
            ):
                continue
            if max(abs(known.min_raw), abs(known.max_raw)) > _MOST_MILLISECONDS:
                raise SourceError(
                    f"stream {stream!r}: the column {column.path_in_schema!r} holds times that"
                    " Spark cannot read: use --engine local"
                )


_MOST_MILLISECONDS = ((1 << 63) - 1) // 1000


def _refine_parquet(
    schema: pa.Schema, layout: tuple[Any, ...], mixed: set[str], stream: str
) -> Callable[[DataFrame], DataFrame]:
    """The columns in the types of the schema; with marks of bad records if any type is ``mixed``,
    so that all scans have the same columns."""
    for field, (kind, _) in zip(schema, layout, strict=True):
        if field.name in mixed and not _becomes(kind, field.type):
            raise SourceError(
                f"stream {stream!r}: the column {field.name!r} is {kind} in some files and"
                f" {field.type} in others, which Spark cannot read together: use --engine local"
            )

    def refine(frame: DataFrame) -> DataFrame:
        columns = []
        bad, value = F.lit(None).cast("string"), F.lit(None).cast("string")
        reason = F.lit(None).cast("string")
        for field, (kind, old) in zip(schema, layout, strict=True):
            stored = column = column_named(field.name)
            if pa.types.is_timestamp(kind) and kind.unit == "ns" and not old:
                micros = floor_div(column, 1000)
                column = F.timestamp_micros(micros) if kind.tz else local_moment(micros)
            if field.name in mixed and bare_type(kind) != bare_type(field.type):
                wanted = spark_type(field.type) or T.StringType()
                column = column.try_cast(wanted)
                unfit = _changes(stored, column, kind, field.type)
                column = F.when(~unfit, column)
                fault = F.lit(misfit_reason(kind, field.type))
                bad = F.when(unfit, F.lit(field.name)).otherwise(bad)
                value = F.when(unfit, stored.cast("string")).otherwise(value)
                reason = F.when(unfit, fault).otherwise(reason)
            columns.append(column.alias(field.name))
        if mixed:
            columns += [bad.alias(BAD_COLUMN), reason.alias(BAD_REASON), value.alias(BAD_VALUE)]
        return frame.select(*columns, *places(frame))

    return refine


def _becomes(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Spark can bring values of one type to the other as the in-process engine does."""
    kind, wanted = bare_type(kind), bare_type(wanted)
    if kind == wanted or pa.types.is_null(kind):
        return True
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
    return is_number(kind) and is_number(wanted)


def _changes(stored: Column, fitted: Column, kind: pa.DataType, wanted: pa.DataType) -> Column:
    """Whether a value would change: a whole number that a double does not hold, or digits lost."""
    if not is_number(bare_type(kind)):
        return F.lit(False)
    changed = fitted.isNull()
    if pa.types.is_integer(kind) and pa.types.is_floating(wanted):
        changed |= ~stored.between(F.lit(-_EXACT), F.lit(_EXACT))
    elif pa.types.is_decimal(kind):
        back = fitted.try_cast(T.DecimalType(kind.precision, kind.scale))
        changed |= back.isNull() | (back != stored)
    return stored.isNotNull() & changed


#: A double holds every whole number up to here.
_EXACT = 1 << 53


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
