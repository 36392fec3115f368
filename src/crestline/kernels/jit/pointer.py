"""Large kernels behind a pointer, so that their callers compile without them.

numba optimises a kernel together with everything it calls, once for each caller. Code that takes
ten seconds to compile would take them in a dozen kernels. A kernel that is called through its
address is compiled once. Addresses differ between processes, so they are passed as plain numbers,
and the code of callers can still be cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from crestline.kernels.jit import store

FLOAT, INT = "float64", "int64"
FLOATS, INTS = "float64[::1]", "int64[::1]"
PAIR = "UniTuple(int64, 2)"
#: The same in the words of ``signature``.
_KEYS = {
    FLOAT: "f8", INT: "i8",
    FLOATS: ("array", "<f8", 1, "C", True), INTS: ("array", "<i8", 1, "C", True),
}  # fmt: skip


class Pointed:
    """A function behind a pointer: ``address()`` in Python, ``call(address, ...)`` in kernels."""

    #: To ``signature.key``, one that stands for its own address is a number.
    is_pointer = True

    def __init__(self, function: Callable[..., Any], returns: str, *takes: str) -> None:
        self.function = function
        self.name = f"{function.__module__}:{function.__qualname__}"
        self.signature = f"{returns}({', '.join(takes)})"
        self.takes = tuple(map(_KEYS.__getitem__, takes))
        self.call = Call(self)
        self._loaded: tuple[Any, int] | None = None

    def address(self) -> Any:
        """Return the address of the compiled function. Before it is compiled, return this object:
        plain kernels need no address, and ``tiers`` replaces the object for compiled ones."""
        return self if self._loaded is None else self._loaded[1]

    def is_cached(self) -> bool:
        """Whether the compiled function lies in the cache."""
        return self._loaded is not None or store.find(self.name, self.takes) is not None

    def load(self) -> int:
        """Compile the function, or load it from the cache."""
        if self._loaded is None:
            from crestline.kernels.jit.compile import callback

            self._loaded = callback(self.name, self.function, self.signature)
        return self._loaded[1]


class Call:
    """The call of a function through its address."""

    def __init__(self, pointed: Pointed) -> None:
        self.pointed = pointed

    def __call__(self, address: Any, *arguments: Any) -> Any:
        """The same in plain Python, without the address."""
        return self.pointed.function(*arguments)

    @cached_property
    def _numba_type_(self) -> Any:
        """What numba takes this object for."""
        from crestline.kernels.jit.indirect import caller_type

        return caller_type(self.pointed.signature)


__all__ = ["FLOAT", "FLOATS", "INT", "INTS", "PAIR", "Call", "Pointed"]
