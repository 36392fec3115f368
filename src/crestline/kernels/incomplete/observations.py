"""Observations that enter and leave the window of one partition, step by step.

At each step the observations of the step come in, then those leave whose time is over, then the
answer is written, if it is due (``answers``).
"""

from __future__ import annotations

from typing import NamedTuple

from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.common.output import Report
from crestline.kernels.incomplete.answers import Answer, add_answer, find_answer
from crestline.kernels.incomplete.combine import ScoreRule, StreamSums
from crestline.kernels.incomplete.guard import admits, seen_until
from crestline.kernels.incomplete.heaps import FREE_SLOTS, WAKE, release
from crestline.kernels.incomplete.objects import find, new_object
from crestline.kernels.incomplete.refresh import hide, new_sums, refresh
from crestline.kernels.incomplete.store import (
    ACTIVE,
    ARRIVING,
    CHANGED,
    COUNTED,
    EMPTY_FROM,
    GUARDED,
    HEAD,
    PASSED,
    SHOWN,
    TAIL,
    USED,
    Arrivals,
    ObjectQuery,
    StoreArrays,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Ints, Records


class _Arrival(NamedTuple):
    """One observation that comes in."""

    high: int
    low: int
    code: int
    stream: int
    value: float
    #: The time that breaks ties, or the position.
    time: int
    id: int
    #: The steps at which it comes in and leaves.
    step: int
    leaves: int


@kernel
def run(
    query: ObjectQuery, store: StoreArrays, arrivals: Arrivals, first: int, stop: int, until: int,
    answer: Answer, partition: int, report: Report, refused: Ints,
) -> tuple[Answer, Report, int, int]:  # fmt: skip
    """Take in observations ``first`` to ``stop``, then pass all steps up to ``until``.

    Where observations are counted, all counted steps pass. The indices of repeats are written to
    ``refused``. Returns the latest answer, the report, how many repeats there are, and the first
    observation that was not taken in because the arrays are full: ``stop`` if there was room.
    """
    meta = store.meta
    highs, lows, codes, streams, values, times, ids = arrivals
    sums = new_sums(len(query.rule.order))
    repeats = 0
    while first < stop:
        full = min(stop, first + _room(store))
        if full == first:
            break
        for a in range(first, full):
            position = meta[COUNTED] if query.counted else times[a]
            step, leaves = _steps_of(query, position)
            if step - 1 > meta[PASSED]:
                answer, report = _pass_steps(
                    query, store, step - 1, answer, partition, report, sums
                )
            if leaves <= step:  # between two windows
                meta[COUNTED] += 1
                continue
            if (meta[ACTIVE] >> streams[a]) & 1 == 0:
                _activate(query, store, streams[a], step, sums)
            time = times[a] if query.dated else position
            arrival = _Arrival(
                highs[a], lows[a], codes[a], streams[a], values[a], time, ids[a], step, leaves
            )
            slot, seen = _admit(query, store, arrival)
            if slot < 0:
                refused[repeats] = a
                repeats += 1
                continue
            _append(store, arrival, slot, seen)
            refresh(query, store, slot, step, sums)
        first = full
    if first < stop:
        return answer, report, repeats, first
    if query.counted:
        until = meta[COUNTED]
        if not query.on_arrival:
            until //= query.length * query.slide
    if until > meta[PASSED]:
        answer, report = _pass_steps(query, store, until, answer, partition, report, sums)
    return answer, report, repeats, first


@borrowing_kernel
def _room(store: StoreArrays) -> int:
    """Return for how many observations there is room, should each be of a new object."""
    meta, heaps = store.meta, store.heaps
    slots = len(heaps.objects) - meta[USED] + heaps.size[FREE_SLOTS]
    return int(min(slots, len(store.observations) - meta[TAIL]))


# -- observations come in ---------------------------------------------------------------------


@borrowing_kernel
def _steps_of(query: ObjectQuery, position: int) -> tuple[int, int]:
    """Return the step at which an observation comes in, and the one at which it leaves."""
    if query.on_arrival:
        step = position + 1 if query.counted else position
        return step, NEVER if query.unbounded else step + query.width
    pane = position // query.length
    step = pane // query.slide + 1
    if query.unbounded:
        return step, NEVER
    return step, (pane + query.width) // query.slide + 1


@borrowing_kernel
def _activate(
    query: ObjectQuery, store: StoreArrays, stream: int, step: int, sums: StreamSums
) -> None:
    """Add a stream. Every object is refreshed: its missing value there may count."""
    meta, objects = store.meta, store.heaps.objects
    meta[ACTIVE] |= 1 << stream
    for slot in range(meta[USED]):
        if objects[slot].id >= 0 and objects[slot].newest >= 0:
            refresh(query, store, slot, step - 1, sums)


@borrowing_kernel
def _admit(query: ObjectQuery, store: StoreArrays, arrival: _Arrival) -> tuple[int, int]:
    """Return the slot of the observed object, -1 for a repeat; and the streams on which the guard
    saw an object that is not stored."""
    meta, heaps, guard, rule = store.meta, store.heaps, store.guard, query.rule
    objects = heaps.objects
    high, low, stream, step = arrival.high, arrival.low, arrival.stream, arrival.step
    slot = find(objects, store.table, high, low)
    hidden, seen = LONG_AGO, 0
    if slot < 0:
        hidden, seen = seen_until(guard, rule.once, high, low, len(rule.order), step)
    if len(guard) > 0:
        admitted, entries = admits(
            guard, rule.once, rule.at_most, high, low, stream, step, arrival.leaves
        )
        meta[GUARDED] += entries
    else:
        admitted = slot < 0 or not _is_repeat(
            rule, meta, store.observations, objects[slot].newest, objects[slot].seen, stream, step
        )
    if not admitted:
        return -1, seen
    if slot < 0:
        slot = new_object(meta, heaps, store.table, high, low, arrival.code, arrival.id)
        objects[slot].seen = seen
        if hidden > step and query.hides:
            hide(heaps, slot, hidden)
    return slot, seen


@borrowing_kernel
def _is_repeat(
    rule: ScoreRule, meta: Ints, observations: Records, newest: int, seen: int, stream: int,
    step: int,
) -> bool:  # fmt: skip
    """Return whether the stored values of an object on a stream are as many as allowed."""
    i = newest
    if rule.once:
        alive = i >= meta[HEAD] and observations[i].leaves > step
        return bool(alive and (seen >> stream) & 1 == 1)
    values = 0
    while i >= meta[HEAD] and observations[i].leaves > step:
        if observations[i].stream == stream:
            values += 1
        i = observations[i].older
    return values >= rule.at_most


@borrowing_kernel
def _append(store: StoreArrays, arrival: _Arrival, slot: int, seen: int) -> None:
    """Store an observation as the newest of its object."""
    meta, observations, objects = store.meta, store.observations, store.heaps.objects
    newest = objects[slot].newest
    if newest < meta[HEAD] or observations[newest].leaves <= arrival.step:
        newest = -1
        if seen == 0 and objects[slot].hidden <= arrival.step:
            objects[slot].seen = 0  # it had left, and was stored only because it is shown
    i = meta[TAIL]
    meta[TAIL] += 1
    observations[i].value = arrival.value
    observations[i].leaves = arrival.leaves
    observations[i].time = arrival.time
    observations[i].slot = slot
    observations[i].older = newest
    observations[i].stream = arrival.stream
    objects[slot].newest = i
    objects[slot].seen |= 1 << arrival.stream
    meta[EMPTY_FROM] = max(meta[EMPTY_FROM], arrival.leaves)
    meta[COUNTED] += 1
    meta[ARRIVING] = arrival.step


# -- steps pass -------------------------------------------------------------------------------


@kernel
def _pass_steps(
    query: ObjectQuery, store: StoreArrays, until: int, answer: Answer, partition: int,
    report: Report, sums: StreamSums,
) -> tuple[Answer, Report]:  # fmt: skip
    """Pass all steps up to ``until`` and report the snapshots that are due."""
    meta = store.meta
    while True:
        step = _next_step(query, store)
        if step > until:
            break
        meta[PASSED] = step
        _let_go(query, store, step, sums)
        differs = False
        if meta[CHANGED] > 0:
            differs, answer = find_answer(query, store, answer)
        if differs if query.only_changes else meta[EMPTY_FROM] > step:
            report = add_answer(report, partition, step, answer, meta[SHOWN])
    meta[PASSED] = max(meta[PASSED], until)
    _let_go(query, store, meta[PASSED], sums)
    return answer, report


@borrowing_kernel
def _next_step(query: ObjectQuery, store: StoreArrays) -> int:
    """Return the next step at which a result may be due."""
    meta, observations, heaps = store.meta, store.observations, store.heaps
    passed = meta[PASSED]
    step = meta[ARRIVING] if meta[ARRIVING] > passed else NEVER
    if query.on_arrival or meta[EMPTY_FROM] <= passed:
        return int(step)
    due = passed + 1
    if query.only_changes:  # nothing changes before an observation leaves or an object wakes
        leaving = observations[meta[HEAD]].leaves if meta[HEAD] < meta[TAIL] else NEVER
        if heaps.size[WAKE] > 0:
            leaving = min(leaving, heaps.objects[heaps.slot[WAKE, 0]].hidden)
        due = max(due, leaving)
    return int(min(step, due))


@borrowing_kernel
def _let_go(query: ObjectQuery, store: StoreArrays, step: int, sums: StreamSums) -> None:
    """Remove the observations that leave by a step; show objects that are hidden no longer."""
    meta, observations, heaps = store.meta, store.observations, store.heaps
    objects = heaps.objects
    while True:
        if meta[HEAD] < meta[TAIL] and observations[meta[HEAD]].leaves <= step:
            slot = observations[meta[HEAD]].slot
            meta[HEAD] += 1
        elif heaps.size[WAKE] > 0 and objects[heaps.slot[WAKE, 0]].hidden <= step:
            slot = heaps.slot[WAKE, 0]
            release(heaps, WAKE, slot)
        else:
            break
        if objects[slot].newest >= 0:
            refresh(query, store, slot, step, sums)
