"""A plan on the time axis: its cycles repeat in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crestline.sharing.demand import Demand
from crestline.sharing.plan import ExecutionPlan
from crestline.sharing.price import followed
from crestline.types import Ints

Members = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moments:
    """Executions in time order: number i is at ``at[i]`` for the queries ``members[which[i]]``,
    and costs ``k[which[i]]``."""

    at: Ints
    which: Ints
    members: tuple[Members, ...]
    k: tuple[int, ...]

    @staticmethod
    def served(times: Ints, which: Ints, members: Sequence[Members], k: Sequence[int]) -> Moments:
        """Make moments of the executions that have members."""
        if all(members):
            return Moments(times, which, tuple(members), tuple(k))
        served = np.array([bool(m) for m in members], np.bool_)
        kept = served[which]
        number = np.cumsum(served) - 1
        left = [i for i, m in enumerate(members) if m]
        return Moments(
            times[kept],
            number[which[kept]],
            tuple(members[i] for i in left),
            tuple(k[i] for i in left),
        )

    def of(self, name: str) -> Ints:
        """Return the times of one query's executions."""
        serves = np.array([name in members for members in self.members], np.bool_)
        return self.at[serves[self.which]]

    @staticmethod
    def joined(parts: Sequence[Moments]) -> Moments:
        """Join moments in time order."""
        if len(parts) == 1:
            return parts[0]
        none = np.empty(0, np.int64)
        times = np.concatenate([none, *(part.at for part in parts)])
        sizes = np.cumsum([0, *(len(part.members) for part in parts)])
        which = np.concatenate(
            [none, *(part.which + size for part, size in zip(parts, sizes, strict=False))]
        )
        order = np.argsort(times, kind="stable")
        return Moments(
            times[order],
            which[order],
            tuple(m for part in parts for m in part.members),
            tuple(k for part in parts for k in part.k),
        )


class Era:
    """``plan`` for ``demands``, with a cycle that begins at ``origin``."""

    def __init__(self, plan: ExecutionPlan, demands: Sequence[Demand], origin: int) -> None:
        self.plan, self.demands, self.origin = plan, tuple(demands), origin
        self._k = {demand.name: demand.k for demand in demands}
        self._members: list[Members] = []
        self._cycles: list[tuple[int, Ints, Ints]] = []
        #: By query: the cycle that it is in.
        self._cycle_of: dict[str, int] = {}
        self._left: dict[frozenset[str], tuple[list[Members], list[int]]] = {}
        number: dict[int, int] = {}  # by identity: plans use few tuples of members many times
        for cycle in followed(plan, demands).cycles:
            which = []
            for execution in cycle.executions:
                if id(execution.members) not in number:
                    number[id(execution.members)] = len(self._members)
                    self._members.append(execution.members)
                    self._cycle_of |= dict.fromkeys(execution.members, len(self._cycles))
                which.append(number[id(execution.members)])
            times = np.array([execution.at for execution in cycle.executions], np.int64)
            self._cycles.append((cycle.length, times, np.array(which, np.int64)))
        single = [cycle for cycle in self._cycles if len(cycle[1]) == 1]
        #: Cycles with one execution each, as NS has for every query: length, time and members.
        self._single = np.array(
            [(length, times[0], which[0]) for length, times, which in single], np.int64
        ).reshape(-1, 3)
        self._several = [cycle for cycle in self._cycles if len(cycle[1]) > 1]

    def end_of_cycle(self, now: int) -> int:
        """Return the first end of the longest cycle after ``now``."""
        length = self.plan.length
        return self.origin + ((now - self.origin) // length + 1) * length

    def moments(self, after: int, until: int, without: frozenset[str] = frozenset()) -> Moments:
        """Return the executions with ``after < at <= until``, without some queries."""
        ats, whiches = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        if after < until:
            length, first, of_cycle = self._single.T
            before, last = ((time - self.origin - first) // length for time in (after, until))
            cycle = np.repeat(np.arange(len(length)), last - before)
            total = np.cumsum(last - before)
            turn = np.arange(len(cycle)) - (total - last - 1)[cycle]
            ats.append(self.origin + first[cycle] + turn * length[cycle])
            whiches.append(of_cycle[cycle])
            for period, times, which in self._several:
                low, high = (self._count(time, period, times) for time in (after, until))
                turn, index = np.divmod(np.arange(low, high), len(times))
                ats.append(self.origin + turn * period + times[index])
                whiches.append(which[index])
        times, which = np.concatenate(ats), np.concatenate(whiches)
        if len(self._cycles) > 1:
            order = np.lexsort((which, times))
            times, which = times[order], which[order]
        return Moments.served(times, which, *self._members_without(without))

    def first_after(self, name: str, time: int) -> int:
        """Return a query's first execution after ``time``."""
        length, times, which = self._cycles[self._cycle_of[name]]
        served = np.array([name in members for members in self._members], np.bool_)
        own = times[served[which]]
        turn, index = divmod(self._count(time, length, own), len(own))
        return self.origin + turn * length + int(own[index])

    def _members_without(self, without: frozenset[str]) -> tuple[list[Members], list[int]]:
        """Return the remaining members of each execution, and the largest k among them."""
        if without not in self._left:
            left = [tuple(n for n in whole if n not in without) for whole in self._members]
            largest = [max((self._k[n] for n in names), default=0) for names in left]
            self._left = {without: (left, largest)}
        return self._left[without]

    def _count(self, time: int, length: int, times: Ints) -> int:
        """Return how many executions of a cycle there are from the origin up to ``time``."""
        turn, rest = divmod(time - self.origin, length)
        return turn * len(times) + int(np.searchsorted(times, rest, "right"))
