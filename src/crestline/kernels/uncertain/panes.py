"""Compact sets of records that come in bulk: what need not be kept at all."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.common.order import reach
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import take
from crestline.kernels.uncertain.steps import SynopsisQuery
from crestline.kernels.uncertain.worlds import weigh
from crestline.types import Bools, Floats, Ints

#: Records whose scores are compared together.
_STRIDE = 64


@kernel
def prune_units(
    query: SynopsisQuery, chance: Floats, rule: Ints, group: Ints, partition: Ints, unit: Ints,
    order: Ints,
) -> Bools:  # fmt: skip
    """Return which records belong to their unit's compact set, in the order given, which is by
    partition, unit and rank."""
    kept = np.ones(len(order), np.bool_)
    start = 0
    while start < len(order):
        first = order[start]
        stop = start + 1
        while (
            stop < len(order)
            and unit[order[stop]] == unit[first]
            and partition[order[stop]] == partition[first]
        ):
            stop += 1
        for j in range(start + _compact(query, chance, rule, group, order[start:stop]), stop):
            kept[j] = False
        start = stop
    return kept


@kernel
def _compact(query: SynopsisQuery, chance: Floats, rule: Ints, group: Ints, ranked: Ints) -> int:
    """Count the records in the compact set of those at ``ranked``, best first: all, if they do not
    close."""
    total = len(ranked)
    some = min(total, 4 * query.k + 64)
    while True:
        closed = _depth(query, chance, rule, group, ranked[:some])
        if closed >= 0:
            return closed
        if some == total:
            return total
        some = min(total, 4 * some)


@kernel
def _depth(query: SynopsisQuery, chance: Floats, rule: Ints, group: Ints, ranked: Ints) -> int:
    """Return how many of the records at ``ranked``, best first, close; -1 if they do not."""
    count = len(ranked)
    some_chance, some_rule, some_group = take(chance, rule, group, ranked)
    closed, _ = weigh(
        query.weigh, query.kind, query.k, query.threshold, some_chance, some_rule, some_group,
        np.empty(count), np.empty(count), np.empty(count, np.int64),
    )  # fmt: skip
    return int(closed)


@kernel
def passing(
    query: SynopsisQuery, scores: Floats, chance: Floats, rule: Ints, group: Ints, block: int
) -> Ints:
    """Return the indices of the records of a long batch that may ever matter, for a window of
    three blocks at least.

    A record behind the compact sets of the block before its own and of the block after it can be in
    no compact set of a window: until the latter is complete the window holds the whole of the
    former. Of equal scores all pass. Where some tie in a compact set, all records of the
    neighbouring blocks pass, as it is not known yet which of them ranks higher.
    """
    count = len(scores)
    blocks = count // block
    lowest = np.empty(blocks)
    guess = -np.inf
    for b in range(blocks):
        start, stop = b * block, (b + 1) * block
        lowest[b], guess = _lowest(
            query, scores[start:stop], chance[start:stop], rule[start:stop], group[start:stop],
            guess,
        )  # fmt: skip
    indices = np.empty(count, np.int64)
    filled = 0
    for b in range(blocks + 1):
        start, stop = b * block, min((b + 1) * block, count)
        bound = -np.inf  # the first block and the last ones have a neighbour that is not known
        if 0 < b < blocks - 1:
            bound = min(lowest[b - 1], lowest[b + 1])
        filled = _put_reaching(scores, start, stop, bound, indices, filled)
    return indices[:filled]


@kernel
def _put_reaching(
    scores: Floats, start: int, stop: int, bound: float, indices: Ints, filled: int
) -> int:
    """Append the indices of the scores that reach a bound; return how many there are then."""
    for first in range(start, stop, _STRIDE):
        stride = scores[first : min(first + _STRIDE, stop)]
        if reach(stride, bound):
            for j in range(len(stride)):
                if stride[j] >= bound:
                    indices[filled] = first + j
                    filled += 1
    return filled


@kernel
def _lowest(
    query: SynopsisQuery, scores: Floats, chance: Floats, rule: Ints, group: Ints, guess: float
) -> tuple[float, float]:
    """Return the last score of a block's compact set (none: minus infinity), and the score from
    which on to look for that of the next block. Here, only scores that reach ``guess`` are looked
    at first."""
    indices = np.empty(len(scores), np.int64)
    while True:
        some = _put_reaching(scores, 0, len(scores), guess, indices, 0)
        key = np.empty(some)
        for j in range(some):
            key[j] = -scores[indices[j]]
        order = ascending(key)
        ranked = np.empty(some, np.int64)
        for j in range(some):
            ranked[j] = indices[order[j]]
        closed = -1
        if some > 0:
            closed = _depth(query, chance, rule, group, ranked)
        if closed < 0 and guess > -np.inf:  # looked too high
            guess = -np.inf
            continue
        if closed < 0:
            return -np.inf, guess
        wanted = 2 * closed + 16
        if wanted < some:
            guess = scores[ranked[wanted]]
        for j in range(min(closed, some - 1)):
            if scores[ranked[j]] == scores[ranked[j + 1]]:
                return -np.inf, guess
        return scores[ranked[closed - 1]], guess
