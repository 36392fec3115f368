"""The measured figures as a picture: one panel a workload, bars on a logarithmic scale."""

from __future__ import annotations

import io
from typing import Any

from benchmarks.measure import short
from benchmarks.rivals.table import bars

COLOURS = {
    "CRESTLINE": "#c8452e",
    "PANES_FIRST": "#3f6b8a",
    "OBVIOUS": "#a9bfcf",
    "EVERY_RECORD": "#a9bfcf",
    "LIMIT": "#dddddd",
}
MEANING = {
    "CRESTLINE": "Crestline",
    "PANES_FIRST": "panes first, by an expert",
    "OBVIOUS": "as the manual says",
    "LIMIT": "only reading",
}


def picture(result: dict[str, Any]) -> bytes:
    """A PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    workloads = [one for one in result["workloads"] if bars(one)]
    pairs = [workloads[at : at + 2] for at in range(0, len(workloads), 2)]
    heights = [max(len(bars(one)) for one in pair) + 2 for pair in pairs]
    figure = Figure(figsize=(13, 0.27 * sum(heights) + 1.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(
        len(pairs), 2, squeeze=False, gridspec_kw={"height_ratios": heights}, sharex=True
    )
    speeds = [speed for one in workloads for _, _, speed in bars(one)]
    for at, axis in enumerate(axes.flat):
        if at >= len(workloads):
            axis.set_visible(False)
            continue
        _panel(axis, workloads[at], min(speeds) / 2, max(speeds) * 4, heights[at // 2] - 2)
    handles = [Patch(color=COLOURS[kind], label=text) for kind, text in MEANING.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("Rows a second, logarithmic scale: longer is faster", fontsize=12)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    return out.getvalue()


def _panel(axis: Any, workload: dict[str, Any], low: float, high: float, places: int) -> None:
    shown = bars(workload)
    labels = [label for label, _, _ in shown]
    axis.barh(
        range(len(shown)), [s for _, _, s in shown], color=[COLOURS[kind] for _, kind, _ in shown]
    )
    axis.set_yticks(range(len(shown)), labels, fontsize=8.5)
    for tick, (_, kind, _) in zip(axis.get_yticklabels(), shown, strict=True):
        tick.set_fontweight("bold" if kind == "CRESTLINE" else "normal")
    for place, (_, _, speed) in enumerate(shown):
        axis.text(speed * 1.12, place, short(speed), va="center", fontsize=8.5)
    axis.set_ylim(places - 0.4, -0.6)  # bars of the same height in all panels
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    axis.xaxis.set_major_formatter(lambda speed, _: short(speed))
    axis.tick_params(axis="x", labelsize=8.5, labelbottom=True)
    axis.set_title(workload["title"], fontsize=10, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
