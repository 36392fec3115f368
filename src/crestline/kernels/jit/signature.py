"""The types that kernels are called with, in words that any process can read.

Machine code is made for types, not for values. ``key`` names the types of arguments in plain tuples
and texts, without numba. So a process can check whether code exists before it loads the compiler,
and can tell another process what to compile.

>>> key((3, 2.5, True))
('i8', 'f8', 'b1')
>>> key((np.zeros(2), (1, 2)))
(('array', '<f8', 1, 'C', True), ('tuple', 'i8', 'i8'))
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Key = tuple[Any, ...]

_SCALARS: dict[type, str] = {
    int: "i8", np.int64: "i8", float: "f8", np.float64: "f8", bool: "b1", np.bool_: "b1",
    np.uint8: "u1", np.uint64: "u8", np.int32: "i4",
}  # fmt: skip


class Undescribed(TypeError):
    """A value of a type that kernels are not called with."""


def key(arguments: tuple[Any, ...]) -> Key:
    """The types of arguments."""
    return tuple(map(_one, arguments))


def _one(value: Any) -> Any:
    cls = type(value)
    if cls is np.ndarray or cls is np.recarray:
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return "array", dtype_key(value.dtype), value.ndim, layout, flags.writeable
    scalar = _SCALARS.get(cls)
    if scalar is not None:
        return scalar
    if cls is tuple:
        return "tuple", *map(_one, value)
    if issubclass(cls, tuple):
        return "named", f"{cls.__module__}:{cls.__qualname__}", *map(_one, value)
    if hasattr(value, "is_pointer"):  # an address that is not known yet
        return "i8"
    raise Undescribed(f"kernels are not called with a {cls.__name__}")


@cache
def dtype_key(dtype: np.dtype[Any]) -> Any:
    """Describe a dtype in plain words: by its name, or for records by the name and dtype of each
    field."""
    if dtype.names is None:
        return dtype.str
    fields = ((name, dtype_key(dtype[name])) for name in dtype.names)
    return dtype.isalignedstruct, *fields


def dtype_of(described: Any) -> np.dtype[Any]:
    """The dtype that ``dtype_key`` described."""
    if isinstance(described, str):
        return np.dtype(described)
    aligned, *fields = described
    return np.dtype([(name, dtype_of(kind)) for name, kind in fields], align=aligned)


def elements(arguments: tuple[Any, ...]) -> int:
    """Return how many numbers the arrays among the arguments hold."""
    total = 0
    for value in arguments:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, tuple):
            total += elements(value)
    return total


def as_tuples(value: Any) -> Any:
    """A key that was written as JSON, with its lists as tuples again."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


__all__ = ["Key", "Undescribed", "as_tuples", "dtype_key", "dtype_of", "elements", "key"]
