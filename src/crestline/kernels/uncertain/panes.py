"""Compact sets of records that come in bulk: what need not be kept at all."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.common.order import reach
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import CHANCE, GROUP, RULE, Setting
from crestline.kernels.uncertain.worlds import weigh
from crestline.types import Bools, Floats, Ints


@kernel
def prune_units(
    setting: Setting, f: Floats, i: Ints, partition: Ints, unit: Ints, order: Ints
) -> Bools:
    """Which records, in the order given (partition, unit, rank), belong to their unit's compact
    set."""
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
        for j in range(start + _compact(setting, f, i, order[start:stop]), stop):
            kept[j] = False
        start = stop
    return kept


@kernel
def _compact(setting: Setting, f: Floats, i: Ints, places: Ints) -> int:
    """How many of the records, in rank order, are in the compact set: all, if there is none."""
    total = len(places)
    some = min(total, 4 * setting[1] + 64)
    while True:
        chance = np.empty(some)
        rule, group = np.empty(some, np.int64), np.empty(some, np.int64)
        for j in range(some):
            chance[j] = f[CHANCE, places[j]]
            rule[j], group[j] = i[RULE, places[j]], i[GROUP, places[j]]
        found, _ = weigh(
            setting[5], setting[0], setting[1], setting[2], chance, rule, group, np.empty(some),
            np.empty(some), np.empty(some, np.int64),
        )  # fmt: skip
        if found >= 0:
            return int(found)
        if some == total:
            return total
        some = min(total, 4 * some)


#: Records looked at together.
_STRIDE = 64


@kernel
def passing(
    setting: Setting, scores: Floats, chance: Floats, rule: Ints, group: Ints, block: int
) -> Ints:
    """Which records of a long batch may ever matter, for a window of three blocks at least.

    A record behind the compact sets of the block before its own and of the block after it can be in
    no compact set of a window: until the latter is complete the window holds the whole of the
    former. Of equal scores all pass, and where some tie in a compact set, all of its neighbours do,
    as it is not known yet which of them ranks higher.
    """
    count = len(scores)
    blocks = count // block
    lowest = np.empty(blocks)
    guess = -np.inf
    for b in range(blocks):
        start = b * block
        lowest[b], guess = _lowest(
            setting, scores[start : start + block], chance[start : start + block],
            rule[start : start + block], group[start : start + block], guess,
        )  # fmt: skip
    places = np.empty(count, np.int64)
    filled = 0
    for b in range(blocks + 1):
        start, stop = b * block, min((b + 1) * block, count)
        bound = -np.inf  # the first block and the last ones have a neighbour that is not known
        if 0 < b < blocks - 1:
            bound = min(lowest[b - 1], lowest[b + 1])
        for at in range(start, stop, _STRIDE):
            stride = scores[at : min(at + _STRIDE, stop)]
            if reach(stride, bound):
                for j in range(len(stride)):
                    if stride[j] >= bound:
                        places[filled] = at + j
                        filled += 1
    return places[:filled]


@kernel
def _lowest(
    setting: Setting, scores: Floats, chance: Floats, rule: Ints, group: Ints, guess: float
) -> tuple[float, float]:
    """The last score of a block's compact set (none: minus infinity), and from which score on it
    should look for that of the next."""
    while True:
        found = np.empty(len(scores), np.int64)
        some = 0
        for at in range(0, len(scores), _STRIDE):
            stride = scores[at : at + _STRIDE]
            if reach(stride, guess):
                for j in range(len(stride)):
                    if stride[j] >= guess:
                        found[some] = at + j
                        some += 1
        key = np.empty(some)
        for j in range(some):
            key[j] = -scores[found[j]]
        order = ascending(key)
        some_chance = np.empty(some)
        some_rule, some_group = np.empty(some, np.int64), np.empty(some, np.int64)
        for j in range(some):
            place = found[order[j]]
            some_chance[j], some_rule[j], some_group[j] = chance[place], rule[place], group[place]
        depth = -1
        if some > 0:
            depth, _ = weigh(
                setting[5], setting[0], setting[1], setting[2], some_chance, some_rule, some_group,
                np.empty(some), np.empty(some), np.empty(some, np.int64),
            )  # fmt: skip
        if depth < 0 and guess > -np.inf:  # looked too high
            guess = -np.inf
            continue
        if depth < 0:
            return -np.inf, guess
        wanted = 2 * depth + 16
        if wanted < some:
            guess = -key[order[wanted]]
        for j in range(min(depth, some - 1)):
            if key[order[j]] == key[order[j + 1]]:
                return -np.inf, guess
        return -key[order[depth - 1]], guess
