"""Who is answered at which computation of a plan: each query as seldom as its frequency allows.

A plan of Chen et al. answers all queries of the groups that a computation is for, as that costs no
further array. But it makes result rows, and who asks for one a minute does not want sixty. So of
the computations that could serve a query, it is answered at the latest that is not too late, again
and again; the others go without it. That takes no computation away which the plan needs and adds
none: the cost stays, or falls where nobody is left to answer or only those with a smaller k.

Cycles are first repeated until they are a few times as long as the longest frequency, since many a
query could be left out of whole cycles. Where one ends all of its queries are answered.

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

#: A cycle becomes about so many times as long as the longest frequency in it.
_TIMES = 4
#: Beyond so many pairs of a computation and a query, all are answered as the plan has it.
_MOST = 2_000_000


def eased(plan: ExecutionPlan, demands: Sequence[Demand]) -> ExecutionPlan:
    """The plan with no more answers than the frequencies ask for."""
    known = {demand.name: demand for demand in demands}
    return replace(plan, cycles=tuple(_eased(cycle, known) for cycle in plan.cycles))


def _eased(cycle: Cycle, known: dict[str, Demand]) -> Cycle:
    names = list(dict.fromkeys(name for each in cycle.executions for name in each.members))
    longest = max((known[name].frequency for name in names), default=0)
    pairs = sum(len(execution.members) for execution in cycle.executions)
    turns = max(1, min(_TIMES * longest // cycle.length, _MOST // max(1, pairs)))
    single = len(cycle.executions) == 1
    if pairs > _MOST or (single and longest < 2 * cycle.length):
        return cycle  # too large, or nobody could be answered less often
    length = turns * cycle.length
    times = [
        turn * cycle.length + execution.at
        for turn in range(turns)
        for execution in cycle.executions
    ]
    answered: list[list[str]] = [[] for _ in times]
    for name in names:
        mine = [
            turn * len(cycle.executions) + place
            for turn in range(turns)
            for place, execution in enumerate(cycle.executions)
            if name in execution.members
        ]
        own = [times[place] for place in mine]
        at, frequency = own[-1] - length, known[name].frequency
        while at < own[-1]:
            latest = bisect_right(own, at + frequency) - 1
            answered[mine[latest]].append(name)
            at = own[latest]
    same: dict[tuple[str, ...], tuple[str, ...]] = {}
    executions = tuple(
        Execution(at, max(known[name].k for name in whose), same.setdefault(whose, whose))
        for at, whose in zip(times, map(tuple, answered), strict=True)
        if whose
    )
    return Cycle(length, executions)


__all__ = ["eased"]
