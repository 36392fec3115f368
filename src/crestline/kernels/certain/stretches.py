"""A stretch of steps over one order of records: who is alive changes, the order does not.

Every record of the stretch, listed or new, has its *place* in the order from the beginning. A birth
or an expiry switches one place on or off. The answer is the first k places that are on; the *edge*
behind the last of them moves only past what has changed. So a step costs what is born and expires.

A snapshot that is written after few changes is a copy of the one before it, with a row more or less
at the changed places: k rows are copied in order, and none is looked up. After many changes all
places before the edge are gone through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER, NOWHERE
from crestline.kernels.common.output import RECORDS, SNAPSHOTS, Report, add_head
from crestline.kernels.common.sort import SortRoom, sort_records
from crestline.kernels.common.windows import StepWindow
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints

#: Entries of a cursor. Of the stretch: its first new record, the one behind its last new one, its
#: last step, and how many places there are. Where the walk is: the step, the next new record to be
#: born and the next to expire, the next listed one to expire and how many will, the first place
#: that may be on, the edge, and how many places before it are on. Of what is written: the row at
#: which the latest snapshot begins, NOWHERE if the stretch has none; up to which place the ids and
#: scores are known.
CURSOR = 14
FIRST, STOP, LAST, SIZE, STEP, BORN, GONE = range(7)
FADING, FADES, LOW, EDGE, COUNT, FORMER, KNOWN = range(7, CURSOR)
#: A snapshot is copied from the one before it if no more places have changed, nor more than this
#: share of its rows.
_EDITS, _SHARE = 32, 1 / 8


class Lived(NamedTuple):
    """Records by index: ids, scores, what breaks ties (larger first), births and lives."""

    id: Ints
    score: Floats
    tie: Ints
    birth: Ints
    life: Ints


class Places(NamedTuple):
    """The places of the records of a stretch."""

    #: Whether the record at each place is alive.
    on: Bools
    #: Where the new records are, by birth.
    new: Ints
    #: Where the listed records are that expire in the stretch, their lives, and the order of these.
    fading: Ints
    life: Ints
    order: Ints
    #: How soon they expire: what the order is computed from.
    soon: Floats
    sooner: Ints
    #: Ids and scores by place, as far as they are known.
    id: Ints
    score: Floats
    #: Places before the edge that a step has switched; of more than ``_EDITS`` the last one only.
    edited: Ints


@kernel
def places_for(listed: int, new: int) -> Places:
    """Room for so many records, of which so many are new."""
    return Places(
        np.empty(listed, np.bool_), np.empty(new, np.int64),
        np.empty(listed, np.int64), np.empty(listed, np.int64), np.empty(listed, np.int64),
        np.empty(listed, np.float64), np.empty(listed, np.int64),
        np.empty(listed, np.int64), np.empty(listed, np.float64), np.empty(_EDITS + 1, np.int64),
    )  # fmt: skip


@borrowing_kernel
def write_rows(report: Report, first: int, top: Ints, count: int, records: Lived) -> None:
    """Write the ids and scores of the first ``count`` records of ``top`` from the row on."""
    rows, numbers = report.records, report.numbers
    ids, scores = records.id, records.score
    for i in range(count):
        rows[first + i] = ids[top[i]]
    for i in range(count):
        numbers[0, first + i] = scores[top[i]]


@borrowing_kernel
def begin_stretch(
    k: int, chain: Ints, lives: Ints, places: Places, tally: Ints, room: SortRoom, cursor: Ints
) -> None:
    """Switch on the listed records of the chain, those with an index below that of the first new
    one, and find out which of them expire before the stretch is over."""
    on, fading, life = places.on, places.fading, places.life
    first, last, size = cursor[FIRST], cursor[LAST], cursor[SIZE]
    fades = 0
    for i in range(size):
        record = chain[i]
        listed = record < first
        on[i] = listed
        fading[fades], life[fades] = i, lives[record]
        fades += listed & (lives[record] < last)
    count, edge = 0, 0
    while count < k and edge < size:
        count += on[edge]
        edge += 1
    _order_lives(places, fades, cursor[STEP], last, tally, room)
    cursor[BORN], cursor[GONE], cursor[FADING], cursor[FADES] = first, first, 0, fades
    cursor[LOW], cursor[EDGE], cursor[COUNT] = 0, edge, count
    cursor[FORMER], cursor[KNOWN] = NOWHERE, 0


@borrowing_kernel
def _order_lives(
    places: Places, count: int, step: int, last: int, tally: Ints, room: SortRoom
) -> None:
    """Put the lives of the listed records that expire from ``step`` on and before ``last`` into
    their order: by counting, unless there are far more steps than records."""
    life, order = places.life, places.order
    if count > 0 and last - step <= len(tally):
        for i in range(last - step):
            tally[i] = 0
        for i in range(count):
            tally[life[i] - step] += 1
        behind = count
        for i in range(last - step - 1, -1, -1):
            behind -= tally[i]
            tally[i] = behind
        for i in range(count):
            place = tally[life[i] - step]
            order[place] = i
            tally[life[i] - step] = place + 1
        return
    for i in range(count):
        order[i], places.soon[i], places.sooner[i] = i, step - life[i], -life[i]
    sort_records(order, 0, count, room, places.soon, places.sooner)


@borrowing_kernel
def _write_places(
    report: Report, first: int, places: Places, chain: Ints, records: Lived, cursor: Ints
) -> None:
    """Write the answer from the row ``first`` on: go through all places before the edge."""
    on, id_at, score_at = places.on, places.id, places.score
    rows, numbers = report.records, report.numbers
    low, edge = cursor[LOW], cursor[EDGE]
    for place in range(cursor[KNOWN], edge):
        id_at[place] = records.id[chain[place]]
    for place in range(cursor[KNOWN], edge):
        score_at[place] = records.score[chain[place]]
    cursor[KNOWN] = max(cursor[KNOWN], edge)
    while low < edge and not on[low]:
        low += 1
    cursor[LOW] = low
    row = first
    for place in range(low, edge):
        rows[row], numbers[0, row] = id_at[place], score_at[place]
        row += on[place]


@borrowing_kernel
def _copy_rows(report: Report, source: int, target: int, count: int) -> None:
    """Copy rows to where they do not overlap; the compiler vectorises loops over slices only."""
    ids, to_ids = report.records[source : source + count], report.records[target : target + count]
    scores = report.numbers[0, source : source + count]
    to_scores = report.numbers[0, target : target + count]
    for i in range(count):
        to_ids[i] = ids[i]
    for i in range(count):
        to_scores[i] = scores[i]


@borrowing_kernel
def _how_many(on: Bools, start: int, stop: int) -> int:
    """How many of these places are on."""
    stretch, count = on[start:stop], 0
    for i in range(len(stretch)):
        count += stretch[i]
    return count


@borrowing_kernel
def _write_edited(
    report: Report, first: int, former: int, places: Places, edits: int, outside: int, chain: Ints,
    records: Lived, cursor: Ints,
) -> None:  # fmt: skip
    """Write the answer from the row ``first`` on: the snapshot from the row ``former`` on, and the
    ``edits`` places that were switched since. ``outside`` was the edge then.

    The former snapshot ends where this one begins. No place is switched twice: only a window that
    is shorter than its slide can lose a record in the step in which it is born, and that window
    loses all others too.
    """
    on, edited = places.on, places.edited
    rows, numbers = report.records, report.numbers
    for i in range(1, edits):
        place, hole = edited[i], i
        while hole > 0 and edited[hole - 1] > place:
            edited[hole] = edited[hole - 1]
            hole -= 1
        edited[hole] = place
    begin, source, target, stop = cursor[LOW], former, first, first + cursor[COUNT]
    for i in range(edits):
        place = edited[i]
        same = min(_how_many(on, begin, place), stop - target)
        _copy_rows(report, source, target, same)
        source, target, begin = source + same, target + same, place + 1
        if not on[place]:
            source += 1
        elif target < stop:
            rows[target] = records.id[chain[place]]
            numbers[0, target] = records.score[chain[place]]
            target += 1
    same = min(first - source, stop - target)
    _copy_rows(report, source, target, same)
    target += same
    place = outside
    while target < stop:
        if on[place]:
            rows[target] = records.id[chain[place]]
            numbers[0, target] = records.score[chain[place]]
            target += 1
        place += 1


@borrowing_kernel
def walk(
    p: int, window: StepWindow, records: Lived, chain: Ints, places: Places, shown: Bools,
    cursor: Ints, report: Report,
) -> bool:  # fmt: skip
    """Take the steps of a stretch. Return True when all is done, False when the report is full:
    then call again.

    The caller enlarges the report: replacing its arrays within the loop would count references in
    every turn.
    """
    births, lives = records.birth, records.life
    on, new, fading, life, order = places.on, places.new, places.fading, places.life, places.order
    k, only_changes, on_arrival = window.k, window.only_changes, window.on_arrival
    edited, filled = places.edited, report.filled
    space, most = len(report.records), report.heads.shape[1]
    first, stop, last, size = cursor[FIRST], cursor[STOP], cursor[LAST], cursor[SIZE]
    step, born, gone, fade = cursor[STEP], cursor[BORN], cursor[GONE], cursor[FADING]
    fades, low, edge, count = cursor[FADES], cursor[LOW], cursor[EDGE], cursor[COUNT]
    former, finished = cursor[FORMER], False
    while filled[SNAPSHOTS] < most and filled[RECORDS] + k <= space:
        due = births[born] + 1 if born < stop else NEVER
        if count > 0 and not only_changes and not on_arrival:
            due = step + 1
        elif not on_arrival:
            if fade < fades:
                due = min(due, max(life[order[fade]], step) + 1)
            if gone < born:
                due = min(due, max(lives[gone], step) + 1)
        if due > last:
            finished = True
            break
        step, edits, outside = due, 0, edge
        while born < stop and births[born] < step:
            place = new[born - first]
            on[place] = True
            if place < edge:
                low = min(low, place)
                count += 1
                edited[min(edits, _EDITS)] = place
                edits += 1
            born += 1
        while fade < fades and life[order[fade]] < step:
            place = fading[order[fade]]
            on[place] = False
            if place < edge:
                count -= 1
                edited[min(edits, _EDITS)] = place
                edits += 1
            fade += 1
        while gone < born and lives[gone] < step:
            place = new[gone - first]
            on[place] = False
            if place < edge:
                count -= 1
                edited[min(edits, _EDITS)] = place
                edits += 1
            gone += 1
        while count > k or (count == k and not on[edge - 1]):
            edge -= 1
            count -= on[edge]
        while count < k and edge < size:
            count += on[edge]
            edge += 1
        if edits > 0 and (count > 0 or shown[p]) if only_changes else count > 0:
            shown[p] = count > 0
            position = add_head(report, p, step * window.slide, 0, count)
            cursor[LOW], cursor[EDGE], cursor[COUNT] = low, edge, count
            if former != NOWHERE and edits <= min(_EDITS, count * _SHARE):
                _write_edited(
                    report, position, former, places, edits, outside, chain, records, cursor
                )
            else:
                _write_places(report, position, places, chain, records, cursor)
                low = cursor[LOW]
            former = position
    cursor[STEP], cursor[BORN], cursor[GONE], cursor[FADING] = step, born, gone, fade
    cursor[LOW], cursor[EDGE], cursor[COUNT], cursor[FORMER] = low, edge, count, former
    return finished
