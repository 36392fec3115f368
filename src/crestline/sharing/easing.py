"""Fewer answers from the same plan: each query is answered as rarely as its frequency allows.

A plan of Chen et al. answers all queries of the groups that an execution serves, as that costs no
further array. But each answer makes result rows, and a query that needs one per minute does not
want sixty. So each query is answered at the latest execution that is not too late, again and again,
and skips the others. No execution that the plan needs is removed and none is added. The cost stays,
or falls where an execution serves no query any more, or only queries with a smaller k.

Cycles are first repeated until they are a few times as long as the longest frequency, since some
queries can skip whole cycles. At the end of a cycle all of its queries are answered.

>>> plan = ExecutionPlan("X", (Cycle(1, (Execution(1, 9, ("a", "b")),)),))
>>> (cycle,) = eased(plan, [Demand("a", 1, 9), Demand("b", 3, 2)]).cycles
>>> [(execution.at, execution.members) for execution in cycle.executions][:6]
[(1, ('a',)), (2, ('a',)), (3, ('a', 'b')), (4, ('a',)), (5, ('a',)), (6, ('a', 'b'))]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from crestline.sharing.demand import Demand
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan

#: A cycle becomes about this many times as long as the longest frequency in it.
_TIMES = 4
#: Above this number of pairs of an execution and a query, the plan stays as it is.
_MOST = 2_000_000


def eased(plan: ExecutionPlan, demands: Sequence[Demand]) -> ExecutionPlan:
    """Return the plan with no more answers than the frequencies require."""
    by_name = {demand.name: demand for demand in demands}
    return replace(plan, cycles=tuple(_eased(cycle, by_name) for cycle in plan.cycles))


def _eased(cycle: Cycle, demands: dict[str, Demand]) -> Cycle:
    names = list(dict.fromkeys(name for each in cycle.executions for name in each.members))
    longest = max((demands[name].frequency for name in names), default=0)
    pairs = sum(len(execution.members) for execution in cycle.executions)
    turns = max(1, min(_TIMES * longest // cycle.length, _MOST // max(1, pairs)))
    single = len(cycle.executions) == 1
    if pairs > _MOST or (single and longest < 2 * cycle.length):
        return cycle  # too large, or no query could be answered less often
    length = turns * cycle.length
    times = [
        turn * cycle.length + execution.at
        for turn in range(turns)
        for execution in cycle.executions
    ]
    answered: list[list[str]] = [[] for _ in times]
    members = {id(each.members): frozenset(each.members) for each in cycle.executions}
    serves = [members[id(each.members)] for each in cycle.executions]
    for name in names:
        indices = [
            turn * len(cycle.executions) + i
            for turn in range(turns)
            for i, served in enumerate(serves)
            if name in served
        ]
        served_at = [times[index] for index in indices]
        moment, frequency = served_at[-1] - length, demands[name].frequency
        while moment < served_at[-1]:
            latest = bisect_right(served_at, moment + frequency) - 1
            answered[indices[latest]].append(name)
            moment = served_at[latest]
    same: dict[tuple[str, ...], tuple[str, ...]] = {}  # equal tuples become one object
    executions = tuple(
        Execution(moment, max(demands[name].k for name in names), same.setdefault(names, names))
        for moment, names in zip(times, map(tuple, answered), strict=True)
        if names
    )
    return Cycle(length, executions)


__all__ = ["eased"]
