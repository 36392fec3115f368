"""Possible worlds, weighed: what is probable of records in rank order, and how many decide it.

Every function looks at records in rank order, best first, and stops at the first prefix that
*closes*: nothing behind it can be part of the answer, whatever it is (the compact set of Jin et
al. 2008, which is proved in ``crestline.uncertain`` for each meaning). Only sums of products of
probabilities are formed, nothing is divided and nothing taken away that could cancel, so values
keep their relative precision; what is smaller than 1e-300 counts as nothing.

**Cost** of a prefix of d records: O(d k); with exclusive records O(d k log d), and for the first
few hundred O(k) for each unit since the last member of a record's rule.
"""

from __future__ import annotations

import math

import numpy as np

from crestline.kernels.common.ascending import ascending, put_ascending
from crestline.kernels.jit.pointer import FLOAT, FLOATS, INT, INTS, PAIR, Pointed
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.exclusive import TOLERANCE, rule_factors
from crestline.types import Floats, Ints

#: The meanings of a query; see ``crestline.uncertain.meaning``.
PK_TOPK, PT_K, U_KRANKS, U_KRANKS_WITH_RULES, U_TOPK, EXPECTED_RANK, SUMS = range(7)
#: What all records behind a prefix may add to a sum of probabilities.
NEGLIGIBLE = 1e-12
#: Logarithms closer than this are those of equal probabilities.
_SAME = 1e-12
#: Prefixes of this length at least are looked at, where rules make it cheaper to do many at once.
_AT_ONCE = 64
#: With rules, so many records are looked at one after the other; those behind them, by a tree.
IN_ORDER = 512


@kernel
def rounded(value: float) -> float:
    """The value to 40 bits, so that floating point does not decide ties (Veltkamp's splitting)."""
    wide = value * 8193.0
    return wide - (wide - value)


# -- closing --------------------------------------------------------------------------------------


@kernel
def closes(
    kind: int, k: int, threshold: float, value: float, fewer: float, rest: float, last: float,
    peak: float, group: int, largest: Floats, state: Floats, groups: Ints,
) -> bool:  # fmt: skip
    """Whether the records up to and including one close.

    ``fewer``: the probability that fewer than k of them exist; ``rest``: how many of the top k are
    to be expected behind them; ``last``: the probability of the record at rank k; ``peak``: what no
    record behind them can exceed at any rank. ``largest`` is a heap of the k largest values.
    """
    if kind == PK_TOPK:
        held = int(state[0])
        if held < k:
            state[0] += 1.0
            _push(largest, held, value)
            held += 1
        elif value > largest[0]:
            _replace(largest, held, value)
        return held == k and rounded(largest[0]) >= rounded(fewer)
    if kind == PT_K:
        return rounded(fewer) < rounded(threshold)
    if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
        state[0] = max(state[0], last)
        return rounded(state[0]) >= rounded(peak)
    known = int(state[0])
    if known < k:
        for g in range(known):
            if groups[g] == group:
                break
        else:
            groups[known] = group
            state[0] += 1.0
            known += 1
    return known >= k and rest <= NEGLIGIBLE


@kernel
def _push(heap: Floats, held: int, value: float) -> None:
    """Put a value into a heap whose smallest is first."""
    at = held
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= value:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = value


@kernel
def _replace(heap: Floats, held: int, value: float) -> None:
    """Put a value in the place of the smallest."""
    at = 0
    while True:
        below = 2 * at + 1
        if below >= held:
            break
        if below + 1 < held and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= value:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = value


# -- independent records --------------------------------------------------------------------------


@kernel
def _walk(
    kind: int, k: int, threshold: float, chance: Floats, group: Ints, value: Floats, best: Floats,
    place: Ints,
) -> int:  # fmt: skip
    """Records that exist independently: the recursion (2) of Jin et al."""
    count = len(chance)
    width = min(k, count)
    exactly = np.zeros(width + 1)  # see include()
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
            compete(p, exactly, min(i + 1, width), i, best, place)
        last = p * exactly[0] if i >= k - 1 else 0.0
        rest -= value[i]
        include(exactly, p)
        # Taking away is quick but cancels: sum up again whenever half is gone.
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
    """Take a unit that exists with probability p into account.

    ``exactly`` ends with the probabilities that 2, 1 and 0 of the units exist, and a zero: in this
    order the loop reads ahead of what it writes, and the compiler vectorises it.
    """
    for j in range(len(exactly) - 1):
        exactly[j] = (1.0 - p) * exactly[j] + p * exactly[j + 1]


@kernel
def total_from(exactly: Floats, first: int) -> float:
    """The sum of the last entries of ``exactly``, from this one on."""
    total = 0.0
    for j in range(first, len(exactly)):
        total += exactly[j]
    return total


@kernel
def compete(p: float, exactly: Floats, ranks: int, i: int, best: Floats, place: Ints) -> None:
    """Let record i try for each rank; a tie stays with the record that ranks higher."""
    width = len(exactly) - 1
    for j in range(ranks):
        mine = p * exactly[width - 1 - j]
        if mine > best[j] and rounded(mine) > rounded(best[j]):
            best[j] = mine
            place[j] = i


@kernel
def missing_of_top(exactly: Floats, k: int) -> float:
    """How many of the top k are still to be expected: the mean of k less those that exist."""
    missing = 0.0
    width = len(exactly) - 1
    for j in range(min(k, width)):
        missing += (k - j) * exactly[width - 1 - j]
    return missing


# -- exclusive records ----------------------------------------------------------------------------


@kernel
def leave_out_rule(
    own: int, units: int, unit_rule: Ints, unit_mass: Floats, exactly: Floats
) -> tuple[int, float]:
    """Take the rule ``own`` out, if it is among the units: how many are left, and its sum so far.

    Units are in the order of their last members. Row u of ``exactly`` is about the first u of them,
    so what came before the rule stays as it is. A rule is one unit, as probable as its members so
    far taken together.
    """
    if own < 0:
        return units, 0.0
    at = units - 1
    while at >= 0 and unit_rule[at] != own:
        at -= 1
    if at < 0:
        return units, 0.0
    mass = unit_mass[at]
    for u in range(at, units - 1):
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


@kernel
def _walk_in_order(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, free: int,
    value: Floats, best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    """The same with rules, for the first ``IN_ORDER`` records: where record i stands, its own rule
    is left out, and the units whose last member comes after the rule's are taken into account anew.

    What is found for a record depends on those above it alone, to the last bit: the tree below
    would be quicker at times, but the order in which it multiplies depends on those behind.
    The first ``free`` records have no rule, their values are known, and they do not close.
    """
    count = len(chance)
    width, looked_at = min(k, count), min(count, IN_ORDER)
    exactly = np.empty((looked_at + 1, width + 1))
    unit_rule, unit_mass = np.empty(looked_at, np.int64), np.empty(looked_at)
    largest = np.empty(width)
    groups = np.empty(width if kind == SUMS else 0, np.int64)
    state = np.zeros(1)
    for j in range(width):
        best[j] = -1.0
        exactly[0, j] = 0.0
    exactly[0, width - 1], exactly[0, width] = 1.0, 0.0
    units = overfull = 0
    for i in range(looked_at):
        p = chance[i]
        units, mass = leave_out_rule(rule[i], units, unit_rule, unit_mass, exactly)
        others = exactly[units]
        if mass + p > 1.0 + TOLERANCE:
            overfull = 1
        s = min(mass + p, 1.0)
        # Summed from "none exists" on, so that one sum serves every k (see
        # ``kernels.uncertain.specs``).
        below_last = short = 0.0
        for j in range(min(width, k - 1)):
            below_last += others[width - 1 - j]
            short += below_last
        at_last = others[0] if width >= k else 0.0
        if i >= free:
            value[i] = p * (below_last + at_last)
        fewer = below_last + (1.0 - s) * at_last
        # Of the top k are missing, on average, as many as P(fewer than j exist) for j = 1 ... k add
        # up to; one less, if the own rule has one.
        rest = (1.0 - s) * (short + (below_last + at_last)) + s * short
        if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
            compete(p, others, width, i, best, place)
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
def _walk_with_rules(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, known: int,
    value: Floats, best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    """The same for more records. Of the first ``known``, the values are, and they do not close.

    Where record i stands, its own rule must be left out. The factor of a rule thus holds between
    one of its members and the next; each is multiplied in where it holds, on the nodes of a binary
    tree over the records, and the product along the path to a leaf is all but the leaf's own rule.
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
        if i >= known:
            value[i] = p * (below_last + at_last)
        fewer = below_last + (1.0 - s) * at_last
        rest = 0.0
        if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
            compete(p, others, width, i, best, place)
        elif kind == SUMS:
            missing = missing_of_top(others, k)
            rest = (1.0 - s) * missing + s * (missing - below_last - at_last)
        if count >= k and closes(
            kind, k, threshold, value[i], fewer, rest, p * at_last, fewer, group[i], largest,
            state, groups,
        ) and i >= known:  # fmt: skip
            return i + 1, overfull
    return -1, overfull


@kernel
def _bits(number: int) -> int:
    bits = 0
    while number > 0:
        number >>= 1
        bits += 1
    return bits


# -- whole vectors --------------------------------------------------------------------------------


@kernel
def _best_vector(k: int, chance: Floats, best: Floats, place: Ints) -> int:
    """U-Topk: for every i, the k most probable of the first i exist and no other one does.

    ``place`` becomes the vector in rank order, ``best[0]`` the logarithm of its probability.
    """
    count = len(chance)
    best[0] = -np.inf
    if count < k:  # all of them
        best[0] = 0.0
        for i in range(count):
            best[0] += math.log(chance[i])
            place[i] = i
        return -1
    heap = np.empty(k, np.int64)  # the k most probable, the least probable first
    held = certain_outside = 0
    inside = outside = bound = 0.0
    for i in range(count):
        p = chance[i]
        exists = math.log(p)
        missing = math.log1p(-p) if p < 1.0 else -np.inf
        bound += max(exists, missing)
        gone = i
        if held < k:
            _push_least(heap, held, i, chance)
            held += 1
            inside += exists
            gone = -1
        elif rounded(p) > rounded(chance[heap[0]]):
            gone = heap[0]
            inside += exists - math.log(chance[gone])
            _replace_least(heap, held, i, chance)
        if gone >= 0:
            if chance[gone] < 1.0:
                outside += math.log1p(-chance[gone])
            else:
                certain_outside += 1
        if held < k:
            continue
        if certain_outside > 0:  # k certain records close everything
            return i + 1
        here = inside + outside
        if here > best[0] + _SAME or (here > best[0] - _SAME and _earlier(heap, place, k)):
            best[0] = max(best[0], here)
            put_ascending(heap, k, place)
        if best[0] >= bound - _SAME:
            return i + 1
    return -1


@kernel
def _less_probable(chance: Floats, a: int, b: int) -> bool:
    mine, other = rounded(chance[a]), rounded(chance[b])
    return bool(mine < other or (mine == other and a > b))


@kernel
def _push_least(heap: Ints, held: int, record: int, chance: Floats) -> None:
    at = held
    while at > 0:
        above = (at - 1) >> 1
        if _less_probable(chance, heap[above], record):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = record


@kernel
def _replace_least(heap: Ints, held: int, record: int, chance: Floats) -> None:
    at = 0
    while True:
        below = 2 * at + 1
        if below >= held:
            break
        if below + 1 < held and _less_probable(chance, heap[below + 1], heap[below]):
            below += 1
        if _less_probable(chance, record, heap[below]):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = record


@kernel
def _earlier(records: Ints, known: Ints, k: int) -> bool:
    """Whether the records, once sorted, are lexicographically before those known."""
    ordered = np.empty(k, np.int64)
    put_ascending(records, k, ordered)
    for j in range(k):
        if ordered[j] != known[j]:
            return bool(ordered[j] < known[j])
    return False


@kernel
def _best_vector_with_rules(
    k: int, chance: Floats, rule: Ints, best: Floats, place: Ints
) -> tuple[int, int]:
    """U-Topk with rules: for every i, the k rules that gain most by being there, each as its most
    probable member, and of no other rule anything.

    A vector that ends behind d is at most as probable as every rule's better case in the first d
    (a later member has at most what its rule leaves), so once that is reached the search is over.
    """
    count = len(chance)
    wanted = min(k, count)
    by_rule = ascending(rule)
    unit = np.empty(count, np.int64)
    own = 0
    for j in range(count):  # a record without a rule is one of its own
        i = by_rule[j]
        if j == 0 or rule[i] < 0 or rule[i] != rule[by_rule[j - 1]]:
            own += 1
        unit[i] = own - 1
    mass = np.zeros(own)
    member = np.empty(own, np.int64)
    for u in range(own):
        member[u] = -1
    order = np.empty(own, np.int64)  # the rules that have members, by what they gain
    gain = np.empty(own)
    known = 0
    best[0] = -np.inf
    overfull = 0
    vector = np.empty(wanted, np.int64)
    certain = 0  # rules that leave nothing: they must be there
    outside = bound = 0.0
    for i in range(count):
        u = unit[i]
        if member[u] >= 0:
            at = 0
            while order[at] != u:
                at += 1
            for j in range(at, known - 1):
                order[j] = order[j + 1]
            known -= 1
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
        at = known
        while at > 0 and _gains_more(u, order[at - 1], gain, member):
            order[at] = order[at - 1]
            at -= 1
        order[at] = u
        known += 1
        if known < wanted or certain > wanted:
            continue
        total = outside
        for j in range(wanted):
            u = order[j]
            total += math.log(chance[member[u]])
            if mass[u] < 1.0:
                total -= math.log1p(-mass[u])
            vector[j] = member[u]
        if total > best[0] + _SAME or (
            total > best[0] - _SAME and best[0] > -np.inf and _earlier(vector, place, wanted)
        ):
            best[0] = max(best[0], total)
            put_ascending(vector, wanted, place)
        if count >= k and best[0] >= bound - _SAME:
            return i + 1, overfull
    if best[0] == -np.inf:  # no world holds so many: the highest ranks, with probability 0
        for j in range(wanted):
            place[j] = j
    return -1, overfull


@kernel
def _log_rest(mass: float) -> float:
    return math.log1p(-mass) if mass < 1.0 else -np.inf


@kernel
def _gains_more(a: int, b: int, gain: Floats, member: Ints) -> bool:
    if gain[a] == gain[b] or abs(gain[a] - gain[b]) <= _SAME:  # the former if both are infinite
        return bool(member[a] < member[b])
    return bool(gain[a] > gain[b])


# -- expected ranks -------------------------------------------------------------------------------


@kernel
def _expected_ranks(chance: Floats, rule: Ints, value: Floats) -> int:
    """Cormode et al. 2009: the mean number of records above; of a record that does not exist, of
    all others. Nothing closes, as every record counts towards every other's rank."""
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


# -- answers --------------------------------------------------------------------------------------


@kernel
def _pick_groups(wanted: int, group: Ints, value: Floats, chosen: Ints, weight: Floats) -> int:
    """The groups of the largest sums, each shown as its record of the highest rank."""
    by_group = ascending(group)
    sums = np.empty(len(group))
    first = np.empty(len(group), np.int64)
    known = 0
    for j in range(len(group)):
        i = by_group[j]
        if j == 0 or group[i] != group[by_group[j - 1]]:
            sums[known] = 0.0
            first[known] = i
            known += 1
        sums[known - 1] += value[i]
    by_rank = ascending(first[:known])
    key = np.empty(known)
    for j in range(known):
        key[j] = -rounded(sums[by_rank[j]])
    order = ascending(key)
    wanted = min(wanted, known)
    for j in range(wanted):
        g = by_rank[order[j]]
        chosen[j] = first[g]
        weight[j] = sums[g]
    return wanted


# -- behind pointers ------------------------------------------------------------------------------


@kernel
def first_rule(rule: Ints) -> int:
    """How many records come before the first that has a rule."""
    for i in range(len(rule)):
        if rule[i] >= 0:
            return i
    return len(rule)


@kernel
def _walk_rules(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    """``_weigh`` for meanings that look at one record after the other."""
    # What comes before the first rule is looked at as if there were none: so it makes no difference
    # whether there is one behind the records that close.
    free = first_rule(rule)
    depth = _walk(kind, k, threshold, chance[:free], group, value, best, place)
    if depth >= 0 or free == len(chance):
        return depth, 0
    if free < IN_ORDER:
        depth, overfull = _walk_in_order(
            kind, k, threshold, chance, rule, group, free, value, best, place
        )
        if depth >= 0 or len(chance) <= IN_ORDER:
            return depth, overfull
    known = max(free, IN_ORDER)
    many = max(_AT_ONCE, 4 * k, 2 * known)
    while True:
        count = min(many, len(chance))
        depth, overfull = _walk_with_rules(
            kind, k, threshold, chance[:count], rule[:count], group, known, value, best, place
        )
        if 0 <= depth < count:
            # In which order factors are multiplied depends on how many records there are, and with
            # it the last bits: let them depend on the compact set alone.
            _, overfull = _walk_with_rules(
                kind, k, threshold, chance[:depth], rule[:depth], group, known, value, best, place
            )
        if depth >= 0 or count == len(chance):
            return depth, overfull
        many *= 4


def _weigh_free(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    """``_weigh`` where no record has a rule, for meanings that look at one after the other."""
    return _walk(kind, k, threshold, chance, group, value, best, place), 0


def _weigh_ruled(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    """``_weigh`` for meanings that look at one record after the other."""
    return _walk_rules(kind, k, threshold, chance, rule, group, value, best, place)


def _weigh(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints, value: Floats,
    best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    """How many records close (-1: they do not), and whether (1) a rule promised too much.

    ``value[i]`` becomes what the meaning says of record i; ``best[j]`` and ``place[j]`` become the
    value and the record of rank j where the meaning is about ranks or a whole vector.
    """
    if kind == EXPECTED_RANK:
        return -1, _expected_ranks(chance, rule, value)
    if kind == U_TOPK:
        free = first_rule(rule)
        depth = _best_vector(k, chance[:free], best, place)
        if depth >= 0 or free == len(chance):
            return depth, 0
        return _best_vector_with_rules(k, chance, rule, best, place)
    return _walk_rules(kind, k, threshold, chance, rule, group, value, best, place)


_WEIGHED = (INT, INT, FLOAT, FLOATS, INTS, INTS, FLOATS, FLOATS, INTS)
WEIGH = Pointed(_weigh, PAIR, *_WEIGHED)
#: The same for some queries only: most need no more, and it is compiled in a fraction of the time.
_WEIGH_FREE = Pointed(_weigh_free, PAIR, *_WEIGHED)
_WEIGH_RULED = Pointed(_weigh_ruled, PAIR, *_WEIGHED)
#: ``weigh(address, ...)`` in kernels, with ``WEIGH.address()`` or that of ``weighing``.
weigh = WEIGH.call


def weighing(kind: int, exclusive: bool) -> Pointed:
    """What weighs records for one meaning, with rules or without."""
    if kind in (EXPECTED_RANK, U_TOPK):
        return WEIGH
    return _WEIGH_RULED if exclusive else _WEIGH_FREE


def _pick(
    kind: int, k: int, threshold: float, count: int, group: Ints, value: Floats, best: Floats,
    place: Ints, chosen: Ints, weight: Floats,
) -> int:  # fmt: skip
    """The answer from what ``weigh`` found in ``count`` records: their places and weights, in the
    order in which they are reported; returns how many there are."""
    wanted = min(k, count)
    if kind == U_TOPK:
        for j in range(wanted):
            chosen[j], weight[j] = place[j], math.exp(best[0])
        return wanted
    if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
        for j in range(wanted):
            chosen[j] = place[j] if best[j] > 0.0 else 0  # none can be there: all tie
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


PICK = Pointed(_pick, INT, INT, INT, FLOAT, INT, INTS, FLOATS, FLOATS, INTS, INTS, FLOATS)
#: ``pick(address, ...)`` in kernels, with ``PICK.address()``.
pick = PICK.call


@kernel
def _weigh_at(
    address: int, kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints,
    value: Floats, best: Floats, place: Ints,
) -> tuple[int, int]:  # fmt: skip
    found, overfull = weigh(address, kind, k, threshold, chance, rule, group, value, best, place)
    return found, overfull


def weigh_here(
    kind: int, k: int, threshold: float, chance: Floats, rule: Ints, group: Ints
) -> tuple[int, Floats]:
    """``weigh``, from Python: how many records close (-1: they do not), and their values."""
    count = len(chance)
    value, best, place = np.empty(count), np.empty(count), np.empty(count, np.int64)
    found, _ = _weigh_at(
        WEIGH.address(), kind, k, threshold, chance, rule, group, value, best, place
    )
    return found, value
