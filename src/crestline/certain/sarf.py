"""SARF: the strict skyband behind the relaxed filter (Pripuzic et al. 2015, section 5).

**Answers** the exact top k after every arrival, as RAPF; see ``certain.rapf`` for the idea, and for
what differs from the paper. The filter is a relaxed skyband of the buffer: every recent record
enters it, at O(F) moved, and the dominated are dropped when it has grown by ``gamma``. The band is
SA's: O(M) for each record that gets through, and never one too many.

**Options**: ``buffer``, ``gamma``, as RAPF's (``gamma`` 0.2). **Invariants**: A1 to A5 of
``certain.arrivals``.

>>> import numpy as np
>>> operator = SARF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import RELAXED, STRICT


class SARF(ArrivalOperator):
    """A strict skyband and a relaxed filter; see the module's text."""

    band = STRICT
    filter = RELAXED
    OPTIONS = {"buffer": None, "gamma": 0.2}
