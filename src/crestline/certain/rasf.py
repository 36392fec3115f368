"""RASF: the relaxed skyband behind the strict filter (Pripuzic et al. 2015, section 5).

**Answers** the exact top k after every arrival, as RAPF; see ``certain.rapf`` for the idea, and for
what differs from the paper. The filter is the strict skyband of the buffer: every recent record
enters it and counts as a dominator of all worse ones, which costs O(F) with F records in it. The
band is RA's: pruned only now and then.

**Options**: ``buffer``, ``gamma``, as RAPF's (``gamma`` 0.2). **Invariants**: A1, A4 and A5 of
``certain.arrivals``.

>>> import numpy as np
>>> operator = RASF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import RELAXED, STRICT


class RASF(ArrivalOperator):
    """A relaxed skyband and a strict filter; see the module's text."""

    band = RELAXED
    filter = STRICT
    OPTIONS = {"buffer": None, "gamma": 0.2}
