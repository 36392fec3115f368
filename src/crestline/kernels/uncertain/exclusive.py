"""Where the factors of exclusive records hold: the generation rules of
``kernels.uncertain.worlds``."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

#: By how much a rule's probabilities may exceed 1 before it counts as a false promise.
TOLERANCE = 1e-9


@kernel
def rule_factors(chance: Floats, rule: Ints) -> tuple[Floats, Ints, Floats, int, int]:
    """For records in rank order: what the rule of each has used up above it; then, for the nodes of
    a binary tree over the records (the root is 1, record i is leaf ``2 ** levels + i``), the
    factors that hold on all records below a node: ``factor[start[node] : start[node + 1]]``.

    Behind record i its rule is as probable as its members so far, until the next member comes, at
    which the own rule is left out. So each record brings one factor, for the records between
    itself and its rule's next member: O(log n) nodes.
    """
    count = len(chance)
    levels = 0
    while (1 << levels) < count:
        levels += 1
    size = 1 << levels
    mass, until = _members(chance, rule)
    overfull = 0
    for i in range(count):
        if mass[i] + chance[i] > 1.0 + TOLERANCE:
            overfull = 1
    start = np.zeros(2 * size + 2, np.int64)
    factor = np.empty(0)
    for filling in range(2):  # count first, then fill
        for i in range(count):
            low, high = size + i + 1, size + until[i]
            while low < high:
                if low & 1:
                    if filling:
                        factor[start[low]] = min(mass[i] + chance[i], 1.0)
                    start[low] += 1
                    low += 1
                if high & 1:
                    high -= 1
                    if filling:
                        factor[start[high]] = min(mass[i] + chance[i], 1.0)
                    start[high] += 1
                low >>= 1
                high >>= 1
        if not filling:
            total = 0
            for node in range(len(start)):
                here = start[node]
                start[node] = total
                total += here
            factor = np.empty(total)
    for node in range(len(start) - 1, 0, -1):  # filling moved each start to its end
        start[node] = start[node - 1]
    start[0] = 0
    return mass, start, factor, levels, overfull


@kernel
def _members(chance: Floats, rule: Ints) -> tuple[Floats, Ints]:
    """What each record's rule has used up above it, and where the next member stands."""
    count = len(chance)
    mass = np.zeros(count)
    until = np.empty(count, np.int64)
    for i in range(count):
        until[i] = count
    order = ascending(rule)
    for j in range(1, count):
        before, here = order[j - 1], order[j]
        if rule[here] >= 0 and rule[here] == rule[before]:
            mass[here] = mass[before] + chance[before]
            until[before] = here
    return mass, until
