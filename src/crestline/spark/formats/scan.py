"""What the formats share: the scan that each makes of files, and the types and columns in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from crestline.core.errors import SourceError

#: Text formats only: which needed column of a record could not be read, why, and the record's text.
BAD_COLUMN = "__crestline_bad_column"
BAD_REASON = "__crestline_bad_reason"
BAD_VALUE = "__crestline_bad_value"
#: Bounded files only: the file of a record, and where the piece that it was read in begins.
PATH, START = "__crestline_path", "__crestline_start"


@dataclass(frozen=True, slots=True)
class Scan:
    """Files of one layout: Spark's format, options and schema, and the columns made of it."""

    format: str
    options: dict[str, str]
    schema: T.StructType
    files: list[str]
    refine: Callable[[DataFrame], DataFrame]


def column_named(name: str) -> Column:
    """A column by its exact name, whatever dots and backquotes are in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def places(frame: DataFrame) -> list[Column]:
    """PATH and START, where the frame has them: a refined frame keeps them."""
    return [F.col(name) for name in (PATH, START) if name in frame.columns]


#: Spark's types for Arrow's, where one word names both; the others are made by ``spark_type``.
PLAIN: dict[pa.DataType, T.DataType] = {
    pa.bool_(): T.BooleanType(), pa.int8(): T.ByteType(), pa.int16(): T.ShortType(),
    pa.int32(): T.IntegerType(), pa.int64(): T.LongType(), pa.uint8(): T.ShortType(),
    pa.uint16(): T.IntegerType(), pa.uint32(): T.LongType(), pa.uint64(): T.DecimalType(20, 0),
    pa.float32(): T.FloatType(), pa.float64(): T.DoubleType(), pa.string(): T.StringType(),
    pa.large_string(): T.StringType(), pa.string_view(): T.StringType(),
    pa.binary(): T.BinaryType(), pa.large_binary(): T.BinaryType(), pa.date32(): T.DateType(),
    pa.binary_view(): T.BinaryType(), pa.date64(): T.DateType(), pa.null(): T.StringType(),
}  # fmt: skip


def spark_type(kind: pa.DataType) -> T.DataType | None:
    """Spark's type for an Arrow type, or None: times of day, half floats, durations, and more."""
    if isinstance(kind, pa.BaseExtensionType):
        return spark_type(kind.storage_type)
    if kind in PLAIN:
        return PLAIN[kind]
    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return T.TimestampType() if kind.tz else T.TimestampNTZType()
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale) if kind.precision <= 38 else None
    if pa.types.is_fixed_size_binary(kind):
        return T.BinaryType()
    if pa.types.is_map(kind):
        key, item = spark_type(kind.key_type), spark_type(kind.item_type)
        return T.MapType(key, item) if key and item else None
    if pa.types.is_struct(kind):
        fields = [(part.name, spark_type(part.type)) for part in kind]
        found = [T.StructField(name, inner) for name, inner in fields if inner is not None]
        return T.StructType(found) if len(found) == len(fields) else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        inner = spark_type(kind.value_type)
        return None if inner is None else T.ArrayType(inner)
    return None


def no_type(field: pa.Field, stream: str) -> SourceError:
    """The error for a needed column of text whose type Spark lacks."""
    return SourceError(
        f"stream {stream!r}: Spark has no type for the column {field.name!r}, a {field.type}:"
        " use --engine local"
    )


def floor_div(number: Column, by: int) -> Column:
    """Integer division that rounds down, also below zero, without a detour over floats."""
    whole = F.call_function("div", number, F.lit(by).cast("long"))
    return whole - F.when(number % by < 0, 1).otherwise(0)


def local_moment(micros: Column) -> Column:
    """A timestamp without zone from microseconds since 1970, whatever zone the session is in."""
    day = 86_400_000_000
    seconds = F.pmod(micros, F.lit(day)).cast(T.DecimalType(18, 6)) / 1_000_000
    since = F.make_dt_interval(days=floor_div(micros, day).cast("int"), secs=seconds)
    return F.lit("1970-01-01 00:00:00").cast("timestamp_ntz") + since
