"""Drawings of the plans by which queries share their work: DP, GREEDY, INCO, IN, NS."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from style import ACCENT, ANSWER, FAINT, INK, KEPT, PALE, paper, plain, say

from crestline.planner.timeline import executions_until
from crestline.sharing import PLANS, Demand, combined, groups
from crestline.sharing.greedy import steps

#: The queries of the page on DP: frequencies in minutes.
ASKED = (
    Demand("q1", frequency=2, k=3), Demand("q2", 2, 2), Demand("q3", 3, 4), Demand("q4", 5, 5),
    Demand("q5", 5, 1), Demand("q6", 7, 2),
)  # fmt: skip
SPAN = 12
TITLES = {
    "NS": "NS: every query for itself",
    "IN": "IN: one computation for queries of the same frequency",
    "INCO": "INCO: q6 wants no more than q4 gets, and is served with it",
    "DP": "DP: some sooner than they have to be, and so together",
}


def timeline(ax: Axes, name: str) -> None:
    """Who is computed when: a line for each computation, through all that it serves."""
    for row, query in enumerate(ASKED):
        ax.plot([0, SPAN], [-row] * 2, color=PALE, linewidth=1, zorder=0)
        say(ax, f"{query.name}  top {query.k} every {query.frequency} min", (-0.35, -row),
            ha="right")  # fmt: skip
    row_of = {query.name: -row for row, query in enumerate(ASKED)}
    plan = PLANS[name](ASKED)
    events = executions_until(plan, SPAN)
    for event in events:
        rows = [row_of[member] for member in event.members]
        ax.plot([event.at] * 2, [min(rows), max(rows)], color=ANSWER, linewidth=2, zorder=2)
        ax.scatter([event.at] * len(rows), rows, s=34, color=ANSWER, zorder=3)
    told = sum(event.k for event in events)
    ax.set(xlim=(0, SPAN + 0.6), ylim=(-len(ASKED) + 0.5, 0.6), yticks=[],
           xticks=range(0, SPAN + 1, 2))  # fmt: skip
    ax.set_xlabel(f"minutes; {len(events)} computations, the k of all together: {told}")
    plain(ax, TITLES[name])
    ax.spines["left"].set_visible(False)


def costs(ax: Axes, name: str) -> None:
    """What each plan costs, the own one in colour."""
    names = ("NS", "IN", "INCO", "GREEDY", "DP")
    for row, each in enumerate(names):
        cost = float(PLANS[each](ASKED).cost)
        ax.barh(-row, cost, height=0.62, color=ANSWER if each == name else "#c3c7cc")
        say(ax, f"{cost:.2f}", (cost + 0.2, -row), color=INK if each == name else FAINT)
    ax.set(xlim=(0, 7.4), xticks=[])
    ax.set_yticks([-row for row in range(len(names))], names)
    plain(ax, "cost a minute")
    ax.spines["bottom"].set_visible(False)


def shared(name: str) -> Figure:
    figure = paper(2.8)
    left, right = figure.subplots(1, 2, width_ratios=(3.6, 1.3))
    timeline(left, name)
    costs(right, name)
    return figure


def greedy() -> Figure:
    """The rule of GREEDY: each group at every so-many-th execution of the one before."""
    kept = combined(groups(ASKED))
    periods = [period for period, _ in steps(kept)]
    figure = paper(2.8)
    left, right = figure.subplots(1, 2, width_ratios=(3.6, 1.3))
    before = 1
    for row, (group, period) in enumerate(zip(kept, periods, strict=True)):
        for start in range(0, SPAN, period):
            left.barh(-row, period - 0.12, left=start + 0.06, height=0.42, color=KEPT,
                      edgecolor=ANSWER, zorder=2)  # fmt: skip
            left.plot(start + period, -row, "o", ms=6, color=ANSWER, zorder=3)
        say(left, f"every {group.frequency} min, top {group.k}:\n{' '.join(group.members)}",
            (-0.3, -row), ha="right")  # fmt: skip
        if group.frequency > period:
            left.plot([period, group.frequency], [-row - 0.33] * 2, color=ACCENT, linewidth=1.4)
            left.plot(group.frequency, -row - 0.33, "|", color=ACCENT, ms=7, markeredgewidth=1.6)
            say(left, f"could wait till {group.frequency}: {group.frequency} // {before} ="
                f" {group.frequency // before}, so every {period}",
                (group.frequency + 0.2, -row - 0.36), color=ACCENT)  # fmt: skip
        before = period
    left.set(xlim=(0, SPAN + 0.4), ylim=(-len(kept) + 0.3, 0.5), yticks=[], xlabel="minutes",
             xticks=range(0, SPAN + 1, 2))  # fmt: skip
    plain(left, "GREEDY: at the last execution that is not too late")
    left.spines["left"].set_visible(False)
    costs(right, "GREEDY")
    return figure


DRAWINGS: dict[str, Callable[[], Figure]] = {
    "greedy": greedy, **{name.lower(): partial(shared, name) for name in TITLES},
}  # fmt: skip
