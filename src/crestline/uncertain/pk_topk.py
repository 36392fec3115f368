"""PK_TOPK: the k records that are most probable to be among the top k (Global-Topk).

Pr_k(t_i) = p_i F_k(B), B being the units above t_i but for its own rule.

**Closes** at D_d if k of its records have Pr_k >= F_k(D_d) (Definition 3.1 of Jin et al.).

**Suffices**: of a record t behind t_d, Pr_k(t) <= p(t) F_k(units of D_d but its own), as more units
above it only make it less probable that fewer than k exist; by (L3) that is at most F_k(D_d). The k
records reach as much and rank higher, which decides ties.

**Maintains itself**: let x with probability p join the rule r (of its own, if it has none), and
t be one of the k records. A denotes the units of D_d, B those above t but for its rule; A', B'
those without r. Then F_k(A) falls by p a'_(k-1).

- x ranks behind t, or r is t's own rule: Pr_k(t) stays, the bound falls.
- x ranks before t: Pr_k(t) falls by the share p b'_(k-1) / F_k(B), the bound by the share
  p a'_(k-1) / F_k(A). With s_t <= s the sums of r before t and in D_d, these are
  p / (F_k(B') / b'_(k-1) - s_t) and p / (F_k(A') / a'_(k-1) - s). B' has fewer and smaller units
  than A', so by (L2) the second is the larger share: the bound falls faster.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

PK_TOPK = Meaning("PK_TOPK", closing.PK_TOPK)
