"""Several queries over the same records, answered by one walk.

The walk is that of ``kernels.uncertain.shared_walk``. U_TOPK, PRF and EXPECTED_RANK have no use for
it: the former two are weighed for each query alone, the latter once for all. Where there are rules,
a query that needs more than the first ``IN_ORDER`` records is weighed alone too: behind these, the
last bits of a value depend on where a query closes. So are queries that a common walk would not
serve faster, one that comes alone among them.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.pointer import FLOATS, INT, INTS, Pointed
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.kernels.uncertain.closing import (
    EXPECTED_RANK,
    PK_TOPK,
    PRF,
    PT_K,
    SUMS,
    U_TOPK,
)
from crestline.kernels.uncertain.exclusive import first_rule
from crestline.kernels.uncertain.shared_walk import (
    RankedRecords,
    Specs,
    Walk,
    Weights,
    walk_together,
)
from crestline.kernels.uncertain.tops import enter_groups, no_tops, number_groups, write_top
from crestline.kernels.uncertain.worlds import pick, weigh
from crestline.types import Floats, Ints

#: Walks look at this number of records at least.
WALK_AT_LEAST = 64
#: One walk is shared where it saves others whose k add up to this; the more above a large k, as
#: each record that enters a long top moves many others.
_WORTHWHILE, _LARGE_K = 50, 200


@kernel
def largest_k(k: Ints) -> int:
    """Return the largest k."""
    most = 1
    for a in range(len(k)):
        most = max(most, k[a])
    return most


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


@borrowing_kernel
def _share(specs: Specs, records: RankedRecords) -> bool:
    """Whether one walk for all queries takes less time than one for each.

    The walk of the largest k is the longest; what counts is how many further ones it saves. With
    rules, and where 4 k records have not been enough, walks are so long that it always does.
    """
    most = total = 0
    for a in range(len(specs.k)):
        most, total = max(most, specs.k[a]), total + specs.k[a]
    if len(specs.k) == 1:
        return False
    if len(records.chance) > max(WALK_AT_LEAST, 4 * most):
        return True
    saved = total - most >= _WORTHWHILE + 2 * max(0, most - _LARGE_K)
    return bool(saved or first_rule(records.rule) < len(records.rule))


@kernel
def _weigh_specs(
    weigh_address: int, specs: Specs, records: RankedRecords, weights: Weights, walked: Ints
) -> Walk:
    """Weigh for each query, and mark with 1 in ``walked`` those whose top is known; return how far
    the walk has come."""
    kind, k, count = specs.kind, specs.k, len(records.chance)
    queries = len(kind)
    together, pending = 0, np.empty(queries, np.int64)
    most, sums = 0, False
    alone = not _share(specs, records)
    for a in range(queries):
        weights.depth[a], weights.overfull[a] = -1, 0
        if kind[a] in (U_TOPK, PRF) or alone:
            _weigh_alone(weigh_address, a, specs, records, weights)
        else:
            pending[together] = a
            together += 1
            most = max(most, k[a])
            sums |= kind[a] == SUMS
            walked[a] = 1 if kind[a] in (PK_TOPK, PT_K, SUMS) else 0
    width = min(most, count)
    walk = Walk(
        pending,
        no_tops(queries, count if together > 0 else 0),
        number_groups(records.group[: count if sums else 0]),
        np.zeros(queries), np.empty(width), np.empty(width, np.int64),
    )  # fmt: skip
    for j in range(width):
        walk.best[j] = -1.0
    if together > 0:
        for o in range(walk_together(specs, records, weights, walk, together)):
            walked[pending[o]] = 0
            _weigh_alone(weigh_address, pending[o], specs, records, weights)
    return walk


@kernel
def _take_top(
    a: int, specs: Specs, depth: int, weights: Weights, walk: Walk, chosen: Ints, weight: Floats
) -> int:
    """Copy the top of a query, whose records and their weights are asked for; return its length."""
    tops, groups = walk.tops, walk.groups
    count = len(chosen) // len(specs.k)
    value, first = weights.value[a * count : a * count + depth], a * count
    sums = np.empty(len(groups.first))
    if specs.kind[a] == SUMS:
        enter_groups(tops, a, min(specs.k[a], depth), groups, value, sums)
    number = write_top(tops, a, chosen, first)
    for j in range(first, first + number):
        if specs.kind[a] == SUMS:
            weight[j] = sums[groups.number[chosen[j]]]
        else:
            weight[j] = value[chosen[j]]
    return number


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
    walked = np.zeros(queries, np.int64)
    walk = _weigh_specs(weigh_address, specs, records, weights, walked)
    closed = 0
    for a in range(queries):
        depth = weights.depth[a]
        closed = -1 if closed < 0 or depth < 0 else max(closed, depth)
        if len(chosen) == 0:
            continue
        if depth < 0:
            depth = count
        if walked[a] > 0:
            number[a] = _take_top(a, specs, depth, weights, walk, chosen, weight)
        else:
            number[a] = pick(
                pick_address, kind[a], k[a], threshold[a], depth, group,
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

__all__ = ["ANSWER_SPECS", "WALK_AT_LEAST", "answer_specs", "largest_k"]
