"""The questions asked of Polars.

*Panes first* is the best that we could write: the k best of every pane of `slide` seconds, and then
the windows over panes. *Obvious* is what the manual suggests: every row goes into every window that
holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.rivals.question import EveryRecord, Question

if TYPE_CHECKING:
    import pyarrow as pa


def _scan(q: Question) -> Any:
    import polars as pl

    return pl.scan_parquet(q.files).select("ts", "symbol", "price")


def _polars_windows(q: Question, rows: Any, only_prices: bool = False) -> Any:
    """The k best of every window over a lazy frame in the order of time, by `group_by_dynamic`."""
    import polars as pl

    keys = ["symbol"] if q.by else []
    values = [name for name in ("symbol", "price", "ts") if name not in keys]
    windows = rows.with_columns(at="ts").group_by_dynamic(
        "at",
        every=f"{q.slide}s",
        period=f"{q.width}s",
        offset=f"-{q.width - q.slide}s",
        group_by=keys or None,
    )
    best = pl.struct(values).top_k_by("price", q.k)
    if only_prices:
        best = pl.struct(price=pl.col("price").top_k(q.k).sort(descending=True))
    end = pl.col("at").dt.epoch("us") + q.width * 1_000_000
    ranks = pl.int_ranges(1, pl.col("best").list.len() + 1)
    tops = windows.agg(best=best).with_columns(window_end=end, rank=ranks)
    return tops.drop("at").explode("rank", "best").unnest("best")


def _until_last_due(q: Question, rows: Any, last: Any) -> pa.Table:
    """Leave out the windows that end after the first multiple of the slide past the last event."""
    import polars as pl

    slide = q.slide * 1_000_000
    last_due = int(last.timestamp()) * 1_000_000 // slide * slide + slide
    return rows.filter(pl.col("window_end") <= last_due).to_arrow()


def polars_over(q: Question) -> pa.Table:
    """Panes first: keep the rows that reach the k-th price of their pane, then the windows."""
    import polars as pl

    pane = (pl.col("ts").dt.epoch("us") // (q.slide * 1_000_000)).alias("p")
    keys = ["symbol", "p"] if q.by else ["p"]
    reached = pl.col("price") >= pl.col("price").top_k(q.k).min().over(keys)
    candidates = _scan(q).with_columns(pane).filter(reached).collect(engine="streaming")
    windows = _polars_windows(q, candidates.lazy().sort("ts")).collect()
    return _until_last_due(q, windows, candidates["ts"].max())


def polars_threshold(q: Question) -> pa.Table:
    """Panes first: the k-th price of each pane, joined back to the rows, then the windows."""
    import polars as pl

    pane = (pl.col("ts").dt.epoch("us") // (q.slide * 1_000_000)).alias("p")
    keys = ["symbol", "p"] if q.by else ["p"]
    rows = _scan(q).with_columns(pane)
    least = rows.group_by(keys).agg(least=pl.col("price").top_k(q.k).min())
    reached = rows.join(least, on=keys).filter(pl.col("price") >= pl.col("least"))
    candidates = reached.collect(engine="streaming")
    windows = _polars_windows(q, candidates.lazy().sort("ts")).collect()
    return _until_last_due(q, windows, candidates["ts"].max())


def polars_obvious(q: Question) -> pa.Table:
    """`group_by_dynamic` with the window as its period, and `top_k_by`."""
    import polars as pl

    rows = _scan(q).set_sorted("ts")  # the files are in the order of time
    windows = _polars_windows(q, rows).collect(engine="streaming")
    return _until_last_due(q, windows, rows.select(pl.col("ts").max()).collect().item())


def polars_only_prices(q: Question) -> pa.Table:
    """The same with `top_k`: the prices alone, not the trades. Less than what is asked."""
    import polars as pl

    rows = _scan(q).set_sorted("ts")
    windows = _polars_windows(q, rows, only_prices=True).collect(engine="streaming")
    return _until_last_due(q, windows, rows.select(pl.col("ts").max()).collect().item())


def polars_rolling(q: EveryRecord) -> pa.Table:
    """`rolling` over the last rows with `top_k_by`, and then those rows at which it has changed."""
    import polars as pl

    rows = pl.scan_parquet(q.files).select("id", "score").set_sorted("id")
    windows = rows.rolling("id", period=f"{q.window}i")
    tops = windows.agg(best=pl.col("id").top_k_by("score", q.k)).with_columns(at=pl.col("id") + 1)
    changed = pl.col("best").ne_missing(pl.col("best").shift())
    return tops.filter(changed).select("at", "best").collect().to_arrow()


PANES_FIRST: dict[str, Callable[[Question], pa.Table]] = {
    "polars, over": polars_over,
    "polars, threshold": polars_threshold,
}
OBVIOUS: dict[str, Callable[[Question], pa.Table]] = {"polars, obvious top_k_by": polars_obvious}
#: Answers less than what is asked, so it counts for no goal.
PARTIAL: dict[str, Callable[[Question], pa.Table]] = {
    "polars, obvious top_k, prices only": polars_only_prices
}
EVERY_RECORD: dict[str, Callable[[EveryRecord], pa.Table]] = {"polars, rolling": polars_rolling}
