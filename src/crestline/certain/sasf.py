"""SASF: the strict skyband behind the strict filter (Boehm et al. 2007).

**Answers** the exact top k after every arrival, as RAPF; see ``certain.rapf`` for the idea, and for
what differs from the paper. The filter is the strict skyband of the buffer: every recent record
enters it and counts as a dominator of all worse ones, which costs O(F) with F records in it. The
band is SA's: O(M) for each record that gets through, and never one too many.

**Options**: ``buffer``, as RAPF's. **Invariants**: A1 to A5 of ``certain.arrivals``.

>>> import numpy as np
>>> operator = SASF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import STRICT


class SASF(ArrivalOperator):
    """A strict skyband and a strict filter; see the module's text."""

    band = STRICT
    filter = STRICT
    OPTIONS = {"buffer": None}
