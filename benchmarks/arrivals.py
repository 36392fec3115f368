"""A result after every arrival: all algorithms, a compiled rescan loop and a `SortedList`.

The window holds 40,000 scores and is full before anything is timed. A turn processes the records
that follow, in batches of a million, each `observe` followed by `advance`; results come where the
top k changes. All contenders process the same records, but the slow ones fewer of them. The answers
are compared first, and that warms up what is compiled. Turns are taken; the best time of each
counts.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, Protocol

import numpy as np

from benchmarks.arrivals_grids import grids
from benchmarks.arrivals_rivals import Rescan, SortedWindow, TunedRescan
from benchmarks.arrivals_standing import STRICT_FILTERS, Changes, by_filter, standing
from benchmarks.arrivals_streams import streams
from benchmarks.arrivals_table import table
from benchmarks.measure import Say, goal, machine, short, timed
from crestline import certain
from crestline.certain import Naive
from crestline.core.snapshots import Snapshots
from crestline.types import Floats

WINDOW, QUICK_WINDOW, KS = 40_000, 10_000, (9, 81)
SCORES, QUICK_SCORES = 4_000_000, 400_000
BATCH, BATCHES = 1_000_000, (1, 10, 1_000, 100_000, 1_000_000)
ALGORITHMS = (
    "SA", "RA", "PA", "SASF", "SARF", "SAPF", "RASF", "RARF", "RAPF", "SNN", "CPM", "MinTopK",
)  # fmt: skip
#: Records after the first window on which the answers are compared; NAIVE sorts 40,000 for each.
COMPARED, COMPARED_NAIVE = 4_000, 30
#: Arrivals of which is told how many results PA misses.
WATCHED, QUICK_WATCHED = 500_000, 50_000
GROWTH: dict[str, tuple[float, ...]] = {
    "k": (1, 3, 10, 30, 100, 300, 1_000),
    "n": (1_000, 10_000, 100_000, 1_000_000),
    "buffer": (32, 100, 256, 1_000, 4_000, 20_000),
    "gamma": (0, 0.1, 0.2, 0.5, 1, 4),
}
QUERIES, QUICK_QUERIES = (2, 10, 100, 400), (2, 10, 100)
STANDING_RECORDS, QUICK_STANDING_RECORDS = 100_000, 25_000


class Contender(Protocol):
    """Finds the top k of a stream that it knows from the beginning."""

    at: int  # records processed

    def run(self, stop: int, told: list[Snapshots] | None = None) -> None:
        """Process the records before `stop`."""

    def copy(self) -> Contender:
        """Another one that goes on from here."""

    @property
    def kept(self) -> int:
        """Records kept."""


Make = Callable[[Floats, int, int], Contender]


class Ours:
    """An operator of Crestline, fed batch by batch."""

    def __init__(
        self,
        scores: Floats,
        k: int,
        n: int,
        *,
        algorithm: str,
        batch: int = BATCH,
        **options: float,
    ) -> None:
        self.scores, self.at, self.batch = scores, 0, batch
        self.operator = getattr(certain, algorithm)(k, n, 1, only_changes=True, **options)

    def run(self, stop: int, told: list[Snapshots] | None = None) -> None:
        for first in range(self.at, stop, self.batch):
            self.operator.observe(self.scores[first : min(first + self.batch, stop)])
            reported = self.operator.advance()
            if told is not None:
                told.append(reported)
        self.at = stop

    def copy(self) -> Ours:
        other = object.__new__(Ours)
        other.scores, other.at, other.batch = self.scores, self.at, self.batch
        other.operator = deepcopy(self.operator)
        return other

    @property
    def kept(self) -> int:
        return int(self.operator.candidates)


class NaiveOnes(Ours):
    """NAIVE, which takes the first window in without a word: to report it would take minutes."""

    def __init__(self, scores: Floats, k: int, n: int) -> None:
        self.scores, self.at, self.batch = scores, n, BATCH
        self.operator = Naive(k, n, 1, only_changes=True)
        self.operator.observe(scores[:n])
        self.operator.done[0] = n

    def run(self, stop: int, told: list[Snapshots] | None = None) -> None:
        if stop > self.at:
            super().run(stop, told)


def contenders() -> dict[str, Make]:
    """By name, the yardsticks last."""
    found: dict[str, Make] = {name: partial(Ours, algorithm=name) for name in ALGORITHMS}
    return found | {
        "NAIVE": NaiveOnes,
        "SortedList": SortedWindow,
        "rescan loop": Rescan,
        "tuned rescan": TunedRescan,
    }


# -- do they agree? -----------------------------------------------------------------------------


def changes(told: list[Snapshots], since: int = 0) -> Changes:
    """When the top k changed after so many records, and to what; first of all how it stood."""
    found: Changes = []
    for reported in told:
        for _, end, ids, _ in reported:
            top = tuple(ids.tolist())
            if found and end <= since + 1:
                found = []
            if not found or found[-1][1] != top:
                found.append((max(end, since + 1), top))
    return found


def missed(scores: Floats, k: int, n: int) -> tuple[int, int]:
    """Results that PA never reports, and all that there are: records that are among the k best at
    any time."""
    found = []
    for algorithm in ("RAPF", "PA"):
        runner = Ours(scores, k, n, algorithm=algorithm)
        reported: set[int] = set()
        for stop in range(BATCH, len(scores) + BATCH, BATCH):
            told: list[Snapshots] = []
            runner.run(min(stop, len(scores)), told)
            reported.update(np.unique(np.concatenate([one.id for one in told])).tolist())
        found.append(reported)
    return len(found[0] - found[1]), len(found[0])


def compared(
    make: Make, name: str, scores: Floats, k: int, n: int, compare: int, right: Changes
) -> tuple[Contender, dict[str, Any]]:
    """The contender with its window full, and whether its answers agree."""
    runner = make(scores, k, n)
    told: list[Snapshots] = []
    runner.run(n, told)
    full = runner.copy()
    since = n if name == "NAIVE" else 0
    stop = n + (min(compare, COMPARED_NAIVE) if since else compare)
    runner.run(stop, told)
    given = changes(told, since)
    expected = between(right, since, stop)
    return full, {"agrees": given == expected}


def between(all_changes: Changes, since: int, stop: int) -> Changes:
    """Those up to `stop`, and first of all how it stood after `since` records and one more."""
    found: Changes = []
    for end, top in all_changes:
        if end <= since + 1:
            found = []
        if end <= stop:
            found.append((max(end, since + 1), top))
    return found


# -- how fast? ----------------------------------------------------------------------------------


def affordable(full: Contender, most: int, seconds: float) -> int:
    """How many records the contender can process in that time: whole batches, or few of one."""
    count = min(most, 16)
    while True:
        runners = [full.copy(), full.copy()]
        took = min(timed(partial(runner.run, full.at + count)) for runner in runners)
        if took > seconds / 3 or count == most:
            break
        count = min(most, count * 4)
    could = min(most, int(count * seconds / took))
    if 4 * could >= BATCH:  # a part of a batch would not be as quick
        could = max(BATCH, could // BATCH * BATCH)
    return min(max(could, 10), most)


def race(
    full: dict[str, Contender], stop: int, seconds: float, turns: int
) -> dict[str, dict[str, Any]]:
    """Turns of all contenders, each from its full window on, up to record `stop` at most."""
    counts = {name: affordable(one, stop - one.at, seconds) for name, one in full.items()}
    ends: dict[str, Contender] = {}
    best = dict.fromkeys(full, float("inf"))
    for _ in range(turns):
        for name, one in full.items():
            ends[name] = one.copy()
            took = timed(partial(ends[name].run, one.at + counts[name]))
            best[name] = min(best[name], took)
    return {
        name: {"records": counts[name], "a_second": counts[name] / best[name], "kept": end.kept}
        for name, end in ends.items()
    }


def case(
    scores: Floats, k: int, n: int, compare: int, seconds: float, turns: int
) -> dict[str, dict[str, Any]]:
    """All contenders on one stream."""
    judge = TunedRescan(scores, k, n)
    told: list[Snapshots] = []
    judge.run(n + compare, told)
    right = changes(told)
    full: dict[str, Contender] = {}
    found: dict[str, dict[str, Any]] = {}
    for name, make in contenders().items():
        full[name], found[name] = compared(make, name, scores, k, n, compare, right)
    measured = race(full, len(scores), seconds, turns)
    return {name: entry | measured[name] for name, entry in found.items()}


def by_batch(scores: Floats, n: int, k: int, seconds: float, turns: int) -> list[dict[str, Any]]:
    """RAPF and PA in small pushes and large ones."""
    measured = []
    for batch in BATCHES:
        full: dict[str, Contender] = {}
        for name in ("RAPF", "PA"):
            runner = Ours(scores, k, n, algorithm=name)
            runner.run(n)
            runner.batch = batch
            full[name] = runner
        found = race(full, len(scores), seconds, turns)
        measured.append({"batch": batch} | {name: e["a_second"] for name, e in found.items()})
    return measured


def growth(
    scores: Floats, n: int, k: int, what: str, values: tuple[float, ...], seconds: float, turns: int
) -> list[dict[str, Any]]:
    """How the cost of RAPF grows with one of its numbers."""
    full: dict[str, Contender] = {}
    for value in values:
        window = int(value) if what == "n" else n
        best = int(value) if what == "k" else k
        options: dict[str, Any] = {what: value} if what in ("buffer", "gamma") else {}
        if 2 * window > len(scores) or 2 * options.get("buffer", 0) - 1 > window:
            continue
        full[str(value)] = runner = Ours(scores, best, window, algorithm="RAPF", **options)
        runner.run(window)
    found = race(full, len(scores), seconds, turns)
    return [{"value": float(value)} | entry for value, entry in found.items()]


# -- all of it ----------------------------------------------------------------------------------


def run(
    *,
    quick: bool,
    say: Say,
    scores: int | None = None,
    window: int | None = None,
    ks: tuple[int, ...] = KS,
    compare: int = COMPARED,
    queries: tuple[int, ...] | None = None,
    grown: dict[str, tuple[float, ...]] | None = None,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Measure. The other parameters make it smaller."""
    window = window or (QUICK_WINDOW if quick else WINDOW)
    count = window + (scores or (QUICK_SCORES if quick else SCORES))
    seconds = seconds or (0.03 if quick else 0.2)
    turns = 2 if quick else 3
    given = streams(count, window, say)
    cases = []
    for name, stream in given.items():
        for k in ks:
            say(f"{name}, k = {k}")
            whole = (len(stream) - window) // BATCH * BATCH
            part = stream[: window + whole] if whole else stream
            found = case(part, k, window, min(compare, len(part) - window), seconds, turns)
            watched = window + (QUICK_WATCHED if quick else WATCHED)
            misses = dict(
                zip(("missed", "results"), missed(part[:watched], k, window), strict=True)
            )
            cases.append({"stream": name, "k": k, "contenders": found} | misses)
    plain = given["i.i.d."]
    say(f"batches of {', '.join(map(short, BATCHES))}")
    batches = by_batch(plain, window, ks[0], seconds, turns)
    say("how the cost grows")
    grows = {
        what: growth(plain, window, ks[0], what, values, seconds, turns)
        for what, values in (grown or GROWTH).items()
    }
    records = min(count, QUICK_STANDING_RECORDS if quick else STANDING_RECORDS)
    queries = queries or (QUICK_QUERIES if quick else QUERIES)
    many = standing(queries, records, min(window, records // 2), ks[0], turns, say)
    say(f"{queries[-1]} standing queries, by algorithm")
    filters = by_filter(queries[-1], window, ks[0], seconds, turns)
    say("grids over the score and over attributes")
    cells = grids(window, ks, int(1e6 * seconds), turns)
    return {
        "suite": "arrivals",
        "machine": machine(),
        "quick": quick,
        "scores": count - window,
        "watched": min(QUICK_WATCHED if quick else WATCHED, count - window),
        "window": window,
        "cases": cases,
        "batches": batches,
        "growth": grows,
        "standing": many,
        "filters": filters,
        "grids": cells,
        "goals": goals(cases, many, filters, window),
    }


def goals(
    cases: list[dict[str, Any]], many: list[dict[str, Any]], filters: dict[str, Any], window: int
) -> list[dict[str, Any]]:
    """Compare the figures with the goals."""
    speeds = {
        (one["stream"], one["k"]): {n: e["a_second"] for n, e in one["contenders"].items()}
        for one in cases
    }
    found = []
    for k, times in ((9, 2), (81, 5)):
        speed = speeds.get(("i.i.d.", k))
        if speed is None:
            continue
        for rival in ("rescan loop", "tuned rescan"):
            name = f"i.i.d., k = {k}: RAPF, times the {rival}"
            found.append(goal(name, times, speed["RAPF"] / speed[rival]))
        name = f"i.i.d., k = {k}: RAPF, times the SortedList"
        found.append(goal(name, 100, speed["RAPF"] / speed["SortedList"]))
        name = f"i.i.d., k = {k}: PA, times RAPF"
        found.append(goal(name, 2, speed["PA"] / speed["RAPF"]))
        if k == 81:
            found.append(goal("i.i.d., k = 81: RAPF, times SA", 5, speed["RAPF"] / speed["SA"]))
        falling = speeds["falling", k]
        for rival in ("rescan loop", "tuned rescan"):
            name = f"falling, k = {k}: RAPF, times the {rival}"
            found.append(goal(name, 10, falling["RAPF"] / falling[rival]))
    for one in cases:
        if (one["stream"], one["k"], window) == ("i.i.d.", 9, WINDOW):
            kept = one["contenders"]["RAPF"]["kept"]
            found.append(goal("i.i.d., k = 9: window, times what RAPF keeps", 100, window / kept))
    for cell in many:
        name = f"{cell['queries']} queries by {cell['kind']}: one structure, times each alone"
        found.append(goal(name, 1 if cell["kind"] == "expressions" else 2, cell["ratio"]))
    speed = filters["a_second"]
    name = f"{filters['queries']} queries: with the grid, times without"
    found.append(goal(name, 5, speed["with"] / speed["without"]))
    name = f"{filters['queries']} queries: RAPF, times the faster of {' and '.join(STRICT_FILTERS)}"
    found.append(goal(name, 0.95, speed["with"] / max(speed[each] for each in STRICT_FILTERS)))
    exact = [
        entry["agrees"]
        for one in cases
        for name, entry in one["contenders"].items()
        if name != "PA"
    ]
    agree = all(exact) and all(cell["agrees"] for cell in (*many, filters))
    return [*found, goal("all exact answers agree (1 is yes)", 1, float(agree))]


__all__ = ["run", "table"]
