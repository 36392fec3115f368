"""Standing queries in one structure: each gives what it gives alone, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.certain.standing_operator import StandingTopK
from crestline.core.errors import RecordError, SourceError
from crestline.testing import Spec, assert_same_rows, expect, rows_of
from hostile import spiked
from local.engines import examples
from runtime.standing_cases import NEAR, SECOND, from_cells, near, points, stream, texts
from tiers import TIERS, in_tier


def rejected(table: pa.Table) -> set[tuple[int, str]]:
    return set(zip(table["row"].to_pylist(), table["reason"].to_pylist(), strict=True))


@examples(4)
@given(st.integers(0, 2**32), st.sampled_from(TIERS))
def test_each_query_gives_what_it_gives_alone(seed: int, tier: str) -> None:
    rng = np.random.default_rng(seed)
    timed = bool(rng.integers(2))
    table = stream(rng, int(rng.integers(1, 90)), shuffled=timed and rng.random() < 0.3)
    queries = texts(rng, timed) if rng.random() < 0.6 else from_cells(rng, timed)
    with in_tier(tier):
        results = crestline.run(";\n".join(queries.values()), {"s": table})
        alone = {name: crestline.run(text, {"s": table}) for name, text in queries.items()}
    for name, text in queries.items():
        assert results.of(name).to_pylist() == alone[name].to_arrow().to_pylist(), text
    everywhere = set.union(*(rejected(each.rejects) for each in alone.values()))
    assert rejected(results.rejects) == everywhere


@examples(2)
@given(st.integers(0, 2**32))
def test_sessions_with_queries_that_come_and_go(seed: int) -> None:
    """Each query gives what a session of its own gives, which is opened and closed with it."""
    rng = np.random.default_rng(seed)
    timed = bool(rng.integers(2))
    table = stream(rng, int(rng.integers(2, 80)))
    coming = texts(rng, timed, 5) if rng.random() < 0.6 else from_cells(rng, timed)
    names = list(coming)
    begun = names[: int(rng.integers(1, len(names) + 1))]
    session = crestline.open(";\n".join(coming[name] for name in begun), engine="local")
    alone = {name: crestline.open(coming[name], engine="local") for name in begun}
    got: dict[str, list[pa.Table]] = {name: [] for name in names}
    wanted: dict[str, list[pa.Table]] = {name: [] for name in names}
    waiting = names[len(begun) :]
    cuts = sorted({0, table.num_rows, *rng.integers(0, table.num_rows, 4).tolist()})
    for start, stop in zip(cuts, cuts[1:], strict=False):
        if start and waiting and rng.random() < 0.8:
            name = waiting.pop()
            session.add(coming[name])
            alone[name] = crestline.open(coming[name], engine="local")
        if start and len(alone) > 1 and rng.random() < 0.3:
            gone = str(rng.choice(list(alone)))
            session.remove(gone)
            del alone[gone]
        told = session.push(table.slice(start, stop - start))
        for name, own in alone.items():
            got[name].append(told.filter(pc.equal(told["query"], name)))
            wanted[name].append(own.push(table.slice(start, stop - start)))
        for operator in standing_in(session):
            operator._check()
        if rng.random() < 0.5:
            session = crestline.open(session.text, engine="local", state=session.snapshot())
    told = session.finish()
    for name, own in alone.items():
        got[name].append(told.filter(pc.equal(told["query"], name)))
        wanted[name].append(own.finish())
    for name in alone:
        rows = [row for part in wanted[name] for row in part.to_pylist()]
        columns = wanted[name][-1].column_names
        assert [row for part in got[name] for row in part.select(columns).to_pylist()] == rows


def standing_in(session: Any) -> Iterator[StandingTopK]:
    for run in session._runs.values():
        for bundle in run._bundles:
            operator = bundle.executor.candidates.operator
            if isinstance(operator, StandingTopK):
                yield operator


@examples(25)
@given(st.integers(0, 2**32))
def test_each_query_equals_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    timed = bool(rng.integers(2))
    table = stream(rng, int(rng.integers(1, 60)))
    weights = spiked(rng, np.round(rng.normal(0, 1, (3, 2)), 1), (0.0, -0.0, 1e99)).tolist()
    records = table.to_pylist()
    with np.errstate(all="ignore"):
        scored = [
            [r | {"ts": r["ts"], "val": plus(a, r["x"], b, r["y"])} for r in records]
            for a, b in weights
        ]
    times = [int(value) for value in table["ts"].cast(pa.int64()).to_pylist()]
    width = int(rng.integers(1, 6)) * (SECOND if timed else 1)
    specs = [
        Spec(
            int(rng.integers(1, 5)), "range" if timed else "rows",
            int(rng.integers(1, 5)) * width, None if timed else 1,
            "ts" if timed else None, emit=str(rng.choice(["SNAPSHOTS", "CHANGES"])),
        )
        for _ in weights
    ]  # fmt: skip
    queries = {
        f"q{i}": f"CREATE QUERY q{i} AS "
        + spec.text().replace("`val`", f"{a!r} * x + {b!r} * y").replace("(-", "(0-")
        for i, (spec, (a, b)) in enumerate(zip(specs, weights, strict=True))
    }
    results = crestline.run(";\n".join(queries.values()), {"s": table})
    assert results.by_query["q0"].sharing == 3
    for (name, text), spec, each in zip(queries.items(), specs, scored, strict=True):
        judged = [r | {"ts": time} for r, time in zip(each, times, strict=True)]
        rows = [row | {"query": "query"} for row in rows_of(results.of(name))]
        assert_same_rows(rows, expect(spec, judged).rows, text)


def plus(a: float, x: float | None, b: float, y: float | None) -> float | None:
    return None if x is None or y is None else float(np.float64(a) * x + np.float64(b) * y)


def test_queries_of_one_text_share_one_structure() -> None:
    results = crestline.run(near(5), {"s": points(60)})
    assert results.by_query["q0"].sharing == 5
    apart = crestline.run(
        ";".join(f"{q} USING RAPF" for q in near(5).split(";")), {"s": points(60)}
    )
    assert apart.by_query["q0"].sharing == 1
    assert [results.of(f"q{i}") for i in range(5)] == [apart.of(f"q{i}") for i in range(5)]


@pytest.mark.parametrize("using", ["CPM", "SNN"])
def test_queries_that_ask_for_it_share_one_grid_of_records(using: str) -> None:
    """Windows may be of any length; the shortest here is shorter than a buffer could be."""
    queries = {
        f"q{i}": NEAR.format(f"q{i}", rows, i / 10) + f" USING {using}"
        for i, rows in enumerate((3, 40, 400))
    }
    session = crestline.open(";".join(queries.values()), engine="local")
    alone = {name: crestline.open(text, engine="local") for name, text in queries.items()}
    for batch in (points(101)[:30], points(101)[30:]):
        told = session.push(batch)
        for name, each in alone.items():
            mine = told.filter(pc.equal(told["query"], name)).to_pylist()
            assert mine == each.push(batch).to_pylist(), name
    assert session.by_query["q0"].sharing == 3
    (operator,) = standing_in(session)
    assert operator.queries.options.algorithm == using


@pytest.mark.parametrize(
    ("change", "shares"),
    [
        (("TOP 2", "TOP 9"), True),
        (("ROWS 50", "ROWS 5000"), True),
        (("DISTANCE((x, y), (0.1, 0))", "3 * x - y"), True),
        (("DISTANCE((x, y), (0.1, 0))", "x * y"), False),
        (("DISTANCE((x, y), (0.1, 0))", "HAVERSINE(x, y, 1, 1)"), False),
        (("FROM s [ROWS 50]", "FROM s [ROWS 50] WHERE x > 0.2"), False),
        (("USING SNN", "USING CPM"), False),
        (("USING SNN", "USING SNN (attributes => FALSE)"), False),
        (("USING SNN", "USING RAPF"), False),
        (("USING SNN", ""), False),
    ],
)
def test_what_shares_one_grid_of_records(change: tuple[str, str], shares: bool) -> None:
    first, second = (NEAR.format(name, 50, x) + " USING SNN" for name, x in (("a", 0), ("b", 0.1)))
    text = f"{first};{second.replace(*change)}"
    results = crestline.run(text, {"s": points(60)})
    assert results.by_query["a"].sharing == (2 if shares else 1)
    assert ("shared by  a, b" in str(crestline.explain(text))) == shares


def test_a_query_that_comes_joins_the_structure_and_leaves_it() -> None:
    session = crestline.open(near(1), engine="local")
    session.push(points(5))
    for i in range(1, 4):
        session.add(NEAR.format(f"q{i}", 60, i))
    assert session.log[-1] == "q3 was added: it shares with q1, q2"
    session.remove("q2")
    session.push(points(5))
    assert [len(operator.queries) for operator in standing_in(session)] == [2]
    assert session.by_query["q3"].sharing == 2


def test_a_window_that_is_too_short_for_the_buffer_stands_apart() -> None:
    session = crestline.open(near(2), engine="local")
    session.push(points(30))
    session.add(NEAR.format("short", 9, 1))
    assert session.log[-1] == "short was added: it shares the scan only"
    results = crestline.run(near(2) + ";" + NEAR.format("short", 9, 1), {"s": points(60)})
    assert [results.by_query[name].sharing for name in ("q0", "q1", "short")] == [2, 2, 1]


@pytest.mark.parametrize(
    ("change", "shares"),
    [
        (("TOP 2 id", "TOP 2 id, x"), False),
        (("ROWS 50", "ROWS 50 SLIDE 5"), False),
        (("FROM s [ROWS 50]", "FROM s [ROWS 50] PARTITION BY g"), False),
        (("0.1, 0))", "0.1, 0)), x"), False),
        (("TOP 2", "TOP 9"), True),
        (("ROWS 50", "ROWS 70"), True),
        (("FROM s [ROWS 50]", "FROM s [ROWS 50] WHERE x > 0.2"), True),
        (("DISTANCE((x, y), (0.1, 0))", "3 * x - y"), True),
        (("DISTANCE((x, y), (0.1, 0))", "x * y"), False),
        (("DISTANCE((x, y), (0.1, 0))", "HAVERSINE(x, y, 1, 1)"), False),
        (("DISTANCE((x, y), (0.1, 0))", "g"), False),
    ],
)
def test_which_queries_share(change: tuple[str, str], shares: bool) -> None:
    first, second = near(2).split(";")
    assert change[0] in second
    records = [{**point, "g": point["id"] % 3} for point in points(60)]
    text = f"{first}; {second.replace(*change)}"
    results = crestline.run(text, {"s": records})
    assert (results.by_query["q0"].sharing == 2) == shares
    assert (len(crestline.explain(text).by_query["q0"].shares_with) == 1) == shares or change[
        1
    ] == "g"
    for name in ("q0", "q1"):
        alone = crestline.run(text.split(";")[int(name[1])], {"s": records})
        assert results.of(name).to_pylist() == alone.to_arrow().to_pylist()


def test_a_record_without_a_score_for_one_query_counts_for_the_others() -> None:
    text = (
        "CREATE QUERY a AS SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x * 2 - 1;"
        "CREATE QUERY b AS SELECT TOP 1 id FROM s [ROWS 2] ORDER BY ln(x);"
        "CREATE QUERY c AS SELECT TOP 1 id FROM s [ROWS 2] WHERE id > 2 ORDER BY x * 2 - 1;"
        "CREATE QUERY d AS SELECT TOP 1 id FROM s [ROWS 2] ORDER BY x * 2 - 2"
    )
    records = [{"id": i, "x": x} for i, x in enumerate((1.0, -1.0, 3.0, None, 2.0))]
    results = crestline.run(text, {"s": records})
    assert results.by_query["a"].sharing == 4
    assert [results.by_query[name].rows_filtered for name in "abcd"] == [0, 0, 3, 0]
    assert results.of("c")["id"].to_pylist() == [4]
    assert results.of("a")["id"].to_pylist() == [0, 1, 1, 4]
    assert results.of("b")["id"].to_pylist() == [0, 0, 4]
    assert results.of("b")["window_end"].to_pylist() == [1, 2, 3]
    assert rejected(results.rejects) == {(1, "score is NULL"), (3, "score is NULL")}
    with pytest.raises(RecordError, match="score is NULL"):
        crestline.run(text, {"s": records}, strict=True)


def test_scores_that_are_no_doubles_stay_exact() -> None:
    large = 2**53
    text = "CREATE QUERY {0} AS SELECT TOP 1 id FROM s [ROWS 9] ORDER BY n + {0} DESC EMIT CHANGES"
    text = ";".join(text.replace("{0}", f"q{i}", 1).replace("{0}", str(i)) for i in range(3))
    results = crestline.run(text, {"s": [{"id": i, "n": large + i} for i in range(3)]})
    assert [results.by_query[f"q{i}"].sharing for i in range(3)] == [1, 1, 1]
    assert results.of("q0")["id"].to_pylist() == [0, 0, 1, 1, 2]


def test_the_grid_is_laid_around_the_records() -> None:
    """A first push of one record tells little of where the others will lie."""
    session = crestline.open(near(20, 4000), engine="local")
    session.push({"id": 0, "x": 5000.0, "y": 1.0})
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 9000))
    session.push(pa.table({"id": range(9000), "x": x, "y": y}))
    (operator,) = standing_in(session)
    before = operator.queries.touched
    session.push(pa.table({"id": range(1000), "x": x[:1000], "y": y[:1000]}))
    assert operator.queries.resolution > 1
    assert operator.queries.touched - before < 0.5 * 2 * 20 * 1000


def test_columns_that_widen() -> None:
    """Whole numbers at first, as the first lines of a file often are."""
    batches = [pa.table({"id": [i], "x": [x], "y": [2]}) for i, x in enumerate((1, 3, 2.5, 2**60))]
    session = crestline.open(near(3), engine="local")
    alone = [crestline.open(text, engine="local") for text in near(3).split(";")]
    got = [session.push(batch) for batch in batches]
    assert [len(operator.queries) for operator in standing_in(session)] == [3]
    for i, own in enumerate(alone):
        rows = [row for batch in batches for row in own.push(batch).to_pylist()]
        told = [row for table in got for row in table.to_pylist() if row["query"] == f"q{i}"]
        assert told == rows


def test_a_condition_must_be_one() -> None:
    text = near(3).replace("ORDER", "WHERE id ORDER", 1)
    with pytest.raises(SourceError, match="id is of type int64, but a condition is needed"):
        crestline.run(text, {"s": points(3)})


@pytest.mark.parametrize("window", ["ROWS 600", "RANGE 600 SECONDS ON ts"])
@pytest.mark.parametrize("ranking", ["abs(x - {0}) * y", "DISTANCE((x, y), ({0}, {0}))"])
def test_windows_that_are_long_enough_for_filters(window: str, ranking: str) -> None:
    rng = np.random.default_rng(7)
    x, y = rng.random((2, 1500))
    times = pa.array(np.arange(1500) // 2 * SECOND).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"id": np.arange(1500), "x": x, "y": y, "ts": times})
    texts = [
        f"CREATE QUERY q{i} AS SELECT TOP 2 id FROM s [{window}] ORDER BY {ranking.format(i / 5)}"
        " EMIT CHANGES"
        for i in range(5)
    ]
    results = crestline.run(";".join(texts), {"s": table})
    assert results.by_query["q0"].sharing == 5
    for i, text in enumerate(texts):
        assert results.of(f"q{i}").equals(crestline.run(text, {"s": table}).to_arrow())
