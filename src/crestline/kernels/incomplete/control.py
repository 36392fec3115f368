"""A sample of objects compared with an approximate answer; see ``incomplete.control``."""

from __future__ import annotations

import numpy as np

from crestline.kernels.incomplete.heaps import SCORE, Heaps
from crestline.kernels.incomplete.objects import find, mixed
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints, Places, Records


@kernel
def in_sample(high: Ints, low: Ints, level: int) -> Bools:
    """Return which objects are in the sample of one in ``2 ** level``. Sketches use other bits."""
    chosen = np.empty(len(high), np.bool_)
    for a in range(len(high)):
        chosen[a] = (mixed(high[a], low[a]) >> 40) & ((1 << level) - 1) == 0
    return chosen


@kernel
def missed_scores(objects: Records, table: Places, exact: Heaps, kth_score: float) -> Floats:
    """Return the scores of the exact objects above the k-th score of the approximate answer that
    are not stored with that score in ``objects``."""
    scores = np.empty(exact.size[SCORE])
    count = 0
    for j in range(len(scores)):
        sampled = exact.objects[exact.slot[SCORE, j]]
        if sampled.score > kth_score:
            slot = find(objects, table, sampled.high, sampled.low)
            if slot < 0 or objects[slot].newest < 0 or objects[slot].score != sampled.score:
                scores[count] = sampled.score
                count += 1
    return scores[:count]
