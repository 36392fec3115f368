"""The questions asked of DuckDB.

*Panes first* is the best that we could write: the k best of every pane of `slide` seconds, and then
the windows over panes. *Obvious* is what the manual suggests: every row goes into every window that
holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.rivals.question import EveryRecord, Question

if TYPE_CHECKING:
    import pyarrow as pa


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


def duckdb_over_rows(q: EveryRecord) -> pa.Table:
    """`max_by` over the last rows, and then those rows at which it has changed."""
    return _duckdb(f"""
        WITH tops AS (
            SELECT id + 1 AS "at", max_by(id, score, {q.k}) OVER (
                ORDER BY id ROWS BETWEEN {q.window - 1} PRECEDING AND CURRENT ROW) AS best
            FROM '{q.files}'
        )
        SELECT "at", best FROM tops
        QUALIFY best IS DISTINCT FROM lag(best) OVER (ORDER BY "at")
    """)


PANES_FIRST: dict[str, Callable[[Question], pa.Table]] = {
    "duckdb, threshold": duckdb_threshold,
    "duckdb, max_by": duckdb_arg_max,
    "duckdb, two lists": duckdb_two_lists,
}
OBVIOUS: dict[str, Callable[[Question], pa.Table]] = {
    "duckdb, obvious max_by": duckdb_obvious,
    "duckdb, obvious row_number": duckdb_row_number,
}
EVERY_RECORD: dict[str, Callable[[EveryRecord], pa.Table]] = {
    "duckdb, max_by OVER ROWS": duckdb_over_rows
}
