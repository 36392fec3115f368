"""A second judge for streams too long for the oracle: sliding windows written in SQL, on DuckDB.

It joins every record with every window that holds it and ranks them: slow, obvious, and written
without a look at the engine.
"""

from __future__ import annotations

import duckdb
import pyarrow as pa

from crestline.testing import Row, Spec

ENDS = """
    SELECT DISTINCT unnest(range(
        (t // {s} + CASE WHEN t % {s} < 0 THEN 0 ELSE 1 END) * {s},
        least(t + {w}, {last}) + 1,
        {s})) AS e
    FROM (SELECT DISTINCT t FROM records)
"""


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def expected(spec: Spec, table: pa.Table, accept: str = "true") -> list[Row]:
    """The rows as dicts, with times as microseconds."""
    return [{"query": "query", **row} for row in expected_table(spec, table, accept).to_pylist()]


def expected_table(spec: Spec, table: pa.Table, accept: str = "true") -> pa.Table:
    """Snapshots of `[RANGE w SLIDE s ON ts]` over records that all come in time.

    Without the column `query`, and with times as microseconds. ``accept`` is what a record must
    satisfy not to be rejected, in SQL.
    """
    assert spec.kind == "range_slide"
    assert spec.emit == "SNAPSHOTS"
    score = quote(spec.order[0][0])
    order = [f"{quote(c)} {'DESC NULLS LAST' if d else 'ASC NULLS FIRST'}" for c, d in spec.order]
    ties = [*(spec.key or spec.select)]
    ties += [c for c in spec.select if c not in ties]
    order += ["t DESC", *(f"{quote(c)} ASC NULLS FIRST" for c in ties)]
    partition = ["e", *(quote(c) for c in spec.partition)]
    con = duckdb.connect()
    con.execute("SET threads = 2")
    con.execute("SET TimeZone = 'UTC'")
    con.register("stream", table)
    con.execute(
        f"CREATE TABLE records AS SELECT *, epoch_us({quote(str(spec.ts))}) AS t FROM stream"
        f" WHERE {spec.where_sql or 'true'} AND ({accept})"
    )
    [(newest,)] = con.execute("SELECT coalesce(max(t), 0) FROM records").fetchall()
    last = (newest // spec.slide + 1) * spec.slide
    shown = [*map(quote, spec.partition), "rank", *map(quote, spec.select), "score"]
    ends = ENDS.format(s=spec.slide, w=spec.width, last=last)
    return con.sql(
        f"""
        WITH ends AS ({ends}),
        ranked AS (
            SELECT *, {score}::DOUBLE AS score, row_number() OVER (
                PARTITION BY {", ".join(partition)} ORDER BY {", ".join(order)}
            ) AS rank
            FROM ends JOIN records ON t >= e - {spec.width} AND t < e
        )
        SELECT e - {spec.width} AS window_start, e AS window_end, {", ".join(shown)}
        FROM ranked WHERE rank <= {spec.k}
        ORDER BY {", ".join(f"{p} NULLS FIRST" for p in partition)}, rank
        """
    ).to_arrow_table()
