"""Large kernels behind a pointer, so that those who call them compile without them.

numba optimises all that a kernel calls together with it, and once more for each of its callers:
what takes ten seconds to compile would do so in a dozen kernels. A kernel that is called through
its address is compiled once. Addresses differ from process to process, so they are handed over as
plain numbers, and callers can still be kept in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic

FLOAT, INT = types.float64, types.int64
FLOATS, INTS = types.Array(FLOAT, 1, "C"), types.Array(INT, 1, "C")
PAIR = types.UniTuple(INT, 2)  # type: ignore[no-untyped-call]


class Pointed:
    """A function behind a pointer: ``address()`` in Python, ``call(address, ...)`` in kernels."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function, self._signature = function, signature
        self.call: Callable[..., Any]
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            self.call = lambda address, *arguments: function(*arguments)
        else:
            self.call = _caller(signature)

    @cache  # noqa: B019  (there are few of these objects, and they live for good)
    def address(self) -> int:
        """Compile the function, or load it from the cache."""
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
            return 0
        self._compiled = numba.cfunc(self._signature, cache=True)(self._function)
        return int(self._compiled.address or 0)


def _caller(signature: Any) -> Callable[..., Any]:
    @intrinsic
    def call(typing: Any, address: Any, *arguments: Any) -> Any:
        def generate(context: Any, builder: Any, chosen: Any, given: Any) -> Any:
            kinds = [context.get_value_type(kind) for kind in signature.args]
            kind = ir.FunctionType(context.get_value_type(signature.return_type), kinds)
            values = [builder.extract_value(given[1], i) for i in range(len(kinds))]
            return builder.call(builder.inttoptr(given[0], kind.as_pointer()), values)

        taken = types.StarArgTuple(signature.args)  # type: ignore[no-untyped-call]
        return signature.return_type(INT, taken), generate

    return call
