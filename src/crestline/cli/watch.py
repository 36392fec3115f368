"""The live view of a following run: the current top k of each query, and how it moved.

What is shown is kept small whatever the rounds bring: of many results in one round the last few, of
many partitions the first that fit. Only the changes of EMIT CHANGES must all be applied.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from crestline.cli.summary import aside
from crestline.core.display import cell, column_values
from crestline.core.window import RangeWindow, UnboundedWindow, counts_rows
from crestline.language.query import selected_names

if TYPE_CHECKING:
    from crestline.language import Query
    from crestline.runtime.metrics import Metrics
    from crestline.runtime.rounds import Round

#: Results of one round that are shown one after another, rows read from each, partitions kept.
_STEPS, _ROWS, _PARTITIONS = 12, 4_000, 2_000
_BAR_WIDTH, _CELL_WIDTH, _MOVE_WIDTH = 24, 28, 5
_PROBABILITY_WIDTH = len("probability")
_EIGHTHS = " ▏▎▍▌▋▊▉█"
#: Seconds over which rows a second are told.
_RECENT = 6.0
_FRAMES = 10

#: A partition's values; of a query without PARTITION BY, nothing.
Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One rank of a result; ``values`` are the selected columns as they are shown."""

    rank: int
    values: tuple[str, ...]
    score: float
    #: Of an uncertain stream only.
    probability: float | None = None

    def record(self) -> tuple[Any, ...]:
        """What makes it the same record in the next result, as far as one can see."""
        return (*self.values, self.score)


@dataclass(slots=True)
class Result:
    """What one partition shows."""

    end: Any
    rows: list[Row]


@dataclass
class Board:
    """The current results of one query, by partition, and those before."""

    name: str
    query: Query
    columns: list[str] = field(default_factory=list)
    numeric: list[bool] = field(default_factory=list)
    now: dict[Place, Result] = field(default_factory=dict)
    before: dict[Place, Result] = field(default_factory=dict)
    partitions: int = 0
    waiting: deque[dict[Place, Result]] = field(default_factory=deque)

    @property
    def together(self) -> bool:
        """Whether all partitions report at the same moments, so that the others have nothing."""
        window = self.query.window
        slides = isinstance(window, UnboundedWindow) or (
            isinstance(window, RangeWindow) and window.slide is not None
        )
        return slides and not counts_rows(window)

    @property
    def end(self) -> Any:
        """The end of the latest window; of partitions that count apart there is none for all."""
        if not self.now or (self.query.partition_by and not self.together):
            return None
        return max(result.end for result in self.now.values())

    def take(self, table: pa.Table) -> None:
        """A round's rows: read now, shown step by step."""
        if not table.num_rows:
            return
        if not self.columns:
            self._read_columns(table.schema)
        if self.query.emit == "CHANGES":
            self.waiting.append(self._changed(table))
        elif self.together:
            steps = 1 if self.query.partition_by else _STEPS
            for end in self._new_ends(table)[-steps:]:
                rows = table.filter(pc.equal(table.column("window_end"), end))
                if self.query.partition_by:
                    self.partitions = pc.sum(pc.equal(rows.column("rank"), 1)).as_py()
                self.waiting.append(self._results(rows.slice(0, _ROWS)))
        else:
            latest = self.waiting[-1] if self.waiting else self.now
            some = table.slice(max(0, table.num_rows - _ROWS))
            self.waiting.append(_first(latest | self._results(some)))

    def _new_ends(self, table: pa.Table) -> list[pa.Scalar]:
        """Window ends to show, in order; corrections of windows long past are not among them."""
        ends = pc.unique(table.column("window_end"))
        found = list(ends.take(pc.sort_indices(ends)))
        shown = self.waiting[-1] if self.waiting else self.now
        latest = max((result.end for result in shown.values()), default=None)
        return [end for end in found if latest is None or end.as_py() >= latest]

    def _read_columns(self, schema: pa.Schema) -> None:
        self.columns = selected_names(schema.names)
        kinds = [schema.field(name).type for name in self.columns]
        self.numeric = [
            bool(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t))
            for t in kinds
        ]

    def _lines(self, table: pa.Table, *more: str) -> Iterator[tuple[Any, ...]]:
        """``more`` columns, then the place and a row of each row of the table."""
        names = [*more, *(item.name for item in self.query.partition_by), *self.columns]
        columns = [column_values(table.column(name)) for name in [*names, "rank", "score"]]
        probable = [None] * table.num_rows
        if self.query.probability is not None:
            probable = table.column("probability").to_pylist()
        first, second = len(more), len(more) + len(self.query.partition_by)
        for *values, rank, score, probability in zip(*columns, probable, strict=True):
            shown = tuple(cell(value) for value in values[second:])
            place = tuple(_hashable(value) for value in values[first:second])
            yield (*values[:first], place, Row(rank or 0, shown, score, probability))

    def _results(self, table: pa.Table) -> dict[Place, Result]:
        found: dict[Place, Result] = {}
        for end, place, row in self._lines(table, "window_end"):
            if row.rank == 1 or place not in found or found[place].end != end:
                found[place] = Result(end, [])
            found[place].rows.append(row)
        return found

    def _changed(self, table: pa.Table) -> dict[Place, Result]:
        """The results after the changes. All leave and move before any comes to a new rank."""
        latest = self.waiting[-1] if self.waiting else self.now
        ranks = {place: {row.rank: row for row in result.rows} for place, result in latest.items()}
        ends = {place: result.end for place, result in latest.items()}
        group: tuple[Any, Place] | None = None
        coming: list[Row] = []
        for at, change, previous, place, row in self._lines(table, "at", "change", "previous_rank"):
            if group != (at, place):
                if group is not None:
                    ranks[group[1]] |= {each.rank: each for each in coming}
                group, coming = (at, place), []
                ranks.setdefault(place, {})
                ends[place] = at
            if previous is not None:
                ranks[place].pop(previous, None)
            if change != "leave":
                coming.append(row)
        if group is not None:
            ranks[group[1]] |= {each.rank: each for each in coming}
        return _first(
            {
                place: Result(ends[place], [rows[rank] for rank in sorted(rows)])
                for place, rows in ranks.items()
                if rows
            }
        )

    def step(self) -> bool:
        """Show the next result, if one waits; several where many do."""
        if not self.waiting:
            return False
        for _ in range(max(1, len(self.waiting) // _STEPS)):
            self.before, self.now = self.now, self.waiting.popleft()
        return True

    def skip(self) -> None:
        """Show the last result at once."""
        while self.step():
            pass


def _hashable(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str | bytes) else cell(value)


def _order(place: Place) -> tuple[tuple[str, Any], ...]:
    """NULL first, then values of one type by their order."""
    return tuple(
        ("", 0) if v is None else ("n" if isinstance(v, int | float) else type(v).__name__, v)
        for v in place
    )


def _first(results: dict[Place, Result]) -> dict[Place, Result]:
    """The first partitions: what lies behind them is never shown."""
    if len(results) <= _PARTITIONS:
        return results
    return {place: results[place] for place in sorted(results, key=_order)[:_PARTITIONS]}


class Watch:
    """The boards of all queries and the counts below them; ``take`` rounds, ``step``, print it."""

    def __init__(self, queries: Mapping[str, Query], note: str = "") -> None:
        self.note = note
        self.boards = {name: Board(name, query) for name, query in queries.items()}
        self.metrics: dict[str, Metrics] = {}
        self.round: int | None = None
        self._speed: deque[tuple[float, int]] = deque()

    def take(self, round: Round) -> None:
        self.round = round.number
        for name, table in round.rows.items():
            self.boards[name].take(table)
        self.metrics |= round.metrics
        if round.metrics:
            self._speed.append((time.monotonic(), self._rows_in()))
            while len(self._speed) > 2 and self._speed[-1][0] - self._speed[0][0] > _RECENT:
                self._speed.popleft()

    def step(self) -> None:
        """Go on to the next results, where some wait."""
        for board in self.boards.values():
            board.step()

    def skip(self) -> None:
        for board in self.boards.values():
            board.skip()

    def _rows_in(self) -> int:
        return max((metrics.rows_in for metrics in self.metrics.values()), default=0)

    def _rate(self) -> float | None:
        if len(self._speed) < 2:
            return None
        (began, rows_then), (ended, rows_now) = self._speed[0], self._speed[-1]
        return (rows_now - rows_then) / max(ended - began, 1e-3)

    # -- drawing ------------------------------------------------------------------------------

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        below = 1 + bool(self.note)
        # A heading, a line of column names, one of counts and an empty one for each query.
        room = max(1, (console.size.height - 1 - below) // max(1, len(self.boards)) - 4)
        for board in self.boards.values():
            yield self._heading(board, width)
            yield from _tables(board, width, room)
            yield _line(self._counts(board.name), width, "dim")
            yield Text()
        yield _line(self._progress(), width, "")
        if self.note:
            yield _line([self.note], width, "dim")

    def _heading(self, board: Board, width: int) -> Text:
        what = f"top {board.query.k} of {board.query.stream}"
        if board.name != "query":
            what = f"{board.name}: {what}"
        end = f"   at {cell(board.end)}" if board.end is not None else ""
        heading = Text.assemble((what, "bold"), end, no_wrap=True, overflow="ellipsis")
        heading.truncate(width, overflow="ellipsis")
        return heading

    def _counts(self, name: str) -> list[str]:
        metrics = self.metrics.get(name)
        if metrics is None:
            return ["the first round is on its way ..."]
        told = [f"late {metrics.rows_late:,}", f"set aside {aside(metrics):,}"]
        held = metrics.window_records_peak
        kept = f"records kept {metrics.kept:,}"
        return [kept + (f" (window: up to {held:,})" if held else ""), *told]

    def _progress(self) -> list[str]:
        told = [f"rows so far {self._rows_in():,}"]
        if (rate := self._rate()) is not None:
            told.append(f"{rate:,.0f} rows/s")
        if self.round is not None:
            told.append(f"round {self.round}")
        return told


def _line(pieces: list[str], width: int, style: str) -> Text:
    """As many of the pieces as fit."""
    while len(pieces) > 1 and len(" · ".join(pieces)) > width:
        pieces = pieces[:-1]
    text = Text(" · ".join(pieces), style, no_wrap=True)
    text.truncate(width, overflow="ellipsis")
    return text


def _tables(board: Board, width: int, room: int) -> Iterator[RenderableType]:
    """The partitions that fit into so many lines, each with as many ranks as fit."""
    if not board.now:
        return
    places = sorted(board.now, key=_order)
    shown: list[tuple[Place, list[Row]]] = []
    divided = bool(board.query.partition_by)
    left = room
    for place in places:
        rows = board.now[place].rows
        need = len(rows) + divided
        if shown and need > left - (len(shown) + 1 < len(places)):
            break
        shown.append((place, rows[: max(1, left - divided)]))
        left -= need
    all_rows = [row for _, rows in shown for row in rows]
    names = [cell(item.name) for item in board.query.partition_by]
    for number, (place, rows) in enumerate(shown):
        table = _grid(board, all_rows, width, header=number == 0)
        if divided:
            if number == 0:
                yield table  # the column names alone
            table = _grid(board, all_rows, width, header=False)
            told = ", ".join(f"{n} {cell(v)}" for n, v in zip(names, place, strict=True))
            yield _line([told], width, "bold")
        _fill(table, board, rows, board.before.get(place), all_rows, width)
        yield table
    hidden = max(len(places), board.partitions) - len(shown)
    if divided and hidden:
        yield Text(f"and {hidden:,} more partition{'s' if hidden > 1 else ''}", "dim")
    elif not divided and len(shown[0][1]) < len(board.now[()].rows):
        yield Text(f"and {len(board.now[()].rows) - len(shown[0][1]):,} more ranks", "dim")


def _grid(board: Board, shown: list[Row], width: int, header: bool) -> Table:
    """An empty table for some of the ``shown`` rows; all such tables have the same columns."""
    places, drawn = _fitting(board, shown, width)
    table = Table(
        box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False, show_header=header
    )
    table.add_column("rank", justify="right", no_wrap=True, width=4)
    table.add_column("", no_wrap=True, width=_MOVE_WIDTH)
    for i, size in places:
        table.add_column(
            Text(cell(board.columns[i])), width=size, no_wrap=True, overflow="ellipsis",
            justify="right" if board.numeric[i] else "left",
        )  # fmt: skip
    table.add_column("score", justify="right", no_wrap=True, width=_score_width(shown))
    if board.query.probability is not None:
        table.add_column("probability", justify="right", no_wrap=True, width=_PROBABILITY_WIDTH)
    if drawn:
        table.add_column("", no_wrap=True, width=drawn)
    return table


def _fill(
    table: Table, board: Board, rows: list[Row], before: Result | None, shown: list[Row], width: int
) -> None:
    places, drawn = _fitting(board, shown, width)
    drawn_of = _drawn_of(board.query)
    share = _shares([drawn_of(row) for row in shown])
    for row, (moved, style) in zip(rows, _moves(rows, before), strict=True):
        cells: list[RenderableType] = [Text(str(row.rank)), Text(moved, style)]
        cells += [Text(row.values[i]) for i, _ in places]
        cells.append(Text(cell(row.score)))
        if row.probability is not None:
            cells.append(Text(f"{row.probability:,.4g}"))
        if drawn:
            cells.append(Text(bar(share(drawn_of(row)), drawn), "blue"))
        table.add_row(*cells)


def _score_width(rows: list[Row]) -> int:
    return min(_CELL_WIDTH, max([5, *(len(cell(row.score)) for row in rows)]))


def _fitting(board: Board, rows: list[Row], width: int) -> tuple[list[tuple[int, int]], int]:
    """Which selected columns fit, how wide each is, and how wide the bar may be."""
    left = width - (4 + 1) - (_MOVE_WIDTH + 1) - (_score_width(rows) + 1)
    left -= 0 if board.query.probability is None else _PROBABILITY_WIDTH + 1
    places: list[tuple[int, int]] = []
    for i, name in enumerate(board.columns):
        size = max([len(cell(name)), *(Text(row.values[i]).cell_len for row in rows)])
        size = min(size, _CELL_WIDTH)
        if size + 1 > left:
            break
        places.append((i, size))
        left -= size + 1
    return places, min(_BAR_WIDTH, left) if left >= 6 else 0


def _drawn_of(query: Query) -> Callable[[Row], float | None]:
    """What a row's bar shows: what decides on its rank, if more of it is better."""
    if query.probability is None or query.probability.semantics == "EXPECTED_RANK":
        return lambda row: row.score
    return lambda row: row.probability


def _shares(values: list[float | None]) -> Callable[[float | None], float]:
    """How long a value's bar is: from zero, or the worst one below it, to the best."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min([0.0, *known]), max([0.0, *known])
    return lambda value: 0.0 if value is None or high == low else (value - low) / (high - low)


def _moves(rows: list[Row], before: Result | None) -> list[tuple[str, str]]:
    """How each record came to its rank, and a style for it."""
    if before is None:
        return [("", "")] * len(rows)
    old: dict[tuple[Any, ...], int] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in before.rows:
        old[(*row.record(), seen[row.record()])] = row.rank
        seen[row.record()] += 1
    seen.clear()
    found = []
    for row in rows:
        found.append(move(row.rank, old.get((*row.record(), seen[row.record()]))))
        seen[row.record()] += 1
    return found


def move(rank: int, previous: int | None) -> tuple[str, str]:
    """
    >>> move(1, 2)[0], move(3, 1)[0], move(2, 2)[0], move(2, None)[0]
    ('▲ 1', '▼ 2', '', 'new')
    """
    if previous is None:
        return "new", "bold cyan"
    if previous == rank:
        return "", ""
    if previous > rank:
        return f"▲ {previous - rank}", "green"
    return f"▼ {rank - previous}", "magenta"


def bar(share: float, width: int = _BAR_WIDTH) -> str:
    """A bar of a length between 0 and 1.

    >>> bar(0.5, 4), bar(0.3, 2)
    ('██', '▋')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8) if share == share else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


class Screen:
    """A ``Watch`` on the terminal: ``with Screen(watch) as screen: ... screen.draw()``."""

    def __init__(self, watch: Watch) -> None:
        from rich.live import Live

        self._watch = watch
        self._rounds: deque[Round] = deque()
        self._live = Live(auto_refresh=False, console=Console(), vertical_overflow="crop")
        self._drawn = 0.0

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def take(self, round: Round) -> None:
        """A round to show; unlike the rest, this may be called by any thread."""
        self._rounds.append(round)

    def draw(self) -> None:
        """Show the next result, if one waits; not oftener than an eye can follow."""
        if time.monotonic() - self._drawn < 1 / _FRAMES:
            return
        self._drawn = time.monotonic()
        self._take_all()
        self._watch.step()
        self._live.update(self._watch, refresh=True)

    def _take_all(self) -> None:
        while self._rounds:
            self._watch.take(self._rounds.popleft())

    def __exit__(self, *exception: object) -> None:
        self._take_all()
        self._watch.skip()
        self._live.update(self._watch, refresh=True)
        self._live.stop()


__all__ = ["Board", "Screen", "Watch", "bar", "move"]
