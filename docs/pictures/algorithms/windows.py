"""Drawings of the algorithms for windows that slide in steps: MINTOPK, PRETOPK, SMA, TMA, NAIVE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import (
    ACCENT,
    ANSWER,
    FAINT,
    INK,
    KEPT,
    PALE,
    blank,
    box,
    number,
    paper,
    plain,
    records,
    say,
)

from crestline.certain import SMA, TMA, MinTopK, Naive, PreTopK
from crestline.certain.grid import GridOperator

#: A window of four panes, and the two best of it.
STREAM = np.array([83.0, 60, 35, 47, 91, 22, 74, 52, 66, 30, 41, 58])
K, PANE = 2, 3


# -- MINTOPK --------------------------------------------------------------------------------------


def marks() -> dict[float, tuple[int, int]]:
    """The scores that MINTOPK keeps, best first, with the first and the last window that each will
    be reported in, should nothing better come."""
    operator = MinTopK(k=K, window=len(STREAM), slide=PANE)
    operator.observe(STREAM)
    operator.advance()
    return {float(STREAM[id]): (start, last) for id, start, last in operator.window_marks()}


def mintopk() -> Figure:
    kept = marks()
    now = [score for score, (start, _) in kept.items() if start == len(STREAM)]
    figure = paper()
    left, right = figure.subplots(1, 2, width_ratios=(3, 2.2))
    for at, score in enumerate(STREAM, start=1):
        state = "answer" if score in now else "kept" if score in kept else "forgotten"
        records(left, [at], [score], state, 250)
        number(left, at, score, f"{score:.0f}", state)
    for edge in range(0, len(STREAM) + 1, PANE):
        left.axvline(edge + 0.5, color=PALE, linewidth=1, zorder=0)
    left.set(xlim=(0.3, len(STREAM) + 0.7), ylim=(12, 103), xlabel="arrival (a pane is 3 records)",
             ylabel="score", xticks=range(1, 13))  # fmt: skip
    plain(left, f"the window: {len(kept)} of {len(STREAM)} are kept, the hollow ones not")
    windows = range(len(STREAM), 2 * len(STREAM), PANE)
    for row, (score, (start, last)) in enumerate(kept.items()):
        for column, end in enumerate(windows):
            held = start <= end <= last
            state = "forgotten" if not held else "answer" if column == 0 else "kept"
            if held:
                box(right, column, -row, f"{score:.0f}", state)
            else:
                right.plot(column, -row, ".", color=PALE, ms=4)
    right.set(xlim=(-0.6, 3.6), ylim=(-len(kept) + 0.4, 0.6), yticks=[])
    right.set_xticks(range(4), ["now", "+1", "+2", "+3"])
    right.set_xlabel("slides from now, if nothing comes")
    plain(right, "the list: who will be reported when")
    right.spines["left"].set_visible(False)
    return figure


# -- PRETOPK --------------------------------------------------------------------------------------

#: The last one arrives while we look.
ARRIVING = np.array([4.0, 9, 8, 3, 5, 6])
AHEAD = 5


def predicted(count: int) -> dict[int, list[float]]:
    """The predicted results of PRETOPK after so many records, by the end of their window."""
    operator = PreTopK(k=2, window=AHEAD, slide=1)
    for score in ARRIVING[
        :count
    ]:  # the result of a window that was reported goes with the next step
        operator.observe(np.array([score]))
        operator.advance()
    own = operator.state()["own"]
    score, windows = own["score"], own["windows"]
    return {
        int(end): score[result[:size]].tolist()
        for end, size, result in zip(windows["ends"], windows["sizes"], own["results"], strict=True)
    }


def pretopk() -> Figure:
    before, after = predicted(len(ARRIVING) - 1), predicted(len(ARRIVING))
    # The window that has just been reported is not among those to come: here it refused the record.
    now = len(ARRIVING)
    after[now] = before[now]
    figure = paper()
    ax = figure.subplots()
    for at, score in enumerate(ARRIVING, start=1):
        box(ax, at, 1.1, f"{score:.0f}", "waiting" if at == now else "listed")
    say(ax, "records", (0.3, 1.1), ha="right")
    say(ax, "arrives", (now + 0.65, 1.1), color=ACCENT)
    for row, end in enumerate(range(now, now + AHEAD)):
        first = end - AHEAD + 1
        ax.plot([first - 0.4, end + 0.4], [-row, -row], color=PALE, linewidth=9,
                solid_capstyle="butt", zorder=1)  # fmt: skip
        ax.plot([first - 0.4, min(end, now) + 0.4], [-row, -row], color="#b9bec5", linewidth=9,
                solid_capstyle="butt", zorder=2)  # fmt: skip
        say(ax, f"window that ends at {end}", (0.3, -row), ha="right")
        old, new = before.get(end, []), after.get(end, [])
        for place, score in enumerate(new):
            entered = score == ARRIVING[-1] and score not in old
            box(ax, 12 + place, -row, f"{score:.0f}", "waiting" if entered else "kept")
        for score in set(old) - set(new):
            box(ax, 14.4, -row, f"{score:.0f}", "forgotten")
            ax.plot([14.1, 14.7], [-row - 0.2, -row + 0.2], color=FAINT, linewidth=1, zorder=5)
    say(ax, "its result", (12.5, 1.1), ha="center")
    say(ax, "leaves", (14.4, 1.1), ha="center")
    ax.annotate("", (15.6, -0.25), (15.6, -AHEAD + 0.7),
                arrowprops={"arrowstyle": "->", "color": ACCENT, "linewidth": 1.4})  # fmt: skip
    say(ax, "offered from the\nnewest window\nto the oldest", (15.85, -2.6), color=ACCENT)
    say(ax, "refused: stop", (15.85, 0), color=ACCENT)
    ax.set(xlim=(-4.0, 19.4), ylim=(-AHEAD + 0.4, 1.7))
    blank(ax, "k = 2, a window of 5 records: a predicted result for every window to come")
    return figure


# -- SMA and TMA ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """What an algorithm with a grid holds after some records."""

    #: Where the window begins, and what it holds.
    first: int
    scores: np.ndarray
    #: The places in it of the records above the grid, best first.
    view: list[int]
    #: The borders of the cells, lowest first; and the k-th score of the last computation.
    borders: np.ndarray
    threshold: float
    recomputed: int


class _CoarseSMA(SMA):
    CELLS = 8  # so few that they can be seen


class _CoarseTMA(TMA):
    CELLS = 8


def laid(kind: Callable[..., GridOperator], scores: np.ndarray, window: int, slide: int) -> Grid:
    """The grid and what stands above it, for the three best, after all the records."""
    operator = kind(k=3, window=window, slide=slide)
    for part in (scores[:window], *np.split(scores[window:], range(slide, len(scores), slide))):
        operator.observe(part)  # the cells are laid over the first of them
        operator.advance()
    own = operator.state()["own"]
    ids, threshold = operator.view()
    first = len(scores) - window
    cells = own["cells"]
    borders = cells["low"] + np.arange(cells["count"] + 1) / cells["scale"]
    view = [int(id) - first for id in ids]
    return Grid(first, scores[first:], view, borders, threshold, operator.recomputed)


def show_grid(ax: Axes, grid: Grid, answered: int, read: float | None = None) -> None:
    """The records of the window by arrival and score, in their cells; those down to ``read`` are
    shaded."""
    for low, high in zip(grid.borders[:-1], grid.borders[1:], strict=True):
        if read is not None and high > read:  # the uppermost cell is open above
            top = 1.08 if high == grid.borders[-1] else high
            ax.axhspan(low, top, color="#fbe6d9", zorder=0)
    for border in grid.borders:
        ax.axhline(border, color="#c9cdd2", linewidth=0.8, zorder=1)
    at = grid.first + 1 + np.arange(len(grid.scores))
    rest = [i for i in range(len(at)) if i not in grid.view]
    records(ax, at[rest], grid.scores[rest], "listed", 26)
    records(ax, at[grid.view[answered:]], grid.scores[grid.view[answered:]], "kept")
    records(ax, at[grid.view[:answered]], grid.scores[grid.view[:answered]], "answer")
    ax.set(xlim=(at[0] - 1, at[-1] + 1), xlabel="arrival", ylim=(-0.03, 1.08), yticks=[0, 0.5, 1])
    plain(ax)


def sma_grid() -> Grid:
    return laid(_CoarseSMA, np.random.default_rng(188).random(36), window=24, slide=3)


def sma() -> Figure:
    grid = sma_grid()
    figure = paper()
    ax, words = figure.subplots(1, 2, width_ratios=(3.4, 1.6))
    show_grid(ax, grid, 3)
    ax.axhline(grid.threshold, color=ACCENT, linewidth=1.6, zorder=2)
    ax.set_ylabel("score, in cells")
    ax.set_title("the whole window lies in the grid", loc="left")
    words.set(xlim=(0, 5), ylim=ax.get_ylim())
    blank(words)
    say(words, "the 3 best: the answer", (0.55, 1.0), color=ANSWER)
    say(words, f"skyband: {len(grid.view)} records, these\nand those that may follow", (0.55, 0.87))
    records(words, [0.2], [1.0], "answer")
    records(words, [0.2], [0.87], "kept")
    say(words, "k-th score of the last\ncomputation", (0.55, 0.70), color=ACCENT)
    words.plot([0.0, 0.4], [0.70, 0.70], color=ACCENT, linewidth=1.6)
    say(
        words, "fewer than 3 left in the\nskyband: read the cells\nfrom the best down", (0.55, 0.46)
    )
    words.annotate("", (0.2, 0.33), (0.2, 0.59), arrowprops={"arrowstyle": "->", "color": INK})
    records(words, [0.2], [0.17], "listed", 26)
    say(words, "kept, in the grid only", (0.55, 0.17), color=FAINT)
    return figure


def tma_grids() -> tuple[Grid, Grid]:
    """Before and after a slide that takes one of the three best away."""
    scores = np.random.default_rng(3).random(40)
    for until in range(24, len(scores)):
        before = laid(_CoarseTMA, scores[:until], 20, 1)
        after = laid(_CoarseTMA, scores[: until + 1], 20, 1)
        if 0 in before.view and after.recomputed > before.recomputed:
            return before, after
    raise AssertionError("none of the best expires")


def tma() -> Figure:
    before, after = tma_grids()
    figure = paper()
    axes = figure.subplots(1, 2, sharey=True)
    show_grid(axes[0], before, 3)
    show_grid(axes[1], after, 3, read=float(after.scores[after.view[-1]]))
    axes[0].set_ylabel("score, in cells")
    axes[0].set_title("the 3 best stand above the grid", loc="left")
    axes[1].set_title("it has: cells are read from the best down", loc="left")
    gone = before.first + 1, float(before.scores[0])
    say(axes[0], "expires next", (gone[0] + 0.6, gone[1] - 0.14), gone, color=ACCENT)
    new = after.view[-1]
    at = after.first + 1 + new, float(after.scores[new])
    say(axes[1], "the new third", (at[0] - 5.2, at[1] - 0.13), at, color=ACCENT)
    return figure


# -- NAIVE ----------------------------------------------------------------------------------------

PLAIN = np.array([5.0, 3, 9, 1, 7, 4])


def answers() -> list[tuple[int, list[float]]]:
    operator = Naive(k=2, window=5, slide=1)
    operator.observe(PLAIN)
    return [(end, best.tolist()) for _, end, _, best in operator.advance()][-2:]


def naive() -> Figure:
    figure = paper(2.7)
    ax = figure.subplots()
    for row, (end, best) in enumerate(answers()):
        level = -2.6 * row
        window = PLAIN[end - 5 : end]
        ordered = np.sort(window)[::-1]
        for start, shown in ((0.0, window), (9.0, ordered)):
            for place, score in enumerate(shown):
                chosen = start > 0 and score in best
                ax.bar(start + place, score / 5, bottom=level, width=0.8, zorder=3,
                       color=ANSWER if chosen else KEPT, edgecolor=ANSWER)  # fmt: skip
                ax.text(start + place, level - 0.08, f"{score:.0f}", ha="center", va="top")
        ax.annotate("", (8.2, level + 0.7), (4.9, level + 0.7),
                    arrowprops={"arrowstyle": "->", "color": INK})  # fmt: skip
        say(ax, "sort all", (6.55, level + 0.95), ha="center")
        say(ax, "the first 2 are the answer" if row == 0 else "the next slide: all over again",
            (14.0, level + 0.7))  # fmt: skip
        say(ax, f"records {end - 4} to {end}", (-0.8, level + 0.7), ha="right")
    ax.set(xlim=(-3.6, 19), ylim=(-3.2, 2.0))
    blank(ax, "k = 2, a window of 5 records, all of which are kept")
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "mintopk": mintopk, "pretopk": pretopk, "sma": sma, "tma": tma, "naive": naive,
}  # fmt: skip
