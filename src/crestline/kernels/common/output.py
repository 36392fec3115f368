"""Snapshots as kernels write them: flat arrays that grow.

A kernel reports ``(partition, end, count)`` for each snapshot and appends the ``count`` records to
one flat array, best first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def put(target: Any, start: int, source: Any, first: int, count: int) -> None:
    """Copy ``count`` entries of ``source`` from ``first`` on to ``target`` from ``start`` on.

    Assigning a slice would do the same, but numba compiles more than two seconds of messages about
    shapes with it.
    """
    for i in range(count):
        target[start + i] = source[first + i]


@kernel
def room_for(array: Ints, filled: int, more: int) -> Ints:
    """The array itself, or a larger copy if ``more`` entries would not fit behind ``filled``."""
    if filled + more <= len(array):
        return array
    larger = np.empty(max(2 * len(array), filled + more), np.int64)
    put(larger, 0, array, 0, filled)
    return larger


@kernel
def before(scores: Floats, ties: Ints, a: int, b: int) -> bool:
    """Whether record ``a`` ranks before record ``b``: larger score first, then larger tie."""
    return bool(scores[a] > scores[b] or (scores[a] == scores[b] and ties[a] > ties[b]))


@kernel
def first_without(pane: int, width: int, slide: int) -> int:
    """The first window end at which a pane has expired: the least multiple of ``slide`` beyond
    ``pane + width``."""
    return (pane + width) // slide * slide + slide
