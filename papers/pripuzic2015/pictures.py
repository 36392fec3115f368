"""Pictures of what was obtained, beside the paper's claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from papers.drawing import GREY, TITLE, make_panels, plain, save, short_ticks
from papers.pripuzic2015.claims import relaxed_size, strict_size
from papers.pripuzic2015.example import EXAMPLE, SCORES
from papers.pripuzic2015.judging import by_algorithm, split

#: One colour and one marker for each algorithm, everywhere; the kind of filter tells the colour,
#: a strict band is dashed.
STYLE = {
    "PA": ("#0b6e4f", "o", "-"),
    "RAPF": ("#1f5fbf", "s", "-"),
    "RAPF2": ("#4aa3df", "D", "-"),
    "SAPF": ("#1f5fbf", "s", "--"),
    "RARF": ("#d98200", "^", "-"),
    "SARF": ("#d98200", "^", "--"),
    "RASF": ("#b3261e", "v", "-"),
    "SASF": ("#b3261e", "v", "--"),
    "RA": ("#333333", "P", "-"),
    "SA": ("#333333", "P", "--"),
    "SNN": ("#8a4fbf", "X", "-"),
    "CPM": ("#c45fa0", "X", "--"),
}
_WRONGS = ("missed", "wrong")

#: What the pictures show, in the order of the report.
CAPTIONS = {
    "example.png": "The running example",
    "errors.png": "Errors of PA in random order",
    "in_order.png": "Results missed on streams in order of time",
    "kept.png": "Records kept by SA and RA",
    "by_k.png": "Cost of one query for growing k",
    "by_parameter.png": "Cost of one query for growing windows, buffers and gamma",
    "space.png": "References and records kept for growing k",
    "many.png": "Cost of many queries for growing numbers and dimensions",
    "many_by_kind.png": "Cost of many queries on all streams",
}


def draw(obtained: dict[str, Any], folder: Path) -> None:
    """Write every picture into the folder."""
    drawn = {
        "example": example(obtained["example"]["steps"]),
        "errors": errors(obtained["errors"], obtained["fewer_candidates"]),
        "in_order": in_order(obtained["in_order"]),
        "kept": kept(obtained["kept"]["runs"]),
        "by_k": by_k(obtained["by_k"]),
        "by_parameter": by_parameter(obtained),
        "space": space(obtained["by_k"]["random"]),
        "many": many(obtained["by_queries"], obtained["by_dimensions"]),
        "many_by_kind": many_by_kind(obtained["by_kind"]),
    }
    save(drawn, folder)


def _lines(ax: Axes, runs: list[dict[str, Any]], key: str, value: str, log_x: bool = True) -> None:
    for name, points in by_algorithm(runs, key, value).items():
        colour, marker, line = STYLE[name]
        ax.plot(list(points), list(points.values()), color=colour, marker=marker, linestyle=line,
                ms=5, linewidth=1.4, label=name)  # fmt: skip
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    ticks = sorted({run[key] for run in runs})
    if log_x:
        ax.set_xscale("log")
    short_ticks(ax.xaxis, ticks)
    short_ticks(ax.yaxis)


def _legend(figure: Figure, axes: Any, **given: Any) -> None:
    """One legend for all panels, to the right of them."""
    found: dict[str, Any] = {}
    for ax in np.ravel(axes):
        found |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ordered = [name for name in STYLE if name in found]
    ordered += [name for name in found if name not in STYLE]
    figure.legend([found[name] for name in ordered], ordered, frameon=False, fontsize=9,
                  loc="outside right center", **given)  # fmt: skip


def example(steps: dict[str, Any]) -> Figure:
    """Figure 1, and what each algorithm holds after each step."""
    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    stream, table = figure.subplots(1, 2, width_ratios=(3.2, 9))
    for step, score in enumerate(SCORES, 1):
        stream.scatter(step, score, s=250, facecolor="#cfe8dd", edgecolor="#0b6e4f", zorder=3)
        stream.text(step, score, str(step), ha="center", va="center", fontsize=8.5, zorder=4)
    edge = EXAMPLE["table_iii"]["edge"]
    stream.axhline(edge, color=GREY, linestyle="--", linewidth=1)
    stream.text(0.2, edge + 0.1, "border of the cells", ha="left", va="top", fontsize=8)
    stream.set(xlim=(0, 12), ylim=(15.5, 0), xlabel="arrival", ylabel="score (smaller is better)")
    stream.set_xticks(range(1, 12))
    stream.set_title("Objects (Figure 1)", **TITLE)
    plain(stream)
    columns = {
        "CPM\n(Table II)": [_listed(row) for row in steps["table_ii"]["CPM"]["list"]],
        "SNN\n(Table II)": [_listed(row) for row in steps["table_ii"]["SNN"]["list"]],
        "SASF band\n(Table III)": [_listed(row) for row in steps["table_iii"]["band"]],
        "SASF filter\n(Table III)": [_listed(row) for row in steps["table_iii"]["filter"]],
        "PA\n(Table VI)": _two_parts(steps["table_vi"]),
        "PA threshold\n(Table VI)": [
            t.replace("none", "–") for t in steps["table_vi"]["threshold"]
        ],
        "RA, struck: pruned\n(Table VII)": _two_parts(steps["table_vii"]),
    }
    _table(table, columns)
    figure.suptitle("Running example: window 6, k = 1; the top k | the candidates", fontsize=12)
    return figure


def _listed(numbers: list[int], struck: list[int] = []) -> str:  # noqa: B006 (never changed)
    return " ".join("".join(f"{c}\u0336" for c in str(i)) if i in struck else str(i)
                    for i in numbers)  # fmt: skip


def _two_parts(rows: dict[str, Any]) -> list[str]:
    struck = rows.get("struck", [[]] * len(rows["top"]))
    return [
        f"{_listed(top)} | {_listed(rest, out)}"
        for top, rest, out in zip(rows["top"], rows["candidates"], struck, strict=True)
    ]


def _table(ax: Axes, columns: dict[str, list[str]]) -> None:
    ax.set_axis_off()
    widths = [1.3, 1.4, 1.7, 1.7, 2.0, 2.4, 2.6]
    left = np.concatenate(([0.9], 0.9 + np.cumsum(widths)))
    ax.set(xlim=(0, left[-1]), ylim=(-11.6, 1.2))
    for step in range(1, 12):
        ax.text(0.3, -step, str(step), fontsize=9.5, va="center", ha="center", color="#5f6368")
        if step % 2:
            ax.axhspan(-step - 0.5, -step + 0.5, color="#f4f6f8", zorder=0)
    ax.text(0.3, 0.25, "step", fontsize=9, va="center", ha="center", color="#5f6368")
    for place, (name, cells) in enumerate(columns.items()):
        ax.text(left[place], 0.25, name, fontsize=9, va="center", weight="bold")
        for step, cell in enumerate(cells, 1):
            ax.text(left[place], -step, cell, fontsize=9.5, va="center")


def errors(full: dict[str, Any], fewer: dict[str, Any]) -> Figure:
    """Lemma 4.6 and Figure 8: bounds, and what happens with fewer candidates."""
    figure, ((bound, share),) = make_panels(1, 2, width=5.4, height=4.1)
    ks = list(dict.fromkeys(run["k"] for run in full["runs"]))
    places = np.arange(len(ks))
    none = [run for run in full["runs"] if run["additional"] == 0]
    runs = none[0]["runs"]
    for shift, name, colour in ((-0.1, "missed", "#b3261e"), (0.1, "wrong", "#1f5fbf")):
        high = [run[f"{name}_at_most"] for run in none]
        bound.vlines(places + shift, 0, high, color=colour, linewidth=5, alpha=0.35,
                     label=f"{name}: 95 % confidence")  # fmt: skip
        bound.plot(places + shift, [run[f"{name}_a_run"] for run in none], "o", color=colour, ms=6,
                   label=f"{name}: mean of {runs} runs", clip_on=False, zorder=4)  # fmt: skip
        limit = full[f"bound_{name}"]
        bound.axhline(limit, color=colour, linestyle="--", linewidth=1.2)
        bound.text(len(ks) - 0.45, limit, f"bound {limit:.3g}", color=colour, fontsize=8.5,
                   va="top" if name == "missed" else "bottom")  # fmt: skip
    bound.set_xticks(places, [str(k) for k in ks])
    bound.set(xlabel="k", ylabel="objects a run", xlim=(-0.5, len(ks) + 0.1))
    highest = [full["bound_wrong"], *(run[f"{x}_at_most"] for run in none for x in _WRONGS)]
    bound.set_ylim(0, 1.35 * max(highest))  # room for the legend
    bound.set_title("Errors of PA in random order (Lemma 4.6)", **TITLE)
    bound.legend(frameon=False, fontsize=8.5, loc="upper left", ncols=2)
    colours = ("#0b6e4f", "#1f5fbf", "#d98200")
    smallest = 1 / fewer["runs"][0]["runs"]
    for colour, k in zip(colours, dict.fromkeys(run["k"] for run in fewer["runs"]), strict=False):
        mine = [run for run in fewer["runs"] if run["k"] == k]
        at = [run["limit"] / run["of"] for run in mine]
        for name, line in (("missed", "-"), ("wrong", ":")):
            seen = [(x, run[f"{name}_a_run"]) for x, run in zip(at, mine, strict=True)
                    if run[f"{name}_a_run"] > 0]  # fmt: skip
            if seen:
                share.plot(*zip(*seen, strict=True), color=colour, marker="o", ms=4, linestyle=line,
                           label=f"{name}, k = {k}")  # fmt: skip
    share.axhline(fewer["bound_missed"], color=GREY, linestyle="--", linewidth=1.2)
    share.text(1.0, fewer["bound_missed"] * 0.9, "bound missed", color="#5f6368", fontsize=9,
               ha="right", va="top")  # fmt: skip
    share.set(yscale="log", xlim=(0, 1.05), xlabel="candidates, as a share of the limit",
              ylabel="objects a run")  # fmt: skip
    share.set_ylim(bottom=0.3 * min(smallest, fewer["bound_missed"]))
    short_ticks(share.yaxis)
    share.set_title("With fewer candidates (no point: no error)", **TITLE)
    share.legend(frameon=False, fontsize=8.5)
    return figure


def in_order(found: dict[str, Any]) -> Figure:
    """Section 4.1.3: what PA misses on streams in order, and adaptive PA does not."""
    ks = list(dict.fromkeys(run["k"] for run in found["runs"]))
    figure, (axes,) = make_panels(1, len(ks), width=5.2, height=3.6)
    for ax, k in zip(axes, ks, strict=True):
        mine = [run for run in found["runs"] if run["k"] == k]
        places = np.arange(len(mine))
        for shift, name, label, colour in (
            (-0.2, "PA", "PA", "#b3261e"),
            (0.2, "adaptive", "adaptive PA", "#0b6e4f"),
        ):
            shares = [100 * run[f"{name}_missed"] / run["reported"] for run in mine]
            ax.bar(places + shift, shares, 0.36, color=colour, label=label)
            for place, run, share in zip(places, mine, shares, strict=True):
                missed = run[f"{name}_missed"]
                ax.text(place + shift, share + 1.5, f"{missed:,}", ha="center", fontsize=8)
        names = [f"{run['stream']}\n{run['reported']:,}" for run in mine]
        ax.set_xticks(places, names, fontsize=9)
        ax.set(ylim=(0, 112), ylabel="results missed, %")
        ax.grid(False, axis="x")
        ax.set_title(f"k = {k}", **TITLE)
    axes[-1].legend(frameon=False, fontsize=9)
    figure.suptitle(
        f"Streams in order of time: results missed (below: results there are);"
        f" {found['records']:,} records, n = {found['n']:,}", fontsize=11,
    )  # fmt: skip
    return figure


def kept(runs: list[dict[str, Any]]) -> Figure:
    """Records kept against k (1 + H_n - H_k) and Lemma 4.9."""
    figure, ((by_k, by_gamma),) = make_panels(1, 2, width=5.2, height=4.0)
    usual, n = runs[0]["gamma"], runs[0]["n"]
    mine = [run for run in runs if run["n"] == n and run["gamma"] == usual]
    ks = np.unique([run["k"] for run in mine])
    by_k.plot(ks, [strict_size(k, n) for k in ks], color="#333333", linestyle="--",
              label="k (1 + H$_n$ − H$_k$)")  # fmt: skip
    by_k.plot(ks, [relaxed_size(k, usual, strict_size(k, n)) for k in ks], color="#333333",
              label="Lemma 4.9 with it")  # fmt: skip
    by_k.plot(ks, [k * np.log(n / k) for k in ks], color="#b3261e", linestyle=":",
              label="k ln(n/k), the paper's")  # fmt: skip
    for name, marker in (("SA", "s"), ("RA", "o")):
        points = [(run["k"], run["mean"]) for run in mine if run["algorithm"] == name]
        by_k.plot(*zip(*points, strict=True), marker, ms=8, markerfacecolor="none",
                  color="#0b6e4f", label=f"{name}, measured")  # fmt: skip
    by_k.set(xscale="log", yscale="log", xlabel="k", ylabel="records kept")
    short_ticks(by_k.xaxis, list(ks))
    short_ticks(by_k.yaxis)
    by_k.set_title(f"n = {n:,}, gamma = {usual:g}", **TITLE)
    by_k.legend(frameon=False, fontsize=9)
    k = max(ks)
    mine = [run for run in runs if run["n"] == n and run["k"] == k]
    gammas = np.unique([run["gamma"] for run in mine])
    lemma = [relaxed_size(k, gamma, strict_size(k, n)) for gamma in gammas]
    by_gamma.plot(gammas, lemma, color="#333333", label="Lemma 4.9")
    by_gamma.axhline(strict_size(k, n), color="#333333", linestyle="--", label="SA's formula")
    for name, marker in (("SA", "s"), ("RA", "o")):
        points = sorted((run["gamma"], run["mean"]) for run in mine if run["algorithm"] == name)
        by_gamma.plot(*zip(*points, strict=True), marker, ms=8, markerfacecolor="none",
                      color="#0b6e4f", label=f"{name}, measured")  # fmt: skip
    by_gamma.set(xlabel="gamma", ylabel="records kept", ylim=(0, None))
    by_gamma.set_title(f"n = {n:,}, k = {k}", **TITLE)
    by_gamma.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def by_k(found: dict[str, Any]) -> Figure:
    """Figures 9 and 10 without query indexing: one query, growing k, on every stream."""
    figure, axes = make_panels(2, 3, width=4.4, height=3.5)
    names = {
        "random": "random scores", "uniform": "uniform points", "clustered": "clustered points",
        "stations, shuffled": "weather stations, shuffled", "walks": "walks: correlated in time",
        "stations": "weather stations, in order",
    }  # fmt: skip
    values = [run["nanoseconds"] for runs in found.values() for run in runs]
    for ax, (kind, runs) in zip(axes.flat, found.items(), strict=True):
        _lines(ax, runs, "k", "nanoseconds")
        ax.set_title(names[kind], **TITLE)
        ax.set_ylim(0.7 * min(values), 1.4 * max(values))
    for ax in axes[:, 0]:
        ax.set_ylabel("CPU time an arrival, ns")
    for ax in axes[1]:
        ax.set_xlabel("k")
    _legend(figure, axes)
    figure.suptitle("One query at a time (cf. Figures 9 and 10)", fontsize=12)
    return figure


def by_parameter(obtained: dict[str, Any]) -> Figure:
    """Figures 11(d), (e), (f)."""
    figure, axes = make_panels(2, 3, width=4.4, height=3.5)
    panels = [
        (obtained["by_n"], "n", "window n (Figure 11f)", True),
        *[
            (runs, "b", f"buffer b: {setting}", True)
            for setting, runs in list(obtained["by_buffer"].items())[:3]
        ],
        *[
            (runs, "gamma", f"gamma: {setting} (Figure 11e)", False)
            for setting, runs in obtained["by_gamma"].items()
        ],
    ]
    for ax, (runs, key, title, log_x) in zip(axes.flat, panels, strict=False):
        _lines(ax, runs, key, "nanoseconds", log_x)
        ax.set_title(title, **(TITLE | {"fontsize": 10}))
        ax.set_xlabel(key)
        if key == "b":
            ax.tick_params(axis="x", labelsize=8)
        elif key == "gamma":  # the smallest stand too close for their numbers
            short_ticks(ax.xaxis, [0, 0.2, 0.5, 1])
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("CPU time an arrival, ns")
    _legend(figure, axes)
    figure.suptitle("Random order: window, buffer and gamma (cf. Figure 11)", fontsize=12)
    return figure


def space(runs: list[dict[str, Any]]) -> Figure:
    """Figure 12: references of a query, and records that must stay in memory for it."""
    figure, axes = make_panels(1, 2, width=4.9, height=4.0)
    _lines(axes[0, 0], runs, "k", "references")
    _lines(axes[0, 1], runs, "k", "kept")
    axes[0, 0].set_title("references of a query (Figure 12b)", **TITLE)
    axes[0, 1].set_title("records kept, one query alone", **TITLE)
    for ax in axes.flat:
        ax.set(xlabel="k", ylabel="records")
    _legend(figure, axes)
    return figure


def many(by_queries: list[dict[str, Any]], by_dimensions: list[dict[str, Any]]) -> Figure:
    """Figures 11(a) and (c), with and without the grid."""
    figure, axes = make_panels(2, 2, width=4.9, height=3.6)
    few = by_dimensions[0]["queries"]
    for row, (runs, key, label, where) in enumerate(
        (
            (by_queries, "queries", "queries", "2 dimensions"),
            (by_dimensions, "dimensions", "dimensions", f"{few} queries"),
        )
    ):
        values = [run["microseconds"] for run in runs]
        for ax, grid in zip(axes[row], (False, True), strict=True):
            _lines(ax, split(runs, grid), key, "microseconds", log_x=key == "queries")
            ax.set_title(f"{'with' if grid else 'without'} grid, {where}", **TITLE)
            ax.set(xlabel=label, ylim=(0.7 * min(values), 1.4 * max(values)))
        axes[row, 0].set_ylabel("CPU time a record, µs")
    _legend(figure, axes)
    figure.suptitle("Many queries on uniform points (cf. Figures 11c and 11a)", fontsize=12)
    return figure


def many_by_kind(found: dict[str, Any]) -> Figure:
    """Figures 9 and 10 for many queries: with and without the grid, on every stream."""
    figure, axes = make_panels(1, len(found), width=3.2, height=3.8)
    values = [run["microseconds"] for runs in found.values() for run in runs]
    for ax, (kind, runs) in zip(axes[0], found.items(), strict=True):
        names = list(dict.fromkeys(run["algorithm"] for run in runs))
        for shift, grid, colour in ((0.2, False, "#c9ced3"), (-0.2, True, "#1f5fbf")):
            mine = {run["algorithm"]: run["microseconds"] for run in split(runs, grid)}
            at = [names.index(name) + shift for name in mine]
            ax.barh(at, list(mine.values()), 0.38, color=colour,
                    label="with grid" if grid else "without")  # fmt: skip
        ax.set_yticks(range(len(names)), names if kind == next(iter(found)) else [])
        ax.invert_yaxis()
        ax.set_xscale("log")
        short_ticks(ax.xaxis)
        ax.set_xlim(0.6 * min(values), 1.4 * max(values))
        ax.grid(False, axis="y")
        ax.set_title(kind, **TITLE)
        ax.set_xlabel("CPU time a record, µs")
    axes[0, -1].legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    queries = next(iter(found.values()))[0]["queries"]
    figure.suptitle(f"{queries} queries, 2 dimensions", fontsize=12)
    return figure
