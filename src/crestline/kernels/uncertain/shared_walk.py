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
    least_of,
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
    most, least = np.zeros(len(specs.k), np.int64), np.full(len(specs.k), -1.0)
    for a in range(len(most)):
        if specs.kind[a] == PK_TOPK:
            most[a] = specs.k[a]
        elif specs.kind[a] == PT_K:
            most[a], least[a] = count, rounded(specs.threshold[a])
    negative = np.empty(len(walk.best))
    for i in range(len(negative)):
        negative[i] = -rounded(records.chance[i])
    order = ascending(negative)
    remaining = _walk(specs, records, free, order, most, least, weights, walk, remaining)
    if free < count and count > IN_ORDER:
        return remaining
    for o in range(remaining):
        a = walk.pending[o]
        _note_leaders(a, specs, weights, walk)
        if count < specs.k[a]:
            _copy(records.chance, free, weights.value, a * count)
            begin(walk.tops, a, most[a], least[a], order, count, weights.value)
    return 0


@borrowing_kernel
def _copy(source: Floats, count: int, target: Floats, start: int) -> None:
    for j in range(count):
        target[start + j] = source[j]


@kernel
def _walk(
    specs: Specs, records: RankedRecords, free: int, order: Ints, most: Ints, least: Floats,
    weights: Weights, walk: Walk, remaining: int,
) -> int:  # fmt: skip
    """Walk through the records, from ``free`` on with rules and then no farther than ``IN_ORDER``;
    return how many queries are open at the end.

    As long as there are no rules, a query waits until it has seen k - 1 records, since till then
    the value of each is its probability. Sums do not wait. ``order`` is that of the first records
    by their probabilities. A top has at most ``most`` records (0: the query has none), with rounded
    values of at least ``least``.
    """
    kind, k = specs.kind, specs.k
    chance, rule, _ = records
    depth, overfull, value = weights.depth, weights.overfull, weights.value
    pending, tops, groups, at_last, best, leader = walk
    key, record, later_key, later_record, size, later = tops
    queries, width, count = len(kind), len(best), len(chance)
    exactly = np.zeros(width + 1)
    exactly[width - 1] = 1.0
    fewer, summed_at = np.ones(queries), np.ones(queries)  # see ``independent.walk_independent``
    rest, weighed_at, in_top = np.empty(queries), np.empty(queries), np.empty(queries)
    last, peak, peaks = np.zeros(queries), np.empty(queries), np.empty(width)
    waiting = _by_beginning(specs, walk, remaining)
    units = broken = distinct = begun = active = 0
    some = count if free == count else max(free, min(count, IN_ORDER))
    rows, unit_rule, unit_mass = no_units(some if free < some else 0, width)
    below, short = np.zeros(width + 1), np.zeros(width + 1)
    ranks = _ranks_wanted(specs, walk, remaining)
    for i in range(some):
        p = chance[i]
        if len(groups.number) > 0:
            distinct = max(distinct, groups.number[i] + 1)
        while begun < remaining and (
            i >= free or kind[waiting[begun]] == SUMS or k[waiting[begun]] - 1 <= i
        ):
            pending[active] = waiting[begun]
            active += 1
            begun += 1
        if i < free:
            if ranks > 0:
                compete(p, exactly, min(i + 1, ranks), i, best, leader)
            for o in range(active):
                a = pending[o]
                last[a] = p * exactly[width - k[a]] if i >= k[a] - 1 else 0.0
            include(exactly, p)
            top = 0.0
            for j in range(ranks):
                top = max(top, exactly[width - 1 - j])
                peaks[j] = top
            for o in range(active):
                a = pending[o]
                in_top[a] = p * fewer[a]
                fewer[a] -= last[a]
                if fewer[a] < 0.5 * summed_at[a]:
                    fewer[a] = summed_at[a] = total_from(exactly, width - k[a])
                peak[a] = fewer[a]
                if kind[a] == U_KRANKS:
                    peak[a] = peaks[min(k[a], width) - 1]
                elif kind[a] == SUMS:
                    rest[a] = (rest[a] if i > 0 else float(k[a])) - in_top[a]
                    if rest[a] < 0.5 * (weighed_at[a] if i > 0 else float(k[a])):
                        rest[a] = weighed_at[a] = missing_of_top(exactly, k[a])
        else:
            for before in range(0 if i == free else i, i + 1):
                units, mass = leave_out_rule(rule[before], units, unit_rule, unit_mass, rows)
                others, together = rows[units], mass + chance[before]
                unit_rule[units], unit_mass[units] = rule[before], together
                include_into(others, rows[units + 1], min(together, 1.0))
                units += 1
            s = min(together, 1.0)
            if together > 1.0 + TOLERANCE:
                broken = 1
            if ranks > 0:
                compete(p, others, ranks, i, best, leader)
            for j in range(width):
                below[j + 1] = below[j] + others[width - 1 - j]
                short[j + 1] = short[j] + below[j + 1]
            for o in range(active):
                a = pending[o]
                at_k, below_k, rest[a] = 0.0, below[width], 0.0
                if k[a] <= width:
                    at_k, below_k = others[width - k[a]], below[k[a] - 1]
                    rest[a] = (1.0 - s) * short[k[a]] + s * short[k[a] - 1]
                in_top[a], last[a] = p * (below_k + at_k), p * at_k
                fewer[a] = peak[a] = below_k + (1.0 - s) * at_k
                overfull[a] = broken
        kept = 0
        for o in range(active):
            a = pending[o]
            value[a * count + i] = in_top[a]
            closed = False
            if i >= k[a] - 1:
                first = a * count
                entering = rounded(in_top[a])
                if i == k[a] - 1:
                    _copy(chance, min(free, i + 1), value, first)
                    begin(tops, a, most[a], least[a], order, i + 1, value)
                elif most[a] > 0 and entering >= least[a]:
                    # Inline: a call would take longer than what it does.
                    enters = size[a] + later[a] < most[a]
                    if not enters and entering > least_of(key, later_key, first, size[a], later[a]):
                        enters = True
                        if size[a] == 0 or (
                            later[a] > 0
                            and later_key[first + later[a] - 1] <= key[first + size[a] - 1]
                        ):
                            later[a] -= 1
                        else:
                            size[a] -= 1
                    if enters:
                        place = first + later[a]
                        while place > first and later_key[place - 1] < entering:
                            later_key[place] = later_key[place - 1]
                            later_record[place] = later_record[place - 1]
                            place -= 1
                        later_key[place], later_record[place] = entering, i
                        later[a] += 1
                # This is ``closing.closes``.
                if kind[a] == PK_TOPK:
                    kth = least_of(key, later_key, first, size[a], later[a])
                    closed = kth >= rounded(fewer[a])
                elif kind[a] == PT_K:
                    closed = rounded(fewer[a]) < least[a]
                elif kind[a] == SUMS:
                    closed = distinct >= k[a] and rest[a] <= NEGLIGIBLE
                else:
                    at_last[a] = max(at_last[a], last[a])
                    closed = rounded(at_last[a]) >= rounded(peak[a])
            if closed:
                depth[a] = i + 1
                _note_leaders(a, specs, weights, walk)
            else:
                pending[kept] = a
                kept += 1
        if kept < active:
            active = kept
            for w in range(begun, remaining):  # those that wait still look for the best of ranks
                pending[active + w - begun] = waiting[w]
            ranks = _ranks_wanted(specs, walk, active + remaining - begun)
        if active == 0 and begun == remaining:
            return 0
    for w in range(begun, remaining):
        pending[active + w - begun] = waiting[w]
    return active + remaining - begun


@kernel
def _by_beginning(specs: Specs, walk: Walk, remaining: int) -> Ints:
    """Return the queries in the order in which they begin to look at records: sums, then by k."""
    first, waiting = np.empty(remaining, np.int64), np.empty(remaining, np.int64)
    for o in range(remaining):
        a = walk.pending[o]
        first[o] = 0 if specs.kind[a] == SUMS else specs.k[a]
    order = ascending(first)
    for o in range(remaining):
        waiting[o] = walk.pending[order[o]]
    return waiting


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
