"""The agenda of several asks: some slide, the others are computed when a schedule says so.

Asks that slide are due at every multiple of their slide; all that are due at the same moment are
one execution. Of a schedule, each execution is one. Numbers of asks stay: one that was removed
leaves a gap.

>>> from crestline.sharing.demand import Demand
>>> agenda = SharedAgenda([2, 3, None], Schedule("DP", [Demand("c", 4, 1)]), ["a", "b", "c"])
>>> due = agenda.due(0, 6)
>>> [(int(at), due.ask[due.offset[i] : due.offset[i + 1]].tolist()) for i, at in enumerate(due.at)]
[(2, [0]), (3, [1]), (4, [0]), (4, [2]), (6, [0, 1])]
"""

from __future__ import annotations

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
    """When asks are answered and which together; ask number i is called ``names[i]``.

    ``slides[i]`` is None if the schedule decides, under that name. Members of the schedule that no
    ask is called after are somebody else's.
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
        """One ask more, and its number; with no slide, add it to the schedule as well."""
        if slide is not None and slide < 1:
            raise CrestlineError(f"query {name!r} slides by {slide}: it must be 1 or more")
        if any(self._names[number] == name for number in self._present()):
            raise CrestlineError(f"there is a query {name!r} already: give it another name")
        self._slides.append(slide)
        self._names.append(name)
        return len(self._names) - 1

    def remove(self, number: int) -> None:
        """The ask is not due any more; take it from the schedule as well if that decides."""
        if number not in self._present():
            raise CrestlineError(f"there is no ask number {number}")
        self._gone.add(number)

    def due(self, after: int, until: int, latest: int | None = None) -> Executions:
        """The executions with ``after < at <= until``. At the end of a bounded stream whose last
        event is at ``latest``, an ask's last one is its first after that."""
        sliding = self._sliding(after, until, latest)
        scheduled = self._scheduled(after, until, latest)
        if not len(scheduled):
            return sliding
        if not len(sliding):
            return scheduled
        at = np.concatenate((sliding.at, scheduled.at))
        order = np.argsort(at, kind="stable")
        size = np.concatenate((np.diff(sliding.offset), np.diff(scheduled.offset)))
        start = np.concatenate((sliding.offset[:-1], scheduled.offset[:-1] + len(sliding.ask)))
        offset, ask = _gather(
            np.concatenate((sliding.ask, scheduled.ask)), start[order], size[order]
        )
        return Executions(at[order], offset, ask)

    def last(self, latest: int) -> int:
        """The last execution for a bounded stream whose last event is at ``latest``."""
        ends = [
            (latest // slide + 1) * slide
            for ask in self._present()
            if (slide := self._slides[ask]) is not None
        ]
        names = {self._names[ask] for ask in self._present() if self._slides[ask] is None}
        if self.schedule is not None:
            ends += [
                self.schedule.first_after(demand.name, latest)
                for demand in self.schedule.demands
                if demand.name in names
            ]
        return max(ends, default=latest)

    def moments(self, ask: int, after: int, until: int, latest: int | None = None) -> Ints:
        """When one ask is due."""
        if ask not in self._present():
            return _NONE
        slide = self._slides[ask]
        if slide is not None:
            return _multiples(slide, after, until, latest)
        if self.schedule is None or not self._knows(ask):
            return _NONE
        name = self._names[ask]
        if latest is not None:
            until = min(until, self.schedule.first_after(name, latest))
        found = self.schedule.moments(after, until)
        its = np.array([name in members for members in found.members], np.bool_)
        return found.at[its[found.which]]

    def state(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "slides": [None if slide is None else int(slide) for slide in self._slides],
            "names": list(self._names),
            "gone": sorted(self._gone),
            "schedule": None if self.schedule is None else self.schedule.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> SharedAgenda:
        """The agenda whose state that is."""
        kept = state["schedule"]
        agenda = cls([], None if kept is None else Schedule.from_state(kept), [])
        agenda._slides, agenda._names = list(state["slides"]), list(state["names"])
        agenda._gone = set(state["gone"])
        return agenda

    def check(self, slides: Mapping[str, int | None], demands: Sequence[Demand]) -> None:
        """Refuse an agenda, read from a state, that is not one of these queries."""
        names = [self._names[number] for number in self._present()]
        mine = {self._names[number]: self._slides[number] for number in self._present()}
        sound.require(len(mine) == len(names) and mine == dict(slides), "the agenda is of others")
        sound.length("agenda", self._names, self._slides)
        if self.schedule is not None:
            known = {demand.name: demand for demand in self.schedule.demands}
            asked = all(known.get(demand.name) == demand for demand in demands)
            sound.require(asked, "the schedule is of other queries")
        else:
            sound.require(not demands, "there is no schedule")

    # --- inside -----------------------------------------------------------------------------------

    def _present(self) -> list[int]:
        return [number for number in range(len(self._names)) if number not in self._gone]

    def _knows(self, ask: int) -> bool:
        """Whether the schedule has a query of that name."""
        assert self.schedule is not None
        return any(demand.name == self._names[ask] for demand in self.schedule.demands)

    def _sliding(self, after: int, until: int, latest: int | None) -> Executions:
        """Those of asks that slide: the moments of each slide are found once, then each ask is
        written to its place."""
        present = self._present()
        slides = {self._slides[ask] for ask in present} - {None}
        times = {s: _multiples(s, after, until, latest) for s in slides if s is not None}
        at = np.unique(np.concatenate([_NONE, *times.values()]))
        places = {slide: np.searchsorted(at, time) for slide, time in times.items()}
        sharing = dict.fromkeys(times, 0)
        asks = [(ask, slide) for ask in present if (slide := self._slides[ask]) is not None]
        for _, slide in asks:
            sharing[slide] += 1
        size = np.zeros(len(at), np.int64)
        for slide, place in places.items():
            size[place] += sharing[slide]
        offset = np.concatenate(([0], np.cumsum(size)))
        ask_at = np.empty(int(offset[-1]), np.int64)
        free = offset[:-1].copy()
        for ask, slide in asks:
            place = places[slide]
            ask_at[free[place]] = ask
            free[place] += 1
        return Executions(at, offset, ask_at)

    def _scheduled(self, after: int, until: int, latest: int | None) -> Executions:
        """Those of the schedule."""
        nothing = Executions(_NONE, np.zeros(1, np.int64), _NONE)
        if self.schedule is None:
            return nothing
        number = {self._names[ask]: ask for ask in self._present() if self._slides[ask] is None}
        last: Ints | None = None
        if latest is not None:
            ends = {
                number[demand.name]: self.schedule.first_after(demand.name, latest)
                for demand in self.schedule.demands
                if demand.name in number
            }
            until = min(until, max(ends.values(), default=after))
            last = np.full(len(self._names), until, np.int64)
            last[list(ends)] = list(ends.values())
        found = self.schedule.moments(after, until)
        if not len(found.at):
            return nothing
        theirs = [[number[name] for name in m if name in number] for m in found.members]
        flat = np.array([ask for asks in theirs for ask in asks], np.int64)
        each = np.array([len(asks) for asks in theirs], np.int64)
        start = np.concatenate(([0], np.cumsum(each)))[:-1]
        size = each[found.which]
        offset, ask = _gather(flat, start[found.which], size)
        if last is not None:
            kept = np.repeat(found.at, size) <= last[ask]
            upto = np.concatenate(([0], np.cumsum(kept)))
            size, ask = np.diff(upto[offset]), ask[kept]
        full = size > 0
        return Executions(found.at[full], np.concatenate(([0], np.cumsum(size[full]))), ask)


def _multiples(slide: int, after: int, until: int, latest: int | None) -> Ints:
    """The multiples of ``slide`` with ``after < at <= until``, none after the first after
    ``latest``."""
    if latest is not None:
        until = min(until, (latest // slide + 1) * slide)
    return np.arange((after // slide + 1) * slide, until + 1, slide, dtype=np.int64)


def _gather(flat: Ints, start: Ints, size: Ints) -> tuple[Ints, Ints]:
    """``flat[start[i] : start[i] + size[i]]`` one after another, and where each begins."""
    offset = np.concatenate(([0], np.cumsum(size)))
    place = np.arange(offset[-1]) + np.repeat(start - offset[:-1], size)
    return offset, flat[place]
