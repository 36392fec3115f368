"""Ties of uncertain records, and that the order of arrival never shows."""

from __future__ import annotations

import pytest

import crestline
from crestline import sources
from crestline.testing import Kind
from local.engines import ask, moment, rows_of
from uncertain.asking import (
    ASKED,
    TIMED_KINDS,
    Row,
    answer,
    to_table,
)
from uncertain.cases import SECOND, cases, each_algorithm, rounds


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
