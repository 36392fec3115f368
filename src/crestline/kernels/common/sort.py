"""Sorting records best first inside kernels."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.output import put
from crestline.kernels.common.windows import before
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def sort_records(records: Ints, count: int, spare: Ints, scores: Floats, ties: Ints) -> None:
    """Sort ``records[:count]`` best first, by merging; ``spare`` is room for as many."""
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            a, b = low, middle
            for position in range(low, high):
                if b >= high or (a < middle and not before(scores, ties, records[b], records[a])):
                    spare[position] = records[a]
                    a += 1
                else:
                    spare[position] = records[b]
                    b += 1
        put(records, 0, spare, 0, count)
        width *= 2


@kernel
def sort_runs(order: Ints, starts: Ints, longest: int, scores: Floats, ties: Ints) -> None:
    """Sort in place, best first, each run of ``order`` that is not longer than the limit."""
    spare = np.empty(longest, np.int64)
    for r in range(len(starts) - 1):
        begin, end = starts[r], starts[r + 1]
        if end - begin <= longest:
            sort_records(order[begin:end], end - begin, spare, scores, ties)
