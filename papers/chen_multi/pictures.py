"""Pictures of what was obtained, beside the paper's claims."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from papers.chen_multi.claims import by_plan
from papers.chen_multi.example import EXPECTED, QUERIES, figure_3
from papers.drawing import legend, make_panels, save, short

from crestline.cli.plan_picture import plan_picture
from crestline.sharing import PLANS

#: One colour and one marker for each plan, everywhere; they differ in print too. GREEDY and DP lie
#: on one another mostly: the former is hollow, and larger.
STYLE: dict[str, dict[str, Any]] = {
    "NS": {"color": "#D55E00", "marker": "^"},
    "IN": {"color": "#E69F00", "marker": "v"},
    "INCO": {"color": "#CC79A7", "marker": "s", "ms": 4.5},
    "GREEDY": {"color": "#0072B2", "marker": "o", "ms": 9, "mfc": "none", "linestyle": "--"},
    "DP": {"color": "#009E73", "marker": "o", "ms": 4.5},
}
_GREY = "#8a9096"
_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 10.5}
#: Where the legend stands.
_BELOW: dict[str, Any] = {"fontsize": 10, "loc": "outside lower center", "ncols": 6}
#: What a panel shows: the measure, its factor, the label of the axis, the title.
PLANNED = ("planned", 1.0, "sum of k a second", "planned cost")
WALKED = ("walked", 1000.0, "CPU ms a second of stream", "cost, whole windows walked")
ENGINE = ("engine", 1000.0, "CPU ms a second of stream", "cost in the engine")
RATE = ("throughput", 1.0, "results a second of CPU", "throughput (walks)")
LATE = ("late", 1.0, "seconds a query, summed up", "latency as the paper defines it")
DELAY = ("delay", 1.0, "seconds a result", "mean delay of a result")
#: The axes.
_LABEL = {
    "x": "queries x", "n": "records in a window n", "k": "k from 2 to ...", "N": "streams N",
    "w": "records of a stream in a window w",
}  # fmt: skip

#: What the pictures show, in the order of the report.
CAPTIONS = {
    "example.png": "Query Example 1",
    "queries.png": "Over the number of queries",
    "tuples.png": "Over the window",
    "k.png": "Over k",
    "gaussian.png": "Uniform and normal sets",
    "icebergs.png": "Icebergs",
    "streams.png": "Several streams",
    "seismic.png": "Seismic streams",
    "planning.png": "Planning",
    "ratios.png": "Table 9, and GREEDY against DP",
}


def draw(obtained: dict[str, Any], folder: Path) -> None:
    """Write every picture into the folder."""
    (folder / "example.png").write_bytes(example())
    single, seismic = obtained["synthetic"], obtained["seismic"]
    drawn = {
        "queries": six(single["x"], "x", "Figure 7. The paper: NS costs most, then IN, INCO; DP"
                       " and GREEDY least; the gap grows with x"),
        "tuples": six(single["n"], "n", "Figure 8. The paper: larger windows slow all down, DP and"
                      " GREEDY least (the engine's walks end before)"),
        "k": six(single["k"], "k", "Figure 9. The paper: the same with larger k"),
        "gaussian": gaussian(obtained),
        "icebergs": rows(obtained["icebergs"], "Figures 10 to 12: icebergs with generation rules."
                         " The paper: as with synthetic records"),
        "streams": rows(obtained["streams"], "Figures 13 to 16: several synthetic streams, ranked"
                        " by sums. The paper: as with one stream"),
        "planning": planning(obtained["planning"]),
        "ratios": ratios(obtained["plans"]),
    }  # fmt: skip
    if seismic:
        drawn["seismic"] = rows(seismic, "Seismic streams, probability 1/w, ranked by sums. The"
                                " paper: as with synthetic streams")  # fmt: skip
    save(drawn, folder, dpi=120)


def example() -> bytes:
    """Query Example 1: its plans over time."""
    plans = {
        "NS": PLANS["NS"](QUERIES),
        "IN": PLANS["IN"](QUERIES),
        "INCO": PLANS["INCO"](QUERIES),
        "Figure 3": figure_3(),
        "Figure 4: DP and GREEDY": PLANS["DP"](QUERIES),
    }
    return plan_picture(plans, lambda at: f"{at} min", "Query Example 1: Q1 to Q6 by five plans")


# -- panels ---------------------------------------------------------------------------------------


def _panel(ax: Axes, runs: list[dict[str, Any]], over: str, shown: tuple[Any, ...]) -> None:
    measure, factor, label, title = shown
    for plan, points in by_plan(runs, over, measure).items():
        style = {"ms": 6.0, "linewidth": 1.5} | STYLE[plan]
        ax.plot(list(points), [v * factor for v in points.values()], label=plan, **style)
    if measure == "engine":
        keeping = {run[over]: run["keeping"] * factor for run in runs}
        ax.plot(list(keeping), list(keeping.values()), color=_GREY, linestyle=":",
                label="one query only")  # fmt: skip
    ax.set(xlabel=_LABEL[over], ylabel=label)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(FixedLocator(sorted({run[over] for run in runs})))
    ax.xaxis.set_major_formatter(FuncFormatter(short))
    ax.yaxis.set_major_formatter(FuncFormatter(short))
    ax.set_title(title, **_TITLE)


def _logarithmic(ax: Axes) -> None:
    """Latency: from hardly any to minutes."""
    ax.set_yscale("symlog", linthresh=1.0)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(FixedLocator([0, 1, 10, 100, 1_000, 10_000]))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.0f}"))


def six(runs: list[dict[str, Any]], over: str, title: str) -> Figure:
    """Everything that is measured, over one parameter."""
    figure, axes = make_panels(2, 3, 4.3, 3.3)
    for ax, shown in zip(axes.flat, (PLANNED, WALKED, ENGINE, RATE, LATE, DELAY), strict=True):
        _panel(ax, runs, over, shown)
        if shown in (LATE, DELAY):
            _logarithmic(ax)
    legend(figure, axes[0, 2], **_BELOW)
    figure.suptitle(title, fontsize=12.5)
    return figure


def rows(panels: dict[str, list[dict[str, Any]]], title: str) -> Figure:
    """A row for each parameter."""
    figure, axes = make_panels(len(panels), 5, 3.5, 3.0)
    figure.get_layout_engine().set(h_pad=0.12)
    for row, (over, runs) in zip(axes, panels.items(), strict=True):
        for ax, shown in zip(row, (PLANNED, WALKED, ENGINE, RATE, LATE), strict=True):
            _panel(ax, runs, over, shown)
        _logarithmic(row[-1])
    legend(figure, axes[0, 2], **_BELOW)
    figure.suptitle(title, fontsize=13)
    return figure


def gaussian(obtained: dict[str, Any]) -> Figure:
    """What NS and IN cost, over DP, for uniform and for normal sets of queries."""
    figure, (axes,) = make_panels(1, 2, 4.8, 3.6)
    measures = (("planned", "planned cost"), ("walked", "CPU time of walks"))
    for ax, (measure, what) in zip(axes, measures, strict=True):
        for kind, runs, line in (("gg", obtained["gaussian"], "-"),
                                 ("uu", obtained["synthetic"]["x"], ":")):  # fmt: skip
            values = by_plan(runs, "x", measure)
            for plan in ("NS", "IN"):
                ratio = [values[plan][x] / values["DP"][x] for x in values["DP"]]
                ax.plot(list(values["DP"]), ratio, label=f"{plan}, {kind}",
                        **(STYLE[plan] | {"linestyle": line, "ms": 6}))  # fmt: skip
        ax.set(xlabel=_LABEL["x"], ylabel="times that of DP", yscale="log")
        ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(short))
        ax.set_title(what, **_TITLE)
    axes[0].legend(frameon=False, fontsize=9)
    figure.suptitle("The paper: normal sets of queries (gg) share more than uniform ones (uu)",
                    fontsize=12)  # fmt: skip
    return figure


def planning(runs: list[dict[str, Any]]) -> Figure:
    """Figure 17."""
    figure, ((ax,),) = make_panels(1, 1, 7.4, 4.0)
    places = [run["most"] for run in runs]
    for plan in ("DP", "GREEDY"):
        ax.plot(places, [run[plan] * 1000 for run in runs], label=f"{plan}, mean",
                **({"ms": 6.0} | STYLE[plan]))  # fmt: skip
        ax.plot(places, [run[f"{plan}_most"] * 1000 for run in runs], color=STYLE[plan]["color"],
                linestyle=":", label=f"{plan}, longest")  # fmt: skip
    ax.set(xlabel="frequencies f from 1 to ...", ylabel="CPU ms for a plan")
    ax.xaxis.set_major_locator(FixedLocator(places))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(short))
    ax.set_ylim(bottom=0)
    legend(figure, ax, **_BELOW)
    ax.set_title(f"Figure 17, 20 queries, {runs[0]['sets']} sets. The paper: GREEDY plans faster"
                 " than DP", **_TITLE)  # fmt: skip
    return figure


def ratios(runs: list[dict[str, Any]]) -> Figure:
    """Table 9, and GREEDY against DP, over the number of queries."""
    figure, ((left, right),) = make_panels(1, 2, 5.6, 4.0)
    xs = sorted({run["x"] for run in runs})
    for (kind, high), colour, marker in (
        (("uu", 5), "#0072B2", "o"),
        (("uu", 100), "#D55E00", "^"),
    ):
        mine = {r["x"]: r["ns"] for r in runs if (r["queries"], r["ks"][1]) == (kind, high)}
        left.plot(list(mine), list(mine.values()), color=colour, marker=marker,
                  label=f"uu, k from 2 to {high}")  # fmt: skip
    left.plot(EXPECTED["table_9"]["x"], EXPECTED["table_9"]["ratio"], "D", color="#333333",
              label="the paper, Table 9")  # fmt: skip
    left.plot(xs, [log2(x) for x in xs], color=_GREY, linestyle="--", label="log$_2$ x")
    left.set(xlabel=_LABEL["x"], ylabel="planned cost of NS over that of DP")
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=9)
    left.set_title(f"Table 9 (means of {runs[0]['sets']:,} sets)", **_TITLE)
    cases = (("uu", 100, "#D55E00", "^"), ("uu", 5, "#0072B2", "o"), ("ug", 100, "#E69F00", "v"),
             ("gu", 100, "#CC79A7", "s"), ("gg", 100, "#009E73", "D"))  # fmt: skip
    for kind, high, colour, marker in cases:
        mine = {r["x"]: r["equal"] for r in runs if (r["queries"], r["ks"][1]) == (kind, high)}
        label = f"{kind}, k from 2 to {high}" if kind[1] == "u" else kind
        right.plot(list(mine), [100 * share for share in mine.values()], color=colour,
                   marker=marker, label=label)  # fmt: skip
    right.set(xlabel=_LABEL["x"], ylabel="% of sets", ylim=(0, 104))
    right.legend(frameon=False, fontsize=9, loc="lower right")
    most = max(run["greedy_most"] for run in runs)
    right.set_title(f"GREEDY is the optimum (at most {most:.2f} times DP)", **_TITLE)
    return figure
