"""U_KRANKS: for each rank, the record that is most probable to have exactly that rank.

A record t has rank j with probability p(t) b_(j-1), B being the units above it but for its rule.

**Closes** at D_d if one of its records has p(t) b_(k-1) >= M. Without rules, M is the largest of
a_0, ..., a_(k-1), for A = D_d (condition (9) of Jin et al.). Where records may exclude one another,
it is F_k(A) from the beginning, also as long as none has: what has been left out by the weaker
condition might be needed once the first rule has two members.

**Suffices**: more units above a record behind t_d can only mix the b_j, so by (L3) it has rank j
with a probability of at most the largest of a_0, ..., a_(j-1), which is at most F_j(A). And t
reaches that at every rank: with the largest by Lemma 5.1 of Jin et al.; with F because
b_(j-2) / b_(j-1) >= a_(j-2) / a_(j-1) >= F_(j-1)(A) / F_j(A), by (L2) and (L1), so that from
p b_(j-1) >= F_j(A) follows p b_(j-2) >= F_(j-1)(A).

**Maintains itself** without rules: Theorem 5.2 of Jin et al. With rules its proof fails: where x
joins a rule that has members, the a_j are not mixed but moved, and the largest of the first k may
grow. F_k(A) does not. Let x with probability p join the rule r; A' and B' are A and B without r,
s_t <= s the sums of r before t and in D_d.

- x ranks behind t, or r is t's own rule: the left side stays, F_k(A) falls.
- x ranks before t: with u = b'_(k-2) / b'_(k-1), the left side falls by the share
  p (1 - u) / (1 - s_t (1 - u)), if it falls at all. F_k(A) falls by the share
  p / (F_k(A') / a'_(k-1) - s). With v = a'_(k-2) / a'_(k-1) <= u (L2), F_k(A') / a'_(k-1) is at
  most 1 + v + v^2 + ... = 1 / (1 - v) by (L1), so that share is at least
  p (1 - v) / (1 - s (1 - v)), which grows with s and with 1 - v: it is the larger one.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

U_KRANKS = Meaning("U_KRANKS", closing.U_KRANKS, kind_with_rules=closing.U_KRANKS_WITH_RULES)
