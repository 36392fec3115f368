"""A control group: what an approximate answer misses, measured on a sample of objects.

All values of the objects in a small sample are kept, so their scores are exact. From time to time
they are compared with the answer. An object is missed if it scores more than the k-th one shown but
is not stored with that score. If one object in four is in the sample, each missed one stands for
four. The mean number of objects missed above each rank tells down to which rank the objects shown
are among the k best. Comparisons at nearly the same time are nearly the same, so there is no result
before about ten different objects of the k best must have been in the group.
"""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.incomplete.store import ObjectStore
from crestline.kernels.common.output import new_report
from crestline.kernels.incomplete.answers import NUMBERS
from crestline.kernels.incomplete.control import in_sample, missed_scores
from crestline.kernels.incomplete.store import (
    KTH_SCORE,
    SHOWN,
    Arrivals,
    ObjectQuery,
    chosen,
)
from crestline.types import Floats

#: The sample is made smaller when it holds more values than the operator, and this many.
_FEW = 256
#: This many different objects of the answers must have been in the group before it has a result.
_ENOUGH = 10.0


class ControlGroup:
    """The control group of one partition."""

    def __init__(self) -> None:
        self.level = 0  # one in ``2 ** level`` objects is in the sample
        self.missed = np.zeros(0)  # by the rank below them, the sum of all comparisons
        self.compared = 0
        self.objects = 0.0  # how many of the k best have probably been in the sample
        self._last_compared: int | None = None  # a step
        self._sample: ObjectStore | None = None
        self._complete_from: int | None = None  # the step from which the sample lacks nothing

    @property
    def values(self) -> int:
        """How many values it keeps."""
        return 0 if self._sample is None else self._sample.values

    def follow(self, store: ObjectStore, query: ObjectQuery, arrivals: Arrivals) -> None:
        """Take in what the partition took in, and compare."""
        sample = self._sample
        if sample is None:
            sample = self._sample = ObjectStore(
                len(query.rule.order),
                declared=query.rule.declared,
                guarded=False,
                listed=False,
                sketched=False,
            )
            self._complete_from = None
        rows = np.flatnonzero(in_sample(arrivals.high, arrivals.low, self.level))
        sampled = chosen(arrivals, rows)
        if query.counted and query.on_arrival:
            sampled = sampled._replace(time=sampled.time + 1)
        alone = query._replace(counted=False, dated=False, k=1, listed=False)
        sample.run(alone, sampled, slice(0, len(rows)), store.passed, 0, new_report(NUMBERS, 0, 0))
        if self._complete_from is None:
            self._complete_from = store.empty_from if store.empty_from > LONG_AGO else None
        elif sample.passed >= self._complete_from and store.meta[SHOWN] >= query.k:
            kth_score = float(store.thresholds[KTH_SCORE])
            missed = missed_scores(store.objects, store.table, sample.heaps, kth_score)
            self._count(store.answer.numbers[0, : query.k], missed)
            self._note_objects(query, sample.passed)
        if sample.values > max(_FEW, store.values):
            self.level += 1
            self._sample = self._last_compared = None

    def _count(self, shown: Floats, missed: Floats) -> None:
        """Add the missed scores to the ranks of the answer below them."""
        if len(self.missed) == 0:
            self.missed = np.zeros(len(shown))
        below = np.searchsorted(-shown, -missed)
        self.missed += np.bincount(below, minlength=len(shown))[: len(shown)] * 2.0**self.level
        self.compared += 1

    def _note_objects(self, query: ObjectQuery, step: int) -> None:
        """Estimate how many objects of the k best are new: within a window all of them change."""
        if self._last_compared is not None and not query.unbounded:
            steps = query.width if query.on_arrival else query.width / query.slide
            self.objects += (step - self._last_compared) / steps * query.k / 2.0**self.level
        self._last_compared = step

    def precision(self) -> float | None:
        """Return the share of the k best that was shown; None if there is no result yet."""
        if self.objects < _ENOUGH:
            return None
        k = len(self.missed)
        rank = np.arange(k + 1)
        true_rank = rank + np.concatenate(([0.0], np.cumsum(self.missed) / self.compared))
        return float(np.interp(k, true_rank, rank)) / k

    def state(self) -> Floats:
        """Return the result so far; the sample itself is gathered again."""
        return np.concatenate(([self.level, self.compared, self.objects], self.missed))

    def restore(self, state: Floats) -> None:
        self.level, self.compared, self.objects = int(state[0]), int(state[1]), float(state[2])
        self.missed = state[3:].copy()
