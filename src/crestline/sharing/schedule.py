"""A plan on the time axis, while queries are added and removed.

**Promise.** The time between two successive executions of a query, and from its beginning to its
first execution, never exceeds its frequency.

**How changes take effect.** A plan runs in cycles. A change in the middle of a cycle would leave
some query waiting too long. So the present cycle (the longest, if there are several) is finished
first; call its end E. Until E the other queries continue as before. A new query is executed alone,
every ``frequency`` since its beginning, and at E together with the others. A removed query is left
out at once; an execution that would serve no query is dropped. From E on a new plan for all
remaining queries runs, and its first cycle begins at E. All changes before E go into this one plan.

**Why the promise holds at E.** In the new plan a query's first execution is at most its frequency
after E: cycles repeat, so no more time lies between its last execution in the cycle before and this
one. New queries are executed at E. Every other query whose last execution would be too long before
its first in the new plan is executed at E as well.

Executions before the last change are past; the schedule no longer reports them faithfully.

>>> schedule = Schedule("GREEDY", [Demand("a", 2, 3), Demand("b", 5, 5)])
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

#: How many changes are kept.
_REMEMBERED = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A new plan: when it begins, why, and the costs of the old plan and the new one."""

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
        """Return the change in words; ``moment`` and ``cost`` write times and costs."""
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
class _NewQuery:
    """A query that is executed alone until the present cycle ends."""

    demand: Demand
    begin: int
    #: When it was removed; None: it was not.
    gone: int | None = None

    def times(self, after: int, until: int) -> range:
        """Return its executions with ``after < at <= until``."""
        after, every = max(after, self.begin), self.demand.frequency
        until = until if self.gone is None else min(until, self.gone)
        return range(after + every - (after - self.begin) % every, until + 1, every)


class Schedule:
    """The executions of several queries at all times, by the plan called ``plan_name``."""

    def __init__(self, plan_name: str, demands: Sequence[Demand], origin: int = 0) -> None:
        if plan_name not in PLANS:
            raise CrestlineError(f"there is no plan {plan_name!r}, only {', '.join(PLANS)}")
        self.plan_name = plan_name
        self._era = self._planned(demands, origin)
        self._removed: dict[str, int] = {}
        self._new: list[_NewQuery] = []
        #: The end of the present cycle, where a new plan begins; None: nothing has changed.
        self._end: int | None = None
        self._following: Era | None = None  # the new plan, made when it is needed
        self._changed = LONG_AGO
        self._past: Schedule | None = None
        self._changes: list[Change] = []

    # --- plans ------------------------------------------------------------------------------------

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The queries that were not removed."""
        staying = [d for d in self._era.demands if d.name not in self._removed]
        return (*staying, *(n.demand for n in self._new if n.gone is None))

    @property
    def plan(self) -> ExecutionPlan:
        """The plan for the present queries; it may begin only at the end of the present cycle."""
        return self._era.plan if self._end is None else self._next().plan

    @property
    def last_change(self) -> int:
        """When a query was last added or removed; the next change must not be earlier."""
        return self._changed

    @property
    def changes(self) -> list[Change]:
        """The new plans so far, the next one included."""
        return self._changes if self._end is None else [*self._changes, self._change()]

    def end_of_cycle(self, now: int) -> int:
        """Return the first end of the longest cycle after ``now``."""
        era = self._era
        if self._end is not None and now >= self._end:
            era = self._next()
        if not era.plan.cycles:
            raise CrestlineError("there is no cycle: no query is left")
        return era.end_of_cycle(now)

    # --- executions -------------------------------------------------------------------------------

    def executions(self, after: int, until: int) -> list[Execution]:
        """Return the executions with ``after < at <= until``; several may be at the same time."""
        moments = self.moments(after, until)
        return [
            Execution(time, moments.k[i], moments.members[i])
            for time, i in zip(moments.at.tolist(), moments.which.tolist(), strict=True)
        ]

    def moments(self, after: int, until: int) -> Moments:
        """Return the same as arrays."""
        if self._past is not None and after < self._era.origin:
            past = self._past.moments(after, min(until, self._era.origin))
            return Moments.joined([past, self._since_origin(self._era.origin, until)])
        return self._since_origin(after, until)

    def _since_origin(self, after: int, until: int) -> Moments:
        """Return the executions of the present plan and of the next one."""
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
        """Return a query's first execution after ``time`` and after its beginning."""
        for new in self._new:
            if new.demand.name == name and new.gone is None:
                time = max(time, new.begin)
        frequency = self._demand(name).frequency
        if self._end is None and time >= self._era.origin:
            return self._era.first_after(name, time)
        return int(self.moments(time, time + frequency).of(name)[0])

    # --- changes ----------------------------------------------------------------------------------

    def add(self, demand: Demand, begin: int) -> None:
        """Add a query whose windows hold only records since ``begin``. Executions up to ``begin``
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
        self._new.append(_NewQuery(demand, begin))
        self._replan(begin)

    def remove(self, name: str, now: int) -> None:
        """Remove a query: it is not executed after ``now``."""
        now = int(now)
        self._move_on(now)
        self._demand(name)
        for i, new in enumerate(self._new):
            if new.demand.name == name and new.gone is None:
                self._new[i] = replace(new, gone=now)
                break
        else:
            self._removed[name] = now
        self._replan(now)

    # --- state ------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all of it as plain values, without plans: they are made again from the demands."""
        return {
            "plan": self.plan_name,
            "origin": self._era.origin,
            "demands": [_plain(d) for d in self._era.demands],
            "removed": [[name, time] for name, time in self._removed.items()],
            "new": [[*_plain(n.demand), n.begin, n.gone] for n in self._new],
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
        """Make the schedule whose ``state()`` this was."""
        for when in ("origin", "end", "changed"):
            sound.like(state[when], None if state[when] is None else 0, when)
        schedule = cls(state["plan"], [Demand(*d) for d in state["demands"]], state["origin"])
        schedule._restore(state)
        return schedule

    def _restore(self, state: dict[str, Any]) -> None:
        self._removed = dict(state["removed"])
        self._new = [
            _NewQuery(Demand(name, frequency, k), begin, gone)
            for name, frequency, k, begin, gone in state["new"]
        ]
        self._end, self._changed = state["end"], state["changed"]
        if state["past"] is not None:
            self._past = Schedule.from_state(state["past"])
        self._changes = [
            Change(time, tuple(added), tuple(removed), Fraction(before), Fraction(after))
            for time, added, removed, before, after in state["changes"]
        ]

    # --- inside -----------------------------------------------------------------------------------

    def _planned(self, demands: Sequence[Demand], origin: int) -> Era:
        return Era(PLANS[self.plan_name](demands), demands, origin)

    def _demand(self, name: str) -> Demand:
        for demand in self.demands:
            if demand.name == name:
                return demand
        raise CrestlineError(f"there is no query {name!r} in the schedule")

    def _begin(self, era: Era) -> None:
        """Make this the present plan."""
        # Executions up to the change may still be asked for: a watermark lags behind the records.
        self._past = None
        self._past = copy(self)
        self._era, self._following, self._end = era, None, None
        self._removed, self._new = {}, []

    def _move_on(self, now: int) -> None:
        """Prepare for a change at ``now``: a new plan that runs by then becomes the present one."""
        if now < self._changed:
            raise CrestlineError(
                f"a change at {now} comes too late: there was one at {self._changed} already"
            )
        self._changed = now
        if self._end is not None and now >= self._end:
            self._note(self._change())
            self._begin(self._next())

    def _replan(self, now: int) -> None:
        """Let a new plan begin at the end of the present cycle."""
        self._following = None
        if self._end is None:
            self._end = self._era.end_of_cycle(now)

    def _next(self) -> Era:
        """Return the new plan, which begins at the end of the present cycle."""
        assert self._end is not None
        if self._following is None:
            self._following = self._planned(self.demands, self._end)
        return self._following

    def _change(self) -> Change:
        """Describe the new plan."""
        era = self._next()
        return Change(
            era.origin,
            tuple(n.demand.name for n in self._new),
            (*self._removed, *(n.demand.name for n in self._new if n.gone is not None)),
            self._era.plan.cost,
            era.plan.cost,
        )

    def _note(self, change: Change) -> None:
        self._changes = [*self._changes, change][-_REMEMBERED:]

    def _before_end(self, after: int, until: int) -> list[Moments]:
        """Return the executions of the rest of the present cycle, without removed queries."""
        cuts = sorted({cut for cut in self._removed.values() if after < cut < until})
        parts = []
        for low, high in zip([after, *cuts], [*cuts, until], strict=True):
            gone = frozenset(name for name, time in self._removed.items() if time <= low)
            parts.append(self._era.moments(low, high, gone))
        for new in self._new:
            times = np.array(new.times(after, until), np.int64)
            name, k = new.demand.name, new.demand.k
            parts.append(Moments(times, np.zeros(len(times), np.int64), ((name,),), (k,)))
        return parts

    def _at_end(self, end: int) -> Moments:
        """Return the execution at the end of the present cycle; NS has one for each query."""
        served = {n.demand.name for n in self._new if n.gone is None}
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
        due = [d for d in self.demands if d.name in served]
        groups = [[d] for d in due] if self.plan_name == "NS" else [due] if due else []
        return Moments(
            np.full(len(groups), end, np.int64),
            np.arange(len(groups)),
            tuple(tuple(d.name for d in group) for group in groups),
            tuple(max(d.k for d in group) for group in groups),
        )


def _plain(demand: Demand) -> list[str | int]:
    return [demand.name, int(demand.frequency), int(demand.k)]


def _ends(moments: Moments, last: bool) -> dict[str, int]:
    """Return each query's first execution among these, or its last."""
    step = -1 if last else 1
    which, index = np.unique(moments.which[::step], return_index=True)
    ends: dict[str, int] = {}
    for i, time in sorted(
        zip(which.tolist(), moments.at[::step][index].tolist(), strict=True),
        key=lambda pair: step * pair[1],
    ):
        for name in moments.members[i]:
            ends.setdefault(name, time)
    return ends
