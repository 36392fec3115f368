"""Objects whose values arrive piecemeal: what is stored of them, step by step.

Observations stand in a list, oldest first, in which each knows the one before it of the same object
(``older``). Objects (``kernels.incomplete.objects``) know their newest observation, their score,
and the upper bound of what the score can still become, and stand in heaps by both. A window goes
from step to step: first the observations of the step come in, then those leave whose time is over,
then the answer is told, if it is due.

**The answer** are the k objects of largest score; of equal scores the one whose newest value is
later comes first, then the one with the smaller ``code``. Codes may be equal although objects
differ (a code is the beginning of a long name): then all of those that might be the k-th are told,
and whoever knows the names decides.

**Certain** is an object whose score is above the (k + 1)-th largest bound: k others cannot overtake
it any more.

**Hidden** is an object of which older values were forgotten: that was done because it cannot reach
the k best before they leave, nor can it overtake one of them. Until then its score is not known,
and it takes part in nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.incomplete.combine import Rule, Terms, add_value, outlook
from crestline.kernels.incomplete.guard import admits, seen_until
from crestline.kernels.incomplete.objects import (
    BOUND,
    OTHERS,
    SCORE,
    SIZES,
    STREAM,
    USED,
    WAKE,
    clear,
    enter,
    find,
    give_back,
    hold,
    leading,
    new_object,
    release,
)
from crestline.kernels.incomplete.sketches import stamp
from crestline.kernels.incomplete.sorted_lists import enlist, ranked_by_lists, strike
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints, Places, Records

#: Further entries of ``meta``: the last step handled; the last step at which anything came in; the
#: step from which on the window is empty; how many objects were shown; observations stand from HEAD
#: to TAIL; entries of the guard; how many observations were counted; whether the answer may have
#: changed; how many instances were kept when values were last forgotten; the streams heard of, as
#: bits.
(
    DONE, ARRIVING, LAST, SHOWN, HEAD, TAIL, GUARDED, COUNTED, CHANGED, INSTANCES, ACTIVE,
) = range(OTHERS, OTHERS + 11)  # fmt: skip
#: How many entries there are, before those for the sizes of the streams' heaps.
META = SIZES + STREAM
OBSERVATION = np.dtype(
    [
        ("value", "f8"), ("leaves", "i8"), ("at", "i8"), ("slot", "i4"), ("older", "i4"),
        ("stream", "i8"),
    ]
)  # fmt: skip
#: Rows of the numbers that are told: score, upper bound, certain or not, time of the newest value,
#: and beside the j-th object the j-th largest bound of any.
NUMBERS = 5
#: Entries of ``edge``: score and time of the k-th object shown, and the (k + 1)-th largest bound.
KTH, KTH_TIME, RIVAL = range(3)

#: Steps and counts of snapshots, ids, numbers, how much of these is filled.
Told = tuple[Ints, Ints, Floats, Ints]


class Setting(NamedTuple):
    """What is asked, and how the window moves: in panes, or at every arrival."""

    k: int
    only_changes: bool
    on_arrival: bool
    #: Whether positions rather than times delimit the window; and whether there are times all the
    #: same, which break ties.
    counted: bool
    dated: bool
    length: int
    width: int
    slide: int
    unbounded: bool
    #: Whether objects are found in lists of streams, instead of a heap by score.
    listed: bool
    #: Whether what is forgotten is certain not to matter: then objects are hidden.
    hides: bool


class Arrivals(NamedTuple):
    """Observations in the order in which they count."""

    high: Ints
    low: Ints
    code: Ints
    stream: Ints
    value: Floats
    #: Times, if there are any.
    at: Ints
    id: Ints


def chosen(arrivals: Arrivals, places: Ints | slice) -> Arrivals:
    """Some of the observations, contiguous in memory."""
    return Arrivals._make(np.ascontiguousarray(field[places]) for field in arrivals)


class Shown(NamedTuple):
    """The latest answer: slots, ids and numbers."""

    slot: Ints
    id: Ints
    numbers: Floats


# -- what an object is worth ------------------------------------------------------------------


@kernel
def gather(
    rule: Rule, meta: Ints, stored: Records, newest: int, step: int, count: Ints, total: Floats
) -> int:
    """The values, from the newest back, that are still in the window at a step, stream by stream;
    how many they are."""
    for x in range(len(count)):
        count[x] = 0
    found, i = 0, newest
    while i >= meta[HEAD] and stored[i].leaves > step:
        add_value(rule, count, total, stored[i].stream, stored[i].value)
        found += 1
        i = stored[i].older
    return found


@kernel
def _note(meta: Ints, edge: Floats, score: float, latest: int, bound: float, other: float) -> None:
    """An object has, or had, this score; its bound was the other one before: may that matter?"""
    if score > edge[KTH] or (score == edge[KTH] and latest >= edge[KTH_TIME]):
        meta[CHANGED] = 1
    rival = edge[RIVAL]
    if not ((bound < rival and other < rival) or (bound > rival and other > rival)):
        meta[CHANGED] = 1


@kernel
def refresh(
    setting: Setting, rule: Rule, order: Ints, weights: Floats, meta: Ints, edge: Floats,
    stored: Records, objects: Records, lists: Records, heaps: Ints, table: Places, slot: int,
    step: int, count: Ints, total: Floats,
) -> None:  # fmt: skip
    """Bring an object up to date after its values have changed; forget it if none is left, unless
    it is shown: whoever compares answers must know it again."""
    known = objects[slot].in_bounds >= 0
    before = -np.inf
    if known:
        before = objects[slot].bound
        _note(meta, edge, objects[slot].score, objects[slot].latest, before, before)
    newest = objects[slot].newest
    if gather(rule, meta, stored, newest, step, count, total) == 0:
        objects[slot].newest = -1
        if known:
            _note(meta, edge, -np.inf, LONG_AGO, -np.inf, before)
        take_out(setting, meta, edge, objects, lists, heaps, table, slot)
        return
    score, _, bound = outlook(rule, order, weights, count, total, meta[ACTIVE], objects[slot].seen)
    latest = stored[newest].at
    if objects[slot].hidden > step:
        if known:
            _note(meta, edge, -np.inf, LONG_AGO, -np.inf, before)
            release(meta, heaps, objects, lists, SCORE, slot)
            release(meta, heaps, objects, lists, BOUND, slot)
        return
    _note(meta, edge, score, latest, bound, before)
    objects[slot].score = score
    objects[slot].bound = bound
    objects[slot].latest = latest
    if setting.listed:
        enlist(rule, meta, edge, heaps, objects, lists, slot, count, total)
    else:
        hold(meta, heaps, objects, lists, SCORE, slot)
    hold(meta, heaps, objects, lists, BOUND, slot)


@kernel
def take_out(
    setting: Setting, meta: Ints, edge: Floats, objects: Records, lists: Records, heaps: Ints,
    table: Places, slot: int,
) -> None:  # fmt: skip
    """An object without values takes part in nothing any more."""
    if setting.listed:
        strike(meta, edge, heaps, objects, lists, slot)
    release(meta, heaps, objects, lists, SCORE, slot)
    release(meta, heaps, objects, lists, BOUND, slot)
    if objects[slot].shown == 0:
        release(meta, heaps, objects, lists, WAKE, slot)
        give_back(meta, heaps, objects, table, slot)


@kernel
def hide(meta: Ints, heaps: Ints, objects: Records, lists: Records, slot: int, until: int) -> None:
    """Values of the object were forgotten that are in the window until then."""
    objects[slot].hidden = max(objects[slot].hidden, until)
    hold(meta, heaps, objects, lists, WAKE, slot)


# -- observations come and go -----------------------------------------------------------------


@kernel
def _is_repeat(
    rule: Rule, meta: Ints, stored: Records, newest: int, seen: int, stream: int, step: int
) -> bool:
    """Whether the object has as many values on the stream as it can, of those that are stored."""
    i = newest
    if rule.once:
        alive = i >= meta[HEAD] and stored[i].leaves > step
        return bool(alive and (seen >> stream) & 1 == 1)
    found = 0
    while i >= meta[HEAD] and stored[i].leaves > step:
        if stored[i].stream == stream:
            found += 1
        i = stored[i].older
    return found >= rule.at_most


@kernel
def _step_of(setting: Setting, at: int) -> tuple[int, int]:
    """The step at which an observation comes in, and the one at which it leaves."""
    if setting.on_arrival:
        step = at + 1 if setting.counted else at
        return step, NEVER if setting.unbounded else step + setting.width
    pane = at // setting.length
    step = pane // setting.slide + 1
    if setting.unbounded:
        return step, NEVER
    return step, (pane + setting.width) // setting.slide + 1


@kernel
def _let_go(
    setting: Setting, rule: Rule, order: Ints, weights: Floats, meta: Ints, edge: Floats,
    stored: Records, objects: Records, lists: Records, heaps: Ints, table: Places, step: int,
    count: Ints, total: Floats,
) -> None:  # fmt: skip
    """Observations leave; objects that were hidden count again."""
    while True:
        if meta[HEAD] < meta[TAIL] and stored[meta[HEAD]].leaves <= step:
            slot = stored[meta[HEAD]].slot
            meta[HEAD] += 1
        elif meta[SIZES + WAKE] > 0 and objects[heaps[WAKE, 0]].hidden <= step:
            slot = heaps[WAKE, 0]
            release(meta, heaps, objects, lists, WAKE, slot)
        else:
            break
        if objects[slot].newest >= 0:
            refresh(
                setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table,
                slot, step, count, total,
            )  # fmt: skip


# -- answers ----------------------------------------------------------------------------------


@kernel
def _tie(objects: Records, a: int, b: int) -> bool:
    return bool(objects[a].score == objects[b].score and objects[a].latest == objects[b].latest)


@kernel
def _in_order(objects: Records, found: Ints, k: int) -> int:
    """Put objects of equal score and time in the order of their codes; how many have to be told."""
    start = 0
    while start < len(found):
        stop = start + 1
        while stop < len(found) and _tie(objects, found[stop], found[start]):
            stop += 1
        if stop - start > 1:
            _sort_codes(objects, found, start, stop - start)
        start = stop
    told = min(k, len(found))
    while 0 < told < len(found) and _tie(objects, found[told], found[told - 1]):
        if objects[found[told]].code != objects[found[told - 1]].code:
            break
        told += 1
    return told


@kernel
def _sort_codes(objects: Records, found: Ints, start: int, size: int) -> None:
    """Heap sort: there may be many."""
    for turn in range(size // 2 + size - 1):
        limit, at = size, size // 2 - 1 - turn
        if at < 0:  # the heap stands: its largest goes to the end, again and again
            limit, at = size // 2 + size - 1 - turn, 0
            found[start], found[start + limit] = found[start + limit], found[start]
        while True:
            child = 2 * at + 1
            if child >= limit:
                break
            code = objects[found[start + child]].code
            if child + 1 < limit and objects[found[start + child + 1]].code > code:
                child += 1
                code = objects[found[start + child]].code
            if code <= objects[found[start + at]].code:
                break
            found[start + at], found[start + child] = found[start + child], found[start + at]
            at = child


@kernel
def look(
    setting: Setting, rule: Rule, order: Ints, weights: Floats, meta: Ints, edge: Floats,
    objects: Records, lists: Records, heaps: Ints, table: Places, shown: Shown,
) -> tuple[bool, Shown]:  # fmt: skip
    """Work out the answer; whether it is another than the one shown."""
    k = setting.k
    meta[CHANGED] = 0
    if setting.listed:
        found = ranked_by_lists(rule, order, weights, meta, edge, heaps, objects, lists, k,
                                meta[ACTIVE])  # fmt: skip
    else:
        found = leading(meta, heaps, objects, lists, SCORE, k)
    bounds = leading(meta, heaps, objects, lists, BOUND, k + 1)
    rival = objects[bounds[k]].bound if len(bounds) > k else -np.inf
    number = _in_order(objects, found, k)
    changed = number != meta[SHOWN]
    slots, ids, numbers = shown.slot, shown.id, shown.numbers
    for j in range(number):
        objects[found[j]].shown |= 2
    for j in range(meta[SHOWN]):
        slot = slots[j]
        if objects[slot].shown == 1:
            objects[slot].shown = 0
            if objects[slot].newest < 0:
                release(meta, heaps, objects, lists, WAKE, slot)
                give_back(meta, heaps, objects, table, slot)
    if len(ids) < number:
        slots, ids = np.empty(2 * number, np.int64), np.empty(2 * number, np.int64)
        numbers = np.empty((NUMBERS, 2 * number))
        changed = True
    for j in range(number):
        slot = found[j]
        objects[slot].shown = 1
        score, bound = objects[slot].score, objects[slot].bound
        sure = 1.0 if score > rival else 0.0
        changed = (
            changed
            or slots[j] != slot
            or numbers[0, j] != score
            or numbers[1, j] != bound
            or numbers[2, j] != sure
        )
        slots[j], ids[j] = slot, objects[slot].id
        numbers[0, j], numbers[1, j], numbers[2, j] = score, bound, sure
        numbers[3, j] = objects[slot].latest
        numbers[4, j] = objects[bounds[j]].bound if j < len(bounds) else -np.inf
    meta[SHOWN] = number
    edge[RIVAL] = rival
    edge[KTH] = edge[KTH_TIME] = -np.inf
    if number >= k:
        edge[KTH], edge[KTH_TIME] = numbers[0, number - 1], numbers[3, number - 1]
    return changed, Shown(slots, ids, numbers)


@kernel
def pass_steps(
    setting: Setting, rule: Rule, order: Ints, weights: Floats, meta: Ints, edge: Floats,
    stored: Records, objects: Records, lists: Records, heaps: Ints, table: Places, until: int,
    shown: Shown, told: Told, count: Ints, total: Floats,
) -> tuple[Shown, Told]:  # fmt: skip
    """Handle all steps up to ``until``."""
    while True:
        step = meta[ARRIVING] if meta[ARRIVING] > meta[DONE] else NEVER
        if not setting.on_arrival and meta[LAST] > meta[DONE]:
            due = meta[DONE] + 1
            if setting.only_changes:
                leaving = stored[meta[HEAD]].leaves if meta[HEAD] < meta[TAIL] else NEVER
                if meta[SIZES + WAKE] > 0:
                    leaving = min(leaving, objects[heaps[WAKE, 0]].hidden)
                due = max(due, leaving)
            step = min(step, due)
        if step > until:
            break
        meta[DONE] = step
        _let_go(
            setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table, step,
            count, total,
        )  # fmt: skip
        changed = False
        if meta[CHANGED] > 0:
            changed, shown = look(
                setting, rule, order, weights, meta, edge, objects, lists, heaps, table, shown
            )
        if changed if setting.only_changes else meta[LAST] > step:
            told = tell(step, shown.id, shown.numbers, meta[SHOWN], told)
    meta[DONE] = max(meta[DONE], until)
    _let_go(
        setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table,
        meta[DONE], count, total,
    )  # fmt: skip
    return shown, told


@kernel
def run(
    setting: Setting, rule: Rule, terms: Terms, meta: Ints, edge: Floats, stored: Records,
    objects: Records, lists: Records, heaps: Ints, table: Places, guard: Records, stamps: Ints,
    arrivals: Arrivals, first: int, stop: int, until: int, shown: Shown, told: Told, refused: Ints,
) -> tuple[Shown, Told, int]:  # fmt: skip
    """Take in observations ``first`` to ``stop``, then handle all steps up to ``until``, or as many
    as have been counted. Repeats are ``refused``: how many they are."""
    order, weights = terms
    highs, lows, codes, streams, values, times, ids = arrivals
    count = np.zeros(lists.shape[1], np.int64)
    total = np.zeros(len(count))
    repeats = 0
    for a in range(first, stop):
        at = meta[COUNTED] if setting.counted else times[a]
        step, leaves = _step_of(setting, at)
        if step - 1 > meta[DONE]:
            shown, told = pass_steps(
                setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table,
                step - 1, shown, told, count, total,
            )  # fmt: skip
        if leaves <= step:  # between two windows
            meta[COUNTED] += 1
            continue
        high, low, stream = highs[a], lows[a], streams[a]
        if (meta[ACTIVE] >> stream) & 1 == 0:
            meta[ACTIVE] |= 1 << stream
            for slot in range(meta[USED]):  # what is missing on it may count
                if objects[slot].id >= 0 and objects[slot].newest >= 0:
                    refresh(
                        setting, rule, order, weights, meta, edge, stored, objects, lists, heaps,
                        table, slot, step - 1, count, total,
                    )  # fmt: skip
        slot = find(objects, table, high, low)
        hidden, seen = LONG_AGO, 0
        if slot < 0:
            hidden, seen = seen_until(guard, rule.once, high, low, len(count), step)
        if len(guard) > 0:
            admitted, more = admits(guard, rule.once, rule.at_most, high, low, stream, step, leaves)
            meta[GUARDED] += more
        else:
            admitted = slot < 0 or not _is_repeat(
                rule, meta, stored, objects[slot].newest, objects[slot].seen, stream, step
            )
        if not admitted:
            refused[repeats] = a
            repeats += 1
            continue
        if slot < 0:
            slot = new_object(meta, heaps, objects, table, high, low, codes[a], ids[a])
            objects[slot].seen = seen
            if hidden > step and setting.hides:
                hide(meta, heaps, objects, lists, slot, hidden)
        newest = objects[slot].newest
        if newest < meta[HEAD] or stored[newest].leaves <= step:
            newest = -1
            if seen == 0 and objects[slot].hidden <= step:
                objects[slot].seen = 0  # it was gone, and is only here because it is shown
        i = meta[TAIL]
        meta[TAIL] += 1
        stored[i].value = values[a]
        stored[i].leaves = leaves
        stored[i].at = times[a] if setting.dated else at
        stored[i].slot = slot
        stored[i].older = newest
        stored[i].stream = stream
        objects[slot].newest = i
        objects[slot].seen |= 1 << stream
        meta[LAST] = max(meta[LAST], leaves)
        refresh(
            setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table, slot,
            step, count, total,
        )  # fmt: skip
        meta[COUNTED] += 1
        meta[ARRIVING] = step
        if len(stamps) > 0:
            stamp(stamps, stream, high, low, leaves)
    if setting.counted:
        until = meta[COUNTED]
        if not setting.on_arrival:
            until //= setting.length * setting.slide
    if until > meta[DONE]:
        shown, told = pass_steps(
            setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table, until,
            shown, told, count, total,
        )  # fmt: skip
    return shown, told, repeats


@kernel
def rebuild(
    setting: Setting, rule: Rule, terms: Terms, meta: Ints, edge: Floats, stored: Records,
    objects: Records, lists: Records, heaps: Ints, table: Places,
) -> None:  # fmt: skip
    """Find everything again from the observations, and from the keys, ids and marks of objects."""
    order, weights = terms
    changed = meta[CHANGED]
    count = np.zeros(lists.shape[1], np.int64)
    total = np.zeros(len(count))
    for slot in range(meta[USED]):
        clear(objects, slot)
        enter(objects, table, slot)
    for i in range(meta[TAIL]):
        slot = stored[i].slot
        stored[i].older = objects[slot].newest
        objects[slot].newest = i
    for slot in range(meta[USED]):
        if objects[slot].newest >= 0:
            refresh(
                setting, rule, order, weights, meta, edge, stored, objects, lists, heaps, table,
                slot, meta[DONE], count, total,
            )  # fmt: skip
        if objects[slot].hidden > meta[DONE]:
            hide(meta, heaps, objects, lists, slot, objects[slot].hidden)
    meta[CHANGED] = changed


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
