"""Section 4 to the letter, with counts in place of sketches; shares no code with the operators.

An instance's best score counts, for every stream on which the object was not seen, the probability
that it is seen there, given all streams on which it was; both times the largest value, 1. The
probability is the share of objects in the window that were seen on all of these streams and on
that one, among those seen on all of these. It is worked out when a value of the object arrives. As
in the paper, an instance is gone for good when k objects have dominated it, and a value of an
object all of whose instances are gone is taken for its first.

Arrays hold what is kept; a value takes a few steps over all of them. Windows count values.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from papers.haghani2009.stream import Stream

from crestline.types import Floats, Ints


def followed(
    records: Stream, k: int, window: int, places: Ints, weight: float = 1.0
) -> list[tuple[Ints, Floats, int]]:
    """At each of these places, after so many records: the top objects, their scores, the items.

    With another ``weight`` than 1 probabilities count so much of what they are.
    """
    kept, seen = _Kept(k, weight), _Seen(window, records.streams)
    wanted = set(places.tolist())
    seen_by = slice(max(wanted))  # what comes after the last place changes nothing
    columns = [each[seen_by].tolist() for each in (records.object, records.stream, records.value)]
    found = []
    for number, (thing, stream, value) in enumerate(zip(*columns, strict=True)):
        seen.add(thing, stream)
        kept.expire(number - window)
        kept.add(thing, stream, value, number, seen)
        if number + 1 in wanted:
            found.append((*kept.top(), len(kept.time)))
    return found


class _Seen:
    """The window: how many objects were seen on exactly which streams (a bit for each)."""

    def __init__(self, window: int, streams: int) -> None:
        self.window, self.streams = window, streams
        self.on: dict[int, int] = {}
        self.objects = np.zeros(1 << streams)
        self._values: deque[tuple[int, int]] = deque()
        every = np.arange(1 << streams)
        self._above = [every[every & bits == bits] for bits in every.tolist()]

    def add(self, thing: int, stream: int) -> None:
        self._values.append((thing, stream))
        self._set(thing, self.on.get(thing, 0) | 1 << stream)
        if len(self._values) > self.window:
            old, its = self._values.popleft()
            self._set(old, self.on[old] & ~(1 << its))

    def _set(self, thing: int, bits: int) -> None:
        before = self.on.pop(thing, 0)
        self.objects[before] -= before > 0
        self.objects[bits] += bits > 0
        if bits:
            self.on[thing] = bits

    def to_come(self, bits: int) -> float:
        """The sum of the probabilities of all other streams, given these; each is 1 if no object in
        the window tells."""
        together = self.objects[self._above[bits]].sum()
        others = [1 << stream for stream in range(self.streams) if not bits >> stream & 1]
        if together == 0:
            return float(len(others))
        return float(sum(self.objects[self._above[bits | o]].sum() for o in others) / together)


def _none(kind: Any) -> Any:
    return field(default_factory=lambda: np.empty(0, kind))


@dataclass
class _Kept:
    """The instances, by time: those of dropped and expired ones are taken out."""

    k: int
    weight: float
    thing: Ints = _none(np.int64)
    time: Ints = _none(np.int64)
    current: Floats = _none(np.float64)
    best: Floats = _none(np.float64)
    #: On which streams the object was seen, as far as the instance knows.
    bits: Ints = _none(np.int64)
    #: How many objects have dominated it.
    dominated: Ints = _none(np.int64)

    def _keep(self, which: Any) -> None:
        for name in ("thing", "time", "current", "best", "bits", "dominated"):
            setattr(self, name, getattr(self, name)[which])

    def expire(self, until: int) -> None:
        if len(self.time) and self.time[0] <= until:
            self._keep(self.time > until)

    def add(self, thing: int, stream: int, value: float, now: int, seen: _Seen) -> None:
        mine = np.flatnonzero(self.thing == thing)
        before = self._dominated_by(mine)
        bits = int(np.bitwise_or.reduce(self.bits[mine], initial=1 << stream))
        hope = self.weight * seen.to_come(bits)
        self.current[mine] += value
        self.best[mine] = self.current[mine] + hope
        self.bits[mine] = bits
        new = {"thing": thing, "time": now, "current": value, "best": value + hope,
               "bits": bits, "dominated": 0}  # fmt: skip
        for name, number in new.items():
            setattr(self, name, np.append(getattr(self, name), number))
        after = self._dominated_by(np.append(mine, len(self.time) - 1))
        after[: len(before)] &= ~before
        self.dominated += after
        for place in mine:  # with a lower best score, others may dominate them
            by = (self.time > self.time[place]) & (self.current > self.best[place])
            others = len(np.unique(self.thing[by]))
            self.dominated[place] = max(others, self.dominated[place])
        if (self.dominated >= self.k).any():
            self._keep(self.dominated < self.k)

    def _dominated_by(self, mine: Ints) -> Any:
        """Which instances one of these, of one object, dominates."""
        by_any = np.zeros(len(self.time), np.bool_)
        for place in mine:
            by_any |= (self.time < self.time[place]) & (self.best < self.current[place])
        return by_any

    def top(self) -> tuple[Ints, Floats]:
        """The best objects with their scores; that of an object is its oldest instance's. Of equal
        ones that with the newer value comes first."""
        things, first = np.unique(self.thing, return_index=True)
        newest = len(self.thing) - np.unique(self.thing[::-1], return_index=True)[1]
        scores = self.current[first]
        order = np.lexsort((things, -newest, -scores))[: self.k]
        return things[order], scores[order]
