"""RA: the relaxed skyband, pruned only now and then (Pripuzic et al. 2015, section 4.2).

**Answers** the exact top k after every arrival. **Does not** pass over anything, as SA.

**Idea.** A skyband may hold dominated records too: the answer is its first k all the same. So
nothing is counted; when the candidates (all behind the first k) have grown by a share ``gamma``
since the last pruning, one walk from best to worst with the k latest births so far drops all that
are dominated (Algorithm 4). Records that expire among the candidates are dropped there, or when
they would move up (Algorithm 5).

**Cost**: O(log M) to find a place, M / 4 moved on average, and O(log k / gamma) for the share in a
pruning. Records kept: (1 + gamma / 2) of SA's candidates on average (Lemma 4.9).

**Option** ``gamma`` (0.2): larger means rarer pruning and a longer list.

**Invariants**: A1 of ``certain.arrivals``; after a pruning, the band is the strict one.

**Deviations.** A pruning leaves room for at least one record more: with few candidates the paper's
rule would prune at every arrival. Table VII shows no pruning in its last step although the rule of
Algorithm 3 asks for one (3 candidates, limit 3).

>>> import numpy as np
>>> operator = RA(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import RELAXED


class RA(ArrivalOperator):
    """The relaxed skyband; see the module's text."""

    band = RELAXED
    OPTIONS = {"gamma": 0.2}
