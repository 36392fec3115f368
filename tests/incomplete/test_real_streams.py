"""Flows seen at three routers, often the same one at several, judged from complete lists."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import crestline
from incomplete.asking import EXACT, assert_same, in_place, rows_of
from incomplete.judge import Spec, expect

pytestmark = pytest.mark.data
SECOND = 1_000_000


@pytest.fixture(scope="module")
def flows(shared_data: Path) -> pa.Table:
    """A flow is who talks to whom how; its size at a router in kilobytes, at most 1,000."""
    path = next(shared_data.glob("netflow_*.parquet"))
    return duckdb.sql(
        f"""
        SELECT make_timestamp((start * 1e6)::BIGINT) AS ts,
               sAddress || '>' || rAddress || ' ' || protocol AS obj, router::VARCHAR AS src,
               least((sBytesSum + rBytesSum) // 1000, 1000)::DOUBLE AS val, 0::BIGINT AS part
        FROM '{path}' ORDER BY start LIMIT 6000
        """
    ).to_arrow_table()


def test_top_flows_equal_the_judge(flows: pa.Table) -> None:
    routers = tuple(sorted(set(flows.column("src").to_pylist())))
    assert len(routers) == 3
    records = flows.to_pylist()
    for record, ts in zip(
        records, flows.column("ts").cast(pa.timestamp("us")).cast(pa.int64()), strict=True
    ):
        record["ts"] = ts.as_py()
    for spec in (
        Spec(10, True, 60 * SECOND, 30 * SECOND, streams=routers, high=1000.0),
        Spec(5, True, 45 * SECOND, 30 * SECOND, streams=routers, high=1000.0, repeats="SUM",
             at_most=4),
        Spec(3, True, 500, 250, streams=routers, high=1000.0, function="MAX", counted=True,
             repeats="SUM", at_most=40),
    ):  # fmt: skip
        wanted = expect(spec, records)
        assert len(wanted.rows) > 20
        for using in EXACT:
            answer = crestline.run(spec.text(using), {"s": flows}, engine="local")
            about = spec.text(using)
            assert_same(in_place(rows_of(answer.to_arrow())), wanted.rows, about)
            repeats = sum(reason == "repeat" for reason in wanted.rejects.values())
            assert answer.metrics.rejected.get("repeat", 0) == repeats > 0


def test_routers_as_inputs_of_their_own(flows: pa.Table) -> None:
    names = {"1": "first", "2": "second", "3": "third"}
    routers = sorted(set(flows.column("src").to_pylist()))
    inputs = {}
    for router, name in zip(routers, names.values(), strict=True):
        mine = flows.filter(pc.equal(flows.column("src"), router))
        inputs[name] = mine.drop_columns(["src"])
    window = "[RANGE 1 MINUTE SLIDE 30 SECONDS ON ts]"
    rest = "OBJECT obj VALUES BETWEEN 0 AND 1000 REPEATS MAX AT MOST 9"
    apart = crestline.run(
        f"SELECT TOP 5 obj FROM first, second, third {window}"
        f" COMBINE SUM(val) ACROSS router {rest}",
        inputs,
    )
    known = ", ".join(repr(router) for router in routers)
    whole = crestline.run(
        f"SELECT TOP 5 obj FROM s {window} COMBINE SUM(val) ACROSS src IN ({known}) {rest}",
        {"s": flows},
    )
    assert apart.to_arrow().equals(whole.to_arrow())
    assert len(apart) > 50
