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
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import crestline
from benchmarks.held import held_bytes
from benchmarks.incomplete_rivals import GroupBy, RunningSums, Top, entered, looked_up, same
from benchmarks.measure import (
    Say,
    best_of,
    columns,
    goal,
    goal_lines,
    machine,
    machine_line,
    short,
    timed,
)
from crestline import incomplete
from crestline.core.batch import Batch, Observations
from crestline.core.snapshots import Snapshots
from crestline.incomplete import Combination
from crestline.streams import generate
from crestline.types import Floats, Ints

K, XI, RECENT = 10, 0.5, 50
WINDOWS, QUICK_WINDOWS = (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000)
STREAMS = (3, 10)
#: Slides of the grid: after every observation, and a hundredth of the window.
PARTS = (None, 100)
OURS = {"SLA": "SLA", "EAA": "EAA", "CORRELATED": "Correlated"}
#: NAIVE, and DuckDB after every observation, need seconds for a few results beyond these windows.
NAIVE_WINDOW, NAIVE_QUICK_WINDOW = 100_000, 10_000
#: Where the cost of one number is looked at, the others are these.
BASE = {"window": 100_000, "k": K, "slide": 1_000, "streams": 3}
GROWTH: dict[str, tuple[int, ...]] = {
    "k": (1, 10, 100, 1_000),
    "slide": (1, 10, 100, 1_000, 10_000),
    "streams": (3, 4, 6, 8, 10),
}
ONCE_WINDOWS, GOAL_WINDOW = (1_000, 10_000), 10_000
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
        # After every observation it is told what changes, else every answer.
        self.operator: Any = getattr(incomplete, name)(
            case.k, case.window, case.slide, combination=case.combination(),
            only_changes=case.slide == 1,
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
            assert reported.outlook is not None
            for number, end in enumerate(reported.end.tolist()):
                part = slice(int(reported.offset[number]), int(reported.offset[number + 1]))
                top = (
                    objects[reported.id[part]].tolist(), reported.score[part].tolist(),
                    reported.outlook.upper[part].tolist(), reported.outlook.certain[part].tolist(),
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
    assert reported.outlook is not None
    view = type(reported.outlook)(
        *(getattr(reported.outlook, name)[part] for name in ("upper", "certain", "latest", "rival"))
    )
    return Snapshots.of(
        reported.partition[-1:], reported.end[-1:], np.array([part.stop - part.start]),
        reported.id[part], reported.score[part], outlook=view,
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


def goals(cells: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the figures should be."""
    found = []
    times = [
        c["contenders"]["NAIVE"]["ns"] / c["contenders"]["EAA"]["ns"]
        for c in cells
        if c["window"] == GOAL_WINDOW and "NAIVE" in c["contenders"]
    ]
    if times:
        name = f"EAA, times as fast as NAIVE at windows of {GOAL_WINDOW:,}: the least of all cells"
        found.append(goal(name, 20, min(times)))
    for once in (True, False):
        some = [c for c in cells if c["once"] == once and c["streams"] == 3 and c["k"] == K]
        for one in sorted(some, key=lambda c: (c["slide"] > 1, c["window"])):
            eaa, few = one["contenders"]["EAA"], one["contenders"]["CORRELATED"]
            where = f"window {short(one['window'])}, slide {short(one['slide'])}"
            where += ", once" if once else ""
            kept = eaa["instances"] / max(1, few["instances"])
            found.append(goal(f"EAA keeps, times CORRELATED ({where})", 3, kept))
            found.append(goal(f"precision of CORRELATED ({where})", 0.8, few["precision"]))
    every = [c["contenders"] for c in [*cells, *others]]
    agree = all(entry.get("agrees", True) for named in every for entry in named.values())
    found.append(goal("all exact answers agree (1 is yes)", 1, float(agree)))
    return found


# -- shown --------------------------------------------------------------------------------------


def _speed(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "-"
    return short(entry["a_second"]) + ("" if entry.get("agrees", True) else " DIFFERS")


def table(result: dict[str, Any]) -> str:
    """The measured figures as text."""
    head = (
        "Objects on several streams, xi = 0.5, C = 50, values uniform in [0, 1]; the score is their"
        f" sum, k = {K}. Windows count observations; with slide 1 the answer is told where it"
        " changes, with others each time. Best of several turns; compilation and the first window"
        " untimed."
        + (" A quick run: the goals are meant for the full size." if result["quick"] else "")
    )
    parts = [head, machine_line(result["machine"])]
    names = ("SLA", "EAA", "CORRELATED", "NAIVE", "running sums", "DuckDB, GROUP BY")
    for streams in dict.fromkeys(one["streams"] for one in result["cells"]):
        some = [one for one in result["cells"] if one["streams"] == streams]
        rows: list[list[object]] = [["window", "slide", *names, "lookup only"]]
        for one in some:
            shown = [_speed(one["contenders"].get(name)) for name in names]
            limit = short(1e9 / one["bare"]["lookup"])
            rows.append([short(one["window"]), short(one["slide"]), *shown, limit])
        parts.append(f"{streams} streams: observations a second\n" + columns(rows, left=0))
    parts.append("Kept\n" + columns(_kept_rows(result["cells"] + result["once"]), left=0))
    for what, cells in result["growth"].items():
        others = ", ".join(f"{n} {short(v)}" for n, v in result["base"].items() if n != what)
        parts.append(f"By {what} ({others})\n" + columns(_growth_rows(what, cells), left=0))
    query = result["query"]
    parts += [
        f"A whole query (crestline.run, a table of {short(query['rows'])} rows in memory, windows"
        f" of 10,000 sliding by 100, EAA): {short(query['a_second'])} observations a second",
        goal_lines(result["goals"]),
        _NOTES,
    ]
    return "\n\n".join(parts)


def _kept_rows(cells: list[dict[str, Any]]) -> list[list[object]]:
    rows: list[list[object]] = [
        [
            "streams", "window", "slide", "once", "SLA values", "EAA instances", "values",
            "CORRELATED instances", "values", "precision", "expected", "bytes SLA", "EAA", "CORR.",
        ]
    ]  # fmt: skip
    for one in cells:
        sla, eaa, few = (one["contenders"][name] for name in ("SLA", "EAA", "CORRELATED"))
        expected = "-" if few["expected"] is None else f"{few['expected']:.2f}"
        rows.append(
            [
                one["streams"], short(one["window"]), short(one["slide"]),
                "yes" if one["once"] else "no", f"{sla['stored']:,}", f"{eaa['instances']:,}",
                f"{eaa['stored']:,}", f"{few['instances']:,}", f"{few['stored']:,}",
                f"{few['precision']:.2f}", expected, *(short(x["bytes"]) for x in (sla, eaa, few)),
            ]
        )  # fmt: skip
    return rows


def _growth_rows(what: str, cells: list[dict[str, Any]]) -> list[list[object]]:
    rows: list[list[object]] = [
        [
            what, "SLA ns", "EAA ns", "CORRELATED ns", "EAA instances", "CORRELATED instances",
            "precision",
        ]
    ]  # fmt: skip
    for one in cells:
        sla, eaa, few = (one["contenders"][name] for name in ("SLA", "EAA", "CORRELATED"))
        rows.append(
            [
                short(one[what]), *(f"{x['ns']:,.0f}" for x in (sla, eaa, few)),
                f"{eaa['instances']:,}", f"{few['instances']:,}", f"{few['precision']:.2f}",
            ]
        )  # fmt: skip
    return rows


_NOTES = """\
NAIVE and the rivals are timed on as many observations as take a fraction of a second, and
left out (-) where one answer takes too long. "running sums" keeps the sum of each object in a NumPy
array and picks the k largest of all at every slide; it relies on objects being numbered in the
order in which they come. It and DuckDB tell scores only: no upper bound, nothing certain, no
repeats. "lookup only" finds the object of each value that comes or leaves in a compiled table.
Values are counted as they stood at the end, waiting to be forgotten or not; instances after
forgetting, as the paper counts. Bytes are those of all arrays, with room to grow and what is
remembered to notice repeats. Precision is measured on the observations of the turns: for the
longest windows that is less than one window, in which few objects are ever shown."""


def picture(result: dict[str, Any]) -> bytes:
    """A PNG: speed and kept values over the window, for the fewest and the most streams."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    style = {
        "SLA": ("#333333", "P"), "EAA": ("#0072B2", "s"), "CORRELATED": ("#E69F00", "v"),
        "NAIVE": ("#CC79A7", "x"), "running sums": ("#009E73", "o"),
        "DuckDB, GROUP BY": ("#D55E00", "^"),
    }  # fmt: skip
    counts = list(dict.fromkeys(one["streams"] for one in result["cells"]))
    figure = Figure(figsize=(13.5, 3.9 * len(counts)), dpi=130, layout="constrained")
    grid: Any = figure.subplots(len(counts), 3, squeeze=False)
    for row, streams in enumerate(counts):
        some = [one for one in result["cells"] if one["streams"] == streams]
        every = [one for one in some if one["slide"] == 1]
        steps = [one for one in some if one["slide"] > 1]
        panels = (
            (every, "a_second", "observations a second, slide 1"),
            (steps, "a_second", "observations a second, slide of window / 100"),
            (every, "instances", "kept instances, slide 1"),
        )
        for column, (cells, what, title) in enumerate(panels):
            ax = grid[row][column]
            for name, (colour, marker) in style.items():
                points = [
                    (c["window"], c["contenders"][name][what])
                    for c in cells
                    if name in c["contenders"] and (what == "a_second" or name in OURS)
                ]
                if points:
                    xs, ys = zip(*points, strict=True)
                    ax.plot(xs, ys, color=colour, marker=marker, ms=6, linewidth=1.6, label=name)
            ax.set(xscale="log", yscale="log", xlabel="window, observations")
            ax.set_title(f"{streams} streams: {title}", loc="left", fontsize=10.5)
            ax.spines[["top", "right"]].set_visible(False)
            ax.grid(True, which="major", color="#e6e6e6", linewidth=0.8)
            ax.set_axisbelow(True)
    grid[0][1].legend(frameon=False, fontsize=8.5)
    content = BytesIO()
    FigureCanvasAgg(figure).print_png(content)  # type: ignore[no-untyped-call]
    return content.getvalue()


__all__ = ["picture", "run", "table"]
