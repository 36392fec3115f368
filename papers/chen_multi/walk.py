"""One computation as the paper describes it: a walk through the whole window, for several k.

Recursion (2) and the sums of (1), for records that exist independently and lie in rank order. The
array is as long as the largest k; its partial sums give the probabilities for every smaller k
(section 4). It costs O(n k) for the array and O(n) for each query that is answered. The engine
walks less far, as most records cannot be in any answer (`crestline.uncertain.shared`); this here is
what the paper's cost model counts.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import PT_K
from crestline.kernels.uncertain.worlds import weigh_here
from crestline.types import Floats, Ints


@kernel
def walk(ks: Ints, chance: Floats, group: Ints, groups: int) -> Floats:
    """The k largest top-k probabilities of each query, in a row of their own, in no order; the
    rest of the row is zeros. With ``groups``, those of as many groups: sums over their records."""
    asks, most = len(ks), 1
    for a in range(asks):
        most = max(most, ks[a])
    exactly, fewer = np.zeros(most), np.empty(most)
    exactly[0] = 1.0
    heap = np.zeros((asks, most))
    sums = np.zeros((asks, groups))
    for i in range(len(chance)):
        p, total, before = chance[i], 0.0, 0.0
        for j in range(most):
            here = exactly[j]
            total += here
            fewer[j] = total
            exactly[j] = here * (1.0 - p) + before * p
            before = here
        for a in range(asks):
            mine = p * fewer[ks[a] - 1]
            if groups > 0:
                sums[a, group[i]] += mine
            elif mine > heap[a, 0]:
                _put(heap[a], ks[a], mine)
    for a in range(asks):
        for g in range(groups):
            if sums[a, g] > heap[a, 0]:
                _put(heap[a], ks[a], sums[a, g])
    return heap


@kernel
def _put(heap: Floats, held: int, value: float) -> None:
    """Put a value in the place of the smallest, which is first."""
    at = 0
    while 2 * at + 1 < held:
        below = 2 * at + 1
        if below + 1 < held and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= value:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = value


def walk_with_rules(k: int, chance: Floats, rule: Ints, group: Ints) -> Floats:
    """The top-k probabilities of all records, with generation rules: the engine's O(n k log n) for
    the paper's O(n^2 k). A threshold of 0 never lets it stop before the end."""
    return weigh_here(PT_K, k, 0.0, chance, rule, group)[1]
