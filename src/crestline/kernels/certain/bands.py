"""Skybands, strict and relaxed, all partitions in one call. See ``crestline.certain.arrivals``.

A band is a list of records, best first; its first k are the answer. A record *dominates* another
that ranks behind it and expires no later; what has k dominators can never be reported. The strict
band counts dominators and drops a record at its k-th; the relaxed one drops the dominated all
together, whenever its candidates (the records behind the first k) have grown by a share ``gamma``.
The probable one does not look at dominators: it keeps so many candidates, and no more, that a
record beyond them would hardly ever have become one of the best (see ``crestline.certain.pa``).
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER, UNLIMITED
from crestline.kernels.common.output import room_for
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints

STRICT, RELAXED, PROBABLE = 0, 1, 2


@kernel
def _place(
    chain: Ints, keys: Floats, head: int, tail: int, score: float, tie: int, ties: Ints
) -> int:
    """Where a record with this score and tie belongs in the list ``chain[head:tail]``. ``keys`` are
    the scores in the order of the list: a search that looks them up by record takes twice as long.
    """
    low, high = head, tail
    while low < high:
        middle = (low + high) >> 1
        key = keys[middle]
        if key > score or (key == score and ties[chain[middle]] >= tie):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _put(
    chain: Ints, keys: Floats, head: int, tail: int, place: int, record: int, score: float
) -> tuple[int, int]:
    """Insert at ``place``, moving the shorter side; there is room on both. The new bounds."""
    if place - head < tail - place:
        for i in range(head, place):
            chain[i - 1] = chain[i]
            keys[i - 1] = keys[i]
        chain[place - 1], keys[place - 1] = record, score
        return head - 1, tail
    for i in range(tail, place, -1):
        chain[i] = chain[i - 1]
        keys[i] = keys[i - 1]
    chain[place], keys[place] = record, score
    return head, tail + 1


@kernel
def _take(chain: Ints, keys: Floats, head: int, tail: int, place: int) -> tuple[int, int]:
    """Remove the record at ``place``, moving the shorter side. The new bounds."""
    if place - head < tail - place:
        for i in range(place, head, -1):
            chain[i] = chain[i - 1]
            keys[i] = keys[i - 1]
        return head + 1, tail
    for i in range(place, tail - 1):
        chain[i] = chain[i + 1]
        keys[i] = keys[i + 1]
    return head, tail - 1


@kernel
def _drop_dominated_by(
    chain: Ints, keys: Floats, head: int, place: int, tail: int, k: int, ats: Ints, dominators: Ints
) -> int:
    """Count the record at ``place`` as a dominator, and what dominates it; the new tail."""
    record = chain[place]
    born = ats[record]
    dominators[record] = 0
    for i in range(head, place):
        dominators[record] += ats[chain[i]] >= born
    stay = place if dominators[record] >= k else place + 1
    for i in range(place + 1, tail):
        behind = chain[i]
        dominators[behind] += ats[behind] <= born
        if dominators[behind] < k:
            chain[stay], keys[stay] = behind, keys[i]
            stay += 1
    return stay


@kernel
def sift(heap: Ints, size: int, value: int) -> None:
    """Replace the least of the heap by a larger value."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = value


@kernel
def _prune(
    chain: Ints, keys: Floats, head: int, tail: int, k: int, ats: Ints, oldest: int, latest: Ints
) -> int:
    """Drop the candidates with k dominators and those before ``oldest``; the new tail.

    ``latest`` is room for k: the latest births among all that rank before, a heap.
    """
    size = 0
    for i in range(head, min(head + k, tail)):
        latest[size] = ats[chain[i]]
        size += 1
    latest[:size].sort()  # what is sorted is a heap
    stay = head + size
    for i in range(head + size, tail):
        born = ats[chain[i]]
        if born > latest[0] and born >= oldest:
            chain[stay], keys[stay] = chain[i], keys[i]
            stay += 1
            sift(latest, size, born)
    return stay


@kernel
def _oldest(chain: Ints, head: int, tail: int, k: int, ats: Ints) -> int:
    """The birth of the answer's oldest record."""
    born = NEVER
    for i in range(head, min(head + k, tail)):
        born = min(born, ats[chain[i]])
    return born


@kernel
def _first_moment(moments: Ints, start: int, stop: int, time: int) -> int:
    """The first of the ascending moments that is not before ``time``: a galloping search."""
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


@kernel
def lowered(threshold: float, last_but_one: float, last: float, share: float) -> float:
    """The threshold less a share of what the two lowest scores are apart. No score is below it, so
    it can be infinite only where both are, and equal: they are not apart then."""
    if last_but_one > last:
        return threshold - share * (last_but_one - last)
    return threshold


@kernel
def threshold_after_loss(
    threshold: float, last: float, last_but_one: float, candidates: int, limit: int
) -> float:
    """What PA asks of arrivals once a record has expired: less than before, and nothing if too few
    candidates are left (Algorithm 2, lines 13 to 17)."""
    if candidates < max(limit, 2):
        return -np.inf
    return lowered(threshold, last_but_one, last, 0.5)


@kernel
def _advance_band(
    p: int,
    kind: int,
    k: int,
    width: int,
    counted: bool,
    gamma: float,
    limit: int,
    additional: int,
    only_changes: bool,
    scores: Floats,
    ties: Ints,
    ats: Ints,
    whens: Ints,
    dominators: Ints,
    chain: Ints,
    keys: Floats,
    latest: Ints,
    limits: Floats,
    done: Ints,
    shown: Bools,
    until: int,
    moments: Ints,
    last_moment: int,
    stop: int,
    place_of: Ints,
    out_snapshot: Ints,
    out_record: Ints,
) -> bool:
    """Partition p, until all is done (True) or the output is full (False; then call again).

    ``place_of`` is where things stand: the list's head and tail, the next new record, the next
    moment, snapshots and records written. Arrays that are never exchanged within the loop cost
    nothing; ones that may be would be counted, as references, in every turn.
    """
    head, tail, new, moment, snapshots, reported = place_of
    # Expiry is noticed in the answer only, but of a probable band everything may expire.
    watched = UNLIMITED if kind == PROBABLE else k
    oldest = _oldest(chain, head, tail, watched, ats)
    finished = True
    while True:
        if 3 * snapshots + 3 > len(out_snapshot) or reported + k > len(out_record):
            finished = False
            break
        # The next arrival at which there is something to say.
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
            place = head
            oldest = NEVER
            while place < tail and place - head < watched:
                born = ats[chain[place]]
                if born >= alive_from:
                    oldest = min(oldest, born)
                    place += 1
                    continue
                rank = place - head
                changed |= rank < k
                head, tail = _take(chain, keys, head, tail, place)
                place = head + rank
                if kind == PROBABLE and tail - head >= 2:
                    limits[p] = threshold_after_loss(
                        limits[p], keys[tail - 1], keys[tail - 2],
                        tail - head - k, limit,
                    )  # fmt: skip
                elif kind == PROBABLE:
                    limits[p] = -np.inf
        while new < stop and whens[new] <= due:
            if ats[new] < alive_from or (kind == PROBABLE and scores[new] < limits[p]):
                new += 1
                continue
            score = scores[new]
            place = _place(chain, keys, head, tail, score, ties[new], ties)
            rank = place - head
            changed |= rank < k
            lost = NEVER  # the birth of what is watched no longer
            if rank < watched <= tail - head:
                lost = ats[chain[head + watched - 1]]
            head, tail = _put(chain, keys, head, tail, place, new, score)
            if kind == STRICT:
                tail = _drop_dominated_by(chain, keys, head, head + rank, tail, k, ats, dominators)
            elif kind == RELAXED:
                if tail - head - k >= limits[p]:
                    tail = _prune(chain, keys, head, tail, k, ats, alive_from, latest)
                    left = max(0, tail - head - k)
                    limits[p] = max(left + 1.0, np.ceil((1.0 + gamma) * left))
            else:
                if tail - head - k > limit + additional:
                    tail -= 1
                    lost = ats[chain[tail]]
                if tail - head - k >= limit + additional:
                    limits[p] = keys[tail - 1]
            if rank < watched:
                oldest = min(oldest, ats[new])
                if lost == oldest:
                    oldest = _oldest(chain, head, tail, watched, ats)
            new += 1
        count = min(k, tail - head)
        if changed and (count > 0 or shown[p]) if only_changes else count > 0:
            shown[p] = count > 0
            out_snapshot[3 * snapshots] = p
            out_snapshot[3 * snapshots + 1] = due
            out_snapshot[3 * snapshots + 2] = count
            for i in range(count):
                out_record[reported + i] = chain[head + i]
            snapshots += 1
            reported += count
    place_of[:] = (head, tail, new, moment, snapshots, reported)
    return finished


@kernel
def advance_bands(
    kind: int,
    k: int,
    width: int,
    counted: bool,
    gamma: float,
    limit: int,
    additional: int,
    only_changes: bool,
    scores: Floats,
    ties: Ints,
    ats: Ints,
    whens: Ints,
    dominators: Ints,
    listed: Ints,
    arrived: Ints,
    limits: Floats,
    done: Ints,
    shown: Bools,
    until: Ints,
    moments: Ints,
    moment_from: Ints,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Take the new records in, and report at every arrival.

    Records are places in ``scores``, ``ties`` and ``ats`` (position or time of birth): first the
    listed ones (partition p holds ``listed[p] .. listed[p + 1]``, best first), then the new ones
    (``arrived[p] .. arrived[p + 1]``), which enter at ``whens`` (ascending, and not before their
    birth). A counting window (``counted``) has an arrival at every position before ``until[p]``, a
    timed one at ``moments[moment_from[p] : moment_from[p + 1]]``. A record is alive at an arrival a
    if it was born after ``a - width``.

    ``dominators`` (strict), ``limits`` (relaxed: candidates that set off the next pruning;
    probable: the threshold), ``done`` (arrivals already handled) and ``shown`` (whether the last
    snapshot held anything) change in place. The probable band has ``limit`` candidates and
    ``additional`` ones. Returns the kept records as offsets and places, the snapshots as
    (partition, arrival, count) one after the other, and their places.
    """
    partitions = len(listed) - 1
    longest, most_new = 0, 0
    for p in range(partitions):
        longest = max(longest, listed[p + 1] - listed[p])
        most_new = max(most_new, arrived[p + 1] - arrived[p])
    chain = np.empty(longest + 2 * most_new + 2, np.int64)
    keys = np.empty(len(chain), np.float64)
    latest = np.empty(k, np.int64)
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    out_snapshot = np.empty(3 * 64, np.int64)
    out_record = np.empty(4 * k + 64, np.int64)
    place_of = np.zeros(6, np.int64)
    for p in range(partitions):
        head = most_new + 1
        tail = head + listed[p + 1] - listed[p]
        for i in range(head, tail):
            chain[i] = listed[p] + i - head
            keys[i] = scores[chain[i]]
        place_of[0], place_of[1] = head, tail
        place_of[2], place_of[3] = arrived[p], moment_from[p]
        while not _advance_band(
            p, kind, k, width, counted, gamma, limit, additional, only_changes, scores, ties, ats,
            whens, dominators, chain, keys, latest, limits, done, shown, until[p], moments,
            moment_from[p + 1], arrived[p + 1], place_of, out_snapshot, out_record,
        ):  # fmt: skip
            out_snapshot = room_for(out_snapshot, 3 * place_of[4], len(out_snapshot))
            out_record = room_for(out_record, place_of[5], len(out_record))
        if counted:
            done[p] = until[p]
        for i in range(place_of[0], place_of[1]):
            kept[filled] = chain[i]
            filled += 1
        kept_from[p + 1] = filled
    snapshots, reported = place_of[4], place_of[5]
    return (
        kept_from,
        kept[:filled].copy(),
        out_snapshot[: 3 * snapshots].copy(),
        out_record[:reported].copy(),
    )
