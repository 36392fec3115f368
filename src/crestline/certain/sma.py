"""SMA: a grid of the window and a skyband above it (Mouratidis et al. 2006), the paper's rival.

**Answers** the exact top k of every window. **Does not** forget anything that is in the window.

**Idea.** The skyband holds the records that reach the k-th score of the last recomputation and have
fewer than k *later, better* ones; the first k are the answer. When expiry leaves fewer than k, the
skyband is rebuilt from the best cells of the grid. With a ``preference``, such as a weighted sum,
cells are boxes of the attributes, and they are read from the best corner of the space on. Without
one they are intervals of the score.

**Cost**, with n records in the window and S in the skyband: O(d) to put a record into its cell and
O(1) to take it out, O(S) for one that enters the skyband; a recomputation reads the cells until no
other can hold one of the k best and costs O(r log k) for the r it reads. All n records are kept.

**Deviations.** While the window fills for the first time, the skyband is computed whenever the
records have doubled, and once more when the window is full: the original starts on a full window.
The original finds the next cell with a heap; the order of the cells is computed once here, since
the query stays. Cells are equally wide over the range of the first records; see ``certain.cells``
for records outside. Panes expire whole. A recomputation takes in every record tied with the k-th,
so that ties are answered exactly.

>>> import numpy as np
>>> operator = SMA(k=1, window=4, slide=2)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(2, [9.0]), (4, [9.0]), (6, [7.0])]
>>> operator.candidates
4
"""

from __future__ import annotations

from crestline.certain.grid import GridOperator


class SMA(GridOperator):
    """Skyband monitoring; see the module's text."""

    skyband = True
