"""SLA: the whole window, in lists sorted by value, one a stream (Haghani et al. 2009, section 3.1).

The k best objects are found by the threshold algorithm of Fagin et al., but seldom: a view of more
than k objects is kept up to date as values come and go, and only when it has lost too many of them
is it filled anew from the lists (``kernels.incomplete.sorted_lists``).

**Cost**: log n for each value that comes or goes, and a share in the fillings. **Keeps** the whole
window: n values in two places each.

**Invariants** I1 to I5 of ``incomplete.operator``, and S1: a list holds the objects with a value on
its stream, as a heap. S2: the view holds the objects that score more than its floor.

>>> import numpy as np
>>> from crestline.core.operator import Sighting
>>> from crestline.incomplete import Combination
>>> operator = SLA(k=1, window=3, slide=1, combination=Combination("SUM", streams=2, low=0, high=9))
>>> _ = operator.observe(np.array([5.0, 3, 4, 1]), sighting=Sighting.of([7, 8, 8, 7], [0, 0, 1, 1]))
>>> operator.advance().score.tolist()
[5.0, 5.0, 7.0, 7.0]
"""

from __future__ import annotations

import numpy as np

from crestline.incomplete.operator import IncompleteOperator
from crestline.incomplete.part import Part
from crestline.kernels.incomplete.objects import SIZES, STREAM, VIEW
from crestline.kernels.incomplete.sorted_lists import FLOOR


class SLA(IncompleteOperator):
    """Sorted lists and the threshold algorithm."""

    listed = True

    def _check_part(self, part: Part) -> None:
        super()._check_part(part)
        live = part.slots()
        live = live[part.objects["newest"][live] >= 0]
        for x in range(part.lists.shape[1]):
            listed = part.heaps[STREAM + x, : part.meta[SIZES + STREAM + x]]
            places = part.lists["place"][live, x]
            assert sorted(listed) == sorted(live[places >= 0]), "S1"
            value = part.lists["value"][listed, x]
            parents = (np.arange(1, len(listed)) - 1) // 2
            assert (value[parents] >= value[1:]).all(), "S1"
        view = part.heaps[VIEW, : part.meta[SIZES + VIEW]]
        floor = part.edge[FLOOR]
        above = live[(part.objects["score"][live] > floor) | (floor == -np.inf)]
        assert sorted(view) == sorted(above), "S2"
