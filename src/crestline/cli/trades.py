"""The demo's results as trades: for its picture, and as lines where there is no terminal."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from crestline.cli.live_table import move

if TYPE_CHECKING:
    import pyarrow as pa


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
class TopTrades:
    """The top trades, best first, of the window that ends at ``end``."""

    end: datetime
    trades: tuple[Trade, ...]

    def rank(self, trade: Trade) -> int | None:
        return self.trades.index(trade) + 1 if trade in self.trades else None


def top_trades(table: pa.Table) -> list[TopTrades]:
    """Read the results from a table of result rows, in order."""
    by_end: dict[datetime, list[Trade]] = {}
    for row in table.to_pylist():
        trade = Trade(row["ts"], row["symbol"], row["price"], row["size"])
        by_end.setdefault(row["window_end"], []).append(trade)
    return [TopTrades(end, tuple(trades)) for end, trades in by_end.items()]


def moved(rank: int, trade: Trade, before: TopTrades | None) -> str:
    """Write how a trade came to its rank.

    >>> when = datetime(2024, 1, 1)
    >>> a, b = Trade(when, "A", 2.0, 100), Trade(when, "B", 1.0, 100)
    >>> [moved(1, trade, TopTrades(when, (b, a))) for trade in (a, b)]
    ['▲ 1', '']
    """
    return "" if before is None else move(rank, before.rank(trade))[0]


def plain_view(now: TopTrades, before: TopTrades | None) -> str:
    """Write the result as lines of text."""
    lines = [f"top 10 trades of the last minute, at {now.end:%H:%M:%S}"]
    for rank, trade in enumerate(now.trades, 1):
        lines.append(
            f"{rank:>4}  {moved(rank, trade, before):<4} {trade.symbol:<6} {trade.price:>10,.2f}"
            f" x {trade.size:>9,} = {trade.value:>13,.0f}"
        )
    return "\n".join(lines)


__all__ = ["TopTrades", "Trade", "moved", "plain_view", "top_trades"]
