"""The same question asked of DuckDB and Polars, and the bare reading of the files.

Every formulation answers: the k trades of highest price of the last `width` seconds, every `slide`
seconds, of all symbols together or `by` symbol. *Panes first* is what an expert writes: the k best
of every pane of `slide` seconds, and then the windows over panes. *Obvious* is what the manuals
suggest and users write: every row goes into every window that holds it.

The answers have the columns window_end (microseconds), symbol, rank, price, ts. None of the rivals
breaks ties, so only window_end, rank and price (and symbol, where it is the group) can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the parquet files that a glob names."""

    files: str
    slide: int
    by: bool = False
    width: int = 100
    k: int = 10


def crestline_run(q: Question) -> pa.Table:
    import crestline

    by = "PARTITION BY symbol" if q.by else ""
    selected = "price, ts" if q.by else "symbol, price, ts"
    query = (
        f"SELECT TOP {q.k} {selected} FROM trades [RANGE {q.width} SECONDS SLIDE {q.slide} SECONDS"
        f" ON ts] {by} ORDER BY price DESC"
    )
    return crestline.run(query, {"trades": q.files}).to_arrow()


def bare_scan(q: Question) -> pa.Table:
    """Not an answer: what it costs only to read the columns, with Arrow's own threads."""
    import pyarrow.dataset as ds

    files = ds.dataset(_folder(q.files), format="parquet")
    rows = sum(batch.num_rows for batch in files.to_batches(columns=["ts", "symbol", "price"]))
    return pa.table({"rows": [rows]})


def _folder(files: str) -> Any:
    import glob

    return sorted(glob.glob(files))


# -- DuckDB -------------------------------------------------------------------------------------


def _duckdb(sql: str) -> pa.Table:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.sql(sql).to_arrow_table()


def _pane(q: Question) -> str:
    return f"epoch_us(ts) // {q.slide * 1_000_000}"


def _ends(q: Question, panes: str) -> str:
    """The ends, counted in slides, of the windows that hold pane p."""
    last = f"(SELECT max(p) + 1 FROM {panes})"
    return f"unnest(range(p + 1, least(p + {q.width // q.slide}, {last}) + 1)) AS e"


def _ranked(q: Question, tops: str) -> str:
    """One row for each record of the lists `best` of structs."""
    return f"""
        SELECT e * {q.slide * 1_000_000} AS window_end, generate_subscripts(best, 1) AS rank,
               unnest(best, recursive := true)
        FROM {tops} ORDER BY ALL
    """


def duckdb_threshold(q: Question) -> pa.Table:
    """Panes first: only the k-th price of each pane, then the rows that reach it."""
    key = "symbol, " if q.by else ""
    same = "f.symbol = t.symbol AND" if q.by else ""
    return _duckdb(f"""
        WITH thresholds AS MATERIALIZED (
            SELECT {key} {_pane(q)} AS p, list_min(max(price, {q.k})) AS least
            FROM '{q.files}' GROUP BY ALL
        ), candidates AS (
            SELECT t.p, struct_pack(f.symbol, f.price, f.ts) AS r
            FROM '{q.files}' f JOIN thresholds t
            ON {same} {_pane(q)} = t.p AND f.price >= t.least
        ), joined AS (
            SELECT r, {_ends(q, "thresholds")} FROM candidates
        ), tops AS (
            SELECT e, {"r.symbol AS s," if q.by else ""} max_by(r, r.price, {q.k}) AS best
            FROM joined GROUP BY ALL
        ) {_ranked(q, "tops")}
    """)


def duckdb_arg_max(q: Question) -> pa.Table:
    """Panes first: the k best of each pane by max_by, and of each window by max_by again."""
    return _duckdb(f"""
        WITH panes AS MATERIALIZED (
            SELECT {"symbol," if q.by else ""} {_pane(q)} AS p,
                   max_by(struct_pack(symbol, price, ts), price, {q.k}) AS best
            FROM '{q.files}' GROUP BY ALL
        ), candidates AS (
            SELECT p, unnest(best) AS r FROM panes
        ), joined AS (
            SELECT r, {_ends(q, "panes")} FROM candidates
        ), tops AS (
            SELECT e, {"r.symbol AS s," if q.by else ""} max_by(r, r.price, {q.k}) AS best
            FROM joined GROUP BY ALL
        ) {_ranked(q, "tops")}
    """)


def duckdb_two_lists(q: Question) -> pa.Table:
    """Panes first, by symbol: a list of prices and one of times cost less than one of structs."""
    return _duckdb(f"""
        WITH panes AS MATERIALIZED (
            SELECT symbol, {_pane(q)} AS p, max(price, {q.k}) AS prices,
                   max_by(ts, price, {q.k}) AS times
            FROM '{q.files}' GROUP BY ALL
        ), ends AS (
            SELECT symbol, prices, times, {_ends(q, "panes")} FROM panes
        ), joined AS (
            SELECT symbol, e, unnest(prices) AS price, unnest(times) AS ts FROM ends
        ), tops AS (
            SELECT symbol, e, max(price, {q.k}) AS prices, max_by(ts, price, {q.k}) AS times
            FROM joined GROUP BY ALL
        )
        SELECT e * {q.slide * 1_000_000} AS window_end, generate_subscripts(prices, 1) AS rank,
               symbol, unnest(prices) AS price, unnest(times) AS ts
        FROM tops ORDER BY e, symbol, rank
    """)


def duckdb_obvious(q: Question) -> pa.Table:
    """Every row into every window that holds it, then max_by."""
    return _duckdb(f"""
        WITH trades AS (
            SELECT symbol, price, ts, {_pane(q)} AS p FROM '{q.files}'
        ), joined AS (
            SELECT symbol, price, ts, {_ends(q, "trades")} FROM trades
        ), tops AS (
            SELECT e, {"symbol AS s," if q.by else ""}
                   max_by(struct_pack(symbol, price, ts), price, {q.k}) AS best
            FROM joined GROUP BY ALL
        ) {_ranked(q, "tops")}
    """)


def duckdb_row_number(q: Question) -> pa.Table:
    """Every row into every window that holds it, then row_number."""
    return _duckdb(f"""
        WITH trades AS (
            SELECT symbol, price, ts, {_pane(q)} AS p FROM '{q.files}'
        ), joined AS (
            SELECT symbol, price, ts, {_ends(q, "trades")} FROM trades
        ), ranked AS (
            SELECT *, row_number() OVER (PARTITION BY {"symbol, " if q.by else ""} e
                                         ORDER BY price DESC) AS rank
            FROM joined QUALIFY rank <= {q.k}
        )
        SELECT e * {q.slide * 1_000_000} AS window_end, rank, symbol, price, ts
        FROM ranked ORDER BY ALL
    """)


# -- Polars -------------------------------------------------------------------------------------


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


#: Who takes part, by kind.
PANES_FIRST: dict[str, Callable[[Question], pa.Table]] = {
    "duckdb, threshold": duckdb_threshold,
    "duckdb, max_by": duckdb_arg_max,
    "duckdb, two lists": duckdb_two_lists,
    "polars, over": polars_over,
    "polars, threshold": polars_threshold,
}
OBVIOUS: dict[str, Callable[[Question], pa.Table]] = {
    "duckdb, obvious max_by": duckdb_obvious,
    "duckdb, obvious row_number": duckdb_row_number,
    "polars, obvious top_k_by": polars_obvious,
}
#: Answers less than what is asked, so it counts for no goal.
PARTIAL: dict[str, Callable[[Question], pa.Table]] = {
    "polars, obvious top_k, prices only": polars_only_prices
}
CONTENDERS: dict[str, Callable[[Question], pa.Table]] = {
    "crestline": crestline_run,
    **PANES_FIRST,
    **OBVIOUS,
    **PARTIAL,
    "bare scan": bare_scan,
}
