"""MinTopk's super-top-k lists, all partitions in one call. See ``crestline.certain.mintopk``.

Times are *steps*: step s is the window that ends at s slides. A record is in the windows of the
steps after its birth, up to and including its last one, its life.

New records are merged into their list once for a *stretch* of steps, which has up to twice as many
new records as the list has. If that is one step, its answer are the first k of the new list. If it
is more, ``kernels.certain.stretches`` walks through them. Then the records that have expired, or
that k better ones outlive or equal, are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NOWHERE
from crestline.kernels.certain.band_lists import push, sift
from crestline.kernels.certain.stretches import (
    CURSOR,
    FIRST,
    LAST,
    SIZE,
    STEP,
    STOP,
    Lived,
    Places,
    begin_stretch,
    places_for,
    walk,
    write_rows,
)
from crestline.kernels.common.output import Report, add_head, new_report, put, roomy
from crestline.kernels.common.sort import SortRoom, sort_records, sort_room
from crestline.kernels.common.windows import StepWindow
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Ints

#: A stretch has up to this many times as many new records as are listed, and at least ``_FEW``
#: if there are more of them.
_TIMES, _FEW = 2, 256
#: A report has room for no more rows than this before they are written.
_ROWS = 1 << 23


class Lists(NamedTuple):
    """The list of one partition, best first, and room to change it."""

    chain: Ints
    #: New records that are about to be merged.
    fresh: Ints
    #: How many records have each life, from the current step on.
    tally: Ints
    #: A heap of the k longest lives.
    longest: Ints


@borrowing_kernel
def _merge(lists: Lists, tail: int, count: int, records: Lived, first: int, new: Ints) -> int:
    """Merge ``fresh[:count]`` (best first) into the list ``chain[:tail]``, from behind; return the
    place of the best new record. The place of each goes to ``new``, less ``first``."""
    chain, fresh = lists.chain, lists.fresh
    scores, ties = records.score, records.tie
    old, place = tail - 1, NOWHERE
    for i in range(count - 1, -1, -1):
        record = fresh[i]
        score = scores[record]
        while old >= 0:
            other = chain[old]
            least = scores[other]
            if score < least or (score == least and ties[record] < ties[other]):
                break
            chain[old + i + 1] = other
            old -= 1
        place = old + i + 1
        chain[place] = record
        new[record - first] = place
    return place


@borrowing_kernel
def _drop(lists: Lists, tail: int, step: int, newest: int, k: int, lives: Ints) -> tuple[int, bool]:
    """Drop the records of ``chain[:tail]`` that do not live until ``step``, and those that k better
    ones outlive or equal. Return the new tail, and whether any had expired.

    ``newest`` is the longest life. Better records are counted by their lives. If lives lie too far
    apart for that, a heap holds the k longest so far.
    """
    chain, tally, longest = lists.chain, lists.tally, lists.longest
    left, expired = 0, False
    bar = step - 1  # no longer life stays; k better records live longer, once there are as many
    beyond = 0  # how many better records live beyond the bar
    if newest - step < len(tally):
        for i in range(newest - step + 1):
            tally[i] = 0
        for i in range(tail):
            life = lives[chain[i]]
            stays = life > bar
            chain[left] = chain[i]
            tally[max(life - step, 0)] += stays
            expired |= life < step
            left += stays
            beyond += stays
            while beyond >= k:
                bar += 1
                beyond -= tally[bar - step]
        return left, expired
    for i in range(tail):
        life = lives[chain[i]]
        if life > bar:
            chain[left] = chain[i]
            left += 1
            if beyond < k:
                push(longest, beyond, life)
                beyond += 1
            else:
                sift(longest, k, life)
            bar = longest[0] if beyond == k else bar
        else:
            expired |= life < step
    return left, expired


@borrowing_kernel
def _longest_life(chain: Ints, size: int, lives: Ints, first: int, far: int, last: int) -> int:
    """The longest life in the list and among the new records, which live longer than the list."""
    if first < far:
        return int(lives[far - 1])
    newest = last
    for i in range(size):
        newest = max(newest, lives[chain[i]])
    return newest


@borrowing_kernel
def _cut(window: StepWindow, births: Ints, stop: int, until: int, cursor: Ints) -> bool:
    """Find the end of the stretch from the new record ``cursor[FIRST]`` on. Return whether it
    answers at its last step only."""
    first, step = cursor[FIRST], cursor[STEP]
    far = min(first + max(_TIMES * cursor[SIZE], _FEW), stop)
    while first < far < stop and births[far] == births[far - 1]:
        far += 1
    last = until if far == stop and not window.on_arrival else births[far - 1] + 1
    cursor[STOP], cursor[LAST] = far, last
    return bool(births[first] + 1 == last if window.on_arrival else step + 1 >= last)


@borrowing_kernel
def _answer(
    p: int, window: StepWindow, records: Lived, chain: Ints, step: int, size: int, changed: bool,
    shown: Bools, report: Report,
) -> None:  # fmt: skip
    """Report the first records of the list, if they are due."""
    count = min(window.k, size)
    if changed and (count > 0 or shown[p]) if window.only_changes else count > 0:
        shown[p] = count > 0
        position = add_head(report, p, step * window.slide, 0, count)
        write_rows(report, position, chain, count, records)


@kernel
def _advance_list(
    p: int, window: StepWindow, records: Lived, lists: Lists, places: Places, room: SortRoom,
    stop: int, until: int, shown: Bools, cursor: Ints, report: Report,
) -> Report:  # fmt: skip
    """Advance partition p, whose list is ``chain[:cursor[SIZE]]``, to the step ``until``."""
    _, scores, ties, births, lives = records
    chain, fresh = lists.chain, lists.fresh
    while cursor[FIRST] < stop or (cursor[STEP] < until and not window.on_arrival):
        at_once = _cut(window, births, stop, until, cursor)
        first, far, last, size = cursor[FIRST], cursor[STOP], cursor[LAST], cursor[SIZE]
        newest = _longest_life(chain, size, lives, first, far, last)
        for i in range(first, far):
            fresh[i - first] = i
        sort_records(fresh, 0, far - first, room, scores, ties)
        best = _merge(lists, size, far - first, records, first, places.new)
        size += far - first
        cursor[SIZE] = size
        if not at_once:
            begin_stretch(window.k, chain, lives, places, lists.tally, room, cursor)
            while not walk(p, window, records, chain, places, shown, cursor, report):
                report = roomy(report, 1, window.k)
        size, expired = _drop(lists, size, last, newest, window.k, lives)
        if at_once:
            report = roomy(report, 1, window.k)
            changed = expired or NOWHERE < best < window.k
            _answer(p, window, records, chain, last, size, changed, shown, report)
        cursor[FIRST], cursor[STEP], cursor[SIZE] = far, last, size
    return report


@kernel
def _rows_due(
    window: StepWindow, births: Ints, listed: Ints, arrived: Ints, done: Ints, until: Ints
) -> int:
    """How many rows snapshots will have at most, as far as that can be told: for the first report
    to be large enough."""
    k, slide, rows = window.k, window.slide, 64 * min(window.k, 64)
    for p in range(len(done)):
        begin = until[p] // slide
        if listed[p] < listed[p + 1]:
            begin = done[p] // slide
        elif arrived[p] < arrived[p + 1]:
            begin = births[arrived[p]]
        if not (window.only_changes or window.on_arrival):
            rows += k * min(until[p] // slide - begin, _ROWS // k)
    return min(rows, _ROWS)


@kernel
def advance_mintopk(
    window: StepWindow, records: Lived, listed: Ints, arrived: Ints, done: Ints, shown: Bools,
    until: Ints, rows: int,
) -> tuple[Ints, Ints, Report]:  # fmt: skip
    """Report every window that ends by ``until[p]`` for each partition p, and slide the lists.

    The listed records come first (partition p has ``listed[p] .. listed[p + 1]``, best first), then
    the new ones (``arrived[p] .. arrived[p + 1]``, by birth). ``done`` (the last window end
    handled) and ``shown`` (whether the last snapshot held anything) are updated in place; ``done``
    and ``until`` are in panes. ``rows`` is how many rows of snapshots to make room for at first.
    Returns the kept records as offsets and indices, and the snapshots as ids and scores.
    """
    partitions, slide = len(listed) - 1, window.slide
    longest, most = 0, 0
    for p in range(partitions):
        count = arrived[p + 1] - arrived[p]
        longest, most = max(longest, listed[p + 1] - listed[p] + count), max(most, count)
    lists = Lists(
        np.empty(longest, np.int64), np.empty(most, np.int64),
        np.empty(4 * longest + 64, np.int64), np.empty(window.k, np.int64),
    )  # fmt: skip
    places, room = places_for(longest, most), sort_room(longest)
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    rows = max(rows, _rows_due(window, records.birth, listed, arrived, done, until))
    report = new_report(1, 64, rows)
    cursor = np.zeros(CURSOR, np.int64)
    for p in range(partitions):
        size = listed[p + 1] - listed[p]
        for i in range(size):
            lists.chain[i] = listed[p] + i
        cursor[FIRST], cursor[STEP], cursor[SIZE] = arrived[p], done[p] // slide, size
        report = _advance_list(
            p, window, records, lists, places, room, arrived[p + 1], until[p] // slide, shown,
            cursor, report,
        )  # fmt: skip
        done[p] = max(done[p], cursor[STEP] * slide if window.on_arrival else until[p])
        put(kept, filled, lists.chain, 0, cursor[SIZE])
        filled += cursor[SIZE]
        kept_from[p + 1] = filled
    return kept_from, kept[:filled].copy(), report
