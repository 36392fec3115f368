"""The agenda of several queries: some slide, a schedule picks the times of the others.

Queries that slide are due at every multiple of their slide; all that are due at the same time are
one execution. Each execution of the schedule is one more. The number of a removed query is not
used again.

>>> from crestline.sharing.demand import Demand
>>> agenda = SharedAgenda([2, 3, None], Schedule("DP", [Demand("c", 4, 1)]), ["a", "b", "c"])
>>> due = agenda.due(0, 6)
>>> parts = np.split(due.query, due.offset[1:-1])
>>> [(int(time), queries.tolist()) for time, queries in zip(due.at, parts)]
[(2, [0]), (3, [1]), (4, [0]), (4, [2]), (6, [0, 1])]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.specs import Executions
from crestline.sharing.demand import Demand
from crestline.sharing.schedule import Schedule
from crestline.types import Ints

_NONE = np.empty(0, np.int64)


class SharedAgenda:
    """When queries are answered and which together; query number i is called ``names[i]``.

    ``slides[i]`` is None if the schedule picks the times of the query of that name. Other members
    of the schedule are ignored.
    """

    def __init__(
        self, slides: Sequence[int | None], schedule: Schedule | None, names: Sequence[str]
    ) -> None:
        if len(slides) != len(names):
            raise CrestlineError(f"{len(slides)} slides do not fit {len(names)} names")
        self.schedule = schedule
        self._slides: list[int | None] = []
        self._names: list[str] = []
        self._gone: set[int] = set()
        for name, slide in zip(names, slides, strict=True):
            self.add(name, slide)

    def add(self, name: str, slide: int | None) -> int:
        """Add a query and return its number. One without a slide is not added to the schedule."""
        if slide is not None and slide < 1:
            raise CrestlineError(f"query {name!r} slides by {slide}: it must be 1 or more")
        if any(self._names[number] == name for number in self._present()):
            raise CrestlineError(f"there is a query {name!r} already: give it another name")
        self._slides.append(slide)
        self._names.append(name)
        return len(self._names) - 1

    def remove(self, number: int) -> None:
        """Remove a query. It is not removed from the schedule."""
        if number not in self._present():
            raise CrestlineError(f"there is no query number {number}")
        self._gone.add(number)

    def due(self, after: int, until: int, latest: int | None = None) -> Executions:
        """Return the executions with ``after < at <= until``.

        ``latest`` is the last event of a bounded stream at its end. The last execution of a query
        is then its first one after that.
        """
        sliding = self._sliding(after, until, latest)
        scheduled = self._scheduled(after, until, latest)
        if not len(scheduled):
            return sliding
        if not len(sliding):
            return scheduled
        times = np.concatenate((sliding.at, scheduled.at))
        order = np.argsort(times, kind="stable")
        size = np.concatenate((np.diff(sliding.offset), np.diff(scheduled.offset)))
        start = np.concatenate((sliding.offset[:-1], scheduled.offset[:-1] + len(sliding.query)))
        queries = np.concatenate((sliding.query, scheduled.query))
        return Executions(times[order], *_gather(queries, start[order], size[order]))

    def last(self, latest: int) -> int:
        """Return the last execution for a bounded stream whose last event is at ``latest``."""
        ends = [
            (latest // slide + 1) * slide
            for query in self._present()
            if (slide := self._slides[query]) is not None
        ]
        return max([*ends, *self._scheduled_ends(latest).values()], default=latest)

    def moments(self, query: int, after: int, until: int, latest: int | None = None) -> Ints:
        """Return when one query is due."""
        if query not in self._present():
            return _NONE
        slide = self._slides[query]
        if slide is not None:
            return _multiples(slide, after, until, latest)
        name = self._names[query]
        if self.schedule is None or name not in {d.name for d in self.schedule.demands}:
            return _NONE
        if latest is not None:
            until = min(until, self.schedule.first_after(name, latest))
        return self.schedule.moments(after, until).of(name)

    def state(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "slides": [None if slide is None else int(slide) for slide in self._slides],
            "names": list(self._names),
            "gone": sorted(self._gone),
            "schedule": None if self.schedule is None else self.schedule.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> SharedAgenda:
        """Make the agenda whose ``state()`` this was."""
        schedule = state["schedule"]
        agenda = cls([], None if schedule is None else Schedule.from_state(schedule), [])
        agenda._restore(state)
        return agenda

    def _restore(self, state: dict[str, Any]) -> None:
        self._slides, self._names = list(state["slides"]), list(state["names"])
        self._gone = set(state["gone"])

    def check(self, slides: Mapping[str, int | None], demands: Sequence[Demand]) -> None:
        """Refuse an agenda, read from a state, that belongs to other queries."""
        names = [self._names[number] for number in self._present()]
        own = {self._names[number]: self._slides[number] for number in self._present()}
        sound.require(len(own) == len(names) and own == dict(slides), "the agenda is of others")
        sound.length("agenda", self._names, self._slides)
        if self.schedule is not None:
            scheduled = {demand.name: demand for demand in self.schedule.demands}
            same = all(scheduled.get(demand.name) == demand for demand in demands)
            sound.require(same, "the schedule is of other queries")
        else:
            sound.require(not demands, "there is no schedule")

    # --- inside -----------------------------------------------------------------------------------

    def _present(self) -> list[int]:
        """Return the numbers of the queries that were not removed."""
        return [number for number in range(len(self._names)) if number not in self._gone]

    def _scheduled_numbers(self) -> dict[str, int]:
        """Return, by name, the numbers of the queries without a slide."""
        return {self._names[q]: q for q in self._present() if self._slides[q] is None}

    def _scheduled_ends(self, latest: int) -> dict[int, int]:
        """Return the first execution after ``latest`` of each query that the schedule has."""
        if self.schedule is None:
            return {}
        number = self._scheduled_numbers()
        return {
            number[demand.name]: self.schedule.first_after(demand.name, latest)
            for demand in self.schedule.demands
            if demand.name in number
        }

    def _sliding(self, after: int, until: int, latest: int | None) -> Executions:
        """Return the executions of queries that slide.

        The times of each slide are computed once; then each query is written into its executions.
        """
        sliding = [(q, slide) for q in self._present() if (slide := self._slides[q]) is not None]
        slides = Counter(slide for _, slide in sliding)
        times = {slide: _multiples(slide, after, until, latest) for slide in slides}
        moments = np.unique(np.concatenate([_NONE, *times.values()]))
        indices = {slide: np.searchsorted(moments, time) for slide, time in times.items()}
        size = np.zeros(len(moments), np.int64)
        for slide, queries in slides.items():
            size[indices[slide]] += queries
        offset = np.concatenate(([0], np.cumsum(size)))
        answered = np.empty(int(offset[-1]), np.int64)
        free = offset[:-1].copy()
        for query, slide in sliding:
            answered[free[indices[slide]]] = query
            free[indices[slide]] += 1
        return Executions(moments, offset, answered)

    def _scheduled(self, after: int, until: int, latest: int | None) -> Executions:
        """Return the executions of the schedule."""
        nothing = Executions(_NONE, np.zeros(1, np.int64), _NONE)
        if self.schedule is None:
            return nothing
        number = self._scheduled_numbers()
        last: Ints | None = None
        if latest is not None:
            ends = self._scheduled_ends(latest)
            until = min(until, max(ends.values(), default=after))
            last = np.full(len(self._names), until, np.int64)
            last[list(ends)] = list(ends.values())
        moments = self.schedule.moments(after, until)
        if not len(moments.at):
            return nothing
        members = [[number[name] for name in m if name in number] for m in moments.members]
        flat = np.array([query for several in members for query in several], np.int64)
        lengths = np.array([len(several) for several in members], np.int64)
        start = np.concatenate(([0], np.cumsum(lengths)))[:-1]
        size = lengths[moments.which]
        offset, queries = _gather(flat, start[moments.which], size)
        if last is not None:
            kept = np.repeat(moments.at, size) <= last[queries]
            upto = np.concatenate(([0], np.cumsum(kept)))
            size, queries = np.diff(upto[offset]), queries[kept]
        full = size > 0
        times, stop = moments.at[full], np.cumsum(size[full])
        if self.schedule.plan_name == "DP":  # what falls on one moment is one execution
            differs = np.append(times[1:] != times[:-1], True)[: len(times)]
            times, stop = times[differs], stop[differs]
        return Executions(times, np.concatenate(([0], stop)), queries)


def _multiples(slide: int, after: int, until: int, latest: int | None) -> Ints:
    """Return the multiples of ``slide`` with ``after < at <= until``, up to the first one after
    ``latest``."""
    if latest is not None:
        until = min(until, (latest // slide + 1) * slide)
    return np.arange((after // slide + 1) * slide, until + 1, slide, dtype=np.int64)


def _gather(flat: Ints, start: Ints, size: Ints) -> tuple[Ints, Ints]:
    """Return where each stretch begins, and ``flat[start[i] : start[i] + size[i]]`` for all i."""
    offset = np.concatenate(([0], np.cumsum(size)))
    return offset, flat[np.arange(offset[-1]) + np.repeat(start - offset[:-1], size)]
