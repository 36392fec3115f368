"""EAA: only what can still matter, by interval dominance (Haghani et al. 2009, section 3.2).

An object with values of different ages loses them one after the other. Each of its values stands
for an *instance*: the object as it will be when everything older has left. An instance has a score
now (of its values) and a best score (with the largest value allowed wherever one may still come),
and the two only approach each other. It is dominated by an object that stays as long and scores
more now than its best; dominated by k objects, it is forgotten.

What is kept is exactly the k dominance set: no exact algorithm can keep less. The paper counts the
dominators of each instance as values arrive, in three sorted lists. Here one pass over all
instances from the newest to the oldest finds the dominated ones (``kernels.incomplete.dominance``).
A pass is made whenever the stored values have grown by a quarter: O(log k) per value instead of a
scan of lists, for the same set.

An object may return to a stream when its value there has left the window: the best score of an
instance then allows a new value on streams of older ones. With ``once`` it may not, as in the
paper, and best scores are lower. Of a forgotten value the operator still remembers that it was
seen: a repeat would otherwise go unnoticed. That costs a few bytes per value
(``kernels.incomplete.guard``); ``trusting`` saves them.

**Cost**: a search and a heap operation for each value that comes or goes, and O(log k + streams)
for its share in the passes. **Keeps** a part of the window that grows with it: linearly where the
interval between score and best score does not narrow (Lemma 1 of the paper), else more slowly.

**Invariants** I1 to I5 of ``incomplete.operator``, and after ``prune`` E1: an instance is kept
exactly if fewer than k objects dominate it.

>>> import numpy as np
>>> from crestline.core.batch import Batch, Observations
>>> from crestline.incomplete import Combination
>>> operator = EAA(k=1, window=4, slide=1, combination=Combination("MAX", streams=2, low=0, high=9))
>>> seen = Observations.of(np.array([7, 8, 8, 9]), np.array([0, 0, 1, 1]))
>>> _ = operator.observe(Batch(np.array([9.0, 9, 1, 8]), observations=seen))
>>> operator.advance().score.tolist()
[9.0, 9.0, 9.0, 9.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from crestline.incomplete.operator import IncompleteOperator
from crestline.kernels.incomplete.dominance import sweep
from crestline.kernels.incomplete.expectation import Expectation, no_expectation


class EAA(IncompleteOperator):
    """The k dominance set."""

    OPTIONS: ClassVar[Mapping[str, float | None]] = {"once": False, "trusting": False}
    forgets = True

    @property
    def _fresh(self) -> tuple[int, int]:
        """A sweep follows when the stored values have grown by one in so many, and by so many."""
        return 4, 32

    def _piece(self, p: int) -> int:
        """Return so few records that values are forgotten in time."""
        return max(self._fresh[1] // 4, self._sweep_above(p) + 1 - self._stores[p].values)

    def _sweep_above(self, p: int) -> int:
        """Return the number of stored values above which a sweep follows."""
        swept, (part, number) = self._stores[p].swept, self._fresh
        return swept + swept // part + number

    def _forget(self, p: int, always: bool = False) -> None:
        store = self._stores[p]
        due = store.values > self._sweep_above(p)
        if not (due or always):
            return
        most = store.values, store.live
        sweep(self._query, store.arrays, self._expectation(p))
        store.swept = store.values
        if due:
            store.trim(*most)

    def _expectation(self, p: int) -> Expectation:
        """Return what may be expected of objects; empty: anything, as far as it is possible."""
        return no_expectation()
