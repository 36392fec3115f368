"""What has been seen of objects whose values may be forgotten: enough to notice a repeat.

An open table of (key, until, streams). Where an object may return to a stream, there is an entry
for each value, under a key of object and stream; where it is seen only once on a stream, there is
one entry for each object with a bit for every stream, and it lasts as long as the object is in the
window without a break. Entries that are over stay until the table is made anew.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.product import product
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Records

ENTRY = np.dtype([("high", "i8"), ("low", "i8"), ("until", "i8"), ("streams", "i8")])
#: A large odd number: multiples of it look like random ones.
_GOLDEN = 0x1E3779B97F4A7C15
_ALL = (1 << 63) - 1


def new_guard(room: int) -> Records:
    """A table for so many entries; with 0, nothing is remembered."""
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
    at = mixed(high, low) & last
    while guard[at].until != LONG_AGO:
        at = (at + 1) & last
    guard[at].high = high
    guard[at].low = low
    guard[at].until = until
    guard[at].streams = streams


@kernel
def _values(guard: Records, high: int, low: int, step: int) -> tuple[int, int]:
    """How many entries of the key are not over, and until when the last of them lasts."""
    last = len(guard) - 1
    at = mixed(high, low) & last
    count, until = 0, LONG_AGO
    while guard[at].until != LONG_AGO:
        if guard[at].until > step and guard[at].low == low and guard[at].high == high:
            count += 1
            until = max(until, guard[at].until)
        at = (at + 1) & last
    return count, until


@kernel
def _entry(guard: Records, high: int, low: int) -> int:
    last = len(guard) - 1
    at = mixed(high, low) & last
    while guard[at].until != LONG_AGO:
        if guard[at].low == low and guard[at].high == high:
            return int(at)
        at = (at + 1) & last
    return -1


@kernel
def seen_until(
    guard: Records, once: bool, high: int, low: int, streams: int, step: int
) -> tuple[int, int]:
    """Until when values that came before are in the window, and on which streams the object was
    seen since it came into the window (if that is remembered)."""
    if len(guard) == 0:
        return LONG_AGO, 0
    if not once:
        until = LONG_AGO
        for x in range(streams):
            _, found = _values(guard, _with_stream(high, x), low, step)
            until = max(until, found)
        return until, 0
    at = _entry(guard, high, low)
    if at < 0 or guard[at].until <= step:
        return LONG_AGO, 0
    return guard[at].until, guard[at].streams


@kernel
def admits(
    guard: Records, once: bool, most: int, high: int, low: int, stream: int, step: int, leaves: int
) -> tuple[bool, int]:
    """Whether a value is no repeat, in which case it is remembered; and how many entries more."""
    if once:
        at = _entry(guard, high, low)
        if at < 0:
            _write(guard, high, low, leaves, 1 << stream)
            return True, 1
        if guard[at].until <= step:
            guard[at].streams = 0
        if (guard[at].streams >> stream) & 1 == 1:
            return False, 0
        guard[at].streams |= 1 << stream
        guard[at].until = leaves
        return True, 0
    split = _with_stream(high, stream)
    count, _ = _values(guard, split, low, step)
    if count >= most:
        return False, 0
    _write(guard, split, low, leaves, 0)
    return True, 1


@kernel
def copy_guard(old: Records, new: Records, step: int) -> int:
    """Copy the entries that are not over; how many they are."""
    count = 0
    for at in range(len(old)):
        if old[at].until > step:
            _write(new, old[at].high, old[at].low, old[at].until, old[at].streams)
            count += 1
    return count
