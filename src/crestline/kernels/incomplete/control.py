"""A sample of objects compared with an approximate answer; see ``incomplete.control``."""

from __future__ import annotations

import numpy as np

from crestline.kernels.incomplete.combine import ScoreRule, add_value, score_bounds
from crestline.kernels.incomplete.objects import find_hashed
from crestline.kernels.incomplete.refresh import new_sums
from crestline.kernels.incomplete.store import ACTIVE, PASSED, StoreArrays
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Records


@kernel
def missed_scores(
    rule: ScoreRule, store: StoreArrays, observations: Records, partition: int, kth_score: float
) -> Floats:
    """Return the scores of the objects of the sample, in one partition, above the k-th score of its
    approximate answer that are not stored with that score."""
    objects, step = store.heaps.objects, store.meta[PASSED]
    scores = np.empty(len(observations))
    taken = np.zeros(len(observations), np.bool_)
    sums = new_sums(len(rule.order))
    count = 0
    for i in range(len(observations) - 1, -1, -1):
        mine = observations[i].owner == partition and observations[i].leaves > step
        if taken[i] or not mine:
            continue
        for x in range(len(sums.counts)):
            sums.counts[x] = 0
        for j in range(i, -1, -1):  # newer values first
            if observations[j].key != observations[i].key or observations[j].owner != partition:
                continue
            taken[j] = True
            if observations[j].leaves > step:
                stream = int(np.int64(observations[j].stream))  # of 64 bits, as elsewhere
                add_value(rule, sums, stream, observations[j].value)
        score, _, _ = score_bounds(rule, sums, store.meta[ACTIVE], 0)
        if score > kth_score:
            slot = find_hashed(objects, store.table, observations[i].key)
            if slot < 0 or objects[slot].newest < 0 or objects[slot].score != score:
                scores[count] = score
                count += 1
    return scores[:count]
