"""Queries on uncertain streams in one process: windows, bad records, ties, changes, lateness,
sessions, sums, rules that promise too much, and the icebergs."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import crestline
from crestline import sources
from crestline.core.errors import CrestlineError, RecordError
from crestline.testing import Kind, Spec
from local.engines import ask, moment, rejects_of, rows_of
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
    random_question,
    random_records,
    run,
    to_table,
    windows,
)
from uncertain.replay import operators

NAMES = list(operators())
SECOND = 1_000_000
DAY = 86_400 * SECOND
each_algorithm = pytest.mark.parametrize("using", NAMES)
#: How many random queries of each kind a test looks at.
rounds = pytest.mark.parametrize("count", [1, pytest.param(15, marks=pytest.mark.stress)])


def cases(seed: str, kind: Kind, asked: str, count: int, size: int = 30) -> Any:
    rng = random.Random(f"{seed} {kind} {asked}")
    for _ in range(count):
        yield random_question(rng, kind, asked), random_records(rng, rng.randint(1, size)), rng


# --- windows --------------------------------------------------------------------------------------


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


# --- bad records ----------------------------------------------------------------------------------

BAD: list[tuple[Any, str]] = [
    (None, "probability is NULL"),
    (math.nan, "probability is NaN"),
    (0.0, "probability is outside (0, 1]"),
    (-0.0, "probability is outside (0, 1]"),
    (-0.5, "probability is outside (0, 1]"),
    (1.0000001, "probability is outside (0, 1]"),
    (math.inf, "probability is outside (0, 1]"),
    (-math.inf, "probability is outside (0, 1]"),
]
PLAIN = "SELECT TOP 5 id FROM s [ROWS 99 SLIDE 3] WITH PROBABILITY prob ORDER BY val DESC"


def with_bad(bad: Any) -> pa.Table:
    return pa.table(
        {
            "id": ["a", "bad", "b", "worse", "c"],
            "val": [1.0, 9.0, 2.0, 8.0, 3.0],
            "prob": pa.array([0.5, bad, 1.0, bad, 5e-324], pa.float64()),
        }
    )


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_bad_probabilities_are_set_aside(bad: Any, reason: str) -> None:
    results = crestline.run(PLAIN, {"s": with_bad(bad)}, engine="local")
    rows = rows_of(results.to_arrow())
    assert [(r["window_end"], r["id"]) for r in rows] == [(3, "b"), (3, "a"), (3, "c")]
    assert rejects_of(results) == [(1, "prob", reason), (3, "prob", reason)]
    assert results.metrics.rejected == {reason: 2}
    assert results.metrics.rows_in == 5


@pytest.mark.parametrize(("bad", "reason"), BAD)
def test_strict_names_the_first_bad_probability(bad: Any, reason: str) -> None:
    with pytest.raises(RecordError) as caught:
        crestline.run(PLAIN, {"s": with_bad(bad)}, engine="local", strict=True)
    error = caught.value
    assert (error.stream, error.row, error.column, error.reason) == ("s", 1, "prob", reason)


def test_text_that_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,val,prob\na,1,0.5\nb,2,likely\nc,3,\nd,4,1\ne,5,1.5\n")
    results = crestline.run(PLAIN.replace("SLIDE 3", "SLIDE 2"), {"s": path}, engine="local")
    assert [r["id"] for r in rows_of(results.to_arrow())] == ["d", "a"]
    assert rejects_of(results) == [
        (1, "prob", "not a number"),
        (2, "prob", "probability is NULL"),
        (4, "prob", "probability is outside (0, 1]"),
    ]
    values = {r["row"]: r["value"] for r in results.rejects.to_pylist()}
    assert values[1] == "likely"


def test_a_column_of_text_is_no_probability() -> None:
    data = pa.table({"id": [1], "val": [1.0], "prob": ["high"]})
    with pytest.raises(CrestlineError, match="(?i)probability"):
        crestline.run(PLAIN, {"s": data}, engine="local")


def test_a_record_with_two_faults_is_counted_once() -> None:
    data = pa.table({"id": [1, 2], "val": [None, 1.0], "prob": [2.0, 0.5]})
    results = crestline.run(PLAIN.replace("SLIDE 3", "SLIDE 1"), {"s": data}, engine="local")
    assert results.rejects.num_rows == 1
    assert sum(results.metrics.rejected.values()) == 1
    assert len(results) == 1


def test_a_bad_probability_does_not_move_the_watermark() -> None:
    records = [
        {"id": i, "ts": moment(s * SECOND), "val": 1, "prob": p}
        for i, s, p in [("a", 5, 0.5), ("bad", 1000, 0.0), ("b", 6, 0.5)]
    ]
    query = (
        "SELECT TOP 2 id FROM s [RANGE 10 s SLIDE 10 s ON ts] WITH PROBABILITY prob"
        " ORDER BY val DESC"
    )
    results = crestline.run(query, {"s": records}, engine="local")
    assert [r["id"] for r in rows_of(results.to_arrow())] == ["b", "a"]
    assert results.metrics.rows_late == 0


@pytest.mark.parametrize("kind", [pa.float32(), pa.decimal128(9, 4), pa.int8()], ids=str)
def test_every_numeric_type_is_a_probability(kind: pa.DataType) -> None:
    chances = [1, 1, 1] if kind == pa.int8() else [0.5, 0.25, 1]
    data = pa.table(
        {"id": [0, 1, 2], "val": [3, 2, 1], "prob": pa.array(chances, pa.float64()).cast(kind)}
    )
    query = PLAIN.replace("PROBABILITY prob", "PROBABILITY prob AS PT_K(0.001)")
    found = {r["id"]: r["probability"] for r in ask(query, data)}
    assert found == dict(enumerate(chances))


# --- ties -----------------------------------------------------------------------------------------


def lasting(*records: tuple[str, int, float, float, str | None]) -> list[Row]:
    """``(id, second, score, probability, rule)``."""
    names = ("id", "ts", "val", "prob", "rule")
    found = [dict(zip(names, record, strict=True)) for record in records]
    return [r | {"ts": moment(r["ts"] * SECOND)} for r in found]


HOUR = "FROM s [RANGE 1 HOUR SLIDE 1 HOUR ON ts] WITH PROBABILITY prob EXCLUSIVE BY rule"


@each_algorithm
def test_ties_go_by_time_then_key_then_probability(using: str) -> None:
    """With k = 1 the first existing record is the answer: Pr_1 tells the order of all."""
    data = lasting(
        ("z", 5, 1.0, 0.5, None),  # the last second: the highest rank, whatever its name
        ("b", 4, 1.0, 0.5, None),
        ("a", 4, 1.0, 0.5, None),
        ("c", 4, 2.0, 0.5, None),  # a better score beats everything
        ("b", 4, 1.0, 0.25, None),  # less probable than the other b
    )
    query = f"SELECT TOP 1 id {HOUR} AS PT_K(1e-6) ORDER BY val DESC LATENESS 9 s USING {using}"
    found = [(r["id"], r["probability"]) for r in ask(query, data[::-1])]
    # In rank order c, z, a, b (0.5), b (0.25).
    assert found == [
        ("c", 0.5), ("z", 0.25), ("a", 0.125), ("b", 0.0625), ("b", 0.25 * 0.0625),
    ]  # fmt: skip
    assert found == [(r["id"], r["probability"]) for r in ask(query, data)]


@each_algorithm
def test_then_by_the_rule(using: str) -> None:
    """Alike in everything but the rule: NULL first, then ascending."""
    data = lasting(
        ("a", 4, 1.0, 0.5, "y"), ("a", 4, 1.0, 0.5, "x"), ("a", 4, 1.0, 0.5, None),
        ("b", 4, 0.0, 0.5, "y"),
    )  # fmt: skip
    # The b excludes the a of rule y only: which of the three is above it does not matter to
    # Pr_1(b) = 0.5 * 0.5 * 0.5, but U_TOPK shows that all three rank above it.
    query = f"SELECT TOP 1 id {HOUR} AS PT_K(1e-6) ORDER BY val DESC USING {using}"
    for order in (data, data[::-1]):
        found = [(r["id"], r["probability"]) for r in ask(query, order)]
        assert found == [("a", 0.5), ("a", 0.25), ("a", 0.125), ("b", 0.125)]


@each_algorithm
def test_the_rule_decides_who_is_counted_out(using: str) -> None:
    """Two alike, of rule x and of none, and a third of rule x that ranks lower.

    The NULL ranks first, so the record of rule x is the second: Pr_1 of it 0.25. Were it the first,
    the third record (whose own rule is left out) would stand behind the NULL only, as now.
    """
    data = lasting(("a", 4, 1.0, 0.5, "x"), ("a", 4, 1.0, 0.5, None), ("b", 4, 0.0, 0.25, "x"))
    query = f"SELECT TOP 1 id {HOUR} AS U_KRANKS ORDER BY val DESC USING {using}"
    for order in (data, data[::-1]):
        assert [(r["id"], r["probability"]) for r in ask(query, order)] == [("a", 0.5)]


@each_algorithm
def test_without_event_time_the_later_arrival_ranks_higher(using: str) -> None:
    data = [{"id": i, "val": 1, "prob": p} for i, p in enumerate((0.9, 0.5, 0.5))]
    query = (
        "SELECT TOP 1 id FROM s [ROWS 3 SLIDE 3] WITH PROBABILITY prob AS PT_K(0.01)"
        f" ORDER BY val DESC USING {using}"
    )
    found = {r["id"]: r["probability"] for r in ask(query, data)}
    assert found == {2: 0.5, 1: 0.25, 0: pytest.approx(0.225)}


@each_algorithm
def test_equal_probabilities_go_by_rank(using: str) -> None:
    data = [{"id": i, "val": v, "prob": 0.5} for i, v in enumerate((1, 3, 2))]
    query = (
        "SELECT TOP 3 id FROM s [ROWS 3 SLIDE 3] WITH PROBABILITY prob AS {}"
        f" ORDER BY val DESC USING {using}"
    )
    assert [r["id"] for r in ask(query.format("PK_TOPK"), data)] == [1, 2, 0]
    assert [r["id"] for r in ask(query.format("PT_K(0.5)"), data)] == [1, 2, 0]


@each_algorithm
@pytest.mark.parametrize("kind", ["range_slide", "range"])
@rounds
def test_the_arrival_order_never_shows(using: str, kind: Kind, count: int) -> None:
    """Any permutation gives the same rows to the last bit, where the lateness allows for it or is
    not written."""
    for asked in ASKED:
        for question, records, rng in cases("permuted", kind, asked, count):
            question = question.with_spec(select=("site",), key=())
            shuffled = rng.sample(records, len(records))
            wanted = answer(question, records, using)
            assert answer(question, shuffled, using) == wanted
            assert answer(question.with_spec(lateness=10**15), shuffled, using) == wanted


@pytest.mark.parametrize("kind", TIMED_KINDS)
@rounds
def test_without_a_lateness_every_record_counts(
    kind: Kind, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any order, in batches of which something is known or nothing; results as in one batch."""
    monkeypatch.setattr(sources, "BATCH_ROWS", 5)
    for asked in ASKED:
        for question, records, rng in cases("bounded", kind, asked, count):
            emit = rng.choice(("SNAPSHOTS", "CHANGES"))
            question = question.with_spec(lateness=None, emit=emit)
            shuffled = rng.sample(records, len(records)) if rng.random() < 0.8 else records
            batches = to_table(shuffled).to_batches(max_chunksize=4)
            for data in (to_table(shuffled), iter(batches)):
                results = crestline.run(question.text(), {"s": data})
                assert results.metrics.rows_late == 0
                assert rows_of(results.to_arrow()) == answer(question, records), question.text()


# --- changes --------------------------------------------------------------------------------------


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


# --- lateness and sessions ------------------------------------------------------------------------


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


# --- sums -----------------------------------------------------------------------------------------


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


# --- rules that promise too much ------------------------------------------------------------------

TOO_MUCH = [
    {"id": i, "val": -i, "prob": p, "rule": rule}
    for i, (p, rule) in enumerate([(0.7, "x"), (0.7, "x"), (0.5, None), (0.5, "y"), (0.5, "y")])
]
RULES = "SELECT TOP 3 id FROM s [ROWS 3] WITH PROBABILITY prob EXCLUSIVE BY rule ORDER BY val DESC"


@each_algorithm
def test_rules_above_one_are_counted(using: str) -> None:
    """Results 2 and 3 hold both records of rule x."""
    results = crestline.run(f"{RULES} USING {using}", {"s": TOO_MUCH}, engine="local")
    assert results.metrics.rules_above_one == 2
    assert results.rejects.num_rows == 0
    assert all(math.isfinite(row["probability"]) for row in rows_of(results.to_arrow()))
    fine = crestline.run(f"{RULES} USING {using}", {"s": TOO_MUCH[1:]}, engine="local")
    assert fine.metrics.rules_above_one == 0


@each_algorithm
def test_rules_above_one_are_an_error_with_strict(using: str) -> None:
    query = f"{RULES} USING {using}"
    with pytest.raises(CrestlineError, match="(?i)rule"):
        crestline.run(query, {"s": TOO_MUCH}, engine="local", strict=True)
    session = crestline.open(query, engine="local", strict=True)
    session.push(TOO_MUCH[:1])
    with pytest.raises(CrestlineError, match="(?i)rule"):
        session.push(TOO_MUCH[1:])
    assert len(crestline.run(query, {"s": TOO_MUCH[1:]}, engine="local", strict=True)) > 0


def test_a_resumed_session_goes_on_counting() -> None:
    session = crestline.open(RULES, engine="local")
    session.push(TOO_MUCH[:2])
    assert session.metrics.rules_above_one == 1
    session = crestline.open(RULES, engine="local", state=session.snapshot())
    session.push(TOO_MUCH[2:])
    assert session.metrics.rules_above_one == 2


def test_equal_rules_of_different_partitions_are_different_rules() -> None:
    data = [
        {"id": i, "val": -i, "prob": 0.7, "rule": "x", "grp": grp} for i, grp in enumerate("ab")
    ]
    query = RULES.replace("ORDER BY", "PARTITION BY grp ORDER BY")
    results = crestline.run(query, {"s": data}, engine="local", strict=True)
    assert results.metrics.rules_above_one == 0
    assert [row["probability"] for row in rows_of(results.to_arrow())] == [0.7, 0.7]


def test_a_rule_of_any_type() -> None:
    """Numbers, text, times: what is equal excludes one another, NULL does not."""
    rules: list[pa.Array] = [
        pa.array([1, 1, None, None]),
        pa.array([2**63 - 1, 2**63 - 1, None, None]),
        pa.array(["é", "é", None, None]),
        pa.array([True, True, None, None]),
        pa.array([5, 5, None, None], pa.timestamp("us", "UTC")),
    ]
    for rule in rules:
        data = pa.table(
            {"id": range(4), "val": [4, 3, 2, 1], "prob": [0.5, 0.5, 0.5, 0.5], "rule": rule}
        )
        query = RULES.replace("ROWS 3", "ROWS 4 SLIDE 4").replace("TOP 3", "TOP 1")
        query = query.replace(" ORDER BY", " AS PT_K(0.001) ORDER BY")
        found = {r["id"]: r["probability"] for r in ask(query, data)}
        # One of the first two exists for sure.
        assert found == {0: 0.5, 1: 0.5}, rule.type


# --- the icebergs ---------------------------------------------------------------------------------

#: How sure a sighting is, by its method (Jin et al. 2008, section 6).
METHODS = {
    "R/V": 0.8, "VIS": 0.7, "RAD": 0.6, "SAT-LOW": 0.5, "SAT-MED": 0.4, "SAT-HIGH": 0.3, "EST": 0.4,
}  # fmt: skip
CASE = " ".join(f"WHEN method = '{method}' THEN {p}" for method, p in METHODS.items())


@pytest.fixture(scope="module")
def icebergs(shared_data: Path) -> pa.Table:
    """In order of time, numbered. ``share`` divides the probability of a berg among its sightings,
    of which then no more than one is real."""
    path = next(shared_data.glob("iip_icebergs*.parquet"))
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    return con.sql(
        "SELECT row_number() OVER (ORDER BY ts, seq_in_origin) - 1 AS id, ts, latitude, method,"
        f" berg_number, CAST(CASE {CASE} END AS DOUBLE) AS prob,"
        " prob / count(*) OVER (PARTITION BY berg_number) AS share"
        f" FROM read_parquet('{path}') WHERE ice_year = 2021 ORDER BY id"
    ).to_arrow_table()


def sightings(table: pa.Table, *, exclusive: bool = False) -> list[Row]:
    """As records of the judge."""
    micros = table.column("ts").cast(pa.timestamp("us")).cast(pa.int64())
    plain = table.set_column(table.column_names.index("ts"), "ts", micros).to_pylist()
    return [
        {
            "id": r["id"],
            "ts": r["ts"],
            "val": r["latitude"],
            "prob": r["share" if exclusive else "prob"],
            "rule": r["berg_number"] if exclusive else None,
        }
        for r in plain
    ]


_DUE: dict[Any, Any] = {}


def known_windows(question: Question, records: list[Row]) -> Any:
    """The judge's windows, worked out once, whatever is asked and whoever answers."""
    key = (question.spec, question.exclusive)
    if key not in _DUE:
        _DUE[key] = windows(question, records)
    return _DUE[key]


@pytest.mark.data
@each_algorithm
@pytest.mark.parametrize("asked", ["PK_TOPK", "PT_K(0.5)", "U_KRANKS", "U_TOPK", "EXPECTED_RANK"])
def test_southernmost_icebergs(icebergs: pa.Table, using: str, asked: str) -> None:
    """Of seven days, every day."""
    query = (
        "SELECT TOP 5 id FROM s [RANGE 7 DAYS SLIDE 1 DAY ON ts]"
        f" WITH PROBABILITY CASE {CASE} END AS {asked} ORDER BY latitude ASC USING {using}"
    )
    spec = Spec(5, "range_slide", 7 * DAY, DAY, "ts", order=(("val", False),), select=("id",))
    question = Question(spec, asked, exclusive=False)
    part = icebergs.slice(2_000, 2_500)
    results = crestline.run(query, {"s": part}, engine="local")
    assert results.rejects.num_rows == 0
    due = known_windows(question, sightings(part))
    assert max(len(window.records) for window in due.values()) > 300
    assert_right(question, rows_of(results.to_arrow()), due, every=31)


@pytest.mark.data
@each_algorithm
def test_the_last_icebergs_at_every_sighting(icebergs: pa.Table, using: str) -> None:
    part = icebergs.slice(0, 400)
    query = (
        "SELECT TOP 10 id FROM s [ROWS 200] WITH PROBABILITY prob ORDER BY latitude ASC"
        f" USING {using}"
    )
    spec = Spec(10, "rows", 200, 1, None, order=(("val", False),), select=("id",))
    question = Question(spec, "PK_TOPK", exclusive=False)
    rows = rows_of(crestline.run(query, {"s": part}, engine="local").to_arrow())
    assert_right(question, rows, known_windows(question, sightings(part)), every=53)


@pytest.mark.data
@each_algorithm
@pytest.mark.parametrize("asked", ["PK_TOPK", "U_TOPK", "EXPECTED_RANK"])
def test_sightings_of_a_berg_exclude_one_another(
    icebergs: pa.Table, using: str, asked: str
) -> None:
    part = icebergs.slice(2_000, 1_000)
    query = (
        "SELECT TOP 4 id FROM s [ROWS 100 SLIDE 30] WITH PROBABILITY share EXCLUSIVE BY berg_number"
        f" AS {asked} ORDER BY latitude ASC USING {using}"
    )
    spec = Spec(4, "rows", 100, 30, None, order=(("val", False),), select=("id",))
    question = Question(spec, asked)
    results = crestline.run(query, {"s": part}, engine="local", strict=True)
    due = known_windows(question, sightings(part, exclusive=True))
    assert any(window.judge.has_rules for window in due.values())
    assert_right(question, rows_of(results.to_arrow()), due, every=3)


def test_the_schema_of_the_judge_matches() -> None:
    assert to_table(random_records(random.Random(0), 3)).schema == SCHEMA
