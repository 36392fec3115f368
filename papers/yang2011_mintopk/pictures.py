"""Pictures of what was obtained, one for each figure of the paper that shows something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from papers.drawing import GREY, make_panels, save, short
from papers.yang2011_mintopk.claims import by_algorithm
from papers.yang2011_mintopk.example import EXAMPLE

#: One colour and one marker for each algorithm, everywhere; they differ in print too.
STYLE = {
    "MinTopk": ("#0b6e4f", "o"),
    "PreTopk": ("#d98200", "s"),
    "SMA": ("#b3261e", "^"),
    "TMA": ("#6b4fa0", "D"),
    "Naive": ("#555555", "x"),
}

#: What the pictures show, in the order of the report.
CAPTIONS = {
    "example.png": "The running example",
    "kept.png": "Records kept",
    "by_k.png": "CPU time and records kept for growing k",
    "by_window.png": "Growing windows",
    "by_slide.png": "Slides of many lengths",
    "by_arrival.png": "Uneven arrival",
}


def draw(obtained: dict[str, Any], folder: Path) -> None:
    """Write every picture into the folder."""
    drawn = {
        "example": example(obtained["example"]["steps"]),
        "kept": kept(obtained["kept"]["multiples_of_k"]),
        "by_k": by_k(obtained["by_k"]["runs"]),
        "by_window": by_window(obtained["by_window"]),
        "by_slide": by_slide(obtained["by_slide"]),
        "by_arrival": by_arrival(obtained["by_arrival"]),
    }
    save(drawn, folder)


def _row(columns: int, width: float = 5.2, height: float = 3.9) -> tuple[Figure, list[Axes]]:
    figure, axes = make_panels(1, columns, width, height)
    return figure, list(axes[0])


def _log(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(short))
    axis.set_minor_formatter(NullFormatter())


def _lines(ax: Axes, runs: list[dict[str, Any]], key: str, value: str) -> None:
    for name, points in by_algorithm(runs, key, value).items():
        colour, marker = STYLE[name]
        ax.plot(list(points), list(points.values()), color=colour, marker=marker, label=name)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(sorted({run[key] for run in runs}))
    for axis in (ax.xaxis, ax.yaxis):
        _log(axis)


def example(steps: dict[str, Any]) -> Figure:
    """Figures 1 and 2, each with the list of Figure 5 and its marks beside it."""
    figure = Figure(figsize=(13.5, 4.6), layout="constrained")
    axes = figure.subplots(1, 4, width_ratios=(5, 2.2, 5, 2.2))
    panels = (("at_w0", 1, 16, 0), ("at_w1", 5, 20, 1))
    for place, (name, first, last, current) in enumerate(panels):
        _example_stream(axes[2 * place], steps[name], first, last, current)
        _example_list(axes[2 * place + 1], steps[name])
    figure.suptitle(
        "Running example: window 16, slide 4, k = 3"
        " (dark: the result, light: kept for later, dashed: forgotten)"
    )
    return figure


def _example_stream(ax: Axes, step: dict[str, Any], first: int, last: int, current: int) -> None:
    now = step["predicted"][f"W{current}"]
    for number in range(first, last + 1):
        score, listed = EXAMPLE["scores"][number - 1], str(number) in step["marks"]
        face = "#0b6e4f" if number in now else "#cfe8dd" if listed else "white"
        edge = "#0b6e4f" if listed else GREY
        ax.scatter(number, score, s=330, facecolor=face, edgecolor=edge, zorder=3,
                   linestyle="-" if listed else "--", linewidth=1.3)  # fmt: skip
        ax.text(number, score, str(number), ha="center", va="center", fontsize=8.5, zorder=4,
                color="white" if number in now else "black" if listed else "#5f6368")  # fmt: skip
    for start in range(first, last + 2, 4):
        ax.axvline(start - 0.5, color="#dddddd", linewidth=1)
    ax.set(xlim=(first - 1, last + 1), ylim=(0, 108), xlabel="arrival", ylabel="F score")
    ax.set_title(f"objects {first} to {last}, at the time of W{current}", loc="left", fontsize=11)
    ax.set_xticks(range(first, last + 1, 4))
    ax.spines[["top", "right"]].set_visible(False)


def _example_list(ax: Axes, step: dict[str, Any]) -> None:
    ax.set_axis_off()
    ax.set(xlim=(0, 10), ylim=(-7.5, 1))
    ax.set_title("list, marks, ← pointers", loc="left", fontsize=11)
    for place, (number, (begin, end)) in enumerate(step["marks"].items()):
        marks = begin if begin == end else f"{begin} to {end}"
        held = [w for w, n in step["lower_bound_pointers"].items() if n == int(number)]
        ax.text(1.4, -place, number, fontsize=11, weight="bold", va="center", ha="right")
        ax.text(2.0, -place, marks, fontsize=10, va="center")
        if held:
            ax.text(6.0, -place, f"← {', '.join(held)}", fontsize=10, va="center")


def kept(runs: list[dict[str, Any]]) -> Figure:
    """Records kept in multiples of k: measured, k H_C, and the paper's 2k."""
    figure, (ax,) = _row(1, width=6.4, height=4.2)
    panes = sorted({run["panes"] for run in runs})
    h = {run["panes"]: run["h"] for run in runs}
    ax.plot(panes, [h[c] for c in panes], color="#0b6e4f", label="k H$_C$", zorder=2)
    for marker, k in zip("osD^v", sorted({run["k"] for run in runs}), strict=False):
        mine = [run for run in runs if run["k"] == k]
        ax.plot([run["panes"] for run in mine], [run["mean"] for run in mine], marker, ms=8,
                markerfacecolor="none", color="black", label=f"measured, k = {k:,}")  # fmt: skip
    ax.axhline(2, color="#b3261e", linestyle="--", label="2k (Theorem 3.2)")
    ax.axhline(1, color=GREY, linestyle=":", label="rising scores: k")
    ax.plot(panes, panes, color=GREY, linestyle="-.", label="falling scores: k C")
    ax.set(xscale="log", yscale="log", xlabel="C = window / slide", ylabel="records kept / k")
    ax.set_xticks(panes)
    ax.set_yticks([1, 2, 3, 5, 7, 10, 100, 1_000])
    ax.set_ylim(0.85, 1.3 * max(panes))
    _log(ax.xaxis)
    _log(ax.yaxis)
    ax.set_title("Records kept: scores in random order", loc="left", fontsize=11)
    ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def by_k(runs: list[dict[str, Any]]) -> Figure:
    figure, (cpu, memory) = _row(2)
    _lines(cpu, runs, "k", "microseconds_a_record")
    _lines(memory, runs, "k", "kept_mean")
    cpu.set(xlabel="k", ylabel="CPU time a record, µs")
    memory.set(xlabel="k", ylabel="records kept")
    cpu.set_title("CPU time (Figure 7)", loc="left", fontsize=11)
    memory.set_title("Records kept (Figure 8)", loc="left", fontsize=11)
    cpu.legend(frameon=False, fontsize=9)
    whole = max(run["kept_mean"] for run in runs)
    memory.annotate("SMA, TMA and Naive keep the window", (runs[0]["k"], whole), (0, -16),
                    textcoords="offset points", fontsize=9)  # fmt: skip
    return figure


def by_window(found: dict[str, Any]) -> Figure:
    figure, (tenth, fixed, memory) = _row(3, width=4.6)
    _lines(tenth, found["tenth"], "window", "microseconds_a_record")
    _lines(fixed, found["fixed"], "window", "microseconds_a_record")
    _lines(memory, found["fixed"], "window", "kept_mean")
    slide = short(found["fixed"][0]["slide"])
    tenth.set_title("slide = window / 10 (Figure 9)", loc="left", fontsize=11)
    fixed.set_title(f"slide fixed at {slide}", loc="left", fontsize=11)
    memory.set_title(f"slide fixed at {slide} (cf. Figure 10)", loc="left", fontsize=11)
    for ax in (tenth, fixed):
        ax.set(xlabel="window, records", ylabel="CPU time a record, µs")
    memory.set(xlabel="window, records", ylabel="records kept")
    tenth.legend(frameon=False, fontsize=9)
    figure.suptitle(f"Growing windows, k = {found['k']:,}", fontsize=12)
    return figure


def by_slide(found: dict[str, Any]) -> Figure:
    figure, (cpu, memory) = _row(2)
    _lines(cpu, found["runs"], "slide", "microseconds_a_record")
    _lines(memory, found["runs"], "slide", "kept_mean")
    references = [(run["slide"], found["k"] * run["window"] // run["slide"])
                  for run in found["runs"] if run["algorithm"] == "PreTopk"]  # fmt: skip
    memory.plot(*zip(*references, strict=True), color=STYLE["PreTopk"][0], linestyle=":",
                marker=".", label="PreTopk's references, k C")  # fmt: skip
    cpu.set(xlabel="slide, records", ylabel="CPU time a record, µs")
    memory.set(xlabel="slide, records", ylabel="records kept")
    cpu.set_title("CPU time (Figure 11)", loc="left", fontsize=11)
    memory.set_title("Records kept (Figure 12)", loc="left", fontsize=11)
    memory.legend(frameon=False, fontsize=9)
    figure.suptitle(f"Window of {found['window']:,}, k = {found['k']:,}", fontsize=12)
    return figure


def by_arrival(found: dict[str, Any]) -> Figure:
    """Figure 13: for each slide the mean, one standard deviation, and the extremes."""
    seconds = list(dict.fromkeys(run["seconds"] for run in found["runs"]))
    figure, axes = _row(len(seconds), width=3.9)
    least = min(run["least_ms"] for run in found["runs"])
    most = max(run["most_ms"] for run in found["runs"])
    for ax, slide in zip(axes, seconds, strict=True):
        mine = [run for run in found["runs"] if run["seconds"] == slide]
        for place, run in enumerate(mine):
            colour, marker = STYLE[run["algorithm"]]
            low = max(run["mean_ms"] - run["sd_ms"], run["least_ms"])
            ax.plot([place, place], [run["least_ms"], run["most_ms"]], color=colour, linewidth=1)
            ax.plot([place, place], [low, run["mean_ms"] + run["sd_ms"]], color=colour, linewidth=7,
                    alpha=0.35, solid_capstyle="butt")  # fmt: skip
            ax.plot(place, run["mean_ms"], marker, color=colour, ms=8)
        ax.set_xticks(range(len(mine)), [run["algorithm"] for run in mine])
        ax.set_yscale("log")
        ax.set_xlim(-0.6, len(mine) - 0.4)
        _log(ax.yaxis)
        ax.set_ylim(0.8 * least, 1.25 * most)
        records = mine[0]
        ax.set_title(
            f"slide {slide} s: {records['records_least']:,} to {records['records_most']:,} records",
            loc="left", fontsize=10,
        )  # fmt: skip
    axes[0].set_ylabel("CPU time a window, ms")
    figure.suptitle(
        f"Uneven arrival (Figure 13): mean, one standard deviation (bar), least and most (line);"
        f" window {found['window_seconds']:,} s, k = {found['k']:,}", fontsize=11,
    )  # fmt: skip
    return figure
