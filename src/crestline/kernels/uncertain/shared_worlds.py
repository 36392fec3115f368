"""One list of uncertain records in rank order, for several queries; see ``uncertain.shared``.

Lists are those of ``kernels.uncertain.lists``. ``LEAVES`` is a record's time plus the *reach* of
the windows: at a moment t a record is gone if it leaves at t or before. A query that joined later,
``since`` some time, does not see what leaves before that time plus the reach. So what a query sees
at a moment is what leaves after a *limit*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.common.ascending import ascending
from crestline.kernels.common.output import Report, add_head, roomy
from crestline.kernels.jit.pointer import FLOATS, INT, INTS, Pointed
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import EXPECTED_RANK, PK_TOPK, PT_K, SUMS
from crestline.kernels.uncertain.lists import (
    CHANCE,
    GROUP,
    ID,
    LEAVES,
    RULE,
    SCORE,
    ListArrays,
    RecordList,
    as_list,
    copy,
    merged,
    stay,
    take,
)
from crestline.kernels.uncertain.specs import WALK_AT_LEAST, answer_specs, largest_k
from crestline.types import Bools, Floats, Ints

#: Entries of ``meta``: records in the list, records after it was thinned last, answers with a rule
#: above 1, walks, and the records looked at in them, each times the largest k.
COUNT, THINNED, OVERFULL, WALKS, WORK = range(5)


class SharedQueries(NamedTuple):
    """The queries that share a list, one entry each."""

    #: The kind of answer; see ``kernels.uncertain.closing``.
    kind: Ints
    k: Ints
    threshold: Floats
    #: A query sees records of this time and later.
    since: Ints
    #: Whether a snapshot that has become empty is reported (1 or 0).
    only_changes: Ints


class SharedWindow(NamedTuple):
    """The windows of the queries, and how their list is kept."""

    #: A record leaves this long after its time.
    reach: int
    #: Whether nothing ever leaves.
    unbounded: bool
    #: Whether all records of the window are kept.
    keeps_all: bool
    #: The list is thinned from this number of records on.
    thin_at_least: int
    #: The addresses of ``answer_specs``, ``weigh``, ``pick`` and ``mark``.
    answer: int
    weigh: int
    pick: int
    mark: int


class DueExecutions(NamedTuple):
    """Executions: number i, at ``moments[i]``, answers ``queries[offset[i] : offset[i + 1]]``."""

    moments: Ints
    offset: Ints
    queries: Ints


# -- what need not be kept ------------------------------------------------------------------------


@kernel
def _ages(window: SharedWindow, queries: SharedQueries, records: RecordList, count: int) -> Ints:
    """Return one key per record, so that a query that sees a record sees all with the same or a
    larger key. Where nothing leaves, keys differ only by which queries see a record."""
    leaves, since = records.ints[LEAVES], queries.since
    key = np.empty(count, np.int64)
    for a in range(count):
        key[a] = leaves[a]
        if window.unbounded:
            first = LONG_AGO
            for q in range(len(since)):
                if since[q] > first and since[q] <= leaves[a] - window.reach:
                    first = since[q]
            key[a] = first
    return key


@kernel
def _deepest(kind: Ints, k: Ints, threshold: Floats) -> Ints:
    """Return the queries whose compact sets hold those of all others.

    Those of PK_TOPK and of sums grow with k, those of PT_K also as the threshold falls; see
    ``uncertain.shared``.
    """
    count, chosen = 0, np.empty(len(kind), np.int64)
    for q in range(len(kind)):
        needed = True
        for other in range(len(kind)):
            nested = kind[q] in (PK_TOPK, PT_K, SUMS) and kind[other] == kind[q]
            if nested and k[other] >= k[q] and threshold[other] <= threshold[q]:
                same = k[other] == k[q] and threshold[other] == threshold[q]
                needed &= same and other >= q
        if needed:
            chosen[count] = q
            count += 1
    return chosen[:count]


def _mark(
    answer_address: int, weigh_address: int, kind: Ints, k: Ints, threshold: Floats, chance: Floats,
    rule: Ints, group: Ints, key: Ints, out: Ints,
) -> int:  # fmt: skip
    """Mark with 1 in ``out``, which is zeros, the records that no query can need; they are in rank
    order. Return 0 if there was nothing to do.

    For the newest records, twice as many and so on: what is no newer than all of these, and ranks
    behind those of them that close, is not needed.
    """
    total, most = len(chance), largest_k(k)
    if len(kind) == 0 or total <= most:
        return 0
    deepest = _deepest(kind, k, threshold)
    queries = len(deepest)
    kinds, ks = np.empty(queries, np.int64), np.empty(queries, np.int64)
    thresholds = np.empty(queries)
    for a in range(queries):
        q = deepest[a]
        kinds[a], ks[a], thresholds[a] = kind[q], k[q], threshold[q]
    negative = np.empty(total, np.int64)
    for a in range(total):
        negative[a] = -key[a]
    newest = ascending(negative)
    overfull, none = np.empty(queries, np.int64), np.empty(0, np.int64)
    size, before = most, NEVER
    while True:
        size = min(size, total)
        oldest = key[newest[size - 1]]
        some = max(WALK_AT_LEAST, 4 * most)
        while oldest < before:
            indices = np.empty(min(some, total), np.int64)
            count = position = 0
            while position < total and count < len(indices):
                if key[position] >= oldest and out[position] == 0:
                    indices[count] = position
                    count += 1
                position += 1
            closed = -1
            if count > most:
                some_chance, some_rule, some_group = take(chance, rule, group, indices[:count])
                closed = answer_specs(
                    answer_address, weigh_address, 0, kinds, ks, thresholds, some_chance, some_rule,
                    some_group, overfull, none, none, np.empty(0),
                )  # fmt: skip
            if closed >= 0:
                for a in range(indices[closed - 1] + 1, total):
                    if key[a] <= oldest:
                        out[a] = 1
            if closed >= 0 or position == total:
                break
            some *= 4
        before = oldest
        if size == total:
            return 1
        size *= 2


MARK = Pointed(_mark, INT, INT, INT, INTS, INTS, FLOATS, FLOATS, INTS, INTS, INTS, INTS)
#: ``mark(address, ...)`` in kernels, with ``MARK.address()``.
mark = MARK.call


@kernel
def _mark_run(
    window: SharedWindow, queries: SharedQueries, records: RecordList, start: int, stop: int,
    key: Ints, out: Ints,
) -> None:  # fmt: skip
    """``_mark``, for a stretch of a list."""
    mark(
        window.mark, window.answer, window.weigh, queries.kind, queries.k, queries.threshold,
        records.floats[CHANCE, start:stop], records.ints[RULE, start:stop],
        records.ints[GROUP, start:stop], key[start:stop], out[start:stop],
    )  # fmt: skip


@kernel
def needed(
    window: SharedWindow, queries: SharedQueries, records: RecordList, starts: Ints
) -> Bools:
    """Return which records may be needed. Each of the runs, which begin at ``starts``, is a unit
    of records that begin to be seen together, in rank order."""
    count = records.ints.shape[1]
    out = np.zeros(count, np.int64)
    key = _ages(window, queries, records, count)
    for run in range(len(starts)):
        stop = starts[run + 1] if run + 1 < len(starts) else count
        _mark_run(window, queries, records, starts[run], stop, key, out)
    kept = np.empty(count, np.bool_)
    for a in range(count):
        kept[a] = out[a] == 0
    return kept


@kernel
def _thin(
    window: SharedWindow, queries: SharedQueries, records: RecordList, count: int, limit: int
) -> int:
    """Move the records together that may be needed; return how many they are."""
    count = stay(records, 0, count, limit)
    if window.keeps_all:
        return count
    out = np.zeros(count, np.int64)
    key = _ages(window, queries, records, count)
    _mark_run(window, queries, records, 0, count, key, out)
    kept = 0
    for a in range(count):
        if out[a] == 0:
            if kept < a:
                copy(records, kept, records, a)
            kept += 1
    return kept


# -- from moment to moment ------------------------------------------------------------------------


@kernel
def run_shared(
    window: SharedWindow, queries: SharedQueries, arriving_arrays: ListArrays, begins: Ints,
    due: DueExecutions, arrays: ListArrays, meta: Ints, shown: Ints, report: Report,
) -> tuple[ListArrays, Report]:  # fmt: skip
    """Take in records and answer all that is due.

    Arrivals are in the order of the moments at which each begins to be seen (``begins``) and then
    of rank. ``shown`` holds how many records each query was shown last.
    """
    arrivals, records = as_list(arriving_arrays), as_list(arrays)
    moments = due.moments
    arrived = execution = 0
    count, last = meta[COUNT], LONG_AGO
    for a in range(count):
        last = max(last, records.ints[LEAVES, a])
    while execution < len(moments):
        moment = moments[execution]
        first = arrived
        while arrived < len(begins) and begins[arrived] <= moment:
            last = max(last, arrivals.ints[LEAVES, arrived])
            arrived += 1
        if arrived > first:
            records = merged(records, count, arrivals, first, arrived - first)
            count += arrived - first
            if count > max(2 * meta[THINNED], window.thin_at_least):
                count = _thin(window, queries, records, count, moment)
                meta[THINNED] = count
        if last <= moment and not _awaited(queries, shown):
            # Nothing to report before the next record comes.
            if arrived == len(begins):
                break
            while execution < len(moments) and moments[execution] < begins[arrived]:
                execution += 1
            continue
        meta[COUNT] = count
        report = _execute(window, queries, records, due, execution, meta, shown, report)
        execution += 1
    meta[COUNT] = count
    return (records.floats, records.ints), report


@kernel
def _awaited(queries: SharedQueries, shown: Ints) -> bool:
    """Whether a query still has to learn that its window has become empty."""
    awaited = False
    for q in range(len(shown)):
        awaited |= queries.only_changes[q] > 0 and shown[q] > 0
    return awaited


@kernel
def _execute(
    window: SharedWindow, queries: SharedQueries, records: RecordList, due: DueExecutions,
    execution: int, meta: Ints, shown: Ints, report: Report,
) -> Report:  # fmt: skip
    """Answer the queries of one execution: those that see the same records, by one walk."""
    moment, kind = due.moments[execution], queries.kind
    start, stop = due.offset[execution], due.offset[execution + 1]
    answered = np.zeros(stop - start, np.bool_)
    together = np.empty(stop - start, np.int64)
    for e in range(start, stop):
        if answered[e - start]:
            continue
        limit = _limit(window, queries, moment, due.queries[e])
        ranked = kind[due.queries[e]] == EXPECTED_RANK
        members = 0
        for other in range(e, stop):
            q = due.queries[other]
            if ranked == (kind[q] == EXPECTED_RANK) and limit == _limit(window, queries, moment, q):
                together[members] = q
                members += 1
                answered[other - start] = True
        report = _answer(
            window, queries, records, moment, limit, together[:members], meta, shown, report
        )
    return report


@kernel
def _limit(window: SharedWindow, queries: SharedQueries, moment: int, q: int) -> int:
    """Return the limit of a query: it sees what leaves after that."""
    return int(max(moment, queries.since[q] + window.reach - 1))


@kernel
def _answer(
    window: SharedWindow, queries: SharedQueries, records: RecordList, moment: int, limit: int,
    together: Ints, meta: Ints, shown: Ints, report: Report,
) -> Report:  # fmt: skip
    """Answer the queries ``together``, which see the records that leave after ``limit``, from as
    many records as it takes."""
    members, count = len(together), meta[COUNT]
    kind, k = np.empty(members, np.int64), np.empty(members, np.int64)
    threshold, which = np.empty(members), np.empty(members, np.int64)
    distinct = 0
    for m in range(members):
        q = together[m]
        kind[distinct], k[distinct] = queries.kind[q], queries.k[q]
        threshold[distinct] = queries.threshold[q]
        # Queries that ask for the same have one answer.
        same = 0
        while (
            kind[same] != kind[distinct]
            or k[same] != k[distinct]
            or threshold[same] != threshold[distinct]
        ):
            same += 1
        which[m] = same
        distinct += same == distinct
    kind, k, threshold = kind[:distinct], k[:distinct], threshold[:distinct]
    most = largest_k(k)
    overfull, number = np.zeros(distinct, np.int64), np.zeros(distinct, np.int64)
    some = count if kind[0] == EXPECTED_RANK else max(WALK_AT_LEAST, 4 * most)
    while True:
        indices = np.empty(min(some, count), np.int64)
        seen = position = 0
        while position < count and seen < len(indices):
            if records.ints[LEAVES, position] > limit:
                indices[seen] = position
                seen += 1
            position += 1
        chance, rule, group = take(
            records.floats[CHANCE], records.ints[RULE], records.ints[GROUP], indices[:seen]
        )
        chosen, weight = np.empty(distinct * seen, np.int64), np.empty(distinct * seen)
        closed = -1
        if seen > 0:
            closed = answer_specs(
                window.answer, window.weigh, window.pick, kind, k, threshold, chance, rule, group,
                overfull, number, chosen, weight,
            )  # fmt: skip
        if closed >= 0 or position == count:
            break
        some *= 4
    if seen > 0:
        meta[WALKS] += 1
        meta[WORK] += most * (seen if closed < 0 else closed)
    for m in range(members):
        q = together[m]
        if seen == 0 and (queries.only_changes[q] == 0 or shown[q] == 0):
            continue  # the window is empty, and the query need not learn it
        a = which[m]
        meta[OVERFULL] += overfull[a]
        shown[q] = number[a]
        report = roomy(report, 1, number[a])
        first = add_head(report, 0, moment, q, number[a])
        for j in range(number[a]):
            record = indices[chosen[a * seen + j]]
            report.records[first + j] = records.ints[ID, record]
            report.numbers[0, first + j] = records.floats[SCORE, record]
            report.numbers[1, first + j] = weight[a * seen + j]
    return report
