"""The judge: recompute every due result by brute force from the complete list of records.

It shares no code with the engine. A stream is a list of dictionaries in arrival order. Times are
whole microseconds since 1970, negative before. A :class:`Spec` is the query. ``expect`` returns the
rows and the rejects that the engine must give; for an unfinished stream only what the watermark has
made due.

Three functions decide everything:

1. ``admit`` judges the records one by one in arrival order: WHERE first, then bad, then late.
2. ``snapshots`` computes the top k of every non-empty due window of every partition from scratch.
3. ``changes``, ``entries`` and ``revisions`` compare the windows of different moments.

>>> spec = Spec(1, "rows", width=2, slide=1, order=(("val", True),))
>>> records = [{"id": "a", "val": 3.0}, {"id": "b", "val": None}, {"id": "c", "val": 1.0}]
>>> expected = expect(spec, records)
>>> [(row["window_end"], row["id"]) for row in expected.rows]
[(1, 'a'), (2, 'a')]
>>> expected.rejects
{1: {('val', 'score is NULL')}}
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crestline.testing.ordering import Arrived, Cell, cell_key, counting_order, in_order, ranked
from crestline.testing.spec import Record, Row, Spec

#: The columns and reasons for which a record is rejected.
Faults = set[tuple[str, str]]


@dataclass(frozen=True)
class JudgedRecords:
    """The accepted records in arrival order, and the others with their reasons."""

    accepted: list[Arrived]
    #: Arrival numbers of late records. With LATE REVISE they are accepted nevertheless.
    late: list[int]
    #: By arrival number: every reason that is true of the record.
    rejects: dict[int, Faults]
    #: The watermark after each accepted record.
    watermarks: list[int | None]


@dataclass(frozen=True)
class TopK:
    """The top k of one window of one partition."""

    start: int | None
    top: list[Arrived]


@dataclass(frozen=True)
class Expected:
    """What the engine must give: result rows, rejects and late records by arrival number."""

    rows: list[Row]
    rejects: dict[int, Faults]
    late: list[int]


def expect(
    spec: Spec, records: Sequence[Record], *, finished: bool = True, following: bool = False
) -> Expected:
    """Compute what the engine must give for these records.

    With ``finished=False`` that is what is due by now. A run that is ``following`` a stream has the
    lateness 0 unless the query says otherwise, and an unfinished run does follow. In a bounded run
    without LATENESS nothing is late.
    """
    if spec.lateness is None and (following or not finished):
        spec = replace(spec, lateness=0)
    admitted = admit(spec, records)
    if spec.late == "REVISE":
        if spec.emit != "SNAPSHOTS":
            raise ValueError(f"EMIT {spec.emit} with LATE REVISE has no defined meaning")
        rows = revisions(spec, admitted, finished)
    else:
        watermark = admitted.watermarks[-1] if admitted.watermarks else None
        until = None if finished else watermark
        if spec.emit == "CHANGES":
            rows = changes(spec, admitted.accepted, until)
        elif spec.emit == "ENTRIES":
            rows = entries(spec, admitted.accepted, until)
        else:
            by_cell = snapshots(spec, admitted.accepted, until)
            rows = [
                row
                for cell in in_order(by_cell)
                for row in snapshot_rows(spec, cell, by_cell[cell])
            ]
    return Expected(rows, admitted.rejects, admitted.late)


# --- which records count -------------------------------------------------------------------------


def admit(spec: Spec, records: Sequence[Record]) -> JudgedRecords:
    """Judge every record in arrival order."""
    accepted: list[Arrived] = []
    late: list[int] = []
    rejects: dict[int, Faults] = {}
    watermarks: list[int | None] = []
    newest: int | None = None
    for number, record in enumerate(records):
        if spec.where is not None and not spec.where(record):
            continue
        if faults := faults_of(spec, record):
            rejects[number] = faults
            continue
        time = 0
        if spec.ts is not None:
            time = record[spec.ts]
            behind = 0 if newest is None else newest - time
            if spec.lateness is not None and behind > spec.lateness:
                late.append(number)
                if spec.late == "DROP":
                    rejects[number] = {(spec.ts, "late")}
                    continue
            newest = time if newest is None else max(newest, time)
        accepted.append(Arrived(number, record, time))
        watermarks.append(None if newest is None else newest - (spec.lateness or 0))
    return JudgedRecords(accepted, late, rejects, watermarks)


def faults_of(spec: Spec, record: Record) -> Faults:
    """Find every reason to reject a record."""
    faults = set()
    score = spec.order[0][0]
    if record[score] is None:
        faults.add((score, "score is NULL"))
    elif record[score] != record[score]:
        faults.add((score, "score is NaN"))
    if spec.ts is not None and record[spec.ts] is None:
        faults.add((spec.ts, "event time is NULL"))
    return faults


# --- windows -------------------------------------------------------------------------------------


def snapshots(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> dict[Cell, TopK]:
    """Compute the top k of every non-empty due window.

    ``until`` is the watermark; None means that the stream has ended.
    """
    by_cell = {}
    for partition, members in partitions(spec, accepted).items():
        for end, start, window in windows(spec, members, accepted, until, every=True):
            if window:
                by_cell[(end, partition)] = TopK(start, ranked(spec, window)[: spec.k])
    return by_cell


def partitions(spec: Spec, accepted: Sequence[Arrived]) -> dict[tuple[Any, ...], list[Arrived]]:
    """Group the records by their values of PARTITION BY."""
    groups: dict[tuple[Any, ...], list[Arrived]] = {}
    for arrived in accepted:
        groups.setdefault(tuple(arrived.record[c] for c in spec.partition), []).append(arrived)
    return groups


def windows(
    spec: Spec,
    members: Sequence[Arrived],
    accepted: Sequence[Arrived],
    until: int | None,
    *,
    every: bool,
) -> Iterator[tuple[int, int | None, list[Arrived]]]:
    """Yield ``(end, start, records)`` of the windows of one partition, ordered by end.

    With ``every`` these are all windows that hold a record. Otherwise they are at least those whose
    content differs from the window before. That suffices for changes, and stays small where a day
    has 86 billion equal windows.
    """
    if spec.counts_rows:
        done = [m for m in members if until is None or spec.ts is None or m.time < until]
        counted = counting_order(spec, done)
        for end in range(spec.slide, len(counted) + 1, spec.slide):
            start = 0 if spec.kind == "unbounded_rows" else max(0, end - spec.width)
            yield end, start, counted[start:end]
        return
    in_time = sorted(members, key=lambda m: m.time)
    times = [m.time for m in in_time]
    if spec.kind == "range":
        for t in sorted({t for t in times if until is None or t < until}):
            oldest = bisect_left(times, t - spec.width + 1)
            yield t, t - spec.width, in_time[oldest : bisect_left(times, t + 1)]
        return
    for end in due_ends(spec, times, last_end(spec, accepted, until), every):
        newest = bisect_left(times, end)
        if spec.kind == "unbounded_time":
            yield end, None, in_time[:newest]
        else:
            yield end, end - spec.width, in_time[bisect_left(times, end - spec.width) : newest]


def next_multiple(time: int, slide: int) -> int:
    """Return the first multiple of the slide after this time."""
    return (time // slide + 1) * slide


def last_end(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> int:
    """Return the end of the last due window."""
    end = next_multiple(max(a.time for a in accepted), spec.slide)
    return end if until is None else min(end, until // spec.slide * spec.slide)


def due_ends(spec: Spec, times: Sequence[int], last: int, every: bool) -> list[int]:
    """List the ends of windows that hold a record, or at which a record comes or goes."""
    ends: set[int] = set()
    for time in set(times):
        first = next_multiple(time, spec.slide)
        if spec.kind == "unbounded_time":
            ends.update(range(first, last + 1, spec.slide) if every else [first])
        elif every:
            ends.update(range(first, min(last, time + spec.width) + 1, spec.slide))
        else:  # the ends at which the record enters and has left
            ends.update((first, next_multiple(time + spec.width, spec.slide)))
    return sorted(end for end in ends if end <= last)


# --- rows ----------------------------------------------------------------------------------------


def snapshot_rows(spec: Spec, cell: Cell, snapshot: TopK, revision: int | None = None) -> list[Row]:
    """Write a snapshot as result rows."""
    end, partition = cell
    rows = []
    for rank, arrived in enumerate(snapshot.top, start=1):
        row = {"query": spec.name or "query", "window_start": snapshot.start, "window_end": end}
        row |= dict(zip(spec.partition, partition, strict=True))
        row |= {"rank": rank, **shown(spec, arrived)}
        if revision is not None:
            row["revision"] = revision
        rows.append(row)
    return rows


def shown(spec: Spec, arrived: Arrived) -> Row:
    """Return the selected columns and the score of a record."""
    selected = {c: arrived.record[c] for c in spec.select}
    return {**selected, "score": float(arrived.record[spec.order[0][0]])}


def changes(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> list[Row]:
    """Compute the rows of EMIT CHANGES.

    For each moment and partition: leaves by previous rank, then moves and enters by rank.
    """
    cells: dict[Cell, list[Row]] = {}
    for partition, members in partitions(spec, accepted).items():
        before: dict[int, tuple[int, Arrived]] = {}  # by arrival number: rank, record
        for end, _, window in windows(spec, members, accepted, until, every=False):
            top = ranked(spec, window)[: spec.k]
            now = {arrived.number: (rank, arrived) for rank, arrived in enumerate(top, start=1)}
            moved: list[tuple[str, int | None, int | None, Arrived]] = [
                ("leave", None, rank, arrived)
                for number, (rank, arrived) in before.items()
                if number not in now
            ]
            for number, (rank, arrived) in now.items():
                previous = before[number][0] if number in before else None
                if previous != rank:
                    moved.append(("move" if previous else "enter", rank, previous, arrived))
            cells[(end, partition)] = [
                {
                    **{"query": spec.name or "query", "at": end},
                    **dict(zip(spec.partition, partition, strict=True)),
                    **{"change": change, "rank": rank, "previous_rank": previous},
                    **shown(spec, arrived),
                }
                for change, rank, previous, arrived in moved
            ]
            before = now
    return [row for cell in in_order(cells) for row in cells[cell]]


def entries(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> list[Row]:
    """Compute the rows of EMIT ENTRIES: each record at the first moment at which it is one of the
    top k, by rank."""
    cells: dict[Cell, list[Row]] = {}
    for partition, members in partitions(spec, accepted).items():
        seen: set[int] = set()  # arrival numbers
        for end, _, window in windows(spec, members, accepted, until, every=False):
            rows = cells[(end, partition)] = []
            for rank, arrived in enumerate(ranked(spec, window)[: spec.k], start=1):
                if arrived.number not in seen:
                    seen.add(arrived.number)
                    row = {"query": spec.name or "query", "at": end}
                    row |= dict(zip(spec.partition, partition, strict=True))
                    row |= {"change": "enter", "rank": rank, "previous_rank": None}
                    rows.append(row | shown(spec, arrived))
    return [row for cell in in_order(cells) for row in cells[cell]]


def revisions(spec: Spec, admitted: JudgedRecords, finished: bool) -> list[Row]:
    """Compute the rows of LATE REVISE.

    Whenever a result falls due, every snapshot that differs from what was last sent is sent again.
    The first rows of a window have revision 0, also when a late record brings them.
    """
    sent: dict[Cell, tuple[int, list[Row]]] = {}
    rows: list[tuple[Cell, list[Row]]] = []

    def send(accepted: Sequence[Arrived], until: int | None) -> None:
        for cell, snapshot in snapshots(spec, accepted, until).items():
            plain = snapshot_rows(spec, cell, snapshot)
            revision, last = sent.get(cell, (-1, None))
            if not same(plain, last):
                sent[cell] = (revision + 1, plain)
                rows.append((cell, snapshot_rows(spec, cell, snapshot, revision + 1)))

    before: int | None = None
    for count, now in enumerate(admitted.watermarks, start=1):
        accepted = admitted.accepted[:count]
        if before is not None and now is not None and falls_due(spec, accepted, before, now):
            send(accepted, now)
        before = now
    if finished and admitted.accepted:
        send(admitted.accepted, None)
    rows.sort(key=lambda sending: sending[1][0]["revision"])
    rows.sort(key=lambda sending: cell_key(sending[0]))
    return [row for _, sending in rows for row in sending]


def falls_due(spec: Spec, accepted: Sequence[Arrived], before: int, now: int) -> bool:
    """Tell whether the watermark passes a due moment as it goes from ``before`` to ``now``."""
    if spec.kind == "range":
        return any(before <= a.time < now for a in accepted)
    if spec.counts_rows:
        return now > before
    first = next_multiple(min(a.time for a in accepted), spec.slide)
    return max(first, next_multiple(before, spec.slide)) <= now


def same(rows: list[Row], others: list[Row] | None) -> bool:
    """Tell whether rows are equal, where NaN equals NaN."""
    return others is not None and comparable(rows) == comparable(others)


def comparable(rows: Sequence[Row]) -> list[Row]:
    """Replace every NaN by a value that equals itself."""
    return [{name: "NaN" if v != v else v for name, v in row.items()} for row in rows]


__all__ = ["JudgedRecords", "Expected", "TopK", "admit", "comparable", "expect"]
