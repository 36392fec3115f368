"""What the pictures of all papers share: panels, axes with short numbers, one legend, files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

GREY = "#9aa0a6"
TITLE: dict[str, Any] = {"loc": "left", "fontsize": 11}


def save(figures: Mapping[str, Figure], folder: Path, dpi: int = 130) -> None:
    """Write the figures into the folder under their names."""
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=dpi)


def short(number: float, _: object = None) -> str:
    """Write a number for an axis.

    >>> short(250), short(40_000), short(2_500_000)
    ('250', '40K', '2.5M')
    """
    for unit, name in ((1_000_000, "M"), (1_000, "K")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return f"{number:g}"


def make_panels(rows: int, columns: int, width: float, height: float) -> tuple[Figure, Any]:
    """Make a figure of panels; width and height are those of one panel, in inches."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        plain(ax)
    return figure, axes


def plain(ax: Axes) -> None:
    """Leave away half of the frame and draw a faint grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, which="major", color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)


def short_ticks(axis: Any, ticks: list[float] | None = None) -> None:
    """Write short numbers at the given ticks, or where they are."""
    axis.set_minor_locator(NullLocator())  # thousands of minor ticks take seconds
    if ticks is not None:
        axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(short))


def legend(figure: Figure, ax: Axes, **how: Any) -> None:
    """Draw the legend of one panel for all panels, to the right of them unless told otherwise."""
    how = {"frameon": False, "fontsize": 9, "loc": "outside right center"} | how
    figure.legend(*ax.get_legend_handles_labels(), **how)
