"""Records of a batch that no window can report, found before they are stored.

A record is in the windows of the steps after its birth. Cut those in two at any moment: if k better
records outlast the moment and were there before the record, no window up to it reports the record;
if k better ones come between the record and the moment, no later window does, for they stay as long
as the record or longer. Both are thresholds of the score, so one backward pass over a batch finds
the records that reach one of them.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.select import keep_largest
from crestline.kernels.jit.tiers import kernel
from crestline.types import Bools, Floats, Ints


@kernel
def kth_outlasting(scores: Floats, panes: Ints, k: int, oldest: int) -> float:
    """The k-th best score of the records of pane ``oldest`` or later; they come best first. Minus
    infinity if there are fewer."""
    alive = 0
    for i in range(len(scores)):
        alive += panes[i] >= oldest
        if alive == k:
            return float(scores[i])
    return -np.inf


@kernel
def _thin_part(
    scores: Floats, start: int, stop: int, k: int, ahead: float, best: Floats, places: Ints,
    stays: Bools,
) -> float:  # fmt: skip
    """Mark the records ``start .. stop`` that reach the score ``ahead`` or that fewer than k later
    ones beat; return the k-th best score of all."""
    behind, count = -np.inf, 0  # the k-th best of the later records, or a little less
    for i in range(stop - 1, start - 1, -1):
        score = scores[i]
        if score >= behind:
            best[count] = score
            count += 1
            if count == len(best):
                keep_largest(best, places, count, k)
                count = k
                behind = best[:k].min()
        stays[i] = score >= behind or score >= ahead
    if count < k:
        return -np.inf
    keep_largest(best, places, count, k)
    return float(best[:k].min())


@kernel
def thin(
    scores: Floats, panes: Ints, k: int, width: int, listed: Floats, listed_panes: Ints
) -> Bools:
    """Which of the new records, by pane, a window may report: all that can, and few more.

    ``listed`` are the records of earlier panes that are kept, best first. The batch is cut into
    parts of half a window, and the moment of a record is the end of its part: then k records of the
    part before outlast it. For the first part there are the listed ones; if those are too few,
    nothing is thinned.
    """
    count = len(scores)
    stays = np.ones(count, np.bool_)
    best, places = np.empty(2 * k + 64), np.empty(2 * k + 64, np.int64)
    start, oldest, former = 0, 0, -np.inf
    while start < count:
        stop, limit = start, panes[start] + max(1, width // 2)
        while stop < count and panes[stop] < limit:
            stop += 1
        expired = panes[stop - 1] + 1 - width  # panes before this one, at the end of the part
        ahead = kth_outlasting(listed, listed_panes, k, expired)
        if start == 0 and ahead == -np.inf:
            break
        if oldest >= expired:
            ahead = max(ahead, former)
        former = _thin_part(scores, start, stop, k, ahead, best, places, stays)
        oldest, start = panes[start], stop
    return stays
