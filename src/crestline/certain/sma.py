"""SMA: a grid of the window and a skyband above it (Mouratidis et al. 2006), the paper's rival.

**Answers** the exact top k of every window. **Does not** forget anything that is in the window.

**Idea.** The skyband holds the records that reach the k-th score of the last recomputation and have
fewer than k *later, better* ones; the first k are the answer. When expiry leaves fewer than k, the
skyband is rebuilt from the best cells of the grid.

**Cost**, with n records in the window and S in the skyband: O(1) to put a record into its cell and
to take it out, O(S) for one that enters the skyband; a recomputation reads the cells until it has
k records and costs O(r + k log k) for the r it reads. All n records are kept.

**Deviations.** While the window fills for the first time, the skyband is computed whenever the
records have doubled, and once more when the window is full: the original starts on a full window.
Scores are one number, so the grid has one dimension: cells of equal width over the range of the
first records, the outer ones open. Panes expire whole. A recomputation takes in every record tied
with the k-th, so that ties are answered exactly.

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
