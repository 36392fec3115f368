"""EAA: only what can still matter, by interval dominance (Haghani et al. 2009, section 3.2).

An object with values of different ages will lose them one after the other: each of its values
stands for an *instance*, the object as it will be when everything older has left. An instance has a
score now (of its values) and a best score (with the largest value allowed wherever one may still
come), and both only close in. It is dominated by an object that stays as long and scores more now
than its best; dominated by k objects, it is forgotten.

What is kept is exactly the k dominance set: no exact algorithm can keep less. The paper counts the
dominators of each instance as values arrive, in three sorted lists. Here one pass over all
instances from the newest to the oldest finds who is dominated (``kernels.incomplete.dominance``),
and it is made whenever a quarter has come anew: O(log k) a value instead of a scan of lists, for
the same set.

An object may come back to a stream when its value there has left the window: the best score of an
instance then allows a new value on streams of older ones. With ``once`` it may not, as in the
paper, and best scores are lower. Values are forgotten, but not that they were seen: a repeat would
otherwise go unnoticed. That costs a few bytes a value (``kernels.incomplete.guard``); ``trusting``
saves them.

**Cost**: a search and a heap for each value that comes or goes, and O(log k + streams) for its
share in the passes. **Keeps** a part of the window that grows with it: linearly, where the interval
between score and best score does not narrow (Lemma 1 of the paper), else more slowly.

**Invariants** I1 to I5 of ``incomplete.operator``, and after ``prune`` E1: an instance is kept
exactly if fewer than k objects dominate it.

>>> import numpy as np
>>> from crestline.core.operator import Sighting
>>> from crestline.incomplete import Combination
>>> operator = EAA(k=1, window=4, slide=1, combination=Combination("MAX", streams=2, low=0, high=9))
>>> _ = operator.observe(np.array([9.0, 9, 1, 8]), sighting=Sighting.of([7, 8, 8, 9], [0, 0, 1, 1]))
>>> operator.advance().score.tolist()
[9.0, 9.0, 9.0, 9.0]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from crestline.incomplete.operator import IncompleteOperator
from crestline.incomplete.part import Part
from crestline.kernels.incomplete.dominance import sweep
from crestline.types import Floats

#: Values are looked through again when a quarter has come anew, and this many.
_FRESH = 64
_NO_CHANCES = np.empty((0, 0))


class EAA(IncompleteOperator):
    """The k dominance set."""

    OPTIONS: ClassVar[Mapping[str, float | None]] = {"once": False, "trusting": False}
    forgets = True

    def _piece(self, part: Part) -> int:
        """So few that what can be forgotten is, in time."""
        return max(_FRESH, part.swept + part.swept // 4 + _FRESH - part.values)

    def _forget(self, part: Part, always: bool = False) -> None:
        if always or part.values > part.swept + part.swept // 4 + _FRESH:
            rule, chances = self.combination.rule(), self._chances(part)
            sweep(
                self._setting, rule, self._terms, part.meta, part.edge, part.stored, part.objects,
                part.lists, part.heaps, part.table, chances,
            )  # fmt: skip
            part.swept = part.values

    def _chances(self, part: Part) -> Floats:
        """How probable it is that an object is seen on one stream, given another; nothing here."""
        return _NO_CHANCES
