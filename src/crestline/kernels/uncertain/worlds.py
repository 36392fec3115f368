"""Possible worlds, weighed: what is probable of records in rank order, and how many decide it.

Every function looks at records in rank order, best first, and stops at the first prefix that
closes (``kernels.uncertain.closing``). Only sums of products of probabilities are formed; nothing
is divided, and nothing is subtracted that could cancel. So values keep their relative precision;
what is smaller than 1e-300 counts as nothing.

**Cost** of a prefix of d records: O(d k). With exclusive records O(d k log d), and for the first
few hundred O(k) for each unit since the last member of a record's rule.

The functions here are called through their addresses (``kernels.jit.pointer``), since compiling
them into each caller would take long.
"""

from __future__ import annotations

import math

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.pointer import FLOAT, FLOATS, INT, INTS, PAIR, Pointed
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import (
    EXPECTED_RANK,
    PRF,
    PT_K,
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    U_TOPK,
    rounded,
)
from crestline.kernels.uncertain.discounted import walk_discounted
from crestline.kernels.uncertain.exclusive import first_rule, walk_with_rules
from crestline.kernels.uncertain.expected_rank import expected_ranks
from crestline.kernels.uncertain.independent import walk_independent
from crestline.kernels.uncertain.vectors import best_vector, best_vector_with_rules
from crestline.types import Floats, Ints

# -- weighing -------------------------------------------------------------------------------------


def _weigh(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Return how many records close (-1: they do not), and 1 if a rule is above 1, else 0.

    ``value[i]`` becomes the number that the kind of answer ranks record i by; ``best[j]`` and
    ``leader[j]`` become the value and the record of rank j, where the answer is about ranks or a
    whole vector.
    """
    if kind == EXPECTED_RANK:
        return -1, expected_ranks(chance, rule, value)
    if kind == PRF:
        return walk_discounted(k, threshold, chance, rule, best, leader)
    if kind == U_TOPK:
        free = first_rule(rule)
        depth = best_vector(k, chance[:free], best, leader)
        if depth >= 0 or free == len(chance):
            return depth, 0
        return best_vector_with_rules(k, chance, rule, best, leader)
    return walk_with_rules(kind, k, threshold, chance, rule, group, value, best, leader)


def _weigh_independent(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """``_weigh`` for records without rules, and kinds that look at one record after the other."""
    return walk_independent(kind, k, threshold, chance, group, value, best, leader), 0


def _weigh_exclusive(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """``_weigh`` for kinds that look at one record after the other."""
    return walk_with_rules(kind, k, threshold, chance, rule, group, value, best, leader)


def _weigh_discounted(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    """``_weigh`` for PRF, whose alpha is the ``threshold``."""
    return walk_discounted(k, threshold, chance, rule, best, leader)


_WEIGHED = (INT, INT, FLOAT, FLOATS, INTS, INTS, FLOATS, FLOATS, INTS)
WEIGH = Pointed(_weigh, PAIR, *_WEIGHED)
#: The same for some queries only: most need no more, and it is compiled in a fraction of the time.
_WEIGH_INDEPENDENT = Pointed(_weigh_independent, PAIR, *_WEIGHED)
_WEIGH_EXCLUSIVE = Pointed(_weigh_exclusive, PAIR, *_WEIGHED)
_WEIGH_DISCOUNTED = Pointed(_weigh_discounted, PAIR, *_WEIGHED)
#: ``weigh(address, ...)`` in kernels, with ``WEIGH.address()`` or that of ``weighing``.
weigh = WEIGH.call


def weighing(kind: int, exclusive: bool) -> Pointed:
    """Return the function that weighs records for one kind of answer, with rules or without."""
    if kind in (EXPECTED_RANK, U_TOPK):
        return WEIGH
    if kind == PRF:
        return _WEIGH_DISCOUNTED
    return _WEIGH_EXCLUSIVE if exclusive else _WEIGH_INDEPENDENT


@kernel
def _weigh_at(
    address: int, kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints,
    value: Floats, best: Floats, leader: Ints,
) -> tuple[int, int]:  # fmt: skip
    closed, overfull = weigh(address, kind, k, threshold, chance, rule, group, value, best, leader)
    return closed, overfull


def weigh_here(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints
) -> tuple[int, Floats]:
    """``weigh``, from Python: return how many records close (-1: they do not) and their values."""
    count = len(chance)
    value, best, leader = np.empty(count), np.empty(count), np.empty(count, np.int64)
    closed, _ = _weigh_at(
        WEIGH.address(), kind, k, threshold, chance, rule, group, value, best, leader
    )
    return closed, value


# -- answers --------------------------------------------------------------------------------------


def _pick(
    kind: int, k: int, threshold: float, count: int, group: Ints, value: Floats, best: Floats,
    leader: Ints, chosen: Ints, weight: Floats,
) -> int:  # fmt: skip
    """Choose the answer by what ``weigh`` made of ``count`` records; return its length.

    ``chosen`` and ``weight`` become the indices and weights of its records, in the order in which
    they are reported.
    """
    wanted = min(k, count)
    if kind == U_TOPK:
        for j in range(wanted):
            chosen[j], weight[j] = leader[j], math.exp(best[0])
        return wanted
    if kind == PRF:
        for j in range(wanted):
            chosen[j], weight[j] = leader[j], best[j]
        return wanted
    if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
        for j in range(wanted):
            chosen[j] = leader[j] if best[j] > 0.0 else 0  # no record can have the rank: all tie
            weight[j] = max(best[j], 0.0)
        return wanted
    if kind == SUMS:
        return _pick_groups(wanted, group[:count], value, chosen, weight)
    key = np.empty(count)
    for i in range(count):
        key[i] = rounded(value[i]) if kind == EXPECTED_RANK else -rounded(value[i])
    order = ascending(key)
    if kind == PT_K:
        wanted = 0
        while wanted < count and rounded(value[order[wanted]]) >= rounded(threshold):
            wanted += 1
    for j in range(wanted):
        chosen[j] = order[j]
        weight[j] = value[order[j]]
    return wanted


@kernel
def _pick_groups(wanted: int, group: Ints, value: Floats, chosen: Ints, weight: Floats) -> int:
    """Choose the groups of the largest sums, each shown as its record of the highest rank."""
    by_group = ascending(group)
    sums = np.empty(len(group))
    first = np.empty(len(group), np.int64)
    groups = 0
    for j in range(len(group)):
        i = by_group[j]
        if j == 0 or group[i] != group[by_group[j - 1]]:
            sums[groups] = 0.0
            first[groups] = i
            groups += 1
        sums[groups - 1] += value[i]
    by_rank = ascending(first[:groups])
    key = np.empty(groups)
    for j in range(groups):
        key[j] = -rounded(sums[by_rank[j]])
    order = ascending(key)
    wanted = min(wanted, groups)
    for j in range(wanted):
        g = by_rank[order[j]]
        chosen[j] = first[g]
        weight[j] = sums[g]
    return wanted


PICK = Pointed(_pick, INT, INT, INT, FLOAT, INT, INTS, FLOATS, FLOATS, INTS, INTS, FLOATS)
#: ``pick(address, ...)`` in kernels, with ``PICK.address()``.
pick = PICK.call
