"""RAPF: the relaxed skyband behind the probabilistic filter (Pripuzic et al. 2015, section 5); the
default.

**Answers** the exact top k after every arrival. **Does not** help against falling scores: there
nothing is dominated, and everything is kept.

**Idea.** A record that k recent ones beat need not enter the band when it arrives, and not at all
if k younger ones beat it when it leaves the buffer of recent records (see
``kernels.certain.filters``). The filter is a probabilistic skyband of the buffer: its k best and so
many candidates (Table V, with the buffer in place of the window) that it seldom runs short. A
record below the threshold costs a comparison, on arrival and when it leaves; most do. Long batches
are first looked at in blocks: what k records of the block before and k of the block after beat is
passed over without touching the filter.

**Cost**: a comparison or two for most records; the band (RA's) gets about k of every ``buffer``
records twice. Kept: the buffer's undecided records and a band of about k (1 + ln(n / buffer))
records.

**Options**: ``buffer``, the recent records among which the filter is chosen (at most half of the
window); by default 8 k, but 256 at least; ``gamma`` (0.5: here a pruning costs more than a longer
list), as RA's; ``error`` (0.001), how seldom the filter may run short, which costs time and never
an answer.

**Invariants**: A1 to A5 of ``certain.arrivals``.

**Deviations.** Records with equal scores do not beat one another in the filter; the band, which
knows how ties are broken, decides. The filter's threshold falls by the distance of its two lowest
candidates whenever one leaves (section 6.1), and is reset only where fewer than two are left.
Blocks are ours: the same theorem, for whole batches.

>>> import numpy as np
>>> operator = RAPF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.certain.bands import PROBABLE, RELAXED


class RAPF(ArrivalOperator):
    """A relaxed skyband and a probabilistic filter; see the module's text."""

    band = RELAXED
    filter = PROBABLE
    OPTIONS = {"buffer": None, "gamma": 0.5, "error": 0.001}
