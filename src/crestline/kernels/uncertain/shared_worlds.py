"""One list of uncertain records in rank order, for several asks; see ``uncertain.shared``.

Lists are those of ``kernels.uncertain.compact``. ``LEAVES`` is a record's time and the *reach* of
the windows together: at a moment t a record is gone if it leaves at t or before, and an ask that
came later, ``since`` some time, does not see what leaves before that time and the reach. So what an
ask sees at a moment is what leaves after a *limit*.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.pointer import FLOATS, INT, INTS, Pointed
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    CHANCE,
    GROUP,
    ID,
    LEAVES,
    NEVER,
    RULE,
    SCORE,
    List,
    Told,
    copy,
    merged,
    stay,
    tell,
)
from crestline.kernels.uncertain.specs import answer_asks, largest
from crestline.kernels.uncertain.worlds import EXPECTED_RANK
from crestline.types import Bools, Floats, Ints

#: Entries of ``meta``: records in the list, after it was thinned last, results with a rule above 1,
#: walks, and the records looked at in them, each times the largest k.
COUNT, THINNED, OVERFULL, WALKS, WORK = range(5)
#: Prefixes of this length at least are looked at.
_AT_ONCE = 64

#: What is asked, an entry for each ask: the kind of answer, k, threshold, since when, whether one
#: that became empty is told.
Asked = tuple[Ints, Ints, Floats, Ints, Ints]
#: How far windows reach, whether nothing ever leaves, whether all of the window is kept, from how
#: many records on the list is thinned, where ``answer_asks``, ``weigh``, ``pick`` and ``mark`` are.
Shape = tuple[int, bool, bool, int, int, int, int, int]
#: Moments, where the asks of each begin, the asks (as places in ``Asked``).
Due = tuple[Ints, Ints, Ints]


# -- what need not be kept ------------------------------------------------------------------------


@kernel
def _ages(shape: Shape, asked: Asked, i: Ints, count: int) -> Ints:
    """A key for each record, so that whoever sees a record sees all with the same or a larger key.
    Where nothing leaves, they only differ by who sees them."""
    key = np.empty(count, np.int64)
    for a in range(count):
        key[a] = i[LEAVES, a]
        if shape[1]:
            first = -NEVER
            for ask in range(len(asked[3])):
                since = asked[3][ask]
                if since > first and since <= key[a] - shape[0]:
                    first = since
            key[a] = first
    return key


def _mark(
    answer_address: int, weigh_address: int, kind: Ints, k: Ints, threshold: Floats, chance: Floats,
    rule: Ints, group: Ints, key: Ints, out: Ints,
) -> int:  # fmt: skip
    """Mark, among records in rank order, those ``out`` (1) that no ask can need; ``out`` is zeros.

    For the newest records, twice as many and so on: what is no newer than all of these, and ranks
    behind those of them that close, goes.
    """
    total, asks, most = len(chance), len(kind), largest(k)
    if asks == 0 or total <= most:
        return 0
    negative = np.empty(total, np.int64)
    for a in range(total):
        negative[a] = -key[a]
    newest = ascending(negative)
    overfull, none = np.empty(asks, np.int64), np.empty(0, np.int64)
    size, before = most, NEVER
    while True:
        size = min(size, total)
        oldest = key[newest[size - 1]]
        some = max(_AT_ONCE, 4 * most)
        while oldest < before:
            places = np.empty(min(some, total), np.int64)
            count = at = 0
            while at < total and count < len(places):
                if key[at] >= oldest and out[at] == 0:
                    places[count] = at
                    count += 1
                at += 1
            found = -1
            if count > most:
                some_chance = np.empty(count)
                some_rule, some_group = np.empty(count, np.int64), np.empty(count, np.int64)
                for j in range(count):
                    some_chance[j] = chance[places[j]]
                    some_rule[j], some_group[j] = rule[places[j]], group[places[j]]
                found = answer_asks(
                    answer_address, weigh_address, 0, kind, k, threshold, some_chance, some_rule,
                    some_group, overfull, none, none, np.empty(0),
                )  # fmt: skip
            if found >= 0:
                for a in range(places[found - 1] + 1, total):
                    if key[a] <= oldest:
                        out[a] = 1
            if found >= 0 or at == total:
                break
            some *= 4
        before = oldest
        if size == total:
            return 1
        size *= 2


MARK = Pointed(_mark, INT, INT, INT, INTS, INTS, FLOATS, FLOATS, INTS, INTS, INTS, INTS)
#: ``mark(address, ...)`` in kernels, with ``MARK.address()``.
mark = MARK.call


@kernel
def _mark_run(
    shape: Shape, asked: Asked, f: Floats, i: Ints, start: int, stop: int, key: Ints, out: Ints
) -> None:
    mark(
        shape[7], shape[4], shape[5], asked[0], asked[1], asked[2], f[CHANCE, start:stop],
        i[RULE, start:stop], i[GROUP, start:stop], key[start:stop], out[start:stop],
    )  # fmt: skip


@kernel
def needed(shape: Shape, asked: Asked, f: Floats, i: Ints, starts: Ints) -> Bools:
    """Which records may be needed; each of the runs, which begin at ``starts``, is a unit of
    records that begin to be seen together, in rank order."""
    count = i.shape[1]
    out = np.zeros(count, np.int64)
    key = _ages(shape, asked, i, count)
    for run in range(len(starts)):
        stop = starts[run + 1] if run + 1 < len(starts) else count
        _mark_run(shape, asked, f, i, starts[run], stop, key, out)
    kept = np.empty(count, np.bool_)
    for a in range(count):
        kept[a] = out[a] == 0
    return kept


@kernel
def _thin(shape: Shape, asked: Asked, f: Floats, i: Ints, count: int, limit: int) -> int:
    """Move together the records that may be needed; how many they are."""
    count = stay(f, i, 0, count, limit)
    if shape[2]:
        return count
    out = np.zeros(count, np.int64)
    _mark_run(shape, asked, f, i, 0, count, _ages(shape, asked, i, count), out)
    kept = 0
    for a in range(count):
        if out[a] == 0:
            if kept < a:
                copy(f, i, kept, f, i, a)
            kept += 1
    return kept


# -- from moment to moment ------------------------------------------------------------------------


@kernel
def run_shared(
    shape: Shape, asked: Asked, arrivals: List, begins: Ints, due: Due, f: Floats, i: Ints,
    meta: Ints, shown: Ints, told: Told,
) -> tuple[Floats, Ints, Told]:  # fmt: skip
    """Take in records, in the order of the moments at which each begins to be seen and then of
    rank, and answer all that is due. A snapshot is told with the place, in ``due``, of its ask.

    ``shown`` are the numbers of records that the asks were shown last.
    """
    af, ai = arrivals
    at, offset, ask = due
    arrived = execution = 0
    count = meta[COUNT]
    last = -NEVER
    for a in range(count):
        last = max(last, i[LEAVES, a])
    while execution < len(at):
        moment = at[execution]
        first = arrived
        while arrived < len(begins) and begins[arrived] <= moment:
            last = max(last, ai[LEAVES, arrived])
            arrived += 1
        if arrived > first:
            f, i, count = merged(f, i, count, af, ai, first, arrived - first)
            if count > max(2 * meta[THINNED], shape[3]):
                count = _thin(shape, asked, f, i, count, moment)
                meta[THINNED] = count
        if last <= moment and not _awaited(asked, shown):
            # Nothing to tell before the next record comes.
            if arrived == len(begins):
                break
            while execution < len(at) and at[execution] < begins[arrived]:
                execution += 1
            continue
        told = _execute(shape, asked, f, i, count, due, execution, meta, shown, told)
        execution += 1
    meta[COUNT] = count
    return f, i, told


@kernel
def _awaited(asked: Asked, shown: Ints) -> bool:
    """Whether an ask is still to hear that its window became empty."""
    found = False
    for a in range(len(shown)):
        found |= asked[4][a] > 0 and shown[a] > 0
    return found


@kernel
def _execute(
    shape: Shape, asked: Asked, f: Floats, i: Ints, count: int, due: Due, execution: int,
    meta: Ints, shown: Ints, told: Told,
) -> Told:  # fmt: skip
    """Answer the asks of one execution: those that see the same records, by one walk."""
    at, offset, ask = due
    start, stop = offset[execution], offset[execution + 1]
    answered = np.zeros(stop - start, np.bool_)
    together = np.empty(stop - start, np.int64)
    for e in range(start, stop):
        if answered[e - start]:
            continue
        limit = _limit(shape, asked, at[execution], ask[e])
        ranked = asked[0][ask[e]] == EXPECTED_RANK
        members = 0
        for other in range(e, stop):
            if ranked == (asked[0][ask[other]] == EXPECTED_RANK) and limit == _limit(
                shape, asked, at[execution], ask[other]
            ):
                together[members] = other
                members += 1
                answered[other - start] = True
        told = _answer(
            shape, asked, f, i, count, limit, ranked, ask, together[:members], meta, shown, told
        )
    return told


@kernel
def _limit(shape: Shape, asked: Asked, moment: int, ask: int) -> int:
    """An ask sees what leaves after this."""
    return int(max(moment, asked[3][ask] + shape[0] - 1))


@kernel
def _answer(
    shape: Shape, asked: Asked, f: Floats, i: Ints, count: int, limit: int, everything: bool,
    ask: Ints, together: Ints, meta: Ints, shown: Ints, told: Told,
) -> Told:  # fmt: skip
    """Answer asks that see the records that leave after ``limit``, from as many as it takes."""
    members = len(together)
    kind, k = np.empty(members, np.int64), np.empty(members, np.int64)
    threshold = np.empty(members)
    for m in range(members):
        slot = ask[together[m]]
        kind[m], k[m], threshold[m] = asked[0][slot], asked[1][slot], asked[2][slot]
    most = largest(k)
    overfull, number = np.zeros(members, np.int64), np.zeros(members, np.int64)
    some = count if everything else max(_AT_ONCE, 4 * most)
    while True:
        places = np.empty(min(some, count), np.int64)
        seen = at = 0
        while at < count and seen < len(places):
            if i[LEAVES, at] > limit:
                places[seen] = at
                seen += 1
            at += 1
        chance = np.empty(seen)
        rule, group = np.empty(seen, np.int64), np.empty(seen, np.int64)
        for j in range(seen):
            chance[j] = f[CHANCE, places[j]]
            rule[j], group[j] = i[RULE, places[j]], i[GROUP, places[j]]
        chosen, weight = np.empty(members * seen, np.int64), np.empty(members * seen)
        found = -1
        if seen > 0:
            found = answer_asks(
                shape[4], shape[5], shape[6], kind, k, threshold, chance, rule, group, overfull,
                number, chosen, weight,
            )  # fmt: skip
        if found >= 0 or at == count:
            break
        some *= 4
    if seen > 0:
        meta[WALKS] += 1
        meta[WORK] += most * (seen if found < 0 else found)
    for m in range(members):
        slot = ask[together[m]]
        if seen == 0 and (asked[4][slot] == 0 or shown[slot] == 0):
            continue  # the window is empty, and nobody has to know
        meta[OVERFULL] += overfull[m]
        id, numbers = np.empty(number[m], np.int64), np.empty((2, number[m]))
        for j in range(number[m]):
            record = places[chosen[m * seen + j]]
            id[j] = i[ID, record]
            numbers[0, j], numbers[1, j] = f[SCORE, record], weight[m * seen + j]
        shown[slot] = number[m]
        told = tell(together[m], id, numbers, number[m], told)
    return told
