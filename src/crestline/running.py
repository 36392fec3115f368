"""What a user touches from Python: ``run`` for a bounded stream, ``open`` for one that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from crestline.core.errors import PlanError
from crestline.language import Query
from crestline.local import Session, run_bounded
from crestline.planner import Explanation
from crestline.planner import explain as explain_queries
from crestline.runtime.lateness import warn_of_late
from crestline.runtime.queries import named_queries
from crestline.runtime.results import Results
from crestline.sources import named_streams

#: Where queries are run: in this process, or on Spark.
Engine = Literal["local", "spark"]
ENGINES = get_args(Engine)


def run(
    query: str | Query,
    streams: Any,
    engine: Engine = "local",
    strict: bool = False,
    *,
    audit: bool = False,
    encoding: str | None = None,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> Results:
    """Run a query (or several, separated by ``;``) over streams that end, and return all results.

    Without LATENESS every record counts, in whatever order the records come. With it, a
    ``LateRecordsWarning`` is given if more than one in a hundred was dropped.

    Parameters:
        query: The text of the queries, or a ``Query`` that ``parse`` made of one.
        streams: What the queries read, by the names that stand behind FROM (in any case). Where
            they read one stream only, it may be given bare, without its name. A stream is one of:
            a data frame of pandas or Polars (a lazy one too); a relation of DuckDB; an Arrow table,
            batch, reader or dataset, or whatever else has ``__arrow_c_stream__``; a structured
            array of NumPy; a dictionary of columns; a list or an iterator of dictionaries; an
            iterator of frames or batches; a path or a list of paths: a file, a folder (also one
            that is partitioned as Hive does it) or a glob of parquet, csv or json lines files, on
            this disk or at an address such as ``s3://bucket/key``.
        engine: ``"local"`` runs in this process. ``"spark"`` runs on Spark, which needs Java and
            the extra ``spark``. The rows are the same.
        strict: Whether the first bad record is an error. Else bad records are set aside, with
            their reasons: see ``Results.rejects``.
        audit: Whether to compare approximate answers with exact ones. Exact queries run beside
            them, in this process; ``Results.metrics.approximation`` has the findings.
        encoding: The encoding of csv and json lines files if not UTF-8, such as ``"latin-1"``.
        master: The master of a Spark session, such as ``"spark://host:7077"``; by default all
            cores of this machine. An active session is used as it is.
        conf: Settings of the Spark session, by their names.

    Returns:
        The rows, the records that were set aside and the counts.

    Raises:
        QueryError: A text is not a query; the error shows line and column.
        PlanError: A query cannot be run, or not with these arguments.
        SourceError: A stream is missing, cannot be read, or lacks a column.
        RecordError: The first bad record, if ``strict``.

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
    engine: Engine = "local",
    strict: bool = False,
    state: bytes | None = None,
    *,
    keep_rejects: int | None = 10_000,
) -> Session:
    """Start a query that stands (or several, separated by ``;``): records are pushed as they come,
    and results are returned as they fall due.

    Parameters:
        query: The text of the queries, or a ``Query`` that ``parse`` made of one. Others may be
            added and removed while records are pushed: see ``Session.add``.
        engine: ``"local"``: records are pushed into this process. On Spark, streaming DataFrames
            take the place of sessions: see ``crestline.spark.topk``.
        strict: Whether the first bad record is an error. Else bad records are set aside, with
            their reasons: see ``Session.rejects``.
        state: What ``Session.snapshot`` returned, of the same queries: the session goes on from
            there.
        keep_rejects: How many of the records set aside ``Session.rejects`` shows, the first ones.
            None means all of them, which grow with the stream. All are counted.

    Returns:
        The session. Its ``push`` takes whatever ``run`` takes as a stream, and single
        dictionaries; ``finish`` declares the streams over.

    Raises:
        QueryError: A text is not a query; the error shows line and column.
        PlanError: A query cannot be run, or not with these arguments.
        StateError: The state is damaged, or is that of other queries.

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

    Parameters:
        query: The text of the queries, or a ``Query`` that ``parse`` made of one.

    Returns:
        The plan. Shown, it is what the command ``crestline explain`` prints; algorithm, reason,
        panes, records kept and what else is known are its fields.

    Raises:
        QueryError: A text is not a query; the error shows line and column.
        PlanError: A query cannot be run.

    >>> plan = explain("SELECT TOP 3 id FROM s [ROWS 10 SLIDE 5] ORDER BY x DESC")
    >>> plan.algorithm, plan.panes_per_window, plan.worst_kept
    ('MINTOPK', 2, 6)
    >>> print(plan.window)
    the last 10 records, after every 5
    """
    return explain_queries(named_queries(query))


def check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise PlanError(f"there is no engine {engine!r}: use 'local' or 'spark'")


__all__ = ["ENGINES", "Engine", "check_engine", "explain", "open", "run"]
