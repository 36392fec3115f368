"""A control group: what an approximate answer misses, measured on a sample of objects.

Everything that was seen of the objects of the sample is kept (``sample``), so their scores can be
computed. From time to time they are compared with the answer. An object is missed if it scores more
than the k-th one shown but is not stored with that score. If one object in four is in the sample,
each missed one stands for four. The mean number of objects missed above each rank tells down to
which rank the objects shown are among the k best. Comparisons at nearly the same time are nearly
the same, so there is no result before about ten different objects of the k best must have been in
the sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.incomplete.sample import ObjectSample
from crestline.incomplete.store import ObjectStore
from crestline.kernels.incomplete.control import missed_scores
from crestline.kernels.incomplete.store import KTH_SCORE, SHOWN, ObjectQuery
from crestline.types import Ints

#: This many different objects of the answers must have been in the group before it has a result.
_ENOUGH = 10.0
#: So many comparisons are made while a window passes.
_OFTEN = 16


class ControlGroup:
    """The comparisons of all partitions."""

    def __init__(self, k: int) -> None:
        #: By the rank below them, the objects missed in all comparisons.
        self.missed = np.zeros(k)
        self.compared = 0
        #: How many of the k best have probably been in the sample.
        self.objects = 0.0
        #: By partition, the step of the last comparison.
        self._last = np.empty(0, np.int64)

    def grow(self, partitions: int) -> None:
        """Make room for this number of partitions."""
        more = np.full(partitions - len(self._last), LONG_AGO)
        self._last = np.concatenate((self._last, more))

    def compare(self, p: int, store: ObjectStore, query: ObjectQuery, sample: ObjectSample) -> None:
        """Compare the answer of a partition with the objects of the sample."""
        k, step = query.k, store.passed
        steps = query.width if query.on_arrival else query.width / query.slide
        due = max(float(sample.complete_from[p]), self._last[p] + steps / _OFTEN)
        if store.meta[SHOWN] < k or step < due:
            return
        kth_score = float(store.thresholds[KTH_SCORE])
        missed = missed_scores(query.rule, store.arrays, sample.observations, p, kth_score)
        below = np.searchsorted(-store.answer.numbers[0, :k], -missed)
        self.missed += np.bincount(below, minlength=k)[:k] * 2.0**sample.level
        self.compared += 1
        if self._last[p] > LONG_AGO and not query.unbounded:  # within a window all of them change
            self.objects += (step - self._last[p]) / steps * k / 2.0**sample.level
        self._last[p] = step

    def keep_partitions(self, kept: Ints) -> None:
        self._last = self._last[kept]

    def precision(self) -> float | None:
        """Return the share of the k best that was shown; None if there is no result yet."""
        if self.objects < _ENOUGH:
            return None
        k = len(self.missed)
        rank = np.arange(k + 1)
        true_rank = rank + np.concatenate(([0.0], np.cumsum(self.missed) / self.compared))
        return float(np.interp(k, true_rank, rank)) / k

    def state(self) -> dict[str, Any]:
        figures = np.concatenate(([self.compared, self.objects], self.missed))
        return {"figures": figures, "last": self._last}

    def restore(self, state: dict[str, Any], partitions: int) -> None:
        sound.length("control", state["figures"], of=2 + len(self.missed))
        fair = (state["figures"] >= 0) & (state["figures"] <= sound.FAR)
        sound.require(fair.all(), "control holds what is no count")
        sound.length("last", state["last"], of=partitions)
        sound.moments("last", state["last"])
        self.compared, self.objects = int(state["figures"][0]), float(state["figures"][1])
        self.missed, self._last = state["figures"][2:].copy(), state["last"].copy()
