"""The compiler: numba, with a cache of our own and no more specialisation than is used.

This is imported when a kernel is first compiled or loaded, not before: numba takes half a second.
"""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from numba.core import types
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.core.types import unliteral
from numba.np.numpy_support import as_dtype, from_dtype

from crestline.kernels.jit import store
from crestline.kernels.jit.signature import Key, dtype_key, dtype_of


def _number_symbols() -> None:
    """Let numba number its functions from a start that no other process has.

    The number is part of a symbol's name, and where two pieces of code define the same symbol the
    linker takes the first. numba counts from 1 in every process. Functions made inside others, such
    as the quicksorts of ``np.sort`` and ``np.argsort``, differ in nothing but the number: code that
    two processes compiled sorted in the wrong way, or crashed, once a third one had loaded both.
    """
    start = 1 << 55 | int.from_bytes(os.urandom(6), "big") << 7  # always as many digits
    FunctionIdentity._unique_ids = itertools.count(start)


_number_symbols()
os.register_at_fork(after_in_child=_number_symbols)


class Unready(Exception):
    """A compiled kernel was called with types that it has no code for."""


class _Cache(NullCache):  # type: ignore[misc]
    """Compiled code in the files of ``store``."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        path = store.find(self._kernel, _key(sig))
        if path is None:
            return None
        target_context.refresh()
        try:
            with open(path, "rb") as file:
                return CompileResult._rebuild(target_context, *pickle.load(file))
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        store.write(self._kernel, _key(sig), dumps(cres._reduce()))


class KernelDispatcher(Dispatcher):  # type: ignore[misc]
    """A kernel that never compiles by itself: ``tiers`` decides when.

    numba compiles a kernel once more for each constant that a caller passes to it. One of ours had
    twelve versions.
    """

    targetdescr = cpu_target

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        raise Unready

    def get_call_template(self, args: Any, kws: Any) -> Any:
        plain = tuple(map(unliteral, args))
        return super().get_call_template(plain, {n: unliteral(t) for n, t in kws.items()})


def dispatcher(kernel: str, function: Callable[..., Any], borrows: bool) -> KernelDispatcher:
    """Return what numba makes of a function; it is empty until it is compiled for some types. In a
    function that only borrows arrays, references are not counted."""
    options = {"nopython": True, "nogil": True, "_nrt": not borrows}
    made = KernelDispatcher(function, targetoptions=options)
    made._cache = _Cache(kernel)
    return made


def callback(kernel: str, function: Callable[..., Any], signature: str) -> tuple[Any, int]:
    """Compile or load a function behind a pointer; return it and its address."""
    made = CFunc(function, normalize_signature(signature), locals={}, options={})
    made._cache = _Cache(kernel)
    made.compile()
    return made, int(made.address)


def types_of(key: Key) -> tuple[Any, ...]:
    """numba's types for a key of ``signature``."""
    return tuple(map(_type, key))


def _type(described: Any) -> Any:
    if isinstance(described, str):
        return types.boolean if described == "b1" else from_dtype(dtype_of(described))
    kind, *rest = described
    if kind == "tuple":
        return types.BaseTuple.from_types([_type(part) for part in rest])
    if kind == "named":
        module, _, name = rest[0].partition(":")
        named = getattr(import_module(module), name)
        return types.BaseTuple.from_types([_type(part) for part in rest[1:]], named)
    dtype, ndim, layout, writeable = rest
    return types.Array(from_dtype(dtype_of(dtype)), ndim, layout, readonly=not writeable)


def _key(signature: Any) -> Key:
    """Return the key of numba's types: the same as ``signature.key`` gives for values of these
    types."""
    return tuple(map(_described, getattr(signature, "args", signature)))


@cache
def _described(dtype: Any) -> Any:
    if isinstance(dtype, types.Array):
        return "array", dtype_key(as_dtype(dtype.dtype)), dtype.ndim, dtype.layout, dtype.mutable
    if isinstance(dtype, types.BaseNamedTuple):
        named = dtype.instance_class
        return "named", f"{named.__module__}:{named.__qualname__}", *map(_described, dtype)
    if isinstance(dtype, types.BaseTuple):
        return "tuple", *map(_described, dtype)
    if isinstance(dtype, types.Integer | types.Float | types.Boolean):
        return as_dtype(dtype).str[1:]
    return str(dtype)  # only ever inside kernels


__all__ = ["KernelDispatcher", "Unready", "callback", "dispatcher", "types_of"]
