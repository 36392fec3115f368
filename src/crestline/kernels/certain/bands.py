"""Skybands, strict and relaxed, all partitions in one call. See ``crestline.certain.arrivals``.

A band is a list of records, best first; its first k are the answer. A record *dominates* another
that ranks behind it and expires no later. A record with k dominators can never be reported. The
strict band counts dominators and drops a record at its k-th. The relaxed band drops all dominated
records together, whenever its candidates (the records behind the first k) have grown by a share
``gamma``. The probable band ignores dominators. It keeps a fixed number of candidates; a record
beyond them would hardly ever become one of the best (see ``crestline.certain.pa``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER, UNLIMITED
from crestline.kernels.certain.band_lists import (
    drop_dominated_by,
    find_place,
    insert,
    oldest_birth,
    prune,
    remove,
    threshold_after_loss,
)
from crestline.kernels.common.output import (
    RECORDS,
    SNAPSHOTS,
    Report,
    add_head,
    new_report,
    put,
    roomy,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints

STRICT, RELAXED, PROBABLE = range(3)
#: Entries of the cursor of ``_advance_band``: the list's head and tail, the next new record and the
#: next moment.
_HEAD, _TAIL, _NEW, _MOMENT = range(4)


class BandRule(NamedTuple):
    """What a band keeps, and the windows whose first k records it reports."""

    kind: int
    k: int
    width: int
    #: Whether the window counts records: then there is an arrival at every position.
    counted: bool
    only_changes: bool
    #: Relaxed: the share by which the candidates grow before they are pruned.
    gamma: float
    #: Probable: the limit of candidates, and how many are kept beyond it.
    limit: int
    additional: int


class Born(NamedTuple):
    """Records by index: scores, ties, positions or times of birth, and when they enter the band."""

    score: Floats
    tie: Ints
    at: Ints
    when: Ints


class BandState(NamedTuple):
    """The state of each partition."""

    #: Relaxed: the candidates that set off the next pruning. Probable: the threshold.
    limits: Floats
    #: How many arrivals were handled (counting windows).
    done: Ints
    #: Whether the last snapshot held anything.
    shown: Bools


class Chain(NamedTuple):
    """The band of one partition, best first: records and scores; also room for k births."""

    record: Ints
    key: Floats
    latest: Ints


@kernel
def _first_moment(moments: Ints, start: int, stop: int, time: int) -> int:
    """Return the first moment that is not before ``time``, by a galloping search."""
    step = 1
    low = start
    while low + step < stop and moments[low + step] < time:
        low += step
        step *= 2
    high = min(low + step, stop)
    while low < high:
        middle = (low + high) >> 1
        if moments[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing_kernel
def _expire(
    p: int, rule: BandRule, chain: Chain, head: int, tail: int, ats: Ints, limits: Floats,
    alive_from: int,
) -> tuple[int, int, int, bool]:  # fmt: skip
    """Drop records born before ``alive_from``, among those that are watched. Return the new bounds,
    the oldest birth left, and whether the answer changed."""
    records, keys, _ = chain
    watched = UNLIMITED if rule.kind == PROBABLE else rule.k
    place, oldest, changed = head, NEVER, False
    while place < tail and place - head < watched:
        born = ats[records[place]]
        if born >= alive_from:
            oldest = min(oldest, born)
            place += 1
            continue
        rank = place - head
        changed |= rank < rule.k
        head, tail = remove(records, keys, head, tail, place)
        place = head + rank
        if rule.kind == PROBABLE:
            if tail - head >= 2:
                limits[p] = threshold_after_loss(
                    limits[p], keys[tail - 1], keys[tail - 2], tail - head - rule.k, rule.limit
                )
            else:
                limits[p] = -np.inf
    return head, tail, oldest, changed


@borrowing_kernel
def _enter(
    p: int, new: int, rule: BandRule, born: Born, dominators: Ints, chain: Chain, head: int,
    tail: int, limits: Floats, alive_from: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Put a new record into the band, and drop what this kind of band drops. Return the new bounds,
    the record's rank, and the birth of the record that is no longer watched."""
    records, keys, latest = chain
    k, ats, score = rule.k, born.at, born.score[new]
    watched = UNLIMITED if rule.kind == PROBABLE else k
    place = find_place(records, keys, head, tail, score, born.tie[new], born.tie)
    rank = place - head
    lost = NEVER
    if rank < watched <= tail - head:
        lost = ats[records[head + watched - 1]]
    head, tail = insert(records, keys, head, tail, place, new, score)
    if rule.kind == STRICT:
        tail = drop_dominated_by(records, keys, head, head + rank, tail, k, ats, dominators)
    elif rule.kind == RELAXED:
        if tail - head - k >= limits[p]:
            tail = prune(records, keys, head, tail, k, ats, alive_from, latest)
            left = max(0, tail - head - k)
            limits[p] = max(left + 1.0, np.ceil((1.0 + rule.gamma) * left))
    else:
        most = rule.limit + rule.additional
        if tail - head - k > most:
            tail -= 1
            lost = ats[records[tail]]
        if tail - head - k >= most:
            limits[p] = keys[tail - 1]
    return head, tail, rank, lost


@borrowing_kernel
def _advance_band(
    p: int, rule: BandRule, born: Born, dominators: Ints, chain: Chain, state: BandState,
    until: int, moments: Ints, last_moment: int, stop: int, cursor: Ints, report: Report,
) -> bool:  # fmt: skip
    """Advance partition p. Return True when all is done, False when the report is full: then call
    again.

    Arrays that are never replaced within the loop cost nothing. numba would count the references of
    the others in every turn, so the report is not enlarged here.
    """
    scores, _, ats, whens = born
    limits, done, shown = state
    records = chain.record
    filled, room, most = report.filled, len(report.records), report.heads.shape[1]
    kind, k, width = rule.kind, rule.k, rule.width
    counted, only_changes = rule.counted, rule.only_changes
    head, tail, new, moment = cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_MOMENT]
    # Only the answer is watched for expiry; in a probable band, all records are.
    watched = UNLIMITED if kind == PROBABLE else k
    oldest = oldest_birth(records, head, tail, watched, ats)
    finished = True
    while True:
        if filled[SNAPSHOTS] == most or filled[RECORDS] + k > room:
            finished = False
            break
        # The next arrival at which there is something to report.
        due = NEVER
        if only_changes:
            if oldest < NEVER:
                due = oldest + width
            if new < stop:
                due = min(due, whens[new])
            if counted:
                due = max(due, done[p])
            elif moment < last_moment:
                moment = _first_moment(moments, moment, last_moment, due)
        elif counted:
            due = done[p]
        if counted:
            if due >= until:
                break
            done[p] = due + 1
        else:
            if moment >= last_moment:
                break
            due = moments[moment]
            moment += 1
        alive_from = due - width + 1
        changed = False
        if oldest < alive_from:
            head, tail, oldest, changed = _expire(
                p, rule, chain, head, tail, ats, limits, alive_from
            )
        while new < stop and whens[new] <= due:
            if ats[new] >= alive_from and (kind != PROBABLE or scores[new] >= limits[p]):
                head, tail, rank, lost = _enter(
                    p, new, rule, born, dominators, chain, head, tail, limits, alive_from
                )
                changed |= rank < k
                if rank < watched:
                    oldest = min(oldest, ats[new])
                    if lost == oldest:
                        oldest = oldest_birth(records, head, tail, watched, ats)
            new += 1
        count = min(k, tail - head)
        if changed and (count > 0 or shown[p]) if only_changes else count > 0:
            shown[p] = count > 0
            first = add_head(report, p, due, 0, count)
            put(report.records, first, records, head, count)
    cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_MOMENT] = head, tail, new, moment
    return finished


@kernel
def advance_bands(
    rule: BandRule, born: Born, dominators: Ints, listed: Ints, arrived: Ints, state: BandState,
    until: Ints, moments: Ints, moment_from: Ints, usual_rows: int,
) -> tuple[Ints, Ints, Report]:  # fmt: skip
    """Take in the new records, and report at every arrival.

    The listed records come first (partition p has ``listed[p] .. listed[p + 1]``, best first), then
    the new ones (``arrived[p] .. arrived[p + 1]``). New records enter at ``when``, which is
    ascending and not before their birth. A counting window has an arrival at every position before
    ``until[p]``, a timed one at ``moments[moment_from[p] : moment_from[p + 1]]``. At an arrival a,
    records born after ``a - width`` are alive.

    ``dominators`` (strict) and ``state`` change in place. Returns the kept records as offsets and
    indices, and the snapshots; their ends are arrivals. The report begins with room for
    ``usual_rows``.
    """
    k = rule.k
    partitions = len(listed) - 1
    longest, most_new = 0, 0
    for p in range(partitions):
        longest = max(longest, listed[p + 1] - listed[p])
        most_new = max(most_new, arrived[p + 1] - arrived[p])
    room = longest + 2 * most_new + 2
    chain = Chain(np.empty(room, np.int64), np.empty(room), np.empty(k, np.int64))
    records, keys = chain.record, chain.key
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    report = new_report(0, usual_rows // k + 64, usual_rows + 4 * k + 64)
    cursor = np.zeros(4, np.int64)
    for p in range(partitions):
        head = most_new + 1
        tail = head + listed[p + 1] - listed[p]
        for i in range(head, tail):
            records[i] = listed[p] + i - head
            keys[i] = born.score[records[i]]
        cursor[_HEAD], cursor[_TAIL] = head, tail
        cursor[_NEW], cursor[_MOMENT] = arrived[p], moment_from[p]
        while not _advance_band(
            p, rule, born, dominators, chain, state, until[p], moments, moment_from[p + 1],
            arrived[p + 1], cursor, report,
        ):  # fmt: skip
            report = roomy(report, 1, k)
        if rule.counted:
            state.done[p] = until[p]
        for i in range(cursor[_HEAD], cursor[_TAIL]):
            kept[filled] = records[i]
            filled += 1
        kept_from[p + 1] = filled
    return kept_from, kept[:filled].copy(), report
