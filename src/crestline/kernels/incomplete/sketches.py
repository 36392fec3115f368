"""How many objects streams share, as Haghani et al. estimate it: windowed sketches of Flajolet and
Martin. `CORRELATED` uses them with the option ``printed``.

A stream has `MAPS` maps of up to `BITS` bits, of which those are held that are set. An object sets
one bit of one map: bit b with probability 2 ** -(b + 1). Each bit is stored as the step until which
it is set (Datar et al.), so a sketch forgets what has left the window. The union of streams is the
union of their bits. The share of unset bits gives the number of objects (as Estan et al. count;
where objects are few, that is closer than the mean position of the first unset bit).
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints

MAPS, BITS = 256, 40
_MAP_BITS = 8
#: A bit position with fewer unset bits than this is not used for an estimate.
_CLEAR = MAPS // 5


def new_sketches(streams: int, bits: int = 1) -> Ints:
    """Make sketches in which no bit is set, with this number of positions."""
    return np.full((streams, MAPS, bits), LONG_AGO)


def with_room(sketches: Ints, bits: int) -> Ints:
    """Return the sketches with this number of positions at least."""
    more = max(0, bits - sketches.shape[2])
    return np.concatenate((sketches, new_sketches(len(sketches), more)), axis=2)


def without_unused(sketches: Ints, step: int) -> Ints:
    """Return the sketches without the last positions if no bit of them is set after a step."""
    used = np.flatnonzero((sketches > step).any(axis=(0, 1)))
    return np.ascontiguousarray(sketches[:, :, : 1 + used.max(initial=0)])


@borrowing_kernel
def _bit(h: int) -> int:
    """Return the position of the bit that a hash sets."""
    rest = h >> _MAP_BITS
    bit = 0
    while bit < BITS - 1 and rest & 1 == 0:
        rest >>= 1
        bit += 1
    return bit


@kernel
def highest(high: Ints, low: Ints) -> int:
    """Return the highest position that these objects set, or 0."""
    most = 0
    for a in range(len(high)):
        most = max(most, _bit(mixed(high[a], low[a])))
    return most


@borrowing_kernel
def sketch(sketches: Ints, streams: Ints, high: Ints, low: Ints, leaves: Ints) -> None:
    """Set the bits of objects that were seen on these streams, each until the step at which it
    leaves. There must be room for the positions."""
    for a in range(len(streams)):
        h = mixed(high[a], low[a])
        sketches[streams[a], h & (MAPS - 1), _bit(h)] = leaves[a]


@borrowing_kernel
def estimated(sketches: Ints, streams: int, step: int) -> float:
    """Estimate how many objects were seen on at least one of the streams (a bit for each).

    With n objects for a bit position, a share of exp(-n / MAPS) of its bits is unset. A position
    with too few unset bits tells nothing; the sum over all later positions stands for the rest.
    """
    total = 0.0
    for bit in range(sketches.shape[2] - 1, -1, -1):
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
def sizes(sketches: Ints, step: int) -> Floats:
    """Estimate how many objects were seen on at least one of the streams of each set, by its
    bits."""
    unions = np.empty(1 << len(sketches))
    for streams in range(len(unions)):
        unions[streams] = estimated(sketches, streams, step)
    return unions


@kernel
def joined(unions: Floats, streams: int) -> float:
    """Return how many objects were seen on all streams of a set, from the sizes of the unions of
    its parts: the sum of those of odd numbers of streams, less that of the others."""
    total = 0.0
    part = streams
    while part > 0:
        count, rest = 0, part
        while rest > 0:
            count += rest & 1
            rest >>= 1
        total += unions[part] if count % 2 == 1 else -unions[part]
        part = (part - 1) & streams
    return total
