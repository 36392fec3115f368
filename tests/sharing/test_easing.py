"""Who is answered at which computation: as seldom as a frequency allows, and no more seldom."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.sharing import PLANS, Demand
from crestline.sharing.easing import eased

ASKED = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 9)), min_size=1, max_size=8).map(
    lambda pairs: [Demand(f"q{i}", f, k) for i, (f, k) in enumerate(pairs)]
)


@pytest.mark.parametrize("plan", PLANS)
@given(asked=ASKED)
def test_no_answer_is_missing_and_none_could_be_left_out(plan: str, asked: list[Demand]) -> None:
    made = PLANS[plan](asked)
    found = eased(made, asked)
    assert found.cost <= made.cost
    waits = found.longest_waits()
    for demand in asked:
        assert waits[demand.name] <= demand.frequency
        (cycle,) = (
            cycle
            for cycle in found.cycles
            if any(demand.name in execution.members for execution in cycle.executions)
        )
        times = [0, *(e.at for e in cycle.executions if demand.name in e.members)]
        assert times[-1] == cycle.length  # where a cycle ends all are answered
        for (first, _), (_, third) in pairwise(pairwise(times)):
            assert third - first > demand.frequency
    for cycle in found.cycles:
        for execution in cycle.executions:
            assert execution.k == max(d.k for d in asked if d.name in execution.members)


def test_who_asks_seldom_is_answered_seldom() -> None:
    """With one query that is eager and large, the plan computes all of them all the time."""
    asked = [Demand("eager", 1, 100), *(Demand(f"q{i}", 40, 5) for i in range(10))]
    made = PLANS["DP"](asked)
    assert made.length == 1 and len(made.cycles[0].executions[0].members) == 11
    (cycle,) = eased(made, asked).cycles
    answers = sum(len(execution.members) for execution in cycle.executions)
    assert answers == cycle.length + 10 * cycle.length // 40
    assert made.cost == eased(made, asked).cost
