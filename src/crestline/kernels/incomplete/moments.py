"""Sketches of Alon, Matias and Szegedy: the size of the join of a stream with itself.

A counter adds +1 or -1 for each value, by a hash of its object. The square of the counter is, on
average, the sum over the objects of the squares of how often they came. The mean over `COPIES`
counters is taken, and the median of `GROUPS` means.

A counter is a sum, so it can be kept by the part of time in which values leave: `PARTS` counters
for a window, of which those are added up whose values are still in it (all but a part of the
oldest).
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.objects import mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints, Places

GROUPS, COPIES, PARTS = 5, 12, 8


def new_moments(streams: int) -> tuple[Places, Ints, Ints]:
    """Make counters, how many values they counted, and the parts of time to which they belong."""
    parts = PARTS + 1
    return (
        np.zeros((streams, parts, GROUPS * COPIES), np.int32),
        np.zeros((streams, parts), np.int64),
        np.full(parts, LONG_AGO),
    )


@kernel
def count_signs(
    counters: Places, values: Ints, parts: Ints, span: int,
    streams: Ints, high: Ints, low: Ints, leaves: Ints,
) -> None:  # fmt: skip
    """Count values that leave at these steps; a part of time is ``span`` steps."""
    for a in range(len(streams)):
        part = leaves[a] // span
        place = part % len(parts)
        if parts[place] != part:
            parts[place] = part
            for x in range(len(counters)):
                values[x, place] = 0
                for c in range(counters.shape[2]):
                    counters[x, place, c] = 0
        values[streams[a], place] += 1
        signs = mixed(high[a], low[a]) & ((1 << 60) - 1)
        for c in range(counters.shape[2]):
            counters[streams[a], place, c] += 1 if (signs >> c) & 1 == 1 else -1


@kernel
def self_joins(
    counters: Places, values: Ints, parts: Ints, span: int, step: int
) -> tuple[Floats, Floats]:
    """Return, by stream, the estimated size of its join with itself, and how many values it has."""
    streams = len(counters)
    joins, counts = np.zeros(streams), np.zeros(streams)
    means = np.empty(GROUPS)
    for x in range(streams):
        for group in range(GROUPS):
            squares = 0.0
            for copy in range(COPIES):
                total = 0.0
                for place in range(len(parts)):
                    if parts[place] >= step // span:
                        total += counters[x, place, group * COPIES + copy]
                squares += total * total
            means[group] = squares / COPIES
        joins[x] = np.median(means)
        for place in range(len(parts)):
            if parts[place] >= step // span:
                counts[x] += values[x, place]
    return joins, counts
