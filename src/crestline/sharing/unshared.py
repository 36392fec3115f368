"""NS: each query by itself, at its own frequency (Chen et al., section 10: no sharing).

The yardstick for the other plans: x queries cost the sum of k / f over all of them.

>>> from crestline.sharing.demand import Demand
>>> unshared([Demand("a", 2, 3), Demand("b", 2, 1)]).cost
Fraction(2, 1)
"""

from __future__ import annotations

from collections.abc import Sequence

from crestline.sharing.demand import Demand, groups
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan


def unshared(demands: Sequence[Demand]) -> ExecutionPlan:
    """A cycle for each query."""
    groups(demands)  # refuses queries of the same name
    return ExecutionPlan(
        "NS",
        tuple(Cycle(d.frequency, (Execution(d.frequency, d.k, (d.name,)),)) for d in demands),
    )
