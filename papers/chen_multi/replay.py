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


def queued(
    steps: Sequence[float], told: Sequence[Sequence[int]], frequencies: Sequence[int], slow: float
) -> dict[str, float]:
    """The same of measured seconds: what each takes, so many times slower, and who gets a result
    in it; *load* is what share of the time the machine is busy.

    >>> queued([0.75, 0.75], [[0], [0]], [1], slow=2.0)
    {'delay': 1.75, 'late': 0.5, 'load': 1.5}
    """
    free, waited, results = 0.0, 0.0, 0
    last: dict[int, float] = {}
    late = [0.0] * len(frequencies)
    for now, (taken, names) in enumerate(zip(steps, told, strict=True), 1):
        free = max(free, now) + slow * taken
        waited += (free - now) * len(names)
        results += len(names)
        for name in names:
            # Of the first result of a query it is not known how long it has been waited for.
            late[name] += max(0.0, free - last.get(name, free) - frequencies[name])
            last[name] = free
    return {
        "delay": waited / max(1, results),
        "late": sum(late) / len(late),
        "load": slow * sum(steps) / len(steps),
    }
