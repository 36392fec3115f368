"""A stable sort that compiles in a tenth of the time that NumPy's take inside a kernel."""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def ascending(keys: Floats | Ints) -> Ints:
    """Return the indices in the order of their keys; equal keys keep their order."""
    count = len(keys)
    order, other = np.empty(count, np.int64), np.empty(count, np.int64)
    for start in range(0, count, 16):  # short runs by insertion
        for j in range(start, min(start + 16, count)):
            position = j
            while position > start and keys[order[position - 1]] > keys[j]:
                order[position] = order[position - 1]
                position -= 1
            order[position] = j
    width = 16
    while width < count:
        for start in range(0, count, 2 * width):
            middle, stop = min(start + width, count), min(start + 2 * width, count)
            a, b = start, middle
            for j in range(start, stop):
                if b >= stop or (a < middle and keys[order[a]] <= keys[order[b]]):
                    other[j] = order[a]
                    a += 1
                else:
                    other[j] = order[b]
                    b += 1
        for j in range(count):
            order[j] = other[j]
        width *= 2
    return order


@kernel
def put_ascending(numbers: Ints, count: int, into: Ints) -> None:
    """Write this many numbers into another array, in ascending order."""
    order = ascending(numbers[:count])
    for j in range(count):
        into[j] = numbers[order[j]]
