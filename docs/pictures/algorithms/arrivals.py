"""Drawings of the algorithms that answer after every arrival: SA, RA, PA, the six pairs of a band
and a filter, and the two with a grid, SNN and CPM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from style import (
    ACCENT,
    ANSWER,
    FAINT,
    GREEN,
    INK,
    KEPT,
    PALE,
    PAPER,
    blank,
    key,
    number,
    paper,
    plain,
    records,
    say,
)

from crestline.certain import CPM, PA, RA, RAPF, RARF, RASF, SA, SAPF, SARF, SASF, SNN
from crestline.certain.cells import AttributeCells
from crestline.certain.grid import GridOperator
from crestline.certain.preferences import Distance
from crestline.core.batch import Batch

KINDS: dict[str, Any] = {
    "sasf": SASF, "sarf": SARF, "sapf": SAPF, "rasf": RASF, "rarf": RARF, "rapf": RAPF,
}  # fmt: skip


def dominators(scores: np.ndarray) -> list[int]:
    """How many later records are better, for each."""
    return [int((scores[at + 1 :] > score).sum()) for at, score in enumerate(scores)]


# -- SA -------------------------------------------------------------------------------------------

SHORT = np.array([52.0, 88, 70, 31, 79, 60, 45, 66, 20, 57, 40, 28])


def sa_kept() -> list[int]:
    """The places of the records that SA keeps for the two best of a window, best first."""
    operator = SA(k=2, window=len(SHORT))
    operator.observe(SHORT)
    operator.advance()
    return [int(id) for id in operator.state()["band"]["id"]]


def sa() -> Figure:
    kept, counts = sa_kept(), dominators(SHORT)
    figure = paper()
    ax, words = figure.subplots(1, 2, width_ratios=(3.4, 1.7))
    for at, score in enumerate(SHORT):
        state = "answer" if at in kept[:2] else "kept" if at in kept else "forgotten"
        records(ax, [at + 1], [score], state, 210)
        number(ax, at + 1, score, str(counts[at]), state)
    shown = 6  # the forgotten record whose dominators are pointed out
    corner = shown + 1, SHORT[shown]
    ax.add_patch(Rectangle(corner, 20, 100, facecolor="#fbe6d9", zorder=0))
    say(ax, "better, and stay longer", (12.6, 94), color=ACCENT, ha="right")
    ax.set(xlim=(0.4, len(SHORT) + 0.7), ylim=(10, 100), xlabel="arrival", ylabel="score",
           xticks=range(1, len(SHORT) + 1))  # fmt: skip
    plain(ax, f"k = 2: {len(kept)} of {len(SHORT)} records are kept")
    words.set(xlim=(0, 5), ylim=(0, 10))
    blank(words)
    say(words, "in each circle: how many\nlater records are better", (0, 8.9))
    entries = (("answer", "the 2 best: the answer"), ("kept", "fewer than 2: may yet be\nthe best"),
               ("forgotten", "2 or more: never again,\ndropped"))  # fmt: skip
    key(words, entries, 6.8, 1.9, 0.2)
    return figure


# -- RA -------------------------------------------------------------------------------------------


def kept_over_time(count: int = 500) -> dict[str, np.ndarray]:
    """The records that SA and RA keep after each arrival, for the ten best of 300."""
    scores = np.random.default_rng(4).random(count + 300)
    found = {}
    for name, operator in (("SA", SA(k=10, window=300)), ("RA", RA(k=10, window=300, gamma=0.5))):
        kept = []
        for score in scores:
            operator.observe(np.array([score]))
            operator.advance()
            kept.append(operator.candidates)
        found[name] = np.array(kept[300:])
    return found


def ra() -> Figure:
    kept = kept_over_time()
    at = np.arange(1, len(kept["RA"]) + 1)
    figure = paper()
    ax = figure.subplots()
    ax.fill_between(at, kept["SA"], kept["RA"], color=KEPT, alpha=0.6, linewidth=0)
    ax.plot(at, kept["RA"], color=ANSWER, linewidth=1.6)
    ax.plot(at, kept["SA"], color=INK, linewidth=1.2)
    ax.axhline(10, color=FAINT, linewidth=1, linestyle=":")
    fall = int(np.argmin(np.diff(kept["RA"])[:300])) + 1
    say(ax, "pruned: all dominated records are dropped together", (fall - 60, 81),
        (fall, kept["RA"][fall - 1] - 2), color=ACCENT)  # fmt: skip
    say(ax, "RA: every record enters, none is counted", (4, 92), color=ANSWER)
    say(ax, "SA: never one too many, but every record is counted for all behind it", (4, 24))
    say(ax, "the first 10 are the answer in both", (4, 5), color=FAINT)
    ax.set(xlim=(0, len(at)), ylim=(0, 100), xlabel="arrivals, of a full window",
           ylabel="records kept")  # fmt: skip
    plain(ax, "k = 10, a window of 300 records in random order, gamma 0.5")
    return figure


# -- a band behind a filter -----------------------------------------------------------------------


@dataclass(frozen=True)
class Filtered:
    """What a band and its filter hold after some records, by their places."""

    #: The window begins here, the buffer there.
    first: int
    buffered: int
    scores: np.ndarray
    band: list[int]
    waiting: list[int]
    filtered: list[int]
    #: The k-th score of the filter: what lies below it does not enter.
    bound: float


WINDOW, BUFFER, BEST = 90, 40, 3


def filtered(name: str) -> Filtered:
    scores = np.random.default_rng(40).random(160).round(4)
    operator = KINDS[name](k=BEST, window=WINDOW, buffer=BUFFER)
    for score in scores:
        operator.observe(np.array([score]))
        operator.advance()
    state = operator.state()
    buffer, filtered = state["filter"]["buffer"], state["filter"]["list"]
    waiting = buffer["at"][~buffer["passed"]].tolist()
    listed = filtered["born"].tolist()
    first = len(scores) - WINDOW
    band = [at for at in state["band"]["at"].tolist() if at >= first]  # expired ones go later
    bound = float(filtered["score"][BEST - 1])
    return Filtered(first, len(scores) - BUFFER, scores, band, waiting, listed, bound)


FILTERS = {
    "s": "strict: the skyband of the buffer.\nEvery record is counted for all behind it",
    "r": "relaxed: dominated ones stay until it is\npruned. Every record enters it",
    "p": "probabilistic: the best of the buffer.\nBelow the bound: a comparison, no more",
}
BANDS = {
    "s": "strict: counts dominators and\ndrops a record at its third",
    "r": "relaxed: dominated ones stay\nuntil it is pruned",
}


def pair(name: str) -> Figure:
    held = filtered(name)
    figure = paper(3.4)
    ax, words = figure.subplots(1, 2, width_ratios=(3.5, 1.75))
    inside = range(held.first, len(held.scores))
    known = {*held.band, *held.waiting}
    ax.axvspan(held.buffered + 0.5, len(held.scores) + 0.5, color="#eef1f4", zorder=0)
    _scatter(ax, held, [at for at in inside if at not in known], "forgotten", 18)
    _scatter(ax, held, held.waiting, "waiting", 26)
    _scatter(ax, held, held.band[BEST:], "kept", 40)
    _scatter(ax, held, held.band[:BEST], "answer", 40)
    at = np.array(held.filtered)
    ax.scatter(at + 1, held.scores[at], s=105, facecolor="none", edgecolor=GREEN, linewidth=1.3,
               zorder=4)  # fmt: skip
    ax.plot([held.buffered + 0.5, len(held.scores) + 0.5], [held.bound] * 2, color=GREEN,
            linewidth=1.2, linestyle="--", zorder=2)  # fmt: skip
    middle = (held.buffered + len(held.scores)) / 2
    say(ax, f"buffer of {BUFFER}\nrecent records", (middle, 1.12), ha="center")
    say(ax, "2nd chance:\nit leaves\nthe buffer", (held.buffered - 1.0, 1.1), color=ACCENT,
        ha="right")  # fmt: skip
    say(ax, "1st chance:\nit arrives", (len(held.scores) + 1.5, 1.12), color=ACCENT)
    for edge in (held.buffered + 0.5, len(held.scores) + 0.5):
        ax.axvline(edge, color=ACCENT, linewidth=1.2, zorder=1, ymax=0.97)
    ax.set(xlim=(held.first - 1, len(held.scores) + 20), ylim=(-0.04, 1.2), yticks=[0, 0.5, 1],
           xlabel="arrival", ylabel="score")  # fmt: skip
    ax.set_xticks(range(80, 161, 20))
    plain(ax)
    _beside(words, name, held)
    return figure


def _scatter(ax: Axes, held: Filtered, places: list[int], state: str, size: float) -> None:
    at = np.array(places, np.int64)
    records(ax, at + 1, held.scores[at], state, size)


def _beside(ax: Axes, name: str, held: Filtered) -> None:
    """Which of the six it is, and what the marks mean."""
    blank(ax)
    ax.set(xlim=(0, 10), ylim=(-0.5, 20))
    for column, letter in enumerate("srp"):
        say(ax, f"{letter.upper()}F", (3.3 + 2.6 * column, 19.6), ha="center", color=GREEN)
    for row, band in enumerate("sr"):
        say(ax, f"{band.upper()}A", (0.3, 18.0 - 1.9 * row), color=ANSWER)
        for column, letter in enumerate("srp"):
            own = name == f"{band}a{letter}f"
            ax.add_patch(
                Rectangle((2.05 + 2.6 * column, 17.15 - 1.9 * row), 2.5, 1.75, linewidth=0.8,
                          facecolor=ACCENT if own else PAPER, edgecolor="#c3c7cc")
            )  # fmt: skip
            say(ax, f"{band}a{letter}f".upper(), (3.3 + 2.6 * column, 18.0 - 1.9 * row),
                ha="center", color=PAPER if own else FAINT, fontsize=8)  # fmt: skip
    ax.scatter([0.6], [13.1], s=105, facecolor="none", edgecolor=GREEN, linewidth=1.3)
    say(ax, f"filter, {len(held.filtered)} records\n{FILTERS[name[2]]}", (1.4, 12.7), color=GREEN,
        fontsize=8)  # fmt: skip
    records(ax, [0.6], [9.3], "kept", 40)
    say(ax, f"band, {len(held.band)} records\n{BANDS[name[0]]}", (1.4, 8.9), color=ANSWER,
        fontsize=8)  # fmt: skip
    entries = (("answer", f"the first {BEST}: the answer"),
               ("waiting", f"{len(held.waiting)} wait: {BEST} of the filter\nbeat them"),
               ("forgotten", f"{BEST} younger ones beat\nthem: forgotten"))  # fmt: skip
    for (state, told), level in zip(entries, (5.7, 3.7, 1.3), strict=True):
        records(ax, [0.6], [level], state, 40 if state == "answer" else 22)
        say(ax, told, (1.4, level), fontsize=8)


# -- PA -------------------------------------------------------------------------------------------


RECENT = 300


@dataclass(frozen=True)
class Watched:
    """PA on a stream in random order: its threshold after each record, and what it took in."""

    scores: np.ndarray
    threshold: np.ndarray
    entered: np.ndarray
    kept: list[int]


def watched() -> Watched:
    scores = np.random.default_rng(9).random(700)
    operator = PA(k=3, window=RECENT, error=0.05, additional=10)
    threshold, entered = [], []
    for at, score in enumerate(scores):
        operator.observe(np.array([score]))
        operator.advance()
        entered.append(at in operator.ids())
        threshold.append(float(operator.state()["filter"]["bounds"][0, 0]))
    band = operator.state()["band"]["id"].tolist()
    return Watched(scores, np.array(threshold), np.array(entered), band)


def falling() -> tuple[list[float], list[float]]:
    """The best of 20 records with falling scores, and what PA says."""
    told: list[list[float]] = []
    for operator in (RAPF(k=1, window=20), PA(k=1, window=20, additional=0)):
        operator.observe(np.arange(100.0, 0, -1))
        told.append([float(best[0]) for _, _, _, best in operator.advance()])
    return told[0], told[1]


def pa() -> Figure:
    seen, (exact, said) = watched(), falling()
    figure = paper()
    left, right = figure.subplots(1, 2, width_ratios=(3.3, 2))
    first = len(seen.scores) - RECENT
    at = np.arange(first, len(seen.scores))
    entered = at[seen.entered[at]]
    ignored = at[~seen.entered[at]]
    left.plot(ignored, seen.scores[ignored], ".", color="#b9bec5", ms=3)
    left.step(at, seen.threshold[at], where="post", color=ACCENT, linewidth=1.4)
    records(left, entered, seen.scores[entered], "kept", 22)
    records(left, seen.kept[:3], seen.scores[seen.kept[:3]], "answer", 30)
    clear = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 2}
    say(left, "threshold: the last\ncandidate's score", (first + 70, 0.76), color=ACCENT,
        ha="center", bbox=clear)  # fmt: skip
    say(left, f"below it: ignored,\n{len(ignored)} of {RECENT} records,\na comparison each",
        (first + 70, 0.33), ha="center", bbox=clear)  # fmt: skip
    finite = np.isfinite(seen.threshold)
    anew = int(at[~finite[at]].max()) + 4  # soon after the threshold was given up
    say(left, "candidates ran\nshort: it begins\nanew", (first + 185, 0.33),
        (anew, seen.threshold[anew]), bbox=clear, color=ACCENT)  # fmt: skip
    left.set(xlim=(first, len(seen.scores) + 4), ylim=(0, 1.06), xlabel="arrival", ylabel="score")
    plain(left, "random order: few get above the threshold")
    steps = np.arange(1, 61)
    right.step(steps, exact[:60], where="post", color=INK, linewidth=1.3)
    right.step(steps, said[:60], where="post", color=ACCENT, linewidth=1.6)
    right.fill_between(steps, said[:60], exact[:60], step="post", color="#fbe6d9")
    say(right, "the best", (41, 85))
    say(right, "what PA says", (15, 69), color=ACCENT, ha="left")
    right.set(xlim=(1, 60), ylim=(50, 103), xlabel="arrival, a window of 20")
    plain(right, "falling scores: wrong")
    return figure


# -- SNN and CPM ----------------------------------------------------------------------------------


class _CoarseSNN(SNN):
    CELLS = 49  # so few that they can be seen


class _CoarseCPM(CPM):
    CELLS = 49


@dataclass(frozen=True)
class Squares:
    """What CPM or SNN holds of points around the origin after some records."""

    #: Where the window begins, and what it holds.
    first: int
    points: np.ndarray
    #: The places in it of the records above the grid, nearest first.
    view: list[int]
    cells: AttributeCells
    recomputed: int


def places(count: int, seed: int) -> np.ndarray:
    """Points around the origin; their score is how near they are."""
    return np.random.default_rng(seed).normal(size=(count, 2)) * (1.6, 1.0)


def near(kind: Callable[..., GridOperator], points: np.ndarray, window: int) -> Squares:
    """The grid and what stands above it, for the three nearest, after all the points."""
    operator = kind(k=3, window=window, preference=Distance((0.0, 0.0)))
    for part in (points[:window], points[window:]):  # the cells are laid over the first of them
        operator.observe(Batch(-np.hypot(*part.T), points=part))
        operator.advance()
    first = len(points) - window
    view = [int(id) - first for id in operator.view()[0]]
    cells = AttributeCells.restored(Distance((0.0, 0.0)), operator.state()["own"]["cells"])
    return Squares(first, points[first:], view, cells, operator.recomputed)


def squares(ax: Axes, grid: Squares, title: str, read: float | None = None) -> None:
    """The window as points around the query, in cells; those within the distance ``read`` are
    shaded."""
    cells = grid.cells
    influence = set() if read is None else set(cells.influence(-read).tolist())
    for cell in range(cells.count - 1):  # the last one has no place
        corner = cells.low + cells.width * divmod(cell, cells.resolution)
        shade = "#fbe6d9" if cell in influence else PAPER
        ax.add_patch(
            Rectangle(corner, *cells.width, facecolor=shade, edgecolor="#c9cdd2", zorder=0.1)
        )
    rest = [i for i in range(len(grid.points)) if i not in grid.view]
    records(ax, grid.points[rest, 0], grid.points[rest, 1], "listed", 22)
    for place, i in enumerate(grid.view):
        state = "answer" if place < 3 else "kept"
        x, y = grid.points[i]
        records(ax, [x], [y], state, 150)
        number(ax, x, y, str(grid.first + i + 1), state)
    if read is not None:
        ax.add_patch(Circle((0, 0), read, fill=False, edgecolor=ACCENT, zorder=0.4))
    ax.plot(0, 0, "+", color=ACCENT, ms=9, markeredgewidth=2, zorder=5)
    ax.set(xlim=(-2.6, 2.6), ylim=(-1.75, 1.75), aspect="equal", xticks=[], yticks=[])
    ax.set_title(title, loc="left")
    ax.set_xlabel("squares: cells of the grid; numbers: order of arrival")
    ax.spines[:].set_color(PALE)


def snn_grid() -> Squares:
    return near(_CoarseSNN, places(60, 96), 40)


def recomputed() -> dict[str, list[int]]:
    """How often each computes the ten best anew, along a stream in random order."""
    scores = np.random.default_rng(1).random(3_000)
    found: dict[str, list[int]] = {}
    for kind in (CPM, SNN):
        operator = kind(k=10, window=500, only_changes=True)
        found[kind.__name__] = []
        for start in range(0, len(scores), 50):
            operator.observe(scores[start : start + 50])
            operator.advance()
            found[kind.__name__].append(operator.recomputed)
    return found


def snn() -> Figure:
    grid = snn_grid()
    counts = recomputed()
    figure = paper()
    left, right = figure.subplots(1, 2, width_ratios=(3.3, 2.2))
    squares(left, grid, "dark: the 3 nearest; light: the rest of the skyband")
    at = np.arange(1, len(counts["CPM"]) + 1) * 50
    right.step(at, counts["CPM"], where="post", color=FAINT, linewidth=1.4)
    right.step(at, counts["SNN"], where="post", color=ANSWER, linewidth=1.8)
    most = counts["CPM"][-1]
    say(right, f"CPM: {most}", (2950, most * 0.66), ha="right", color=FAINT)
    say(right, f"SNN: {counts['SNN'][-1]}", (2950, counts["SNN"][-1] + most * 0.06), ha="right",
        color=ANSWER)  # fmt: skip
    right.set(xlim=(0, 3000), ylim=(0, most * 1.1), xlabel="arrival (k = 10, a window of 500)")
    plain(right, "the best computed anew")
    return figure


def cpm_grids() -> tuple[Squares, Squares]:
    """Before and after an arrival that pushes one of the nearest out of the window."""
    points = places(90, 12)
    for until in range(40, len(points)):
        before, after = (
            near(_CoarseCPM, points[:until], 36),
            near(_CoarseCPM, points[: until + 1], 36),
        )
        if 0 in before.view and after.recomputed > before.recomputed:
            return before, after
    raise AssertionError("none of the nearest expires")


def cpm() -> Figure:
    before, after = cpm_grids()
    figure = paper(2.7)
    axes = figure.subplots(1, 2)
    squares(axes[0], before, "the 3 nearest stand above the grid")
    farthest = float(np.hypot(*after.points[after.view[-1]]))
    squares(axes[1], after, f"{before.first + 1} has expired: read by distance", farthest)
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "sa": sa, "ra": ra, "pa": pa, "snn": snn, "cpm": cpm,
    **{name: partial(pair, name) for name in KINDS},
}  # fmt: skip
