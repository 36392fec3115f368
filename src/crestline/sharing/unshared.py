"""NS: each query alone, at its own frequency (Chen et al., section 10: no sharing).

The yardstick for the other plans: queries cost the sum of k / f over all of them.

>>> from crestline.sharing.demand import Demand
>>> unshared([Demand("a", 2, 3), Demand("b", 2, 1)]).cost
Fraction(2, 1)
"""

from __future__ import annotations

from collections.abc import Sequence

from crestline.sharing.demand import Demand, groups
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan


def unshared(demands: Sequence[Demand]) -> ExecutionPlan:
    """Return a plan with one cycle per query."""
    groups(demands)  # refuses queries of the same name
    return ExecutionPlan(
        "NS",
        tuple(Cycle(d.frequency, (Execution(d.frequency, d.k, (d.name,)),)) for d in demands),
    )
