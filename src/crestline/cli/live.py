"""What the demo shows: one result, and how it differs from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import pyarrow as pa

    from crestline.local import Metrics

_BAR_WIDTH = 28
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Trade:
    """A record of the result; equal if it is the same trade."""

    time: datetime
    symbol: str
    price: float
    size: int

    @property
    def value(self) -> float:
        return self.price * self.size


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The top trades, best first, of the window that ends at ``end``."""

    end: datetime
    trades: tuple[Trade, ...]

    def rank(self, trade: Trade) -> int | None:
        return self.trades.index(trade) + 1 if trade in self.trades else None


def snapshots(table: pa.Table) -> list[Snapshot]:
    """The results in a table of result rows, in order."""
    found: dict[datetime, list[Trade]] = {}
    for row in table.to_pylist():
        trade = Trade(row["ts"], row["symbol"], row["price"], row["size"])
        found.setdefault(row["window_end"], []).append(trade)
    return [Snapshot(end, tuple(trades)) for end, trades in found.items()]


def move(rank: int, trade: Trade, before: Snapshot | None) -> tuple[str, str]:
    """How a trade came to its rank, and a style for it.

    >>> when = datetime(2024, 1, 1)
    >>> a, b = Trade(when, "A", 2.0, 100), Trade(when, "B", 1.0, 100)
    >>> [move(1, trade, Snapshot(when, (b, a)))[0] for trade in (a, b)]
    ['▲ 1', '']
    """
    if before is None:
        return "", ""
    old = before.rank(trade)
    if old is None:
        return "new", "bold cyan"
    if old == rank:
        return "", ""
    return (f"▲ {old - rank}", "green") if old > rank else (f"▼ {rank - old}", "magenta")


def bar(share: float, width: int = _BAR_WIDTH) -> str:
    """A bar of a length between 0 and 1.

    >>> bar(0.5, 4), bar(0.3, 2)
    ('██', '▋')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def view(now: Snapshot, before: Snapshot | None, metrics: Metrics) -> RenderableType:
    """The result as a table for ``rich.live``."""
    table = Table(box=None, padding=(0, 1), header_style="dim")
    table.add_column("rank", justify="right", width=4)
    table.add_column("", width=4)
    table.add_column("symbol", width=6)
    for name, width in (("price", 10), ("size", 10), ("value", 12)):
        table.add_column(name, justify="right", width=width)
    table.add_column("", width=_BAR_WIDTH)
    table.add_column("age", justify="right", width=5)
    best = now.trades[0].value
    for rank, trade in enumerate(now.trades, 1):
        moved, style = move(rank, trade, before)
        cells: list[Any] = [
            f"{rank}", Text(moved, style), Text(trade.symbol, "bold"), f"{trade.price:,.2f}",
            f"{trade.size:,}", f"{trade.value:,.0f}", Text(bar(trade.value / best), "blue"),
            f"{(now.end - trade.time).seconds} s",
        ]  # fmt: skip
        table.add_row(*cells)
    clock = Text.assemble(("top 10 trades of the last minute", "bold"), f"   at {now.end:%H:%M:%S}")
    window = min(metrics.rows_in, metrics.window_records_peak)
    counts = Text.assemble(
        f"{metrics.rows_in:,} trades so far   window: about {window:,}   ",
        (f"kept: {metrics.kept}", "bold"),
    )
    return Group(clock, Text(), table, Text(), counts)


def plain_view(now: Snapshot, before: Snapshot | None) -> str:
    """The result as lines of text."""
    lines = [f"top 10 trades of the last minute, at {now.end:%H:%M:%S}"]
    for rank, trade in enumerate(now.trades, 1):
        moved, _ = move(rank, trade, before)
        lines.append(
            f"{rank:>4}  {moved:<4} {trade.symbol:<6} {trade.price:>10,.2f} x {trade.size:>9,}"
            f" = {trade.value:>13,.0f}"
        )
    return "\n".join(lines)


__all__ = ["Snapshot", "Trade", "bar", "move", "plain_view", "snapshots", "view"]
