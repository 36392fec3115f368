"""U-Topk: the k records that are most probable to be, all together, exactly the top k."""

from __future__ import annotations

import math

import numpy as np

from crestline.kernels.common.ascending import ascending, put_ascending
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import rounded
from crestline.kernels.uncertain.exclusive import TOLERANCE
from crestline.types import Floats, Ints

#: Logarithms closer than this are those of equal probabilities.
_SAME = 1e-12


@kernel
def best_vector(k: int, chance: Floats, best: Floats, vector: Ints) -> int:
    """Find the best vector of independent records; return how many of them close (-1: none).

    For every i, the k most probable of the first i exist and no other one does. ``vector`` becomes
    the records in rank order, ``best[0]`` the logarithm of their probability.
    """
    count = len(chance)
    best[0] = -np.inf
    if count < k:  # all of them
        best[0] = 0.0
        for i in range(count):
            best[0] += math.log(chance[i])
            vector[i] = i
        return -1
    heap = np.empty(k, np.int64)  # the k most probable, the least probable first
    held = certain_outside = 0
    inside = outside = bound = 0.0
    for i in range(count):
        p = chance[i]
        exists = math.log(p)
        missing = math.log1p(-p) if p < 1.0 else -np.inf
        bound += max(exists, missing)
        dropped = i
        if held < k:
            _push_least(heap, held, i, chance)
            held += 1
            inside += exists
            dropped = -1
        elif rounded(p) > rounded(chance[heap[0]]):
            dropped = heap[0]
            inside += exists - math.log(chance[dropped])
            _replace_least(heap, held, i, chance)
        if dropped >= 0:
            if chance[dropped] < 1.0:
                outside += math.log1p(-chance[dropped])
            else:
                certain_outside += 1
        if held < k:
            continue
        if certain_outside > 0:  # k certain records close everything
            return i + 1
        here = inside + outside
        if here > best[0] + _SAME or (here > best[0] - _SAME and _earlier(heap, vector, k)):
            best[0] = max(best[0], here)
            put_ascending(heap, k, vector)
        if best[0] >= bound - _SAME:
            return i + 1
    return -1


@kernel
def _less_probable(chance: Floats, a: int, b: int) -> bool:
    first, second = rounded(chance[a]), rounded(chance[b])
    return bool(first < second or (first == second and a > b))


@kernel
def _push_least(heap: Ints, held: int, record: int, chance: Floats) -> None:
    """Add a record to a heap whose least probable one is first."""
    position = held
    while position > 0:
        above = (position - 1) >> 1
        if _less_probable(chance, heap[above], record):
            break
        heap[position] = heap[above]
        position = above
    heap[position] = record


@kernel
def _replace_least(heap: Ints, held: int, record: int, chance: Floats) -> None:
    """Replace the least probable record of a heap."""
    position = 0
    while True:
        below = 2 * position + 1
        if below >= held:
            break
        if below + 1 < held and _less_probable(chance, heap[below + 1], heap[below]):
            below += 1
        if _less_probable(chance, record, heap[below]):
            break
        heap[position] = heap[below]
        position = below
    heap[position] = record


@kernel
def _earlier(records: Ints, vector: Ints, k: int) -> bool:
    """Whether the records, once sorted, are lexicographically before a vector."""
    ordered = np.empty(k, np.int64)
    put_ascending(records, k, ordered)
    for j in range(k):
        if ordered[j] != vector[j]:
            return bool(ordered[j] < vector[j])
    return False


# -- with rules -----------------------------------------------------------------------------------


@kernel
def best_vector_with_rules(
    k: int, chance: Floats, rule: Ints, best: Floats, vector: Ints
) -> tuple[int, int]:
    """Find the best vector where records exclude one another; see ``best_vector``. Also return 1
    if a rule is above 1, else 0.

    For every i, the k rules exist that gain most by existing, each as its most probable member, and
    no other rule does. A vector that ends behind d is at most as probable as every rule's better
    case in the first d (a later member has at most what its rule leaves), so once that is reached
    the search is over.
    """
    count = len(chance)
    wanted = min(k, count)
    unit, units = _units(rule)
    mass = np.zeros(units)
    member = np.empty(units, np.int64)
    for u in range(units):
        member[u] = -1
    order = np.empty(units, np.int64)  # the rules that have members, by what they gain
    gain = np.empty(units)
    ordered = overfull = 0
    best[0] = -np.inf
    candidate = np.empty(wanted, np.int64)
    certain = 0  # rules that leave nothing: they must exist
    outside = bound = 0.0
    for i in range(count):
        u = unit[i]
        if member[u] >= 0:  # the rule has changed: take it out of the order
            position = 0
            while order[position] != u:
                position += 1
            for j in range(position, ordered - 1):
                order[j] = order[j + 1]
            ordered -= 1
            if mass[u] < 1.0:
                outside -= math.log1p(-mass[u])
            else:
                certain -= 1
            bound -= max(math.log(chance[member[u]]), _log_rest(mass[u]))
        mass[u] += chance[i]
        if mass[u] > 1.0 + TOLERANCE:
            overfull = 1
        if mass[u] > 1.0 - 1e-12:
            mass[u] = 1.0
        if member[u] < 0 or rounded(chance[i]) > rounded(chance[member[u]]):
            member[u] = i
        here, left = math.log(chance[member[u]]), _log_rest(mass[u])
        gain[u] = here - left
        bound += max(here, left)
        if mass[u] < 1.0:
            outside += left
        else:
            certain += 1
        _insert(u, order, ordered, gain, member)
        ordered += 1
        if ordered < wanted or certain > wanted:
            continue
        total = outside
        for j in range(wanted):
            u = order[j]
            total += math.log(chance[member[u]])
            if mass[u] < 1.0:
                total -= math.log1p(-mass[u])
            candidate[j] = member[u]
        if total > best[0] + _SAME or (
            total > best[0] - _SAME and best[0] > -np.inf and _earlier(candidate, vector, wanted)
        ):
            best[0] = max(best[0], total)
            put_ascending(candidate, wanted, vector)
        if count >= k and best[0] >= bound - _SAME:
            return i + 1, overfull
    if best[0] == -np.inf:  # no world holds so many: the highest ranks, with probability 0
        for j in range(wanted):
            vector[j] = j
    return -1, overfull


@kernel
def _units(rule: Ints) -> tuple[Ints, int]:
    """Number the rules; a record without a rule is one of its own."""
    count = len(rule)
    by_rule = ascending(rule)
    unit = np.empty(count, np.int64)
    units = 0
    for j in range(count):
        i = by_rule[j]
        if j == 0 or rule[i] < 0 or rule[i] != rule[by_rule[j - 1]]:
            units += 1
        unit[i] = units - 1
    return unit, units


@kernel
def _insert(u: int, order: Ints, ordered: int, gain: Floats, member: Ints) -> None:
    """Insert a rule into the order of what rules gain; of equal ones the higher rank is first."""
    position = ordered
    while position > 0:
        other = order[position - 1]
        # Equal gains may both be infinite.
        if gain[u] == gain[other] or abs(gain[u] - gain[other]) <= _SAME:
            more = member[u] < member[other]
        else:
            more = gain[u] > gain[other]
        if not more:
            break
        order[position] = other
        position -= 1
    order[position] = u


@kernel
def _log_rest(mass: float) -> float:
    return math.log1p(-mass) if mass < 1.0 else -np.inf
