"""Draws the current top k of a query as text: tables with moves and bars that fit the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from crestline.cli.live_results import (
    LiveResults,
    PartitionResult,
    PartitionValues,
    RankedRow,
    partition_order,
)
from crestline.core.display import cell

if TYPE_CHECKING:
    from crestline.language import Query

_BAR_WIDTH, _CELL_WIDTH, _MOVE_WIDTH = 24, 28, 5
_PROBABILITY_WIDTH = len("probability")
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def line(pieces: list[str], width: int, style: str) -> Text:
    """Join as many of the pieces as fit into one line."""
    while len(pieces) > 1 and len(" · ".join(pieces)) > width:
        pieces = pieces[:-1]
    text = Text(" · ".join(pieces), style, no_wrap=True)
    text.truncate(width, overflow="ellipsis")
    return text


def tables(results: LiveResults, width: int, room: int) -> Iterator[RenderableType]:
    """Draw the partitions that fit into ``room`` lines, each with as many ranks as fit."""
    if not results.now:
        return
    partitions = sorted(results.now, key=partition_order)
    shown: list[tuple[PartitionValues, list[RankedRow]]] = []
    partitioned = bool(results.query.partition_by)
    left = room
    for partition in partitions:
        rows = results.now[partition].rows
        need = len(rows) + partitioned
        if shown and need > left - (len(shown) + 1 < len(partitions)):
            break
        shown.append((partition, rows[: max(1, left - partitioned)]))
        left -= need
    all_rows = [row for _, rows in shown for row in rows]
    names = [cell(item.name) for item in results.query.partition_by]
    for number, (partition, rows) in enumerate(shown):
        table = _grid(results, all_rows, width, header=number == 0)
        if partitioned:
            if number == 0:
                yield table  # the column names alone
            table = _grid(results, all_rows, width, header=False)
            heading = ", ".join(f"{n} {cell(v)}" for n, v in zip(names, partition, strict=True))
            yield line([heading], width, "bold")
        _fill(table, results, rows, results.before.get(partition), all_rows, width)
        yield table
    hidden = max(len(partitions), results.partitions) - len(shown)
    if partitioned and hidden:
        yield Text(f"and {hidden:,} more partition{'s' if hidden > 1 else ''}", "dim")
    elif not partitioned and len(shown[0][1]) < len(results.now[()].rows):
        yield Text(f"and {len(results.now[()].rows) - len(shown[0][1]):,} more ranks", "dim")


def _grid(results: LiveResults, shown: list[RankedRow], width: int, header: bool) -> Table:
    """Make an empty table. All tables for the same ``shown`` rows have the same columns."""
    indices, bar_width = _fitting(results, shown, width)
    table = Table(
        box=None, padding=(0, 1, 0, 0), header_style="dim", pad_edge=False, show_header=header
    )
    table.add_column("rank", justify="right", no_wrap=True, width=4)
    table.add_column("", no_wrap=True, width=_MOVE_WIDTH)
    for i, size in indices:
        table.add_column(
            Text(cell(results.columns[i])), width=size, no_wrap=True, overflow="ellipsis",
            justify="right" if results.numeric[i] else "left",
        )  # fmt: skip
    table.add_column("score", justify="right", no_wrap=True, width=_score_width(shown))
    if results.query.probability is not None:
        table.add_column("probability", justify="right", no_wrap=True, width=_PROBABILITY_WIDTH)
    if bar_width:
        table.add_column("", no_wrap=True, width=bar_width)
    return table


def _fill(
    table: Table,
    results: LiveResults,
    rows: list[RankedRow],
    before: PartitionResult | None,
    shown: list[RankedRow],
    width: int,
) -> None:
    indices, bar_width = _fitting(results, shown, width)
    drawn_value = _drawn_value(results.query)
    share = _shares([drawn_value(row) for row in shown])
    for row, (moved, style) in zip(rows, _moves(rows, before), strict=True):
        cells: list[RenderableType] = [Text(str(row.rank)), Text(moved, style)]
        cells += [Text(row.values[i]) for i, _ in indices]
        cells.append(Text(cell(row.score)))
        if row.probability is not None:
            cells.append(Text(f"{row.probability:,.4g}"))
        if bar_width:
            cells.append(Text(bar(share(drawn_value(row)), bar_width), "blue"))
        table.add_row(*cells)


def _score_width(rows: list[RankedRow]) -> int:
    return min(_CELL_WIDTH, max([5, *(len(cell(row.score)) for row in rows)]))


def _fitting(
    results: LiveResults, rows: list[RankedRow], width: int
) -> tuple[list[tuple[int, int]], int]:
    """Return the indices and widths of the selected columns that fit, and the width of the bar."""
    left = width - (4 + 1) - (_MOVE_WIDTH + 1) - (_score_width(rows) + 1)
    left -= 0 if results.query.probability is None else _PROBABILITY_WIDTH + 1
    indices: list[tuple[int, int]] = []
    for i, name in enumerate(results.columns):
        size = max([len(cell(name)), *(Text(row.values[i]).cell_len for row in rows)])
        size = min(size, _CELL_WIDTH)
        if size + 1 > left:
            break
        indices.append((i, size))
        left -= size + 1
    return indices, min(_BAR_WIDTH, left) if left >= 6 else 0


def _drawn_value(query: Query) -> Callable[[RankedRow], float | None]:
    """Return what the bar of a row shows: the value that decides its rank, if larger is better."""
    if query.probability is None or query.probability.semantics == "EXPECTED_RANK":
        return lambda row: row.score
    return lambda row: row.probability


def _shares(values: list[float | None]) -> Callable[[float | None], float]:
    """Return the length of a value's bar: from zero, or a smaller worst value, to the best."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    return lambda value: 0.0 if value is None or high == low else (value - low) / (high - low)


def _moves(rows: list[RankedRow], before: PartitionResult | None) -> list[tuple[str, str]]:
    """Tell for each record how it came to its rank, and a style for that."""
    if before is None:
        return [("", "")] * len(rows)
    old: dict[tuple[Any, ...], int] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for row in before.rows:
        old[(*row.record(), seen[row.record()])] = row.rank
        seen[row.record()] += 1
    seen.clear()
    moves = []
    for row in rows:
        moves.append(move(row.rank, old.get((*row.record(), seen[row.record()]))))
        seen[row.record()] += 1
    return moves


def move(rank: int, previous: int | None) -> tuple[str, str]:
    """Write how a rank changed, and a style for it.

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
    """Draw a bar whose share of the width is between 0 and 1.

    >>> bar(0.5, 4), bar(0.3, 2)
    ('██', '▋')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8) if share == share else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


__all__ = ["bar", "line", "move", "tables"]
