"""Drawings of the algorithms for incomplete streams: EAA, CORRELATED, SLA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from style import (
    ACCENT,
    ANSWER,
    GREEN,
    PAPER,
    blank,
    box,
    paper,
    plain,
    say,
)

from crestline.core.batch import Batch, Observations
from crestline.incomplete import EAA, SLA, Combination, Correlated
from crestline.kernels.incomplete.combine import StreamSums
from crestline.kernels.incomplete.expectation import expected_most
from crestline.streams import generate

# -- EAA ------------------------------------------------------------------------------------------

#: The values of the page: object, stream, value. They leave in this order.
SEEN = (("A", 0, 6.0), ("B", 0, 1.0), ("B", 1, 2.0), ("C", 0, 5.0))
STREAMS, MOST = 2, 10.0
COLOURS = {"A": ANSWER, "B": ACCENT, "C": GREEN}


@dataclass(frozen=True)
class Instance:
    """An object as it will be when everything older has left."""

    name: str
    place: int
    least: float
    most: float


def instances() -> list[Instance]:
    found = []
    for place, (name, _, _) in enumerate(SEEN):
        left = [value for whose, _, value in SEEN[place:] if whose == name]
        most = sum(left) + MOST * (STREAMS - len(left))
        found.append(Instance(name, place, sum(left), most))
    return found


def kept_values() -> list[int]:
    """The places of the values that EAA keeps for the best object."""
    combination = Combination("SUM", streams=STREAMS, low=0, high=MOST)
    operator = EAA(k=1, window=len(SEEN), slide=1, combination=combination)
    sighting = Observations.of(
        [ord(name) for name, _, _ in SEEN], [stream for _, stream, _ in SEEN]
    )
    operator.observe(Batch(np.array([value for *_, value in SEEN]), observations=sighting))
    operator.advance()
    operator.prune()
    return [int(at) for at in operator._stores[0].state()["time"]]


def eaa() -> Figure:
    kept = kept_values()
    figure = paper()
    ax = figure.subplots()
    for one in instances():
        colour = COLOURS[one.name]
        alive = one.place in kept
        ax.plot([one.place] * 2, [one.least, one.most], color=colour, linewidth=2.4)
        ax.plot(one.place, one.least, "o", ms=8, color=colour, markeredgewidth=1.6,
                markerfacecolor=colour if alive else PAPER)  # fmt: skip
        if one.most > one.least:
            ax.plot(one.place, one.most, "_", ms=14, color=colour, markeredgewidth=2.2)
        values = [value for name, _, value in SEEN[one.place :] if name == one.name]
        told = f"{one.name} with {' + '.join(f'{value:.0f}' for value in values)}"
        if alive:
            told += f": {one.least:.0f} for sure,\nat best {one.most:.0f}"
        else:
            told += f": {one.most:.0f}, no more.\nNever the best: forgotten"
        place = (one.place + 0.09, one.least + 1.4 * (one.place == 0)) if alive else (0.72, 0.6)
        say(ax, told, place, color=colour)
    sure = instances()[3]
    ax.plot([0, sure.place], [sure.least] * 2, color=GREEN, linewidth=1.1, linestyle="--", zorder=0)
    why = f"C stays longer and is\nsure of {sure.least:.0f}: this B is\ndominated"
    say(ax, why, (1.0, sure.least + 3.2), (1.0, 3.2), color=GREEN)
    ax.set(xlim=(-0.25, 3.95), ylim=(-1.2, 17.5), ylabel="score: from sure to best",
           yticks=range(0, 16, 5))  # fmt: skip
    ax.set_xticks(range(4), ["leaves first", "second", "third", "last"])
    plain(ax, "k = 1, the sum of values (0 to 10) on two streams")
    return figure


# -- CORRELATED -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stored:
    """The instances of a window: until when they last, their scores, and at best, in two ways."""

    leaves: np.ndarray
    least: np.ndarray
    most: np.ndarray
    expected: np.ndarray
    #: By instance, the score that three objects which stay as long are sure of.
    bound: np.ndarray
    #: How many instances EAA and CORRELATED keep of this window.
    kept: dict[str, int]


def stored(count: int = 2_400, window: int = 120) -> Stored:
    table = pa.Table.from_batches(generate("sightings", count, seed=5))
    cameras = table.column("camera").unify_dictionaries().combine_chunks()
    stream = cameras.indices.to_numpy().astype(np.int64)
    objects, values = table.column("object").to_numpy(), table.column("value").to_numpy()
    combination = Combination("SUM", streams=3, low=0, high=1)
    kept = {}
    operator: Any = None
    for kind in (EAA, Correlated):
        operator = kind(k=3, window=window, slide=1, combination=combination)
        operator.observe(Batch(values, observations=Observations.of(objects, stream)))
        operator.advance()
        operator.prune()
        kept[kind.__name__] = operator.instances
    expectation = operator._expectation(0)  # of CORRELATED
    rule = combination.rule(np.arange(3))
    first = count - window
    rows = []
    sure: dict[int, float] = {}  # by object, going back: what the values that stay are sure of
    seen: dict[int, dict[int, float]] = {}
    for at in range(count - 1, first - 1, -1):
        mine = seen.setdefault(int(objects[at]), {})
        mine.setdefault(int(stream[at]), float(values[at]))
        least = sum(mine.values())
        missing = [x for x in range(3) if x not in mine]
        sums = StreamSums(
            np.array([int(x in mine) for x in range(3)]),
            np.array([mine.get(x, 0.0) for x in range(3)]),
        )
        hoped = expected_most(rule, sums, 0b111, sum(1 << x for x in mine), expectation)
        sure[int(objects[at])] = least
        best = sorted(sure.values(), reverse=True)
        rows.append((at, least, least + len(missing), hoped, best[2] if len(best) > 2 else 0))
    at, least, most, expected, bound = np.array(rows[::-1]).T
    return Stored(at - first, least, most, expected, bound, kept)


def correlated() -> Figure:
    shown = stored()
    figure = paper()
    axes = figure.subplots(1, 2, sharey=True)
    for ax, best, title in (
        (axes[0], shown.most, "EAA hopes for the largest value"),
        (axes[1], shown.expected, "CORRELATED expects what is usual"),
    ):
        alive = best >= shown.bound
        for chosen, colour, width in ((~alive, "#b3b8be", 0.9), (alive, ANSWER, 1.1)):
            ends = np.column_stack(
                (shown.least[chosen], best[chosen], np.full(chosen.sum(), np.nan))
            )
            ax.plot(np.repeat(shown.leaves[chosen], 3), ends.ravel(), color=colour, linewidth=width)
            ax.plot(shown.leaves[chosen], shown.least[chosen], ".", color=colour, ms=3)
        ax.step(shown.leaves, shown.bound, where="mid", color=ACCENT, linewidth=1.6, zorder=4)
        ax.set(xlim=(-1, len(shown.leaves)), ylim=(0, 3.75), yticks=range(4))
        ax.set_xlabel("values, in the order in which they leave")
        say(ax, f"{int(alive.sum())} of {len(alive)} can reach the line", (0, 3.55), color=ANSWER)
        plain(ax, title)
    axes[0].set_ylabel("score: from sure to best")
    say(axes[1], "line: what 3 objects are sure of\nthat stay as long", (0, 2.9), color=ACCENT)
    return figure


# -- SLA ------------------------------------------------------------------------------------------

#: Values of objects on two streams.
LISTS = ({"A": 9.0, "B": 7, "D": 5, "E": 2, "C": 1}, {"C": 8.0, "B": 6, "E": 4, "A": 1, "D": 0})


def best_object() -> tuple[str, float]:
    """What SLA answers."""
    rows = [(name, stream, value) for stream in (0, 1) for name, value in LISTS[stream].items()]
    operator = SLA(k=1, window=len(rows), slide=len(rows), combination=Combination("SUM", 2, 0, 10))
    objects = [ord(name) for name, _, _ in rows]
    sighting = Observations.of(objects, [stream for _, stream, _ in rows])
    operator.observe(Batch(np.array([value for *_, value in rows]), observations=sighting))
    *_, (_, _, ids, scores) = operator.advance()
    return chr(objects[int(ids[0])]), float(scores[0])


def walk() -> list[tuple[float, float]]:
    """The threshold algorithm, depth by depth: the best score met, and the most that an object can
    have which was not met. It ends where the former is as large."""
    columns = [sorted(values.items(), key=lambda item: -item[1]) for values in LISTS]
    best, steps = 0.0, []
    for row in zip(*columns, strict=True):
        best = max(best, *(LISTS[0][name] + LISTS[1][name] for name, _ in row))
        most = sum(value for _, value in row)
        steps.append((best, most))
        if best >= most:
            break
    return steps


def sla() -> Figure:
    (name, score), steps = best_object(), walk()
    figure = paper(2.7)
    ax, right = figure.subplots(1, 2, width_ratios=(2.2, 3))
    depth = len(steps)
    for column, values in enumerate(LISTS):
        at = 1.6 * column
        ordered = sorted(values.items(), key=lambda item: -item[1])
        say(ax, f"list of {'xy'[column]}", (at, 1), ha="center")
        for row, (whose, value) in enumerate(ordered):
            state = "listed" if row >= depth else "answer" if whose == name else "kept"
            box(ax, at, -row, f"{whose}   {value:.0f}", state, 1.35, 0.8)
    ax.plot([-0.8, 2.4], [-depth + 0.5] * 2, color=ACCENT, linewidth=1.8)
    say(ax, "read down\nto here", (2.5, -depth + 0.5), color=ACCENT)
    ax.set(xlim=(-0.9, 4.2), ylim=(-4.6, 1.4))
    blank(ax)
    rows = np.arange(1, depth + 1)
    best, most = np.array(steps).T
    right.plot(rows, most, "v-", color=ACCENT, linewidth=1.6)
    right.plot(rows, best, "o-", color=ANSWER, linewidth=1.6)
    say(right, "most for an object not met", (1.08, most[0] + 1.0), color=ACCENT)
    say(right, "best of those met", (1.08, best[0] - 1.4), color=ANSWER)
    say(right, f"{name} has {score:.0f}:\nnone can have more", (depth + 0.08, best[-1]))
    right.set(xlim=(0.85, depth + 0.9), ylim=(6, 20), ylabel="sum")
    right.set_xticks(rows, [f"row {row}" for row in rows])
    plain(right, "k = 1, the sum of two streams")
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {"eaa": eaa, "correlated": correlated, "sla": sla}
