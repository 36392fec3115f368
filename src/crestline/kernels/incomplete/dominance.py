"""Forgetting values that cannot matter: the k dominance set of Haghani et al.

The *instance* of an object at one of its values is the object without anything that leaves before
that value does: its score then is at least ``least`` and at most ``most`` until the value leaves.
An instance is dominated by an object that is certain to score more than its ``most`` and to stay at
least as long; dominated by k of them, it will never be among the k best.

One pass from the newest to the oldest value finds all of them: going back in time, what an object
is certain to score only grows, so it is enough to know the k largest of these numbers. A value is
forgotten when no instance needs it: none of those of its object at this or an older value is kept.
"""

from __future__ import annotations

import sys

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.combine import AVG, Rule, Terms, add_value, combined, outlook
from crestline.kernels.incomplete.objects import CERTAIN, SIZES, USED, hold, release
from crestline.kernels.incomplete.observations import (
    ACTIVE,
    CHANGED,
    DONE,
    HEAD,
    INSTANCES,
    TAIL,
    Setting,
    hide,
    refresh,
    take_out,
)
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints, Places, Records

#: By how much sums of repeats may differ with the order in which they are added, as a share of what
#: is added up: terms of different signs may be much larger than their sum.
_ROUNDING = 1e-12
_LARGEST = sys.float_info.max


@kernel
def expected_most(
    rule: Rule, order: Ints, weights: Floats, count: Ints, total: Floats, active: int, seen: int,
    chance: Floats,
) -> float:  # fmt: skip
    """The score an object can be expected to reach at most: a stream on which it was not seen
    counts as much as it is probable, given one of those on which it was."""
    value = np.empty(len(count))
    for x in range(len(count)):
        value[x] = rule.missing
        if count[x] > 0:
            value[x] = total[x] / count[x] if rule.repeats == AVG else total[x]
        elif (seen >> x) & 1 == 0:
            probable = 0.0
            for y in range(len(count)):
                if (seen >> y) & 1 == 1:
                    probable = max(probable, chance[y, x])
            value[x] = (1.0 - probable) * rule.missing + probable * rule.high
    return combined(rule, order, weights, active, value)


@kernel
def _judge(
    rule: Rule, order: Ints, weights: Floats, meta: Ints, stored: Records, objects: Records,
    lists: Records, heaps: Ints, k: int, chance: Floats, needed: Ints,
) -> int:  # fmt: skip
    """Mark the values at which an object has an instance that is kept; how many they are."""
    head = meta[HEAD]
    count = np.zeros(lists.shape[1], np.int64)
    total = np.zeros(len(count))
    most = np.empty(len(needed))
    largest = max(abs(rule.low), abs(rule.high)) if rule.low < 0.0 else 0.0
    terms = rule.at_most * len(order) * largest * max(1.0, weights.max() if len(weights) else 1.0)
    kept = 0
    start = meta[TAIL] - 1
    while start >= head:
        end = start  # values that leave together, from start down to end
        while end > head and stored[end - 1].leaves == stored[start].leaves:
            end -= 1
        for i in range(start, end - 1, -1):
            slot = stored[i].slot
            if stored[i].older >= end:
                continue  # the object has another value that leaves now: the instance is there
            for x in range(len(count)):
                count[x] = 0
            seen, j = objects[slot].seen, objects[slot].newest
            while j >= i:
                add_value(rule, count, total, stored[j].stream, stored[j].value)
                j = stored[j].older
            _, least, bound = outlook(rule, order, weights, count, total, meta[ACTIVE], seen)
            if len(chance) > 0:
                bound = expected_most(
                    rule, order, weights, count, total, meta[ACTIVE], seen, chance
                )
            most[i - head] = bound
            # The k largest of what objects are certain to score: the least of them stands first.
            if objects[slot].in_certain < 0 and meta[SIZES + CERTAIN] == k:
                if least <= objects[heaps[CERTAIN, 0]].certain:
                    continue
                release(meta, heaps, objects, lists, CERTAIN, heaps[CERTAIN, 0])
            objects[slot].certain = least
            hold(meta, heaps, objects, lists, CERTAIN, slot)
        threshold = -np.inf
        if meta[SIZES + CERTAIN] == k:
            threshold = objects[heaps[CERTAIN, 0]].certain
        if rule.at_most > 1:
            threshold = min(threshold, _LARGEST)
            threshold -= (abs(threshold) + terms) * _ROUNDING
        for i in range(start, end - 1, -1):
            if stored[i].older < end and most[i - head] >= threshold:
                needed[i - head] = 1
                kept += 1
        start = end - 1
    for j in range(meta[SIZES + CERTAIN]):
        objects[heaps[CERTAIN, j]].in_certain = -1
    meta[SIZES + CERTAIN] = 0
    return kept


@kernel
def sweep(
    setting: Setting, rule: Rule, terms: Terms, meta: Ints, edge: Floats, stored: Records,
    objects: Records, lists: Records, heaps: Ints, table: Places, chance: Floats,
) -> None:  # fmt: skip
    """Forget what no instance of the k dominance set needs; by what is probable, if ``chance`` says
    how probable it is that an object is seen on one stream, given another."""
    order, weights = terms
    head, tail, used = meta[HEAD], meta[TAIL], meta[USED]
    needed = np.zeros(tail - head, np.int64)
    meta[INSTANCES] = _judge(
        rule, order, weights, meta, stored, objects, lists, heaps, setting.k, chance, needed
    )
    forgotten = np.full(used, LONG_AGO)  # until when what was forgotten of an object is there
    for slot in range(used):
        objects[slot].newest = -1
    w = 0
    for i in range(head, tail):
        slot = stored[i].slot
        if needed[i - head] == 0 and objects[slot].newest < 0:
            forgotten[slot] = max(forgotten[slot], stored[i].leaves)
            continue
        if w < i:
            stored[w] = stored[i]
        stored[w].older = objects[slot].newest
        objects[slot].newest = w
        w += 1
    meta[HEAD], meta[TAIL] = 0, w
    changed = meta[CHANGED]
    count = np.zeros(lists.shape[1], np.int64)
    total = np.zeros(len(count))
    for slot in range(used):
        if forgotten[slot] == LONG_AGO:
            continue
        if setting.hides and (objects[slot].newest >= 0 or objects[slot].shown == 1):
            hide(meta, heaps, objects, lists, slot, forgotten[slot])
        if objects[slot].newest >= 0:
            refresh(
                setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table,
                slot, meta[DONE], count, total,
            )  # fmt: skip
        else:
            take_out(setting, meta, edge, objects, lists, heaps, table, slot)
    meta[CHANGED] = changed  # what was forgotten is not among the best, nor will it be
