"""SAPF: the strict skyband behind the probabilistic filter (Pripuzic et al. 2015, section 5).

**Answers** the exact top k after every arrival, as RAPF; see ``certain.rapf`` for the idea, and for
what differs from the paper. The filter and the blocks are RAPF's. The band is SA's: O(M) for each
record that gets through, and never one too many.

**Options**: ``buffer``, ``error``, as RAPF's. **Invariants**: A1 to A5 of ``certain.arrivals``.

>>> import numpy as np
>>> operator = SAPF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import PROBABLE, STRICT


class SAPF(ArrivalOperator):
    """A strict skyband and a probabilistic filter; see the module's text."""

    band = STRICT
    filter = PROBABLE
    OPTIONS = {"buffer": None, "error": 0.001}
