"""SA: the strict skyband, as Boehm et al. (2007) keep it and Pripuzic et al. (2015) call it.

**Answers** the exact top k after every arrival. **Does not** pass over anything: every record that
arrives is the youngest, so nothing dominates it, and it enters the band.

**Idea.** A record is dominated by one that ranks before it and expires no sooner. What has fewer
than k dominators may still be reported, all else never (Theorem 3.7): the band holds exactly the
former, best first, each with its count of dominators.

**Cost**, with M records in the band: O(log M) to find a new record's place, O(M) to count it as a
dominator of all behind it. M is k (1 + H_n - H_k) on average for scores in random order, n at worst
(falling scores), k at best (rising ones). The paper's k ln(n / k) is short by k.

**Invariants**: A1 and A2 of ``certain.arrivals``.

**Deviations.** Records of one moment expire together and dominate one another by rank. Ties are
broken, so that "higher score" reads "ranks before".

>>> import numpy as np
>>> operator = SA(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import STRICT


class SA(ArrivalOperator):
    """The strict skyband; see the module's text."""

    band = STRICT
