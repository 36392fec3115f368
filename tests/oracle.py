"""The judge: every due result, recomputed by brute force from the complete list of records.

It shares no code with the engine. A stream is a list of dicts in arrival order, times are whole
microseconds since 1970 (negative before), and a :class:`Spec` says what is asked. ``expect`` gives
the rows the engine owes, the rejects it must name, and, for an unfinished stream, only what the
watermark has already made due.

Three sentences decide everything:

1. ``admit`` judges the records one by one in arrival order: WHERE first, then bad, then late.
2. ``snapshots`` lists the top k of every non-empty due window of every partition, from scratch.
3. ``changes`` and ``revisions`` are differences between what ``snapshots`` says at two moments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from typing import Any, Literal

Record = dict[str, Any]
Row = dict[str, Any]
Kind = Literal["range_slide", "range", "rows", "rows_on", "unbounded_time", "unbounded_rows"]
Cell = tuple[int, tuple[Any, ...]]  # (window end, partition values)
#: A lateness with which no record is late.
FOREVER = 10**18


@dataclass(frozen=True)
class Spec:
    """A query: ``width`` and ``slide`` are microseconds, or records for the kinds with rows.

    >>> print(Spec(2, "range_slide", 30, 10, ts="ts", order=(("val", True),)).text())
    SELECT TOP 2 `id` FROM s [RANGE 30 us SLIDE 10 us ON `ts`] ORDER BY `val` DESC
    """

    k: int
    kind: Kind
    width: int = 0
    slide: int = 1
    ts: str | None = None
    order: tuple[tuple[str, bool], ...] = (("val", True),)
    partition: tuple[str, ...] = ()
    select: tuple[str, ...] = ("id",)
    key: tuple[str, ...] = ()
    #: None: the clause is not written. A bounded run then drops nothing as late.
    lateness: int | None = None
    late: Literal["DROP", "REVISE"] = "DROP"
    emit: Literal["SNAPSHOTS", "CHANGES"] = "SNAPSHOTS"
    where: Callable[[Record], bool] | None = field(default=None, compare=False)
    where_sql: str | None = None
    name: str | None = None
    #: The columns of the stream: where they are what is selected, ``*`` is written.
    columns: tuple[str, ...] = ()
    #: Whether ORDER BY calls selected columns by their numbers.
    numbered: bool = False

    def __post_init__(self) -> None:
        if self.late == "REVISE" and self.lateness is None:
            object.__setattr__(self, "lateness", 0)  # the one is not written without the other

    @property
    def counts_rows(self) -> bool:
        return self.kind in ("rows", "rows_on", "unbounded_rows")

    @property
    def window(self) -> str:
        on = f" ON {quoted(self.ts)}" if self.ts else ""
        return {
            "range_slide": f"RANGE {self.width} us SLIDE {self.slide} us{on}",
            "range": f"RANGE {self.width} us{on}",
            "rows": f"ROWS {self.width} SLIDE {self.slide}",
            "rows_on": f"ROWS {self.width} SLIDE {self.slide}{on}",
            "unbounded_time": f"UNBOUNDED SLIDE {self.slide} us{on}",
            "unbounded_rows": f"UNBOUNDED SLIDE {self.slide} ROWS",
        }[self.kind]

    def text(self, using: str | None = None, stream: str = "s") -> str:
        """The query in the language of Crestline."""
        all_columns = tuple(c for c in self.columns if c not in self.partition)
        star = bool(all_columns) and self.select == all_columns
        numbers = {c: str(n) for n, c in enumerate(self.select, 1) if self.numbered and not star}
        terms = ", ".join(
            f"{numbers.get(c, quoted(c))} {'DESC' if desc else 'ASC'}" for c, desc in self.order
        )
        parts = [
            f"CREATE QUERY {self.name} AS" if self.name else "",
            f"SELECT TOP {self.k} {'*' if star else ', '.join(map(quoted, self.select))}",
            f"FROM {stream} [{self.window}]",
            f"WHERE {self.where_sql}" if self.where_sql else "",
            f"PARTITION BY {', '.join(map(quoted, self.partition))}" if self.partition else "",
            f"ORDER BY {terms}",
            f"KEY ({', '.join(map(quoted, self.key))})" if self.key else "",
            f"LATENESS {self.lateness} us" if self.lateness is not None else "",
            "LATE REVISE" if self.late == "REVISE" else "",
            "EMIT CHANGES" if self.emit == "CHANGES" else "",
            f"USING {using}" if using else "",
        ]
        return " ".join(part for part in parts if part)


def quoted(column: str | None) -> str:
    return "`" + str(column).replace("`", "``") + "`"


@dataclass(frozen=True)
class Arrived:
    """An accepted record with its arrival number; ``time`` is 0 where the query has no time."""

    number: int
    record: Record
    time: int


@dataclass(frozen=True)
class Admission:
    """Who may take part, in arrival order, and who may not and why."""

    accepted: list[Arrived]
    late: list[int]  # arrival numbers; with LATE REVISE these are accepted all the same
    rejects: dict[int, set[tuple[str, str]]]  # number -> every (column, reason) that is true of it
    watermarks: list[int | None]  # after each accepted record


@dataclass(frozen=True)
class Snapshot:
    start: int | None
    top: list[Arrived]


@dataclass(frozen=True)
class Expected:
    rows: list[Row]
    rejects: dict[int, set[tuple[str, str]]]
    late: list[int]


def expect(
    spec: Spec, records: Sequence[Record], *, finished: bool = True, following: bool = False
) -> Expected:
    """Everything the engine owes for these records; unfinished, only what is due by now.

    A run that is ``following`` a stream (an unfinished one is) without a LATENESS clause has the
    lateness 0; in a bounded run without the clause nothing is late.
    """
    if spec.lateness is None and (following or not finished):
        spec = replace(spec, lateness=0)
    admitted = admit(spec, records)
    if spec.late == "REVISE":
        if spec.emit == "CHANGES":
            raise ValueError("EMIT CHANGES with LATE REVISE has no defined meaning to judge")
        rows = revisions(spec, admitted, finished)
    else:
        watermark = admitted.watermarks[-1] if admitted.watermarks else None
        until = None if finished else watermark
        if spec.emit == "CHANGES":
            rows = changes(spec, admitted.accepted, until)
        else:
            found = snapshots(spec, admitted.accepted, until)
            rows = [
                row for cell in by_place(found) for row in snapshot_rows(spec, cell, found[cell])
            ]
    return Expected(rows, admitted.rejects, admitted.late)


# --- who takes part ------------------------------------------------------------------------------


def admit(spec: Spec, records: Sequence[Record]) -> Admission:
    accepted: list[Arrived] = []
    late: list[int] = []
    rejects: dict[int, set[tuple[str, str]]] = {}
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
            judged = newest is not None and spec.lateness is not None
            if judged and time < newest - spec.lateness:
                late.append(number)
                if spec.late == "DROP":
                    rejects[number] = {(spec.ts, "late")}
                    continue
            newest = time if newest is None else max(newest, time)
        accepted.append(Arrived(number, record, time))
        watermarks.append(None if newest is None else newest - (spec.lateness or 0))
    return Admission(accepted, late, rejects, watermarks)


def faults_of(spec: Spec, record: Record) -> set[tuple[str, str]]:
    faults = set()
    score = spec.order[0][0]
    if record[score] is None:
        faults.add((score, "score is NULL"))
    elif record[score] != record[score]:
        faults.add((score, "score is NaN"))
    if spec.ts is not None and record[spec.ts] is None:
        faults.add((spec.ts, "event time is NULL"))
    return faults


# --- order ---------------------------------------------------------------------------------------


def place(value: Any) -> tuple[int, Any]:
    """NULL is smallest, NaN is largest; -0.0 equals 0.0, as everywhere in Python."""
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


def compare(a: Any, b: Any) -> int:
    return (place(a) > place(b)) - (place(a) < place(b))


def tie_columns(spec: Spec) -> tuple[str, ...]:
    """The key (by default the selected columns), then whatever else is selected."""
    key = spec.key or spec.select
    return key + tuple(c for c in spec.select if c not in key)


def ranked(spec: Spec, window: Sequence[Arrived]) -> list[Arrived]:
    """The window's records, best first.

    Records that look the same in every result are free to take any order that stays the same. Here
    the one that is counted last is the best, so that in ROWS windows it need not be replaced by its
    twin while it leaves.
    """

    def by_rank(a: Arrived, b: Arrived) -> int:
        for column, descending in spec.order:
            if c := compare(a.record[column], b.record[column]):
                return -c if descending else c
        if spec.ts is None:
            return b.number - a.number
        if a.time != b.time:
            return -1 if a.time > b.time else 1
        return by_columns(spec, a, b) or b.number - a.number

    return sorted(window, key=cmp_to_key(by_rank))


def by_columns(spec: Spec, a: Arrived, b: Arrived) -> int:
    for column in tie_columns(spec):
        if c := compare(a.record[column], b.record[column]):
            return c
    return 0


def counting_order(spec: Spec, records: Sequence[Arrived]) -> list[Arrived]:
    """The order in which ROWS counts: by arrival, or by event time and key."""
    if spec.ts is None:
        return list(records)

    def by_time(a: Arrived, b: Arrived) -> int:
        return a.time - b.time or by_columns(spec, a, b) or a.number - b.number

    return sorted(records, key=cmp_to_key(by_time))


def by_place(cells: Any) -> list[Any]:
    """Cells by window end, then by partition values."""
    return sorted(cells, key=lambda cell: (cell[0], [place(v) for v in cell[1]]))


# --- windows -------------------------------------------------------------------------------------


def snapshots(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> dict[Cell, Snapshot]:
    """The top k of every non-empty window that is due; ``until`` is the watermark, None the end."""
    found = {}
    for partition, members in partitions(spec, accepted).items():
        for end, start, window in windows(spec, members, accepted, until, every=True):
            if window:
                found[(end, partition)] = Snapshot(start, ranked(spec, window)[: spec.k])
    return found


def partitions(spec: Spec, accepted: Sequence[Arrived]) -> dict[tuple[Any, ...], list[Arrived]]:
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
    """``(end, start, records)`` of one partition by end.

    With ``every`` all windows that hold a record, otherwise at least those at which the content
    differs from the window before: enough for changes, and possible where a day has 86 billion
    windows that are all alike.
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
    """The first multiple of the slide after this time."""
    return (time // slide + 1) * slide


def last_end(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> int:
    end = next_multiple(max(a.time for a in accepted), spec.slide)
    return end if until is None else min(end, until // spec.slide * spec.slide)


def due_ends(spec: Spec, times: Sequence[int], last: int, every: bool) -> list[int]:
    ends: set[int] = set()
    for time in set(times):
        first = next_multiple(time, spec.slide)
        if spec.kind == "unbounded_time":
            ends.update(range(first, last + 1, spec.slide) if every else [first])
        elif every:
            ends.update(range(first, min(last, time + spec.width) + 1, spec.slide))
        else:  # it comes in, and it is gone
            ends.update((first, next_multiple(time + spec.width, spec.slide)))
    return sorted(end for end in ends if end <= last)


# --- rows ----------------------------------------------------------------------------------------


def snapshot_rows(
    spec: Spec, cell: Cell, snapshot: Snapshot, revision: int | None = None
) -> list[Row]:
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
    selected = {c: arrived.record[c] for c in spec.select}
    return {**selected, "score": float(arrived.record[spec.order[0][0]])}


def changes(spec: Spec, accepted: Sequence[Arrived], until: int | None) -> list[Row]:
    """Leaves by previous rank, then moves and enters by rank, for each moment and partition."""
    cells: dict[Cell, list[Row]] = {}
    for partition, members in partitions(spec, accepted).items():
        before: dict[int, tuple[int, Arrived]] = {}  # number of the record -> its rank
        for at, _, window in windows(spec, members, accepted, until, every=False):
            top = ranked(spec, window)[: spec.k]
            now = {arrived.number: (rank, arrived) for rank, arrived in enumerate(top, start=1)}
            told: list[tuple[str, int | None, int | None, Arrived]] = [
                ("leave", None, rank, arrived)
                for number, (rank, arrived) in before.items()
                if number not in now
            ]
            for number, (rank, arrived) in now.items():
                previous = before[number][0] if number in before else None
                if previous != rank:
                    told.append(("move" if previous else "enter", rank, previous, arrived))
            cells[(at, partition)] = [
                {
                    **{"query": spec.name or "query", "at": at},
                    **dict(zip(spec.partition, partition, strict=True)),
                    **{"change": change, "rank": rank, "previous_rank": previous},
                    **shown(spec, arrived),
                }
                for change, rank, previous, arrived in told
            ]
            before = now
    return [row for cell in by_place(cells) for row in cells[cell]]


def revisions(spec: Spec, admitted: Admission, finished: bool) -> list[Row]:
    """LATE REVISE: whenever a next result falls due, whatever differs from what was last sent.

    A window of a partition that never had rows counts as not yet reported: its first rows carry
    revision 0, also when a late record brings them.
    """
    sent: dict[Cell, tuple[int, list[Row]]] = {}
    rows: list[tuple[Cell, list[Row]]] = []

    def send(accepted: Sequence[Arrived], until: int | None) -> None:
        found = snapshots(spec, accepted, until)
        for cell, snapshot in found.items():
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
    rows.sort(key=lambda sending: (sending[0][0], [place(v) for v in sending[0][1]]))
    return [row for _, sending in rows for row in sending]


def falls_due(spec: Spec, accepted: Sequence[Arrived], before: int, now: int) -> bool:
    """Whether the watermark, going from ``before`` to ``now``, passes a due moment."""
    if spec.kind == "range":
        return any(before <= a.time < now for a in accepted)
    if spec.counts_rows:
        return now > before
    first = next_multiple(min(a.time for a in accepted), spec.slide)
    return max(first, next_multiple(before, spec.slide)) <= now


def same(rows: list[Row], others: list[Row] | None) -> bool:
    return others is not None and comparable(rows) == comparable(others)


def comparable(rows: Sequence[Row]) -> list[Row]:
    """The rows with every NaN turned into a value that equals itself."""
    return [{name: "NaN" if v != v else v for name, v in row.items()} for row in rows]
