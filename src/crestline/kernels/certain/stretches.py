"""A stretch of steps over one order of records: who is alive changes, the order does not.

Every record of the stretch, listed or new, has its *place* in the order from the beginning. A birth
or an expiry switches one place on or off. The answer is the first k places that are on; the *edge*
behind the last of them moves only past what has changed. So a step costs what is born and expires,
and the places before the edge if a snapshot is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.core.sentinels import NEVER
from crestline.kernels.common.output import RECORDS, SNAPSHOTS, Report, add_head
from crestline.kernels.common.sort import SortRoom, sort_records
from crestline.kernels.common.windows import StepWindow
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Bools, Floats, Ints

#: Entries of a cursor. Of the stretch: its first new record, the one behind its last new one, its
#: last step, and how many places there are. Where the walk is: the step, the next new record to be
#: born and the next to expire, the next listed one to expire and how many will, the first place
#: that may be on, the edge, and how many places before it are on.
FIRST, STOP, LAST, SIZE, STEP, BORN, GONE, FADING, FADES, LOW, EDGE, COUNT = range(12)


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
    #: Room for an answer.
    top: Ints


@kernel
def places_for(listed: int, new: int, k: int) -> Places:
    """Room for so many records, and answers of k."""
    return Places(
        np.empty(listed, np.bool_), np.empty(new, np.int64),
        np.empty(listed, np.int64), np.empty(listed, np.int64), np.empty(listed, np.int64),
        np.empty(listed, np.float64), np.empty(listed, np.int64), np.empty(k + 1, np.int64),
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
    top, filled = places.top, report.filled
    space, most = len(report.records), report.heads.shape[1]
    first, stop, last, size = cursor[FIRST], cursor[STOP], cursor[LAST], cursor[SIZE]
    step, born, gone, fade = cursor[STEP], cursor[BORN], cursor[GONE], cursor[FADING]
    fades, low, edge, count = cursor[FADES], cursor[LOW], cursor[EDGE], cursor[COUNT]
    finished = False
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
        step, changed = due, False
        while born < stop and births[born] < step:
            place = new[born - first]
            on[place] = True
            if place < edge:
                low = min(low, place)
                count += 1
                changed = True
            born += 1
        while fade < fades and life[order[fade]] < step:
            place = fading[order[fade]]
            on[place] = False
            if place < edge:
                count -= 1
                changed = True
            fade += 1
        while gone < born and lives[gone] < step:
            place = new[gone - first]
            on[place] = False
            if place < edge:
                count -= 1
                changed = True
            gone += 1
        while count > k or (count == k and not on[edge - 1]):
            edge -= 1
            count -= on[edge]
        while count < k and edge < size:
            count += on[edge]
            edge += 1
        if changed and (count > 0 or shown[p]) if only_changes else count > 0:
            shown[p] = count > 0
            position = add_head(report, p, step * window.slide, 0, count)
            while low < edge and not on[low]:
                low += 1
            found = 0
            for place in range(low, edge):
                top[found] = chain[place]
                found += on[place]
            write_rows(report, position, top, count, records)
    cursor[STEP], cursor[BORN], cursor[GONE], cursor[FADING] = step, born, gone, fade
    cursor[LOW], cursor[EDGE], cursor[COUNT] = low, edge, count
    return finished
