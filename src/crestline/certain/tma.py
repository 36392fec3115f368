"""TMA: a grid of the window and its top k above it (Mouratidis et al. 2006).

**Answers** the exact top k of every window. **Does not** forget anything that is in the window.

**Idea.** The view is the top k. A new record enters if it beats the last of them; when one of them
expires, the view is rebuilt from the best cells of the grid.

**Cost**: as SMA's, with k in place of the skyband's size, but a recomputation whenever a result
expires, where SMA needs one only when its skyband runs short.

**Deviations**: as SMA's.

>>> import numpy as np
>>> operator = TMA(k=1, window=4, slide=2)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(2, [9.0]), (4, [9.0]), (6, [7.0])]
>>> operator.recomputed
1
"""

from __future__ import annotations

from crestline.certain.grid import GridOperator


class TMA(GridOperator):
    """Top-k monitoring with recomputation; see the module's text."""

    skyband = False
