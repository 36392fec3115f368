"""Which queries are computed together, and when: executions that repeat in cycles.

>>> both = ExecutionPlan("X", (Cycle(4, (Execution(2, 4, ("a",)), Execution(4, 5, ("a", "b")))),))
>>> both.cost, both.longest_waits()
(Fraction(9, 4), {'a': 2, 'b': 4})
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from crestline.core.errors import PlanError
from crestline.sharing.demand import Group

#: The most executions that a cycle may have.
MOST_EXECUTIONS = 1_000_000


@dataclass(frozen=True, slots=True)
class Execution:
    """One computation, for the largest k of its members; all of them get results."""

    at: int
    k: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """Executions at ``0 < at <= length``, ascending, that repeat forever."""

    length: int
    executions: tuple[Execution, ...]

    @property
    def cost(self) -> Fraction:
        return Fraction(sum(execution.k for execution in self.executions), self.length)


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """Cycles that run in parallel; every query is in one of them."""

    name: str
    cycles: tuple[Cycle, ...]
    #: What a user should know about how the plan was made.
    note: str = ""

    @property
    def cost(self) -> Fraction:
        """The sum of the k of all computations, per unit of time."""
        return sum((cycle.cost for cycle in self.cycles), Fraction(0))

    @property
    def length(self) -> int:
        """The length of the longest cycle; 0 if there is none."""
        return max((cycle.length for cycle in self.cycles), default=0)

    def longest_waits(self) -> dict[str, int]:
        """Return for each query the longest time between successive executions."""
        waits: dict[str, int] = {}
        for cycle in self.cycles:
            last: dict[str, int] = {}
            first: dict[str, int] = {}
            for execution in cycle.executions:
                for name in execution.members:
                    first.setdefault(name, execution.at)
                    waited = execution.at - last.get(name, execution.at)
                    waits[name] = max(waits.get(name, 0), waited)
                    last[name] = execution.at
            for name, time in first.items():
                waits[name] = max(waits[name], time + cycle.length - last[name])
        return waits


def of_levels(
    name: str,
    groups: Sequence[Group],
    length: int,
    moments: Sequence[tuple[int, int]],
    note: str = "",
) -> ExecutionPlan:
    """Make one cycle of (time, level): at level i the groups 0..i are computed together."""
    members = list(accumulate((group.members for group in groups), lambda a, b: a + b))
    executions = tuple(Execution(time, groups[level].k, members[level]) for time, level in moments)
    return ExecutionPlan(name, (Cycle(length, executions),), note)


def check_executions(name: str, count: int, groups: Sequence[Group]) -> None:
    """Refuse a cycle with too many executions."""
    if count > MOST_EXECUTIONS:
        raise PlanError(
            f"a cycle of the plan {name} would have {count:,} executions, more than"
            f" {MOST_EXECUTIONS:,}: the longest frequency is"
            f" {groups[-1].frequency // groups[0].frequency:,} times the shortest; use the plan"
            " INCO, or run the queries of short and of long frequency apart"
        )
