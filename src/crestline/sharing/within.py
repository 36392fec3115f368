"""IN: queries of the same frequency are computed together (Chen et al., section 4).

An execution for the largest k among them also yields the answers for the smaller ones, so a group
costs its largest k divided by its frequency. Groups do not share with one another.

>>> from crestline.sharing.demand import Demand
>>> within([Demand("a", 2, 3), Demand("b", 2, 1), Demand("c", 4, 2)]).cost
Fraction(2, 1)
"""

from __future__ import annotations

from collections.abc import Sequence

from crestline.sharing.demand import Demand, groups
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan


def within(demands: Sequence[Demand]) -> ExecutionPlan:
    """Return a plan with one cycle per frequency."""
    return ExecutionPlan(
        "IN",
        tuple(
            Cycle(group.frequency, (Execution(group.frequency, group.k, group.members),))
            for group in groups(demands)
        ),
    )
