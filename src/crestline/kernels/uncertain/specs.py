"""Several queries over the same records, answered by one walk.

Records are looked at in rank order, as in ``kernels.uncertain.worlds``. The array of the
probabilities that exactly 0, 1, ..., k - 1 of the records above exist serves every smaller k as
well (Chen et al., section 4): it is the same but for its end. So there is one, as long as the
largest k needs. It costs O(k) per record to bring it up to date; a query costs O(1) per record
until it has closed, and then nothing. The answer to a query is, to the last bit, what ``weigh``
gives for it alone: the same numbers are added and multiplied in the same order.

U_TOPK, PRF and EXPECTED_RANK have no use for that array. The former two are weighed for each query
alone, the latter once for all. Where there are rules, a query that needs more than the first
``IN_ORDER`` records is weighed alone too: behind these, the last bits of a value depend on where a
query closes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.jit.pointer import FLOATS, INT, INTS, Pointed
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import (
    EXPECTED_RANK,
    PRF,
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    U_TOPK,
    closes,
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
from crestline.kernels.uncertain.worlds import pick, weigh
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
    #: By query: what ``closing.closes`` notes.
    largest: Floats
    state: Floats
    groups: Ints
    #: By rank: the largest value so far and its record.
    best: Floats
    leader: Ints


@kernel
def largest_k(k: Ints) -> int:
    """Return the largest k."""
    most = 1
    for a in range(len(k)):
        most = max(most, k[a])
    return most


@kernel
def _ranks_wanted(specs: Specs, walk: Walk, remaining: int) -> int:
    """Count the ranks for which the most probable record is still looked for."""
    ranks = 0
    for o in range(remaining):
        a = walk.pending[o]
        if specs.kind[a] in (U_KRANKS, U_KRANKS_WITH_RULES):
            ranks = max(ranks, min(specs.k[a], len(walk.best)))
    return ranks


@kernel
def _walk(
    specs: Specs, records: RankedRecords, weights: Weights, walk: Walk, remaining: int
) -> int:
    """Walk until the queries in ``walk.pending`` have closed; return how many need more than this.

    The walk goes as if there were no rules up to the first record that has one, and from there on
    with them (see ``exclusive.walk_with_rules``). The queries that need more come first in
    ``walk.pending``.
    """
    count = len(records.chance)
    free = first_rule(records.rule)
    remaining = _walk_independent(specs, records, free, weights, walk, remaining)
    if remaining > 0 and free < min(count, IN_ORDER):
        remaining = _walk_in_order(specs, records, free, weights, walk, remaining)
    for o in range(remaining):
        _note_leaders(walk.pending[o], specs, weights, walk)
    return remaining if free < count and count > IN_ORDER else 0


@kernel
def _walk_independent(
    specs: Specs, records: RankedRecords, free: int, weights: Weights, walk: Walk, remaining: int
) -> int:
    """Walk through the records before the first rule; return how many queries are open then."""
    kind, k, threshold = specs
    chance, group = records.chance, records.group
    depth, value = weights.depth, weights.value
    pending, largest, state, groups, best, leader = walk
    queries, width = len(kind), len(best)
    count = len(chance)
    exactly = np.zeros(width + 1)
    exactly[width - 1] = 1.0
    fewer, summed_at = np.ones(queries), np.ones(queries)  # see ``independent.walk_independent``
    rest, weighed_at = np.empty(queries), np.empty(queries)
    last, peaks = np.zeros(queries), np.empty(width)
    for a in range(queries):
        rest[a] = weighed_at[a] = float(k[a])
    ranks = _ranks_wanted(specs, walk, remaining)
    for i in range(free):
        p = chance[i]
        if ranks > 0:
            compete(p, exactly, min(i + 1, ranks), i, best, leader)
        for o in range(remaining):
            a = pending[o]
            last[a] = p * exactly[width - k[a]] if i >= k[a] - 1 else 0.0
        include(exactly, p)
        if ranks > 0:
            peak = 0.0
            for j in range(ranks):
                peak = max(peak, exactly[width - 1 - j])
                peaks[j] = peak
        kept = 0
        for o in range(remaining):
            a = pending[o]
            in_top = p * fewer[a]
            value[a * count + i] = in_top
            rest[a] -= in_top
            fewer[a] -= last[a]
            if fewer[a] < 0.5 * summed_at[a]:
                fewer[a] = summed_at[a] = total_from(exactly, width - k[a])
            peak = fewer[a]
            if kind[a] == U_KRANKS:
                peak = peaks[min(k[a], width) - 1]
            elif kind[a] == SUMS and rest[a] < 0.5 * weighed_at[a]:
                rest[a] = weighed_at[a] = missing_of_top(exactly, k[a])
            if count >= k[a] and closes(
                kind[a], k[a], threshold[a], in_top, fewer[a], rest[a], last[a], peak, group[i],
                largest[a], state[a : a + 1], groups[a],
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


@kernel
def _walk_in_order(
    specs: Specs, records: RankedRecords, free: int, weights: Weights, walk: Walk, remaining: int
) -> int:
    """Go on with rules, from record ``free`` on; return how many queries are open at the end."""
    kind, k, threshold = specs
    chance, rule, group = records
    depth, overfull, value = weights.depth, weights.overfull, weights.value
    pending, largest, state, groups, best, leader = walk
    count, width = len(chance), len(best)
    some = min(count, IN_ORDER)
    exactly, unit_rule, unit_mass = no_units(some, width)
    below, short = np.zeros(width + 1), np.zeros(width + 1)
    units = broken = 0
    ranks = _ranks_wanted(specs, walk, remaining)
    for i in range(some):
        p = chance[i]
        units, mass = leave_out_rule(rule[i], units, unit_rule, unit_mass, exactly)
        others = exactly[units]
        s = min(mass + p, 1.0)
        unit_rule[units], unit_mass[units] = rule[i], mass + p
        include_into(others, exactly[units + 1], s)
        units += 1
        if i < free:
            continue
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
            at_last, below_last, rest = 0.0, below[width], 0.0
            if k[a] <= width:
                at_last, below_last = others[width - k[a]], below[k[a] - 1]
                rest = (1.0 - s) * short[k[a]] + s * short[k[a] - 1]
            in_top = p * (below_last + at_last)
            value[a * count + i] = in_top
            fewer = below_last + (1.0 - s) * at_last
            overfull[a] = broken
            if count >= k[a] and closes(
                kind[a], k[a], threshold[a], in_top, fewer, rest, p * at_last, fewer, group[i],
                largest[a], state[a : a + 1], groups[a],
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


@kernel
def _note_leaders(a: int, specs: Specs, weights: Weights, walk: Walk) -> None:
    """Copy the best of each rank for a query that has seen enough."""
    start = a * (len(weights.best) // len(specs.k))
    for j in range(min(specs.k[a], len(walk.best))):
        weights.best[start + j] = walk.best[j]
        weights.leader[start + j] = walk.leader[j]


@kernel
def _weigh_alone(
    address: int, a: int, specs: Specs, records: RankedRecords, weights: Weights
) -> None:
    """Weigh for one query alone."""
    count, stride = len(records.chance), len(weights.best) // len(specs.k)
    weights.depth[a], weights.overfull[a] = weigh(
        address, specs.kind[a], specs.k[a], specs.threshold[a], records.chance, records.rule,
        records.group, weights.value[a * count : (a + 1) * count],
        weights.best[a * stride : (a + 1) * stride],
        weights.leader[a * stride : (a + 1) * stride],
    )  # fmt: skip


@kernel
def _weigh_specs(weigh_address: int, specs: Specs, records: RankedRecords, weights: Weights) -> int:
    """Return how many records all queries together need to close; -1, if one does not."""
    kind, k = specs.kind, specs.k
    queries = len(kind)
    pending = np.empty(queries, np.int64)
    remaining, most = 0, 0
    for a in range(queries):
        weights.depth[a], weights.overfull[a] = -1, 0
        if kind[a] in (U_TOPK, PRF):
            _weigh_alone(weigh_address, a, specs, records, weights)
        else:
            pending[remaining] = a
            remaining += 1
            most = max(most, k[a])
    if remaining > 0:
        width = min(most, len(records.chance))
        walk = Walk(
            pending, np.empty((queries, width)), np.zeros(queries),
            np.empty((queries, width), np.int64), np.empty(width), np.empty(width, np.int64),
        )  # fmt: skip
        for j in range(width):
            walk.best[j] = -1.0
        remaining = _walk(specs, records, weights, walk, remaining)
    for o in range(remaining):
        _weigh_alone(weigh_address, pending[o], specs, records, weights)
    farthest = 0
    for a in range(queries):
        if weights.depth[a] < 0:
            return -1
        farthest = max(farthest, weights.depth[a])
    return farthest


@kernel
def _rank_all(
    weigh_address: int, pick_address: int, k: Ints, records: RankedRecords, overfull: Ints,
    number: Ints, chosen: Ints, weight: Floats,
) -> None:  # fmt: skip
    """Work out expected ranks once, for the largest k; a smaller k has the first of its answer."""
    chance, rule, group = records
    count, most = len(chance), largest_k(k)
    value, none = np.empty(count), np.empty(0, np.int64)
    _, broken = weigh(
        weigh_address, EXPECTED_RANK, most, 0.0, chance, rule, group, value, value, none
    )
    ranked = pick(
        pick_address, EXPECTED_RANK, most, 0.0, count, group, value, value, none, chosen[:count],
        weight[:count],
    )  # fmt: skip
    for a in range(len(k)):
        overfull[a] = broken
        number[a] = min(k[a], ranked)
        for j in range(number[a]):
            chosen[a * count + j], weight[a * count + j] = chosen[j], weight[j]


def _answer_specs(
    weigh_address: int, pick_address: int, kind: Ints, k: Ints, threshold: Floats, chance: Floats,
    rule: Ints, group: Ints, overfull: Ints, number: Ints, chosen: Ints, weight: Floats,
) -> int:  # fmt: skip
    """Return how many records, in rank order, all queries together need to close; -1, if one does
    not.

    The answer to query a is ``number[a]`` records: their indices are in row a of ``chosen``, their
    weights in row a of ``weight``; rows are as long as there are records. Without ``chosen``, no
    answer is worked out. ``overfull[a]`` becomes 1 if one of its rules is above 1. Queries for
    EXPECTED_RANK come without others.
    """
    count, queries = len(chance), len(kind)
    specs, records = Specs(kind, k, threshold), RankedRecords(chance, rule, group)
    if kind[0] == EXPECTED_RANK:
        _rank_all(weigh_address, pick_address, k, records, overfull, number, chosen, weight)
        return -1
    stride = min(largest_k(k), count)
    weights = Weights(
        np.empty(queries, np.int64), overfull, np.empty(queries * count),
        np.empty(queries * stride), np.empty(queries * stride, np.int64),
    )  # fmt: skip
    closed = _weigh_specs(weigh_address, specs, records, weights)
    if len(chosen) > 0:
        for a in range(queries):
            depth = weights.depth[a]
            number[a] = pick(
                pick_address, kind[a], k[a], threshold[a], count if depth < 0 else depth, group,
                weights.value[a * count : (a + 1) * count],
                weights.best[a * stride : (a + 1) * stride],
                weights.leader[a * stride : (a + 1) * stride],
                chosen[a * count : (a + 1) * count], weight[a * count : (a + 1) * count],
            )  # fmt: skip
    return closed


ANSWER_SPECS = Pointed(
    _answer_specs, INT, INT, INT, INTS, INTS, FLOATS, FLOATS, INTS, INTS, INTS, INTS, INTS, FLOATS
)
#: ``answer_specs(address, ...)`` in kernels, with ``ANSWER_SPECS.address()``.
answer_specs = ANSWER_SPECS.call

__all__ = ["ANSWER_SPECS", "answer_specs", "largest_k"]
