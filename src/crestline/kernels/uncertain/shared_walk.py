"""One walk through the records for several queries.

Records are looked at in rank order, as in ``kernels.uncertain.worlds``. The array of the
probabilities that exactly 0, 1, ..., k - 1 of the records above exist serves every smaller k as
well (Chen et al., section 4): it is the same but for its end. So there is one, as long as the
largest k needs. It costs O(k) per record to bring it up to date. A query costs nothing for its
first k records, which all queries have in common, then O(1) per record, and O(k) where the record
enters its top (``kernels.uncertain.tops``); once it has closed, nothing. The answer to a query is,
to the last bit, what ``weigh`` and ``pick`` give for it alone: the same numbers are added and
multiplied in the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.kernels.uncertain.closing import (
    NEGLIGIBLE,
    PK_TOPK,
    PT_K,
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    rounded,
)
from crestline.kernels.uncertain.exclusive import (
    IN_ORDER,
    TOLERANCE,
    first_rule,
    include_into,
    leave_out_rule,
    no_units,
)
from crestline.kernels.uncertain.independent import compete, include, missing_of_top, total_from
from crestline.kernels.uncertain.tops import (
    Groups,
    Tops,
    begin,
    enter,
    enter_first,
    last_key,
)
from crestline.types import Floats, Ints


class Specs(NamedTuple):
    """Queries: their kinds of answers, their k and their thresholds."""

    kind: Ints
    k: Ints
    threshold: Floats


class RankedRecords(NamedTuple):
    """Records in rank order."""

    chance: Floats
    rule: Ints
    group: Ints


class Weights(NamedTuple):
    """What ``weigh`` makes of the records for each query; see ``worlds.weigh``."""

    #: By query: what ``weigh`` returns.
    depth: Ints
    overfull: Ints
    #: One row per query: values of all records.
    value: Floats
    #: One row per query: best values and records of as many ranks as the largest k has.
    best: Floats
    leader: Ints


class Walk(NamedTuple):
    """How far the queries have come."""

    #: The queries that have not closed, first.
    pending: Ints
    tops: Tops
    #: The groups of the records, where they are asked for.
    groups: Groups
    #: By query: the largest probability of rank k so far.
    at_last: Floats
    #: By rank: the largest value so far and its record.
    best: Floats
    leader: Ints


@borrowing_kernel
def _ranks_wanted(specs: Specs, walk: Walk, remaining: int) -> int:
    """Count the ranks for which the most probable record is still looked for."""
    ranks = 0
    for o in range(remaining):
        a = walk.pending[o]
        if specs.kind[a] in (U_KRANKS, U_KRANKS_WITH_RULES):
            ranks = max(ranks, min(specs.k[a], len(walk.best)))
    return ranks


@borrowing_kernel
def _closes(
    kind: int, k: int, least: float, kth: float, fewer: float, rest: float, last: float,
    peak: float, groups: int,
) -> bool:  # fmt: skip
    """``closing.closes`` for a query that has seen k records.

    ``kth`` is the least value in its top, ``last`` the largest probability of rank k
    and ``groups`` the number of groups so far.
    """
    if kind == PK_TOPK:
        return kth >= rounded(fewer)
    if kind == PT_K:
        return rounded(fewer) < least
    if kind == SUMS:
        return groups >= k and rest <= NEGLIGIBLE
    return rounded(last) >= rounded(peak)


@kernel
def _sizes(specs: Specs, count: int) -> tuple[Ints, Floats]:
    """Return how many records the top of each query has at most (0: it has none), and the least
    rounded value of a record in it."""
    most, least = np.zeros(len(specs.k), np.int64), np.full(len(specs.k), -1.0)
    for a in range(len(most)):
        if specs.kind[a] == PK_TOPK:
            most[a] = specs.k[a]
        elif specs.kind[a] == PT_K:
            most[a], least[a] = count, rounded(specs.threshold[a])
    return most, least


@kernel
def walk_together(
    specs: Specs, records: RankedRecords, weights: Weights, walk: Walk, remaining: int
) -> int:
    """Walk until the queries in ``walk.pending`` have closed; return how many need more than this.

    The walk goes as if there were no rules up to the first record that has one, and from there on
    with them (see ``exclusive.walk_with_rules``). The queries that need more come first in
    ``walk.pending``.
    """
    count = len(records.chance)
    free = first_rule(records.rule)
    most, least = _sizes(specs, count)
    remaining = _walk_independent(specs, records, free, most, least, weights, walk, remaining)
    if remaining > 0 and free < min(count, IN_ORDER):
        remaining = _walk_in_order(specs, records, free, most, least, weights, walk, remaining)
    if free < count and count > IN_ORDER:
        return remaining
    for o in range(remaining):
        a = walk.pending[o]
        _note_leaders(a, specs, weights, walk)
        if count < specs.k[a]:
            _copy(records.chance, free, weights.value, a * count)
            begin(walk.tops, a, most[a], least[a], weights.value, a * count)
    return 0


@borrowing_kernel
def _copy(source: Floats, count: int, target: Floats, start: int) -> None:
    for j in range(count):
        target[start + j] = source[j]


@kernel
def _walk_independent(
    specs: Specs, records: RankedRecords, free: int, most: Ints, least: Floats, weights: Weights,
    walk: Walk, remaining: int,
) -> int:  # fmt: skip
    """Walk through the records before the first rule; return how many queries are open then.

    A query waits until it has seen k - 1 records, since till then the value of each is its
    probability. Sums do not wait.
    """
    kind, k = specs.kind, specs.k
    chance, depth, value = records.chance, weights.depth, weights.value
    pending, tops, groups, at_last, best, leader = walk
    queries, width, count = len(kind), len(best), len(chance)
    exactly = np.zeros(width + 1)
    exactly[width - 1] = 1.0
    fewer, summed_at = np.ones(queries), np.ones(queries)  # see ``independent.walk_independent``
    rest, weighed_at = np.empty(queries), np.empty(queries)
    last, peaks = np.zeros(queries), np.empty(width)
    from_record = np.empty(remaining, np.int64)
    for o in range(remaining):
        a = pending[o]
        rest[a] = weighed_at[a] = float(k[a])
        from_record[o] = 0 if kind[a] == SUMS else k[a] - 1
    order = ascending(from_record)
    waiting = np.empty(remaining, np.int64)
    for o in range(remaining):
        waiting[o] = pending[order[o]]
    ranks = _ranks_wanted(specs, walk, remaining)
    begun = active = distinct = 0
    for i in range(free):
        p = chance[i]
        if i < width:
            enter_first(tops, queries, width, rounded(p), i)
        if ranks > 0:
            compete(p, exactly, min(i + 1, ranks), i, best, leader)
        while begun < len(waiting) and from_record[order[begun]] <= i:
            a = waiting[begun]
            _copy(chance, i + 1, value, a * count)
            begin(tops, a, most[a], least[a], value, a * count)
            pending[active] = a
            active += 1
            begun += 1
        for o in range(active):
            a = pending[o]
            last[a] = p * exactly[width - k[a]] if i >= k[a] - 1 else 0.0
        include(exactly, p)
        if ranks > 0:
            peak = 0.0
            for j in range(ranks):
                peak = max(peak, exactly[width - 1 - j])
                peaks[j] = peak
        if len(groups.number) > 0:
            distinct = max(distinct, groups.number[i] + 1)
        kept = 0
        for o in range(active):
            a = pending[o]
            in_top = p * fewer[a]
            value[a * count + i] = in_top
            fewer[a] -= last[a]
            if fewer[a] < 0.5 * summed_at[a]:
                fewer[a] = summed_at[a] = total_from(exactly, width - k[a])
            peak = fewer[a]
            if kind[a] == U_KRANKS:
                peak = peaks[min(k[a], width) - 1]
            elif kind[a] == SUMS:
                rest[a] -= in_top
                if rest[a] < 0.5 * weighed_at[a]:
                    rest[a] = weighed_at[a] = missing_of_top(exactly, k[a])
            elif most[a] > 0 and i >= k[a] and rounded(in_top) >= least[a]:
                enter(tops, a, most[a], rounded(in_top), i)
            at_last[a] = max(at_last[a], last[a])
            if i >= k[a] - 1 and _closes(
                kind[a], k[a], least[a], last_key(tops, a), fewer[a], rest[a],
                at_last[a], peak, distinct,
            ):  # fmt: skip
                depth[a] = i + 1
                _note_leaders(a, specs, weights, walk)
            else:
                pending[kept] = a
                kept += 1
        if kept < active:
            active = kept
            for w in range(begun, len(waiting)):  # those that wait still look for the best of ranks
                pending[kept + w - begun] = waiting[w]
            ranks = _ranks_wanted(specs, walk, active + len(waiting) - begun)
        if active == 0 and begun == len(waiting):
            return 0
    for w in range(begun, len(waiting)):
        pending[active + w - begun] = waiting[w]
    return active + len(waiting) - begun


@kernel
def _walk_in_order(
    specs: Specs, records: RankedRecords, free: int, most: Ints, least: Floats, weights: Weights,
    walk: Walk, remaining: int,
) -> int:  # fmt: skip
    """Go on with rules, from record ``free`` on; return how many queries are open at the end."""
    kind, k = specs.kind, specs.k
    chance, rule, _ = records
    depth, overfull, value = weights.depth, weights.overfull, weights.value
    pending, tops, groups, at_last, best, leader = walk
    count, width = len(chance), len(best)
    some = min(count, IN_ORDER)
    exactly, unit_rule, unit_mass = no_units(some, width)
    below, short = np.zeros(width + 1), np.zeros(width + 1)
    units = broken = distinct = 0
    ranks = _ranks_wanted(specs, walk, remaining)
    for i in range(some):
        p = chance[i]
        units, mass = leave_out_rule(rule[i], units, unit_rule, unit_mass, exactly)
        others = exactly[units]
        s = min(mass + p, 1.0)
        unit_rule[units], unit_mass[units] = rule[i], mass + p
        include_into(others, exactly[units + 1], s)
        units += 1
        if len(groups.number) > 0:
            distinct = max(distinct, groups.number[i] + 1)
        if i < free:
            continue
        if i < width:
            enter_first(tops, len(kind), width, rounded(p), i)
        if mass + p > 1.0 + TOLERANCE:
            broken = 1
        if ranks > 0:
            compete(p, others, ranks, i, best, leader)
        for j in range(width):
            below[j + 1] = below[j] + others[width - 1 - j]
            short[j + 1] = short[j] + below[j + 1]
        kept = 0
        for o in range(remaining):
            a = pending[o]
            last, below_last, rest = 0.0, below[width], 0.0
            if k[a] <= width:
                last, below_last = others[width - k[a]], below[k[a] - 1]
                rest = (1.0 - s) * short[k[a]] + s * short[k[a] - 1]
            in_top = p * (below_last + last)
            value[a * count + i] = in_top
            fewer = below_last + (1.0 - s) * last
            overfull[a] = broken
            if i == k[a] - 1:
                _copy(chance, free, value, a * count)
                begin(tops, a, most[a], least[a], value, a * count)
            elif most[a] > 0 and i >= k[a] and rounded(in_top) >= least[a]:
                enter(tops, a, most[a], rounded(in_top), i)
            at_last[a] = max(at_last[a], p * last)
            if i >= k[a] - 1 and _closes(
                kind[a], k[a], least[a], last_key(tops, a), fewer, rest, at_last[a],
                fewer, distinct,
            ):  # fmt: skip
                depth[a] = i + 1
                _note_leaders(a, specs, weights, walk)
            else:
                pending[kept] = a
                kept += 1
        if kept < remaining:
            remaining = kept
            ranks = _ranks_wanted(specs, walk, remaining)
        if remaining == 0:
            break
    return remaining


@borrowing_kernel
def _note_leaders(a: int, specs: Specs, weights: Weights, walk: Walk) -> None:
    """Copy the best of each rank for a query that has seen enough, if it asks for them."""
    if specs.kind[a] in (PK_TOPK, PT_K, SUMS):
        return
    start = a * (len(weights.best) // len(specs.k))
    for j in range(min(specs.k[a], len(walk.best))):
        weights.best[start + j] = walk.best[j]
        weights.leader[start + j] = walk.leader[j]


__all__ = ["RankedRecords", "Specs", "Walk", "Weights", "walk_together"]
