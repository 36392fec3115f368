"""How the engine follows plans: never at a higher price than without sharing, and never late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.sharing import PLANS, Demand, Schedule, SharedAgenda
from crestline.sharing import price as module
from crestline.sharing.price import followed, price
from sharing.asked import PAPER, demands

#: Prices at which computations cost next to nothing, and results next to nothing.
ONLY_RESULTS = {"TOGETHER": (1e-6, 0.0, 0.0), "ALONE": (1e-6, 0.0, 0.0)}
ONLY_COMPUTATIONS = {"RESULT": (1e-6, 0.0, 0.0)}


def price_in_the_agenda(plan: str, asked: list[Demand], span: int) -> float:
    """Nanoseconds per unit of time by what the operator is given: moments and who is answered."""
    agenda = SharedAgenda([None] * len(asked), Schedule(plan, asked), [d.name for d in asked])
    due, total = agenda.due(0, span), 0.0
    for i in range(len(due)):
        ks = [asked[q].k for q in due.query[due.offset[i] : due.offset[i + 1]]]
        prices = module.TOGETHER if len(ks) > 1 else module.ALONE
        total += module.nanoseconds(prices, max(ks))
        total += sum(module.nanoseconds(module.RESULT, k) for k in ks)
    return total / span


@given(demands(most=6, frequency=6, k=300))
def test_dp_is_never_dearer_than_ns(asked: list[Demand]) -> None:
    shared, alone = (price_in_the_agenda(plan, asked, 24 * 60) for plan in ("DP", "NS"))
    assert shared <= alone * (1 + 1e-9)


@given(demands(most=6, frequency=6, k=300))
def test_a_price_is_what_the_operator_is_given(asked: list[Demand]) -> None:
    plan = followed(PLANS["DP"](asked), asked)
    span = plan.length if len(plan.cycles) == 1 else 60
    assert price(plan, asked) == pytest.approx(price_in_the_agenda("DP", asked, span), rel=1e-9)


@pytest.mark.parametrize("prices", [ONLY_RESULTS, ONLY_COMPUTATIONS, {}])
@given(asked=demands(), data=st.data())
def test_nobody_waits_longer_than_asked_at_any_price(
    prices: dict[str, tuple[float, ...]], asked: list[Demand], data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in prices.items():
            patch.setattr(module, name, value)
        waits = followed(PLANS["DP"](asked), asked).longest_waits()
    assert waits.keys() == {demand.name for demand in asked}
    assert all(waits[demand.name] <= demand.frequency for demand in asked)


def test_what_is_dear_becomes_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only results cost, each query is answered as rarely as without sharing; where only
    computations do, there are as few as the plan has."""
    needed = sum(1 / demand.frequency for demand in PAPER)
    plan = PLANS["DP"](PAPER)

    def rates() -> tuple[float, float]:
        cycles = followed(plan, PAPER).cycles
        executions = [(e, cycle.length) for cycle in cycles for e in cycle.executions]
        return (
            sum(len(e.members) / length for e, length in executions),
            sum(1 / length for _, length in executions),
        )

    with monkeypatch.context() as patch:
        for name, value in ONLY_RESULTS.items():
            patch.setattr(module, name, value)
        assert rates()[0] == pytest.approx(needed)
    with monkeypatch.context() as patch:
        patch.setattr(module, "RESULT", ONLY_COMPUTATIONS["RESULT"])
        assert rates()[1] == pytest.approx(0.5)  # every two minutes
