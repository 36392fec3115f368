"""Latency: a plan replayed on a machine that computes one thing after the other.

What a computation takes has been measured. The machine is slower by a factor, so that it is loaded
to about 100 % by NS at the default setting; on the machine at hand nothing would ever be late. Its
computations wait in one queue, first come first served, those of the same moment in the order of
the plan. Every computation gives the results of all that it could, as in the paper; the engine
leaves out those that are not due yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crestline.planner.timeline import executions_until
from crestline.sharing import PLANS, Demand, Execution


def replay(
    plan: str, demands: Sequence[Demand], seconds: Callable[[Execution], float], horizon: int
) -> dict[str, float]:
    """Over the horizon: *delay* is the mean time from when a result was due to when it was there;
    *late* is the paper's latency, for each query the sum of what two results that follow one
    another were further apart than its frequency, averaged over the queries."""
    free, waited, results = 0.0, 0.0, 0
    last = dict.fromkeys((d.name for d in demands), 0.0)
    late = dict.fromkeys(last, 0.0)
    frequency = {d.name: d.frequency for d in demands}
    for execution in executions_until(PLANS[plan](demands), horizon):
        free = max(free, execution.at) + seconds(execution)
        waited += (free - execution.at) * len(execution.members)
        results += len(execution.members)
        for name in execution.members:
            late[name] += max(0.0, free - last[name] - frequency[name])
            last[name] = free
    return {"delay": waited / max(1, results), "late": sum(late.values()) / len(late)}
