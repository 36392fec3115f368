"""Groups of records (the streams of Chen et al., section 9) by the sum of their records' Pr_k.

The sum is how many of the group's records are to be expected among the top k.

**Closes** at D_d if it has records of k groups and E(max(0, k - N(D_d))) <= 1e-12.

**Suffices**: that mean is how many places of the top k are left to all records behind t_d together,
so no sum changes by more than 1e-12, which is what sums are exact to.

**Maintains itself**: every record that is added makes N larger or leaves it, also in a rule.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

SUMS = Meaning("SUMS", closing.SUMS)
