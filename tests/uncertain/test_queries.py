"""Queries on uncertain streams in one process: windows, bad records, ties, changes, lateness,
sessions, sums, rules that promise too much, and the icebergs."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import crestline
from crestline.testing import Kind, Spec
from local.engines import ask, rows_of
from uncertain.asking import (
    ALL_KINDS,
    ASKED,
    SCHEMA,
    TIMED_KINDS,
    Question,
    Row,
    answer,
    apply,
    assert_right,
    by_cell,
    random_records,
    run,
    to_table,
    windows,
)
from uncertain.cases import SECOND, cases, each_algorithm, rounds


@each_algorithm
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("count", [2, pytest.param(30, marks=pytest.mark.stress)])
def test_every_kind_of_window(using: str, kind: Kind, count: int) -> None:
    for asked in ASKED:
        for question, records, _ in cases("windows", kind, asked, count):
            assert_right(question, answer(question, records, using), windows(question, records))


@pytest.mark.parametrize("emit", ["SNAPSHOTS", "CHANGES"])
def test_columns(emit: Any) -> None:
    """The probability stands behind the score, before the revision."""
    spec = Spec(2, "range_slide", 10 * SECOND, 10 * SECOND, "ts", partition=("grp",), emit=emit)
    table = run(Question(spec), random_records(random.Random(1), 9)).to_arrow()
    ranks = ["change", "rank", "previous_rank"] if emit == "CHANGES" else ["rank"]
    head = ["at"] if emit == "CHANGES" else ["window_start", "window_end"]
    assert table.column_names == ["query", *head, "grp", *ranks, "id", "score", "probability"]
    assert table.schema.field("probability").type == pa.float64()
    if emit == "SNAPSHOTS":
        revised = run(Question(Spec(**{**vars(spec), "late": "REVISE"})), []).to_arrow()
        assert revised.column_names[-3:] == ["score", "probability", "revision"]


def test_no_record_no_row() -> None:
    for asked in ASKED:
        question = Question(Spec(2, "rows", 3, 1), asked)
        assert answer(question, []) == []


def test_nobody_passes_the_threshold() -> None:
    records = [{"id": i, "val": i, "p": p} for i, p in enumerate((0.2, 0.3, 0.9, 0.1))]
    query = "SELECT TOP 1 id FROM s [ROWS 2] WITH PROBABILITY p AS PT_K(0.5) ORDER BY val DESC"
    found = [(r["window_end"], r["id"], r["probability"]) for r in ask(query, records)]
    assert found == [(3, 2, 0.9), (4, 2, pytest.approx(0.81))]
    assert ask(query.replace("0.5", "0.95"), records) == []
    told = [(r["at"], r["change"], r["id"]) for r in ask(f"{query} EMIT CHANGES", records)]
    assert told == [(3, "enter", 2), (4, "move", 2)]


def test_the_threshold_may_be_met_exactly() -> None:
    """0.7 * (1 - 0.3) misses 0.49 by one bit, which must not decide."""
    records = [{"id": i, "val": i, "p": p} for i, p in enumerate((0.7, 0.3))]
    assert 0.7 * (1 - 0.3) < 0.49
    query = (
        "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] WITH PROBABILITY p AS PT_K(0.49) ORDER BY val DESC"
    )
    assert [r["id"] for r in ask(query, records)] == [0]


def test_probability_is_any_expression() -> None:
    records = [{"id": i, "val": i, "percent": 10 * i + 10} for i in range(4)]
    query = (
        "SELECT TOP 1 id FROM s [ROWS 4 SLIDE 4] WITH PROBABILITY percent / 100.0"
        " AS PT_K(0.001) ORDER BY val DESC"
    )
    found = {r["id"]: r["probability"] for r in ask(query, records)}
    assert found == pytest.approx({3: 0.4, 2: 0.18, 1: 0.084, 0: 0.0336})


@each_algorithm
@pytest.mark.parametrize("kind", ALL_KINDS)
@rounds
def test_changes_reproduce_the_snapshots(using: str, kind: Kind, count: int) -> None:
    """Bit by bit, probabilities included."""
    for asked in ASKED:
        for question, records, _ in cases("changes", kind, asked, count):
            wanted = {
                cell: [tuple(row[c] for c in question.shown) for row in rows]
                for cell, rows in by_cell(question, answer(question, records, using)).items()
            }
            told = answer(question.with_spec(emit="CHANGES"), records, using)
            standing = apply(told, question, wanted)
            assert {cell: top for cell, top in standing.items() if top} == wanted, question.text()


def picture(rows: list[Row]) -> list[str]:
    """``+ enter, - leave, ~ move``, as ``at: +id@rank probability``."""
    signs = {"enter": "+", "leave": "-", "move": "~"}
    lines = []
    for row in rows:
        ranks = [str(r) for r in (row["previous_rank"], row["rank"]) if r is not None]
        sign, where = signs[row["change"]], ">".join(ranks)
        lines.append(f"{row['at']}: {sign}{row['id']}@{where} {round(row['probability'], 6)}")
    return lines


@each_algorithm
def test_a_record_that_wins_several_ranks_is_told_several_times(using: str) -> None:
    #   arrival  a 1 (0.9)   b 2 (0.2)   c 3 (1.0)
    data = [{"id": i, "val": v, "prob": p} for i, v, p in [("a", 1, 0.9), ("b", 2, 0.2)]]
    query = (
        "SELECT TOP 2 id FROM s [ROWS 9] WITH PROBABILITY prob AS U_KRANKS ORDER BY val DESC"
        f" EMIT CHANGES USING {using}"
    )
    # 1: a is the only one. 2: first a 0.72 (b 0.2), second a 0.18.
    assert picture(ask(query, data)) == ["1: +a@1 0.9", "2: ~a@1>1 0.72", "2: +a@2 0.18"]
    certain = {"id": "c", "val": 3, "prob": 1.0}
    # 3: c is the first of all; second a 0.72, third a 0.18 (not asked for).
    assert picture(ask(query, [*data, certain]))[3:] == [
        "3: -a@2 0.18", "3: +c@1 1.0", "3: ~a@1>2 0.72",
    ]  # fmt: skip


@each_algorithm
def test_a_probability_that_changes_is_a_move_to_the_same_rank(using: str) -> None:
    data = [{"id": i, "val": v, "prob": p} for i, v, p in [("a", 1, 0.9), ("b", 2, 0.2)]]
    query = (
        "SELECT TOP 1 id FROM s [ROWS 9] WITH PROBABILITY prob ORDER BY val DESC EMIT CHANGES"
        f" USING {using}"
    )
    rows = ask(query, data)
    assert picture(rows) == ["1: +a@1 0.9", "2: ~a@1>1 0.72"]
    assert [row["score"] for row in rows] == [1, 1]
    nothing_new = {"id": "z", "val": 0, "prob": 0.1}
    assert picture(ask(query, [*data, nothing_new])) == picture(rows)


def held_up(rng: random.Random, records: list[Row], lateness: int) -> list[Row]:
    """An arrival order in which none is late."""
    delayed = [(r["ts"] + rng.randint(0, lateness), -i, r) for i, r in enumerate(records)]
    return [record for _, _, record in sorted(delayed, key=lambda d: d[:2])]


@each_algorithm
@pytest.mark.parametrize("kind", TIMED_KINDS)
@rounds
def test_out_of_order_within_the_lateness(using: str, kind: Kind, count: int) -> None:
    for asked in ASKED:
        for question, records, rng in cases("late", kind, asked, count):
            lateness = 4 * SECOND
            question = question.with_spec(lateness=lateness)
            in_order = answer(question, records, using)
            results = run(question, held_up(rng, records, lateness), using)
            assert results.metrics.rows_late == 0
            assert rows_of(results.to_arrow()) == in_order, question.text()


@each_algorithm
@pytest.mark.parametrize("kind", ["range_slide", "range", "unbounded_time"])
@rounds
def test_the_last_revision_is_the_truth(using: str, kind: Kind, count: int) -> None:
    """However late its records came, a window ends up as if all had come in order. Only that nobody
    passes the threshold any more cannot be told: there are no rows to tell it with."""
    for asked in ASKED:
        for question, records, rng in cases("revised", kind, asked, count):
            arrival = held_up(rng, records, 20 * SECOND)
            revising = question.with_spec(late="REVISE")
            rows = rows_of(run(revising, arrival, using).to_arrow())
            last: dict[Any, list[Row]] = {}
            seen: dict[Any, int] = {}
            for row in rows:
                cell = (row["window_end"], *(row[c] for c in question.spec.partition))
                revision = row.pop("revision")
                if row["rank"] == 1:
                    assert revision == seen.get(cell, -1) + 1, "revisions count up"
                    seen[cell], last[cell] = revision, []
                last[cell].append(row)
            wanted: dict[Any, list[Row]] = {}
            for row in answer(question.with_spec(lateness=10**15), records, using):
                cell = (row["window_end"], *(row[c] for c in question.spec.partition))
                wanted.setdefault(cell, []).append(row)
            if asked.startswith("PT_K"):
                last = {cell: rows for cell, rows in last.items() if cell in wanted}
            assert last == wanted, question.text()


@each_algorithm
@pytest.mark.parametrize("kind", ALL_KINDS)
@rounds
def test_batches_and_resumed_sessions_give_the_same(using: str, kind: Kind, count: int) -> None:
    """To the last bit, with the state saved and read again after every batch."""
    for asked in ASKED if count > 1 else ASKED[ALL_KINDS.index(kind) % 2 :: 2]:
        for question, records, rng in cases("resumed", kind, asked, count, size=40):
            if rng.random() < 0.5:
                question = question.with_spec(emit="CHANGES")
            text, table = question.text(using), to_table(records)
            cuts = [0, *sorted(rng.choices(range(len(records) + 1), k=2)), len(records)]
            session = crestline.open(text, engine="local")
            got: list[Row] = []
            for start, end in zip(cuts, cuts[1:], strict=False):
                got += rows_of(session.push(table.slice(start, end - start)))
                session = crestline.open(text, engine="local", state=session.snapshot())
            got += rows_of(session.finish())
            end = "at" if question.spec.emit == "CHANGES" else "window_end"
            names = question.spec.partition

            def where(row: Row, end: str = end, names: Any = names) -> Any:
                return row[end], [(row[c] is not None, row[c]) for c in names]

            # Positions of different partitions come as they come.
            assert sorted(got, key=where) == answer(question, records, using), text


def test_the_state_is_a_value() -> None:
    question, records, _ = next(iter(cases("value", "range_slide", "PK_TOPK", 1, size=60)))
    table, half = to_table(records), len(records) // 2
    session = crestline.open(question.text(), engine="local")
    session.push(table.slice(0, half))
    state = session.snapshot()
    first = rows_of(session.push(table.slice(half))) + rows_of(session.finish())
    twin = crestline.open(question.text(), engine="local", state=state)
    assert rows_of(twin.push(table.slice(half))) + rows_of(twin.finish()) == first


@each_algorithm
def test_groups_by_the_sum_of_their_probabilities(using: str) -> None:
    #   rank      1       2       3       4       5
    #   site      b       a       a     NULL    NULL
    #   p        0.5     0.4     0.4     0.9     0.9
    #   Pr_2     0.5     0.4     0.32    0.54    0.1998
    data = [
        {"site": site, "val": 5 - i, "prob": p}
        for i, (site, p) in enumerate(
            [("b", 0.5), ("a", 0.4), ("a", 0.4), (None, 0.9), (None, 0.9)]
        )
    ]
    query = (
        "SELECT TOP {} site FROM s [ROWS 5 SLIDE 5] WITH PROBABILITY prob BY SUM OF PROBABILITY"
        f" ORDER BY val DESC USING {using}"
    )
    # With k = 1 one group is shown.
    rows = ask(query.format(1), data)
    assert [(r["site"], r["score"], round(r["probability"], 9)) for r in rows] == [("b", 5, 0.5)]
    rows = ask(query.format(2), data)
    assert [(r["site"], r["score"]) for r in rows] == [(None, 2), ("a", 4)]
    assert [r["probability"] for r in rows] == pytest.approx([0.7398, 0.72])
    # All of them, with their best record; every record is among the best five, and a sum may
    # exceed 1.
    rows = ask(query.format(5), data)
    assert [(r["rank"], r["site"], r["score"]) for r in rows] == [
        (1, None, 2), (2, "a", 4), (3, "b", 5),
    ]  # fmt: skip
    assert [r["probability"] for r in rows] == pytest.approx([1.8, 0.8, 0.5])


@each_algorithm
def test_groups_of_several_columns_and_nulls(using: str) -> None:
    data = [
        {"x": x, "y": y, "val": -i, "prob": 0.5}
        for i, (x, y) in enumerate([(1, "a"), (1, None), (1, None), (None, None), (1, "a")])
    ]
    query = (
        "SELECT TOP 5 x, y FROM s [ROWS 5 SLIDE 5] WITH PROBABILITY prob BY SUM OF PROBABILITY"
        f" ORDER BY val DESC USING {using}"
    )
    found = [(r["x"], r["y"], r["score"], r["probability"]) for r in ask(query, data)]
    assert found == [(1, "a", 0, 1.0), (1, None, -1, 1.0), (None, None, -3, 0.5)]


def test_sums_stand_anywhere_among_the_clauses() -> None:
    data = [{"site": "a", "val": i, "prob": 0.5} for i in range(3)]
    query = "SELECT TOP 1 site FROM s [ROWS 3 SLIDE 3] {} WITH PROBABILITY prob ORDER BY val {}"
    clause = "BY SUM OF PROBABILITY"
    first, last = ask(query.format(clause, ""), data), ask(query.format("", clause), data)
    assert first == last
    assert [row["probability"] for row in first] == [0.875]


def test_the_schema_of_the_judge_matches() -> None:
    assert to_table(random_records(random.Random(0), 3)).schema == SCHEMA
