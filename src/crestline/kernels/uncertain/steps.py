"""Going from step to step: which step is next, the answer at it, the snapshot to report.

A synopsis goes from one step to the next (`next_step`): those at which records arrive, or every
one. Its numbers stand in ``meta``, an array with the entries below and some of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.common.output import Report, add_head, put, roomy
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import CHANCE, GROUP, ID, LEAVES, RULE, SCORE, RecordList
from crestline.kernels.uncertain.worlds import pick, weigh
from crestline.types import Floats, Ints

#: Entries of ``meta`` that every synopsis has: the last step handled, the step from which on the
#: window is empty, how many records the latest answer shows, how many answers had a rule above 1,
#: whether the latest answer was never reported.
STEP, EMPTY_FROM, SHOWN, OVERFULL, STALE = range(5)
#: The first entry of ``meta`` that a synopsis may use as it likes.
OWN = 5
#: Numbers that are reported of a record: score and weight.
NUMBERS = 2


class SynopsisQuery(NamedTuple):
    """What a synopsis answers, and when."""

    #: The kind of answer; see ``kernels.uncertain.closing``.
    kind: int
    k: int
    threshold: float
    #: Whether every step is due, or only those at which records arrive.
    every_step: bool
    only_changes: bool
    #: Whether the records of a step leave together.
    leave_together: bool
    #: The addresses of ``weigh`` and ``pick``.
    weigh: int
    pick: int


class Shown(NamedTuple):
    """The latest answer: ids, and scores and weights in two rows."""

    ids: Ints
    numbers: Floats


@kernel
def depth(query: SynopsisQuery, records: RecordList, start: int, count: int) -> int:
    """Return how many of the records close; -1 if they do not."""
    end = start + count
    closed, _ = weigh(
        query.weigh, query.kind, query.k, query.threshold, records.floats[CHANCE, start:end],
        records.ints[RULE, start:end], records.ints[GROUP, start:end], np.empty(count),
        np.empty(count), np.empty(count, np.int64),
    )  # fmt: skip
    return int(closed)


@kernel
def compact_size(query: SynopsisQuery, records: RecordList, start: int, count: int) -> int:
    """Return how many of the records are in their compact set: all if they do not close."""
    closed = depth(query, records, start, count)
    return count if closed < 0 else closed


@kernel
def next_step(query: SynopsisQuery, arriving: int, changing: int, meta: Ints) -> int:
    """Return the next step with anything to report. At ``arriving`` records arrive, at
    ``changing`` a record leaves that matters."""
    if not query.every_step or meta[EMPTY_FROM] <= meta[STEP]:
        return arriving
    if query.only_changes:
        return min(arriving, max(meta[STEP] + 1, changing))
    return int(meta[STEP] + 1)


@kernel
def take_step(arrivals: RecordList, steps: Ints, position: int, step: int, meta: Ints) -> int:
    """Return the position behind the records that arrive at ``step``."""
    while position < len(steps) and steps[position] == step:
        meta[EMPTY_FROM] = max(meta[EMPTY_FROM], arrivals.ints[LEAVES, position])
        position += 1
    return position


@kernel
def answer(
    query: SynopsisQuery, records: RecordList, count: int, shown: Shown, meta: Ints
) -> tuple[int, bool, Shown]:
    """Return how many of the records close, whether the answer has changed, and the answer."""
    if count == 0:
        changed = meta[SHOWN] > 0
        meta[SHOWN] = 0
        return -1, changed, shown
    value, best, weight = np.empty(count), np.empty(count), np.empty(count)
    leader, chosen = np.empty(count, np.int64), np.empty(count, np.int64)
    group = records.ints[GROUP, :count]
    closed, overfull = weigh(
        query.weigh, query.kind, query.k, query.threshold, records.floats[CHANCE, :count],
        records.ints[RULE, :count], group, value, best, leader,
    )  # fmt: skip
    meta[OVERFULL] += overfull
    decisive = count if closed < 0 else closed
    number = pick(
        query.pick, query.kind, query.k, query.threshold, decisive, group, value, best, leader,
        chosen, weight,
    )  # fmt: skip
    changed = number != meta[SHOWN]
    if len(shown.ids) < number:
        shown = Shown(np.empty(2 * number, np.int64), np.empty((2, 2 * number)))
        changed = True
    for j in range(number):
        id = records.ints[ID, chosen[j]]
        if changed or id != shown.ids[j] or weight[j] != shown.numbers[1, j]:
            changed = True
            shown.ids[j] = id
            shown.numbers[0, j] = records.floats[SCORE, chosen[j]]
            shown.numbers[1, j] = weight[j]
    meta[SHOWN] = number
    return closed, changed, shown


@kernel
def add_due(
    query: SynopsisQuery, step: int, changed: bool, shown: Shown, meta: Ints, report: Report
) -> Report:
    """Add the snapshot of a step if it is due: where only changes are reported, if it has changed;
    else if the window is not empty."""
    due = changed or meta[STALE] > 0 if query.only_changes else meta[EMPTY_FROM] > step
    meta[STALE] = 0
    return add_answer(report, step, 0, shown, meta[SHOWN]) if due else report


@kernel
def add_answer(report: Report, end: int, query: int, shown: Shown, count: int) -> Report:
    """Add a snapshot of ``count`` records. The partition is the caller's to fill in."""
    report = roomy(report, count)
    first = add_head(report, 0, end, query, count)
    put(report.records, first, shown.ids, 0, count)
    for row in range(NUMBERS):
        put(report.numbers[row], first, shown.numbers[row], 0, count)
    return report
