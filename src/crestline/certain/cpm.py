"""CPM: the top k above a grid of the whole window (CPM/w of Mouratidis and Papadias 2007), a rival.

**Answers** the exact top k after every arrival. **Does not** forget anything that is in the window.

**Idea.** A new record enters the top k if it beats the last of them. When one of them expires, the
top k is computed again from the best cells of the grid, and its last score becomes the threshold.

**Cost**: O(1) to put a record into its cell and take it out, and a recomputation of O(r + k log k),
for the r records it reads, whenever a result expires: at k in n arrivals. All n records are kept.

**Invariants**: G1 to G3 of ``certain.grid``.

**Deviations.** The original walks cells around a query point by distance; here a record is known by
its score, and the cells are intervals of it. With that, the algorithm is TMA's; they differ in when
the threshold of Table II is first set: as soon as there are k records.

>>> import numpy as np
>>> operator = CPM(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.grid import GridOperator


class CPM(GridOperator):
    """The top k above a grid of the window; see the module's text."""

    skyband = False
    at_once = True

    def __init__(
        self, k: int, window: int | None, slide: int | None = 1, *, only_changes: bool = False
    ) -> None:
        super().__init__(k, window, slide, only_changes=only_changes)
