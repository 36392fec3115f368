"""The measurements of section 10: cost, throughput and latency of five plans, and planning itself.

Each cost is told in three ways. **Planned**: the k of all computations a second, which is what the
plans make small. **Walked**: CPU seconds a second of the stream where each computation goes through
the whole window, as in the paper (`walk`): every computation of a plan that differs from the others
in the k it serves is timed on several full windows, in rank order (the least time counts), and
counted as often as the plan has it. **Engine**: CPU seconds a second of `SharedWorlds`, which walks
only as far as it must, with all that it does besides: records in, the list kept, results out, the
latter only as often as they are due (`crestline.sharing.easing`). DP is followed there in the
cheapest of three ways (`crestline.sharing.price`).
**Keeping** is the same for a single query with the largest k, every 40 seconds.

Throughput is results a second of computing; latency comes from `replay`. Both are of the walks; of
the engine they follow from the results that are due and from `engine_latency`.
CPU time is that of the process, compilation is over.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean as mean
from typing import Any

import numpy as np
from papers.chen_multi import stream as streams
from papers.chen_multi.replay import queued, replay
from papers.chen_multi.sizes import DEFAULTS, ORDER, FigurePoint, Size
from papers.chen_multi.stream import SECOND, WIDTH, Stream, demands
from papers.chen_multi.walk import walk, walk_with_rules
from papers.reproduction import Say

from crestline.core.batch import Batch
from crestline.core.specs import QuerySpec
from crestline.sharing import PLANS, Demand, Execution, Schedule, SharedAgenda
from crestline.types import Floats, Ints
from crestline.uncertain.shared import SharedWorlds

# -- one point ------------------------------------------------------------------------------------


def stream_of(point: FigurePoint, count: int) -> Stream | None:
    """The stream that a point is measured on; None if its data is not at hand."""
    if point.kind == "synthetic":
        return streams.synthetic(count)
    if point.kind == "icebergs":
        return streams.sightings(count)
    if point.kind == "streams":
        return streams.several(point.streams, count)
    return streams.seismic(point.streams, point.w, count)


class Walks:
    """What computations over the whole window take, by the k that they serve.

    All that are needed are timed in rounds, one after the other, and the least time of each counts:
    what disturbs the machine lasts for seconds, and must not hit one plan and spare another.
    """

    def __init__(self, stream: Stream, n: int, rounds: int) -> None:
        starts = np.linspace(0, len(stream.score) - n, rounds, dtype=np.int64)
        self._windows = [stream.ranked(int(start), n) for start in starts]
        self._groups, self._rules = stream.groups, stream.exclusive
        self._known: dict[tuple[int, ...], float] = {}

    def prepare(self, plans: Sequence[str], sets: Sequence[Sequence[Demand]]) -> None:
        """Time the computations of these plans for these sets of queries."""
        wanted = {
            self._key(execution, asked)
            for plan in plans
            for asked in sets
            for cycle in PLANS[plan](asked).cycles
            for execution in cycle.executions
        }
        taken: dict[tuple[int, ...], list[float]] = {ks: [] for ks in sorted(wanted)}
        for window in self._windows:
            for ks, times in taken.items():
                times.append(self._time(ks, window))
        self._known = {ks: min(times) for ks, times in taken.items()}

    def seconds(self, execution: Execution, asked: Sequence[Demand]) -> float:
        return self._known[self._key(execution, asked)]

    def _key(self, execution: Execution, asked: Sequence[Demand]) -> tuple[int, ...]:
        if self._rules:  # one walk for the largest k; what the others take besides is not timed
            return (execution.k,)
        members = set(execution.members)
        return tuple(sorted(d.k for d in asked if d.name in members))

    def _time(self, ks: tuple[int, ...], window: tuple[Floats, Ints, Ints]) -> float:
        chance, rule, group = window
        asked = np.array(ks)
        began = time.process_time()
        if self._rules:
            walk_with_rules(ks[0], chance, rule, group)
        else:
            walk(asked, chance, group, self._groups)
        return time.process_time() - began


class Measured:
    """The streams and walks of the points: each is timed once, in however many figures it stands.

    Nothing is shared between points, not even the walk for the same k: one timed in a quiet
    moment must not be compared with others that were not.
    """

    def __init__(self, size: Size) -> None:
        self._size = size
        self._known: dict[FigurePoint, tuple[Stream, Walks]] = {}

    def of(self, point: FigurePoint) -> tuple[Stream, Walks] | None:
        """None if the data is not at hand."""
        if point not in self._known:
            records = stream_of(point, point.n + point.n * self._size.seconds // WIDTH)
            if records is None:
                return None
            walks = Walks(records, point.n, self._size.rounds)
            walks.prepare(ORDER, _sets(point, self._size))
            self._known[point] = records, walks
        return self._known[point]


def walked(walks: Walks, plan: str, asked: Sequence[Demand]) -> dict[str, float]:
    """Cost and throughput of a plan by the walks."""
    made = PLANS[plan](asked)
    cost = sum(sum(walks.seconds(e, asked) for e in c.executions) / c.length for c in made.cycles)
    results = sum(sum(len(e.members) for e in c.executions) / c.length for c in made.cycles)
    return {
        "planned": float(made.cost),
        "walked": cost,
        "results": results,
        "needed": sum(1 / d.frequency for d in asked),
        "throughput": results / cost,
    }


def engine(
    stream: Stream, point: FigurePoint, sets: Sequence[Sequence[Demand]], size: Size
) -> tuple[dict[str, dict[str, float]], float]:
    """For each plan the CPU seconds a second of the stream, and records looked at times k, with a
    full window, on average over the sets; and the seconds for a single query. In rounds, as with
    walks."""
    one = [Demand("one", 40, point.ks[1])]
    runs = [(plan, number) for plan in ORDER for number in range(len(sets))]
    taken: dict[tuple[str, int], list[tuple[float, float]]] = {run: [] for run in runs}
    alone = []
    for _ in range(size.engine_rounds):
        alone.append(_engine(stream, point, "NS", one, size.seconds)[0])
        for (plan, number), times in taken.items():
            times.append(_engine(stream, point, plan, sets[number], size.seconds))
    found = {
        plan: {
            "engine": mean(min(t for t, _ in taken[plan, i]) for i in range(len(sets))),
            "work": mean(taken[plan, i][0][1] for i in range(len(sets))),
        }
        for plan in ORDER
    }
    return found, min(alone)


def _engine(
    stream: Stream, point: FigurePoint, plan: str, asked: Sequence[Demand], seconds: int
) -> tuple[float, float]:
    operator = _shared(stream, point, plan, asked)
    every = WIDTH * SECOND // point.n
    more = point.n * seconds // WIDTH
    spent, work = 0.0, 0
    for start, stop in ((0, point.n), (point.n, point.n + more)):
        places = slice(start, stop)
        work = operator.work
        began = time.process_time()
        operator.observe(
            Batch(
                stream.score[places],
                np.arange(start, stop) * every,
                uncertainty=stream.doubt(places),
            )
        )
        operator.advance(stop * every)
        spent = time.process_time() - began
    return spent / seconds, (operator.work - work) / seconds


def _shared(stream: Stream, point: FigurePoint, plan: str, asked: Sequence[Demand]) -> SharedWorlds:
    # Not from the beginning on: what happens before the window is full is not measured.
    schedule = Schedule(
        plan, [Demand(d.name, d.frequency * SECOND, d.k) for d in asked], WIDTH * SECOND // 2
    )
    agenda = SharedAgenda([None] * len(asked), schedule, [d.name for d in asked])
    summed = point.streams > 0
    asks = [
        QuerySpec(
            d.k, WIDTH * SECOND, None, d.frequency * SECOND, semantics="PK_TOPK", summed=summed
        )
        for d in asked
    ]
    return SharedWorlds(asks, agenda, exclusive=stream.exclusive)


def points(
    size: Size,
    over: str,
    varied: Sequence[tuple[int, FigurePoint]],
    default: FigurePoint,
    measured: Measured,
    say: Say,
) -> list[dict[str, Any]] | None:
    """All plans at all points of one figure; None if the data is not at hand."""
    slow = slowness(size, default, measured)
    if slow is None:
        return None
    found = []
    for value, point in varied:
        say(f"{point.kind}, {point.queries}: {over} = {value:,}")
        point = replace(point, n=_shrunk(point, size))
        known = measured.of(point)
        assert known is not None
        records, walks = known
        sets = _sets(point, size)
        by_engine, keeping = engine(records, point, sets[: size.engine_sets], size)
        for plan in ORDER:
            runs = []
            for asked in sets:
                run = walked(walks, plan, asked)
                run["load"] = slow * run["walked"]

                seconds = partial(_slowly, slow, walks, asked)
                runs.append(run | replay(plan, asked, seconds, size.horizon))
            means = {name: mean(run[name] for run in runs) for name in runs[0]}
            # Not the mean of the rates: a set that costs little must not count for much.
            means["throughput"] = means["results"] / means["walked"]
            found.append({"plan": plan, over: value, "keeping": keeping} | means | by_engine[plan])
    return found


def _slowly(slow: float, walks: Walks, asked: Sequence[Demand], execution: Execution) -> float:
    return slow * walks.seconds(execution, asked)


def _sets(point: FigurePoint, size: Size) -> list[list[Demand]]:
    seeds = range(1, size.sets + 1)
    return [demands(point.queries, point.x, point.ks, seed) for seed in seeds]


def slowness(size: Size, default: FigurePoint, measured: Measured) -> float | None:
    """How much slower a machine is than this one that NS, at the default point, loads fully."""
    default = replace(default, n=_shrunk(default, size))
    known = measured.of(default)
    if known is None:
        return None
    _, walks = known
    return 1 / mean(walked(walks, "NS", asked)["walked"] for asked in _sets(default, size))


def _shrunk(point: FigurePoint, size: Size) -> int:
    if not point.streams:
        return point.n // size.shrink
    return point.streams * max(2, point.w // size.shrink)


# -- the latency of the engine --------------------------------------------------------------------


def engine_latency(size: Size, say: Say) -> dict[str, list[dict[str, Any]]]:
    """Figures 7(c), 8(c) and 9(c) in the engine: it is given the records second by second, and what
    each second takes is replayed on a machine that NS loads fully at the default point."""
    base = DEFAULTS["synthetic"]
    by = {
        "x": [(x, replace(base, x=x)) for x in size.x],
        "n": [(n, replace(base, n=n)) for n in size.n],
        "k": [(k, replace(base, ks=(2, k))) for k in size.k],
    }
    spent = {
        point: _second_by_second(point, size, say)
        for point in dict.fromkeys([base, *(each for row in by.values() for _, each in row)])
    }
    slow = 1 / mean(sum(steps) / len(steps) for steps, *_ in spent[base]["NS"])
    return {
        over: [
            {"plan": plan, over: value} | _means([queued(*run, slow) for run in runs])
            for value, point in varied
            for plan, runs in spent[point].items()
        ]
        for over, varied in by.items()
    }


def _means(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: mean(row[name] for row in rows) for name in rows[0]}


Told = tuple[list[float], list[list[int]], list[int]]


def _second_by_second(point: FigurePoint, size: Size, say: Say) -> dict[str, list[Told]]:
    """By plan, for each set of queries: the CPU seconds of each second of stream, whose results
    were told then, and the frequencies."""
    point = replace(point, n=_shrunk(point, size))
    say(f"latency of the engine: x = {point.x}, n = {point.n:,}, k to {point.ks[1]}")
    stream = streams.synthetic(point.n + point.n * size.latency_seconds // WIDTH)
    sets = _sets(point, size)[: size.latency_sets]
    return {plan: [_followed(stream, point, plan, asked) for asked in sets] for plan in ORDER}


def _followed(stream: Stream, point: FigurePoint, plan: str, asked: Sequence[Demand]) -> Told:
    operator = _shared(stream, point, plan, asked)
    every, a_second = WIDTH * SECOND // point.n, point.n // WIDTH
    steps, told = [], []
    for start in (0, *range(point.n, len(stream.score) - a_second + 1, a_second)):
        stop = start + a_second if start else point.n
        places = slice(start, stop)
        times = np.arange(start, stop) * every
        began = time.process_time()
        operator.observe(Batch(stream.score[places], times, uncertainty=stream.doubt(places)))
        reported = operator.advance(stop * every)
        if start:  # before, the window was filled
            steps.append(time.process_time() - began)
            told.append([] if reported.query is None else reported.query.tolist())
    return steps, told, [d.frequency for d in asked]


# -- the figures ----------------------------------------------------------------------------------


def single(size: Size, kind: str, say: Say) -> dict[str, Any]:
    """Figures 7 to 9, or 10 to 12: over x, n and the range of k."""
    base = DEFAULTS[kind]
    first, measured = kind == "synthetic", Measured(size)
    xs, ns, ks = (size.x, size.n, size.k) if first else (size.few_x, size.few_n, size.few_k)
    return {
        "x": points(size, "x", [(x, replace(base, x=x)) for x in xs], base, measured, say),
        "n": points(size, "n", [(n, replace(base, n=n)) for n in ns], base, measured, say),
        "k": points(size, "k", [(k, replace(base, ks=(2, k))) for k in ks], base, measured, say),
    }


def gaussian(size: Size, say: Say) -> list[dict[str, Any]] | None:
    """gg: over x, on the machine of the uniform ones; the engine is not looked at."""
    base, size = DEFAULTS["synthetic"], replace(size, engine_sets=1, engine_rounds=1)
    varied = [(x, replace(base, x=x, queries="gg")) for x in size.x]
    measured = Measured(size)
    return points(size, "x", varied, base, measured, say)


def several(size: Size, say: Say) -> dict[str, Any]:
    """Figures 13 to 16: over N, w, x and the range of k."""
    base, measured = DEFAULTS["streams"], Measured(size)
    by = {
        "N": [(n, replace(base, streams=n, n=n * base.w)) for n in size.several],
        "w": [(w, replace(base, n=base.streams * w)) for w in size.several_w],
        "x": [(x, replace(base, x=x)) for x in size.few_x],
        "k": [(k, replace(base, ks=(2, k))) for k in size.several_k],
    }
    return {over: points(size, over, varied, base, measured, say) for over, varied in by.items()}


def seismic(size: Size, say: Say) -> dict[str, Any] | None:
    """The same on the recording: over N, w and x; None if it is not at hand."""
    size = replace(size, engine_sets=1, engine_rounds=2)  # it is slow here
    base, measured = DEFAULTS["seismic"], Measured(size)
    by = {
        "N": [(n, replace(base, streams=n, n=n * base.w)) for n in size.seismic_n],
        "w": [(w, replace(base, n=base.streams * w)) for w in size.seismic_w],
        "x": [(x, replace(base, x=x)) for x in size.few_x],
    }
    found = {over: points(size, over, varied, base, measured, say) for over, varied in by.items()}
    if None in found.values():
        say("seismic: skipped, as the recording is not at hand")
        return None
    return found


def warm_up() -> None:
    """Compile every kernel, by going once through all that is measured."""
    tiny = Size(sets=1, engine_sets=1, rounds=2, engine_rounds=1, seconds=10, horizon=50)
    for kind in ("synthetic", "icebergs", "streams"):
        small = replace(DEFAULTS[kind], n=600, x=4, streams=6 if kind == "streams" else 0)
        points(tiny, "x", [(4, small)], small, Measured(tiny), lambda line: None)
