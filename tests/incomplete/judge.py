"""The judge of COMBINE: every due result, recomputed from the complete list of records.

It shares no code with the engine. A stream is a list of dicts in arrival order with the columns
``ts`` (microseconds), ``obj``, ``src``, ``val`` and ``part``; a :class:`Spec` says what is asked.
Most values are multiples of an eighth, so that sums are exact in any order. Others are too large or
too small for that: those are added as the engine says it adds, stream by stream as declared, of a
stream the newest first. Sums that overflow are infinite; if they differ in sign, they cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

Record = dict[str, Any]
Row = dict[str, Any]
NEVER = 1 << 62


@dataclass(frozen=True)
class Spec:
    """A query; ``width`` and ``slide`` are microseconds or records; None: unbounded, every
    arrival."""

    k: int
    timed: bool
    width: int | None
    slide: int | None
    function: str = "SUM"
    streams: tuple[str, ...] | None = ("a", "b", "c")
    weights: tuple[float, ...] = ()
    low: float | None = 0.0
    high: float | None = 8.0
    repeats: str | None = None
    at_most: int = 1
    once: bool = False
    counted: bool = False  # ROWS ... ON ts
    partitioned: bool = False
    lateness: int | None = None  # None: the clause is not written
    emit: str = "SNAPSHOTS"

    @property
    def counts(self) -> bool:
        return self.counted or not self.timed

    @property
    def window(self) -> str:
        on = " ON ts" if self.timed else ""
        if self.width is None:
            slide = f"{self.slide} us{on}" if not self.counts else f"{self.slide} ROWS"
            return f"UNBOUNDED SLIDE {slide}"
        if self.counts:
            return f"ROWS {self.width} SLIDE {self.slide}{on}"
        slide = "" if self.slide is None else f" SLIDE {self.slide} us"
        return f"RANGE {self.width} us{slide}{on}"

    def text(self, using: str | None = None, stream: str = "s") -> str:
        known = ""
        if self.streams is not None:
            known = f" IN ({', '.join(map(repr, self.streams))})"
        value = "val"
        if self.weights:
            assert self.streams is not None
            pairs = zip(self.streams, self.weights, strict=True)
            value += f", ({', '.join(f'{name} => {weight}' for name, weight in pairs)})"
        parts = [
            f"SELECT TOP {self.k} obj FROM {stream} [{self.window}]",
            "PARTITION BY part" if self.partitioned else "",
            f"COMBINE {self.function}({value}) ACROSS src{known} OBJECT obj",
            f"VALUES BETWEEN {self.low} AND {self.high}" if self.high is not None else "",
            f"REPEATS {self.repeats} AT MOST {self.at_most}" if self.repeats else "",
            f"LATENESS {self.lateness} us" if self.lateness is not None else "",
            "EMIT CHANGES" if self.emit == "CHANGES" else "",
        ]
        if using or self.once:
            parts.append(f"USING {using or 'EAA'}" + (" (once => TRUE)" if self.once else ""))
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Seen:
    """An accepted observation; ``at`` is its time, or its position where records are counted."""

    at: int
    time: int
    obj: Any
    src: str
    val: float
    visit: int  # how often the object had come into the window


@dataclass(frozen=True)
class Expected:
    rows: list[Row]
    rejects: dict[int, str]


def expect(
    spec: Spec, records: Sequence[Record], *, finished: bool = True, following: bool = False
) -> Expected:
    """The snapshots the engine owes; unfinished, only what the watermark has passed. Without a
    lateness nothing is late in a bounded run, and it is 0 in one that is ``following``."""
    lateness = spec.lateness
    if lateness is None:
        lateness = 0 if following or not finished else NEVER
    rejects: dict[int, str] = {}
    admitted: list[tuple[int, Record]] = []
    newest: int | None = None
    for number, record in enumerate(records):
        if fault := fault_of(spec, record):
            rejects[number] = fault
        elif spec.timed and newest is not None and record["ts"] < newest - lateness:
            rejects[number] = "late"
        else:
            if spec.timed:
                newest = record["ts"] if newest is None else max(newest, record["ts"])
            admitted.append((number, record))
    watermark = NEVER if finished or newest is None else newest - lateness
    if spec.timed:
        admitted = [each for each in admitted if each[1]["ts"] < watermark]
        admitted.sort(key=lambda each: moment(each[1]))
    rows: list[Row] = []
    groups: dict[Any, list[tuple[int, Record]]] = {}
    for number, record in admitted:
        groups.setdefault(record["part"] if spec.partitioned else None, []).append((number, record))
    for part, members in groups.items():
        seen, count = accepted(spec, members, rejects)
        for end, low, high in due(spec, seen, watermark, count if spec.counts else newest or 0):
            inside = [one for one in seen if low <= one.at < high]
            if inside:
                rows += answer(spec, part, end, inside, [one for one in seen if one.at < high])
    rows.sort(key=lambda row: (row["window_end"], row.get("part", 0), row["rank"]))
    return Expected(rows, rejects)


def fault_of(spec: Spec, record: Record) -> str | None:
    if spec.timed and record["ts"] is None:
        return "event time is NULL"
    value = record["val"]
    if value is None:
        return "value is NULL"
    if value != value:
        return "value is NaN"
    if spec.high is not None and spec.low is not None and not spec.low <= value <= spec.high:
        return "value is outside its range"
    if spec.high is None and value in (inf, -inf):
        return "value is infinite"
    if record["obj"] is None:
        return "object is NULL"
    if record["src"] is None:
        return "stream is NULL"
    if spec.streams is not None and record["src"] not in spec.streams:
        return "stream is not one of those declared"
    return None


def moment(record: Record) -> Any:
    return record["ts"], record["obj"], record["src"], -record["val"]


def ends(spec: Spec, at: int) -> tuple[int, int]:
    """The first and the last window end whose window holds what is at this time or position."""
    if spec.slide is None:
        return at, NEVER if spec.width is None else at + spec.width - 1
    first = (at // spec.slide + 1) * spec.slide
    return first, NEVER if spec.width is None else (at + spec.width) // spec.slide * spec.slide


def accepted(
    spec: Spec, members: Sequence[tuple[int, Record]], rejects: dict[int, str]
) -> tuple[list[Seen], int]:
    """What can be in a window, and how many records were counted."""
    position = 0
    seen: list[Seen] = []
    known: dict[Any, list[Seen]] = {}
    for number, record in members:
        at = position if spec.counts else record["ts"]
        first, last = ends(spec, at)
        earlier = known.setdefault(record["obj"], [])
        in_window = [one for one in earlier if ends(spec, one.at)[1] >= first]
        visit = earlier[-1].visit if earlier else 0
        if earlier and not in_window:
            visit += 1
        rivals = in_window
        if spec.once:
            rivals = [one for one in earlier if one.visit == visit]
        if last >= first and sum(one.src == record["src"] for one in rivals) >= spec.at_most:
            rejects[number] = "repeat"
            continue
        position += 1
        if last < first:
            continue  # between two windows
        one = Seen(at, record["ts"] if spec.timed else at, record["obj"], record["src"],
                   record["val"], visit)  # fmt: skip
        earlier.append(one)
        seen.append(one)
    return seen, position


def due(
    spec: Spec, seen: Sequence[Seen], watermark: int, newest: int
) -> Iterator[tuple[int, int, int]]:
    """Window ends with the half-open range that their windows hold. A bounded run ends with the
    first multiple after the last event, be it a repeat; ``newest`` is its time, or how many records
    were counted."""
    if not seen:
        return
    if spec.slide is None:
        for time in sorted({one.at for one in seen}):
            yield time, -NEVER if spec.width is None else time - spec.width + 1, time + 1
        return
    end = ends(spec, seen[0].at)[0]
    if spec.counts:
        limit = newest // spec.slide * spec.slide
    elif watermark == NEVER:
        limit = (newest // spec.slide + 1) * spec.slide
    else:
        limit = watermark
    while end <= limit:
        yield end, -NEVER if spec.width is None else end - spec.width, end
        end += spec.slide


def answer(
    spec: Spec, part: Any, end: int, inside: Sequence[Seen], before: Sequence[Seen]
) -> list[Row]:
    """The rows of one snapshot."""
    streams = spec.streams or tuple(sorted({one.src for one in before}))
    found = []
    for obj in {one.obj for one in inside}:
        mine = [one for one in inside if one.obj == obj]
        gone = {one.src for one in before if one.obj == obj and one.visit == mine[-1].visit}
        now, most = [], []
        for src in streams:
            values = [one.val for one in mine if one.src == src]
            closed = spec.once and src in gone
            low = spec.low or 0.0
            now.append(together(spec.repeats, values) if values else low)
            most.append(now[-1] if closed else best(spec, values, now[-1]))
        score, upper = combine(spec, now), combine(spec, most)
        if spec.streams is None:
            high = inf if spec.high is None else spec.high
            upper = {"SUM": inf, "MIN": upper}.get(spec.function, max(score, high))
        found.append((score, max(one.time for one in mine), obj, upper))
    ranked = sorted(found, key=lambda each: (-each[0], -each[1], each[2]))
    uppers = sorted((each[3] for each in found), reverse=True)
    rival = uppers[spec.k] if len(uppers) > spec.k else -inf
    start = None if spec.width is None else end - spec.width
    if spec.counts:
        start = max(0, start or 0)
    rows = []
    for rank, (score, _, obj, upper) in enumerate(ranked[: spec.k], 1):
        row = {"window_start": start, "window_end": end, "rank": rank, "obj": obj}
        row |= {"score": score, "upper": upper, "certain": score > rival}
        rows.append(row | ({"part": part} if spec.partitioned else {}))
    return rows


def added(values: Iterable[float]) -> float:
    """One after the other; ``sum`` would compensate for rounding in later Pythons."""
    total = 0.0
    for value in values:
        total += value
        if total != total:
            total = 0.0
    return total


def together(function: str | None, values: Sequence[float]) -> float:
    """The values of a stream as one, ``values`` in order of arrival."""
    if function == "MIN":
        return min(values)
    if function == "MAX":
        return max(values)
    return added(reversed(values)) / (len(values) if function == "AVG" else 1)


def best(spec: Spec, values: list[float], now: float) -> float:
    """The most a stream can count if further values may come: one or all of them, each of the
    largest allowed."""
    high = inf if spec.high is None else spec.high
    more = spec.at_most - len(values)
    if more <= 0:
        return now
    if spec.repeats in ("MIN", "MAX") or not values and spec.repeats == "AVG":
        return max(now, together(spec.repeats, [*values, high]))
    total = added(reversed(values))
    if spec.repeats == "AVG":
        return max(now, added((total, more * high)) / spec.at_most)
    return max(now, added((total, high)), added((total, more * high)))


def combine(spec: Spec, values: Sequence[float]) -> float:
    if spec.function == "MIN":
        return min(values)
    if spec.function == "MAX":
        return max(values)
    if spec.function == "WEIGHTED_SUM":
        return added(w * v for w, v in zip(spec.weights, values, strict=True) if w)
    return added(values) / (len(values) if spec.function == "AVG" else 1)


__all__ = ["Expected", "Record", "Row", "Spec", "expect", "replace"]
