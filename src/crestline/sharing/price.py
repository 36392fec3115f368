"""What plans take in the engine: computations, and the results that are made of them.

The plans of Chen et al. make the sum of the k of all computations small. The engine's computations
stop after the few records that decide them, so a good part of its time goes into results: the top
of each query, and its rows. These do not depend on k alone, and plans differ in how many they have:
a query that is computed every 4 minutes where 5 would do has a quarter more.

So the engine follows DP in the cheapest of three ways (``followed``):

1. The plan as it is. A query is answered only where the plan serves it (``sharing.easing``).
2. The same computations, but each may serve every query: for a larger k where that makes results
   fewer.
3. Each query at the multiples of its own frequency; those that fall on one moment are computed
   together. No query has more results than it needs.

NS has the results of the third way and at least its computations, so none of them costs more.

The prices are nanoseconds, fitted to what a run of the engine took; only their ratios matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm

import numpy as np

from crestline.sharing.demand import Demand
from crestline.sharing.easing import eased
from crestline.sharing.plan import Execution, ExecutionPlan
from crestline.sharing.unshared import unshared

#: A computation for several queries, for one query, and a result with its rows: nanoseconds, then
#: those for each k, then those for each k * k.
TOGETHER = (5_000.0, 40.0, 0.3)
ALONE = (3_000.0, 50.0, 0.3)
RESULT = (500.0, 190.0, 0.1)
#: The most computations that are looked at to find out how many fall on one moment.
_MOST = 20_000


def nanoseconds(prices: tuple[float, float, float], k: int) -> float:
    """Return what a computation or a result takes for this k.

    >>> nanoseconds((100.0, 10.0, 1.0), 3)
    139.0
    """
    fixed, linear, square = prices
    return fixed + linear * k + square * k * k


def price(plan: ExecutionPlan, demands: Sequence[Demand]) -> float:
    """Return nanoseconds of the engine per unit of time. Computations of DP that fall on one moment
    are one."""
    merges = plan.name == "DP" and len(plan.cycles) > 1
    k = {demand.name: demand.k for demand in demands}
    results: dict[int, float] = {}  # by identity: plans use few tuples of members many times
    total = 0.0
    for cycle in plan.cycles:
        spent = 0.0
        for execution in cycle.executions:
            members = execution.members
            if id(members) not in results:
                results[id(members)] = sum(nanoseconds(RESULT, k[name]) for name in members)
            spent += results[id(members)]
            if not merges:
                spent += nanoseconds(TOGETHER if len(members) > 1 else ALONE, execution.k)
        total += spent / cycle.length
    return total + (_merged(demands) if merges else 0.0)


def _merged(demands: Sequence[Demand]) -> float:
    """Return nanoseconds per unit of time for the computations of queries that each run at the
    multiples of their own frequency."""
    rate = sum(1 / demand.frequency for demand in demands)
    span = min(lcm(*(demand.frequency for demand in demands)), max(1, int(_MOST / rate)))
    times = [np.arange(d.frequency, span + 1, d.frequency) for d in demands]
    k = np.repeat([float(d.k) for d in demands], [len(each) for each in times])
    every = np.concatenate(times)
    order = np.argsort(every, kind="stable")
    first = np.flatnonzero(np.diff(every[order], prepend=0))
    largest, count = np.maximum.reduceat(k[order], first), np.diff(first, append=len(every))
    total = 0.0
    for prices, some in ((ALONE, count == 1), (TOGETHER, count > 1)):
        for power, each in enumerate(prices):
            total += each * float((largest[some] ** power).sum())
    return total / span


def followed(plan: ExecutionPlan, demands: Sequence[Demand]) -> ExecutionPlan:
    """Return who is answered when, as the engine follows a plan: DP in the cheapest way, others as
    they are.

    >>> from crestline.sharing.dp import dp
    >>> demands = [Demand("a", 2, 50), Demand("b", 3, 51), Demand("c", 7, 52)]
    >>> plan = dp(demands)
    >>> [(execution.at, execution.members) for execution in plan.cycles[0].executions]
    [(2, ('a', 'b')), (4, ('a', 'b')), (6, ('a', 'b', 'c'))]
    >>> [(cycle.length, cycle.executions[0].members) for cycle in followed(plan, demands).cycles]
    [(2, ('a',)), (3, ('b',)), (7, ('c',))]
    """
    if plan.name != "DP" or not demands:
        return eased(plan, demands)
    own = replace(unshared(demands), name=plan.name, note=plan.note)
    ways = [eased(plan, demands), eased(_for_everyone(plan, demands), demands), own]
    return min(ways, key=lambda way: price(way, demands))


def _for_everyone(plan: ExecutionPlan, demands: Sequence[Demand]) -> ExecutionPlan:
    """Return the plan with every query in every computation."""
    everyone, k = tuple(demand.name for demand in demands), max(demand.k for demand in demands)
    cycles = [
        replace(cycle, executions=tuple(Execution(e.at, k, everyone) for e in cycle.executions))
        for cycle in plan.cycles
    ]
    return replace(plan, cycles=tuple(cycles))


__all__ = ["followed", "price"]
