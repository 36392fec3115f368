"""What the drawings of the algorithms have in common: the paper, the colours and the marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

#: Okabe and Ito's colours, as in the other pictures; the states differ by filling and size too.
INK, FAINT, PALE, PAPER = "#333333", "#6b6f75", "#e4e6e9", "white"
ANSWER, KEPT, ACCENT, GREEN, PURPLE = "#0072B2", "#A9D4EF", "#D55E00", "#009E73", "#CC79A7"
#: Texts are drawn as outlines, so that they look the same everywhere; nothing tells the day.
_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans", "font.size": 8.5, "axes.titlesize": 9.5, "axes.labelsize": 8.5,
    "xtick.labelsize": 8.5, "ytick.labelsize": 8.5, "axes.edgecolor": INK, "axes.labelcolor": INK,
    "text.color": INK, "xtick.color": INK, "ytick.color": INK, "axes.linewidth": 0.8,
    "svg.fonttype": "path", "svg.hashsalt": "crestline",
}  # fmt: skip
#: How a record is drawn, by what becomes of it.
_MARKS: dict[str, dict[str, Any]] = {
    "answer": {"facecolor": ANSWER, "edgecolor": ANSWER, "linewidth": 1.2},
    "kept": {"facecolor": KEPT, "edgecolor": ANSWER, "linewidth": 1.2},
    "waiting": {"facecolor": PAPER, "edgecolor": ACCENT, "linewidth": 1.5},
    "forgotten": {"facecolor": PAPER, "edgecolor": "#a4a9af", "linewidth": 0.9},
    "listed": {"facecolor": "#c3c7cc", "edgecolor": "#8a9096", "linewidth": 0.9},
}


def settings() -> Any:
    """The settings under which everything is drawn and saved."""
    return rc_context(_SETTINGS)


def paper(height: float = 3.0, width: float = 7.0) -> Figure:
    return Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)


def save(figure: Figure, file: Path) -> None:
    """As SVG, the same bytes at any time, or as PNG to look at."""
    if file.suffix != ".svg":
        figure.savefig(file, dpi=150)
        return
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    file.write_text(_shorter(written.getvalue()), encoding="utf-8")


def _shorter(svg: str) -> str:
    """The same picture in half of the bytes: places to a hundredth of a point, each look once."""
    svg = re.sub(r"<!DOCTYPE.*?>|<!--.*?-->\n?|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"^ +| +$", "", svg, flags=re.MULTILINE)
    svg = re.sub(
        r'(?<= )(?:d|x|y)="[^"]*"|translate\([^)]*\)',
        lambda found: re.sub(r"\d+\.\d{3,}", _rounded, found[0]),
        svg,
    )
    svg = re.sub(r'transform="translate\(([\d.]+) 0\)"/>', r'x="\1"/>', svg)  # of letters
    svg = svg.replace("DejaVuSans-", "g").replace("xlink:href", "href")
    looks = Counter(re.findall(r'style="[^"]*"', svg))
    often = [look for look, count in looks.items() if count > 2]
    rules = ""
    for place, look in enumerate(often):
        svg = svg.replace(look, f'class="c{place}"')
        rules += f".c{place} {{{look[7:-1]}}}\n"
    return svg.replace("</style>", f"{rules}</style>", 1)


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def plain(ax: Axes, title: str = "") -> None:
    """Only the axes to the left and below, and what is shown above."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=2.5)
    ax.set_title(title, loc="left", color=INK)


def blank(ax: Axes, title: str = "") -> None:
    """A sheet without axes."""
    ax.set_axis_off()
    ax.set_title(title, loc="left", color=INK)


def records(
    ax: Axes, at: Iterable[float], score: Iterable[float], state: str, size: float = 60.0
) -> None:
    """A circle for each record, filled as its state says."""
    ax.scatter(list(at), list(score), s=size, zorder=3, **_MARKS[state])


def number(ax: Axes, at: float, score: float, text: str, state: str) -> None:
    """A text within the circle of a record."""
    colour = PAPER if state == "answer" else FAINT if state == "forgotten" else INK
    ax.text(at, score, text, ha="center", va="center_baseline", color=colour, fontsize=8, zorder=4)


def say(
    ax: Axes, text: str, at: tuple[float, float], to: tuple[float, float] | None = None,
    **how: Any,
) -> None:  # fmt: skip
    """Words, with an arrow from them to what they are about."""
    how = {"color": INK, "fontsize": 8.5, "ha": "left", "va": "center", "zorder": 5} | how
    if to is None:
        ax.text(*at, text, **how)
        return
    arrow = {"arrowstyle": "->", "color": how["color"], "linewidth": 1.0,
             "shrinkA": 1.0, "shrinkB": 4.0}  # fmt: skip
    ax.annotate(text, to, xytext=at, arrowprops=arrow, **how)


def key(ax: Axes, entries: Sequence[tuple[str, str]], top: float, step: float, left: float) -> None:
    """Marks with words beside them, one below the other."""
    for place, (state, words) in enumerate(entries):
        records(ax, [left], [top - place * step], state, 45)
        say(ax, words, (left + 0.35, top - place * step))


def box(
    ax: Axes, at: float, level: float, text: str, state: str, width: float = 0.78,
    height: float = 0.72,
) -> None:  # fmt: skip
    """A small box with a text, filled as the state says."""
    look = _MARKS[state]
    ax.add_patch(
        FancyBboxPatch(
            (at - width / 2, level - height / 2), width, height, zorder=3,
            boxstyle="round,pad=0,rounding_size=0.12", **look,
        )
    )  # fmt: skip
    number(ax, at, level, text, state)
