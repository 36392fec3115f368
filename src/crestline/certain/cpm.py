"""CPM: the top k above a grid of the whole window (CPM/w of Mouratidis and Papadias 2007), a rival.

**Answers** the exact top k after every arrival. **Does not** forget anything that is in the window.

**Idea.** With a ``preference``, the window is in cells around the query's point, each a box of the
attributes, which are read in the order of their distance. A new record enters the top k if it beats
the last of them; only cells nearer than that, the influence region, can hold such a record. When a
result expires, the top k is computed again from the nearest cells, until no other cell can hold a
nearer record, and its last score becomes the threshold. Without a preference, cells are intervals
of the score, and the best one comes first.

**Cost**: O(d) to put a record into its cell and O(1) to take it out, and a recomputation of
O(r log k), for the r records it reads, whenever a result expires: at k in n arrivals. All n records
are kept.

**Invariants**: G1 to G4 of ``certain.grid``.

**Deviations.** The original finds the next cell with a heap of cells and of rectangles around the
query's cell, and notes the cells it has visited for the next time. The query stays, so the order of
all cells is computed once. The influence region needs no list for each cell, as there is one query:
the region is the beginning of that order, and a record tells by its score that it is outside.
Of equal scores, all that tie with the k-th are read. The last cell is for records that score better
than their box allows (``certain.cells``).

>>> import numpy as np
>>> operator = CPM(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]

>>> from crestline.certain.preferences import Distance
>>> from crestline.core.batch import Batch
>>> points = np.array([[3.0, 4.0], [0.0, 1.0], [6.0, 8.0], [2.0, 0.0], [9.0, 9.0]])
>>> nearest = CPM(k=1, window=3, preference=Distance((0.0, 0.0)))
>>> _ = nearest.observe(Batch(-np.hypot(*points.T), points=points))
>>> [(end, ids.tolist()) for _, end, ids, _ in nearest.advance()]
[(1, [0]), (2, [1]), (3, [1]), (4, [1]), (5, [3])]
"""

from __future__ import annotations

from crestline.certain.grid import GridOperator
from crestline.certain.preferences import PointPreference


class CPM(GridOperator):
    """The top k above a grid of the window; see the module's text."""

    skyband = False
    at_once = True

    def __init__(
        self, k: int, window: int | None, slide: int | None = 1, *, only_changes: bool = False,
        preference: PointPreference | None = None,
    ) -> None:  # fmt: skip
        super().__init__(k, window, slide, only_changes=only_changes, preference=preference)
