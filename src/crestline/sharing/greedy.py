"""GREEDY: each group at a fixed multiple of the group before (Chen et al., section 8).

**Idea.** The combined groups G_1..G_g have rising frequencies f and rising k. G_1 is executed every
t_1 = f_1. G_i is executed at the last execution of G_(i-1) that is not too late, every

    t_i = (f_i // t_(i-1)) * t_(i-1),

and all groups before it along with it, so that an execution at level i costs k_i. Each t_i is a
multiple of the one before; t_g is the cycle.

**Cost.** O(g) to find the t_i and the cost of a cycle: that of level i is (t_i / t_(i-1)) times
that of level i-1, less one k_(i-1), plus one k_i. Writing the plan out takes its executions,
t_g / f_1. As t_i is more than f_i / 2, the plan costs at most twice the optimum (Theorem 8.2).

**Errata.** Algorithm 2 sets GAcost[f_1] to f_1; it is k_1. In Query Example 2 the rule gives
{(30, 2), (60, 3)}, the optimum, and not {(30, 1), (51, 3)}.

>>> from crestline.sharing.demand import Demand
>>> [(e.at, e.k) for e in greedy([Demand("a", 30, 2), Demand("b", 51, 3), Demand("c", 60, 4)])
...  .cycles[0].executions]
[(30, 3), (60, 4)]
"""

from __future__ import annotations

from collections.abc import Sequence

from crestline.sharing.demand import Demand, Group, combined, groups
from crestline.sharing.plan import ExecutionPlan, check_executions, of_levels


def steps(combined_groups: Sequence[Group]) -> list[tuple[int, int]]:
    """Return for each group (t_i, the cost of the first i groups from 0 to t_i)."""
    periods: list[tuple[int, int]] = []
    for i, group in enumerate(combined_groups):
        if i == 0:
            periods.append((group.frequency, group.k))
            continue
        before, cost = periods[-1]
        times = group.frequency // before
        periods.append((times * before, times * cost - combined_groups[i - 1].k + group.k))
    return periods


def greedy(demands: Sequence[Demand], note: str = "", name: str = "GREEDY") -> ExecutionPlan:
    """Return the plan of the greedy rule."""
    ordered = combined(groups(demands))
    if not ordered:
        return ExecutionPlan(name, (), note)
    periods = [t for t, _ in steps(ordered)]
    shortest, length = periods[0], periods[-1]
    check_executions(name, length // shortest, ordered)
    level = [0] * (length // shortest)
    for i, period in enumerate(periods):
        step = period // shortest
        level[step - 1 :: step] = [i] * (length // period)
    moments = [((index + 1) * shortest, i) for index, i in enumerate(level)]
    return of_levels(name, ordered, length, moments, note)
