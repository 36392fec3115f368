"""U_TOPK: the k records that are most probable to be, all together, exactly the top k.

The vector of the k most probable records among D_i, which exist while the others of D_i do not, has
a probability r_i; the best vector has the largest r_i of all (a vector that ends before t_i is
underrated by r_i, but rated right by an earlier one).

**Closes** at D_d if the largest of r_k, ..., r_d is at least the product over D_d of
max(p, 1 - p) (Definition 5.3 of Jin et al.; the product in their (11) runs to i, not to d).

**Suffices**: a vector that ends behind t_d is at most as probable as that product.

**Maintains itself**: the proof of their last theorem (5.3, which names U-kRanks by mistake).

**With rules** a vector takes at most one member of a rule, its most probable one so far, and a rule
that is left out contributes one less the sum of its members. The bound becomes the product over
the rules of the larger of the two, which suffices (a later member of a rule has at most what the
rule leaves). We know no proof that it maintains itself: x may join a rule that is left out, to
whose loss the bound need not be exposed. So with rules the whole window is kept, in rank order,
and each answer looks at as many records as it needs.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

U_TOPK = Meaning("U_TOPK", closing.U_TOPK, keeps_all_with_rules=True)
