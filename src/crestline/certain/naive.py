"""NAIVE: keep the whole window and sort it whenever a result is due.

The yardstick in benchmarks and the judge in tests, so it shares nothing with what it judges: plain
NumPy, no kernels, no panes, no pruning (``operators.whole_windows``).

**Answers** the exact top k of every window. **Cost**: O(n log n) for each due window of n records;
all n are kept.

**Invariant** N1: every kept record is in the current or in a future window.

>>> import numpy as np
>>> operator = Naive(k=1, window=4, slide=2)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(2, [9.0]), (4, [9.0]), (6, [7.0])]
"""

from __future__ import annotations

import numpy as np

from crestline.operators.whole_windows import WholeWindows
from crestline.types import Ints


class Naive(WholeWindows):
    """All records of the window, partition by partition."""

    def _answer(self, inside: Ints) -> tuple[Ints, None]:
        score, tie = self.records["score"][inside], self.records["tie"][inside]
        return inside[np.lexsort((-tie, -score))[: self.k]], None


__all__ = ["Naive"]
