"""The demo's picture: how the ranks of the leading trades changed, as a bump chart."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any

from crestline.cli.trades import Snapshot, Trade

#: Okabe and Ito's colours, told apart also by colour-blind readers; the pale yellow is left out.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GREY, _INK = "#C9CDD2", "#333333"
#: More results than this make lines too narrow to follow.
_SHOWN = 60
#: Results that a label spans, roughly; points to a bend.
_LABEL_WIDTH, _BENDS = 3.0, 8

#: (number of the result, rank), one result after another
Stay = list[tuple[int, int]]


def rank_picture(seen: Sequence[Snapshot]) -> bytes:
    """A PNG of the last results: every trade a line, those that led for a while in colour."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = list(seen)[-_SHOWN:]
    stays = _stays(shown)
    leaders = _leaders(shown)
    figure = Figure(figsize=(12, 6.2), dpi=150, layout="constrained")
    axes: Any = figure.add_subplot()
    for trade, stay in stays:
        if trade not in leaders:
            axes.plot(*_curve(stay), color=_GREY, lw=1.6, solid_capstyle="round")
    for trade, stay in stays:
        if trade in leaders:
            colour = _COLOURS[leaders.index(trade) % len(_COLOURS)]
            axes.plot(*_curve(stay), color=colour, lw=3.4, solid_capstyle="round", zorder=3)
            ends = zip(stay[0], stay[-1], strict=True)
            axes.plot(*ends, "o", color=colour, ms=7.5, mec="white", mew=1.2, zorder=4)
    _label_leaders(axes, shown, leaders)
    _label_axes(axes, shown)
    canvas: Any = FigureCanvasAgg(figure)
    content = BytesIO()
    canvas.print_png(content)
    return content.getvalue()


def _stays(shown: Sequence[Snapshot]) -> list[tuple[Trade, Stay]]:
    """Each trade's stays in the top; one that was pushed out may come back as others expire."""
    open_stays: dict[Trade, Stay] = {}
    found: list[tuple[Trade, Stay]] = []
    for number, snapshot in enumerate(shown):
        open_stays = {trade: stay for trade, stay in open_stays.items() if trade in snapshot.trades}
        for rank, trade in enumerate(snapshot.trades, 1):
            if trade not in open_stays:
                open_stays[trade] = []
                found.append((trade, open_stays[trade]))
            open_stays[trade].append((number, rank))
    return found


def _leaders(shown: Sequence[Snapshot]) -> list[Trade]:
    """The trades that were first, in the order in which they became it."""
    return list(dict.fromkeys(snapshot.trades[0] for snapshot in shown if snapshot.trades))


def _curve(stay: Stay) -> tuple[list[float], list[float]]:
    """The stay as a line that is level at every result and bends in between."""
    x, y = [float(stay[0][0])], [float(stay[0][1])]
    for (number, rank), (_, following) in pairwise(stay):
        for part in range(1, _BENDS + 1):
            t = part / _BENDS
            x.append(number + t)
            y.append(rank + (following - rank) * t * t * (3 - 2 * t))
    return x, y


def _label_leaders(axes: Any, shown: Sequence[Snapshot], leaders: list[Trade]) -> None:
    """Symbol and value above the time of leading; a step higher where two would touch."""
    at: list[float] = []
    raised = False
    for place, trade in enumerate(leaders):
        led = [number for number, snapshot in enumerate(shown) if snapshot.trades[:1] == (trade,)]
        at.append((led[0] + led[-1]) / 2)
        raised = not raised and place > 0 and at[-1] - at[-2] < _LABEL_WIDTH
        axes.annotate(
            f"{trade.symbol}\n{trade.value / 1e6:.1f} M",
            (at[-1], 1),
            xytext=(0, 36 if raised else 9),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9,
            fontweight="bold",
            color=_COLOURS[place % len(_COLOURS)],
        )


def _label_axes(axes: Any, shown: Sequence[Snapshot]) -> None:
    most = max((len(snapshot.trades) for snapshot in shown), default=1)
    axes.set_ylim(most + 0.4, -0.6)
    axes.set_yticks(range(1, most + 1))
    minutes = [i for i, snapshot in enumerate(shown) if snapshot.end.second == 0]
    ticks = minutes if len(minutes) > 1 else range(0, len(shown), max(1, len(shown) // 6))
    axes.set_xticks(ticks, [f"{shown[i].end:%H:%M:%S}" for i in ticks])
    axes.set_xlim(-0.8, max(1, len(shown)) - 0.2)
    axes.set_xlabel("end of the window", color=_INK)
    axes.set_ylabel("rank", color=_INK)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, colors=_INK)
    axes.set_title(
        "The 10 largest trades of the last minute, every 5 seconds",
        loc="left", fontsize=14, fontweight="bold", color=_INK, pad=26,
    )  # fmt: skip
    axes.text(
        0, 1.02, "Each line is a trade, from entering the top 10 to leaving it."
        " Coloured: those that were first, with symbol and value.",
        transform=axes.transAxes, fontsize=10, color="#666666", va="bottom",
    )  # fmt: skip


__all__ = ["rank_picture"]
