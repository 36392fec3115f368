"""MinTopk's super-top-k lists, all partitions in one call. See ``crestline.certain.mintopk``."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.common.output import (
    RECORDS,
    SNAPSHOTS,
    Report,
    add_head,
    new_report,
    put,
    roomy,
)
from crestline.kernels.common.windows import Ranked, StepWindow, before, next_end
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints

#: Entries of the cursor of ``_advance_list``: the list's head and tail, the next new record and the
#: last window end.
_HEAD, _TAIL, _NEW, _END = range(4)


@kernel
def _insert(
    chain: Ints,
    head: int,
    tail: int,
    first: int,
    last: int,
    k: int,
    equals: int,
    scores: Floats,
    ties: Ints,
    panes: Ints,
    dominators: Ints,
    spare: Ints,
) -> tuple[int, int]:
    """Merge the records ``first .. last`` (best first), which expire no sooner than any listed one.

    Every listed record that ranks behind a new one gets one more dominator, and leaves the list at
    its k-th. Listed records of pane ``equals`` or later expire together with the new ones and
    dominate them. Returns the new tail and the place of the best new record.
    """
    low, high = head, tail
    while low < high:
        middle = (low + high) >> 1
        if before(scores, ties, first, chain[middle]):
            high = middle
        else:
            low = middle + 1
    place = low
    # Usually the newest pane outlives all others, and there is nothing to count.
    equal = 0
    for i in range(head, head if equals == NEVER else place):
        equal += panes[chain[i]] >= equals
    behind = tail - place
    put(spare, 0, chain, place, behind)
    new, position = first, place
    for i in range(behind):
        record = spare[i]
        score = scores[record]
        while new < last and (
            scores[new] > score or (scores[new] == score and ties[new] > ties[record])
        ):
            dominators[new] = new - first + equal
            if dominators[new] < k:
                chain[position] = new
                position += 1
            new += 1
        equal += panes[record] >= equals
        dominators[record] += new - first
        if dominators[record] < k:
            chain[position] = record
            position += 1
    while new < last:
        dominators[new] = new - first + equal
        if dominators[new] < k:
            chain[position] = new
            position += 1
        new += 1
    return position, place


@kernel
def _purge(chain: Ints, head: int, tail: int, k: int, panes: Ints, oldest: int) -> int:
    """Drop the records of panes before ``oldest``; return the new head.

    They are all among the first k survivors: a record that ranks before an expired one has expired
    itself or dominates it, and the expired one has fewer than k dominators (Lemma 4.4).
    """
    alive, stop = 0, head
    while stop < tail and alive < k:
        alive += panes[chain[stop]] >= oldest
        stop += 1
    if alive == stop - head:
        return head
    position = stop
    for i in range(stop - 1, head - 1, -1):
        if panes[chain[i]] >= oldest:
            position -= 1
            chain[position] = chain[i]
    return position


@borrowing_kernel
def _insert_due(
    chain: Ints, spare: Ints, head: int, tail: int, new: int, stop: int, end: int,
    window: StepWindow, records: Ranked, dominators: Ints,
) -> tuple[int, int, bool]:  # fmt: skip
    """Insert the new records of panes before ``end``; return the tail, the next new record, and
    whether the answer changed."""
    scores, ties, panes = records
    k, width, slide = window.k, window.width, window.slide
    changed = False
    while new < stop and panes[new] < end:
        first = new
        life = (panes[first] + width) // slide
        while new < stop and panes[new] < end and (panes[new] + width) // slide == life:
            new += 1
        if panes[first] >= end - width:
            last = min(new, first + k)
            # The first pane that leaves the window together with these.
            equals = NEVER if width % slide == 0 else life * slide - width
            tail, place = _insert(
                chain, head, tail, first, last, k, equals, scores, ties, panes, dominators, spare
            )
            changed |= place < head + k
    return tail, new, changed


@borrowing_kernel
def _advance_list(
    p: int, window: StepWindow, records: Ranked, dominators: Ints, chain: Ints, spare: Ints,
    shown: Bools, until: int, stop: int, cursor: Ints, report: Report,
) -> bool:  # fmt: skip
    """Advance partition p. Return True when all is done, False when the report is full: then call
    again.

    The caller enlarges the report: replacing its arrays within the loop would count references in
    every turn.
    """
    panes = records.pane
    k, width, only_changes = window.k, window.width, window.only_changes
    filled, room, most = report.filled, len(report.records), report.heads.shape[1]
    head, tail, new, end = cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_END]
    finished = False
    while filled[SNAPSHOTS] < most and filled[RECORDS] + k <= room:
        arriving = panes[new] if new < stop else NEVER
        due = next_end(window, panes, chain, head, tail, arriving, end)
        if due > until:
            finished = True
            break
        end = due
        purged = _purge(chain, head, tail, k, panes, end - width)
        changed = purged != head
        head = purged
        if arriving < end:
            tail, new, entered = _insert_due(
                chain, spare, head, tail, new, stop, end, window, records, dominators
            )
            changed |= entered
        count = min(k, tail - head)
        if changed and (count > 0 or shown[p]) if only_changes else count > 0:
            shown[p] = count > 0
            first = add_head(report, p, end, 0, count)
            put(report.records, first, chain, head, count)
    cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_END] = head, tail, new, end
    return finished


@kernel
def advance_mintopk(
    window: StepWindow, records: Ranked, dominators: Ints, listed: Ints, arrived: Ints, done: Ints,
    shown: Bools, until: Ints,
) -> tuple[Ints, Ints, Report]:  # fmt: skip
    """Report every window that ends by ``until[p]`` for each partition p, and slide the lists.

    The listed records come first (partition p has ``listed[p] .. listed[p + 1]``, best first), then
    the new ones (``arrived[p] .. arrived[p + 1]``, by stage and then best first; see
    ``StepOperator._stages``). ``dominators``, ``done`` (the last window end handled) and ``shown``
    (whether the last snapshot held anything) are updated in place. Returns the kept records as
    offsets and indices, and the snapshots.
    """
    partitions = len(listed) - 1
    longest = 0
    for p in range(partitions):
        longest = max(longest, listed[p + 1] - listed[p] + arrived[p + 1] - arrived[p])
    chain = np.empty(longest, np.int64)
    spare = np.empty(longest, np.int64)
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    report = new_report(0, 64, 64 * min(window.k, 64))
    cursor = np.zeros(4, np.int64)
    for p in range(partitions):
        size = listed[p + 1] - listed[p]
        for i in range(size):
            chain[i] = listed[p] + i
        cursor[_HEAD], cursor[_TAIL], cursor[_NEW], cursor[_END] = 0, size, arrived[p], done[p]
        while not _advance_list(
            p, window, records, dominators, chain, spare, shown, until[p], arrived[p + 1], cursor,
            report,
        ):  # fmt: skip
            report = roomy(report, 1, window.k)
        done[p] = max(done[p], cursor[_END] if window.on_arrival else until[p])
        size = cursor[_TAIL] - cursor[_HEAD]
        put(kept, filled, chain, cursor[_HEAD], size)
        filled += size
        kept_from[p + 1] = filled
    return kept_from, kept[:filled].copy(), report
