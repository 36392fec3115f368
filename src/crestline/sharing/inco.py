"""INCO: the groups after the combination rule, each at its own frequency (Chen et al., section 5).

Where a group of shorter frequency has a k as large or larger, the other is served along with it
and costs nothing. The groups that remain do not share with one another.

>>> from crestline.sharing.demand import Demand
>>> inco([Demand("a", 2, 3), Demand("b", 2, 1), Demand("c", 4, 2)]).cost
Fraction(3, 2)
"""

from __future__ import annotations

from collections.abc import Sequence

from crestline.sharing.demand import Demand, combined, groups
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan


def inco(demands: Sequence[Demand]) -> ExecutionPlan:
    """A cycle for each combined group."""
    return ExecutionPlan(
        "INCO",
        tuple(
            Cycle(group.frequency, (Execution(group.frequency, group.k, group.members),))
            for group in combined(groups(demands))
        ),
    )
