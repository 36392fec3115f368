"""INCO: the groups after the combination rule, each at its own frequency (Chen et al., section 5).

A group of longer frequency and no larger k is served together with one of shorter frequency and
costs nothing. The groups that remain do not share with one another.

>>> from crestline.sharing.demand import Demand
>>> inco([Demand("a", 2, 3), Demand("b", 2, 1), Demand("c", 4, 2)]).cost
Fraction(3, 2)
"""

from __future__ import annotations

from collections.abc import Sequence

from crestline.sharing.demand import Demand, combined, groups
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan


def inco(demands: Sequence[Demand]) -> ExecutionPlan:
    """Return a plan with one cycle per combined group."""
    return ExecutionPlan(
        "INCO",
        tuple(
            Cycle(group.frequency, (Execution(group.frequency, group.k, group.members),))
            for group in combined(groups(demands))
        ),
    )
