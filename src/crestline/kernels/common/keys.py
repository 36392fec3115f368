"""Texts as numbers: a key that is equal only for equal texts, and the beginning of the text.

The key is a hash of 128 bits, in two halves. The probability that two of a billion texts have the
same key is about 10 ** -21.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.product import product
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bytes, Floats, Ints

_ALL = (1 << 63) - 1
_FIRST, _SECOND = 0x1E3779B97F4A7C15, 0x2545F4914F6CDD1D


@kernel
def _stirred(h: int, factor: int) -> int:
    h = product(h ^ (h >> 31), factor)
    return h ^ (h >> 29)


@kernel
def text_keys(offsets: Ints, data: Bytes) -> tuple[Ints, Ints, Ints]:
    """For texts that stand one after the other in ``data``: two halves of the key, and the first
    eight bytes as a number whose order is that of the bytes."""
    count = len(offsets) - 1
    high, low = np.empty(count, np.int64), np.empty(count, np.int64)
    code = np.empty(count, np.int64)
    for i in range(count):
        start, stop = int(offsets[i]), int(offsets[i + 1])
        a, b, begins = stop - start + 1, (stop - start + 7) * 31, 0
        for j in range(start, stop):
            byte = int(data[j])
            a = product(a ^ byte, _FIRST) ^ 1
            a ^= a >> 23
            b = product(b ^ byte, _SECOND) ^ 3
            b ^= b >> 27
        for j in range(start, start + 8):
            begins = begins * 256 + (int(data[j]) if j < stop else 0) - (128 if j == start else 0)
        high[i], low[i] = _stirred(a, _SECOND), _stirred(b, _FIRST)
        code[i] = begins
    return high, low, code


@kernel
def moment_order(time: Ints, high: Ints, low: Ints, stream: Ints, value: Floats) -> Ints:
    """Return the indices that sort the observations of each moment by object, stream and value,
    larger values first; times must be ascending."""
    order = np.arange(len(time))
    start = 0
    while start < len(time):
        stop = start + 1
        while stop < len(time) and time[stop] == time[start]:
            stop += 1
        if stop - start > 1:
            _sort(order, start, stop - start, high, low, stream, value)
        start = stop
    return order


@kernel
def _after(high: Ints, low: Ints, stream: Ints, value: Floats, a: int, b: int) -> bool:
    if high[a] != high[b]:
        return bool(high[a] > high[b])
    if low[a] != low[b]:
        return bool(low[a] > low[b])
    if stream[a] != stream[b]:
        return bool(stream[a] > stream[b])
    if value[a] != value[b]:
        return bool(value[a] < value[b])
    return a > b


@kernel
def _sort(
    order: Ints, start: int, size: int, high: Ints, low: Ints, stream: Ints, value: Floats
) -> None:
    """Heap sort."""
    for turn in range(size // 2 + size - 1):
        limit, node = size, size // 2 - 1 - turn
        if node < 0:  # the heap stands: its last goes to the end, again and again
            limit, node = size // 2 + size - 1 - turn, 0
            order[start], order[start + limit] = order[start + limit], order[start]
        while True:
            child = 2 * node + 1
            if child >= limit:
                break
            a, b = order[start + child], order[start + node]
            if child + 1 < limit and _after(high, low, stream, value, order[start + child + 1], a):
                child += 1
                a = order[start + child]
            if not _after(high, low, stream, value, a, b):
                break
            order[start + child], order[start + node] = b, a
            node = child
