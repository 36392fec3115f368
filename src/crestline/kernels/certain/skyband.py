"""A band of candidates that several queries share, all partitions in one call. See
``crestline.certain.shared``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO, NEVER, OUTDATED
from crestline.kernels.common.output import RECORDS, Report, add_head, new_report, roomy
from crestline.kernels.common.windows import Ranked
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints

#: Columns of ``Queries.rows``; times are in panes. A query is not answered beyond LIMIT. One that
#: was removed has no K.
K, WIDTH, SLIDE, SINCE, LIMIT, CHANGES = range(6)
COLUMNS = 6
#: A band is thinned when it has doubled, but not below this size.
_THIN_AT_LEAST = 1024
#: Between calls it is thinned when it has grown by a quarter and this.
SLACK = 16


class Queries(NamedTuple):
    """The queries of a band."""

    #: A row for each query.
    rows: Ints
    #: Query a, if it is scheduled, is due at ``moments[moments_from[a] : moments_from[a + 1]]``.
    moments_from: Ints
    moments: Ints
    #: The queries by slide and phase, and what matters of each class; see ``_thin``.
    classes: Ints
    stairs: Ints


class BandState(NamedTuple):
    """The state of each partition of a band."""

    #: The last window end handled.
    done: Ints
    #: The length of the band when it was last thinned.
    size: Ints
    #: By partition and query (``p * queries + a``): how many records it showed last, and the pane
    #: of the oldest of them; OUTDATED if the band has changed since in a way that may matter to it.
    shown: Ints
    oldest: Ints


class Chain(NamedTuple):
    """The band of one partition, best first: records, panes, scores and numbers of dominators."""

    record: Ints
    pane: Ints
    key: Floats
    dominators: Ints


class LastShown(NamedTuple):
    """By query: whether the last record that it shows is known, and the score and tie of that
    record."""

    known: Bools
    score: Floats
    tie: Ints


@kernel
def _next_due(queries: Queries, a: int, after: int) -> int:
    """Return the first end of the query's windows after ``after``."""
    moments_from, moments = queries.moments_from, queries.moments
    slide = queries.rows[a, SLIDE]
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

    Every record behind a new one gets one more dominator.
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
    """Drop records with k dominators or more; return the new tail."""
    kept = 0
    for j in range(tail):
        chain[kept], at[kept] = chain[j], at[j]
        key[kept], dominators[kept] = key[j], dominators[j]
        kept += dominators[j] < k
    return kept


@kernel
def _young(chain: Ints, at: Ints, tail: int, lower: int, wanted: int, out: Ints) -> int:
    """Write down the first ``wanted`` records of pane ``lower`` or later; return how many there
    are.

    The processor cannot predict which records are young enough. So each is written, and the next
    one overwrites it unless it stays.
    """
    count = 0
    for j in range(tail):
        out[count] = chain[j]
        count += at[j] >= lower
        if count == wanted:
            break
    return count


@kernel
def _needed(classes: Ints, c: int, stairs: Ints, stage: int, done: int, pane: int) -> int:
    """Return the largest k among the queries of a class that have a later window with records of
    the stage.

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
    """Drop records that no query can report in windows that end after ``done``; return the new
    tail.

    The queries of a class have the same slide, and their windows begin at the same distance from
    its multiples. For them, the records of a *stage* arrive between the same two ends and expire
    together. So each better record of the same stage or a later one ranks before.
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
        # Counts better records by stage: a Fenwick tree over the stages.
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
def _earliest_due(rows: Ints, due: Ints) -> int:
    """Return the first moment at which a query is due."""
    earliest = NEVER
    for a in range(len(rows)):
        if due[a] <= rows[a, LIMIT]:
            earliest = min(earliest, due[a])
    return earliest


@kernel
def _mark_outdated(
    rows: Ints, first: int, base: int, records: Ranked, last: LastShown, state: BandState
) -> None:
    """Mark the queries for changes whose answer the best new record of a pane may enter."""
    score, tie = records.score[first], records.tie[first]
    for a in range(len(rows)):
        if rows[a, CHANGES] > 0 and (
            not last.known[a]
            or state.shown[base + a] < rows[a, K]
            or score > last.score[a]
            or (score == last.score[a] and tie > last.tie[a])
        ):
            state.oldest[base + a] = OUTDATED


@kernel
def _answer(
    a: int, p: int, end: int, rows: Ints, chain: Chain, tail: int, newest: int, records: Ranked,
    last: LastShown, state: BandState, report: Report,
) -> int:  # fmt: skip
    """Report the answer of query a at ``end`` if it is due; there is room. Return by how much the
    number of queries for changes that show anything has grown."""
    wanted, entry = rows[a, K], p * len(rows) + a
    lower = max(end - rows[a, WIDTH], rows[a, SINCE])
    changes = rows[a, CHANGES] > 0
    if changes and state.oldest[entry] >= lower:
        return 0
    start, count = report.filled[RECORDS], 0
    if newest >= lower:
        count = _young(chain.record, chain.pane, tail, lower, wanted, report.records[start:])
    showed = state.shown[entry] > 0
    state.shown[entry] = count
    if count > 0 or (changes and showed):
        add_head(report, p, end, a, count)
    if not changes:
        return 0
    low = NEVER
    for j in range(start, start + count):
        low = min(low, records.pane[report.records[j]])
    state.oldest[entry] = low
    last.known[a] = True
    if count > 0:
        worst = report.records[start + count - 1]
        last.score[a], last.tie[a] = records.score[worst], records.tie[worst]
    return int(count > 0) - int(showed)


@kernel
def advance_skyband(
    k: int, widest: int, on_arrival: bool, queries: Queries, records: Ranked, dominated: Ints,
    listed: Ints, arrived: Ints, state: BandState, until: Ints,
) -> tuple[Ints, Ints, Ints, Report]:  # fmt: skip
    """Report every window of every query that ends by ``until[p]``, for each partition p.

    Records are as in ``advance_mintopk``; ``dominated`` holds the numbers of dominators of the
    listed ones. Returns the kept records as offsets, indices and numbers of dominators, and the
    snapshots.
    """
    rows = queries.rows
    scores, ties, panes = records
    done, size = state.done, state.size
    partitions, count = len(listed) - 1, len(rows)
    longest = 0
    for p in range(partitions):
        longest = max(longest, listed[p + 1] - listed[p] + arrived[p + 1] - arrived[p])
    chain, at = np.empty(longest, np.int64), np.empty(longest, np.int64)
    key, dominators = np.empty(longest), np.empty(longest, np.int64)
    band = Chain(chain, at, key, dominators)
    kept = np.empty(listed[partitions] + arrived[partitions] - arrived[0], np.int64)
    kept_dominators = np.empty(len(kept), np.int64)
    kept_from = np.zeros(partitions + 1, np.int64)
    filled = 0
    report = new_report(0, 64, 64 * min(k, 64))
    most_rows = rows[:, K].sum() + 1  # ``_young`` writes one more than it keeps
    due = np.empty(count, np.int64)
    last = LastShown(np.empty(count, np.bool_), np.empty(count), np.empty(count, np.int64))

    for p in range(partitions):
        tail, newest = listed[p + 1] - listed[p], LONG_AGO
        for j in range(tail):
            chain[j] = listed[p] + j
            at[j] = panes[chain[j]]
            key[j], dominators[j] = scores[chain[j]], dominated[chain[j]]
            newest = max(newest, at[j])
        compacted = tail
        new, stop = arrived[p], arrived[p + 1]
        base = p * count
        showing = 0  # queries for changes that show anything
        for a in range(count):
            due[a] = NEVER
            if rows[a, K] > 0:
                due[a] = _next_due(queries, a, done[p])
                showing += rows[a, CHANGES] > 0 and state.shown[base + a] > 0
            last.known[a] = False
        end, over = done[p], False
        while True:
            if on_arrival:
                if new == stop:
                    break
                end = panes[new] + 1
            else:
                following = _earliest_due(rows, due)
                over = following > until[p]
                if over and new == stop:
                    break
                empty = tail == 0 or newest < following - widest
                if not over and empty and showing == 0 and (new == stop or panes[new] >= following):
                    tail = 0
                    if new == stop:
                        break
                    for a in range(count):
                        if rows[a, K] > 0:
                            due[a] = max(due[a], _next_due(queries, a, panes[new]))
                    continue
                end = until[p] if over else following
            while new < stop and panes[new] < end:
                first, pane = new, panes[new]
                while new < stop and panes[new] == pane:
                    new += 1
                if pane < end - widest:
                    continue
                _mark_outdated(rows, first, base, records, last, state)
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
                        chain, at, key, dominators, tail, end - 1, queries.classes, queries.stairs
                    )
            if over:  # the remaining records are of panes before the windows that end later
                break
            report = roomy(report, count, most_rows)
            for a in range(count):
                if rows[a, K] == 0:
                    continue
                if not on_arrival:
                    if due[a] != end or end > rows[a, LIMIT]:
                        continue
                    due[a] = _next_due(queries, a, end)
                showing += _answer(
                    a, p, end, rows, band, tail, newest, records, last, state, report
                )
        done[p] = max(done[p], end if on_arrival else until[p])
        tail = _drop_dominated(chain, at, key, dominators, tail, k)
        if tail > size[p] + size[p] // 4 + SLACK or newest < done[p] - widest:
            tail = size[p] = _thin(
                chain, at, key, dominators, tail, done[p], queries.classes, queries.stairs
            )
        for j in range(tail):
            kept[filled + j], kept_dominators[filled + j] = chain[j], dominators[j]
        filled += tail
        kept_from[p + 1] = filled
    return kept_from, kept[:filled].copy(), kept_dominators[:filled].copy(), report
