"""Pictures of what was obtained, beside the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from papers.drawing import GREY, TITLE, make_panels, save
from papers.haghani2009.claims import APPROXIMATE, TABLES, growth_powers, line, paper_row
from papers.haghani2009.example import EXPECTED, FIGURE_2, FLOWS, NAMES
from papers.haghani2009.experiments import EPSILON, expected_skyline

#: One colour and one marker for each method, everywhere; they differ in print too.
STYLE = {
    "SLA": ("#333333", "P"),
    "EAA": ("#1f5fbf", "s"),
    "as printed": ("#0b6e4f", "o"),  # the approximation of section 4
    "CORRELATED": ("#d98200", "v"),
}
_OBJECTS = dict(zip(NAMES, ("#0b6e4f", "#d98200", "#1f5fbf", "#8a4fbf"), strict=True))
_LABELS = {"streams": "streams", "k": "k", "window": "W", "xi": "xi"}

Rows = list[dict[str, Any]]

#: What the pictures show, in the order of the report.
CAPTIONS = {
    "example.png": "Scores of the flows, instances, Figure 2",
    "skylines.png": "Skylines by number of points and by interval",
    "tables.png": "Tables 1 and 2",
    "windows.png": "By window",
    "xi.png": "By xi",
    "real.png": "Tables 3 and 4",
}


def draw(obtained: dict[str, Any], folder: Path) -> None:
    """Write every picture into the folder."""
    tables = obtained["tables"]
    drawn = {
        "example": example(),
        "skylines": skylines(obtained["skylines"]),
        "tables": paper_and_ours(
            {"1": tables["table_1"], "2": tables["table_2"]},
            "Tables 1 and 2 (W = {window:,}, xi = {xi:g}). Filled: obtained; hollow, dashed: the"
            " paper",
        ),
        "windows": windows(tables["by_window"], obtained["growth"]),
        "xi": xi(tables["by_xi"]),
        "real": paper_and_ours(
            {"3": obtained["real"]["table_3"], "4": obtained["real"]["table_4"]},
            "Tables 3 and 4 (k = {k}). Filled: flows at three routers; hollow, dashed: the paper,"
            " on requests to web servers",
        ),
    }
    save(drawn, folder)


# -- the examples ---------------------------------------------------------------------------------


def example() -> Figure:
    """Scores of the flows over time, their instances at two moments, and Figure 2."""
    figure, (axes,) = make_panels(1, 3, 4.9, 3.9)
    _scores(axes[0])
    _instances(axes[1], "105")
    _figure_2(axes[2])
    return figure


def _scores(ax: Axes) -> None:
    moments = [int(moment) for moment in FLOWS["scores"]]
    for name, colour in _OBJECTS.items():
        scores = [dict(map(tuple, rows)).get(name, np.nan) for rows in FLOWS["scores"].values()]
        ax.step(moments, scores, where="post", color=colour, linewidth=1.8, label=f"flow {name}")
    for name, _, value, time in FLOWS["observations"]:
        ax.plot(time, -0.12, marker="^", ms=4 + 4 * value, color=_OBJECTS[name], clip_on=False)
    ax.set(xlabel="time", ylabel="score", ylim=(-0.2, 1.75), xlim=(0, 210))
    ax.legend(frameon=False, fontsize=9, ncols=2, loc="upper right")
    ax.set_title("Flows at three routers, a window of 100", **TITLE)


def _instances(ax: Axes, moment: str) -> None:
    """Intervals over the time of their instance; dominated ones hollow."""
    for name, time, current, best, dominated in EXPECTED["intervals"][moment]:
        colour = _OBJECTS[name]
        face = "white" if dominated else colour
        ax.plot([time, time], [current, best], color=colour, linewidth=1.4)
        ax.plot(time, current, marker="o", ms=6, color=colour, markerfacecolor=face)
        ax.plot(time, best, marker="_", ms=10, color=colour, markeredgewidth=1.6)
        label = name + ("*" * dominated)
        ax.annotate(label, (time, current), xytext=(6, -3), textcoords="offset points", fontsize=9)
    ax.set(xlabel="time of the instance", ylabel="from the score now to the best one",
           ylim=(0, 3.1), xlim=(0, 112))  # fmt: skip
    ax.set_title(f"Instances at {moment}; a * for each dominator", **TITLE)


def _figure_2(ax: Axes) -> None:
    moments = [int(moment) for moment in FIGURE_2["instances"]]
    colours = ("#0b6e4f", "#d98200", "#1f5fbf")
    for number, (_, _, _, time) in enumerate(FIGURE_2["observations"]):
        known = {}
        for moment, rows in FIGURE_2["instances"].items():
            for at, current, best in rows:
                if at == time:
                    known[int(moment)] = (current, best)
        lasts = time + FIGURE_2["window"]
        steps = [m for m in moments if m in known] + [lasts]
        low = [known[m][0] for m in steps[:-1]]
        high = [known[m][1] for m in steps[:-1]]
        colour = colours[number]
        ax.fill_between(steps, [*low, low[-1]], [*high, high[-1]], step="post", color=colour,
                        alpha=0.25)  # fmt: skip
        for side in (low, high):
            ax.step(steps, [*side, side[-1]], where="post", color=colour, linewidth=1.5,
                    label=f"p$^{number + 1}$" if side is low else None)  # fmt: skip
    ax.set(xlabel="time", ylabel="from the score now to the best one", ylim=(0, 2.7))
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("Figure 2: the instances of p", **TITLE)


# -- Figure 4 -------------------------------------------------------------------------------------


def skylines(found: dict[str, Any]) -> Figure:
    figure, (axes,) = make_panels(1, 2, 4.8, 3.7)
    for epsilon, label, colour, marker in (
        (0.0, "exact scores", *STYLE["SLA"]),
        (EPSILON, f"intervals of {EPSILON}", *STYLE["EAA"]),
    ):
        rows = [row for row in found["by_size"] if row["epsilon"] == epsilon]
        axes[0].plot([row["n"] for row in rows], [row["mean"] for row in rows], color=colour,
                     marker=marker, linestyle="", label=label)  # fmt: skip
        ns = np.linspace(1, rows[-1]["n"], 40).astype(int).tolist()
        axes[0].plot(ns, [expected_skyline(n, epsilon) for n in ns], color=colour, linewidth=1)
    ns = [row["n"] for row in found["by_size"]]
    axes[0].plot([0, max(ns)], [0, EPSILON * max(ns)], color=GREY, linestyle=":",
                 label="n epsilon (Lemma 1)")  # fmt: skip
    axes[0].set(xlabel="points", ylabel="points in the skyline")
    axes[0].set_title("(a) by the number of points", **TITLE)
    rows = found["by_interval"]
    n = rows[0]["n"]
    colour, marker = STYLE["EAA"]
    wide = [row["epsilon"] for row in rows]
    axes[1].plot(wide, [row["mean"] for row in rows], color=colour, marker=marker, linestyle="")
    smooth = np.linspace(0, max(wide), 40).tolist()
    axes[1].plot(smooth, [expected_skyline(n, e) for e in smooth], color=colour, linewidth=1)
    axes[1].plot(smooth, [n * e for e in smooth], color=GREY, linestyle=":")
    axes[1].set(xlabel="length of the intervals, epsilon")
    axes[1].set_title(f"(b) by the interval, {n:,} points", **TITLE)
    axes[0].legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.set_ylim(bottom=0)
    figure.suptitle(
        f"Figure 4, means of {found['runs']} runs; lines: the exact means. The paper: logarithmic"
        " without intervals, linear with them", fontsize=11.5,
    )  # fmt: skip
    return figure


# -- tables ---------------------------------------------------------------------------------------


def paper_and_ours(tables: dict[str, Rows], title: str) -> Figure:
    """A row for each table: items, precision, error."""
    figure, axes = make_panels(len(tables), 3, 4.3, 3.3)
    for (items, quality, error), (table, rows) in zip(axes, tables.items(), strict=True):
        varied = TABLES[table]["varied"]
        every = sorted({row[varied] for row in rows} | {int(v) for v in TABLES[table]["rows"]})
        place = {value: i for i, value in enumerate(every)}  # evenly, as in a table
        for name in ("EAA", *APPROXIMATE):
            _ours(items, place, rows, varied, "items", name)
        for name in APPROXIMATE:
            _ours(quality, place, rows, varied, "precision", name)
            _ours(error, place, rows, varied, "error", name)
        _papers(items, place, table, "EAA", "EAA")
        _papers(items, place, table, "approximation", "as printed")
        _papers(quality, place, table, "precision", "as printed")
        _papers(error, place, table, "error", "as printed")
        for ax in (items, quality, error):
            ax.set_xticks(list(place.values()), [f"{value:,}" for value in every])
            ax.set_xlabel(_LABELS[varied])
        items.set_ylim(bottom=0)
        quality.set_ylim(0, 1.02)
        error.set_ylim(bottom=0)
        items.set_title(f"Table {table}: items kept", **TITLE)
        quality.set_title(f"Table {table}: precision", **TITLE)
        error.set_title(f"Table {table}: relative error", **TITLE)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, fontsize=9,
                  loc="outside right center")  # fmt: skip
    figure.suptitle(title.format(**next(iter(tables.values()))[0]), fontsize=11.5)
    return figure


def _ours(ax: Axes, place: dict[int, int], rows: Rows, varied: str, value: str, name: str) -> None:
    colour, marker = STYLE[name]
    ax.plot([place[row[varied]] for row in rows], [row[value][name] for row in rows],
            color=colour, marker=marker, linewidth=1.5, label=name)  # fmt: skip


def _papers(ax: Axes, place: dict[int, int], table: str, column: str, name: str) -> None:
    colour, marker = STYLE[name]
    points = [(place[value], row[column]) for value in place if (row := paper_row(table, value))]
    label = "the paper's EAA" if column == "EAA" else "the paper's approximation"
    ax.plot(*zip(*points, strict=True), color=colour, marker=marker, linewidth=1, linestyle="--",
            markerfacecolor="white", label=label)  # fmt: skip


# -- Figure 5 -------------------------------------------------------------------------------------


def _methods(ax: Axes, rows: Rows, varied: str, value: str, names: tuple[str, ...]) -> None:
    for name in names:
        colour, marker = STYLE[name]
        ax.plot([row[varied] for row in rows], [row[value][name] for row in rows], color=colour,
                marker=marker, linewidth=1.5, label=name)  # fmt: skip
    ax.set(xlabel=_LABELS[varied], ylabel=value)


def windows(rows: Rows, beyond: Rows) -> Figure:
    figure, (axes,) = make_panels(1, 3, 4.5, 3.8)
    _methods(axes[0], rows, "window", "items", tuple(STYLE))
    ws = [row["window"] for row in rows]
    slope, start, fit = line(ws, [row["items"]["EAA"] for row in rows])
    axes[0].plot([0, max(ws)], [start, start + slope * max(ws)], color=GREY, linestyle=":",
                 label=f"{start:.0f} + {slope:.3f} W (R$^2$ = {fit:.3f})")  # fmt: skip
    axes[0].legend(frameon=False, fontsize=9)
    axes[0].set_ylim(0, 2.2 * max(row["items"]["EAA"] for row in rows))
    axes[0].set_title("(a) items kept", **TITLE)
    low, high = EXPECTED["figure_5"]["precision_by_window"]
    axes[1].axhspan(low, high, color=GREY, alpha=0.3, linewidth=0, label="the paper")
    _methods(axes[1], rows, "window", "precision", APPROXIMATE)
    axes[1].set_ylim(0, 1.02)
    axes[1].legend(frameon=False, fontsize=9, loc="lower right")
    axes[1].set_title("(b) precision", **TITLE)
    for ax in axes[:2]:
        ax.set_xlim(left=0)
    _growth(axes[2], beyond)
    figure.suptitle(
        "Figure 5 (a), (b): {streams} streams, k = {k}, xi = {xi:g}; and larger windows".format(
            **rows[0]
        ),
        fontsize=11.5,
    )
    return figure


def _growth(ax: Axes, rows: Rows) -> None:
    """On logarithmic axes: linear growth would be parallel to the dotted line."""
    colours = ("#1f5fbf", "#8a4fbf", "#b3261e")
    for ((streams, number), powers), colour in zip(
        growth_powers(rows).items(), colours, strict=False
    ):
        mine = [row for row in rows if (row["streams"], row["xi"]) == (streams, number)]
        ax.plot([row["window"] for row in mine], [row["EAA"] for row in mine], color=colour,
                marker="s", linewidth=1.5,
                label=f"{streams} streams, xi = {number:g}: power {powers[-1]:.2f}")  # fmt: skip
    ws = sorted({row["window"] for row in rows})
    ax.plot(ws, ws, color=GREY, linestyle=":", label="W")
    ax.set(xscale="log", yscale="log", xlabel="W", ylabel="items")
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("EAA; the power is that of the last step", **TITLE)


def xi(rows: Rows) -> Figure:
    every = sorted({row["window"] for row in rows})
    figure, (axes,) = make_panels(1, len(every) + 1, 4.4, 3.8)
    for ax, window, dashes in zip(axes, every, ("-", "--"), strict=False):
        mine = [row for row in rows if row["window"] == window]
        _methods(ax, mine, "xi", "items", tuple(STYLE))
        paper = EXPECTED["figure_5"]["approximation_by_xi"].get(str(window))
        if paper:
            ends = [mine[0]["xi"], mine[-1]["xi"]]
            ax.plot(ends, paper, color=STYLE["as printed"][0], marker="o", linewidth=1,
                    linestyle="--", markerfacecolor="white",
                    label="the paper's approximation (ends)")  # fmt: skip
        ax.set_ylim(bottom=0)
        ax.set_title(f"(c) items kept, W = {window:,}", **TITLE)
        for name in APPROXIMATE:
            colour, marker = STYLE[name]
            axes[-1].plot([row["xi"] for row in mine], [row["precision"][name] for row in mine],
                          color=colour, marker=marker, linestyle=dashes,
                          label=f"{name}, W = {window:,}")  # fmt: skip
    axes[0].legend(frameon=False, fontsize=9)
    axes[-1].set(xlabel="xi", ylabel="precision", ylim=(0, 1.02))
    axes[-1].legend(frameon=False, fontsize=9, loc="lower right")
    axes[-1].set_title("(d) precision", **TITLE)
    figure.suptitle("Figure 5 (c), (d): 2 streams, k = {k}".format(**rows[0]), fontsize=11.5)
    return figure
