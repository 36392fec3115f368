"""Estimates of how many objects streams share: windowed sketches of Flajolet and Martin.

A stream has `MAPS` maps of `BITS` bits. An object sets one bit of one map: bit b with probability
2 ** -(b + 1). Each bit is stored as the step until which it is set (Datar et al.), so a sketch
forgets what has left the window. The union of streams is the union of their bits. The share of
unset bits gives the number of objects (as Estan et al. count; where objects are few, that is closer
than the mean position of the first unset bit).
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

MAPS, BITS = 256, 40
_MAP_BITS = 8
#: A bit position with fewer unset bits than this is not used for an estimate.
_CLEAR = MAPS // 5


def new_sketches(streams: int) -> Ints:
    """Make sketches in which no bit is set."""
    return np.full((streams, MAPS, BITS), LONG_AGO)


@kernel
def sketch(sketches: Ints, stream: int, high: int, low: int, leaves: int) -> None:
    """Set the bit of an object on a stream until the step ``leaves``."""
    h = mixed(high, low)
    rest = h >> _MAP_BITS
    bit = 0
    while bit < BITS - 1 and rest & 1 == 0:
        rest >>= 1
        bit += 1
    sketches[stream, h & (MAPS - 1), bit] = leaves


@kernel
def estimated(sketches: Ints, streams: int, step: int) -> float:
    """Estimate how many objects were seen on at least one of the streams (a bit for each).

    With n objects for a bit position, a share of exp(-n / MAPS) of its bits is unset. A position
    with too few unset bits tells nothing; the sum over all later positions stands for the rest.
    """
    total = 0.0
    for bit in range(BITS - 1, -1, -1):
        clear = 0
        for m in range(MAPS):
            is_set = False
            for x in range(len(sketches)):
                is_set |= (streams >> x) & 1 == 1 and sketches[x, m, bit] > step
            clear += not is_set
        if clear < _CLEAR:
            return float(total * 2.0 ** (bit + 1))
        total += MAPS * np.log(MAPS / clear)
    return float(total)


@kernel
def chances(sketches: Ints, step: int) -> Floats:
    """Estimate, for each pair of streams, the probability that an object of the first one that is
    not on the second one will come on it. Half of the objects on both came on the second first."""
    streams = len(sketches)
    size = np.empty(streams)
    for x in range(streams):
        size[x] = estimated(sketches, 1 << x, step)
    chance = np.zeros((streams, streams))
    for x in range(streams):
        for y in range(x):
            half = (size[x] + size[y] - estimated(sketches, (1 << x) | (1 << y), step)) / 2
            for a, b in ((x, y), (y, x)):
                if size[a] > half:
                    chance[a, b] = min(1.0, max(0.0, half / (size[a] - half)))
    return chance
