"""Pictures of results: how ranks changed from result to result, as bump charts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crestline.core.display import cell
from crestline.core.errors import CrestlineError
from crestline.core.extras import missing, need
from crestline.runtime.rankings import Entry, Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The colours of Okabe and Ito, for colour-blind readers too, without the pale yellow.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_GREY, _INK, _FAINT = "#C9CDD2", "#333333", "#666666"
#: Results that a label spans, roughly, of so many; points to a bend; most ticks.
_LABEL_WIDTH, _BENDS, _TICKS = 0.055, 8, 10
_SECOND = 1_000_000
#: Steps between ticks: microseconds that people count time by, and further days.
_STEPS_OF_TIME = [
    *(n * 10**e for e in range(6) for n in (1, 2, 5)),
    *(n * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * 60 * _SECOND for n in (1, 2, 5, 10, 15, 30)),
    *(n * 3_600 * _SECOND for n in (1, 2, 3, 6, 12)),
    *(n * 86_400 * _SECOND for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)),
]
_STEPS_OF_ROWS = [n * 10**e for e in range(18) for n in (1, 2, 5)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: (number of the result, rank), one result after another
Stay = list[tuple[int, int]]


def rank_figure(rankings: Sequence[Ranking], note: str | None = None) -> Figure:
    """Draw each ranking on axes of its own; every record is a line, those that led in colour."""
    figure_of = _notebook_figure()
    heights = [1.8 + 0.45 * min(10, _most(ranking)) for ranking in rankings]
    figure: Figure = figure_of(figsize=(12, sum(heights)), dpi=150, layout="constrained")
    axes: Any = figure.subplots(
        len(rankings), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for number, (each, ranking) in enumerate(zip(axes[:, 0], rankings, strict=True)):
        draw_ranks(each, ranking, note if number == 0 else "")
    return figure


def _notebook_figure() -> type[Figure]:
    """The class of figures that notebooks show without pyplot."""
    need("matplotlib", "drawing")
    try:
        from matplotlib.figure import Figure
    except ImportError:  # installed, but incomplete
        raise missing("matplotlib", "drawing") from None

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            return png(self)

    return NotebookFigure


def png(figure: Figure) -> bytes:
    """The figure as a file of pixels."""
    content = BytesIO()
    figure.savefig(content, format="png")
    return content.getvalue()


def write_figure(figure: Figure, path: str | Path) -> None:
    """Write a picture in the format that the ending of its name says."""
    content = BytesIO()
    formats: Any = figure.canvas.get_supported_filetypes()
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in formats:
        raise CrestlineError(f"{str(path)!r}: a picture is called something.png, .svg or .pdf")
    figure.savefig(content, format=ending)
    try:
        Path(path).write_bytes(content.getvalue())
    except OSError as error:
        raise CrestlineError(f"{str(path)!r} cannot be written: {error.strerror}") from error


def draw_ranks(axes: Axes, ranking: Ranking, note: str | None = None) -> None:
    """Draw one ranking. ``note`` stands below its title; by default it explains the colours."""
    stays, leaders = _stays(ranking.tops), _leaders(ranking.tops)
    for entry, stay in stays:
        if entry in leaders:
            continue
        dot = "o" if len(stay) == 1 else None
        axes.plot(*_curve(stay), color=_GREY, lw=1.6, solid_capstyle="round", marker=dot, ms=3)
    for entry, stay in stays:
        if entry in leaders:
            colour = _COLOURS[leaders.index(entry) % len(_COLOURS)]
            axes.plot(*_curve(stay), color=colour, lw=3.4, solid_capstyle="round", zorder=3)
            ends = zip(stay[0], stay[-1], strict=True)
            axes.plot(*ends, "o", color=colour, ms=7.5, mec="white", mew=1.2, zorder=4)
    lines = _label_leaders(axes, ranking.tops, leaders)
    axes.set_ylim(_most(ranking) + 0.4, 0.4 - 0.7 * lines)
    _label_axes(axes, ranking, note)


def _stays(tops: Sequence[list[Entry]]) -> list[tuple[Entry, Stay]]:
    """The stays of each record in the top. A record that left may return when others expire."""
    open_stays: dict[Entry, Stay] = {}
    stays: list[tuple[Entry, Stay]] = []
    for number, top in enumerate(tops):
        here = set(top)
        open_stays = {entry: stay for entry, stay in open_stays.items() if entry in here}
        for rank, entry in enumerate(top, 1):
            if entry not in open_stays:
                open_stays[entry] = []
                stays.append((entry, open_stays[entry]))
            open_stays[entry].append((number, rank))
    return stays


def _leaders(tops: Sequence[list[Entry]]) -> list[Entry]:
    """The records that were first, in the order in which they became first."""
    return list(dict.fromkeys(top[0] for top in tops if top))


def _curve(stay: Stay) -> tuple[list[float], list[float]]:
    """The stay as a curve that is level at every result."""
    x, y = [float(stay[0][0])], [float(stay[0][1])]
    for (number, rank), (_, following) in pairwise(stay):
        for part in range(1, _BENDS + 1):
            t = part / _BENDS
            x.append(number + t)
            y.append(rank + (following - rank) * t * t * (3 - 2 * t))
    return x, y


def _label_leaders(axes: Axes, tops: Sequence[list[Entry]], leaders: list[Entry]) -> int:
    """Write label and score above the time of leading. A label goes to a second line if it would
    touch another, and is left out if it would touch one there too. Returns the number of lines."""
    free = [-1.0, -1.0]  # where the free part of each of two lines begins
    width = _LABEL_WIDTH * len(tops)
    for number, entry in enumerate(leaders):
        led = [i for i, top in enumerate(tops) if top[:1] == [entry]]
        middle = (led[0] + led[-1]) / 2
        line = next((n for n, start in enumerate(free) if middle >= start), None)
        if line is None:
            continue
        free[line] = middle + width
        axes.annotate(
            "\n".join(_short(text) for text in entry.label.split("\n")),
            (middle, 1),
            xytext=(0, 9 + 27 * line),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9,
            fontweight="bold",
            color=_COLOURS[number % len(_COLOURS)],
            parse_math=False,
        )
    return sum(start >= 0 for start in free)


def _short(text: str) -> str:
    return text if len(text) <= 14 else text[:12] + "..."


def _most(ranking: Ranking) -> int:
    return max((len(top) for top in ranking.tops), default=1)


def _label_axes(axes: Axes, ranking: Ranking, note: str | None) -> None:
    most, shown = _most(ranking), len(ranking.moments)
    axes.set_yticks(range(1, most + 1) if most <= 20 else range(0, most + 1, max(1, most // 10)))
    indices = ticks(ranking.moments)
    axes.set_xticks(indices, written([ranking.moments[i] for i in indices]))
    axes.set_xlim(-0.8, max(1, shown) - 0.2)
    timed = bool(ranking.moments) and isinstance(ranking.moments[0], datetime)
    axes.set_xlabel("end of the window" + (" (UTC)" if timed else ", in records"), color=_INK)
    axes.set_ylabel("rank", color=_INK)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, colors=_INK)
    axes.set_title(
        ranking.title, loc="left", fontsize=14, fontweight="bold", color=_INK, pad=26,
        parse_math=False,
    )  # fmt: skip
    if note is None:
        note = (
            f"Each line is a record, from entering the top {ranking.k:,} to leaving it."
            " Coloured: those that were first, with their score."
        )
        if ranking.results > shown:
            note += f" The last {shown} of {ranking.results:,} results."
    if not shown:
        note = "There are no results."
        axes.set_axis_off()
    axes.text(0, 1.02, note, transform=axes.transAxes, fontsize=10, color=_FAINT, va="bottom")


def ticks(moments: Sequence[Any]) -> list[int]:
    """The indices of moments with labels: evenly spaced round moments if there are any.

    >>> ticks(list(range(7, 207)))
    [13, 33, 53, 73, 93, 113, 133, 153, 173, 193]
    >>> ticks([3, 7, 10, 20, 21, 22, 23, 24, 30, 31, 32, 34])
    [0, 2, 4, 6, 8, 10]
    """
    numbers = [_number(moment) for moment in moments]
    steps = _STEPS_OF_TIME if moments and isinstance(moments[0], datetime) else _STEPS_OF_ROWS
    for step in steps:
        round_ones = [i for i, number in enumerate(numbers) if number % step == 0]
        distances = {later - i for i, later in pairwise(round_ones)}
        if 2 < len(round_ones) <= _TICKS and len(distances) == 1:
            return round_ones
    return list(range(0, len(moments), 1 + len(moments) // 8))


def _number(moment: Any) -> int:
    if isinstance(moment, datetime):
        return (moment - _EPOCH) // timedelta(microseconds=1)
    return moment if isinstance(moment, int) else 1  # a year that Python cannot represent


def written(moments: Sequence[Any]) -> list[str]:
    """Labels of moments, as short as they can be told apart.

    >>> day = datetime(2024, 5, 1, tzinfo=UTC)
    >>> written([day, day + timedelta(hours=1)]), written([day, day + timedelta(days=1)])
    (['00:00:00', '01:00:00'], ['2024-05-01', '2024-05-02'])
    """
    times = [moment for moment in moments if isinstance(moment, datetime)]
    if len(times) < len(moments):
        return [f"{each:,}" if isinstance(each, int) else cell(each) for each in moments]
    if all(time.time() == datetime.min.time() for time in times) and len(times) > 1:
        return [f"{time:%Y-%m-%d}" for time in times]
    if len({time.date() for time in times}) > 1:
        return [f"{time:%m-%d %H:%M}" for time in times]
    return [cell(time)[11:] for time in times]


__all__ = ["draw_ranks", "png", "rank_figure", "write_figure"]
