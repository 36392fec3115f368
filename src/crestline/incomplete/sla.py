"""SLA: the whole window, in one sorted list per stream (Haghani et al. 2009, section 3.1).

The threshold algorithm of Fagin et al. finds the k best objects, but it runs seldom: a view of more
than k objects is kept up to date as values come and go. Only when it has lost too many of them is
it filled again from the lists (``kernels.incomplete.sorted_lists``).

**Cost**: O(log n) for each value that comes or goes, and a share in the fillings. **Keeps** the
whole window: n values in two places each.

**Invariants** I1 to I5 of ``incomplete.operator``, and S1: a list holds the objects with a value on
its stream, as a heap. S2: the view holds the objects that score more than its floor.

>>> import numpy as np
>>> from crestline.core.batch import Batch, Observations
>>> from crestline.incomplete import Combination
>>> operator = SLA(k=1, window=3, slide=1, combination=Combination("SUM", streams=2, low=0, high=9))
>>> seen = Observations.of(np.array([7, 8, 8, 7]), np.array([0, 0, 1, 1]))
>>> _ = operator.observe(Batch(np.array([5.0, 3, 4, 1]), observations=seen))
>>> operator.advance().score.tolist()
[5.0, 5.0, 7.0, 7.0]
"""

from __future__ import annotations

import numpy as np

from crestline.incomplete.operator import IncompleteOperator
from crestline.incomplete.store import ObjectStore
from crestline.kernels.incomplete.heaps import SCORE, STREAM
from crestline.kernels.incomplete.store import FLOOR


class SLA(IncompleteOperator):
    """Sorted lists and the threshold algorithm."""

    listed = True

    def _check_store(self, store: ObjectStore) -> None:
        super()._check_store(store)
        size, slot, objects, lists = store.heaps
        live = store.slots()
        live = live[objects["newest"][live] >= 0]
        for x in range(store.streams):
            listed = slot[STREAM + x, : size[STREAM + x]]
            holders = live[lists["number"][live, 1 + x] >= 0]
            assert sorted(listed) == sorted(holders), "S1: a list holds the objects of its stream"
            value = lists["value"][listed, 1 + x]
            parents = (np.arange(1, len(listed)) - 1) // 2
            assert (value[parents] >= value[1:]).all(), "S1: a list is a heap"
        view = slot[SCORE, : size[SCORE]]
        floor = store.thresholds[FLOOR]
        above = live[(objects["score"][live] > floor) | (floor == -np.inf)]
        assert sorted(view) == sorted(above), "S2: the view holds the objects above its floor"
