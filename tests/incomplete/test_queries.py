"""COMBINE through the whole engine, judged from complete lists of records."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crestline
from crestline import sources
from crestline.core.errors import PlanError, RecordError
from incomplete.asking import (
    EXACT,
    a_spec,
    assert_judged,
    assert_same,
    declared,
    in_place,
    records_for,
    rejects_of,
    rows_of,
    run,
    table_of,
)
from incomplete.judge import Spec, expect

MANY = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 1
each_algorithm = pytest.mark.parametrize("using", EXACT)


@each_algorithm
def test_equals_the_judge(using: str) -> None:
    for seed in range(150 * MANY):
        rng = np.random.default_rng([seed, 1])
        spec = declared(a_spec(rng))
        records = records_for(spec, rng, int(rng.integers(1, 90)))
        answer = run(spec, table_of(records), using)
        assert_judged(answer, expect(spec, records), f"seed {seed}: {spec.text(using)}")


@each_algorithm
def test_many_batches_and_saved_states_equal_one_batch(using: str) -> None:
    for seed in range(60 * MANY):
        rng = np.random.default_rng([seed, 2])
        spec = declared(a_spec(rng))
        records = records_for(spec, rng, int(rng.integers(1, 70)))
        table, query = table_of(records), spec.text(using)
        session = crestline.open(query, engine="local")
        got: list[Any] = []
        rejects: dict[int, str] = {}
        cuts = sorted({0, len(records), *rng.integers(0, len(records) + 1, 4).tolist()})
        for start, stop in zip(cuts, cuts[1:], strict=False):
            got += rows_of(session.push(table.slice(start, stop - start)))
            due = expect(spec, records[:stop], finished=False)
            assert_same(in_place(got), due.rows, f"seed {seed}, after {stop}: {query}")
            if rng.random() < 0.5:
                rejects |= rejects_of(session)
                session = crestline.open(query, engine="local", state=session.snapshot())
        got += rows_of(session.finish())
        wanted = expect(spec, records, following=True)
        assert_same(in_place(got), wanted.rows, f"seed {seed}: {query}")
        assert rejects | rejects_of(session) == wanted.rejects, f"seed {seed}: {query}"


@each_algorithm
def test_disorder_within_the_lateness_changes_nothing(using: str) -> None:
    for seed in range(30 * MANY):
        rng = np.random.default_rng([seed, 3])
        spec = replace(declared(a_spec(rng)), timed=True)
        if spec.width is None and spec.counted:
            continue
        records = records_for(spec, rng, 50, bad=0.0)
        records.sort(key=lambda record: record["ts"])
        spec = replace(spec, lateness=10)
        keys = np.array([record["ts"] for record in records]) + rng.integers(0, 10, len(records))
        shuffled = [records[i] for i in np.argsort(keys, kind="stable")]
        first = rows_of(run(spec, table_of(records), using).to_arrow())
        second = rows_of(run(spec, table_of(shuffled), using).to_arrow())
        assert_same(second, first, f"seed {seed}: {spec.text(using)}")


@each_algorithm
def test_without_a_lateness_every_record_counts(
    using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any order, in batches of which something is known or nothing."""
    monkeypatch.setattr(sources, "BATCH_ROWS", 7)
    for seed in range(40 * MANY):
        rng = np.random.default_rng([seed, 6])
        spec = replace(declared(a_spec(rng)), timed=True, lateness=None)
        if spec.width is None and spec.counted:
            continue
        records = records_for(spec, rng, 50)
        if rng.random() < 0.7:
            rng.shuffle(records)  # type: ignore[arg-type]
        table = table_of(records)
        data = table if rng.random() < 0.5 else iter(table.to_batches(max_chunksize=5))
        answer = run(spec, data, using)
        assert_judged(answer, expect(spec, records), f"seed {seed}: {spec.text(using)}")


@each_algorithm
def test_changes_reproduce_the_snapshots(using: str) -> None:
    for seed in range(40 * MANY):
        rng = np.random.default_rng([seed, 4])
        spec = declared(a_spec(rng))
        records = records_for(spec, rng, 60)
        wanted: dict[Any, list[Any]] = {}
        numbers = ("obj", "score", "upper", "certain")
        for row in expect(spec, records).rows:
            cell = row["window_end"], row.get("part", 0)
            wanted.setdefault(cell, []).append(tuple(row[name] for name in numbers))
        told = run(replace(spec, emit="CHANGES"), table_of(records), using)
        standing: dict[int, dict[int, Any]] = {}
        got: dict[Any, list[Any]] = {}
        changes = rows_of(told.to_arrow())
        cells = sorted({*wanted, *((row["at"], row.get("part", 0)) for row in changes)})
        for cell in cells:
            shown = standing.setdefault(cell[1], {})
            here = [row for row in changes if (row["at"], row.get("part", 0)) == cell]
            for row in here:
                if row["previous_rank"] is not None:
                    del shown[row["previous_rank"]]
            for row in here:
                if row["rank"] is not None:
                    shown[row["rank"]] = tuple(row[name] for name in numbers)
            if shown:
                got[cell] = [shown[rank] for rank in sorted(shown)]
        shown_then = {cell: top for cell, top in got.items() if cell in wanted}
        assert shown_then == wanted, f"seed {seed}: {spec.text(using)}"


def test_objects_of_any_type() -> None:
    """Numbers, times, texts, bytes and decimals are told apart, and put in their order."""
    columns = {
        "int": pa.array([3, -1, 10, 3]),
        "unsigned": pa.array([3, 2**63 + 5, 10, 3], pa.uint64()),
        "text": pa.array(["b", "ab", "b\0", "b"]),
        "long": pa.array(["x" * 30 + "b", "x" * 30 + "a", "x" * 29, "x" * 30 + "b"]),
        "bytes": pa.array([b"b", b"\xff", b"", b"b"]),
        "float": pa.array([0.5, -0.0, 1e300, 0.5]),
        "time": pa.array([5, 4, 6, 5], pa.timestamp("us")),
        "day": pa.array([5, 4, 6, 5], pa.date32()),
        "flag": pa.array([True, False, True, True]),
        "coded": pa.array(["b", "a", "c", "b"]).dictionary_encode(),
    }
    for name, objects in columns.items():
        table = pa.table({"o": objects, "s": ["a", "a", "b", "b"], "v": [1.0, 1, 1, 2]})
        query = "SELECT TOP 9 o FROM t [ROWS 4] COMBINE SUM(v) ACROSS s IN ('a', 'b') OBJECT o"
        for using in EXACT:
            answer = crestline.run(f"{query} USING {using}", {"t": table}, engine="local")
            last = [row for row in answer.to_arrow().to_pylist() if row["window_end"] == 4]
            if name != "flag":
                assert [row["score"] for row in last] == [3.0, 1.0, 1.0], (name, using)
                assert last[0]["o"] == objects[0].as_py(), (name, using)
                assert answer.metrics.rejected == {}, (name, using)
            else:
                assert answer.metrics.rejected == {"repeat": 1}


def test_ties_of_names_that_begin_alike() -> None:
    names = [f"192.168.100.{i}" for i in range(20)]
    table = pa.table(
        {
            "ts": pa.array([1_000_000] * 20, pa.timestamp("us")),
            "o": names[::-1],
            "s": ["a"] * 20,
            "v": [1.0] * 20,
        }  # fmt: skip
    )
    query = (
        "SELECT TOP 3 o FROM t [RANGE 5 SECONDS SLIDE 5 SECONDS ON ts]"
        " COMBINE SUM(v) ACROSS s IN ('a', 'b') OBJECT o VALUES BETWEEN 0 AND 1"
    )
    for using in EXACT:
        answer = crestline.run(f"{query} USING {using}", {"t": table}, engine="local").to_arrow()
        assert answer.column("o").to_pylist() == sorted(names)[:3], using


def test_strict_refuses_a_repeat() -> None:
    table = pa.table({"o": [1, 1], "s": ["a", "a"], "v": [1.0, 2.0]})
    query = "SELECT TOP 1 o FROM t [ROWS 4] COMBINE SUM(v) ACROSS s OBJECT o"
    with pytest.raises(RecordError, match="repeat"):
        crestline.run(query, {"t": table}, engine="local", strict=True)


@pytest.mark.parametrize("lateness", [None, 0])
def test_several_inputs_equal_one_table(
    lateness: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order; without a lateness in any order."""
    monkeypatch.setattr(sources, "BATCH_ROWS", 6)
    for seed in range(25 * MANY):
        rng = np.random.default_rng([seed, 5])
        spec = replace(declared(a_spec(rng)), timed=True, lateness=lateness, partitioned=False)
        if len(spec.streams or ()) < 2 or (spec.width is None and spec.counted):
            continue
        assert spec.streams is not None
        records = records_for(spec, rng, 60, bad=0.0)
        records.sort(key=lambda record: record["ts"])
        if lateness is None and rng.random() < 0.7:
            rng.shuffle(records)  # type: ignore[arg-type]
        inputs = {
            name: table_of([r for r in records if r["src"] == name]).drop_columns(["src"])
            for name in spec.streams
        }
        text = spec.text("EAA", stream=", ".join(spec.streams))
        apart = crestline.run(text, inputs, engine="local")
        whole = run(spec, table_of(records), "EAA")
        about = f"seed {seed}: {text}"
        assert_same(rows_of(apart.to_arrow()), rows_of(whole.to_arrow()), about)
        assert apart.metrics.rejected == whole.metrics.rejected, about


@pytest.mark.parametrize(
    ("clauses", "complaint"),
    [
        ("WITH PROBABILITY v", "COMBINE and WITH PROBABILITY"),
        ("KEY (o)", "the object is the key"),
        ("LATENESS 1 SECOND LATE REVISE", "LATE REVISE"),
        ("FREQUENCY 1 SECOND", "FREQUENCY"),
        ("APPROXIMATE ERROR 0.1", "ERROR is for PA"),
        ("USING MINTOPK", "MINTOPK knows nothing of objects"),
        ("USING BS", "BS knows nothing of objects"),
        ("APPROXIMATE USING EAA", "use CORRELATED"),
        ("USING CORRELATED", "needs to know the streams"),
        ("USING SLA (trusting => TRUE)", "no option trusting"),
        ("REPEATS SUM AT MOST 2 USING EAA (once => TRUE)", "once means"),
    ],
)
def test_what_contradicts_combine_is_refused(clauses: str, complaint: str) -> None:
    query = f"SELECT TOP 1 o FROM t [RANGE 9 s ON ts] COMBINE SUM(v) ACROSS s OBJECT o {clauses}"
    with pytest.raises(PlanError, match=complaint):
        crestline.open(query, engine="local")


def test_other_algorithms_of_the_family_need_combine() -> None:
    with pytest.raises(PlanError, match="needs COMBINE"):
        crestline.open("SELECT TOP 1 o FROM t [ROWS 9] ORDER BY v DESC USING EAA", engine="local")


def test_kept_is_less_than_the_window() -> None:
    rng = np.random.default_rng(7)
    count = 20_000
    order = np.arange(count)
    sources = np.array(["a", "b"])[order % 2]
    table = pa.table({"o": order // 2, "s": sources, "v": rng.random(count)})
    spec = Spec(5, False, 4000, 1000, streams=("a", "b"), high=1.0)
    query = spec.text("EAA (once => TRUE)").replace("src", "s").replace("obj", "o")
    query = query.replace("val", "v")
    metrics = crestline.run(query, {"s": table}, engine="local").metrics
    assert 5 < metrics.kept < 2500
    assert metrics.window_records_peak == 4000


def test_values_are_forgotten_before_their_step_is_due() -> None:
    """A long slide, of which far fewer values are kept than come in; and a gap before the next."""
    rng = np.random.default_rng(8)
    count = 30_000
    order = np.arange(count)
    seconds = order // 1000 + np.where(order < 20_000, 0, 1_000_000)
    table = pa.table(
        {
            "ts": pa.array(seconds * 1_000_000).cast(pa.timestamp("us")),
            "o": order // 2,
            "s": np.array(["a", "b"])[order % 2],
            "v": rng.random(count),
        }  # fmt: skip
    )
    query = (
        "SELECT TOP 3 o FROM t [RANGE 1 MINUTE SLIDE 30 SECONDS ON ts]"
        " COMBINE SUM(v) ACROSS s IN ('a', 'b') OBJECT o VALUES BETWEEN 0 AND 1"
    )
    answers = {}
    for using in ("EAA", "SLA"):
        session = crestline.open(f"{query} USING {using}", engine="local")
        rows = [session.push(table.slice(start, 5000)) for start in range(0, count, 5000)]
        answers[using] = pa.concat_tables([*rows, session.finish()])
        if using == "EAA":
            assert session.metrics.kept_peak < 15_000
    assert answers["EAA"].equals(answers["SLA"])
    assert answers["EAA"].num_rows == 9


@pytest.mark.parametrize(
    ("query", "records"),
    [
        (
            "SELECT TOP 1 obj FROM s [RANGE 23 us ON ts] COMBINE WEIGHTED_SUM(val, (c => 1.0,"
            " d => 0.0)) ACROSS src IN ('c', 'd') OBJECT obj",
            [(6, "b", "c", -2, 0), (6, "a", "c", 0, 0), (12, "b", "d", 4, 0),
             (29, "a", "d", -2, 0)],
        ),
        (
            "SELECT TOP 1 obj FROM s [RANGE 13 us SLIDE 6 us ON ts] PARTITION BY part COMBINE"
            " SUM(val) ACROSS src IN ('a') OBJECT obj VALUES BETWEEN 0 AND 8 REPEATS AVG AT MOST 3",
            [(-1, "f1", "a", 4, 1), (0, "f0", "a", 1, 1), (3, "f1", "a", 6, 1),
             (4, "f0", "a", 0, 1), (9, "f0", "a", 6, 1), (14, "f0", "a", 6, 2),
             (234, "f1", "a", 4, 1)],
        ),
    ],
)  # fmt: skip
def test_forgetting_a_value_does_not_raise_a_score(query: str, records: list[Any]) -> None:
    """An object may score less with a value than without: what was forgotten must not be shown."""
    names = ("ts", "obj", "src", "val", "part")
    table = table_of([dict(zip(names, record, strict=True)) for record in records])
    answers = []
    for using in ("NAIVE", "EAA"):
        session = crestline.open(f"{query} USING {using}", engine="local")
        got = []
        for row in range(len(records)):
            got += rows_of(session.push(table.slice(row, 1)))
            state = session.snapshot()  # forgets all that it can
            session = crestline.open(f"{query} USING {using}", engine="local", state=state)
        answers.append(in_place(got + rows_of(session.finish())))
    assert_same(answers[1], answers[0], query)
