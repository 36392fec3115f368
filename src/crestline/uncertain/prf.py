"""PRF(alpha): the k records with the largest parameterised rank (Li et al. 2009, their PRF^e).

The value of a record is the sum over all ranks i = 1, 2, ... of alpha^i times the probability that
the record exists and has rank i, with 0 < alpha < 1. Ranks behind k count too: Li et al. define it
so, and Chen et al., who list it, only select the k best under this order. (With the ranks up to k
alone it would be another meaning, PRF^omega(k).)

A unit of probability s above a record takes it one rank further down if it exists. So, with B the
units above t but for its own rule, and w(s) = (1 - s) + s alpha, the value is

    v(t) = alpha p(t) G(B),    G(B) = product of w(s) over the units of B.

**Closes** at D_d if k of its records have v(t) >= alpha G(D_d).

**Suffices**: let t be behind t_d, s the sum of its rule's probabilities in D_d, and B the units of
D_d but its own. More units above it only make v(t) smaller, as w < 1, so v(t) <= alpha p(t) G(B).
By the promise of rules p(t) <= 1 - s <= w(s), and G(D_d) = w(s) G(B). Hence v(t) <= alpha G(D_d),
which the k records reach, and they rank higher, which decides ties. That k certain records rank
above t is not needed, and does not make v(t) zero: it makes it small.

**Maintains itself**: let x with probability p join the rule r (of its own, if it has none), and t
be one of the k records; s_t <= s are the sums of r before t and in D_d.

- x ranks behind t, or r is t's own rule: v(t) stays, the bound falls.
- x ranks before t: v(t) falls by the factor w(s_t + p) / w(s_t) = 1 - p (1 - alpha) / w(s_t), the
  bound by the factor 1 - p (1 - alpha) / w(s). As w falls, w(s) <= w(s_t): the bound falls faster.

So it holds for every synopsis, with rules and without. A compact set may be long where alpha is
close to 1 or probabilities are small: G then falls slowly.

The time for d records is O(d log d), whatever k is, as no array of ranks is needed.
"""

from __future__ import annotations

from crestline.kernels.uncertain import closing
from crestline.uncertain.meaning import Meaning

PRF = Meaning("PRF", closing.PRF)
