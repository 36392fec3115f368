"""How every kernel is compiled: cached on disk, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile ``function`` on its first call; later processes load it from the cache."""
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    return compiled
