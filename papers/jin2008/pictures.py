"""Pictures of what was obtained, beside the paper's claims."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import LogLocator
from papers.drawing import GREY, TITLE, legend, make_panels, save, short, short_ticks
from papers.jin2008.claims import OTHERS, by_synopsis
from papers.jin2008.example import EXPECTED, MEANINGS, TABLE_1
from papers.jin2008.stream import KINDS

#: One colour and one marker for each synopsis, everywhere; they differ in print too.
STYLE = {
    "BS": ("#333333", "P"),
    "CSQ": ("#b3261e", "^"),
    "CCSQ": ("#d98200", "v"),
    "SCSQ": ("#1f5fbf", "s"),
    "SCSQ-Buffer": ("#0b6e4f", "o"),
}
_MEANING = dict(zip(MEANINGS, ("#0b6e4f", "#d98200", "#1f5fbf", "#8a4fbf"), strict=True))
#: The figures of the paper that show space and time, over k and over W.
_FIGURES = {"PT-k": 8, "U-kRanks": 9, "U-Topk": 10}

#: What the pictures show, in the order of the report.
CAPTIONS = {
    "example.png": "The examples",
    "compact.png": "Sizes of compact sets for growing k",
    "space.png": "Space for growing k and windows",
    "time.png": "Time a record for growing k and windows",
    "meanings.png": "Space and time under the other meanings",
    "segments.png": "Segments for growing windows",
}


def draw(obtained: dict[str, Any], folder: Path) -> None:
    """Write every picture into the folder."""
    pk = {kind: obtained[kind]["Pk-topk"] for kind in KINDS}
    drawn = {
        "example": example(obtained["example"]["steps"]),
        "compact": compact(obtained["compact"]),
        "space": space(pk),
        "time": time(pk),
        "meanings": meanings(obtained["icebergs"]),
        "segments": segments(obtained["segments"]),
    }
    save(drawn, folder)


def _lines(ax: Axes, runs: list[dict[str, Any]], key: str, value: str) -> None:
    for name, points in by_synopsis(runs, key, value).items():
        colour, marker = STYLE[name]
        places = sorted(points)
        ax.plot(places, [points[x] for x in places], color=colour, marker=marker, ms=5,
                linewidth=1.4, label=name)  # fmt: skip
    ax.set(xscale="log", yscale="log", xlabel="k" if key == "k" else "W")
    ax.yaxis.set_major_locator(LogLocator(numticks=12))
    short_ticks(ax.xaxis, sorted({run[key] for run in runs}))
    short_ticks(ax.yaxis)


# -- the examples ---------------------------------------------------------------------------------


def example(steps: dict[str, Any]) -> Figure:
    """Figure 1's worlds, the array r of Example 3.1, and Figure 2."""
    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    worlds, array, queue = figure.subplots(1, 3, width_ratios=(4.4, 3.6, 5))
    _worlds(worlds, steps["table_1"])
    _array(array, steps["table_1"], steps["example_3_1"])
    _queue(queue, steps["example_4_1"])
    return figure


def _worlds(ax: Axes, table: dict[str, Any]) -> None:
    k = TABLE_1["k"]
    best = [speed for speed, _ in TABLE_1["answers"]["U-Topk"]]
    for place, (world, probability) in enumerate(table["worlds"]):
        chosen = world[:k] == best
        ax.barh(place, probability, 0.7, color="#0b6e4f" if chosen else "#c9ced3")
        ax.text(probability + 0.003, place, f"{probability:.3f}", va="center", fontsize=8.5)
    names = [" ".join(map(str, world)) or "none" for world, _ in table["worlds"]]
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.invert_yaxis()
    ax.set(xlim=(0, 0.18), xlabel="probability")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title("Table 1: the 16 worlds (dark: 6, 5 on top)", **TITLE)


def _array(ax: Axes, table: dict[str, Any], found: dict[str, Any]) -> None:
    ax.set_axis_off()
    ax.set(xlim=(0, 10), ylim=(-7.6, 1.2))
    left = (0.3, 2.2, 3.9, 5.8, 7.9)
    for x, head in zip(
        left, ("d", "t$_d$", "r$_{d,0}$", "r$_{d,1}$", "Pr$_2$(t$_d$)"), strict=True
    ):
        ax.text(x, 0, head, fontsize=11, weight="bold")
    for d, row in enumerate(found["r"]):
        speed = EXPECTED["example_3_1"]["rank_order"][d - 1] if d else ""
        pr = f"{table['pr_2'][str(speed)]:g}" if d else ""
        cells = (d, speed, f"{row[0]:g}", f"{row[1]:g}", pr)
        for x, cell in zip(left, cells, strict=True):
            ax.text(x, -1 - d, str(cell), fontsize=11)
    bound = sum(found["r"][-1])
    members = ", ".join(str(speed) for speed in found["compact_set"])
    ax.text(0.3, -5.6, f"r$_{{3,0}}$ + r$_{{3,1}}$ = {bound:g}: {len(found['valid']['3'])} records"
            " reach it,", fontsize=10.5)  # fmt: skip
    ax.text(0.3, -6.4, f"k = {TABLE_1['k']} are enough: compact set {{{members}}}", fontsize=10.5)
    ax.set_title("Example 3.1: the array r", **TITLE)


def _queue(ax: Axes, found: dict[str, Any]) -> None:
    given = EXPECTED["example_4_1"]
    ax.set_axis_off()
    ax.set(xlim=(-0.6, 9.7), ylim=(-6.6, 1.5))
    row = 0.0
    for step in (8, 9):
        ranks = given["ranks"][step - given["window"] : step]
        ax.text(-0.5, row + 0.62, f"time {step}", fontsize=10.5, weight="bold")
        for place, rank in enumerate(ranks):
            ax.text(place + step - 7, row, str(rank), ha="center", va="center", fontsize=11)
        for number, (members, extras) in enumerate(found[f"at_{step}"], 1):
            line = row - 0.85 * number
            for place, rank in enumerate(ranks):
                if rank in members or rank in extras:
                    _tuple(ax, place + step - 7, line, rank, rank in members)
        row -= 3.6
    ax.text(-0.5, -6.4, "a line for each segment, the newest first; dark: its compact set, light:"
            " its extras", fontsize=9.5)  # fmt: skip
    ax.set_title("Example 4.1: the segments of SCSQ, k = 3, W = 8", **TITLE)


def _tuple(ax: Axes, x: float, y: float, rank: int, member: bool) -> None:
    face = "#0b6e4f" if member else "#cfe8dd"
    ax.add_patch(FancyBboxPatch((x - 0.28, y - 0.26), 0.56, 0.52, boxstyle="round,pad=0.04",
                                facecolor=face, edgecolor="#0b6e4f"))  # fmt: skip
    ax.text(x, y, str(rank), ha="center", va="center", fontsize=11,
            color="white" if member else "black")  # fmt: skip


# -- the figures ----------------------------------------------------------------------------------


def compact(found: dict[str, Any]) -> Figure:
    """Figure 3, for all meanings and both streams."""
    figure, (axes,) = make_panels(1, 2, 4.6, 3.9)
    for ax, kind in zip(axes, KINDS, strict=True):
        for meaning, colour in _MEANING.items():
            mine = [r for r in found["runs"] if (r["stream"], r["meaning"]) == (kind, meaning)]
            ks = [run["k"] for run in mine]
            ax.plot(ks, [run["mean"] for run in mine], color=colour, marker="o", ms=4,
                    linewidth=1.4, label=meaning)  # fmt: skip
        ax.plot(ks, ks, color=GREY, linestyle=":", label="k")
        ax.set(xlabel="k", ylabel="records in the compact set")
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.set_title(kind, **TITLE)
    axes[0].legend(frameon=False, fontsize=9)
    figure.suptitle(
        f"Figure 3, {found['records']:,} records. The paper: the compact set is quite small and"
        " about linear in k", fontsize=12,
    )  # fmt: skip
    return figure


def _both(found: dict[str, Any], value: str, label: str) -> tuple[Figure, Any]:
    """Over k and over W, a row for each stream."""
    figure, axes = make_panels(2, 2, 4.6, 3.5)
    for row, (kind, costs) in zip(axes, found.items(), strict=True):
        _lines(row[0], costs["by_k"], "k", value)
        _lines(row[1], costs["by_window"], "window", value)
        row[0].set_title(f"{kind}, W = {costs['window']:,}", **TITLE)
        row[1].set_title(f"{kind}, k = {costs['k']}", **TITLE)
        row[0].set_ylabel(label)
        limits = [limit for ax in row for limit in ax.get_ylim()]
        for ax in row:
            ax.set_ylim(min(limits), max(limits))
    legend(figure, axes[0, 0])
    return figure, axes


def space(found: dict[str, Any]) -> Figure:
    figure, _ = _both(found, "bytes", "space, bytes")
    figure.suptitle(
        "Figures 4 and 6, Pk-topk. The paper: CSQ is below BS but for very small windows,\n"
        "the others by 2 to 3 orders of magnitude at large ones", fontsize=12,
    )  # fmt: skip
    return figure


def time(found: dict[str, Any]) -> Figure:
    figure, _ = _both(found, "microseconds", "CPU time a record, µs")
    figure.suptitle(
        "Figures 5 and 7, Pk-topk. The paper: CSQ and CCSQ are slowest, then SCSQ, then BS,\n"
        "SCSQ-Buffer is fastest; time stays or falls as the window grows", fontsize=12,
    )  # fmt: skip
    return figure


def meanings(found: dict[str, Any]) -> Figure:
    """Figures 8 to 10: a row for each meaning, space and time over k and W."""
    figure, axes = make_panels(len(OTHERS), 4, 3.5, 2.9)
    panels = (("by_k", "k", "bytes"), ("by_window", "window", "bytes"),
              ("by_k", "k", "microseconds"), ("by_window", "window", "microseconds"))  # fmt: skip
    for row, meaning in zip(axes, OTHERS, strict=True):
        costs = found[meaning]
        for ax, (part, key, value) in zip(row, panels, strict=True):
            _lines(ax, costs[part], key, value)
            ax.set_ylabel("space, bytes" if value == "bytes" else "CPU time a record, µs")
        window, k = f"W = {short(costs['window'])}", f"k = {costs['k']}"
        titles = (f"{meaning} (Figure {_FIGURES[meaning]}), {window}", k, window, k)
        for ax, title in zip(row, titles, strict=True):
            ax.set_title(title, **(TITLE | {"fontsize": 10}))
    for column in axes.T:
        limits = [limit for ax in column for limit in ax.get_ylim()]
        for ax in column:
            ax.set_ylim(min(limits), max(limits))
    legend(figure, axes[0, 0])
    figure.suptitle(
        "Figures 8 to 10, icebergs. The paper: space and time behave as for Pk-topk", fontsize=12
    )
    return figure


def segments(runs: list[dict[str, Any]]) -> Figure:
    """Lemma 4.4: the number of segments over W."""
    figure, ((ax,),) = make_panels(1, 1, 6.4, 3.9)
    windows = sorted({run["window"] for run in runs})
    for name in ("SCSQ", "SCSQ-Buffer"):
        colour, marker = STYLE[name]
        mine = [run for run in runs if run["synopsis"] == name]
        ax.plot([run["window"] for run in mine], [run["mean"] for run in mine], color=colour,
                marker=marker, label=name)  # fmt: skip
    h = float(np.mean([run["compact"] for run in runs]))
    ax.plot(windows, [log2(w / h) for w in windows], color=GREY, linestyle="--",
            label="log$_2$(W / H)")  # fmt: skip
    ax.set(xscale="log", xlabel="W", ylabel="segments")
    ax.set_ylim(bottom=0)
    short_ticks(ax.xaxis, windows)
    ax.legend(frameon=False, fontsize=9)
    ax.set_title(
        f"The paper: O(log W) segments (Lemma 4.4); k = {runs[0]['k']}, H = {h:.0f}", **TITLE
    )
    return figure
