"""A control group: what an approximate answer misses, measured on a few objects as it goes.

Of the objects whose keys fall into a small class, all values are kept. Now and then their scores,
which are exact, are held against the answer: an object that scores more than the k-th shown but is
not known with that score was missed. If one object in four is in the group, each that was missed
stands for four. On average over time, so many were missed above each rank shown: that tells down to
which rank those shown are among the k best. Comparisons soon after one another are much the same,
so nothing is told before about ten different ones of the k best must have been in the group.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.incomplete.part import Part
from crestline.kernels.incomplete.combine import Rule, Terms
from crestline.kernels.incomplete.control import in_class, missing
from crestline.kernels.incomplete.observations import (
    DONE,
    KTH,
    NUMBERS,
    SHOWN,
    Arrivals,
    Setting,
    Told,
    chosen,
    run,
)
from crestline.types import Floats

#: The group is made smaller when it has more values than are kept, and this many.
_FEW = 256
#: So many different objects of the answers must have been in the group for it to tell anything.
_ENOUGH = 10.0


class ControlGroup:
    """The control group of one partition."""

    def __init__(self) -> None:
        self.level = 0  # of how many objects one is in the group, as a power of two
        self.missed = np.zeros(0)  # how many, by the rank below them, all comparisons together
        self.compared = 0
        self.objects = 0.0  # of the k best, how many have probably been in the group
        self._done: int | None = None  # the step at which it last compared
        self._part: Part | None = None
        self._full_from: int | None = None  # the position from which on nothing is missing in it

    @property
    def values(self) -> int:
        """How many values it keeps."""
        return 0 if self._part is None else self._part.values

    def follow(
        self, part: Part, setting: Setting, rule: Rule, terms: Terms, arrivals: Arrivals
    ) -> None:
        """Take in what the partition took in, and compare."""
        streams, until = len(terms.order), int(part.meta[DONE])
        if self._part is None:
            self._part = Part(
                streams, known=rule.known, guarded=False, listed=False, sketched=False
            )
            self._full_from = None
        mine = self._part
        some = chosen(arrivals, np.flatnonzero(in_class(arrivals.high, arrivals.low, self.level)))
        count = len(some.at)
        alone = setting._replace(counted=False, dated=False, k=1, listed=False)
        if setting.counted and setting.on_arrival:
            some = some._replace(at=some.at + 1)
        mine.reserve(count, streams)
        nothing: Told = (
            np.empty((2, 0), np.int64), np.empty(0, np.int64), np.empty((NUMBERS, 0)),
            np.zeros(2, np.int64),
        )  # fmt: skip
        mine.shown, _, _ = run(
            alone, rule, terms, mine.meta, mine.edge, mine.stored, mine.objects, mine.lists,
            mine.heaps, mine.table, mine.guard, mine.stamps, some, 0, count, until, mine.shown,
            nothing, np.empty(count, np.int64),
        )  # fmt: skip
        if self._full_from is None:
            self._full_from = int(part.last) if part.last > LONG_AGO else None
        elif mine.meta[DONE] >= self._full_from and part.meta[SHOWN] >= setting.k:
            missed = missing(
                part.objects, part.table, mine.meta, mine.objects, mine.heaps, float(part.edge[KTH])
            )
            self._count(part.shown.numbers[0, : setting.k], missed)
            self._note_objects(setting, int(mine.meta[DONE]))
        if mine.values > max(_FEW, part.values):
            self.level += 1
            self._part = self._done = None

    def _count(self, shown: Floats, missed: Floats) -> None:
        if len(self.missed) == 0:
            self.missed = np.zeros(len(shown))
        below = np.searchsorted(-shown, -missed)
        self.missed += np.bincount(below, minlength=len(shown))[: len(shown)] * 2.0**self.level
        self.compared += 1

    def _note_objects(self, setting: Setting, done: int) -> None:
        """In the time of a window, other objects come to the top."""
        if self._done is not None and not setting.unbounded:
            steps = setting.width if setting.on_arrival else setting.width / setting.slide
            self.objects += (done - self._done) / steps * setting.k / 2.0**self.level
        self._done = done

    def precision(self) -> float | None:
        """Which share of the k best was shown, as far as can be told; None: that cannot be told."""
        if self.objects < _ENOUGH:
            return None
        k = len(self.missed)
        rank = np.arange(k + 1)
        true_rank = rank + np.concatenate(([0.0], np.cumsum(self.missed) / self.compared))
        return float(np.interp(k, true_rank, rank)) / k

    def state(self) -> Floats:
        """What was found so far; the group itself is gathered anew."""
        return np.concatenate(([self.level, self.compared, self.objects], self.missed))

    def restore(self, state: Floats) -> None:
        self.level, self.compared, self.objects = int(state[0]), int(state[1]), float(state[2])
        self.missed = state[3:].copy()
