"""The types of a stream's columns where its batches differ: widened without loss, or not at all.

``wider`` is the narrowest type that two columns fit into. Where the type alone does not decide (an
``int64`` may or may not be a ``double``), ``fit`` looks at each value. Records whose values do not
fit are rejected, so no value ever changes silently.

Texts are special in columns that a query reads as numbers or as times (*reading* columns: a plain
score, probability or event time). There a text means the number or the time that it spells. In all
other columns a text is a text: only an integer in its usual spelling fits into a column of
integers. ``007`` does not, because ``7`` would look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.errors import SourceError
from crestline.core.tables import plain_type
from crestline.runtime.columns import usable, usable_type
from crestline.types import Bools

#: Larger precisions exist in Arrow, but not in DuckDB or Spark.
MOST_DIGITS = 38
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_UNITS = ("s", "ms", "us", "ns")
MOMENT = pa.timestamp("us", "UTC")


def bare_type(dtype: pa.DataType) -> pa.DataType:
    """The type of the values, however they are stored: dictionaries, views, large offsets, runs."""
    dtype = plain_type(usable_type(plain_type(dtype)))
    if pa.types.is_large_string(dtype):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(dtype) else dtype


def is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(bare_type(dtype)))


def is_number(dtype: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype)
    )


def _is_moment(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(dtype) or pa.types.is_date(dtype))


# -- types ------------------------------------------------------------------------------------


def wider(dtype: pa.DataType, other: pa.DataType, reading: bool = False) -> pa.DataType:
    """The type for values of both types; ``dtype`` if there is no type that both fit into.

    >>> wider(pa.int64(), pa.float64()), wider(pa.int64(), pa.uint64())
    (DataType(double), Decimal128Type(decimal128(20, 0)))
    >>> wider(pa.null(), pa.string()), wider(pa.int64(), pa.string())
    (DataType(string), DataType(int64))
    >>> wider(pa.string(), pa.int64()), wider(pa.string(), pa.int64(), reading=True)
    (DataType(string), DataType(double))
    """
    one, two = bare_type(dtype), bare_type(other)
    if one == two or pa.types.is_null(two):
        return dtype
    if pa.types.is_null(one):
        return other
    if reading and is_text(one):
        one = _spelled(two)
    elif reading and is_text(two):
        two = _spelled(one)
    if is_number(one) and is_number(two):
        return _wider_number(one, two)
    if _is_moment(one) and _is_moment(two):
        return _wider_moment(one, two)
    if pa.types.is_duration(one) and pa.types.is_duration(two):
        return pa.duration(_finer(one.unit, two.unit))
    if pa.types.is_time(one) and pa.types.is_time(two):
        return pa.time64(_finer(_finer(one.unit, two.unit), "us"))
    return dtype


def _spelled(other: pa.DataType) -> pa.DataType:
    """What texts mean in a reading column that also has values of another type."""
    return MOMENT if _is_moment(other) else pa.float64()


def _wider_number(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(one) or pa.types.is_floating(other):
        both = pa.types.is_floating(one) and pa.types.is_floating(other)
        return (one if one.bit_width > other.bit_width else other) if both else pa.float64()
    if pa.types.is_decimal(one) or pa.types.is_decimal(other):
        scale = max(_scale(one), _scale(other))
        whole = max(_whole_digits(one), _whole_digits(other))
        return pa.decimal128(min(MOST_DIGITS, whole + scale), min(MOST_DIGITS, scale))
    signed = [dtype.bit_width for dtype in (one, other) if pa.types.is_signed_integer(dtype)]
    unsigned = [dtype.bit_width for dtype in (one, other) if pa.types.is_unsigned_integer(dtype)]
    if not signed:
        return one if one.bit_width > other.bit_width else other
    # A signed type holds an unsigned one of half its bits.
    bits = max(*signed, *(2 * width for width in unsigned))
    if bits > 64:
        return pa.decimal128(_DIGITS[64], 0)
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]


def _scale(dtype: pa.DataType) -> int:
    return int(dtype.scale) if pa.types.is_decimal(dtype) else 0


def _whole_digits(dtype: pa.DataType) -> int:
    return dtype.precision - dtype.scale if pa.types.is_decimal(dtype) else _DIGITS[dtype.bit_width]


def _wider_moment(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_date(one) and pa.types.is_date(other):
        return pa.date64()
    stamps = [dtype for dtype in (one, other) if pa.types.is_timestamp(dtype)]
    unit = _finer(stamps[0].unit, stamps[-1].unit)
    return pa.timestamp(unit, stamps[0].tz or stamps[-1].tz)  # times without a zone are UTC


def _finer(one: str, other: str) -> str:
    return max(one, other, key=_UNITS.index)


# -- values -----------------------------------------------------------------------------------


def fit(
    column: pa.ChunkedArray, dtype: pa.DataType, reading: bool = False
) -> tuple[pa.ChunkedArray, Bools | None]:
    """The column in another type, with NULL for values that do not fit, and which values those are.

    >>> fit(pa.chunked_array([[1.0, 9.75]]), pa.int64())[0].to_pylist()
    [1, None]
    >>> fit(pa.chunked_array([[2**53, 2**53 + 1]]), pa.float64())[1].tolist()
    [False, True]
    """
    source, target = bare_type(column.type), bare_type(dtype)
    if source == target:
        return column, None
    if column.type != source:
        column = usable(column, "of the batch", "").cast(source)
    if pa.types.is_null(source):
        return pa.chunked_array([pa.nulls(len(column), target)]), None
    if is_text(source):
        read = _reader(target, reading)
        return _by_value(column, target, lambda one: pa.array([read(one[0].as_py())], target))
    if not _means_the_same(source, target):
        return _by_value(column, target, lambda one: pa.nulls(1, target))
    try:
        fitting = column.cast(target)
        if not _rounds(source, target):
            return fitting, None
        lost = ~np.asarray(pc.equal(fitting.cast(source), column).fill_null(True).to_numpy())
        if not lost.any():
            return fitting, None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    return _by_value(column, target, _caster(source, target))


def _means_the_same(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of one type can be values of the other. A truth value is no number, and a
    number is no time, though Arrow would cast them."""
    if is_text(target):
        return not pa.types.is_nested(source) and not pa.types.is_binary(source)
    tests: list[Callable[[pa.DataType], bool]] = [is_number, _is_moment]
    tests += [pa.types.is_time, pa.types.is_duration, pa.types.is_nested]
    return any(test(source) and test(target) for test in tests)


def _rounds(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether Arrow's cast rounds without an error."""
    floating = [pa.types.is_floating(dtype) for dtype in (source, target)]
    decimal = [pa.types.is_decimal(dtype) for dtype in (source, target)]
    if any(floating) and any(decimal):
        return True
    if all(floating):
        return bool(source.bit_width > target.bit_width)
    return bool(pa.types.is_timestamp(source) and pa.types.is_date(target))


def _caster(source: pa.DataType, target: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Casts an array of one value, to NULL where that would change it."""

    def cast(one: pa.Array) -> pa.Array:
        try:
            cast_value = one.cast(target)
            if not _rounds(source, target) or cast_value.cast(source).equals(one):
                return cast_value
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        return pa.nulls(1, target)

    return cast


def _by_value(
    column: pa.ChunkedArray, dtype: pa.DataType, fitted: Callable[[pa.Array], pa.Array]
) -> tuple[pa.ChunkedArray, Bools | None]:
    """Fit value by value; each distinct value once."""
    values = column.combine_chunks()
    indices: pa.Array | None = None
    if not pa.types.is_nested(values.type) and not pa.types.is_interval(values.type):
        encoded = values.dictionary_encode()
        values, indices = encoded.dictionary, encoded.indices
    parts = [fitted(values.slice(i, 1)) for i in range(len(values))]
    fitting = pa.concat_arrays(parts) if parts else pa.array([], dtype)
    if indices is not None:
        fitting = fitting.take(indices)
    unfit = np.asarray(pc.and_(fitting.is_null(), column.is_valid()).to_numpy())
    return pa.chunked_array([fitting]), unfit if unfit.any() else None


class CandidateMisfit(SourceError):
    """A column cannot widen: a value that is kept would change."""


def retyped(table: pa.Table, types: pa.Schema) -> pa.Table:
    """The table with the columns in the types of the schema.

    Raises ``CandidateMisfit`` if a value does not fit.
    """
    for i, field in enumerate(table.schema):
        index = types.get_field_index(field.name)
        if index < 0 or types.field(index).type == field.type:
            continue
        dtype = types.field(index).type
        column, unfit = fit(table.column(i), dtype, reading=True)
        if unfit is not None:
            raise CandidateMisfit(f"kept values of {field.name} do not fit {dtype}")
        column = column.cast(plain_type(dtype))
        table = table.set_column(i, pa.field(field.name, column.type), column)
    return table


def joined(types: pa.Schema, tables: Iterable[pa.Table]) -> pa.Table:
    """Tables as one, with columns that may have widened since some of the rows came."""
    return pa.concat_tables([types.empty_table(), *(retyped(table, types) for table in tables)])


# -- texts ------------------------------------------------------------------------------------


def _reader(dtype: pa.DataType, reading: bool) -> Callable[[str], Any]:
    """A function that reads a text as a value of the type, or returns None."""
    if pa.types.is_timestamp(dtype):
        return lambda text: read_moment(text, dtype)
    if pa.types.is_floating(dtype):
        return lambda text: _narrow(read_number(text), dtype)
    if pa.types.is_decimal(dtype):
        return lambda text: _decimal(text, dtype)
    if pa.types.is_integer(dtype):
        return lambda text: _integer(text, dtype, reading)
    return lambda text: None


def read_texts(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    """Numbers or timestamps from a column of texts, NULL where a text is none."""
    if pa.types.is_timestamp(dtype):
        try:
            return _read_moments(column, dtype)
        except pa.ArrowInvalid:  # some text is unusual: read each by itself
            pass
    return pa.chunked_array([pa.array([read_text(v, dtype) for v in column.to_pylist()], dtype)])


def _read_moments(column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    """As ``read_moment`` for a whole column; ArrowInvalid unless all are plain times."""
    texts = pc.utf8_trim_whitespace(column)
    zoned = pc.match_substring_regex(pc.utf8_slice_codeunits(texts, 10), "[Z+-]")
    complete = pc.or_(zoned, pc.less_equal(pc.utf8_length(texts), 10))
    marked = pc.binary_join_element_wise(
        texts, pa.scalar("Z", texts.type), pa.scalar("", texts.type)
    )
    moments = pc.cast(pc.if_else(complete, texts, marked), pa.timestamp(dtype.unit, "UTC"))
    if pc.any(pc.less(pc.year(moments), 1)).as_py():  # Python cannot represent it
        raise pa.ArrowInvalid("a year before 1")
    return moments.cast(dtype)


def read_text(text: str | None, dtype: pa.DataType) -> Any:
    """A number or a timestamp from text, or None."""
    if text is None:
        return None
    return read_number(text) if pa.types.is_floating(dtype) else read_moment(text, dtype)


def read_number(text: str) -> float | None:
    """A number from text, or None. Python also reads ``1_000``, which no data file means."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def read_moment(text: str, dtype: pa.DataType = MOMENT) -> Any:
    """A timestamp from text, or None. Without a zone it is UTC; digits beyond its unit are cut."""
    text = text.strip()
    tail = text[10:]
    if not ("Z" in tail or "+" in tail or "-" in tail or len(text) <= 10):
        text += "Z"  # Arrow's parser needs a zone
    for unit in dict.fromkeys((dtype.unit, "ns")):
        try:
            moment = pc.cast(pa.scalar(text), pa.timestamp(unit, "UTC"))
            if unit != dtype.unit:
                moment = pc.floor_temporal(moment, unit=_UNIT_NAMES[dtype.unit])
            return moment.cast(dtype).as_py()
        except (ValueError, OverflowError, pa.ArrowInvalid):
            continue
    return None


_UNIT_NAMES = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}


def _narrow(number: float | None, dtype: pa.DataType) -> float | None:
    if number is None or pa.types.is_float64(dtype):
        return number
    return number if pa.scalar(number, dtype).as_py() == number else None


def _decimal(text: str, dtype: pa.DataType) -> Decimal | None:
    try:
        value = Decimal(text.strip())
        return pa.scalar(value, dtype).as_py() if value.is_finite() else None
    except (InvalidOperation, ValueError, pa.ArrowInvalid):
        return None


def _integer(text: str, dtype: pa.DataType, reading: bool) -> int | None:
    try:
        value = int(text)
        usual = reading or str(value) == text
        return pa.scalar(value, dtype).as_py() if usual else None
    except (ValueError, OverflowError, pa.ArrowInvalid):
        return None
