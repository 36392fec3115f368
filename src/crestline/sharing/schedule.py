"""A plan on the axis of time, while queries come and go.

**Promise.** Between two executions of a query that follow one another, and from its beginning to
its first one, there is never more time than its frequency.

**How changes are taken in.** A plan runs in cycles, and a change in the middle of one would leave
some query waiting too long. So the present cycle, the longest where there are several, is finished
first. Until its end E the other queries go on as before. A newcomer is executed by itself, every
``frequency`` from its beginning on, and at E together with what is executed then. A query that was
removed is left out from then on; an execution that would serve nobody is dropped. From E on a new
plan for all queries that are left runs, its first cycle beginning at E. All changes before E go
into this one new plan.

**Why the promise holds at E.** In a new plan a query's first execution is at most its frequency
after E: cycles repeat, so no more than that lies between its last one, at the end of the cycle
before or earlier, and this. Newcomers are executed at E. Of the others, those for which the time
from their last execution to the first of the new plan would be too long are executed at E as well.

Asks about times before the last change are not answered faithfully: those executions are past.

>>> schedule = Schedule("DP", [Demand("a", 2, 3), Demand("b", 5, 5)])
>>> [(e.at, e.members) for e in schedule.executions(0, 8)]
[(2, ('a',)), (4, ('a', 'b')), (6, ('a',)), (8, ('a', 'b'))]
>>> schedule.add(Demand("c", 1, 1), begin=5)
>>> [(e.at, e.members) for e in schedule.executions(5, 9)]
[(6, ('a',)), (6, ('c',)), (7, ('c',)), (8, ('a', 'b', 'c')), (9, ('c',))]
>>> print(*schedule.changes)
replanned at 8 because c was added: 2 -> 5/2 a unit of time
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.sharing.demand import Demand
from crestline.sharing.era import Era, Moments
from crestline.sharing.plan import Execution, ExecutionPlan
from crestline.sharing.plans import PLANS

#: Changes that are remembered.
_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A new plan, from when it runs, why, and what the old and the new one cost."""

    at: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    before: Fraction
    after: Fraction

    def sentence(
        self,
        moment: Callable[[int], str] = str,
        cost: Callable[[Fraction], str] = str,
        unit: str = "unit of time",
    ) -> str:
        """The change in words; ``moment`` and ``cost`` write times and costs a ``unit``."""
        why = " and ".join(
            f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} {done}"
            for names, done in ((self.added, "added"), (self.removed, "removed"))
            if names
        )
        costs = f"{cost(self.before)} -> {cost(self.after)} a {unit}"
        return f"replanned at {moment(self.at)} because {why}: {costs}"

    def __str__(self) -> str:
        return self.sentence()


@dataclass(frozen=True, slots=True)
class _Newcomer:
    """A query that is executed by itself until the present cycle ends."""

    demand: Demand
    begin: int
    #: When it was removed again; None: it is still there.
    gone: int | None = None

    def times(self, after: int, until: int) -> range:
        after, every = max(after, self.begin), self.demand.frequency
        until = until if self.gone is None else min(until, self.gone)
        return range(after + every - (after - self.begin) % every, until + 1, every)


class Schedule:
    """Executions of several queries for all times, by the plan called ``plan_name``."""

    def __init__(self, plan_name: str, demands: Sequence[Demand], origin: int = 0) -> None:
        if plan_name not in PLANS:
            raise CrestlineError(f"there is no plan {plan_name!r}, only {', '.join(PLANS)}")
        self.plan_name = plan_name
        self._era = self._planned(demands, origin)
        self._removed: dict[str, int] = {}
        self._newcomers: list[_Newcomer] = []
        #: Where the present cycle ends and a new plan begins; None: nothing has changed.
        self._end: int | None = None
        self._following: Era | None = None  # made when it is needed
        self._changed = LONG_AGO
        self._past: Schedule | None = None
        self._changes: list[Change] = []

    # --- what is there ----------------------------------------------------------------------------

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The queries that were not removed."""
        staying = [d for d in self._era.demands if d.name not in self._removed]
        return (*staying, *(n.demand for n in self._newcomers if n.gone is None))

    @property
    def plan(self) -> ExecutionPlan:
        """The plan for the queries that are there; it may begin at the end of the present cycle."""
        return self._era.plan if self._end is None else self._next().plan

    def plan_at(self, time: int) -> ExecutionPlan:
        """The plan that runs at ``time``."""
        return self._era.plan if self._end is None or time < self._end else self._next().plan

    @property
    def last_change(self) -> int:
        """When a query was last added or removed; the next change must not be earlier."""
        return self._changed

    @property
    def changes(self) -> list[Change]:
        """The new plans so far, with the one that is to come."""
        return self._changes if self._end is None else [*self._changes, self._change()]

    def end_of_cycle(self, now: int) -> int:
        """The first end of the longest cycle after ``now``."""
        era = self._era
        if self._end is not None and now >= self._end:
            era = self._next()
        if not era.plan.cycles:
            raise CrestlineError("there is no cycle: no query is left")
        return era.end_of_cycle(now)

    # --- when -------------------------------------------------------------------------------------

    def executions(self, after: int, until: int) -> list[Execution]:
        """The computations with ``after < at <= until``; several may be at the same moment."""
        found = self.moments(after, until)
        return [
            Execution(at, found.k[i], found.members[i])
            for at, i in zip(found.at.tolist(), found.which.tolist(), strict=True)
        ]

    def moments(self, after: int, until: int) -> Moments:
        """The same as arrays."""
        if self._past is not None and after < self._era.origin:
            known = self._past.moments(after, min(until, self._era.origin))
            return Moments.joined([known, self._from_now_on(self._era.origin, until)])
        return self._from_now_on(after, until)

    def _from_now_on(self, after: int, until: int) -> Moments:
        if after >= until:
            return self._era.moments(until, until)
        end = self._end
        if end is None:
            return self._era.moments(after, until)
        parts = self._before_end(after, min(until, end - 1))
        if after < end <= until:
            parts.append(self._at_end(end))
        if until > end:
            parts.append(self._next().moments(max(after, end), until))
        return Moments.joined(parts)

    def first_after(self, name: str, time: int) -> int:
        """The query's first execution after ``time``, or after its beginning if that is later."""
        for newcomer in self._newcomers:
            if newcomer.demand.name == name and newcomer.gone is None:
                time = max(time, newcomer.begin)
        frequency = self._demand(name).frequency
        found = self.moments(time, time + frequency)
        its = np.array([name in members for members in found.members], np.bool_)
        return int(found.at[its[found.which]][0])

    # --- who comes and goes -----------------------------------------------------------------------

    def add(self, demand: Demand, begin: int) -> None:
        """A query whose windows hold only what comes from ``begin`` on. Executions up to ``begin``
        are past."""
        begin = int(begin)
        self._move_on(begin)
        present = self.demands
        if any(d.name == demand.name for d in present):
            raise CrestlineError(f"there is a query {demand.name!r} already: give it another name")
        if not present:
            removed, before = tuple(self._removed), self._era.plan.cost
            self._begin(self._planned([demand], begin))
            self._note(Change(begin, (demand.name,), removed, before, self._era.plan.cost))
            return
        self._newcomers.append(_Newcomer(demand, begin))
        self._replan(begin)

    def remove(self, name: str, now: int) -> None:
        """The query is not executed any more after ``now``."""
        now = int(now)
        self._move_on(now)
        self._demand(name)
        for i, newcomer in enumerate(self._newcomers):
            if newcomer.demand.name == name and newcomer.gone is None:
                self._newcomers[i] = replace(newcomer, gone=now)
                break
        else:
            self._removed[name] = now
        self._replan(now)

    # --- keeping it -------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it as plain values. Plans are not kept: they are made again in the same way."""
        return {
            "plan": self.plan_name,
            "origin": self._era.origin,
            "demands": [_plain(d) for d in self._era.demands],
            "removed": [[name, at] for name, at in self._removed.items()],
            "newcomers": [[*_plain(n.demand), n.begin, n.gone] for n in self._newcomers],
            "end": self._end,
            "changed": self._changed,
            "past": None if self._past is None else self._past.state(),
            "changes": [
                [c.at, list(c.added), list(c.removed), str(c.before), str(c.after)]
                for c in self._changes
            ],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Schedule:
        """The schedule whose state that is."""
        for when in ("origin", "end", "changed"):
            sound.like(state[when], None if state[when] is None else 0, when)
        schedule = cls(state["plan"], [Demand(*d) for d in state["demands"]], state["origin"])
        schedule._removed = dict(state["removed"])
        schedule._newcomers = [
            _Newcomer(Demand(name, frequency, k), begin, gone)
            for name, frequency, k, begin, gone in state["newcomers"]
        ]
        schedule._end, schedule._changed = state["end"], state["changed"]
        if state["past"] is not None:
            schedule._past = cls.from_state(state["past"])
        schedule._changes = [
            Change(at, tuple(added), tuple(removed), Fraction(before), Fraction(after))
            for at, added, removed, before, after in state["changes"]
        ]
        return schedule

    # --- inside -----------------------------------------------------------------------------------

    def _planned(self, demands: Sequence[Demand], origin: int) -> Era:
        return Era(PLANS[self.plan_name](demands), demands, origin)

    def _demand(self, name: str) -> Demand:
        for demand in self.demands:
            if demand.name == name:
                return demand
        raise CrestlineError(f"there is no query {name!r} in the schedule")

    def _begin(self, era: Era) -> None:
        # Executions up to the change may still be to come: a watermark lags behind the records.
        self._past = copy(self)
        self._past._past = None
        self._era, self._following, self._end = era, None, None
        self._removed, self._newcomers = {}, []

    def _move_on(self, now: int) -> None:
        """The next change is at ``now``: where the new plan runs already, it is the present one."""
        if now < self._changed:
            raise CrestlineError(
                f"a change at {now} comes too late: there was one at {self._changed} already"
            )
        self._changed = now
        if self._end is not None and now >= self._end:
            self._note(self._change())
            self._begin(self._next())

    def _replan(self, now: int) -> None:
        self._following = None
        if self._end is None:
            self._end = self._era.end_of_cycle(now)

    def _next(self) -> Era:
        """The new plan, from the end of the present cycle on."""
        assert self._end is not None
        if self._following is None:
            self._following = self._planned(self.demands, self._end)
        return self._following

    def _change(self) -> Change:
        era = self._next()
        return Change(
            era.origin,
            tuple(n.demand.name for n in self._newcomers),
            (*self._removed, *(n.demand.name for n in self._newcomers if n.gone is not None)),
            self._era.plan.cost,
            era.plan.cost,
        )

    def _note(self, change: Change) -> None:
        self._changes = [*self._changes, change][-_REMEMBERED:]

    def _before_end(self, after: int, until: int) -> list[Moments]:
        """The rest of the present cycle; queries that were removed leave it one by one."""
        cuts = sorted({cut for cut in self._removed.values() if after < cut < until})
        parts = []
        for low, high in zip([after, *cuts], [*cuts, until], strict=True):
            gone = frozenset(name for name, at in self._removed.items() if at <= low)
            parts.append(self._era.moments(low, high, gone))
        for newcomer in self._newcomers:
            at = np.array(newcomer.times(after, until), np.int64)
            name, k = newcomer.demand.name, newcomer.demand.k
            parts.append(Moments(at, np.zeros(len(at), np.int64), ((name,),), (k,)))
        return parts

    def _at_end(self, end: int) -> Moments:
        """What is executed where the present cycle ends: together, unless the plan is not to share
        at all."""
        served = {n.demand.name for n in self._newcomers if n.gone is None}
        staying = [d for d in self.demands if d.name not in served]
        longest = max((d.frequency for d in self.demands), default=0)
        gone = frozenset(self._removed)
        last = _ends(self._era.moments(end - longest, end, gone), last=True)
        first = _ends(self._next().moments(end, end + longest), last=False)
        served |= {
            d.name
            for d in staying
            if last[d.name] == end or first[d.name] - last[d.name] > d.frequency
        }
        both = [d for d in self.demands if d.name in served]
        shares = [[d] for d in both] if self.plan_name == "NS" else [both] if both else []
        return Moments(
            np.full(len(shares), end, np.int64),
            np.arange(len(shares)),
            tuple(tuple(d.name for d in share) for share in shares),
            tuple(max(d.k for d in share) for share in shares),
        )


def _plain(demand: Demand) -> list[str | int]:
    return [demand.name, int(demand.frequency), int(demand.k)]


def _ends(moments: Moments, last: bool) -> dict[str, int]:
    """Each query's first execution among these, or its last."""
    step = -1 if last else 1
    which, place = np.unique(moments.which[::step], return_index=True)
    found: dict[str, int] = {}
    for i, at in sorted(
        zip(which.tolist(), moments.at[::step][place].tolist(), strict=True),
        key=lambda pair: step * pair[1],
    ):
        for name in moments.members[i]:
            found.setdefault(name, at)
    return found
