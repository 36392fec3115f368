"""Records that exclude one another: the walks with generation rules.

The members of a rule among the records so far are one *unit*, which exists with the sum of their
probabilities. Where record i stands, its own rule is left out: if the record exists, the others do
not. The first ``IN_ORDER`` records are looked at one after the other; those behind them through a
binary tree.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import (
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    closes,
)
from crestline.kernels.uncertain.independent import (
    compete,
    include,
    missing_of_top,
    total_from,
    walk_independent,
)
from crestline.types import Floats, Ints

#: By how much the probabilities of a rule may exceed 1 before it counts as overfull.
TOLERANCE = 1e-9
#: The number of records that are looked at one after the other.
IN_ORDER = 512
#: The tree is built over this number of records at least.
_TREE_AT_LEAST = 64


@kernel
def walk_with_rules(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Weigh records of which some exclude one another; see ``worlds.weigh``."""
    # What comes before the first rule is looked at as if there were none: so it makes no difference
    # whether there is one behind the records that close.
    free = first_rule(rule)
    depth = walk_independent(kind, k, threshold, chance[:free], group, value, best, leader)
    if depth >= 0 or free == len(chance):
        return depth, 0
    if free < IN_ORDER:
        depth, overfull = _walk_in_order(
            kind, k, threshold, chance, rule, group, free, value, best, leader
        )
        if depth >= 0 or len(chance) <= IN_ORDER:
            return depth, overfull
    done = max(free, IN_ORDER)
    some = max(_TREE_AT_LEAST, 4 * k, 2 * done)
    while True:
        count = min(some, len(chance))
        depth, overfull = _walk_tree(
            kind, k, threshold, chance[:count], rule[:count], group, done, value, best, leader
        )
        if 0 <= depth < count:
            # The order in which factors are multiplied depends on the number of records, and with
            # it the last bits: let them depend on the compact set alone.
            _, overfull = _walk_tree(
                kind, k, threshold, chance[:depth], rule[:depth], group, done, value, best, leader
            )
        if depth >= 0 or count == len(chance):
            return depth, overfull
        some *= 4


@kernel
def first_rule(rule: Ints) -> int:
    """Count the records before the first that has a rule."""
    for i in range(len(rule)):
        if rule[i] >= 0:
            return i
    return len(rule)


# -- one after the other --------------------------------------------------------------------------


@kernel
def _walk_in_order(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, free: int,
    value: Floats, best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Weigh the first ``IN_ORDER`` records. The first ``free`` of them have no rule, have their
    values, and do not close.

    The value of a record depends on those above it alone, to the last bit. The tree is quicker at
    times, but the order in which it multiplies depends on the records behind.
    """
    count = len(chance)
    width, some = min(k, count), min(count, IN_ORDER)
    exactly, unit_rule, unit_mass = no_units(some, width)
    largest = np.empty(width)
    groups = np.empty(width if kind == SUMS else 0, np.int64)
    state = np.zeros(1)
    for j in range(width):
        best[j] = -1.0
    units = overfull = 0
    for i in range(some):
        p = chance[i]
        units, mass = leave_out_rule(rule[i], units, unit_rule, unit_mass, exactly)
        others = exactly[units]
        if mass + p > 1.0 + TOLERANCE:
            overfull = 1
        s = min(mass + p, 1.0)
        # Summed from "none exists" on, so that one sum serves every k (see ``specs``).
        below_last = short = 0.0
        for j in range(min(width, k - 1)):
            below_last += others[width - 1 - j]
            short += below_last
        at_last = others[0] if width >= k else 0.0
        if i >= free:
            value[i] = p * (below_last + at_last)
        fewer = below_last + (1.0 - s) * at_last
        # The mean number that is missing of the top k is the sum of P(fewer than j exist) for
        # j = 1 ... k; one less, if the own rule has one.
        rest = (1.0 - s) * (short + (below_last + at_last)) + s * short
        if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
            compete(p, others, width, i, best, leader)
        unit_rule[units], unit_mass[units] = rule[i], mass + p
        include_into(others, exactly[units + 1], s)
        units += 1
        if count >= k and closes(
            kind, k, threshold, value[i], fewer, rest, p * at_last, fewer, group[i], largest,
            state, groups,
        ) and i >= free:  # fmt: skip
            return i + 1, overfull
    return -1, overfull


@kernel
def no_units(count: int, width: int) -> tuple[Floats, Ints, Floats]:
    """Return room for ``count`` units: row u of the first array will be ``exactly`` for the first
    u of them; then come the rules of the units and their probabilities."""
    exactly = np.empty((count + 1, width + 1))
    for j in range(width + 1):
        exactly[0, j] = 1.0 if j == width - 1 else 0.0
    return exactly, np.empty(count, np.int64), np.empty(count)


@kernel
def leave_out_rule(
    own: int, units: int, unit_rule: Ints, unit_mass: Floats, exactly: Floats
) -> tuple[int, float]:
    """Remove the rule ``own`` if it is among the units; return the number of units that are left
    and the probability of the rule so far.

    Units are in the order of their last members, so the rows before the rule stay as they are.
    """
    if own < 0:
        return units, 0.0
    unit = units - 1
    while unit >= 0 and unit_rule[unit] != own:
        unit -= 1
    if unit < 0:
        return units, 0.0
    mass = unit_mass[unit]
    for u in range(unit, units - 1):
        unit_rule[u], unit_mass[u] = unit_rule[u + 1], unit_mass[u + 1]
        include_into(exactly[u], exactly[u + 1], min(unit_mass[u], 1.0))
    return units - 1, mass


@kernel
def include_into(before: Floats, after: Floats, p: float) -> None:
    """``include``, into another array."""
    width = len(before) - 1
    for j in range(width):
        after[j] = (1.0 - p) * before[j] + p * before[j + 1]
    after[width] = 0.0


# -- through a tree -------------------------------------------------------------------------------


@kernel
def _walk_tree(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, done: int,
    value: Floats, best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Weigh more records. The first ``done`` of them have their values and do not close.

    The factor of a rule holds between one of its members and the next. Each is multiplied in where
    it holds, on the nodes of a binary tree over the records; the product along the path to a leaf
    is that of all rules but the leaf's own.
    """
    count = len(chance)
    width = min(k, count)
    mass, start, factor, levels, overfull = rule_factors(chance, rule)
    size = 1 << levels
    exactly = np.zeros((levels + 1, width + 1))
    largest = np.empty(width)
    groups = np.empty(width if kind == SUMS else 0, np.int64)
    state = np.zeros(1)
    for j in range(width):
        best[j] = -1.0
    exactly[0, width - 1] = 1.0
    for i in range(count):
        fresh = 0 if i == 0 else levels - _bits(i ^ (i - 1)) + 1
        for level in range(fresh, levels + 1):
            if level > 0:
                for j in range(width + 1):
                    exactly[level, j] = exactly[level - 1, j]
            node = (size + i) >> (levels - level)
            for f in range(start[node], start[node + 1]):
                include(exactly[level], factor[f])
        others = exactly[levels]
        p, s = chance[i], min(mass[i] + chance[i], 1.0)
        at_last = others[0] if width >= k else 0.0
        below_last = total_from(others, 1 if width >= k else 0)
        if i >= done:
            value[i] = p * (below_last + at_last)
        fewer = below_last + (1.0 - s) * at_last
        rest = 0.0
        if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
            compete(p, others, width, i, best, leader)
        elif kind == SUMS:
            missing = missing_of_top(others, k)
            rest = (1.0 - s) * missing + s * (missing - below_last - at_last)
        if count >= k and closes(
            kind, k, threshold, value[i], fewer, rest, p * at_last, fewer, group[i], largest,
            state, groups,
        ) and i >= done:  # fmt: skip
            return i + 1, overfull
    return -1, overfull


@kernel
def _bits(number: int) -> int:
    bits = 0
    while number > 0:
        number >>= 1
        bits += 1
    return bits


@kernel
def rule_factors(chance: Floats, rule: Ints) -> tuple[Floats, Ints, Floats, int, int]:
    """Return, for records in rank order, what the rule of each has used up above it; then the
    factors on the nodes of a binary tree over the records.

    The root is node 1, record i is leaf ``2 ** levels + i``. The factors
    ``factor[start[node] : start[node + 1]]`` hold for all records below a node. Behind record i its
    rule is as probable as its members so far, until the next member comes, at which the own rule is
    left out. So each record brings one factor, for the records between itself and its rule's next
    member: O(log n) nodes.
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
def rules_above(chance: Floats, rule: Ints) -> Floats:
    """Return what each record's rule has used up above it."""
    return _members(chance, rule)[0]


@kernel
def _members(chance: Floats, rule: Ints) -> tuple[Floats, Ints]:
    """Return what each record's rule has used up above it, and the index of its next member."""
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
