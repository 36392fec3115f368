"""Columns in types that every step of the engine has functions for.

Arrow has more types than functions on them: run-end encoded columns and views cannot be gathered,
float16 cannot be added, decimals of 32 bits cannot be ranked. Such a column becomes one of a wider
type with the same values. A column without such a type is refused.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.errors import SourceError
from crestline.core.tables import plain_type
from crestline.types import Floats


def usable_type(dtype: pa.DataType) -> pa.DataType:
    """The type in which the values of a type are handled.

    >>> str(usable_type(pa.decimal32(5, -2))), str(usable_type(pa.list_(pa.string_view())))
    ('decimal128(7, 0)', 'list<item: string>')
    """
    if pa.types.is_dictionary(dtype):
        texts = pa.types.is_string(dtype.value_type) or pa.types.is_large_string(dtype.value_type)
        return dtype if texts else usable_type(dtype.value_type)
    if pa.types.is_run_end_encoded(dtype):
        return usable_type(dtype.value_type)
    if pa.types.is_string_view(dtype):
        return pa.string()
    if pa.types.is_binary_view(dtype):
        return pa.binary()
    if pa.types.is_float16(dtype):
        return pa.float32()
    if pa.types.is_decimal(dtype):
        return _decimal(dtype)
    if pa.types.is_struct(dtype):
        return pa.struct([field.with_type(_inside(field.type)) for field in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(
            _inside(dtype.key_type), dtype.item_field.with_type(_inside(dtype.item_type))
        )
    if pa.types.is_nested(dtype) and dtype.num_fields == 1:
        value = dtype.value_field.with_type(_inside(dtype.value_type))
        if pa.types.is_fixed_size_list(dtype):
            return pa.list_(value, dtype.list_size)
        large = pa.types.is_large_list(dtype) or pa.types.is_large_list_view(dtype)
        return pa.large_list(value) if large else pa.list_(value)
    return dtype


def usable(
    column: pa.Array | pa.ChunkedArray, name: str, stream: str
) -> pa.Array | pa.ChunkedArray:
    """The column in its usable type, or ``SourceError``."""
    wanted = usable_type(column.type)
    if wanted == column.type:
        return column
    try:
        if pa.types.is_run_end_encoded(column.type):
            column = pc.run_end_decode(column)
        elif pa.types.is_dictionary(column.type):  # a cast cannot decode views
            column = _decoded(column, wanted)
        return column.cast(wanted)
    except pa.ArrowException:
        raise SourceError(
            f"stream {stream!r}: the column {name} of type {column.type} cannot be read as"
            f" {wanted}: convert it before it comes in"
        ) from None


def as_floats(column: pa.ChunkedArray) -> Floats:
    """Numbers as float64, NaN for NULL."""
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        column = column.fill_null(np.nan)
    return np.asarray(column.to_numpy())


def floored_type(dtype: pa.DataType) -> pa.DataType:
    """The type without digits below the microsecond."""
    fine = pa.types.is_timestamp(dtype) and dtype.unit == "ns"
    return pa.timestamp("us", dtype.tz) if fine else dtype


def floored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nanoseconds down to microseconds. Arrow's cast would round them towards 1970."""
    dtype = floored_type(column.type)
    if dtype == column.type:
        return column
    instants = column.cast(pa.timestamp("ns", "UTC" if dtype.tz else None))
    return pc.floor_temporal(instants, unit="microsecond").cast(dtype)


def _decoded(
    column: pa.DictionaryArray | pa.ChunkedArray, wanted: pa.DataType
) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_decoded(chunk, wanted) for chunk in column.chunks], wanted)
    return column.dictionary.cast(wanted).take(column.indices)


def _inside(dtype: pa.DataType) -> pa.DataType:
    """The type of a nested value. Arrow slices and joins nested columns of type NULL wrongly."""
    return plain_type(pa.bool_() if pa.types.is_null(dtype) else usable_type(dtype))


def _decimal(dtype: pa.DataType) -> pa.DataType:
    scale = max(dtype.scale, 0)
    digits = min(dtype.precision - dtype.scale + scale, 76)
    if dtype.bit_width == 256 or digits > 38:
        return pa.decimal256(digits, scale)
    return pa.decimal128(digits, scale)
