"""MinTopk's super-top-k lists, all partitions in one call. See ``crestline.certain.mintopk``.

Times are *steps*: step s is the window that ends at s slides. A record is in the windows of the
steps after its birth, up to and including its last one, its life.

A pane is merged into its list when it is due. Where panes are much smaller than the list, merging
would cost far more than they hold. So the steps ahead are taken in *stretches*: as long as k listed
records outlast the stretch, no record that ranks behind all of them can be reported in it. Such
records are merged when the stretch is over. The few others go to the *front*, a copy of the first
records of the list, from which the stretch is reported.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER, NOWHERE
from crestline.kernels.certain.band_lists import push, sift
from crestline.kernels.common.output import (
    RECORDS,
    SNAPSHOTS,
    Report,
    add_head,
    new_report,
    put,
    roomy,
)
from crestline.kernels.common.sort import SortRoom, sort_records, sort_room
from crestline.kernels.common.windows import StepWindow, before
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints

#: Entries of the cursor of ``_advance_list``: the list's head and tail, the next new record and the
#: last step; then, of a stretch, the first new record, the new record behind its last one (NOWHERE:
#: no stretch), the size of the front and the earliest life in it.
_HEAD, _TAIL, _NEW, _STEP, _FIRST, _FAR, _FRONT, _EARLIEST = range(8)
#: A stretch has as many new records as this part of the list. If too few listed records outlast it,
#: a shorter one is tried.
_LONG, _SHORT = 2, 16


class Lived(NamedTuple):
    """Records by index: scores, what breaks ties (larger first), births and lives."""

    score: Floats
    tie: Ints
    birth: Ints
    life: Ints


class Lists(NamedTuple):
    """The list of one partition, best first, and room to change it."""

    chain: Ints
    front: Ints
    #: New records that are about to be merged.
    fresh: Ints
    merged: Ints
    #: How many records have each life, from the current step on.
    tally: Ints
    #: A heap of the k longest lives.
    longest: Ints


@borrowing_kernel
def _merge(lists: Lists, head: int, tail: int, count: int, records: Lived) -> int:
    """Merge ``fresh[:count]`` (best first) into the list ``chain[head:tail]``, which then begins at
    0; return the index of the best new record."""
    chain, _, fresh, merged, _, _ = lists
    scores, ties = records.score, records.tie
    position, best = 0, NOWHERE
    for new in range(count):
        record = fresh[new]
        low, step = head, 1  # gallop: there may be far more new records than listed ones, or fewer
        while low + step <= tail and not before(scores, ties, record, chain[low + step - 1]):
            low += step
            step *= 2
        high = min(low + step - 1, tail)
        while low < high:
            middle = (low + high) >> 1
            if before(scores, ties, record, chain[middle]):
                high = middle
            else:
                low = middle + 1
        put(merged, position, chain, head, low - head)
        position += low - head
        head = low
        merged[position] = record
        best = position if new == 0 else best
        position += 1
    put(merged, position, chain, head, tail - head)
    put(chain, 0, merged, 0, position + tail - head)
    return best


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
            if life > bar:
                chain[left] = chain[i]
                left += 1
                tally[life - step] += 1
                beyond += 1
                while beyond >= k:
                    bar += 1
                    beyond -= tally[bar - step]
            else:
                expired |= life < step
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


@kernel
def _purge(chain: Ints, head: int, tail: int, k: int, lives: Ints, step: int) -> int:
    """Drop the records that do not live until ``step``; return the new head.

    They are all among the first k survivors: a record that ranks before an expired one has expired
    itself or dominates it, and the expired one has fewer than k dominators (Lemma 4.4).
    """
    alive, stop = 0, head
    while stop < tail and alive < k:
        alive += lives[chain[stop]] >= step
        stop += 1
    if alive == stop - head:
        return head
    position = stop
    for i in range(stop - 1, head - 1, -1):
        if lives[chain[i]] >= step:
            position -= 1
            chain[position] = chain[i]
    return position


@kernel
def _next_step(
    window: StepWindow, chain: Ints, head: int, tail: int, lives: Ints, arriving: int, step: int
) -> int:
    """Return the next step after ``step`` with something to report; NEVER if there is none.

    ``arriving`` is the birth of the next new record, or NEVER.
    """
    if window.on_arrival:
        return arriving + 1 if arriving < NEVER else NEVER
    if head < tail and not window.only_changes:
        return step + 1
    due = arriving + 1 if arriving < NEVER else NEVER
    for i in range(head, min(head + window.k, tail)):
        due = min(due, max(lives[chain[i]], step) + 1)
    return due


@borrowing_kernel
def _begin_stretch(
    lists: Lists, head: int, tail: int, new: int, stop: int, k: int, records: Lived, cursor: Ints
) -> bool:
    """Copy to the front the best listed records down to the k-th that outlasts the stretch, which
    is as long as it can be; return False if there is none worth its while."""
    chain, front = lists.chain, lists.front
    births, lives = records.birth, records.life
    for part in (_LONG, _SHORT):
        far = min(new + (tail - head) // part, stop)
        if far <= new or births[far - 1] < births[new] + 2:
            return False
        last = births[far - 1] + 1
        while far < stop and births[far] < last:
            far += 1
        if lives[new] < last:
            continue
        outlast, earliest = 0, NEVER
        for i in range(head, tail):
            front[i - head] = chain[i]
            life = lives[chain[i]]
            outlast += life >= last
            earliest = min(earliest, life)
            if outlast + tail - i <= k and life < last:
                break
            if outlast == k:
                cursor[_FIRST], cursor[_FAR] = new, far
                cursor[_FRONT], cursor[_EARLIEST] = i + 1 - head, earliest
                return True
    return False


@borrowing_kernel
def _expire_front(front: Ints, size: int, lives: Ints, step: int) -> tuple[int, int]:
    """Drop records that do not live until ``step``; return the new size and the earliest life."""
    left, earliest = 0, NEVER
    for i in range(size):
        life = lives[front[i]]
        if life >= step:
            front[left] = front[i]
            left += 1
            earliest = min(earliest, life)
    return left, earliest


@borrowing_kernel
def _enter_front(lists: Lists, size: int, count: int, records: Lived) -> int:
    """Merge ``fresh[:count]`` into the front; return the index of the best of them."""
    front, fresh = lists.front, lists.fresh
    scores, ties = records.score, records.tie
    old, new, position = size - 1, count - 1, size + count
    while new >= 0:
        position -= 1
        if old >= 0 and before(scores, ties, fresh[new], front[old]):
            front[position] = front[old]
            old -= 1
        else:
            front[position] = fresh[new]
            new -= 1
    return position


@borrowing_kernel
def _advance_list(
    p: int, window: StepWindow, records: Lived, lists: Lists, room: SortRoom, shown: Bools,
    until: int, stop: int, cursor: Ints, report: Report,
) -> bool:  # fmt: skip
    """Advance partition p. Return True when all is done, False when the report is full: then call
    again.

    The caller enlarges the report: replacing its arrays within the loop would count references in
    every turn.
    """
    scores, ties, births, lives = records
    chain, front, fresh = lists.chain, lists.front, lists.fresh
    k, only_changes = window.k, window.only_changes
    filled, space, most = report.filled, len(report.records), report.heads.shape[1]
    head, tail, new, step = cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_STEP]
    finished = False
    while filled[SNAPSHOTS] < most and filled[RECORDS] + k <= space:
        far, size, earliest = cursor[_FAR], cursor[_FRONT], cursor[_EARLIEST]
        arriving = births[new] if new < stop else NEVER
        changed, within = False, False
        if far == NOWHERE:
            due = _next_step(window, chain, head, tail, lives, arriving, step)
            if due > until:
                finished = True
                break
            if (
                arriving < due
                and tail - head >= k
                and _begin_stretch(lists, head, tail, new, stop, k, records, cursor)
            ):
                continue
            step = due
            first = new
            while new < stop and births[new] < step:
                new += 1
        else:
            last = births[far - 1] + 1
            bar = scores[front[size - 1]]
            if only_changes and not window.on_arrival:
                while new < far and scores[new] < bar:
                    new += 1
                due = births[new] + 1 if new < far else NEVER
                due = min(due, max(earliest, step) + 1)
            elif window.on_arrival:
                due = births[new] + 1 if new < far else last
            else:
                due = step + 1
            step = min(due, last)
            within = step < last
            if within:
                if earliest < step:
                    size, cursor[_EARLIEST] = _expire_front(front, size, lives, step)
                    changed = True
                count = 0
                while new < far and births[new] < step:
                    if scores[new] >= bar:
                        fresh[count] = new
                        count += 1
                    new += 1
                if count > 0:
                    sort_records(fresh, 0, count, room, scores, ties)
                    changed |= _enter_front(lists, size, count, records) < k
                    size += count
                cursor[_FRONT] = size
            else:
                changed = earliest < last
                while new < far:
                    changed |= scores[new] >= bar
                    new += 1
                first = cursor[_FIRST]
                cursor[_FAR] = NOWHERE
        if not within:
            if first < new:
                for i in range(first, new):
                    fresh[i - first] = i
                sort_records(fresh, 0, new - first, room, scores, ties)
                best = _merge(lists, head, tail, new - first, records)
                size = tail - head + new - first
                tail, expired = _drop(lists, size, step, lives[new - 1], k, lives)
                head = 0
                changed |= far == NOWHERE and (expired or best < k)
            else:
                purged = _purge(chain, head, tail, k, lives, step)
                changed |= purged != head
                head = purged
        count = k if within else min(k, tail - head)
        if changed and (count > 0 or shown[p]) if only_changes else count > 0:
            shown[p] = count > 0
            position = add_head(report, p, step * window.slide, 0, count)
            if within:
                put(report.records, position, front, 0, count)
            else:
                put(report.records, position, chain, head, count)
    cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_STEP] = head, tail, new, step
    return finished


@kernel
def advance_mintopk(
    window: StepWindow, records: Lived, listed: Ints, arrived: Ints, done: Ints, shown: Bools,
    until: Ints,
) -> tuple[Ints, Ints, Report]:  # fmt: skip
    """Report every window that ends by ``until[p]`` for each partition p, and slide the lists.

    The listed records come first (partition p has ``listed[p] .. listed[p + 1]``, best first), then
    the new ones (``arrived[p] .. arrived[p + 1]``, by birth). ``done`` (the last window end
    handled) and ``shown`` (whether the last snapshot held anything) are updated in place; ``done``
    and ``until`` are in panes. Returns the kept records as offsets and indices, and the snapshots.
    """
    partitions, slide = len(listed) - 1, window.slide
    longest, most = 0, 0
    for p in range(partitions):
        count = arrived[p + 1] - arrived[p]
        longest, most = max(longest, listed[p + 1] - listed[p] + count), max(most, count)
    lists = Lists(
        np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(most, np.int64),
        np.empty(longest, np.int64), np.empty(4 * longest + 64, np.int64),
        np.empty(window.k, np.int64),
    )  # fmt: skip
    room = sort_room(most)
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    report = new_report(0, 64, 64 * min(window.k, 64))
    cursor = np.zeros(8, np.int64)
    for p in range(partitions):
        size = listed[p + 1] - listed[p]
        for i in range(size):
            lists.chain[i] = listed[p] + i
        cursor[_HEAD], cursor[_TAIL], cursor[_NEW] = 0, size, arrived[p]
        cursor[_STEP], cursor[_FAR] = done[p] // slide, NOWHERE
        while not _advance_list(
            p, window, records, lists, room, shown, until[p] // slide, arrived[p + 1], cursor,
            report,
        ):  # fmt: skip
            report = roomy(report, 1, window.k)
        done[p] = max(done[p], cursor[_STEP] * slide if window.on_arrival else until[p])
        size = cursor[_TAIL] - cursor[_HEAD]
        put(kept, filled, lists.chain, cursor[_HEAD], size)
        filled += size
        kept_from[p + 1] = filled
    return kept_from, kept[:filled].copy(), report
