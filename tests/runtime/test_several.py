"""Several queries in one text or session: each answer is what the query gives alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline.core.errors import PlanError, SourceError, StateError
from crestline.testing import Row, Spec, expect
from hostile import PROBABILITIES, spiked
from local.engines import assert_same_rows, examples, in_place, rejects_of, rows_of, run_heeding
from strategies import Case, cases, splits

Draw = st.DataObject
BY_TIME = ("range_slide", "range", "unbounded_time")


def siblings(draw: Any, case: Case) -> dict[str, Spec]:
    """Queries that differ from the case's in k, window, slide and what they emit."""
    spec = case.spec
    scale = case.unit if spec.kind in BY_TIME else 1
    found = {"q0": replace(spec, name=None)}
    for number in range(1, draw(st.integers(2, 6))):
        found[f"q{number}"] = replace(
            found["q0"],
            k=draw(st.sampled_from((1, 2, 3, 5, 100))),
            width=draw(st.integers(1, 12)) * scale if spec.width else 0,
            slide=spec.slide if spec.kind == "range" else draw(st.integers(1, 8)) * scale,
            emit=draw(st.sampled_from(("SNAPSHOTS", "CHANGES"))),
        )
    return found


def text_of(specs: dict[str, Spec]) -> str:
    return ";\n".join(replace(spec, name=name).text() for name, spec in specs.items())


def of_query(rows: list[Row], name: str, spec: Spec) -> list[Row]:
    """One query's rows, without the columns that only others have."""
    head = ("at", "change", "rank", "previous_rank")
    head = head if spec.emit == "CHANGES" else ("window_start", "window_end", "rank")
    names = ("query", *head, *spec.partition, *spec.select, "score")
    return [{n: row[n] for n in names if n in row} for row in rows if row["query"] == name]


def wanted_rows(spec: Spec, name: str, records: list[Any], **how: Any) -> list[Row]:
    return expect(replace(spec, name=name), records, **how).rows


@examples(120)
@given(st.data())
def test_together_they_equal_the_oracle(data: Draw) -> None:
    case = data.draw(cases())
    specs = siblings(data.draw, case)
    results, _ = run_heeding(text_of(specs), case.table)
    for name, spec in specs.items():
        rows = rows_of(results.of(name))
        assert_same_rows(rows, wanted_rows(spec, name, case.records), text_of(specs))
        assert results.by_query[name].rows_in == len(case.records)
    if all(spec.slide > 1 for spec in specs.values()) and case.spec.kind != "range":
        assert results.metrics.sharing == len(specs)


@examples(80)
@given(st.data())
def test_pushed_and_resumed_they_equal_the_oracle(data: Draw) -> None:
    case = data.draw(cases())
    specs = siblings(data.draw, case)
    session = crestline.open(text_of(specs))
    got: list[Row] = []
    for start, end in data.draw(splits(len(case.records))):
        got += rows_of(session.push(case.table.slice(start, end - start)))
        if data.draw(st.booleans()):
            session = crestline.open(text_of(specs), state=session.snapshot())
        for name, spec in specs.items():
            due = wanted_rows(spec, name, case.records[:end], finished=False)
            mine = in_place(spec, of_query(got, name, spec))
            assert_same_rows(mine, due, f"after {end} records of {name}:\n{text_of(specs)}")
    got += rows_of(session.finish())
    for name, spec in specs.items():
        wanted = wanted_rows(spec, name, case.records, following=True)
        assert_same_rows(in_place(spec, of_query(got, name, spec)), wanted, text_of(specs))


# -- queries that come and go ---------------------------------------------------------------------


def trades(seed: int, count: int = 400) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(count),
            "x": spiked(rng, rng.integers(0, 40, count).astype(np.float64)),
            "p": spiked(rng, rng.integers(1, 9, count) / 8, PROBABILITIES),
            "v": pa.array(rng.choice(["a", "b", "c"], count)),
            "ts": pa.array(np.cumsum(rng.integers(0, 2_000_000, count)), pa.timestamp("us", "UTC")),
        }
    )


def some_query(rng: np.random.Generator, clauses: str = "", kind: int = 0) -> str:
    """A query on time; of kind 1 with FREQUENCY, of kind 2 uncertain with FREQUENCY."""
    window, slide, k = (int(rng.integers(1, top)) for top in (60, 12, 6))
    if "PROBABILITY" in clauses:  # uncertain queries share equally long windows only
        window = 20
    emit = "EMIT CHANGES" if rng.random() < 0.5 else ""
    step = f" SLIDE {slide} SECONDS" if kind == 0 else ""
    often = f"FREQUENCY {slide} SECONDS" if kind else ""
    doubt = ""
    if kind == 2:
        window, doubt = (
            20,
            "WITH PROBABILITY p "
            + str(rng.choice(["", "AS U_KRANKS", "AS PT_K(0.3)", "AS U_TOPK"])),
        )
    return (
        f"SELECT TOP {k} id, x FROM s [RANGE {window} SECONDS{step} ON ts] {clauses} {doubt}"
        f" ORDER BY x DESC {often} {emit}"
    )


def said_to_begin(log: list[str], name: str) -> Any:
    """From when on a query sees records, as the session says."""
    said = [line for line in log if line.startswith(f"{name} was added") and " from " in line]
    if not said:
        return None
    return pa.scalar(said[0].split(" from ")[1].split(" on")[0]).cast(pa.timestamp("us", "UTC"))


def one_query(tables: list[pa.Table], name: str, like: pa.Table) -> pa.Table:
    mine = [table.filter(pc.equal(table["query"], name)) for table in tables if table.num_columns]
    together = pa.concat_tables(mine, promote_options="permissive")
    return together.select(like.column_names).cast(like.schema)


@pytest.mark.parametrize("doubt", ["", "WITH PROBABILITY p"])
@pytest.mark.parametrize("seed", range(6))
def test_queries_come_and_go_as_if_each_were_alone(seed: int, doubt: str) -> None:
    rng, table = np.random.default_rng(seed), trades(seed)
    clauses = ("PARTITION BY v " if seed % 2 else "") + doubt
    session = crestline.open(some_query(rng, clauses))
    begun: dict[str, int] = {"query": 0}
    told = []
    for start in range(0, len(table), 50):
        told.append(session.push(table.slice(start, 50)))
        if rng.random() < 0.7:
            (name,) = session.add(some_query(rng, clauses), name=f"n{start}")
            begun[name] = start + 50
        if rng.random() < 0.3 and len(session.queries) > 1:
            gone = str(rng.choice(list(session.queries)))
            session.remove(gone)
            del begun[gone]
        if rng.random() < 0.3:
            session = crestline.open(session.text, state=session.snapshot())
    told.append(session.finish())
    assert begun.keys() == session.queries.keys()
    for name, first in begun.items():
        seen = table.slice(first)
        begins = said_to_begin(session.log, name)
        assert first == 0 or begins is not None
        if begins is not None:
            seen = seen.filter(pc.greater_equal(seen["ts"], begins))
        alone = crestline.run(session.queries[name], {"s": seen}).to_arrow()
        expected = alone.drop_columns(["query"])
        assert one_query(told, name, expected).equals(expected), (seed, name)


@pytest.mark.parametrize("doubt", ["", "WITH PROBABILITY p"])
@pytest.mark.parametrize("using", ["DP", "GREEDY", "INCO", "IN", "NS"])
def test_no_result_is_older_than_its_frequency(using: str, doubt: str) -> None:
    """Also while queries come and go; no window is ever empty here, so every result is seen."""
    rng, table = np.random.default_rng(len(using)), trades(1)
    often: dict[str, float] = {}

    def text(name: str) -> str:
        often[name] = float(rng.choice([4, 6, 10, 15]))  # with few moments in common
        return (
            f"CREATE QUERY {name} AS SELECT TOP {rng.integers(1, 9)} id FROM s"
            f" [RANGE 20 SECONDS ON ts] {doubt} ORDER BY x DESC"
            f" FREQUENCY {often[name]:.0f} SECONDS USING {using}"
        )

    session = crestline.open(";".join(text(f"q{n}") for n in range(4)))
    from_when = dict.fromkeys(often, table["ts"][0].as_py())
    until = {}
    told = []
    for start in range(0, len(table), 25):
        told.append(session.push(table.slice(start, 25)))
        now = table["ts"][start + 24].as_py()
        if start in (100, 125, 200):
            (name,) = session.add(text(f"n{start}"))
            begins = said_to_begin(session.log, name).as_py()
            assert begins > now
            # Until its first record comes, its window is empty and no result is shown.
            from_when[name] = min(at for at in table["ts"].to_pylist() if at >= begins)
            session = crestline.open(session.text, state=session.snapshot())
        if start in (150, 200, 250):
            gone = next(iter(session.queries))
            session.remove(gone)
            until[gone] = now
    assert sum(line.startswith("replanned at") for line in session.log) >= 2
    rows = pa.concat_tables(told)
    for name, frequency in often.items():
        mine = rows.filter(pc.equal(rows["query"], name))
        moments = sorted(set(mine["window_end"].to_pylist()))
        assert moments[0] > from_when[name]
        assert len(moments) > 3
        marks = [from_when[name], *moments, until.get(name, now)]
        waits = [(b - a).total_seconds() for a, b in zip(marks, marks[1:], strict=False)]
        assert max(waits) <= frequency, (name, frequency, max(waits))


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("using", ["", "USING GREEDY", "USING INCO", "USING IN", "USING NS"])
def test_with_frequency_each_answer_is_that_of_its_moment(kind: int, using: str) -> None:
    rng, table = np.random.default_rng(kind), trades(kind)
    texts = [some_query(rng, "PARTITION BY v", kind).replace("EMIT CHANGES", "") for _ in range(5)]
    results = crestline.run(
        ";".join(f"CREATE QUERY q{n} AS {text} {using}" for n, text in enumerate(texts)),
        {"s": table},
    )
    for number, text in enumerate(texts):
        # The same window at every second, of which the plan has picked some.
        often = text.split("FREQUENCY")[0].replace(" ON ts]", " SLIDE 1 SECOND ON ts]")
        every = crestline.run(often, {"s": table}).to_arrow().drop_columns(["query"])
        mine = results.of(f"q{number}").drop_columns(["query"])
        # A stream's last result may come later than the first second after its last event.
        mine = mine.filter(pc.less_equal(mine["window_end"], pc.max(every["window_end"])))
        assert mine.num_rows > 0
        picked = every.filter(pc.is_in(every["window_end"], value_set=mine["window_end"].unique()))
        assert picked.equals(mine), (number, text)


@pytest.mark.parametrize("emit", ["", "EMIT CHANGES"])
@pytest.mark.parametrize("doubt", ["", "WITH PROBABILITY p"])
def test_with_frequency_a_gap_costs_nothing_and_order_within_the_lateness_changes_nothing(
    doubt: str, emit: str
) -> None:
    rng, table = np.random.default_rng(5), trades(5, 120)
    year = 365 * 86_400_000_000
    times = np.asarray(table["ts"].cast(pa.int64())) + year * (np.arange(120) >= 60)
    table = table.set_column(4, "ts", pa.array(times, pa.timestamp("us", "UTC")))
    text = ";".join(
        f"CREATE QUERY q{n} AS SELECT TOP {n + 1} id, x FROM s [RANGE {w} SECONDS ON ts] {doubt}"
        f" ORDER BY x DESC LATENESS 9 SECONDS FREQUENCY {f} SECONDS {emit}"
        for n, (w, f) in enumerate(((20, 1), (20, 3), (20, 4)))
    )
    ordered = crestline.run(text, {"s": table})
    # Held up by no more than the lateness, they arrive in another order.
    arrival = np.argsort(times + rng.integers(0, 9_000_000, 120), kind="stable")
    shuffled = crestline.run(text, {"s": table.take(arrival)})
    assert shuffled.metrics.rows_late == 0
    for name in ("q0", "q1", "q2"):
        rows = ordered.of(name)
        assert shuffled.of(name).equals(rows)
        end = "at" if emit else "window_end"
        assert 10 < len(set(rows[end].to_pylist())) < 300
        if emit:  # by the end of the first stretch all have left
            first = rows.filter(pc.less(rows["at"], pa.scalar(year // 2, rows["at"].type)))
            gone = pc.equal(first["change"], "leave")
            assert pc.sum(gone).as_py() == pc.sum(pc.equal(first["change"], "enter")).as_py()


# -- streams, rejects, errors ---------------------------------------------------------------------

TOP = "SELECT TOP 2 id, x FROM s [RANGE {} SECONDS SLIDE 5 SECONDS ON ts] {} ORDER BY x DESC"


def test_a_stream_that_can_be_read_only_once_serves_all_queries() -> None:
    table = trades(1)
    text = ";".join([TOP.format(10, ""), TOP.format(20, "WHERE x > 5"), TOP.format(20, "")])
    once = crestline.run(text, {"s": iter(table.to_batches(max_chunksize=64))})
    for number in (1, 2, 3):
        alone = crestline.run(text.split(";")[number - 1], {"s": table}).to_arrow()
        mine = once.of(f"query_{number}")
        assert mine.drop_columns(["query"]).equals(alone.drop_columns(["query"]))
    assert [m.sharing for m in once.by_query.values()] == [2, 1, 2]


def test_queries_with_scores_of_their_own_share_the_expressions() -> None:
    table = trades(4, 80)
    window = "SELECT TOP 2 id, x FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS ON ts]"
    texts = [
        f"{window} ORDER BY {score} DESC" for score in ("x * 2", "x + p", "p * 3 - x", "ABS(x)")
    ]
    together = crestline.run(";".join(texts), {"s": table})
    for number, text in enumerate(texts, 1):
        alone = crestline.run(text, {"s": table}).to_arrow().drop_columns(["query"])
        assert together.of(f"query_{number}").drop_columns(["query"]).equals(alone), text


def test_a_bad_record_is_told_once_by_queries_that_share() -> None:
    table = trades(1, 50)
    bad = table.set_column(1, "x", pa.array([None, *table["x"].to_pylist()[1:]]))
    results = crestline.run(";".join(TOP.format(w, "") for w in (10, 20)), {"s": bad})
    assert rejects_of(results) == [(0, "x", "score is NULL")]
    assert [m.rejected for m in results.by_query.values()] == [{"score is NULL": 1}] * 2


def test_queries_on_two_streams_in_one_session() -> None:
    table = trades(2, 60)
    other = TOP.format(10, "").replace("FROM s", "FROM other")
    session = crestline.open(f"{TOP.format(10, '')}; {other}")
    with pytest.raises(SourceError, match="say which stream this is"):
        session.push(table)
    with pytest.raises(SourceError, match="no query reads the stream 'nobody'"):
        session.push(table, stream="nobody")
    session.push(table, stream="s")
    session.push(table.slice(0, 30), stream="OTHER")
    session = crestline.open(session.text, state=session.snapshot())
    rows = session.finish()
    assert set(rows["query"].to_pylist()) == {"query_1", "query_2"}
    assert [m.rows_in for m in session.by_query.values()] == [60, 30]


def test_names_are_not_given_twice() -> None:
    session = crestline.open(TOP.format(10, ""))
    session.push(trades(3, 20))
    assert session.add(TOP.format(20, "")) == ["query_2"]
    assert session.add(TOP.format(30, "")) == ["query_3"]
    with pytest.raises(PlanError, match="two queries are called query_2"):
        session.add(TOP.format(20, ""), name="query_2")
    with pytest.raises(PlanError, match="cannot all be called both"):
        session.add(f"{TOP.format(1, '')};{TOP.format(2, '')}", name="both")
    with pytest.raises(PlanError, match="there is no query nobody: .* query, query_2, query_3"):
        session.remove("nobody")
    for name in list(session.queries):
        session.remove(name)
    assert session.queries == {}


def test_a_state_is_resumed_with_its_own_queries_only() -> None:
    session = crestline.open(";".join(TOP.format(w, "") for w in (10, 20)))
    session.push(trades(3, 20))
    state = session.snapshot()
    with pytest.raises(StateError, match="belongs to other queries"):
        crestline.open(TOP.format(10, ""), state=state)
    with pytest.raises(StateError, match="belongs to another query"):
        crestline.open(";".join(TOP.format(w, "") for w in (10, 21)), state=state)
    with pytest.raises(StateError, match="knows nothing of query_3"):
        crestline.open(";".join(TOP.format(w, "") for w in (10, 20, 30)), state=state)
