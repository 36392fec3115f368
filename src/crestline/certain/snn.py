"""SNN: a skyband above a grid of the whole window (Mouratidis and Papadias 2007), a rival.

**Answers** the exact top k after every arrival. **Does not** forget anything that is in the window.

**Idea.** As CPM, but the view is the skyband of all records that reach the threshold, the k-th
score when it was last computed; only when expiry leaves fewer than k is it computed again, from the
cells in the order of their distance. The skyband knows when the first of its records expires, so
other expiries cost one comparison.

**Cost**: O(d) for the grid, O(S) for a record that enters a skyband of S and at the expiry of one
of its records, and a recomputation where that runs short. All n records are kept.

**Invariants**: G1 to G4 of ``certain.grid``.

**Deviations**: as CPM's. The threshold is first set when there are k records, and not again while
the window fills.

>>> import numpy as np
>>> operator = SNN(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.grid import GridOperator
from crestline.certain.preferences import PointPreference


class SNN(GridOperator):
    """A skyband above a grid of the window; see the module's text."""

    skyband = True
    at_once = True

    def __init__(
        self, k: int, window: int | None, slide: int | None = 1, *, only_changes: bool = False,
        preference: PointPreference | None = None,
    ) -> None:  # fmt: skip
        super().__init__(k, window, slide, only_changes=only_changes, preference=preference)
