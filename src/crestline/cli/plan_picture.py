"""A picture of execution plans: which queries are computed when, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from crestline.core.extras import need
from crestline.planner.timeline import executions_until, run_together, short_label, ticks
from crestline.sharing import ExecutionPlan

#: Okabe and Ito's colours, which colour-blind readers can tell apart, without the pale yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GREY, _INK, _FAINT = "#C9CDD2", "#333333", "#666666"
#: With more rows than this, they get no names.
_NAMED_ROWS = 8
#: The time span that is shown has at most so many executions of one query.
_MOST_IN_A_ROW = 60
_MOST_TICKS = 9
#: Inches of a named row, of a panel with more rows than that, and around the rows.
_ROW, _PANEL, _AROUND = 0.27, 2.3, 0.62


def plan_picture(
    plans: Mapping[str, ExecutionPlan], unit: Callable[[int], str], title: str
) -> bytes:
    """Draw a PNG with one panel per plan, over the same time span, and the cost of each plan.

    A row is a set of queries that always run together; those that run often are on top. Each
    computation is a dot in the last row that it serves, and a line leads up to the other rows. The
    size of a dot grows with k. ``unit`` writes a time.
    """
    need("matplotlib", "a picture of the plans")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = {name: plan for name, plan in plans.items() if plan.cycles}
    span = _span(shown)
    panels = {name: _Panel(plan, span) for name, plan in shown.items()}
    heights = [panel.height for panel in panels.values()]
    figure = Figure(figsize=(12, max(2.5, sum(heights) + 1.4)), dpi=150, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold", color=_INK)
    if panels:
        grid: Any = figure.subplots(
            len(panels), 2, squeeze=False,
            gridspec_kw={"width_ratios": [3.4, 1], "height_ratios": heights},
        )  # fmt: skip
        costs = {name: float(plan.cost * span) for name, plan in shown.items()}
        largest = max(plan_k for panel in panels.values() for plan_k in panel.ks)
        for number, (name, panel) in enumerate(panels.items()):
            colour = _COLOURS[number % len(_COLOURS)]
            panel.draw(grid[number][0], name, colour, largest, unit)
            _draw_cost(grid[number][1], costs, name, colour)
        for axes in grid[:-1, 0]:
            axes.set_xticklabels([])
        text = f"cost in {unit(span)}:\nthe k of all computations"
        grid[0][1].set_title(text, loc="left", fontsize=9.5, color=_FAINT)
        grid[-1][0].set_xlabel(
            "Each dot is a computation, the larger the larger its k. It serves the row of the dot"
            " and those that its line reaches.", fontsize=9.5, color=_FAINT, loc="left",
        )  # fmt: skip
    canvas: Any = FigureCanvasAgg(figure)
    content = BytesIO()
    canvas.print_png(content)
    return content.getvalue()


def _span(plans: Mapping[str, ExecutionPlan]) -> int:
    """Return the longest cycle, or less if some query has too many executions in it."""
    cycles = [cycle for plan in plans.values() for cycle in plan.cycles]
    longest = max((cycle.length for cycle in cycles), default=1)
    often = min((cycle.executions[0].at for cycle in cycles), default=1)
    return min(longest, _MOST_IN_A_ROW * often)


class _Panel:
    """The executions of one plan, by rows."""

    def __init__(self, plan: ExecutionPlan, span: int) -> None:
        self.plan, self.span = plan, span
        self.events = executions_until(plan, span)
        self.rows = list(run_together(self.events))
        self.ks = [event.k for event in self.events]
        self.moments = [e.at for cycle in plan.cycles for e in cycle.executions]
        named = len(self.rows) <= _NAMED_ROWS
        self.height = _AROUND + (len(self.rows) * _ROW if named else _PANEL)

    def draw(
        self, axes: Any, name: str, colour: str, largest: int, unit: Callable[[int], str]
    ) -> None:
        row_of = {member: row for row, names in enumerate(self.rows) for member in names}
        points = (self.height - _AROUND) * 72 / len(self.rows)  # of a row
        most = min(150.0, max(26.0, (1.5 * points) ** 2))
        times = [event.at for event in self.events]
        low = [max(row_of[member] for member in event.members) for event in self.events]
        high = [min(row_of[member] for member in event.members) for event in self.events]
        size = [max(3.0, most * event.k / largest) for event in self.events]
        if len(self.rows) <= _NAMED_ROWS:
            axes.hlines(range(len(self.rows)), 0, self.span, color=_GREY, lw=0.6, zorder=1)
        axes.vlines(times, high, low, color=colour, lw=1.4, alpha=0.55, zorder=2)
        axes.scatter(
            times, low, s=size, color=colour, alpha=0.9, linewidths=0, zorder=3, clip_on=False
        )
        axes.set_ylim(len(self.rows) - 0.3, -0.7)
        axes.set_xlim(-0.01 * self.span, 1.01 * self.span)
        self._label(axes, name, colour, unit)

    def _label(self, axes: Any, name: str, colour: str, unit: Callable[[int], str]) -> None:
        if len(self.rows) <= _NAMED_ROWS:
            axes.set_yticks(range(len(self.rows)), [short_label(names) for names in self.rows])
        else:
            queries = sum(len(names) for names in self.rows)
            text = "queries" if queries == len(self.rows) else f"groups of {queries} queries"
            axes.set_yticks([])
            axes.set_ylabel(f"{len(self.rows)} {text}", color=_INK)
        times = next(ticks(self.moments, self.span, _MOST_TICKS))
        axes.set_xticks(times, [unit(moment) for moment in times])
        for side in ("top", "right", "left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.tick_params(length=0, colors=_INK)
        count = len(self.events)
        text = f"{count:,} computations" if count != 1 else "1 computation"
        if len(self.plan.cycles) == 1:
            text = f"a cycle of {unit(self.plan.length)}, {text} in {unit(self.span)}"
        axes.set_title(name, loc="left", fontsize=12, fontweight="bold", color=colour)
        axes.set_title(text, loc="right", fontsize=9.5, color=_FAINT)


def _draw_cost(axes: Any, costs: Mapping[str, float], name: str, colour: str) -> None:
    """Draw the bar of one plan. All bars have the same scale."""
    worst = max(costs, key=lambda each: costs[each])
    most, cost = costs[worst], costs[name]
    axes.barh([0], [cost], height=0.5, color=colour)
    text = f"{cost:,.0f}" if cost >= 1_000 else f"{cost:.4g}"
    if name != worst:
        text += f"\n{cost / most:.0%} of {worst}"
    axes.text(cost + most * 0.03, 0, text, va="center", color=_INK, fontsize=10)
    axes.set_xlim(0, most * 1.45)
    axes.set_ylim(-1, 1)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(side == "left")
    axes.spines["left"].set_color(_GREY)


__all__ = ["plan_picture"]
