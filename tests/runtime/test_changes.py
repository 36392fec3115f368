"""EMIT CHANGES: pictures of change streams, and that they add up to the snapshots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

import crestline
from crestline.testing import Kind, Spec
from local.engines import ask, assert_judged, examples, moment, replay, rows_of
from strategies import ALL_KINDS, Case, cases

SECOND = 1_000_000


def picture(rows: list[dict[str, Any]], scale: int = SECOND) -> list[str]:
    """``+ enter, - leave, ~ move``, as ``at: +id@rank``."""
    signs = {"enter": "+", "leave": "-", "move": "~"}
    lines = []
    for row in rows:
        ranks = [str(r) for r in (row["previous_rank"], row["rank"]) if r is not None]
        where = f"{row['at'] // scale}" + "".join(f" {row[c]}" for c in ("grp",) if c in row)
        lines.append(f"{where}: {signs[row['change']]}{row['id']}@{'>'.join(ranks)}")
    return lines


def seconds(*records: tuple[str, int, float]) -> list[dict[str, Any]]:
    return [{"id": i, "ts": moment(s * SECOND), "val": v} for i, s, v in records]


def test_enter_move_and_leave_of_a_range() -> None:
    #   0         10        20        30        40
    #   |    a    | b c     |         |      d  |
    #        5      7 6                      1
    #   10: a       20: b c a    30: b c    40: d
    data = seconds(("a", 5, 5), ("b", 12, 7), ("c", 15, 6), ("d", 38, 1))
    rows = ask(
        "SELECT TOP 3 id FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS ON ts] ORDER BY val DESC"
        " EMIT CHANGES",
        data,
    )
    assert picture(rows) == [
        "10: +a@1",
        "20: +b@1", "20: +c@2", "20: ~a@1>3",
        "30: -a@3",
        "40: -b@1", "40: -c@2", "40: +d@1",
    ]  # fmt: skip
    assert list(rows[0]) == ["query", "at", "change", "rank", "previous_rank", "id", "score"]
    assert [row["score"] for row in rows] == [5, 7, 6, 5, 5, 7, 6, 1]


def test_a_window_that_empties_tells_the_leaves_before_the_next_record() -> None:
    #   0    10   20   30            100  110
    #   | a  |    |    |              | b |
    data = seconds(("a", 5, 5), ("b", 105, 7))
    query = "SELECT TOP 3 id FROM s [RANGE 10 s SLIDE 10 s ON ts] ORDER BY val DESC EMIT CHANGES"
    assert picture(ask(query, data)) == ["10: +a@1", "20: -a@1", "110: +b@1"]


def test_changes_at_every_arrival() -> None:
    #   a(0) b(4) c(12), width 10: a is gone by 12, b is still there
    data = seconds(("a", 0, 5), ("b", 4, 9), ("c", 12, 10))
    query = "SELECT TOP 2 id FROM s [RANGE 10 SECONDS ON ts] ORDER BY val DESC EMIT CHANGES"
    assert picture(ask(query, data)) == [
        "0: +a@1",
        "4: +b@1", "4: ~a@1>2",
        "12: -a@2", "12: +c@1", "12: ~b@1>2",
    ]  # fmt: skip


def test_changes_of_rows_come_by_partition() -> None:
    data = [{"id": i, "grp": g, "val": v} for i, g, v in [
        ("a", "y", 1), ("b", "x", 1), ("c", "x", 2), ("d", "x", 0),
    ]]  # fmt: skip
    query = "SELECT TOP 2 id FROM s [ROWS 2] PARTITION BY grp ORDER BY val DESC EMIT CHANGES"
    assert picture(ask(query, data), scale=1) == [
        "1 x: +b@1", "1 y: +a@1",
        "2 x: +c@1", "2 x: ~b@1>2",
        "3 x: -b@2", "3 x: +d@2",
    ]  # fmt: skip


def test_nothing_changes_nothing_is_told() -> None:
    data = seconds(("a", 1, 5), ("b", 2, 4), ("c", 11, 1), ("d", 21, 1))
    query = (
        "SELECT TOP 1 id FROM s [UNBOUNDED SLIDE 10 SECONDS ON ts] ORDER BY val DESC EMIT CHANGES"
    )
    assert picture(ask(query, data)) == ["10: +a@1"]


def test_identity_is_the_record_and_not_its_looks() -> None:
    """Two records with the same columns: one leaves, its twin enters."""
    data = seconds(("a", 5, 5), ("a", 15, 5))
    query = "SELECT TOP 1 id FROM s [RANGE 10 s SLIDE 10 s ON ts] ORDER BY val DESC EMIT CHANGES"
    assert picture(ask(query, data)) == ["10: +a@1", "20: -a@1", "20: +a@1"]


def test_a_session_sends_changes_as_they_fall_due() -> None:
    query = "SELECT TOP 1 id FROM s [RANGE 10 s SLIDE 10 s ON ts] ORDER BY val DESC EMIT CHANGES"
    session = crestline.open(query, engine="local")
    pushed = [
        picture(rows_of(session.push([record])))
        for record in seconds(("a", 5, 5), ("b", 15, 4), ("c", 16, 3), ("d", 31, 3))
    ]
    assert pushed == [[], ["10: +a@1"], [], ["20: -a@1", "20: +b@1", "30: -b@1"]]
    assert picture(rows_of(session.finish())) == ["40: +d@1"]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_changes_equal_the_oracle(kind: Kind) -> None:
    @examples(40)
    @given(cases(kinds=(kind,), emit="CHANGES", max_size=80))
    def holds(case: Case) -> None:
        assert_judged(case)

    holds()


def test_the_check_of_changes_can_fail() -> None:
    """`replay` notices a change that is missing, or out of place."""
    enter = {"at": 1, "change": "enter", "rank": 1, "previous_rank": None, "id": "a", "score": 1.0}
    below = enter | {"at": 2, "rank": 3}
    spec = Spec(3, "rows", 3)
    assert replay([enter], spec, [(2, ())]) == {(1, ()): [("a", 1.0)], (2, ()): [("a", 1.0)]}
    with pytest.raises(AssertionError):
        replay([enter, enter | {"at": 2}], spec, [])
    with pytest.raises(AssertionError):
        replay([enter, below], spec, [])
