"""A band of candidates that several queries share, all partitions in one call. See
``crestline.certain.shared``."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO, NEVER, OUTDATED
from crestline.kernels.common.output import room_for
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

#: Columns of ``asks``, a row for each query; times are in panes. Beyond LIMIT it is not answered;
#: one that was removed has no K.
K, WIDTH, SLIDE, SINCE, LIMIT, CHANGES = range(6)
COLUMNS = 6
#: A band is thinned when it has doubled, but not below this size.
_THIN_AT_LEAST = 1024
#: Between calls it is when it has grown by a quarter and this.
SLACK = 16


@kernel
def _next_due(asks: Ints, a: int, moments_from: Ints, moments: Ints, after: int) -> int:
    """The first end of the query's windows beyond ``after``."""
    slide = asks[a, SLIDE]
    if slide > 0:
        return int((after // slide + 1) * slide)
    low, high = moments_from[a], moments_from[a + 1]
    while low < high:
        middle = (low + high) >> 1
        if moments[middle] > after:
            high = middle
        else:
            low = middle + 1
    return int(moments[low]) if low < moments_from[a + 1] else NEVER


@kernel
def _insert(
    chain: Ints, at: Ints, key: Floats, dominators: Ints, tail: int, first: int, last: int,
    scores: Floats, ties: Ints, pane: int,
) -> int:  # fmt: skip
    """Merge the records ``first .. last`` of the newest pane, best first; return the new tail.

    What ranks behind a new record has one dominator more.
    """
    j = tail - 1
    for new in range(last - 1, first - 1, -1):
        score, tie, shift = scores[new], ties[new], new - first + 1
        while j >= 0 and (key[j] < score or (key[j] == score and ties[chain[j]] < tie)):
            chain[j + shift], at[j + shift] = chain[j], at[j]
            key[j + shift], dominators[j + shift] = key[j], dominators[j] + shift
            j -= 1
        chain[j + shift], at[j + shift] = new, pane
        key[j + shift], dominators[j + shift] = score, shift - 1
    return tail + last - first


@kernel
def _drop_dominated(chain: Ints, at: Ints, key: Floats, dominators: Ints, tail: int, k: int) -> int:
    """Drop what has k dominators or more; return the new tail."""
    kept = 0
    for j in range(tail):
        chain[kept], at[kept] = chain[j], at[j]
        key[kept], dominators[kept] = key[j], dominators[j]
        kept += dominators[j] < k
    return kept


@kernel
def _young(chain: Ints, at: Ints, tail: int, lower: int, wanted: int, found: Ints) -> int:
    """Write down the first ``wanted`` records of pane ``lower`` or later; how many there are.

    Whether a record is young enough is anybody's guess, also to the processor: so each is written,
    and stays if the next one is not written over it.
    """
    count = 0
    for j in range(tail):
        found[count] = chain[j]
        count += at[j] >= lower
        if count == wanted:
            break
    return count


@kernel
def _needed(classes: Ints, c: int, stairs: Ints, stage: int, done: int, pane: int) -> int:
    """The largest k of a query of the class that has a window to come with records of the stage.

    The last of these windows ends ``stairs[0]`` slides after the stage; ``stairs[1]`` is the
    largest k of the queries that reach at least as far.
    """
    slide = classes[c, 0]
    low, high = classes[c, 2], classes[c, 3]
    while low < high:
        middle = (low + high) >> 1
        if (stage + stairs[0, middle]) * slide > max(done, pane):
            high = middle
        else:
            low = middle + 1
    return int(stairs[1, low]) if low < classes[c, 3] else 0


@kernel
def _thin(
    chain: Ints, at: Ints, key: Floats, dominators: Ints, tail: int, done: int, classes: Ints,
    stairs: Ints,
) -> int:  # fmt: skip
    """Drop what no query can report any more in windows that end after ``done``; return the new
    tail.

    Queries of a class have the same slide, and their windows begin at the same distance from its
    multiples. To them the records of a *stage* arrive between the same two ends and expire
    together, so that each better record of the same stage or of a later one stands before.
    """
    keep = np.zeros(tail, np.bool_)
    for c in range(len(classes)):
        slide, phase = classes[c, 0], classes[c, 1]
        if slide == 1:
            for j in range(tail):
                most = _needed(classes, c, stairs, at[j] + phase, done, at[j])
                keep[j] |= dominators[j] < most
            continue
        first, last = NEVER, LONG_AGO
        for j in range(tail):
            first, last = min(first, (at[j] + phase) // slide), max(last, (at[j] + phase) // slide)
        # How many of the betters are of each stage or a later one: a Fenwick tree over the stages.
        later = np.zeros(max(0, last - first) + 2, np.int64)
        for j in range(tail):
            stage = (at[j] + phase) // slide
            betters, node = 0, last - stage + 1
            while node > 0:
                betters += later[node]
                node -= node & -node
            keep[j] |= betters < _needed(classes, c, stairs, stage, done, at[j])
            node = last - stage + 1
            while node < len(later):
                later[node] += 1
                node += node & -node
    kept = 0
    for j in range(tail):
        if keep[j]:
            chain[kept], at[kept] = chain[j], at[j]
            key[kept], dominators[kept] = key[j], dominators[j]
            kept += 1
    return kept


@kernel
def advance_skyband(
    k: int, widest: int, on_arrival: bool, asks: Ints, moments_from: Ints, moments: Ints,
    classes: Ints, stairs: Ints, scores: Floats, ties: Ints, panes: Ints, dominated: Ints,
    listed: Ints, arrived: Ints, done: Ints, size: Ints, shown: Ints, oldest: Ints, until: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]:  # fmt: skip
    """Report every window of every query that ends by ``until[p]``, for each partition p.

    Records as in ``advance_mintopk``. ``shown`` and ``oldest`` have an entry for each partition and
    query (``p * queries + a``): how many records it showed last and the pane of the oldest of them;
    OUTDATED if the band has changed since in a way that may matter to it. ``size[p]`` is the length
    of the band when it was last thinned.

    Returns the kept records as offsets, places and numbers of dominators, and the snapshots as
    queries, partitions, ends, counts and places.
    """
    partitions, queries = len(listed) - 1, len(asks)
    longest = 0
    for p in range(partitions):
        longest = max(longest, listed[p + 1] - listed[p] + arrived[p + 1] - arrived[p])
    chain, at = np.empty(longest, np.int64), np.empty(longest, np.int64)
    key, dominators = np.empty(longest), np.empty(longest, np.int64)
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_dominators = np.empty(len(kept), np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    out_ask = np.empty(64, np.int64)
    out_partition = np.empty(64, np.int64)
    out_end = np.empty(64, np.int64)
    out_count = np.empty(64, np.int64)
    out_record = np.empty(64 * min(k, 64), np.int64)
    snapshots, reported = 0, 0
    due = np.empty(queries, np.int64)
    last_score, last_tie = np.empty(queries), np.empty(queries, np.int64)
    known = np.empty(queries, np.bool_)  # whether these two are

    for p in range(partitions):
        tail, newest = listed[p + 1] - listed[p], LONG_AGO
        for j in range(tail):
            chain[j] = listed[p] + j
            at[j] = panes[chain[j]]
            key[j], dominators[j] = scores[chain[j]], dominated[chain[j]]
            newest = max(newest, at[j])
        compacted = tail
        new, stop = arrived[p], arrived[p + 1]
        mine = p * queries
        showing = 0  # queries for changes that show anything
        for a in range(queries):
            due[a] = NEVER
            if asks[a, K] > 0:
                due[a] = _next_due(asks, a, moments_from, moments, done[p])
                showing += asks[a, CHANGES] > 0 and shown[mine + a] > 0
            known[a] = False
        end, over = done[p], False
        while True:
            if on_arrival:
                if new == stop:
                    break
                end = panes[new] + 1
            else:
                following = NEVER
                for a in range(queries):
                    if due[a] <= asks[a, LIMIT]:
                        following = min(following, due[a])
                over = following > until[p]
                if over and new == stop:
                    break
                empty = tail == 0 or newest < following - widest
                if not over and empty and showing == 0 and (new == stop or panes[new] >= following):
                    tail = 0
                    if new == stop:
                        break
                    for a in range(queries):
                        if asks[a, K] > 0:
                            later = _next_due(asks, a, moments_from, moments, panes[new])
                            due[a] = max(due[a], later)
                    continue
                end = until[p] if over else following
            while new < stop and panes[new] < end:
                first, pane = new, panes[new]
                while new < stop and panes[new] == pane:
                    new += 1
                if pane < end - widest:
                    continue
                for a in range(queries):
                    if asks[a, CHANGES] > 0 and (
                        not known[a]
                        or shown[mine + a] < asks[a, K]
                        or scores[first] > last_score[a]
                        or (scores[first] == last_score[a] and ties[first] > last_tie[a])
                    ):
                        oldest[mine + a] = OUTDATED
                tail = _insert(
                    chain, at, key, dominators, tail, first, min(new, first + k), scores, ties,
                    pane,
                )  # fmt: skip
                newest = pane
                if tail > compacted + compacted // 4 + k:
                    tail = compacted = _drop_dominated(chain, at, key, dominators, tail, k)
                if tail > 2 * size[p] + _THIN_AT_LEAST:
                    # Windows that end here are yet to be answered.
                    tail = size[p] = compacted = _thin(
                        chain, at, key, dominators, tail, end - 1, classes, stairs
                    )
            if over:  # what is left is of panes before windows that end later
                break
            for a in range(queries):
                wanted = asks[a, K]
                if wanted == 0 or not (on_arrival or (due[a] == end and end <= asks[a, LIMIT])):
                    continue
                if not on_arrival:
                    due[a] = _next_due(asks, a, moments_from, moments, end)
                lower = max(end - asks[a, WIDTH], asks[a, SINCE])
                changes = asks[a, CHANGES] > 0
                if changes and oldest[mine + a] >= lower:
                    continue
                out_record = room_for(out_record, reported, wanted + 1)
                count = 0
                if newest >= lower:
                    count = _young(chain, at, tail, lower, wanted, out_record[reported:])
                before_that = shown[mine + a] > 0
                shown[mine + a] = count
                if changes:
                    low = NEVER
                    for j in range(count):
                        low = min(low, panes[out_record[reported + j]])
                    oldest[mine + a] = low
                    showing += int(count > 0) - int(before_that)
                    known[a] = True
                    if count > 0:
                        last = out_record[reported + count - 1]
                        last_score[a], last_tie[a] = scores[last], ties[last]
                if count > 0 or (changes and before_that):
                    out_ask = room_for(out_ask, snapshots, 1)
                    out_partition = room_for(out_partition, snapshots, 1)
                    out_end = room_for(out_end, snapshots, 1)
                    out_count = room_for(out_count, snapshots, 1)
                    out_ask[snapshots] = a
                    out_partition[snapshots] = p
                    out_end[snapshots] = end
                    out_count[snapshots] = count
                    snapshots += 1
                    reported += count
        if on_arrival:
            done[p] = max(done[p], end)
        else:
            done[p] = max(done[p], until[p])
        tail = _drop_dominated(chain, at, key, dominators, tail, k)
        if tail > size[p] + size[p] // 4 + SLACK or newest < done[p] - widest:
            tail = size[p] = _thin(chain, at, key, dominators, tail, done[p], classes, stairs)
        for j in range(tail):
            kept[filled + j], kept_dominators[filled + j] = chain[j], dominators[j]
        filled += tail
        kept_from[p + 1] = filled
    return (
        kept_from,
        kept[:filled].copy(),
        kept_dominators[:filled].copy(),
        out_ask[:snapshots].copy(),
        out_partition[:snapshots].copy(),
        out_end[:snapshots].copy(),
        out_count[:snapshots].copy(),
        out_record[:reported].copy(),
    )
