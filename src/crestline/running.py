"""What a user touches from Python: ``run`` for a bounded stream, ``open`` for one that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crestline.core.errors import PlanError
from crestline.language import Query
from crestline.local import Results, Session, named_queries, run_bounded
from crestline.local.late import warn_of_late
from crestline.local.sources import named_streams
from crestline.planner import Explanation
from crestline.planner import explain as explain_queries

ENGINES = ("local", "spark")


def run(
    query: str | Query,
    streams: Any,
    engine: str = "local",
    strict: bool = False,
    *,
    audit: bool = False,
    encoding: str | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> Results:
    """Run a query (or several, separated by ``;``) over bounded streams and return all results.

    ``streams`` has an input for each stream by its name: a data frame (Arrow, pandas, Polars,
    DuckDB, anything with ``__arrow_c_stream__``), NumPy records, columns or records in
    dictionaries, an iterator of frames or records, or a path, or a list of paths, of files. Where
    queries read one stream, the input alone will do. ``encoding`` is that of csv and json lines
    files that are not UTF-8.

    ``engine="spark"`` runs it on Spark: ``master`` and ``conf`` as for a Spark session; an active
    session is used as it is. With ``audit`` the metrics tell how right approximate answers were:
    exact queries run beside them, in this process.

    Without LATENESS every record counts, in whatever order the records lie. With it, a
    ``LateRecordsWarning`` tells if more than one in a hundred was dropped.

    >>> trades = [{"symbol": "A", "price": 3.0}, {"symbol": "B", "price": 5.0}]
    >>> run("SELECT TOP 1 symbol FROM trades [ROWS 2] ORDER BY price DESC",
    ...     {"trades": trades}).to_arrow().column("symbol").to_pylist()
    ['A', 'B']
    """
    check_engine(engine)
    queries = named_queries(query)
    streams = named_streams(queries, streams, encoding)
    if engine == "local":
        results = run_bounded(queries, streams, strict, audit)
    elif audit:
        raise PlanError("an audit runs in this process: leave out engine='spark'")
    else:
        from crestline.spark.bounded import run_bounded as run_on_spark
        from crestline.spark.session import start

        results = run_on_spark(start(master, conf), queries, streams, strict=strict)
    warn_of_late(results.by_query)
    return results


def open(
    query: str | Query,
    engine: str = "local",
    strict: bool = False,
    state: bytes | None = None,
    *,
    keep_rejects: int | None = 10_000,
) -> Session:
    """Start a query that stands (or several, separated by ``;``), or resume from
    ``Session.snapshot()``. Others may ``add`` to it and be removed while records are pushed.

    ``keep_rejects`` is how many of the records set aside ``Session.rejects`` shows, the first ones
    (None: all of them, which grow with the stream); all are counted.

    >>> session = open("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x DESC")
    >>> session.push({"id": "a", "x": 2}).column("id").to_pylist()
    ['a']
    >>> later = open("SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x DESC", state=session.snapshot())
    >>> later.push({"id": "b", "x": 1}).column("id").to_pylist()
    ['a']
    """
    check_engine(engine)
    if engine == "spark":
        raise PlanError(
            "records are pushed into this process: on Spark, give a streaming DataFrame to"
            " crestline.spark.topk, or follow a folder with crestline run --follow"
        )
    return Session(named_queries(query), strict=strict, state=state, keep_rejects=keep_rejects)


def explain(query: str | Query) -> Explanation:
    """Explain how a query (or several, separated by ``;``) would be run, without any data.

    >>> plan = explain("SELECT TOP 3 id FROM s [ROWS 10 SLIDE 5] ORDER BY x DESC")
    >>> plan.algorithm, plan.panes_per_window, plan.worst_kept
    ('MINTOPK', 2, 6)
    >>> print(plan.window)
    the last 10 records, after every 5

    ``print(plan)`` shows what the command ``crestline explain`` prints.
    """
    return explain_queries(named_queries(query))


def check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise PlanError(f"there is no engine {engine!r}: use 'local' or 'spark'")


__all__ = ["ENGINES", "check_engine", "explain", "open", "run"]
