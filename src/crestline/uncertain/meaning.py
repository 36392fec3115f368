"""What a query on uncertain records can ask for, and which records decide the answer.

The records D of a window are t_1, t_2, ... in rank order, D_i the first i of them. N(A) is the
number of records of A that exist. Where records exclude one another, those of one rule among A are
a single unit that exists with the sum of their probabilities, and units are independent; N(A) is
then the number of units. For each meaning there is a *compact set*: the shortest D_d that *closes*,
that is, meets a condition with two properties.

1. **It suffices**: nothing behind t_d can be in the answer, so D_d and k decide it.
2. **It maintains itself**: if D_d closes, then so does D_d + x for every record x that is added
   (if x ranks behind t_d nothing changes). So C(D + x) lies within C(D) + x.

The modules beside this one hold one meaning each, with its condition and the two proofs. The proofs
for exclusive records are ours, the others those of Jin et al. They share these facts, in which
a_j = P(N(A) = j) and F_k(A) = P(N(A) < k):

(L1) a is log-concave: a_j ^ 2 >= a_(j-1) a_(j+1). Hence it has one peak, and so has F.
(L2) If B consists of units of A, or of some with a smaller probability than in A, then
     b_(j+1) / b_j <= a_(j+1) / a_j: a Bernoulli variable grows, in the order of likelihood ratios,
     with its probability, and sums of independent log-concave variables keep that order. Hence also
     b_(k-1) / F_k(B) <= a_(k-1) / F_k(A).
(L3) Of a record t behind t_d, with s the sum of its rule's probabilities in D_d and B the units of
     D_d but its own: p(t) <= 1 - s, and a_j = (1 - s) b_j + s b_(j-1) >= p(t) b_j. So what t
     reaches at all, p(t) b_j, is no more than a_j; and p(t) F_k(B) <= F_k(D_d).

(L3) is where the promise counts that a rule's probabilities add up to at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """One of the things that a query can ask for; ``kind`` is its number in
    ``kernels.uncertain.closing``."""

    name: str
    kind: int
    #: Whether no compact set is known, so that the whole window has to be kept.
    keeps_all: bool = False
    #: The same, if records may exclude one another.
    keeps_all_with_rules: bool = False
    #: Its number, if records may exclude one another: the condition is another one then.
    kind_with_rules: int | None = None

    @property
    def minds_rules(self) -> bool:
        """Whether it must be known beforehand that records may exclude one another."""
        return self.keeps_all_with_rules or self.kind_with_rules is not None

    def keeps_everything(self, exclusive: bool) -> bool:
        """Whether the whole window is kept, where records may be ``exclusive``."""
        return self.keeps_all or (exclusive and self.keeps_all_with_rules)

    def kind_for(self, exclusive: bool) -> int:
        """Return its number, where records may be ``exclusive``."""
        if exclusive and self.kind_with_rules is not None:
            return self.kind_with_rules
        return self.kind
