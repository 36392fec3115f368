"""Expected ranks (Cormode et al. 2009)."""

from __future__ import annotations

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.exclusive import TOLERANCE
from crestline.types import Floats, Ints


@kernel
def expected_ranks(chance: Floats, rule: Ints, value: Floats) -> int:
    """Work out the expected rank of every record; return 1 if a rule is above 1, else 0.

    The rank is the mean number of records above; for a record that does not exist, the mean number
    of all others. Nothing closes, as every record counts towards every other's rank.
    """
    count = len(chance)
    total = 0.0
    for p in chance:
        total += p
    above = 0.0
    for i in range(count):
        p = chance[i]
        value[i] = p * above + (1.0 - p) * (total - p)
        above += p
    overfull = 0
    order = ascending(rule)
    start = 0
    while start < count:
        stop = start + 1
        while stop < count and rule[order[stop]] == rule[order[start]]:
            stop += 1
        if rule[order[start]] >= 0:
            mass = 0.0
            for j in range(start, stop):
                mass += chance[order[j]]
            if mass > 1.0 + TOLERANCE:
                overfull = 1
            higher = 0.0
            for j in range(start, stop):
                p = chance[order[j]]
                # Companions stand above only where this record is not: take them out of the first
                # term, and count them whole instead of only where it is missing.
                value[order[j]] += p * (mass - p) - p * higher
                higher += p
        start = stop
    return overfull
