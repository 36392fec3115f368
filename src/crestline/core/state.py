"""State as bytes: arrays, bytes and plain values behind a versioned, checked header. Never a
pickle.

Layout: ``CRST``, format version (u16), length of the header (u32), CRC-32 of all that follows
(u32), the header (JSON), then the raw buffers one after the other, little-endian.

>>> import numpy as np
>>> unpack(pack({"k": 3, "ids": np.arange(3)}))
{'k': 3, 'ids': array([0, 1, 2])}
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np

from crestline.core.errors import StateError

VERSION = 11
_MAGIC = b"CRST"
_HEAD = struct.Struct("<4sHII")
#: Only plain numbers: an object array could smuggle in code.
_DTYPES = frozenset(("<i8", "<f8", "|b1"))


def pack(state: dict[str, Any]) -> bytes:
    """Turn a (nested) dictionary of arrays, bytes and JSON values into bytes."""
    buffers: list[bytes] = []
    header = json.dumps(_describe(state, buffers)).encode()
    checksum = zlib.crc32(header)
    for buffer in buffers:
        checksum = zlib.crc32(buffer, checksum)
    return b"".join((_HEAD.pack(_MAGIC, VERSION, len(header), checksum), header, *buffers))


def unpack(data: bytes) -> dict[str, Any]:
    """The dictionary that was packed; raises StateError for anything else."""
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise StateError("these bytes are not a Crestline state: pass what snapshot() returned")
    _, version, length, crc = _HEAD.unpack_from(data)
    if version != VERSION:
        raise StateError(
            f"this state has format version {version}, this Crestline reads version {VERSION}:"
            " resume it with the Crestline that wrote it, or start again"
        )
    body = memoryview(data)[_HEAD.size :]
    if zlib.crc32(body) != crc:
        raise StateError("this state is damaged (its checksum does not match): use another copy")
    try:
        described = json.loads(bytes(body[:length]))
        restored: dict[str, Any] = _restore(described, body[length:])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise StateError(f"this state does not make sense: {error}") from error
    return restored


def _describe(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, dict):
        return {"dict": {str(key): _describe(inner, buffers) for key, inner in value.items()}}
    if isinstance(value, np.ndarray):
        if value.dtype.str not in _DTYPES:
            raise TypeError(f"cannot store an array of {value.dtype}")
        place = sum(map(len, buffers))
        buffers.append(np.ascontiguousarray(value).tobytes())
        return {"array": [value.dtype.str, list(value.shape), place]}
    if isinstance(value, bytes):
        place = sum(map(len, buffers))
        buffers.append(value)
        return {"bytes": [place, len(value)]}
    return {"value": value}


def _restore(described: Any, buffers: memoryview) -> Any:
    ((kind, content),) = described.items()
    if kind == "dict":
        return {key: _restore(inner, buffers) for key, inner in content.items()}
    if kind == "array":
        dtype, shape, place = content
        if dtype not in _DTYPES:
            raise ValueError(f"an array of {dtype} has no place in a state")
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(buffers, dtype, count, place).reshape(shape).copy()
    if kind == "bytes":
        place, length = content
        return bytes(buffers[place : place + length])
    return content
