"""SASF: the strict skyband behind the strict filter (Boehm et al. 2007).

**Answers** the exact top k after every arrival. **Does not** help against falling scores: there
nothing is dominated, and everything is kept.

**Idea.** A record that k recent ones beat need not enter the band when it arrives, and not at all
if k younger ones beat it when it leaves the buffer of recent records (see ``kernels.filters``). The
filter is the strict skyband of the buffer: every recent record enters it and counts as a dominator
of all worse ones.

**Cost**: O(F) for each record that enters, with F in the filter; the band (SA's) gets about k of
every ``buffer`` records twice. Kept: the buffer's undecided records and a band of about k (1 + ln(n
/ buffer)) records.

**Options**: ``buffer``, the recent records among which the filter is chosen (at most half of the
window); by default 8 k, but 256 at least.

**Invariants**: A1 to A5 of ``certain.arrivals``.

**Deviations.** Records with equal scores do not beat one another in the filter; the band, which
knows how ties are broken, decides.

>>> import numpy as np
>>> operator = SASF(k=1, window=3)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(1, [9.0]), (2, [9.0]), (3, [9.0]), (4, [7.0])]
"""

from __future__ import annotations

from crestline.certain.arrivals import ArrivalOperator
from crestline.kernels.bands import STRICT
from crestline.kernels.filters import STRICT as STRICT_FILTER


class SASF(ArrivalOperator):
    """A strict skyband and a strict filter; see the module's text."""

    band = STRICT
    filter = STRICT_FILTER
    OPTIONS = {"buffer": None}
