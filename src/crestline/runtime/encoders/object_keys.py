"""Keys of objects: two integers by which an operator tells objects apart, and a code for their
order.

The key is the value itself where that is a whole number or a time, else a hash of 128 bits. So
nothing has to be remembered of objects that come and go.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crestline.kernels.common.keys import text_keys
from crestline.types import Ints

T = TypeVar("T", bound=npt.NDArray[Any])


def writable(array: T) -> T:
    """The array, or a copy if it is read-only, as those of Arrow are: to numba that is another
    type, and large kernels would be compiled for each mixture of the two."""
    return array if array.flags.writeable else array.copy()


def has_exact_code(dtype: pa.DataType) -> bool:
    """Whether two objects of this type never have the same code."""
    return bool(
        pa.types.is_integer(dtype)
        or pa.types.is_boolean(dtype)
        or pa.types.is_timestamp(dtype)
        or pa.types.is_date(dtype)
    )


def object_keys(column: pa.ChunkedArray) -> tuple[Ints, Ints, Ints]:
    """Two halves of the key of each object, and a code: smaller codes come first."""
    chunks = [_chunk_keys(chunk) for chunk in column.chunks]
    if not chunks:
        none = np.empty(0, np.int64)
        return none, none, none
    if len(chunks) == 1:
        return chunks[0]
    high, low, code = (np.concatenate(part) for part in zip(*chunks, strict=True))
    return high, low, code


def _chunk_keys(chunk: pa.Array) -> tuple[Ints, Ints, Ints]:
    if pa.types.is_dictionary(chunk.type):
        high, low, code = _chunk_keys(chunk.dictionary)
        indices = np.asarray(chunk.indices)
        return high[indices], low[indices], code[indices]
    if has_exact_code(chunk.type):
        low = _whole_numbers(chunk)
        return np.zeros(len(low), np.int64), low, low
    return _text_keys(chunk)


def _whole_numbers(chunk: pa.Array) -> Ints:
    dtype = chunk.type
    if dtype == pa.uint64():
        return np.asarray(chunk).view(np.int64) ^ np.int64(-(1 << 63))
    if pa.types.is_boolean(dtype):
        chunk = chunk.cast(pa.int8())
    elif dtype == pa.date32():
        chunk = chunk.cast(pa.int32())
    return np.asarray(chunk.cast(pa.int64()))


def _text_keys(chunk: pa.Array) -> tuple[Ints, Ints, Ints]:
    dtype = chunk.type
    if pa.types.is_floating(dtype):
        chunk = pc.add(chunk, pa.scalar(0.0, dtype))  # -0.0 is 0.0
    texts = chunk.cast(pa.large_binary() if pa.types.is_binary(dtype) else pa.large_string())
    buffers = texts.buffers()
    offsets = np.frombuffer(buffers[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(buffers[2] or b"\0", np.uint8)
    offsets.flags.writeable = data.flags.writeable = False  # whatever Arrow says: see ``writable``
    high, low, code = text_keys(offsets, data)
    if not (pa.types.is_string(dtype) or pa.types.is_large_string(dtype)):
        code = np.zeros(len(code), np.int64)  # their order is not that of their texts
    return high, low, code


__all__ = ["has_exact_code", "object_keys", "writable"]
