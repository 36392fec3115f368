"""Kernels as plain Python, as compiled code, or now one and now the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any
from unittest.mock import patch

from crestline.kernels.jit.tiers import Kernel, _tiers, using

_PATTERN = (True, False, False, True, False, True, True)
TIERS = ("plain", "compiled", "switching")


@contextmanager
def in_tier(name: str) -> Iterator[None]:
    """Run all kernels in one tier, or let the tier change with the calls, in a fixed pattern."""
    plain = {"plain": (True,), "compiled": (False,)}.get(name, _PATTERN)
    turns = cycle(plain)

    def call(kernel: Kernel, *arguments: Any) -> Any:
        if next(turns):
            return _tiers._play(kernel, arguments)
        return _tiers.call(kernel, arguments)

    with using("compiled"), patch.object(Kernel, "__call__", call):
        yield
