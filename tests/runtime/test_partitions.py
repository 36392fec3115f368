"""Very many partitions in one run."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest

import crestline
from crestline.testing import Spec
from local.engines import assert_same_rows, catalogue, rows_of, run, supports
from testing.by_sql import expected_table

SECOND = 1_000_000


def many(rows: int, partitions: int) -> pa.Table:
    """Scores with ties; partitions of one record and of many."""
    random = np.random.default_rng(3)
    owner = np.where(
        np.arange(rows) < partitions, np.arange(rows), random.integers(0, partitions, rows)
    )
    return pa.table(
        {
            "id": pa.array(np.arange(rows)),
            "ts": pa.array(np.sort(random.integers(0, 400 * SECOND, rows)), pa.timestamp("us")),
            "grp": pa.array(random.permutation(owner)),
            "val": pa.array(random.integers(0, 50, rows).astype(float)),
        }
    )


SPEC = Spec(2, "range_slide", 200 * SECOND, 100 * SECOND, "ts", partition=("grp",), select=("id",))


#: The yardstick recomputes every window of every partition: for it this is half a minute.
ALGORITHMS = [
    pytest.param(a.name, marks=[pytest.mark.stress] if a.name == "NAIVE" else [])
    for a in catalogue()
    if supports(a)(SPEC)
]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_hundred_thousand_partitions(algorithm: str) -> None:
    table = many(300_000, 100_000)
    start = time.perf_counter()
    got = run(SPEC, table, algorithm).to_arrow()
    took = time.perf_counter() - start
    assert_same_table(got, table)
    assert len(got.column("grp").unique()) == 100_000
    # A Python loop over the partitions would need minutes; compiling kernels needs some seconds.
    assert took < 60, f"{took:.1f} s"


def assert_same_table(got: pa.Table, stream: pa.Table) -> None:
    """Compared as Arrow, for there are half a million rows; shown as rows where they differ."""
    wanted = expected_table(SPEC, stream)
    plain = pa.table([got.column(n).cast(t) for n, t in types(wanted)], names=wanted.column_names)
    if not plain.equals(wanted):
        assert_same_rows(rows_of(plain), wanted.to_pylist(), SPEC.text())
    assert plain.num_rows > 400_000


def types(table: pa.Table) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in table.schema]


def test_a_hundred_thousand_partitions_in_rows() -> None:
    """Every partition counts for itself: three records each, told after the second."""
    partitions = 100_000
    owner = np.tile(np.random.default_rng(5).permutation(partitions), 3)
    scores = np.repeat([1.0, 3.0, 2.0], partitions)
    table = pa.table({"id": np.arange(3 * partitions), "grp": owner, "val": scores})
    got = run(Spec(1, "rows", 2, 2, partition=("grp",)), table).to_arrow()
    assert got.column("grp").to_pylist() == list(range(partitions))
    assert set(got.column("score").to_pylist()) == {3.0}
    assert set(got.column("window_end").to_pylist()) == {2}


@pytest.mark.stress
def test_a_million_partitions() -> None:
    table = many(3_000_000, 1_000_000)
    assert_same_table(run(SPEC, table).to_arrow(), table)


@pytest.mark.parametrize("emit", ["SNAPSHOTS", "CHANGES"])
def test_partitions_that_come_and_go_are_forgotten(emit: str) -> None:
    """New keys all the time, and now and then an old one again: the state stays small, and the
    results are those of a run that forgets nothing."""
    rows, living = 60_000, 50
    numbers = np.arange(rows)
    owner = np.where(numbers % 97 == 0, numbers % 7, numbers // living)
    table = pa.table(
        {
            "id": numbers,
            "ts": pa.array(numbers * 1_000, pa.timestamp("us")),
            "grp": owner,
            "val": (numbers * 7919 % 101).astype(float),
        }
    )
    spec = Spec(2, "range_slide", 2 * SECOND, SECOND, "ts", partition=("grp",), emit=emit)
    session = crestline.open(spec.text())
    got, sizes = [], []
    for start in range(0, rows, 5_000):
        got.append(session.push(table.slice(start, 5_000)))
        sizes.append(len(session.snapshot()))
    got.append(session.finish())
    assert max(sizes) < 2 * min(sizes)
    wanted = run(spec, table, "NAIVE").to_arrow()
    assert pa.concat_tables(got).equals(wanted)
