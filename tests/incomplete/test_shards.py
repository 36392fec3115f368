"""Objects split among several runs: their merged answers are that of one run."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crestline.language import parse
from crestline.planner import Bundle, plan
from crestline.runtime.executor import BundleExecutor
from crestline.runtime.gate import Gate
from crestline.runtime.projection import Projection
from crestline.runtime.rejects import Rejects
from crestline.runtime.shards import can_be_split, merged
from incomplete.asking import a_spec, assert_same, declared, records_for, rows_of, run, table_of
from incomplete.judge import Spec, expect

MANY = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 1


def rows_of_a_shard(spec: Spec, using: str, table: pa.Table, latest: int) -> list[pa.Table]:
    """What a run over some of the objects gives, which learns how far time has come."""
    bundle = Bundle.of({"query": parse(spec.text(using))})
    query = bundle.plan.query
    projection = Projection(query, table.schema)
    rejects = Rejects(query, strict=False)
    admitted, _ = Gate(query, projection.texts, rejects).admit(projection(table), 0)
    fold = BundleExecutor(bundle, projection.schema, rejects=rejects, shard=True)
    found = [fold.schema("query").empty_table()]
    for steps in (fold.push(admitted), fold.due(latest), fold.finish()):
        found += [rows for _, rows in steps]
    return found


@pytest.mark.parametrize("using", ["EAA", "SLA"])
def test_merged_shards_equal_one_run(using: str) -> None:
    for seed in range(60 * MANY):
        rng = np.random.default_rng([seed, 11])
        spec = replace(declared(a_spec(rng)), timed=True, counted=False, lateness=0)
        spec = replace(spec, streams=spec.streams or ("a", "b", "c"), slide=spec.slide or 3)
        assert can_be_split(plan(parse(spec.text(using))))
        records = records_for(spec, rng, 80, bad=0.0)
        records.sort(key=lambda record: record["ts"])
        table = table_of(records)
        latest = max(record["ts"] for record in records)
        shards = int(rng.integers(1, 5))
        whose = np.array([sum(map(ord, record["obj"])) % shards for record in records])
        parts = []
        for shard in range(shards):
            mine = table.filter(pa.array(whose == shard))
            parts += rows_of_a_shard(spec, using, mine, latest)
        query = parse(spec.text(using))
        got = merged(query, parts)
        about = f"seed {seed}: {spec.text(using)}"
        assert_same(rows_of(got), expect(spec, records).rows, about)
        whole = run(spec, table, using).to_arrow()
        assert got.schema == whole.schema
        assert_same(rows_of(got), rows_of(whole), about)


def test_what_cannot_be_split() -> None:
    combine = "COMBINE SUM(v) ACROSS s IN ('a', 'b') OBJECT o VALUES BETWEEN 0 AND 1"
    slides = "SELECT TOP 1 o FROM t [RANGE 9 s SLIDE 3 s ON ts]"
    for text, can in (
        (f"{slides} {combine}", True),
        (f"{slides} {combine} EMIT CHANGES", False),
        (f"{slides} {combine} APPROXIMATE", False),
        (f"{slides} COMBINE SUM(v) ACROSS s OBJECT o", False),
        (f"SELECT TOP 1 o FROM t [RANGE 9 s ON ts] {combine}", False),
        (f"SELECT TOP 1 o FROM t [ROWS 9 SLIDE 3 ON ts] {combine}", False),
        ("SELECT TOP 1 o FROM t [RANGE 9 s SLIDE 3 s ON ts] ORDER BY v", False),
    ):
        assert can_be_split(plan(parse(text))) == can, text
