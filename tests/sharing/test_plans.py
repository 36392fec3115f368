"""Plans keep every frequency, cost what the paper says, and DP costs the least there is."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given

from crestline.core.errors import CrestlineError, PlanError
from crestline.sharing import PLANS, Cycle, Demand, Execution, ExecutionPlan, combined, groups
from crestline.sharing import dp as dp_module
from crestline.sharing.dp import dp, table
from crestline.sharing.greedy import greedy, steps
from sharing.asked import EXAMPLE_2, PAPER, demands, rising

Planned = Callable[[list[Demand]], ExecutionPlan]

# --- the paper's numbers -------------------------------------------------------------------------


def test_the_groups_of_the_paper() -> None:
    apart = groups(PAPER)
    assert [(g.frequency, g.k, g.members) for g in apart] == [
        (2, 3, ("q1", "q2")), (3, 4, ("q3",)), (5, 5, ("q4", "q5")), (7, 2, ("q6",)),
    ]  # fmt: skip
    assert [(g.frequency, g.k, g.members) for g in combined(apart)] == [
        (2, 3, ("q1", "q2")), (3, 4, ("q3",)), (5, 5, ("q4", "q5", "q6")),
    ]  # fmt: skip


@given(demands())
def test_what_is_combined_rises_in_frequency_and_k(asked: list[Demand]) -> None:
    apart = groups(asked)
    joined = combined(apart)
    assert all(a.frequency < b.frequency and a.k < b.k for a, b in pairwise(joined))
    assert sorted(m for g in joined for m in g.members) == sorted(d.name for d in asked)
    for demand in asked:
        (host,) = [g for g in joined if demand.name in g.members]
        assert host.frequency <= demand.frequency
        assert host.k >= demand.k


def test_tables_5_and_6() -> None:
    assert table(combined(groups(PAPER))).tolist() == [
        [0, 0, 3, 3, 6],
        [0, 0, 3, 4, 7],
        [0, 0, 3, 4, 7],
    ]


def test_table_7() -> None:
    assert steps(combined(groups(PAPER))) == [(2, 3), (2, 4), (4, 9)]
    # row 2 goes on to 4, where G_3 then takes the place of G_2
    assert steps(rising([2, 3, 5], [3, 4, 4]))[-1] == (4, 8)


def shown(plan: ExecutionPlan) -> list[tuple[int, int]]:
    (cycle,) = plan.cycles
    assert cycle.executions[-1].at == cycle.length
    return [(execution.at, execution.k) for execution in cycle.executions]


@pytest.mark.parametrize("plan", [dp, greedy])
def test_the_best_plan_of_the_paper(plan: Planned) -> None:
    made = plan(PAPER)
    assert made.cost == Fraction(9, 4)
    assert shown(made) == [(2, 4), (4, 5)]
    first, second = made.cycles[0].executions
    assert first.members == ("q1", "q2", "q3")
    assert second.members == ("q1", "q2", "q3", "q4", "q5", "q6")


@pytest.mark.parametrize("plan", [dp, greedy])
def test_example_2_where_the_paper_misapplies_its_own_rule(plan: Planned) -> None:
    made = plan(EXAMPLE_2)
    assert made.cost == Fraction(7, 60)
    assert shown(made) == [(30, 3), (60, 4)]


def test_without_sharing_between_groups() -> None:
    made = PLANS["INCO"](PAPER)
    in_5_minutes = sum(e.k * (5 // c.length) for c in made.cycles for e in c.executions)
    assert in_5_minutes == 15
    assert made.cost == Fraction(3, 2) + Fraction(4, 3) + 1
    assert PLANS["IN"](PAPER).cost == made.cost + Fraction(2, 7)
    assert PLANS["NS"](PAPER).cost == PLANS["IN"](PAPER).cost + 1 + Fraction(1, 5)


def test_a_plan_in_the_middle_of_the_paper() -> None:
    """Figure 3: 12/5 a minute."""
    a, b, c = ("a",), ("a", "b"), ("a", "b", "c")
    cycle = Cycle(5, (Execution(2, 4, b), Execution(4, 3, a), Execution(5, 5, c)))
    plan = ExecutionPlan("figure 3", (cycle,))
    assert plan.cost == Fraction(12, 5)
    assert plan.longest_waits() == {"a": 2, "b": 3, "c": 5}
    # Around the end of the cycle: a from 4 to 1 + 5, b from 1 to 1 + 5.
    early = Cycle(5, (Execution(1, 4, b), Execution(4, 3, a)))
    assert ExecutionPlan("early", (early,)).longest_waits() == {"a": 3, "b": 5}


# --- every plan ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
@given(demands())
def test_every_plan_keeps_every_frequency(name: str, asked: list[Demand]) -> None:
    plan = PLANS[name](asked)
    assert plan.name == name
    assert plan.note == ""
    waits = plan.longest_waits()
    assert waits.keys() == {demand.name for demand in asked}
    assert all(waits[demand.name] <= demand.frequency for demand in asked)
    k = {demand.name: demand.k for demand in asked}
    for cycle in plan.cycles:
        times = [execution.at for execution in cycle.executions]
        assert times == sorted(set(times))
        assert times[0] > 0
        assert times[-1] <= cycle.length
        for execution in cycle.executions:
            assert execution.k == max(k[member] for member in execution.members)
            assert len(set(execution.members)) == len(execution.members)
    spent = sum(Fraction(e.k, c.length) for c in plan.cycles for e in c.executions)
    assert plan.cost == spent


@given(demands())
def test_what_each_plan_costs_against_the_others(asked: list[Demand]) -> None:
    cost = {name: plan(asked).cost for name, plan in PLANS.items()}
    assert cost["NS"] >= cost["IN"] >= cost["INCO"] >= cost["DP"]
    assert cost["DP"] <= cost["GREEDY"] <= 2 * cost["DP"]
    assert cost["NS"] == sum(Fraction(d.k, d.frequency) for d in asked)
    assert cost["IN"] == sum(Fraction(g.k, g.frequency) for g in groups(asked))


def test_greedy_may_cost_more_than_not_sharing_at_all() -> None:
    asked = [Demand("often", 2, 1), Demand("much", 3, 100)]
    assert PLANS["NS"](asked).cost < greedy(asked).cost == 50 < 2 * dp(asked).cost


def test_greedy_comes_near_its_bound() -> None:
    asked = [Demand("a", 1000, 1), Demand("b", 1999, 1000)]
    assert 1.99 < greedy(asked).cost / dp(asked).cost <= 2


@given(demands(frequency=12))
def test_greedy_follows_its_rule(asked: list[Demand]) -> None:
    given_groups = combined(groups(asked))
    plan, rule = greedy(asked), steps(given_groups)
    assert (plan.length, plan.cost) == (rule[-1][0], Fraction(rule[-1][1], rule[-1][0]))
    times = [[e.at for e in plan.cycles[0].executions if g.members[0] in e.members]
             for g in given_groups]  # fmt: skip
    for (before, these), group in zip(pairwise(times), given_groups[1:], strict=True):
        assert set(these) <= set(before)
        # the last execution of the group before that is not too late
        again = [t + plan.length * turn for turn in range(3) for t in before]
        assert these[0] == max(t for t in again if t <= group.frequency)


@pytest.mark.parametrize("name", PLANS)
def test_odd_demands(name: str) -> None:
    assert PLANS[name]([]).cost == 0
    assert PLANS[name]([]).cycles == ()
    one = PLANS[name]([Demand("q", 7, 3)])
    assert one.cycles == (Cycle(7, (Execution(7, 3, ("q",)),)),)
    with pytest.raises(CrestlineError, match="two queries are called 'q'"):
        PLANS[name]([Demand("q", 7, 3), Demand("q", 8, 3)])


@pytest.mark.parametrize(("frequency", "k"), [(0, 1), (1, 0), (-5, 1)])
def test_demands_that_cannot_be(frequency: int, k: int) -> None:
    with pytest.raises(CrestlineError, match="both must be 1 or more"):
        Demand("q", frequency, k)


# --- DP is optimal -------------------------------------------------------------------------------


def cheapest_by_trying_all(frequencies: list[int], k: list[int]) -> Fraction:
    """Every way to execute nothing, or the groups up to some one, at every time of a cycle."""
    best = None
    for length in range(1, frequencies[-1] + 1):
        for inner in product(range(len(k) + 1), repeat=length - 1):  # 0: nothing
            levels = [*inner, len(k)]
            for i, frequency in enumerate(frequencies, start=1):
                times = [0, *(t for t, level in enumerate(levels, start=1) if level >= i)]
                if any(later - earlier > frequency for earlier, later in pairwise(times)):
                    break
            else:
                cost = Fraction(sum(k[level - 1] for level in levels if level), length)
                best = cost if best is None else min(best, cost)
    assert best is not None
    return best


def cheapest_by_walking(frequencies: list[int], k: list[int]) -> Fraction:
    """The same for larger cases: step by step through all (time since each group's execution)."""
    reached = {(0,) * len(k): 0}
    best = None
    for length in range(1, frequencies[-1] + 1):
        following: dict[tuple[int, ...], int] = {}
        for ages, cost in reached.items():
            older = tuple(age + 1 for age in ages)
            if any(age > frequency for age, frequency in zip(older, frequencies, strict=True)):
                continue
            for level in range(len(k)):
                state = (0,) * level + older[level:]
                paid = cost + (k[level - 1] if level else 0)
                following[state] = min(paid, following.get(state, paid))
            rate = Fraction(cost + k[-1], length)
            best = rate if best is None else min(best, rate)
        reached = following
    assert best is not None
    return best


def asked_for(frequencies: list[int], k: list[int]) -> list[Demand]:
    return [Demand(f"q{i}", f, k) for i, (f, k) in enumerate(zip(frequencies, k, strict=True))]


def test_dp_is_the_best_of_all_plans() -> None:
    """All sets of up to three frequencies from 1 to 6."""
    drawn = random.Random(1)
    for size in (1, 2, 3):
        for frequencies in combinations(range(1, 7), size):
            for most in (4, 12, 100):
                k = sorted(drawn.sample(range(1, most + 1), size))
                best = cheapest_by_trying_all(list(frequencies), k)
                assert dp(asked_for(list(frequencies), k)).cost == best, (frequencies, k)
                assert cheapest_by_walking(list(frequencies), k) == best, (frequencies, k)


def test_dp_is_the_best_of_all_plans_of_larger_cases() -> None:
    drawn = random.Random(2)
    for _ in range(3_000):
        size = drawn.randint(2, 4)
        frequencies = sorted(drawn.sample(range(1, drawn.choice((6, 9, 14)) + 1), size))
        k = sorted(drawn.sample(range(1, drawn.choice((4, 8, 40)) + 1), size))
        unit = drawn.choice((1, 1, 7, 1_000_000))
        plan = dp(asked_for([f * unit for f in frequencies], k))
        assert plan.cost * unit == cheapest_by_walking(frequencies, k), (frequencies, k)
        assert all(
            wait <= f * unit
            for wait, f in zip(plan.longest_waits().values(), frequencies, strict=True)
        )


def by_equation_7(frequencies: list[int], k: list[int]) -> list[list[int]]:
    """The paper's recursion as it stands."""

    @cache
    def cost(i: int, t: int) -> int:
        f = frequencies[i - 1]
        if i == 1:
            return t // f * k[0]
        if t < f:
            return cost(i - 1, t)
        return min(
            cost(i, last - 1) + k[i - 1] + cost(i, t - last) for last in range(t - f + 1, t + 1)
        )

    return [[cost(i, t) for t in range(frequencies[-1])] for i in range(1, len(k) + 1)]


def test_the_table_is_that_of_equation_7() -> None:
    drawn = random.Random(3)
    for _ in range(300):
        size = drawn.randint(1, 6)
        frequencies = sorted(drawn.sample(range(1, drawn.choice((8, 30, 60)) + 1), size))
        k = sorted(drawn.sample(range(1, 30), size))
        given_groups = rising(frequencies, k)
        assert table(given_groups).tolist() == by_equation_7(frequencies, k), (frequencies, k)


def test_of_equal_plans_the_one_with_fewer_executions() -> None:
    drawn = random.Random(5)
    for _ in range(300):
        size = drawn.randint(2, 4)
        frequencies = sorted(drawn.sample(range(1, 10), size))
        k = sorted(drawn.sample(range(1, 7), size))
        plan = dp(asked_for(frequencies, k))
        few = fewest_of_the_cheapest(frequencies, k)
        assert Fraction(len(plan.cycles[0].executions), plan.length) == few, (frequencies, k)


def fewest_of_the_cheapest(frequencies: list[int], k: list[int]) -> Fraction:
    """Executions per unit of time; found with costs that carry them as a small part."""
    large = 10**6
    cost = cheapest_by_walking(frequencies, [large * each + 1 for each in k])
    return cost - large * cheapest_by_walking(frequencies, k)


# --- large and too large -------------------------------------------------------------------------


def test_long_frequencies_are_planned_in_seconds() -> None:
    """The paper's own loops would take minutes: 40 groups, 40,000 units, few of them multiples."""
    for shortest in (1, 97, 1_000):
        frequencies = [shortest, *(shortest + 39 * 25 * i + i % 7 for i in range(1, 40))]
        asked = asked_for([*frequencies, 40_000], list(range(1, 42)))
        begin = time.perf_counter()
        plan = dp(asked)
        assert time.perf_counter() - begin < 10
        assert plan.note == ""
        assert (
            greedy(asked).cost / 2
            <= plan.cost
            <= min(greedy(asked).cost, PLANS["INCO"](asked).cost)
        )
        waits = plan.longest_waits()
        assert all(waits[demand.name] <= demand.frequency for demand in asked)


def test_a_day_in_microseconds() -> None:
    second = 1_000_000
    asked = asked_for([second, 60 * second, 86_400 * second], [1, 5, 10])
    for plan in (dp(asked), greedy(asked)):
        assert plan.length == 86_400 * second
        assert len(plan.cycles[0].executions) == 86_400
        assert plan.cost * plan.length == 86_400 + 4 * 1_440 + 5


def test_where_the_optimum_is_too_far_the_greedy_plan_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = asked_for([1_000, 200_001], [1, 2])
    plan = dp(asked)
    assert "greedy" in plan.note
    assert "200,001" in plan.note
    assert (plan.name, plan.cycles) == ("DP", greedy(asked).cycles)
    assert dp(asked_for([100_000, 200_000], [1, 2])).note == ""
    asked = asked_for([1, 5, 30], [1, 2, 3])
    assert dp(asked).note == ""
    monkeypatch.setattr(dp_module, "MOST_WORK", 10)
    assert "greedy" in dp(asked).note
    monkeypatch.undo()
    assert "greedy" in dp(asked_for([1, 5, 30], [1, 2, 10**18])).note


@pytest.mark.parametrize("name", ["DP", "GREEDY"])
def test_a_cycle_that_is_too_long_to_write_out(name: str) -> None:
    asked = asked_for([1, 1_000_001], [1, 2])
    with pytest.raises(PlanError, match="1,000,001 executions, more than 1,000,000"):
        PLANS[name](asked)
    assert PLANS["INCO"](asked).cost == 1 + Fraction(2, 1_000_001)


def test_too_many_executions_of_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crestline.sharing.plan.MOST_EXECUTIONS", 10)
    with pytest.raises(PlanError, match="11 executions"):
        dp(asked_for([1, 11], [1, 2]))
    assert len(dp(asked_for([1, 10], [1, 2])).cycles[0].executions) == 10


def test_plans_do_not_depend_on_the_order_of_the_demands() -> None:
    drawn = random.Random(4)
    asked = [Demand(f"q{i}", drawn.randint(1, 30), drawn.randint(1, 9)) for i in range(12)]
    shuffled = drawn.sample(asked, len(asked))
    for plan in PLANS.values():
        assert plan(asked).cost == plan(shuffled).cost


def test_the_table_holds_whole_numbers() -> None:
    assert table(rising([2, 3], [1, 2])).dtype == np.int64
