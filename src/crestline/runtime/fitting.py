"""The types of a stream's columns where its batches differ: widened without loss, or not at all.

``wider`` is the narrowest type that two columns fit into. Where a type leaves room for doubt (an
``int64`` may or may not be a ``double``), ``fit`` looks at each value; the records of those that
do not fit are set aside, so that no value is ever changed silently.

Texts are special in columns that a query reads as numbers or as times (*reading* columns: a plain
score, probability or event time). There a text means the number or the time that it spells. In all
other columns a text is a text: only a whole number in its usual spelling fits into a column of
whole numbers, and ``007`` does not, since it could not be told from ``7`` any more.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.runtime.columns import usable, usable_type
from crestline.types import Bools

#: Larger precisions exist in Arrow, but not in DuckDB or Spark.
MOST_DIGITS = 38
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_UNITS = ("s", "ms", "us", "ns")
MOMENT = pa.timestamp("us", "UTC")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without its dictionary encoding."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def bare_type(kind: pa.DataType) -> pa.DataType:
    """The type without any way to store it: dictionaries, views, large offsets, runs."""
    kind = plain_type(usable_type(plain_type(kind)))
    if pa.types.is_large_string(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(bare_type(kind)))


def is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


# -- types ------------------------------------------------------------------------------------


def wider(known: pa.DataType, given: pa.DataType, reading: bool = False) -> pa.DataType:
    """The type for a column of both types; ``known`` where there is none that both fit into.

    >>> wider(pa.int64(), pa.float64()), wider(pa.int64(), pa.uint64())
    (DataType(double), Decimal128Type(decimal128(20, 0)))
    >>> wider(pa.null(), pa.string()), wider(pa.int64(), pa.string())
    (DataType(string), DataType(int64))
    >>> wider(pa.string(), pa.int64()), wider(pa.string(), pa.int64(), reading=True)
    (DataType(string), DataType(double))
    """
    one, other = bare_type(known), bare_type(given)
    if one == other or pa.types.is_null(other):
        return known
    if pa.types.is_null(one):
        return given
    if reading and is_text(one):
        one = _spelled(other)
    elif reading and is_text(other):
        other = _spelled(one)
    if is_number(one) and is_number(other):
        return _wider_number(one, other)
    if _is_moment(one) and _is_moment(other):
        return _wider_moment(one, other)
    if pa.types.is_duration(one) and pa.types.is_duration(other):
        return pa.duration(_finer(one.unit, other.unit))
    if pa.types.is_time(one) and pa.types.is_time(other):
        return pa.time64(_finer(_finer(one.unit, other.unit), "us"))
    return known


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
    signed = [kind.bit_width for kind in (one, other) if pa.types.is_signed_integer(kind)]
    unsigned = [kind.bit_width for kind in (one, other) if pa.types.is_unsigned_integer(kind)]
    if not signed:
        return one if one.bit_width > other.bit_width else other
    # A signed type holds an unsigned one of half its bits.
    bits = max(*signed, *(2 * width for width in unsigned))
    if bits > 64:
        return pa.decimal128(_DIGITS[64], 0)
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]


def _scale(kind: pa.DataType) -> int:
    return int(kind.scale) if pa.types.is_decimal(kind) else 0


def _whole_digits(kind: pa.DataType) -> int:
    return kind.precision - kind.scale if pa.types.is_decimal(kind) else _DIGITS[kind.bit_width]


def _wider_moment(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if pa.types.is_date(one) and pa.types.is_date(other):
        return pa.date64()
    stamps = [kind for kind in (one, other) if pa.types.is_timestamp(kind)]
    unit = _finer(stamps[0].unit, stamps[-1].unit)
    return pa.timestamp(unit, stamps[0].tz or stamps[-1].tz)  # times without a zone are UTC


def _finer(one: str, other: str) -> str:
    return max(one, other, key=_UNITS.index)


# -- values -----------------------------------------------------------------------------------


def fit(
    column: pa.ChunkedArray, kind: pa.DataType, reading: bool = False
) -> tuple[pa.ChunkedArray, Bools | None]:
    """The column in another type, and which values do not fit into it, if any: they are NULL.

    >>> fit(pa.chunked_array([[1.0, 9.75]]), pa.int64())[0].to_pylist()
    [1, None]
    >>> fit(pa.chunked_array([[2**53, 2**53 + 1]]), pa.float64())[1].tolist()
    [False, True]
    """
    given, wanted = bare_type(column.type), bare_type(kind)
    if given == wanted:
        return column, None
    if column.type != given:
        column = usable(column, "of the batch", "").cast(given)
    if pa.types.is_null(given):
        return pa.chunked_array([pa.nulls(len(column), wanted)]), None
    if is_text(given):
        read = _reader(wanted, reading)
        return _by_value(column, wanted, lambda one: pa.array([read(one[0].as_py())], wanted))
    if not _means_the_same(given, wanted):
        return _by_value(column, wanted, lambda one: pa.nulls(1, wanted))
    try:
        fitting = column.cast(wanted)
        if not _rounds(given, wanted):
            return fitting, None
        lost = ~np.asarray(pc.equal(fitting.cast(given), column).fill_null(True).to_numpy())
        if not lost.any():
            return fitting, None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    return _by_value(column, wanted, _caster(given, wanted))


def _means_the_same(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type can be values of the other: a truth value is no number, and a
    number is no time, though Arrow would make one of the other."""
    if is_text(wanted):
        return not pa.types.is_nested(given) and not pa.types.is_binary(given)
    tests: list[Callable[[pa.DataType], bool]] = [is_number, _is_moment]
    tests += [pa.types.is_time, pa.types.is_duration, pa.types.is_nested]
    return any(test(given) and test(wanted) for test in tests)


def _rounds(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Arrow rounds without a word."""
    floating = [pa.types.is_floating(kind) for kind in (given, wanted)]
    decimal = [pa.types.is_decimal(kind) for kind in (given, wanted)]
    if any(floating) and any(decimal):
        return True
    if all(floating):
        return bool(given.bit_width > wanted.bit_width)
    return bool(pa.types.is_timestamp(given) and pa.types.is_date(wanted))


def _caster(given: pa.DataType, wanted: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    """Casts an array of one value, to NULL where that would change it."""

    def cast(one: pa.Array) -> pa.Array:
        try:
            there = one.cast(wanted)
            if not _rounds(given, wanted) or there.cast(given).equals(one):
                return there
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        return pa.nulls(1, wanted)

    return cast


def _by_value(
    column: pa.ChunkedArray, kind: pa.DataType, fitted: Callable[[pa.Array], pa.Array]
) -> tuple[pa.ChunkedArray, Bools | None]:
    """Value by value; those that repeat are looked at once."""
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # as old versions of Arrow have it
        values = values.combine_chunks()
    places: pa.Array | None = None
    if not pa.types.is_nested(values.type) and not pa.types.is_interval(values.type):
        encoded = values.dictionary_encode()
        values, places = encoded.dictionary, encoded.indices
    parts = [fitted(values.slice(i, 1)) for i in range(len(values))]
    found = pa.concat_arrays(parts) if parts else pa.array([], kind)
    if places is not None:
        found = found.take(places)
    unfit = np.asarray(pc.and_(found.is_null(), column.is_valid()).to_numpy())
    return pa.chunked_array([found]), unfit if unfit.any() else None


# -- texts ------------------------------------------------------------------------------------


def _reader(kind: pa.DataType, reading: bool) -> Callable[[str], Any]:
    """Reads a text as a value of the type; None where it spells none."""
    if pa.types.is_timestamp(kind):
        return lambda text: read_moment(text, kind)
    if pa.types.is_floating(kind):
        return lambda text: _narrow(read_number(text), kind)
    if pa.types.is_decimal(kind):
        return lambda text: _decimal(text, kind)
    if pa.types.is_integer(kind):
        return lambda text: _integer(text, kind, reading)
    return lambda text: None


def read_texts(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Numbers or timestamps from a column of texts, NULL where a text is none."""
    if pa.types.is_timestamp(kind):
        try:
            return _read_moments(column, kind)
        except pa.ArrowInvalid:  # some text is unusual: each by itself
            pass
    return pa.chunked_array([pa.array([read_text(v, kind) for v in column.to_pylist()], kind)])


def _read_moments(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """As ``read_moment`` for a whole column; ArrowInvalid unless all are plain times."""
    texts = pc.utf8_trim_whitespace(column)
    zoned = pc.match_substring_regex(pc.utf8_slice_codeunits(texts, 10), "[Z+-]")
    as_they_are = pc.or_(zoned, pc.less_equal(pc.utf8_length(texts), 10))
    marked = pc.binary_join_element_wise(
        texts, pa.scalar("Z", texts.type), pa.scalar("", texts.type)
    )
    moments = pc.cast(pc.if_else(as_they_are, texts, marked), pa.timestamp(kind.unit, "UTC"))
    if pc.any(pc.less(pc.year(moments), 1)).as_py():  # Python has no word for it
        raise pa.ArrowInvalid("a year before 1")
    return moments.cast(kind)


def read_text(text: str | None, kind: pa.DataType) -> Any:
    """A number or a timestamp from text, or None."""
    if text is None:
        return None
    return read_number(text) if pa.types.is_floating(kind) else read_moment(text, kind)


def read_number(text: str) -> float | None:
    """A number from text. Python also reads ``1_000`` as one; no data file means that."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def read_moment(text: str, kind: pa.DataType = MOMENT) -> Any:
    """A timestamp from text; one without a zone is UTC, and digits beyond its unit are cut off."""
    text = text.strip()
    tail = text[10:]
    if not ("Z" in tail or "+" in tail or "-" in tail or len(text) <= 10):
        text += "Z"  # Arrow's parser wants it to say so
    for unit in dict.fromkeys((kind.unit, "ns")):
        try:
            found = pc.cast(pa.scalar(text), pa.timestamp(unit, "UTC"))
            if unit != kind.unit:
                found = pc.floor_temporal(found, unit=_UNIT_NAMES[kind.unit])
            return found.cast(kind).as_py()
        except (ValueError, OverflowError, pa.ArrowInvalid):
            continue
    return None


_UNIT_NAMES = {"s": "second", "ms": "millisecond", "us": "microsecond", "ns": "nanosecond"}


def _narrow(number: float | None, kind: pa.DataType) -> float | None:
    if number is None or pa.types.is_float64(kind):
        return number
    return number if pa.scalar(number, kind).as_py() == number else None


def _decimal(text: str, kind: pa.DataType) -> Decimal | None:
    try:
        value = Decimal(text.strip())
        return pa.scalar(value, kind).as_py() if value.is_finite() else None
    except (InvalidOperation, ValueError, pa.ArrowInvalid):
        return None


def _integer(text: str, kind: pa.DataType, reading: bool) -> int | None:
    try:
        value = int(text)
        usual = reading or str(value) == text
        return pa.scalar(value, kind).as_py() if usual else None
    except (ValueError, OverflowError, pa.ArrowInvalid):
        return None
