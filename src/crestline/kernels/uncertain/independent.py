"""Records that exist independently of one another: how probable each is in the top k.

``exactly`` ends with the probabilities that 2, 1 and 0 of the records so far exist, and a zero. In
this order the loops read ahead of what they write, and the compiler vectorises them.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import (
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    closes,
    rounded,
)
from crestline.types import Floats, Ints


@kernel
def walk_independent(
    kind: int, k: int, threshold: float, chance: Floats, group: Ints, value: Floats, best: Floats,
    leader: Ints,
) -> int:  # fmt: skip
    """Weigh records by the recursion (2) of Jin et al.; see ``worlds.weigh``."""
    count = len(chance)
    width = min(k, count)
    exactly = np.zeros(width + 1)
    exactly[width - 1] = 1.0
    largest = np.empty(width)
    groups = np.empty(width if kind == SUMS else 0, np.int64)
    state = np.zeros(1)
    for j in range(width):
        best[j] = -1.0
    fewer = summed_at = 1.0  # that fewer than k exist; its value when it was last summed up
    rest = weighed_at = float(k)
    for i in range(count):
        p = chance[i]
        value[i] = p * fewer
        if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
            compete(p, exactly, min(i + 1, width), i, best, leader)
        last = p * exactly[0] if i >= k - 1 else 0.0
        rest -= value[i]
        include(exactly, p)
        # Subtracting is quick but cancels: sum up again whenever half is gone.
        fewer -= last
        if fewer < 0.5 * summed_at:
            fewer = summed_at = total_from(exactly, 0)
        peak = fewer
        if kind == U_KRANKS:
            peak = 0.0
            for j in range(width):
                peak = max(peak, exactly[j])
        elif kind == SUMS and rest < 0.5 * weighed_at:
            rest = weighed_at = missing_of_top(exactly, k)
        if count >= k and closes(
            kind, k, threshold, value[i], fewer, rest, last, peak, group[i], largest, state, groups
        ):
            return i + 1
    return -1


@kernel
def include(exactly: Floats, p: float) -> None:
    """Add a record that exists with probability p."""
    for j in range(len(exactly) - 1):
        exactly[j] = (1.0 - p) * exactly[j] + p * exactly[j + 1]


@kernel
def total_from(exactly: Floats, first: int) -> float:
    """Sum up the entries of ``exactly`` from ``first`` on."""
    total = 0.0
    for j in range(first, len(exactly)):
        total += exactly[j]
    return total


@kernel
def compete(p: float, exactly: Floats, ranks: int, i: int, best: Floats, leader: Ints) -> None:
    """Let record i compete for each rank; a tie stays with the record that ranks higher."""
    width = len(exactly) - 1
    for j in range(ranks):
        at_rank = p * exactly[width - 1 - j]
        if at_rank > best[j] and rounded(at_rank) > rounded(best[j]):
            best[j] = at_rank
            leader[j] = i


@kernel
def missing_of_top(exactly: Floats, k: int) -> float:
    """Return the mean of k less the number of records that exist: what is missing of the top k."""
    missing = 0.0
    width = len(exactly) - 1
    for j in range(min(k, width)):
        missing += (k - j) * exactly[width - 1 - j]
    return missing
