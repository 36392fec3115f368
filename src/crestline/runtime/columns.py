"""Columns in types that every step of the engine has functions for.

Arrow has more types than functions on them: nothing gathers a column of runs or of views, halves
cannot be added, decimals of 32 bits cannot be ranked. Such a column becomes one of a wider type
with the same values; what has no such type is refused.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.errors import SourceError


def usable_type(kind: pa.DataType) -> pa.DataType:
    """The type in which the values of a type are handled.

    >>> str(usable_type(pa.decimal32(5, -2))), str(usable_type(pa.list_(pa.string_view())))
    ('decimal128(7, 0)', 'list<item: string>')
    """
    if pa.types.is_dictionary(kind):
        texts = pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)
        return kind if texts else usable_type(kind.value_type)
    if pa.types.is_run_end_encoded(kind):
        return usable_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        return _decimal(kind)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_inside(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_inside(kind.key_type), kind.item_field.with_type(_inside(kind.item_type)))
    if pa.types.is_nested(kind) and kind.num_fields == 1:
        value = kind.value_field.with_type(_inside(kind.value_type))
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(value, kind.list_size)
        large = pa.types.is_large_list(kind) or pa.types.is_large_list_view(kind)
        return pa.large_list(value) if large else pa.list_(value)
    return kind


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
        elif pa.types.is_dictionary(column.type):  # nothing gathers views
            column = _decoded(column, wanted)
        return column.cast(wanted)
    except pa.ArrowException:
        raise SourceError(
            f"stream {stream!r}: the column {name} of type {column.type} cannot be read as"
            f" {wanted}: convert it before it comes in"
        ) from None


def _decoded(
    column: pa.DictionaryArray | pa.ChunkedArray, wanted: pa.DataType
) -> pa.Array | pa.ChunkedArray:
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_decoded(chunk, wanted) for chunk in column.chunks], wanted)
    return column.dictionary.cast(wanted).take(column.indices)


def _inside(kind: pa.DataType) -> pa.DataType:
    """The type of a value within another; Arrow cuts and joins those of the type NULL wrongly."""
    kind = pa.bool_() if pa.types.is_null(kind) else usable_type(kind)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _decimal(kind: pa.DataType) -> pa.DataType:
    scale = max(kind.scale, 0)
    digits = min(kind.precision - kind.scale + scale, 76)
    if kind.bit_width == 256 or digits > 38:
        return pa.decimal256(digits, scale)
    return pa.decimal128(digits, scale)
