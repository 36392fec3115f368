"""Records of a batch that no window can report, found before they are stored.

A record is in the windows of the steps after its birth. Cut those in two at any moment: if k better
records outlast the moment and were there before the record, no window up to it reports the record;
if k better ones come between the record and the moment, no later window does, for they stay as long
as the record or longer. Both are thresholds of the score, so one backward pass over a batch finds
the records that reach one of them.

With two moments it is cut in three. Windows between them do not report a record either if k better
ones were there at the first and outlast the second. So of a part of a batch that outlasts the next
part, those stay that reach the least of three scores: one that k records reach that outlast the
part, one that k of the part reach, and one that k of the next part reach.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.output import put
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

#: Scores that are looked at to find out from where on they are counted.
_SAMPLED = 64
#: Ranges of scores: one for so many records and a few more, but no more than so many.
_EACH, _LEAST, _RANGES = 16, 8, 4096
#: Few records of a part stay if it has more than this many times k.
_SPARSE = 16
#: The first part of a batch without a threshold has this many times k records.
_FIRST = 4


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
def _spread(scores: Floats, start: int, stop: int) -> tuple[float, float]:
    """The least and the largest of some of the scores: outliers are seldom among them."""
    least, largest = np.inf, -np.inf
    for i in range(start, stop, max(1, (stop - start) // _SAMPLED)):
        least, largest = min(least, scores[i]), max(largest, scores[i])
    return least, largest


@kernel
def _thin_part(
    scores: Floats,
    start: int,
    stop: int,
    k: int,
    ahead: float,
    tally: Ints,
    kept: Ints,
    filled: int,
) -> tuple[int, float]:
    """Append to ``kept[:filled]`` the records ``start .. stop`` that reach the score ``ahead`` or
    that fewer than k later ones beat; return how many are in it then, and a score that k of the
    part reach, minus infinity if none is found.

    Later records are counted by equal ranges of their scores, so a few more may be appended.
    """
    before = filled
    low, high = _spread(scores, start, stop)
    high = high if ahead == -np.inf else ahead
    top = float(len(tally) - 1)
    scale = top / (high - low) if low < high else np.inf
    for i in range(len(tally)):
        tally[i] = 0
    countable = low > -np.inf and 0 < scale < np.inf
    bar, beyond = -1, 0  # how many later records are in ranges above the bar
    behind = -np.inf  # where the bar begins: k later ones beat all that do not reach it
    least, few = min(behind, ahead), stop - start > _SPARSE * k
    for i in range(stop - 1, start - 1, -1):
        score = scores[i]
        if few and score < least:
            continue
        kept[filled] = i
        filled += score >= least  # no branch: which of many stay cannot be foreseen
        if countable:
            ranged = int(min(max((score - low) * scale, 0.0), top))
            tally[ranged] += 1
            beyond += ranged > bar
            while beyond - tally[bar + 1] >= k:
                bar += 1
                beyond -= tally[bar]
                behind = low + bar / scale
                least = min(behind, ahead)
    for i in range((filled - before) // 2):
        j = filled - 1 - i
        kept[before + i], kept[j] = kept[j], kept[before + i]
    return filled, behind


@kernel
def _thin_again(
    scores: Floats, kept: Ints, first: int, middle: int, last: int, bar: float
) -> tuple[int, int]:
    """Take the records that do not reach the bar out of ``kept[first:middle]``, and move those up
    to ``last`` behind what is left; return the new middle and last."""
    left = first
    for i in range(first, middle):
        kept[left] = kept[i]
        left += scores[kept[i]] >= bar
    put(kept, left, kept, middle, last - middle)
    return left, left + last - middle


@kernel
def _first_from(panes: Ints, start: int, limit: int) -> int:
    """The first record from ``start`` on whose pane is not before ``limit``."""
    low, high = start, len(panes)
    while low < high:
        middle = (low + high) >> 1
        if panes[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def thin(
    scores: Floats, panes: Ints, k: int, width: int, listed: Floats, listed_panes: Ints
) -> Ints:
    """The indices of the new records, by pane, that a window may report: all that can, and few
    more.

    ``listed`` are the records of earlier panes that are kept, best first. The batch is cut into
    parts of half a window, and the moment of a record is the end of its part: then k records of the
    part before outlast it. For the first part there are the listed ones. If those are too few,
    parts begin short and grow, since nothing of the first is thinned. Once a part is done, the end
    of it is a second moment for the records of the part before.
    """
    count = len(scores)
    kept = np.empty(count, np.int64)
    first, last = 0, 0  # where those of the part before are
    tally = np.empty(min(count // _EACH + _LEAST, _RANGES), np.int64)
    start, oldest, most = 0, 0, count
    past, former = -np.inf, -np.inf  # what k records reach: beyond the part before, and in it
    while start < count:
        stop = _first_from(panes, start, panes[start] + max(1, width // 2))
        expired = panes[stop - 1] + 1 - width  # panes before this one, at the end of the part
        ahead = kth_outlasting(listed, listed_panes, k, expired)
        if start == 0 and ahead == -np.inf:
            most = _FIRST * k
        if start + most < stop:
            stop = _first_from(panes, start, panes[start + most])
            stop = stop if stop > start else _first_from(panes, start, panes[start] + 1)
        most = min(2 * most, count)
        lasting = oldest >= expired  # the part before outlasts this one
        ahead = max(ahead, former) if lasting else ahead
        filled, behind = _thin_part(scores, start, stop, k, ahead, tally, kept, last)
        if lasting:
            bar = min(past, former, behind)
            last, filled = _thin_again(scores, kept, first, last, filled, bar)
        first, last = last, filled
        oldest, start, past, former = panes[start], stop, ahead, behind
    return kept[:last].copy()
