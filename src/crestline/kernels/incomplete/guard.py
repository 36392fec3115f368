"""A record of which objects were seen, so that a repeat of a forgotten value is noticed.

An open-addressing table of (key, until, streams). Where an object may return to a stream, there is
one entry per value, under a key of object and stream. Where it is seen only once on a stream, there
is one entry per object with a bit for each stream; it lasts while the object stays in the window
without a break. Expired entries stay until the table is copied.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.product import product
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Records

ENTRY = np.dtype([("high", "i8"), ("low", "i8"), ("until", "i8"), ("streams", "i8")])
#: A large odd number: its multiples look random.
_GOLDEN = 0x1E3779B97F4A7C15


def new_guard(room: int) -> Records:
    """Make a table for ``room`` entries; with 0, it remembers nothing."""
    size = 1 << max(4, int(2 * room - 1).bit_length()) if room else 0
    guard = np.zeros(size, ENTRY)
    guard["until"] = LONG_AGO
    return guard.view(np.recarray)


@kernel
def _with_stream(high: int, stream: int) -> int:
    return int(high) ^ product(int(stream) + 1, _GOLDEN)


@kernel
def _write(guard: Records, high: int, low: int, until: int, streams: int) -> None:
    last = len(guard) - 1
    index = mixed(high, low) & last
    while guard[index].until != LONG_AGO:
        index = (index + 1) & last
    guard[index].high = high
    guard[index].low = low
    guard[index].until = until
    guard[index].streams = streams


@kernel
def _values(guard: Records, high: int, low: int, step: int) -> tuple[int, int]:
    """Return how many entries of the key have not expired, and the last step of them."""
    last = len(guard) - 1
    index = mixed(high, low) & last
    count, until = 0, LONG_AGO
    while guard[index].until != LONG_AGO:
        if guard[index].until > step and guard[index].low == low and guard[index].high == high:
            count += 1
            until = max(until, guard[index].until)
        index = (index + 1) & last
    return count, until


@kernel
def _entry(guard: Records, high: int, low: int) -> int:
    """Return the index of the first entry of the key, or -1."""
    last = len(guard) - 1
    index = mixed(high, low) & last
    while guard[index].until != LONG_AGO:
        if guard[index].low == low and guard[index].high == high:
            return int(index)
        index = (index + 1) & last
    return -1


@kernel
def seen_until(
    guard: Records, once: bool, high: int, low: int, streams: int, step: int
) -> tuple[int, int]:
    """Return until when earlier values of an object are in the window, and on which streams it was
    seen since it entered (with ``once``; else 0)."""
    if len(guard) == 0:
        return LONG_AGO, 0
    if not once:
        until = LONG_AGO
        for x in range(streams):
            _, last = _values(guard, _with_stream(high, x), low, step)
            until = max(until, last)
        return until, 0
    index = _entry(guard, high, low)
    if index < 0 or guard[index].until <= step:
        return LONG_AGO, 0
    return guard[index].until, guard[index].streams


@kernel
def admits(
    guard: Records, once: bool, most: int, high: int, low: int, stream: int, step: int, leaves: int
) -> tuple[bool, int]:
    """Enter a value unless it is a repeat; return whether it is none, and how many entries were
    added."""
    if once:
        index = _entry(guard, high, low)
        if index < 0:
            _write(guard, high, low, leaves, 1 << stream)
            return True, 1
        if guard[index].until <= step:
            guard[index].streams = 0
        if (guard[index].streams >> stream) & 1 == 1:
            return False, 0
        guard[index].streams |= 1 << stream
        guard[index].until = leaves
        return True, 0
    split = _with_stream(high, stream)
    count, _ = _values(guard, split, low, step)
    if count >= most:
        return False, 0
    _write(guard, split, low, leaves, 0)
    return True, 1


@kernel
def copy_guard(old: Records, new: Records, step: int) -> int:
    """Copy the entries that have not expired; return how many there are."""
    count = 0
    for index in range(len(old)):
        entry = old[index]
        if entry.until > step:
            _write(new, entry.high, entry.low, entry.until, entry.streams)
            count += 1
    return count
