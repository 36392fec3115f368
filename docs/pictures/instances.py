"""Draws `instances.png`: `python docs/pictures/instances.py` (see docs/incomplete.md)."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: Time, camera, car, points: those of the document.
SEEN = (
    (0, "north", "A", 9), (10, "north", "B", 2), (20, "south", "A", 8),
    (30, "south", "C", 9), (40, "south", "B", 1), (50, "north", "D", 4),
)  # fmt: skip
WINDOW, MOST, CAMERAS = 60, 10, 2
COLOURS = {"A": "#0072B2", "B": "#D55E00", "C": "#009E73", "D": "#CC79A7"}
INK = "#333333"

#: Until when it lasts, whose it is, how many values it has, its least and its largest score.
Instance = tuple[int, str, int, int, int]


def instances(once: bool) -> list[Instance]:
    """One for each observation: the object without anything that leaves before."""
    found = []
    for time, _, car, _ in SEEN:
        mine = [(camera, points) for at, camera, whose, points in SEEN if whose == car]
        staying = [points for at, _, whose, points in SEEN if whose == car and at >= time]
        open_cameras = CAMERAS - (len(mine) if once else len(staying))
        least = sum(staying)
        found.append((time + WINDOW, car, len(staying), least, least + MOST * open_cameras))
    return found


def dominators(one: Instance, others: list[Instance]) -> set[str]:
    """The objects that are sure to score more and to stay at least as long."""
    until, car, _, _, most = one
    return {o[1] for o in others if o[1] != car and o[0] >= until and o[3] > most}


def draw(ax: Axes, once: bool) -> None:
    every = instances(once)
    for one in every:
        until, car, values, least, most = one
        by = dominators(one, every)
        colour, style = COLOURS[car], (":" if by else "-")
        ax.plot([until, until], [least, most], color=colour, linewidth=2.2, linestyle=style)
        ax.plot(until, least, "o", ms=8, color=colour, markerfacecolor="white" if by else colour)
        if most > least:
            ax.plot(until, most, "_", ms=13, color=colour, markeredgewidth=2.2)
        said = f"{car}, {'both values' if values == 2 else 'one value'}"
        if by:
            said = f"{car}: dominated\nby {' '.join(sorted(by))}"
        ax.annotate(said, (until, least), xytext=(7, -4), textcoords="offset points",
                    fontsize=9, color=colour, va="center" if not by else "top")  # fmt: skip
    ax.set(xlim=(55, 122), ylim=(-2.5, 21), xlabel="seconds after 09:00 until which it lasts")
    kept = sum(not dominators(one, every) for one in every)
    name = "once: a camera does not see a car again" if once else "a car may return to a camera"
    ax.set_title(f"{name}. {kept} of {len(every)} kept", loc="left", fontsize=11, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#e6e6e6", linewidth=0.8)
    ax.set_axisbelow(True)


def main() -> None:
    figure = Figure(figsize=(12, 4.4), dpi=130, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw(left, once=False)
    draw(right, once=True)
    left.set_ylabel("points: from those for sure (dot) to the most")
    figure.savefig(Path(__file__).with_name("instances.png"))


if __name__ == "__main__":
    main()
