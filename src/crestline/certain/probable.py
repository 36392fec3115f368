"""How many candidates are enough: the probabilistic limit (Pripuzic et al. 2015, section 4.1.1).

In a stream in random order, a record that arrives with rank ``l`` in a window of ``n`` becomes one
of the k best later with a probability of at most ``p_practice`` (Theorem 4.4), if ``l`` lies beyond
``convex_beyond``. From some rank on these probabilities more than halve from one to the next; so
the first rank at which one falls below half of ``sigma`` leaves less than ``sigma`` for all ranks
from there on, and records of such ranks may be ignored.

**Errata.** The denominator of (8) and (9) is C(2n - 2, l + l' - 2): the text lost the -2. Table V
counts candidates, without the k best: ``limit = l_c - 1 - k``.

>>> candidate_limit(k=10, n=100_000, sigma=0.001)
41
>>> from math import ceil
>>> ceil(convex_beyond(k=10, n=100_000))
19
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, sqrt


def convex_beyond(k: int, n: int) -> float:
    """The rank beyond which the chance to be among the k best grows ever faster with time
    (Lemma A.2)."""
    under_root = 3 * (
        -8 * k * k * n
        + 4 * k * k
        + 8 * k * n * n
        + 4 * k * n
        - 4 * k
        - 5 * n * n
        - 2 * n
        + 3
    )  # fmt: skip
    return (3 * n - 4 * k + 2 * k * n + 3 + sqrt(max(0, under_root))) / (2 * n + 2)


def p_practice(rank: int, n: int, k: int) -> float:
    """An upper bound for the chance that a record of this rank gets among the k best (9)."""
    total = -inf
    for other in range(1, min(k, n) + 1):
        term = (
            _log_choose(n - 1, other - 1)
            + _log_choose(n - 1, rank - 1)
            - _log_choose(2 * n - 2, rank + other - 2)
        )
        total = max(total, term) + log1p(exp(-abs(total - term))) if total > -inf else term
    return exp(min(0.0, log(n * n / (4 * n - 2)) + total))


@lru_cache(maxsize=1024)
def candidate_limit(k: int, n: int, sigma: float) -> int:
    """How many candidates, beside the k best, PA keeps for a window of n records."""
    if n <= k:
        return 0
    # The last rank that is worth keeping, by bisection: the bound falls with the rank.
    kept = min(int(convex_beyond(k, n)), n)
    poor = n + 1
    step = 1
    while kept + step < poor:
        if p_practice(kept + step, n, k) < sigma / 2:
            poor = kept + step
        else:
            kept += step
            step *= 2
    while poor - kept > 1:
        middle = (kept + poor) // 2
        if p_practice(middle, n, k) < sigma / 2:
            poor = middle
        else:
            kept = middle
    return max(0, kept - k)


def _log_choose(n: int, r: int) -> float:
    if r < 0 or r > n:
        return -inf
    return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1)


__all__ = ["candidate_limit", "convex_beyond", "p_practice"]
