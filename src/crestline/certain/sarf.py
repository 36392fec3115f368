"""SARF: the strict skyband behind the relaxed filter (Pripuzic et al. 2015, section 5).

**Answers** the exact top k after every arrival. **Does not** help against falling scores: there
nothing is dominated, and everything is kept.

**Idea.** A record that k recent ones beat need not enter the band when it arrives, and not at all
if k younger ones beat it when it leaves the buffer of recent records (see ``kernels.filters``). The
filter is a relaxed skyband of the buffer: every recent record enters it, and the dominated are
dropped whenever it has grown by a share ``gamma``.

**Cost**: O(F) moved for each record, and a share in the prunings; the band (SA's) gets about k of
every ``buffer`` records twice. Kept: the buffer's undecided records and a band of about k (1 + ln(n
/ buffer)) records.

**Options**: ``buffer``, the recent records among which the filter is chosen (at most half of the
window); by default 8 k, but 256 at least; ``gamma`` (0.2), as RA's.

**Invariants**: A1 to A5 of ``certain.arrivals``.

**Deviations.** Records with equal scores do not beat one another in the filter; the band, which
knows how ties are broken, decides.

>>> import numpy as np
>>> operator = SARF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.bands import STRICT
from crestline.kernels.filters import RELAXED as RELAXED_FILTER


class SARF(ArrivalOperator):
    """A strict skyband and a relaxed filter; see the module's text."""

    band = STRICT
    filter = RELAXED_FILTER
    OPTIONS = {"buffer": None, "gamma": 0.2}
