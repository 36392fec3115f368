"""PT_K(t): every record whose probability to be among the top k is t or more.

**Closes** at D_d if F_k(D_d) < t. (Definition 5.1 of Jin et al. has <=; we count those that reach t
exactly, so the bound must stay below it.)

**Suffices**: as for PK_TOPK, nothing behind t_d exceeds F_k(D_d).

**Maintains itself**: F_k falls with every record that is added.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

PT_K = Meaning("PT_K", closing.PT_K)
