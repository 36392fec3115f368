"""How many objects were seen on some streams together: sketches of Flajolet and Martin, windowed.

A stream has `MAPS` maps of `BITS` bits. An object sets one bit of one map, the b-th of them with
probability 2 ** -(b + 1). In place of a bit stands the step until which it is set (Datar et al.):
so a sketch forgets what has left the window. The union of streams is the union of their bits, and
from how many of them are not set follows how many objects there are (as Estan et al. count, which
is closer than the mean place of the first bit that is not set where objects are few).
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

MAPS, BITS = 256, 40
_MAP_BITS = 8
#: So many bits of a place must not be set for it to tell anything.
_CLEAR = MAPS // 5


def new_stamps(streams: int) -> Ints:
    """Sketches in which nothing is set."""
    return np.full((streams, MAPS, BITS), -(1 << 62))


@kernel
def stamp(stamps: Ints, stream: int, high: int, low: int, leaves: int) -> None:
    """An object was seen on a stream, which counts until it leaves."""
    h = mixed(high, low)
    rest = h >> _MAP_BITS
    bit = 0
    while bit < BITS - 1 and rest & 1 == 0:
        rest >>= 1
        bit += 1
    stamps[stream, h & (MAPS - 1), bit] = leaves


@kernel
def estimated(stamps: Ints, streams: int, step: int) -> float:
    """How many objects were seen on at least one of the streams (a bit for each).

    Of the bits of one place, with n objects for them, a share of exp(-n / MAPS) is not set. Places
    with too few of those tell nothing; all behind them together stand for the rest.
    """
    total = 0.0
    for bit in range(BITS - 1, -1, -1):
        clear = 0
        for m in range(MAPS):
            is_set = False
            for x in range(len(stamps)):
                is_set |= (streams >> x) & 1 == 1 and stamps[x, m, bit] > step
            clear += not is_set
        if clear < _CLEAR:
            return float(total * 2.0 ** (bit + 1))
        total += MAPS * np.log(MAPS / clear)
    return float(total)


@kernel
def chances(stamps: Ints, step: int) -> Floats:
    """By pairs: how probable it is that an object of the first stream comes on the second one too,
    if it has not yet. Of those that are on both, half came on the second one first."""
    streams = len(stamps)
    size = np.empty(streams)
    for x in range(streams):
        size[x] = estimated(stamps, 1 << x, step)
    chance = np.zeros((streams, streams))
    for x in range(streams):
        for y in range(x):
            half = (size[x] + size[y] - estimated(stamps, (1 << x) | (1 << y), step)) / 2
            for a, b in ((x, y), (y, x)):
                if size[a] > half:
                    chance[a, b] = min(1.0, max(0.0, half / (size[a] - half)))
    return chance
