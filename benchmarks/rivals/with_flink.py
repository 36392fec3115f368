"""The questions asked of Flink SQL, as a streaming job in the small cluster that PyFlink brings.

The trades come as csv: Flink's package reads it as it is, parquet only with further archives. The
file is one, in the order of time: rows of files that are read beside each other would come late and
be dropped without a word. What only reading and counting costs is measured beside the answers. A
job starts a cluster and ends it, which takes seconds; so the time is what Flink says the job ran.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.rivals.question import Question, Timed


@cache
def tables() -> Any:
    from pyflink.table import EnvironmentSettings, TableEnvironment

    found = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    settings = {
        "parallelism.default": str(os.cpu_count()),
        "table.local-time-zone": "UTC",
        "pipeline.object-reuse": "true",
    }
    for key, value in settings.items():
        found.get_config().set(key, value)
    return found


TRADES = """
    CREATE TEMPORARY TABLE trades (
        ms BIGINT, symbol STRING, price DOUBLE,
        ts AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR ts AS ts
    ) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')
"""
ANSWER = """
    CREATE TEMPORARY TABLE answer (
        window_end BIGINT, symbol STRING, `rank` BIGINT, price DOUBLE
    ) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')
"""
PANES = """
    CREATE TEMPORARY VIEW panes AS
    SELECT symbol, price, window_time AS pane FROM (
        SELECT *, ROW_NUMBER() OVER (
            PARTITION BY window_start, window_end{by} ORDER BY price DESC) AS `rank`
        FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '{slide}' SECOND(6)))
    ) WHERE `rank` <= {k}
"""
TOP = """
    SELECT CAST(UNIX_TIMESTAMP(CAST(window_end AS STRING)) AS BIGINT) * 1000000,
           symbol, `rank`, price
    FROM (
        SELECT *, ROW_NUMBER() OVER (
            PARTITION BY window_start, window_end{by} ORDER BY price DESC) AS `rank`
        FROM TABLE({windows})
    ) WHERE `rank` <= {k}
"""
COUNT = """
    SELECT CAST(0 AS BIGINT), '', COUNT(*), MAX(price)
    FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '{slide}' SECOND(6)))
    GROUP BY window_start, window_end
"""
HOP = (
    "HOP(TABLE {rows}, DESCRIPTOR({time}), INTERVAL '{slide}' SECOND(6),"
    " INTERVAL '{width}' SECOND(6))"
)
TUMBLE = "TUMBLE(TABLE {rows}, DESCRIPTOR({time}), INTERVAL '{slide}' SECOND(6))"


def obvious(q: Question) -> Timed:
    """Window Top-N over HOP (or TUMBLE), as the manual has it."""
    return _answer(q, _top(q, "trades", "ts"))


def panes_first(q: Question) -> Timed:
    """Window Top-N over TUMBLE, and Window Top-N over HOP of what that leaves."""
    return _answer(q, _top(q, "panes", "pane"))


def only_count(q: Question) -> Timed:
    """Not an answer: what it costs to read the csv, and to count the rows of every pane."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = _answer(q, COUNT.format(slide=q.slide))
    return Timed(pa.table({"rows": [pc.sum(counts.table.column("rank"))]}), counts.seconds)


def _top(q: Question, rows: str, time: str) -> str:
    windows = TUMBLE if q.slide == q.width else HOP
    named = windows.format(rows=rows, time=time, slide=q.slide, width=q.width)
    return TOP.format(windows=named, by=", symbol" if q.by else "", k=q.k)


class _trades:
    """The table of trades and the view of panes, for a while."""

    def __init__(self, q: Question) -> None:
        self.q = q

    def __enter__(self) -> None:
        by = ", symbol" if self.q.by else ""
        tables().execute_sql(TRADES.format(path=self.q.csv))
        tables().execute_sql(PANES.format(by=by, slide=self.q.slide, k=self.q.k))

    def __exit__(self, *_: object) -> None:
        tables().execute_sql("DROP TEMPORARY VIEW panes")
        tables().execute_sql("DROP TEMPORARY TABLE trades")


def _answer(q: Question, sql: str) -> Timed:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    with tempfile.TemporaryDirectory(prefix="crestline-rivals-") as folder, _trades(q):
        tables().execute_sql(ANSWER.format(path=f"{folder}/answer"))
        try:
            job = tables().execute_sql(f"INSERT INTO answer {sql}").get_job_client()
            seconds = job.get_job_execution_result().result().get_net_runtime() / 1000
        finally:
            tables().execute_sql("DROP TEMPORARY TABLE answer")
        names = ["window_end", "symbol", "rank", "price"]
        form = ds.CsvFileFormat(read_options=pyarrow.csv.ReadOptions(column_names=names))
        types = [pa.int64(), pa.string(), pa.int64(), pa.float64()]
        schema = pa.schema(list(zip(names, types, strict=True)))
        found = ds.dataset(f"{folder}/answer", format=form, schema=schema).to_table()
    return Timed(found, seconds)


QuerySpec = Callable[[Question], Timed]

OBVIOUS: dict[str, QuerySpec] = {"flink, Window Top-N": obvious}
PANES_FIRST: dict[str, QuerySpec] = {"flink, panes": panes_first}
LIMIT: dict[str, QuerySpec] = {"flink, only reading csv": only_count}
