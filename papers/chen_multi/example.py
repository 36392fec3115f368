"""The paper's examples: Tables 1 to 3, section 4, Query Examples 1 and 2 with Tables 5 to 7.

Worlds, the array of section 4 and the search through all plans are worked out here from their
definitions; probabilities and answers are asked of the engine, groups and plans of
`crestline.sharing`. Both are compared with `expected.json`.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

import crestline
from crestline.sharing import PLANS, Cycle, Demand, Execution, ExecutionPlan, combined, groups
from crestline.sharing.dp import table
from crestline.sharing.greedy import steps as greedy_steps

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text())
#: Sums of a few products of decimal fractions are right to so many digits.
DIGITS = 12
QUERIES = [
    Demand(name, *EXPECTED["queries"][name]) for name in ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
]
COMBINED = combined(groups(QUERIES))
EXAMPLE_2 = [
    Demand(f"G{i}", f, k)
    for i, (f, k) in enumerate(
        zip(EXPECTED["example_2"]["frequency"], EXPECTED["example_2"]["k"], strict=True), 1
    )
]


# -- Tables 1 to 3 --------------------------------------------------------------------------------


def readings() -> pa.Table:
    """Table 1, on some day."""
    rows = [
        {"id": id, "ts": datetime(2013, 8, 1, int(at[:2]), int(at[3:]), tzinfo=UTC),
         "speed": speed, "p": p, "sensor": sensor, "rule": rule}
        for id, at, speed, p, sensor, rule in EXPECTED["table_1"]["records"]
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def worlds() -> list[list[Any]]:
    """Each possible world with its probability, its top 2 and its top 3; records by their names."""
    records = EXPECTED["table_1"]["records"]
    units: dict[str, list[Any]] = {}
    for record in records:
        units.setdefault(record[5] or record[0], []).append(record)
    found: dict[str, list[Any]] = {}
    for chosen in product(*[[*unit, None] for unit in units.values()]):
        chance = 1.0
        for unit, one in zip(units.values(), chosen, strict=True):
            chance *= 1 - sum(r[3] for r in unit) if one is None else one[3]
        if chance > 1e-12:
            ranked = sorted((r for r in chosen if r is not None), key=lambda r: -r[2])
            names = [r[0] for r in ranked]
            world, two, three = (" ".join(sorted(some)) for some in (names, names[:2], names[:3]))
            found[world] = [world, round(chance, DIGITS), two, three]
    return [found[world] for world, *_ in EXPECTED["table_2"]["worlds"] if world in found]


def tables_1_to_3() -> dict[str, Any]:
    """The worlds, what they say of each record, what the engine says, and its answers."""
    known, table_1 = worlds(), readings()
    from_worlds = {
        str(k): {
            id: round(sum(w[1] for w in known if id in w[k].split()), DIGITS)
            for id in table_1.column("id").to_pylist()
        }
        for k in (2, 3)
    }
    asked = "SELECT TOP {} id FROM s [RANGE 20 MINUTES SLIDE 2 MINUTES ON ts] WITH PROBABILITY p"
    tail = " EXCLUSIVE BY rule {} ORDER BY speed DESC"
    by_engine = {
        str(k): {
            id: round(p, DIGITS)
            for id, p in _at_22(
                crestline.run((asked + tail).format(k, "AS PT_K(1e-9)"), {"s": table_1}).to_arrow(),
                "id", "probability",
            )
        }
        for k in (2, 3)
    }  # fmt: skip
    text = ";\n".join(
        f"CREATE QUERY {d.name} AS SELECT TOP {d.k} id FROM s [RANGE 20 MINUTES ON ts]"
        f" WITH PROBABILITY p EXCLUSIVE BY rule ORDER BY speed DESC"
        f" FREQUENCY {d.frequency} MINUTES USING DP"
        for d in QUERIES
    )
    together = crestline.run(text, {"s": table_1})
    answers = {
        d.name: sorted(id for (id,) in _at_22(together.of(d.name), "id")) for d in QUERIES[:2]
    }
    return {"worlds": known, "pr": from_worlds, "engine": by_engine, "answers": answers}


def _at_22(results: pa.Table, *columns: str) -> list[tuple[Any, ...]]:
    """What was told at 9:22, when all six readings are in the window."""
    rows = [r for r in results.to_pylist() if r["window_end"].minute == 22]
    return sorted(tuple(row[column] for column in columns) for row in rows)


# -- section 4 ------------------------------------------------------------------------------------


def exactly(probability: list[float], k: int) -> list[list[float]]:
    """Recursion (2): entry (i, j) is the probability that j < k records above record i exist."""
    rows = [[1.0] + [0.0] * (k - 1)]
    for p in probability[:-1]:
        row = rows[-1]
        rows.append([(1 - p) * row[j] + (p * row[j - 1] if j else 0.0) for j in range(k)])
    return rows


def section_4() -> dict[str, Any]:
    given = EXPECTED["section_4"]["probability"]
    rows = [[round(value, DIGITS) for value in row] for row in exactly(given, 3)]
    start = datetime(2013, 8, 1, tzinfo=UTC)
    stream = pa.Table.from_pylist(
        [{"id": f"T{i}", "ts": start, "value": -i, "p": p} for i, p in enumerate(given, 1)]
    )
    engine = {}
    for k in (2, 3):
        told = crestline.run(
            f"SELECT TOP {k} id FROM s [RANGE 1 MINUTE SLIDE 1 MINUTE ON ts] WITH PROBABILITY p"
            " AS PT_K(1e-9) ORDER BY value DESC",
            {"s": stream},
        ).to_arrow()
        engine[str(k)] = {row["id"]: round(row["probability"], DIGITS) for row in told.to_pylist()}[
            "T3"
        ]
    by_hand = {str(k): round(given[2] * sum(rows[2][:k]), DIGITS) for k in (2, 3)}
    return {"exactly": rows, "T3": by_hand, "T3_engine": engine}


# -- Query Example 1 ------------------------------------------------------------------------------


def choices(t: int) -> dict[str, int]:
    """Table 6: what the last execution of G_2 in [0, t] costs, by its time."""
    cost, (f, k) = table(COMBINED)[1], (COMBINED[1].frequency, COMBINED[1].k)
    return {str(last): int(cost[last - 1] + k + cost[t - last]) for last in range(t - f + 1, t + 1)}


def cost_over_time(plan: list[list[int]]) -> list[int]:
    """Gcost(t) of (3), for t = 1 up to the end of the cycle."""
    found, total = [], 0
    for t in range(1, plan[-1][-1] + 1):
        total += max((g.k for g, at in zip(COMBINED, plan, strict=True) if t in at), default=0)
        found.append(total)
    return found


def in_5(frequencies: dict[int, int]) -> int:
    """What the combined groups cost in 5 minutes, each by itself; some at another frequency, and
    then together with the group that has it."""
    due: dict[int, dict[int, int]] = {}
    for i, group in enumerate(COMBINED):
        f = frequencies.get(i, group.frequency)
        for t in range(f, 6, f):
            due.setdefault(t, {})[f] = max(group.k, due.get(t, {}).get(f, 0))
    return sum(k for at in due.values() for k in at.values())


def best_of_all(given: list[tuple[int, int]]) -> tuple[Fraction, list[tuple[int, int]]]:
    """The least cost a unit of time among all plans, by trying them: (frequency, k) ascending."""
    best: tuple[Fraction, list[tuple[int, int]]] | None = None
    for length in range(1, given[-1][0] + 1):
        for levels in product(range(len(given) + 1), repeat=length - 1):
            plan = [(t, level) for t, level in enumerate((*levels, len(given)), 1) if level]
            if all(_in_time(plan, i, f) for i, (f, _) in enumerate(given, 1)):
                cost = Fraction(sum(given[level - 1][1] for _, level in plan), length)
                if best is None or cost < best[0]:
                    best = cost, [(t, given[level - 1][1]) for t, level in plan]
    assert best is not None
    return best


def _in_time(plan: list[tuple[int, int]], group: int, frequency: int) -> bool:
    times = [0, *(t for t, level in plan if level >= group)]
    return all(b - a <= frequency for a, b in zip(times, times[1:], strict=False))


def shown(plan: ExecutionPlan) -> list[list[int]]:
    """The times of a cycle with the k of each computation."""
    (cycle,) = plan.cycles
    return [[e.at, e.k] for e in cycle.executions]


def figure_3() -> ExecutionPlan:
    """The plan of Figure 3, for a picture."""
    members = [tuple(name for g in COMBINED[: i + 1] for name in g.members) for i in range(3)]
    at = {2: 1, 4: 0, 5: 2}
    return ExecutionPlan(
        "Figure 3",
        (Cycle(5, tuple(Execution(t, COMBINED[i].k, members[i]) for t, i in at.items())),),
    )


def query_examples() -> dict[str, Any]:
    apart = [[g.frequency, g.k, " ".join(g.members)] for g in groups(QUERIES)]
    joined = [[g.frequency, g.k, " ".join(g.members)] for g in COMBINED]
    third, fourth = (EXPECTED["plans"][name]["plan"] for name in ("figure_3", "figure_4"))
    cost, plan = best_of_all([(g.frequency, g.k) for g in COMBINED])
    return {
        "groups": {"before": apart, "after": joined},
        "tables_5_6": {
            "cost": table(COMBINED).tolist(), "choices": {"3": choices(3), "4": choices(4)},
        },
        "table_7": {
            "first": [list(step) for step in greedy_steps(COMBINED)],
            "row_2_at_4": 2 * greedy_steps(COMBINED)[1][1],
        },
        "plans": {
            "naive_in_5": in_5({}),
            "second_every_2_in_5": in_5({1: 2}),
            "figure_3": cost_over_time(third),
            "figure_4": cost_over_time(fourth),
            "tried": [_pair(cost), [list(at) for at in plan]],
            "DP": [_pair(PLANS["DP"](QUERIES).cost), shown(PLANS["DP"](QUERIES))],
            "GREEDY": [_pair(PLANS["GREEDY"](QUERIES).cost), shown(PLANS["GREEDY"](QUERIES))],
            "a_minute": {name: float(make(QUERIES).cost) for name, make in PLANS.items()},
        },
        "example_2": {
            name: [_pair(PLANS[name](EXAMPLE_2).cost), shown(PLANS[name](EXAMPLE_2))]
            for name in ("DP", "GREEDY")
        },
    }  # fmt: skip


def _pair(cost: Fraction) -> list[int]:
    return [cost.numerator, cost.denominator]


# -- all of it ------------------------------------------------------------------------------------


def steps() -> dict[str, Any]:
    return {"tables_1_to_3": tables_1_to_3(), "section_4": section_4(), **query_examples()}


def agreement(obtained: dict[str, Any]) -> dict[str, bool]:
    """Whether each example is exactly the paper's, with its errata."""
    first, fourth, third = obtained["tables_1_to_3"], obtained["section_4"], EXPECTED["table_3"]
    right = {k: third[k] for k in ("2", "3")}
    array, plans, printed = EXPECTED["section_4"], obtained["plans"], EXPECTED["plans"]
    best = [printed["best"], [[2, 4], [4, 5]]]
    second = [EXPECTED["example_2"]["best"], EXPECTED["example_2"]["best_plan"]]
    t3 = {"2": array["pr_2_of_T3"], "3": array["pr_3_of_T3"]}
    return {
        "worlds": first["worlds"] == EXPECTED["table_2"]["worlds"]
        and first["pr"] == first["engine"] == right
        and first["answers"] == third["answers"],
        "section_4": fourth["exactly"][:3] == array["exactly"]
        and fourth["T3"] == fourth["T3_engine"] == t3,
        "groups": obtained["groups"] == {n: EXPECTED["groups"][n] for n in ("before", "after")},
        "tables_5_6": all(
            found == EXPECTED["tables_5_6"][n] for n, found in obtained["tables_5_6"].items()
        ),
        "table_7": all(found == EXPECTED["table_7"][n] for n, found in obtained["table_7"].items()),
        "best_plan": plans["naive_in_5"] == printed["naive_in_5"]
        and plans["second_every_2_in_5"] == printed["second_every_2_in_5"]
        and plans["figure_3"] == printed["figure_3"]["cost"]
        and [plans["figure_4"][-1], 4] == printed["figure_4"]["a_minute"]
        and plans["tried"] == plans["DP"] == plans["GREEDY"] == best,
        "example_2": obtained["example_2"]["DP"] == obtained["example_2"]["GREEDY"] == second,
    }
