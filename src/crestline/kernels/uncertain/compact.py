"""Lists of uncertain records in rank order, their compact sets and their answers.

A list is a pair of arrays, a column for each record: floats (`SCORE`, `CHANCE`) and integers
(`TIE`, `RULE`, `GROUP`, `LEAVES`, `ID`). ``LEAVES`` is the first step at which a record is gone;
records arrive in its order. The synopses of ``crestline.uncertain`` are made of such lists.

A synopsis goes from step to step (`next_step`): those at which records arrive, or every one.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.worlds import pick, weigh
from crestline.types import Floats, Ints

SCORE, CHANCE = 0, 1
TIE, RULE, GROUP, LEAVES, ID = range(5)
FLOATS, INTS = 2, 5
#: A step that never comes.
NEVER = 1 << 62
#: Entries of ``meta``, which every synopsis has: the last step handled, the step at which the
#: newest record leaves, how many records were shown last, results with a rule above 1, whether what
#: was shown was never told.
DONE, LAST, SHOWN, OVERFULL, STALE = range(5)
#: The first entry of ``meta`` that a synopsis may use as it likes.
OWN = 5

List = tuple[Floats, Ints]
#: Kind of answer, k, threshold, whether every step is due, whether only changes are told, where
#: ``weigh`` and ``pick`` are, and whether the records of a step leave together.
Setting = tuple[int, int, float, bool, bool, int, int, bool]
#: Steps and counts of snapshots, their ids, their scores and weights, how much of these is filled.
Told = tuple[Ints, Ints, Floats, Ints]


@kernel
def precedes(f: Floats, i: Ints, a: int, g: Floats, h: Ints, b: int) -> bool:
    """Whether record a of one list ranks before record b of another."""
    if f[SCORE, a] != g[SCORE, b]:
        return bool(f[SCORE, a] > g[SCORE, b])
    return bool(i[TIE, a] > h[TIE, b])


@kernel
def copy(f: Floats, i: Ints, a: int, g: Floats, h: Ints, b: int) -> None:
    """Put record b of the second list in the place of record a of the first."""
    f[SCORE, a] = g[SCORE, b]
    f[CHANCE, a] = g[CHANCE, b]
    for row in range(INTS):
        i[row, a] = h[row, b]


@kernel
def room(f: Floats, i: Ints, filled: int, wanted: int) -> List:
    """The list itself, or a larger copy of its ``filled`` records if ``wanted`` do not fit."""
    if wanted <= f.shape[1]:
        return f, i
    size = max(2 * f.shape[1], wanted, 8)
    g = np.empty((FLOATS, size))
    h = np.empty((INTS, size), np.int64)
    for a in range(filled):
        copy(g, h, a, f, i, a)
    return g, h


@kernel
def merge(
    f: Floats, i: Ints, start: int, count: int, g: Floats, h: Ints, first: int, more: int
) -> None:
    """Merge ``more`` records of another list into ``count`` records from ``start`` on, both in rank
    order; there must be room behind them."""
    a, b, at = start + count - 1, first + more - 1, start + count + more - 1
    while b >= first:
        if a >= start and precedes(g, h, b, f, i, a):
            copy(f, i, at, f, i, a)
            a -= 1
        else:
            copy(f, i, at, g, h, b)
            b -= 1
        at -= 1


@kernel
def merged(
    f: Floats, i: Ints, count: int, g: Floats, h: Ints, first: int, more: int
) -> tuple[Floats, Ints, int]:
    """A list and records of another one, together in rank order."""
    f, i = room(f, i, count, count + more)
    merge(f, i, 0, count, g, h, first, more)
    return f, i, count + more


@kernel
def leading(f: Floats, i: Ints, first: int, count: int, g: Floats, h: Ints, lowest: int) -> int:
    """How many of the records rank before record ``lowest`` of another list."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if precedes(f, i, first + middle, g, h, lowest):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def stay(f: Floats, i: Ints, start: int, count: int, step: int) -> int:
    """Move together the records that have not left by ``step``; how many they are."""
    kept = start
    for a in range(start, start + count):
        if i[LEAVES, a] > step:
            if kept < a:
                copy(f, i, kept, f, i, a)
            kept += 1
    return kept - start


@kernel
def oldest(i: Ints, start: int, count: int) -> int:
    """The step at which the first of the records leaves."""
    first = NEVER
    for a in range(start, start + count):
        first = min(first, i[LEAVES, a])
    return first


@kernel
def same_records(i: Ints, a: int, h: Ints, b: int, count: int) -> bool:
    same = True
    for j in range(count):
        same &= i[ID, a + j] == h[ID, b + j]
    return same


@kernel
def depth(setting: Setting, f: Floats, i: Ints, start: int, count: int) -> int:
    """How many of the records close; -1 if they do not."""
    end = start + count
    found, _ = weigh(
        setting[5], setting[0], setting[1], setting[2], f[CHANCE, start:end], i[RULE, start:end],
        i[GROUP, start:end], np.empty(count), np.empty(count), np.empty(count, np.int64),
    )  # fmt: skip
    return int(found)


@kernel
def rank_order(f: Floats, i: Ints, count: int) -> Ints:
    """Places in the order of rank."""
    key = np.empty(count)
    for j in range(count):
        key[j] = -f[SCORE, j]
    order = ascending(key)
    start = 0
    while start < count:
        stop = start + 1
        while stop < count and key[order[stop]] == key[order[start]]:
            stop += 1
        if stop - start > 1:
            tied, ties = order[start:stop].copy(), np.empty(stop - start, np.int64)
            for j in range(stop - start):
                ties[j] = -i[TIE, tied[j]]
            by_tie = ascending(ties)
            for j in range(stop - start):
                order[start + j] = tied[by_tie[j]]
        start = stop
    return order


# -- going from step to step, and telling ---------------------------------------------------------


@kernel
def next_step(setting: Setting, arriving: int, done: int, last: int, changing: int) -> int:
    """The next step with anything to tell: ``arriving`` has records, at ``changing`` something that
    matters leaves, from ``last`` on the window is empty."""
    every, only_changes = setting[3], setting[4]
    if not every or last <= done:
        return arriving
    if only_changes:
        return min(arriving, max(done + 1, changing))
    return done + 1


@kernel
def answer(
    setting: Setting, f: Floats, i: Ints, count: int, shown_id: Ints, shown: Floats, meta: Ints
) -> tuple[int, bool, Ints, Floats]:
    """How many of the records close; whether the answer is another than the one shown; the answer:
    its ids, and its scores and weights."""
    kind, k, threshold = setting[0], setting[1], setting[2]
    if count == 0:
        changed = meta[SHOWN] > 0
        meta[SHOWN] = 0
        return -1, changed, shown_id, shown
    value, best, weight = np.empty(count), np.empty(count), np.empty(count)
    place, chosen = np.empty(count, np.int64), np.empty(count, np.int64)
    group = i[GROUP, :count]
    found, overfull = weigh(
        setting[5], kind, k, threshold, f[CHANCE, :count], i[RULE, :count], group, value, best,
        place,
    )  # fmt: skip
    meta[OVERFULL] += overfull
    looked_at = count if found < 0 else found
    number = pick(
        setting[6], kind, k, threshold, looked_at, group, value, best, place, chosen, weight
    )
    changed = number != meta[SHOWN]
    if len(shown_id) < number:
        shown_id = np.empty(2 * number, np.int64)
        shown = np.empty((2, 2 * number))
        changed = True
    for j in range(number):
        id = i[ID, chosen[j]]
        if changed or id != shown_id[j] or weight[j] != shown[1, j]:
            changed = True
            shown_id[j] = id
            shown[0, j] = f[SCORE, chosen[j]]
            shown[1, j] = weight[j]
    meta[SHOWN] = number
    return found, changed, shown_id, shown


@kernel
def told_at(
    setting: Setting,
    step: int,
    changed: bool,
    shown_id: Ints,
    shown: Floats,
    meta: Ints,
    told: Told,
) -> Told:
    """Tell the snapshot of a step, if it is due: where only changes are told, one that changed;
    else that of a window which is not empty."""
    due = changed or meta[STALE] > 0 if setting[4] else meta[LAST] > step
    meta[STALE] = 0
    return tell(step, shown_id, shown, meta[SHOWN], told) if due else told


@kernel
def tell(step: int, shown_id: Ints, shown: Floats, count: int, told: Told) -> Told:
    """Append the snapshot of a step."""
    steps, ids, numbers, filled = told
    if filled[0] == steps.shape[1]:
        more_steps = np.empty((2, 2 * filled[0] + 64), np.int64)
        for j in range(filled[0]):
            more_steps[0, j], more_steps[1, j] = steps[0, j], steps[1, j]
        steps = more_steps
    rows = len(numbers)
    if filled[1] + count > len(ids):
        more_ids = np.empty(2 * (filled[1] + count) + 64, np.int64)
        more_numbers = np.empty((rows, len(more_ids)))
        for j in range(filled[1]):
            more_ids[j] = ids[j]
        for row in range(rows):
            for j in range(filled[1]):
                more_numbers[row, j] = numbers[row, j]
        ids, numbers = more_ids, more_numbers
    steps[0, filled[0]] = step
    steps[1, filled[0]] = count
    filled[0] += 1
    start = filled[1]
    for j in range(count):
        ids[start + j] = shown_id[j]
    for row in range(rows):
        for j in range(count):
            numbers[row, start + j] = shown[row, j]
    filled[1] += count
    return steps, ids, numbers, filled
