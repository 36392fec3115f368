"""Who shares with whom, what is said about it, and what it is said to cost."""

from __future__ import annotations

import pytest

from crestline.language import Query, parse
from crestline.planner import SharedPlan, arrange, execution_plans, explain
from crestline.planner.shared import why_alone

BASE = "SELECT TOP {k} id FROM s [{window}] {where} ORDER BY {order} DESC {rest}"


def query(
    k: int = 3, window: str = "RANGE 60 s SLIDE 10 s ON ts", where: str = "", order: str = "x",
    rest: str = "",
) -> Query:  # fmt: skip
    return parse(BASE.format(k=k, window=window, where=where, order=order, rest=rest))


def together(**queries: Query) -> list[list[str]]:
    return [list(bundle.queries) for bundle in arrange(queries)]


def test_what_may_differ() -> None:
    assert together(
        a=query(),
        b=query(k=100, window="RANGE 1 h SLIDE 7 s ON ts"),
        c=query(window="UNBOUNDED SLIDE 1 min ON ts", rest="EMIT CHANGES"),
    ) == [["a", "b", "c"]]
    assert together(a=query(window="ROWS 10 SLIDE 5"), b=query(window="ROWS 99 SLIDE 3")) == [
        ["a", "b"]
    ]
    assert together(a=query(window="RANGE 9 s ON ts"), b=query(window="RANGE 7 s ON ts")) == [
        ["a", "b"]
    ]


@pytest.mark.parametrize(
    "other",
    [
        query(where="WHERE x > 3"),
        query(order="x + 1"),
        query(window="ROWS 10 SLIDE 5"),
        query(window="RANGE 60 s ON ts"),
        query(window="RANGE 60 s SLIDE 10 s ON other"),
        query(rest="LATENESS 1 s"),
        query(rest="KEY (x)"),
        query(rest="USING MINTOPK"),
        query(where="PARTITION BY v"),
        query(where="WITH PROBABILITY p"),
        query(rest="LATENESS 1 s LATE REVISE"),
        parse("SELECT TOP 3 id, x FROM s [RANGE 60 s SLIDE 10 s ON ts] ORDER BY x DESC"),
        parse("SELECT TOP 3 id FROM t [RANGE 60 s SLIDE 10 s ON ts] ORDER BY x DESC"),
        parse("SELECT TOP 3 id FROM s [RANGE 60 s SLIDE 10 s ON ts] ORDER BY x ASC"),
    ],
)
def test_what_must_not_differ(other: Query) -> None:
    assert together(a=query(), b=other) == [["a"], ["b"]]
    assert why_alone(other) is None or together(a=other, b=other) == [["a"], ["b"]]
    told = str(explain({"a": query(), "b": other}))
    assert "\nalone    b\nbecause  " in told


def test_uncertain_queries_share_a_window() -> None:
    def asked(semantics: str, window: str, rest: str = "FREQUENCY 2 s") -> Query:
        return query(window=window, where=f"WITH PROBABILITY p {semantics}", rest=rest)

    twenty = "RANGE 20 s ON ts"
    assert together(
        a=asked("", twenty),
        b=asked("AS U_KRANKS", twenty, "FREQUENCY 3 s"),
        c=asked("AS PT_K(0.3)", twenty, "FREQUENCY 3 s USING DP"),
        d=asked("", "RANGE 30 s ON ts"),
        e=asked("", twenty, "FREQUENCY 3 s USING NS"),
        f=asked("AS EXPECTED_RANK", twenty),
        g=asked("", "RANGE 20 s SLIDE 5 s ON ts", ""),
    ) == [["a", "b", "c"], ["d"], ["e"], ["f"], ["g"]]


Q1_TO_Q6 = [(3, 2), (2, 2), (4, 3), (3, 5), (5, 5), (2, 7)]


def the_papers(using: str = "") -> dict[str, Query]:
    return {
        f"q{n}": query(
            k, "RANGE 20 min ON ts", "WITH PROBABILITY p", rest=f"FREQUENCY {f} min {using}"
        )
        for n, (k, f) in enumerate(Q1_TO_Q6, 1)
    }


def test_the_papers_six_queries_are_explained_with_their_timeline() -> None:
    told = str(explain(the_papers()))
    assert "shared by  q1, q2, q3, q4, q5, q6" in told
    assert "plan       DP: 2.25 a minute" in told
    assert "costs      DP 2.25, GREEDY 2.25, INCO 3.833, IN 4.119, NS 5.719 a minute" in told
    assert "each query at the latest computation that its FREQUENCY allows" in told
    assert "of the time of NS" in told
    lines = told.splitlines()
    frequent = next(line for line in lines if line.startswith("q1, q2, q3 |"))
    others = next(line for line in lines if line.startswith("q4, q5, q6 |"))
    assert frequent.count("x") == 2 and others.count("x") == 1
    assert "in all  6 queries on s: one scan of each stream, 1 structure for 6 of them" in told


def test_the_same_as_plain_values() -> None:
    found = [known.to_dict() for known in explain(the_papers("USING GREEDY")).by_query.values()]
    assert [known["query"] for known in found] == list(the_papers())
    assert found[0]["shares_with"] == ["q2", "q3", "q4", "q5", "q6"]
    shared = found[0]["shared"]
    assert shared["plan"] == "GREEDY" and shared["cycle_us"] == 240_000_000
    assert [(e["at_us"], e["k"]) for e in shared["executions"]] == [
        (120_000_000, 4),
        (240_000_000, 5),
    ]
    assert round(shared["costs_a_minute"]["NS"], 3) == 5.719


def test_plans_are_those_of_the_queries_with_a_frequency_only() -> None:
    plan = SharedPlan({"a": query(), "b": query(k=5)})
    assert execution_plans(plan) == {} and plan.method is None
    mixed = SharedPlan({"a": query(), "b": query(window="RANGE 9 s ON ts", rest="FREQUENCY 2 s")})
    assert [demand.name for demand in mixed.demands] == ["b"]


def test_what_is_kept_together_is_less_than_one_by_one() -> None:
    plan = SharedPlan({f"q{n}": query(k=10 * n, window=f"RANGE {n} min SLIDE 10 s ON ts")
                       for n in range(1, 9)})  # fmt: skip
    known = explain(plan.queries).to_dict()
    assert known["shared"]["expected_kept"] < known["shared"]["expected_kept_one_by_one"] / 3
    assert "one by one they would keep" in str(explain(plan.queries))


def test_many_queries_are_explained_by_what_they_share() -> None:
    many = {f"q{n}": query(k=n) for n in range(1, 41)}
    told = str(explain(many))
    assert "shared by  q1, q2, q3, q4, q5, q6, q7 and 33 more" in told
    assert "query  " not in told and len(told.splitlines()) < 12
