"""The two engines on the same streams: bounded runs give the same rows, rejects and counts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import crestline
from crestline.testing import Spec, expect
from local.engines import assert_same_rows, in_place, rejects_of, rows_of, run_heeding
from strategies import UNITS, Case, specs, streams, to_table

pytestmark = pytest.mark.usefixtures("spark")

#: Another seed gives other streams and queries.
SEED = int(os.environ.get("CRESTLINE_FUZZ_SEED", "20261115"))
STRESS = os.environ.get("HYPOTHESIS_PROFILE") == "stress"


def on_spark(examples: int) -> Any:
    """Settings for what takes seconds: nothing is shrunk, the seed tells what was drawn."""
    return settings(
        max_examples=examples * (10 if STRESS else 1),
        deadline=None,
        derandomize=False,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def several(draw: st.DrawFn, queries: int = 6) -> list[Case]:
    """One stream and several queries for it, of all kinds."""
    unit = draw(st.sampled_from(UNITS))
    integers = draw(st.booleans())
    anyhow = draw(st.booleans())
    stream = streams(unit=unit, integers=integers, gaps=False, anyhow=anyhow, max_size=40)
    records = draw(stream)
    found = []
    for number in range(queries):
        spec = draw(specs(unit))
        emit = draw(st.sampled_from(("SNAPSHOTS", "SNAPSHOTS", "CHANGES", "ENTRIES")))
        late = "DROP"
        if emit == "SNAPSHOTS" and spec.ts and not spec.counts_rows and not anyhow:
            late = draw(st.sampled_from(("DROP", "DROP", "REVISE")))
        select = ("id",) if late == "REVISE" else spec.select
        spec = replace(spec, name=f"q{number}", emit=emit, late=late, select=select)
        found.append(Case(spec, records, integers, unit))
    return found


def assert_equals_the_oracle(results: Any, case: Case) -> None:
    spec = case.spec
    wanted = expect(spec, case.records)
    table = results.of(spec.name or "query")
    rows = in_place(spec, rows_of(table))
    assert_same_rows(rows, wanted.rows, spec.text())
    metrics = results.by_query[spec.name or "query"]
    assert metrics.rows_late == len(wanted.late), spec.text()
    assert metrics.result_rows == len(wanted.rows)
    assert metrics.rows_in == len(case.records)
    late = set() if spec.late == "REVISE" else set(wanted.late)
    assert sum(metrics.rejected.values()) == len(set(wanted.rejects) | late), spec.text()


@seed(SEED)
@on_spark(4)
@given(several())
def test_many_queries_on_one_stream_equal_the_oracle(found: list[Case]) -> None:
    """Late and bad records, ties, all windows: six queries share a read."""
    text = ";\n".join(case.spec.text() for case in found)
    results, warned = run_heeding(text, found[0].table, engine="spark")
    for case in found:
        assert_equals_the_oracle(results, case)
    dropped = [len(expect(c.spec, c.records).late) for c in found if c.spec.late == "DROP"]
    assert len(warned) == int(any(dropped))  # of so few records, one is many


@seed(SEED + 1)
@on_spark(3)
@given(several(queries=1), st.data())
def test_files_in_pieces_equal_one_process(found: list[Case], data: st.DataObject) -> None:
    """The stream in several files: their names give the order, whatever Spark makes of it."""
    (case,) = found
    spec = replace(case.spec, name=None)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(case.records)), max_size=3)))
        edges = [0, *cuts, len(case.records)]
        for number, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
            part = to_table(case.records[start:end], case.integers)
            pq.write_table(part, Path(folder, f"part-{number}.parquet"), row_group_size=5)
        (ours, warned), (theirs, as_well) = (
            run_heeding(spec.text(), folder, engine=engine) for engine in ("spark", "local")
        )
    assert warned == as_well
    about = spec.text()
    assert_same_rows(
        in_place(spec, rows_of(ours.to_arrow())), in_place(spec, rows_of(theirs.to_arrow())), about
    )
    assert rejects_of(ours) == rejects_of(theirs), about
    for name in ("rows_in", "rows_filtered", "rows_late", "lateness_needed", "rejected",
                 "result_rows", "partitions"):  # fmt: skip
        assert getattr(ours.metrics, name) == getattr(theirs.metrics, name), (name, about)


def test_the_rows_come_in_the_same_order() -> None:
    spec = Spec(2, "range_slide", 30, 10, "ts", partition=("grp",), select=("id", "val"))
    table = pa.table(
        {
            "id": range(60),
            "ts": pa.array(range(60), pa.timestamp("us", "UTC")),
            "val": [float(i * 7 % 11) for i in range(60)],
            "grp": [None if i % 5 == 0 else "abc"[i % 3] for i in range(60)],
        }
    )
    ours, theirs = (
        crestline.run(spec.text(), {"s": table}, engine=engine) for engine in ("spark", "local")
    )
    assert ours.to_arrow().equals(theirs.to_arrow())


def test_an_approximate_query_tells_its_bound() -> None:
    """In random order and a small window nothing is missed; the metrics say what is promised."""
    table = pa.table({"id": range(3000), "x": [(i * 7919) % 3001 for i in range(3000)]})
    query = "SELECT TOP 3 id FROM s [ROWS 100] ORDER BY x DESC EMIT CHANGES APPROXIMATE ERROR 0.01"
    results = crestline.run(query, {"s": table}, engine="spark")
    exact = crestline.run(query.replace("APPROXIMATE ERROR 0.01", ""), {"s": table})
    assert rows_of(results.to_arrow()) == rows_of(exact.to_arrow())
    told = results.metrics.approximation
    assert told["error"] == 0.01 and "random order" in told["holds"]
    assert told["answered_exactly"] == 3000 and told["answering"] == "RAPF (exact)"
    assert exact.metrics.approximation == {}
