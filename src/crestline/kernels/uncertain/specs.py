"""Several questions about the same records, answered by one walk.

Records are looked at in rank order, as in ``kernels.uncertain.worlds``. The array of the
probabilities that exactly 0, 1, ..., k - 1 of the records above exist serves every smaller k as
well (Chen et al., section 4): it is the same but for its end. So there is one, as long as the
largest k needs, and it costs O(k) a record to bring it up to date; an ask costs O(1) a record until
it has closed, and then nothing. What an ask is told is, to the last bit, what ``weigh`` says of it
alone: the same numbers are added and multiplied in the same order.

U_TOPK and EXPECTED_RANK have no use for that array. The former is weighed for each ask on its own,
the latter once for all. So is an ask on its own that needs more than the first ``IN_ORDER`` records
where there are rules: behind these, the last bits of a value depend on where an ask closes.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.pointer import FLOATS, INT, INTS, Pointed
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.exclusive import TOLERANCE
from crestline.kernels.uncertain.worlds import (
    EXPECTED_RANK,
    IN_ORDER,
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    U_TOPK,
    closes,
    compete,
    first_rule,
    include,
    include_into,
    leave_out_rule,
    missing_of_top,
    pick,
    total_from,
    weigh,
)
from crestline.types import Floats, Ints


@kernel
def _ranks_wanted(kind: Ints, k: Ints, opened: Ints, remaining: int, width: int) -> int:
    """For how many ranks the most probable record is still looked for."""
    ranks = 0
    for o in range(remaining):
        a = opened[o]
        if kind[a] in (U_KRANKS, U_KRANKS_WITH_RULES):
            ranks = max(ranks, min(k[a], width))
    return ranks


@kernel
def _walk(
    kind: Ints, k: Ints, threshold: Floats, chance: Floats, rule: Ints, group: Ints, opened: Ints,
    remaining: int, depth: Ints, overfull: Ints, value: Floats, best: Floats, place: Ints,
) -> int:  # fmt: skip
    """Walk until the asks in ``opened`` have closed: first as if there were no rules, up to the
    first record that has one, and from there on with them (see ``worlds._weigh``). Returns how many
    of them need more than this; they come first in ``opened``."""
    count, asks = len(chance), len(kind)
    most = 0
    for o in range(remaining):
        most = max(most, k[opened[o]])
    width = min(most, count)
    stride = len(best) // asks
    exactly = np.zeros(width + 1)
    exactly[width - 1] = 1.0
    fewer, summed_at = np.ones(asks), np.ones(asks)  # see worlds._walk
    rest, weighed_at = np.empty(asks), np.empty(asks)
    last, state = np.zeros(asks), np.zeros(asks)
    largest, groups = np.empty((asks, width)), np.empty((asks, width), np.int64)
    leader, leading = np.empty(width), np.empty(width, np.int64)  # by rank: the best so far
    peaks = np.empty(width)
    for a in range(asks):
        rest[a] = weighed_at[a] = float(k[a])
    for j in range(width):
        leader[j] = -1.0
    ranks = _ranks_wanted(kind, k, opened, remaining, width)
    free = first_rule(rule)
    for i in range(free):
        p = chance[i]
        if ranks > 0:
            compete(p, exactly, min(i + 1, ranks), i, leader, leading)
        for o in range(remaining):
            a = opened[o]
            last[a] = p * exactly[width - k[a]] if i >= k[a] - 1 else 0.0
        include(exactly, p)
        if ranks > 0:
            peak = 0.0
            for j in range(ranks):
                peak = max(peak, exactly[width - 1 - j])
                peaks[j] = peak
        kept = 0
        for o in range(remaining):
            a = opened[o]
            mine = p * fewer[a]
            value[a * count + i] = mine
            rest[a] -= mine
            fewer[a] -= last[a]
            if fewer[a] < 0.5 * summed_at[a]:
                fewer[a] = summed_at[a] = total_from(exactly, width - k[a])
            peak = fewer[a]
            if kind[a] == U_KRANKS:
                peak = peaks[min(k[a], width) - 1]
            elif kind[a] == SUMS and rest[a] < 0.5 * weighed_at[a]:
                rest[a] = weighed_at[a] = missing_of_top(exactly, k[a])
            if count >= k[a] and closes(
                kind[a], k[a], threshold[a], mine, fewer[a], rest[a], last[a], peak, group[i],
                largest[a], state[a : a + 1], groups[a],
            ):  # fmt: skip
                depth[a] = i + 1
                _note(k[a], width, leader, leading, a * stride, best, place)
            else:
                opened[kept] = a
                kept += 1
        if kept < remaining:
            remaining = kept
            ranks = _ranks_wanted(kind, k, opened, remaining, width)
        if remaining == 0:
            return 0
    if free < min(count, IN_ORDER):
        remaining = _walk_in_order(
            kind, k, threshold, chance, rule, group, free, opened, remaining, depth, overfull,
            value, best, place, leader, leading, largest, state, groups,
        )  # fmt: skip
    for o in range(remaining):
        a = opened[o]
        _note(k[a], width, leader, leading, a * stride, best, place)
    return remaining if free < count and count > IN_ORDER else 0


@kernel
def _walk_in_order(
    kind: Ints, k: Ints, threshold: Floats, chance: Floats, rule: Ints, group: Ints, free: int,
    opened: Ints, remaining: int, depth: Ints, overfull: Ints, value: Floats, best: Floats,
    place: Ints, leader: Floats, leading: Ints, largest: Floats, state: Floats, groups: Ints,
) -> int:  # fmt: skip
    """Go on with rules, from record ``free`` on; how many asks are still open at the end."""
    count, asks, width = len(chance), len(kind), len(leader)
    stride = len(best) // asks
    looked_at = min(count, IN_ORDER)
    exactly = np.empty((looked_at + 1, width + 1))
    unit_rule, unit_mass = np.empty(looked_at, np.int64), np.empty(looked_at)
    below, short = np.zeros(width + 1), np.zeros(width + 1)
    for j in range(width + 1):
        exactly[0, j] = 1.0 if j == width - 1 else 0.0
    units = broken = 0
    ranks = _ranks_wanted(kind, k, opened, remaining, width)
    for i in range(looked_at):
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
            compete(p, others, ranks, i, leader, leading)
        for j in range(width):
            below[j + 1] = below[j] + others[width - 1 - j]
            short[j + 1] = short[j] + below[j + 1]
        kept = 0
        for o in range(remaining):
            a = opened[o]
            at_last, below_last, rest = 0.0, below[width], 0.0
            if k[a] <= width:
                at_last, below_last = others[width - k[a]], below[k[a] - 1]
                rest = (1.0 - s) * short[k[a]] + s * short[k[a] - 1]
            mine = p * (below_last + at_last)
            value[a * count + i] = mine
            fewer = below_last + (1.0 - s) * at_last
            overfull[a] = broken
            if count >= k[a] and closes(
                kind[a], k[a], threshold[a], mine, fewer, rest, p * at_last, fewer, group[i],
                largest[a], state[a : a + 1], groups[a],
            ):  # fmt: skip
                depth[a] = i + 1
                _note(k[a], width, leader, leading, a * stride, best, place)
            else:
                opened[kept] = a
                kept += 1
        if kept < remaining:
            remaining = kept
            ranks = _ranks_wanted(kind, k, opened, remaining, width)
        if remaining == 0:
            break
    return remaining


@kernel
def _note(
    k: int, width: int, leader: Floats, leading: Ints, start: int, best: Floats, place: Ints
) -> None:
    """Write down who is best at each rank, for an ask that has seen enough."""
    for j in range(min(k, width)):
        best[start + j] = leader[j]
        place[start + j] = leading[j]


@kernel
def _weigh_alone(
    weigh_address: int, a: int, kind: Ints, k: Ints, threshold: Floats, chance: Floats, rule: Ints,
    group: Ints, depth: Ints, overfull: Ints, value: Floats, best: Floats, place: Ints,
) -> None:  # fmt: skip
    """Weigh for one ask on its own."""
    count, stride = len(chance), len(best) // len(kind)
    depth[a], overfull[a] = weigh(
        weigh_address, kind[a], k[a], threshold[a], chance, rule, group,
        value[a * count : (a + 1) * count], best[a * stride : (a + 1) * stride],
        place[a * stride : (a + 1) * stride],
    )  # fmt: skip


@kernel
def _weigh_asks(
    weigh_address: int, kind: Ints, k: Ints, threshold: Floats, chance: Floats, rule: Ints,
    group: Ints, depth: Ints, overfull: Ints, value: Floats, best: Floats, place: Ints,
) -> int:  # fmt: skip
    """How many records all asks together need to close; -1, if one does not.

    ``value``, ``best`` and ``place`` hold a row for each ask, which becomes what ``weigh`` makes of
    it: values of all records; best values and records of as many ranks as the largest k has.
    ``depth`` and ``overfull`` become what ``weigh`` returns.
    """
    asks = len(kind)
    opened = np.empty(asks, np.int64)
    remaining = 0
    for a in range(asks):
        depth[a], overfull[a] = -1, 0
        if kind[a] == U_TOPK:
            _weigh_alone(
                weigh_address, a, kind, k, threshold, chance, rule, group, depth, overfull, value,
                best, place,
            )  # fmt: skip
        else:
            opened[remaining] = a
            remaining += 1
    alone = 0
    if remaining > 0:
        alone = _walk(
            kind, k, threshold, chance, rule, group, opened, remaining, depth, overfull, value,
            best, place,
        )  # fmt: skip
    for o in range(alone):
        _weigh_alone(
            weigh_address, opened[o], kind, k, threshold, chance, rule, group, depth, overfull,
            value, best, place,
        )  # fmt: skip
    farthest = 0
    for a in range(asks):
        if depth[a] < 0:
            return -1
        farthest = max(farthest, depth[a])
    return farthest


@kernel
def _rank_all(
    weigh_address: int, pick_address: int, k: Ints, chance: Floats, rule: Ints, group: Ints,
    overfull: Ints, number: Ints, chosen: Ints, weight: Floats,
) -> None:  # fmt: skip
    """Expected ranks, once for the largest k: the other asks are told the first of these."""
    count = len(chance)
    most = largest(k)
    value, none = np.empty(count), np.empty(0, np.int64)
    _, broken = weigh(
        weigh_address, EXPECTED_RANK, most, 0.0, chance, rule, group, value, value, none
    )
    found = pick(
        pick_address, EXPECTED_RANK, most, 0.0, count, group, value, value, none, chosen[:count],
        weight[:count],
    )  # fmt: skip
    for a in range(len(k)):
        overfull[a] = broken
        number[a] = min(k[a], found)
        for j in range(number[a]):
            chosen[a * count + j], weight[a * count + j] = chosen[j], weight[j]


@kernel
def largest(k: Ints) -> int:
    """The largest k."""
    most = 1
    for a in range(len(k)):
        most = max(most, k[a])
    return most


def _answer_asks(
    weigh_address: int, pick_address: int, kind: Ints, k: Ints, threshold: Floats, chance: Floats,
    rule: Ints, group: Ints, overfull: Ints, number: Ints, chosen: Ints, weight: Floats,
) -> int:  # fmt: skip
    """How many records, in rank order, all asks together need to close; -1, if one does not.

    Ask a is told ``number[a]`` records, by their places in row a of ``chosen``, and their weights;
    rows are as long as there are records. Without ``chosen``, nothing is told. ``overfull[a]``
    becomes 1 if one of its rules promised too much. Asks for EXPECTED_RANK come without others.
    """
    count, asks = len(chance), len(kind)
    if kind[0] == EXPECTED_RANK:
        _rank_all(
            weigh_address, pick_address, k, chance, rule, group, overfull, number, chosen, weight
        )
        return -1
    stride = min(largest(k), count)
    depth = np.empty(asks, np.int64)
    value, best = np.empty(asks * count), np.empty(asks * stride)
    place = np.empty(asks * stride, np.int64)
    found = _weigh_asks(
        weigh_address, kind, k, threshold, chance, rule, group, depth, overfull, value, best, place
    )
    if len(chosen) > 0:
        for a in range(asks):
            number[a] = pick(
                pick_address, kind[a], k[a], threshold[a], count if depth[a] < 0 else depth[a],
                group, value[a * count : (a + 1) * count], best[a * stride : (a + 1) * stride],
                place[a * stride : (a + 1) * stride], chosen[a * count : (a + 1) * count],
                weight[a * count : (a + 1) * count],
            )  # fmt: skip
    return found


ANSWER_ASKS = Pointed(
    _answer_asks,
    INT,
    INT,
    INT,
    INTS,
    INTS,
    FLOATS,
    FLOATS,
    INTS,
    INTS,
    INTS,
    INTS,
    INTS,
    FLOATS,
)
#: ``answer_asks(address, ...)`` in kernels, with ``ANSWER_ASKS.address()``.
answer_asks = ANSWER_ASKS.call
