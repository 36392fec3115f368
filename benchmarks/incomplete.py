"""Incomplete streams: SLA, EAA, CORRELATED and NAIVE, rivals without Crestline, and a bare pass.

Objects come on several streams as in the generator of Haghani et al. (xi = 0.5, the last 50 objects
of a stream), values are uniform in [0, 1], the score is their sum. The window counts observations
and is full before anything is timed. Then all contenders go on over the same observations, in turns
of as many as they manage in a fraction of a second; the best turn of each counts. Answers of the
exact ones are compared over all of these, and the precision of CORRELATED is that of its answers
against those of SLA over the same stretch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import crestline
from benchmarks.held import held_bytes
from benchmarks.incomplete_rivals import GroupBy, RunningSums, Top, entered, looked_up, same
from benchmarks.incomplete_table import OURS, K, goals, picture, table
from benchmarks.measure import (
    Say,
    best_of,
    machine,
    short,
    timed,
)
from crestline import incomplete
from crestline.core.batch import Batch, Observations
from crestline.core.snapshots import Snapshots
from crestline.incomplete import Combination
from crestline.streams import generate
from crestline.types import Floats, Ints

XI, RECENT = 0.5, 50
WINDOWS, QUICK_WINDOWS = (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000)
STREAMS = (3, 10)
#: Slides of the grid: after every observation, and a hundredth of the window.
PARTS = (None, 100)
#: NAIVE, and DuckDB after every observation, need seconds for a few results beyond these windows.
NAIVE_WINDOW, NAIVE_QUICK_WINDOW = 100_000, 10_000
#: Where the cost of one number is looked at, the others are these.
BASE = {"window": 100_000, "k": K, "slide": 1_000, "streams": 3}
GROWTH: dict[str, tuple[int, ...]] = {
    "k": (1, 10, 100, 1_000),
    "slide": (1, 10, 100, 1_000, 10_000),
    "streams": (3, 4, 6, 8, 10),
}
ONCE_WINDOWS = (1_000, 10_000)
#: Observations of a turn, at most.
TURN, QUICK_TURN = 100_000, 4_000
#: A whole query over a table, not an operator over arrays.
ROWS, QUICK_ROWS = 500_000, 20_000


class Stream(NamedTuple):
    """Observations in the order of arrival."""

    object: Ints
    stream: Ints
    value: Floats
    streams: int

    @classmethod
    def of(cls, count: int, streams: int) -> Stream:
        table = sightings(count, streams)
        cameras = table.column("camera").unify_dictionaries().combine_chunks()
        return cls(
            table.column("object").to_numpy(), cameras.indices.to_numpy().astype(np.int64),
            table.column("value").to_numpy(), streams,
        )  # fmt: skip


def sightings(count: int, streams: int) -> pa.Table:
    options = {"streams": streams, "xi": XI, "recent": RECENT}
    return pa.Table.from_batches(list(generate("sightings", count, 1, **options)))


class Case(NamedTuple):
    """What is asked."""

    window: int
    slide: int
    streams: int
    k: int = K
    once: bool = False

    def combination(self) -> Combination:
        return Combination("SUM", self.streams, low=0.0, high=1.0, once=self.once)


class Ours:
    """An operator of Crestline that goes on and on."""

    def __init__(self, name: str, stream: Stream, case: Case) -> None:
        self.stream, self.case, self.at = stream, case, 0
        # After every observation it is told what changes, else every answer. Objects that come once
        # are taken as the paper does: nothing is remembered only to refuse a repeat.
        made = getattr(incomplete, name)
        trusting = {"trusting": True} if case.once and "trusting" in made.OPTIONS else {}
        self.operator: Any = made(
            case.k, case.window, case.slide, combination=case.combination(),
            only_changes=case.slide == 1, **trusting,
        )  # fmt: skip
        self.told: list[Snapshots] = []

    def run(self, stop: int) -> None:
        part, stream = slice(self.at, stop), self.stream
        sighting = Observations.of(stream.object[part], stream.stream[part])
        self.operator.observe(Batch(stream.value[part], observations=sighting))
        self.told.append(self.operator.advance())
        self.at = stop

    def fill(self) -> None:
        """The first window; of its answers the last one stays."""
        self.run(self.case.window)

    def answers(self) -> Answers:
        return Answers.of(self.told, self.stream.object, self.case.window)


class NaiveToo(Ours):
    """NAIVE: its first window is filled without answers, but for the last one."""

    def __init__(self, stream: Stream, case: Case) -> None:
        super().__init__("Naive", stream, case)

    def fill(self) -> None:
        slide = self.case.slide
        self.run(slide)
        self.operator.partitions[0].done = self.case.window - slide
        super().fill()
        del self.told[0]


class Answers(NamedTuple):
    """Answers after a full window, each with the observation after which it is given."""

    ends: list[int]
    tops: list[tuple[Any, ...]]

    @classmethod
    def of(cls, told: list[Snapshots], objects: Ints, since: int) -> Answers:
        """Repeated answers are left out; where it stood before, at first."""
        found = cls([], [])
        for reported in told:
            assert reported.bounds is not None
            for number, end in enumerate(reported.end.tolist()):
                part = slice(int(reported.offset[number]), int(reported.offset[number + 1]))
                top = (
                    objects[reported.id[part]].tolist(), reported.score[part].tolist(),
                    reported.bounds.upper[part].tolist(), reported.bounds.certain[part].tolist(),
                )  # fmt: skip
                if end <= since:
                    found.ends.clear(), found.tops.clear()
                if not found.tops or found.tops[-1] != top:
                    found.ends.append(max(end, since))
                    found.tops.append(top)
        return found

    def until(self, stop: int) -> Answers:
        count = int(np.searchsorted(self.ends, stop, side="right"))
        return Answers(self.ends[:count], self.tops[:count])

    def at(self, ends: list[int]) -> list[Any]:
        """The answer that holds at each of these."""
        return [self.tops[place - 1] for place in np.searchsorted(self.ends, ends, side="right")]


def precision(mine: Answers, true: Answers, stop: int) -> float:
    """The share of the true top objects that are reported, on average over all observations."""
    ends = sorted({*mine.ends, *true.ends} - {stop})
    hits = [
        len({*a[0]} & {*b[0]}) / len(b[0])
        for a, b in zip(mine.at(ends), true.at(ends), strict=True)
    ]
    return float(np.average(hits, weights=np.diff([*ends, stop])))


# -- one case -----------------------------------------------------------------------------------


def turn_length(
    run: Callable[[int], object], at: int, slide: int, most: int, seconds: float
) -> int:
    """How many observations take that long, by a first try; whole slides."""
    count = slide
    while True:
        took = timed(partial(run, at + count))
        at += count
        if took > seconds / 4 or 4 * count > most:
            break
        count *= 4
    could = int(count * seconds / max(took, 1e-9)) // slide * slide
    return max(slide, min(could, most // slide * slide))


def measured(runner: Any, case: Case, length: int, turns: int, seconds: float) -> dict[str, Any]:
    """The best of several turns, one after the other, on the stream that goes on."""
    most = (length - case.window) // (turns + 2)
    some = turn_length(runner.run, case.window, case.slide, most, seconds)
    best = float("inf")
    for _ in range(turns):
        if runner.at + some > length:
            break
        best = min(best, timed(partial(runner.run, runner.at + some)))
    return {"ns": best / some * 1e9, "a_second": some / best, "observations": some}


def contenders(
    stream: Stream, case: Case, turn: int, turns: int, seconds: float, naive: int, rivals: bool
) -> dict[str, Any]:
    """All contenders on one case; what is exact is compared."""
    length = min(len(stream.value), case.window + (turns + 2) * max(turn, case.slide))
    runners: dict[str, Ours] = {n: Ours(made, stream, case) for n, made in OURS.items()}
    if case.window <= naive:
        runners["NAIVE"] = NaiveToo(stream, case)
    found: dict[str, dict[str, Any]] = {}
    for name, runner in runners.items():
        runner.fill()
        runner.told = [_last(runner.told[0])]
        entry = measured(runner, case, length, turns, seconds)
        entry["stored"] = int(runner.operator.candidates)
        entry["bytes"] = None if name == "NAIVE" else held_bytes(runner.operator)
        entry["instances"] = int(runner.operator.instances)
        entry["until"] = runner.at
        found[name] = entry
    answers = {name: runner.answers() for name, runner in runners.items()}
    true = answers["SLA"]
    for name, entry in found.items():
        stop = min(entry["until"], found["SLA"]["until"])
        if name == "CORRELATED":
            entry["precision"] = precision(answers[name].until(stop), true.until(stop), stop)
            entry["expected"] = runners[name].operator.notes()["expected_precision"]
        else:
            entry["agrees"] = answers[name].until(stop) == true.until(stop)
    if rivals:
        found |= _rivals(stream, case, length, turns, seconds, true, found["SLA"]["until"])
    asked = {"window": case.window, "slide": case.slide, "streams": case.streams, "k": case.k}
    return asked | {"once": case.once, "contenders": found, "bare": bare(stream, case, length)}


def _last(reported: Snapshots) -> Snapshots:
    """The last answer only."""
    part = slice(int(reported.offset[-2]), int(reported.offset[-1]))
    assert reported.bounds is not None
    view = type(reported.bounds)(
        *(getattr(reported.bounds, name)[part] for name in ("upper", "certain", "latest", "rival"))
    )
    return Snapshots.of(
        reported.partition[-1:], reported.end[-1:], np.array([part.stop - part.start]),
        reported.id[part], reported.score[part], bounds=view,
    )  # fmt: skip


class _Told:
    """A rival that writes down its answers."""

    def __init__(self, rival: RunningSums | GroupBy) -> None:
        self.rival, self.tops = rival, list[Top]()

    def run(self, stop: int) -> None:
        self.tops += self.rival.run(stop)

    @property
    def at(self) -> int:
        return self.rival.at


def _rivals(
    stream: Stream, case: Case, length: int, turns: int, seconds: float, true: Answers, until: int
) -> dict[str, dict[str, Any]]:
    """What one would write instead, as far as that takes no more than seconds."""
    found = {}
    made = {"running sums": RunningSums, "DuckDB, GROUP BY": GroupBy}
    for name, rival in made.items():
        if case.slide == 1 and case.window > NAIVE_QUICK_WINDOW:
            continue
        each = rival(stream.object[:length], stream.value[:length], case.k, case.window, case.slide)
        each.fill(case.window)
        told = _Told(each)
        entry = measured(told, case, length, turns, seconds)
        ends = range(case.window + case.slide, min(told.at, until) + 1, case.slide)
        right = [(np.array(top[0]), np.array(top[1])) for top in true.at(list(ends))]
        entry |= {"agrees": same(told.tops[: len(right)], right), "stored": case.window}
        entry |= {"instances": case.window, "bytes": None, "until": told.at}
        found[name] = entry
    return found


def bare(stream: Stream, case: Case, length: int) -> dict[str, float]:
    """Nanoseconds an observation: to find its object and that of the one that leaves, and to add
    its value up."""
    first, values = case.window, stream.value[case.window : length]
    keys = stream.object[:length] % case.window  # as many as a window may have
    table = np.full(1 << int(2 * case.window).bit_length(), -1)
    entered(np.unique(keys), table)
    coming, leaving = keys[first:], keys[: length - first]
    seconds = best_of([lambda: looked_up(table, coming, leaving), values.sum], repeats=3)
    return {"lookup": seconds[0] / len(values) * 1e9, "sum": seconds[1] / len(values) * 1e9}


# -- a whole query ------------------------------------------------------------------------------


def whole_query(rows: int, turns: int) -> dict[str, Any]:
    """Observations a second through ``crestline.run``, over a table in memory."""
    table = sightings(rows, 3)
    query = f"""
        SELECT TOP {K} object FROM sightings [ROWS 10000 SLIDE 100]
        COMBINE SUM(value) ACROSS camera IN ('camera-1', 'camera-2', 'camera-3') OBJECT object
        VALUES BETWEEN 0 AND 1"""

    def run() -> None:
        crestline.run(query, {"sightings": table}, engine="local").to_arrow()

    (seconds,) = best_of([run], repeats=turns)
    return {"rows": rows, "a_second": rows / seconds}


# -- all of it ----------------------------------------------------------------------------------


def run(
    *,
    quick: bool,
    say: Say,
    windows: tuple[int, ...] | None = None,
    streams: tuple[int, ...] = STREAMS,
    grown: dict[str, tuple[int, ...]] | None = None,
    base: dict[str, int] | None = None,
    once: tuple[int, ...] = ONCE_WINDOWS,
    rows: int | None = None,
    turn: int | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Measure. The other parameters make it smaller."""
    windows = windows or (QUICK_WINDOWS if quick else WINDOWS)
    base = base or (BASE | ({"window": 10_000, "slide": 100} if quick else {}))
    turn = turn or (QUICK_TURN if quick else TURN)
    seconds = seconds or (0.05 if quick else 0.3)
    turns = 2 if quick else 3
    naive = NAIVE_QUICK_WINDOW if quick else NAIVE_WINDOW
    made: dict[int, Stream] = {}

    def stream_of(case: Case) -> Stream:
        length = case.window + (turns + 2) * max(turn, case.slide)
        if case.streams not in made or len(made[case.streams].value) < length:
            made[case.streams] = Stream.of(length, case.streams)
        return made[case.streams]

    def cell(case: Case, rivals: bool = False, naive: int = 0) -> dict[str, Any]:
        return contenders(stream_of(case), case, turn, turns, seconds, naive, rivals)

    say("compiling, where that was not done before")
    for compiled in (False, True):
        cell(Case(500, 100, 3, once=compiled), rivals=True, naive=500)
    cells = []
    for window in sorted(windows, reverse=True):  # the longest stream first, the others are in it
        say(f"windows of {short(window)}")
        for count in streams:
            for part in PARTS:
                case = Case(window, 1 if part is None else window // part, count)
                cells.append(cell(case, rivals=True, naive=naive))
    cells.sort(key=lambda one: (one["streams"], one["slide"] > 1, one["window"]))
    say("seen once, as the paper assumes")
    single = [cell(Case(window, 1, 3, once=True)) for window in once]
    grows = {}
    for what, values in (grown or GROWTH).items():
        say(f"how the cost grows with {what}")
        grows[what] = [
            cell(Case(**(base | {what: value})))
            for value in values
            if what != "slide" or value <= base["window"]
        ]
    say("a whole query")
    query = whole_query(rows or (QUICK_ROWS if quick else ROWS), turns)
    return {
        "suite": "incomplete",
        "machine": machine(),
        "quick": quick,
        "base": base,
        "cells": cells,
        "once": single,
        "growth": grows,
        "query": query,
        "goals": goals([*cells, *single], [*sum(grows.values(), [])]),
    }


__all__ = ["goals", "picture", "run", "table"]
