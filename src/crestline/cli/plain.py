"""Tables as lines of text: csv, tab-separated, json lines. Timestamps are ISO 8601 with ``Z``.

Columns become text in Arrow, not row by row in Python, which would take many times as long.

>>> import pyarrow as pa
>>> table = pa.table({"id": ["a,b", None], "x": [1.5, float("inf")]})
>>> print(csv_lines(table.to_batches()[0]).decode(), end="")
"a,b",1.5
,inf
>>> print(json_lines(table.to_batches()[0]).decode(), end="")
{"id":"a,b","x":1.5}
{"id":null,"x":"Infinity"}
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_NEEDS_QUOTES = r'^$|[",\r\n]|^\s|\s$'
#: Numbers that JSON does not have: how Arrow writes them, and how protobuf does.
_NOT_IN_JSON = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def csv_lines(batch: pa.RecordBatch) -> bytes:
    """Write csv lines, with quotes where needed. NULL is empty, empty text is ``""``."""
    return _lines([_csv_field(texts(column)) for column in batch.columns], ",")


def csv_header(schema: pa.Schema) -> bytes:
    names = _csv_field(pa.array(schema.names, pa.string())).to_pylist()
    return (",".join(names) + "\n").encode() if names else b""


def tab_lines(batch: pa.RecordBatch) -> bytes:
    r"""Write tab-separated lines, with ``\t``, ``\n``, ``\r`` and ``\\`` inside text."""
    return _lines([_escaped(texts(column)) for column in batch.columns], "\t")


def tab_header(schema: pa.Schema) -> bytes:
    names = _escaped(pa.array(schema.names, pa.string())).to_pylist()
    return ("\t".join(names) + "\n").encode() if names else b""


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Write one JSON object per line. NaN and infinities become the texts that protobuf uses."""
    pieces: list[Any] = []
    opening = "{"
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        pieces += [f"{opening}{json.dumps(name, ensure_ascii=False)}:", _json_values(column)]
        opening = ","
    return _lines([*pieces, "}"], "") if pieces else b""


def _lines(pieces: list[Any], separator: str) -> bytes:
    if not any(isinstance(piece, pa.Array) and len(piece) for piece in pieces):
        return b""
    joined = pc.binary_join_element_wise(*pieces, separator, null_handling="replace")
    return "".join(line + "\n" for line in joined.to_pylist()).encode()


def texts(column: pa.Array) -> pa.Array:
    """Turn each value into text; NULL stays NULL."""
    dtype = column.type
    if pa.types.is_dictionary(dtype):
        return texts(column.cast(dtype.value_type))
    if pa.types.is_timestamp(dtype):
        # Only the instant counts, so zones are dropped. A time without a zone is in UTC.
        instant = column.cast(pa.timestamp(dtype.unit, "UTC")) if dtype.tz else column
        return pc.strftime(instant.cast(pa.timestamp(dtype.unit)), "%Y-%m-%dT%H:%M:%SZ")
    if _is_binary(dtype):
        return _each(column, lambda value: base64.b64encode(value).decode())
    if pa.types.is_nested(dtype):
        return _each(column, lambda value: json.dumps(_json_value(value), ensure_ascii=False))
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return _each(column, str)


def _is_binary(dtype: pa.DataType) -> bool:
    binary = pa.types.is_binary(dtype) or pa.types.is_large_binary(dtype)
    return bool(binary or pa.types.is_fixed_size_binary(dtype))


def _each(column: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    values = column.to_pylist()
    return pa.array([None if value is None else text(value) for value in values], pa.string())


def _json_value(value: Any) -> Any:
    """Turn a nested value into what JSON can hold."""
    if isinstance(value, dict):
        return {str(name): _json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else _NOT_IN_JSON[str(value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return str(value)


def _csv_field(column: pa.Array) -> pa.Array:
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(column, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(column, _NEEDS_QUOTES), quoted, column)


def _escaped(column: pa.Array) -> pa.Array:
    for character, escape in _ESCAPES:
        column = pc.replace_substring(column, character, escape)
    return column


def _json_values(column: pa.Array) -> pa.Array:
    dtype = column.type
    if pa.types.is_dictionary(dtype):
        return _json_values(column.cast(dtype.value_type))
    values = texts(column)
    if pa.types.is_floating(dtype):
        for number, text in _NOT_IN_JSON.items():
            values = pc.if_else(pc.equal(values, number), f'"{text}"', values)
    elif not (
        pa.types.is_integer(dtype)
        or pa.types.is_boolean(dtype)
        or pa.types.is_decimal(dtype)
        or pa.types.is_nested(dtype)
    ):
        # Each distinct text is escaped once.
        encoded = values.dictionary_encode()
        quoted = [json.dumps(value, ensure_ascii=False) for value in encoded.dictionary.to_pylist()]
        values = pa.array(quoted, pa.string()).take(encoded.indices)
    return values.fill_null("null")


__all__ = ["csv_header", "csv_lines", "json_lines", "tab_header", "tab_lines", "texts"]
