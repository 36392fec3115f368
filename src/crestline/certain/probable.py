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
from math import exp, lgamma, log, log1p, sqrt


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
    """An upper bound for the chance that a record of this rank, k or more, gets among the k best.

    (9) adds up k binomials. Written as chances of a draw they are those of a hypergeometric law:
    n/2 times the chance that of 2n - 1 records, n of them marked, ``rank + k - 1`` drawn ones hold
    at least ``rank`` marked ones. Its terms fall from the first on, ever faster, so about sqrt(k)
    of them make the sum.
    """
    k = min(k, n)
    drawn = rank + k - 1
    if rank > n:
        return 0.0
    first = (
        _log_falling(drawn, k - 1)
        - lgamma(k)
        + _log_falling(n, rank)
        + _log_falling(n - 1, k - 1)
        - _log_falling(2 * n - 1, drawn)
    )
    total, term, marked = 0.0, 1.0, rank
    while term > total * 1e-17:
        total += term
        term *= (drawn - marked) * (n - marked) / ((marked + 1) * (n - drawn + marked))
        marked += 1
    return exp(min(0.0, log(n / 2) + log(total) + first))


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


def _log_falling(n: int, count: int) -> float:
    """The logarithm of n (n - 1) ... (n - count + 1), also where lgamma(n) has no digits left."""
    rest = n - count
    if rest < 1_000 or n < 1_000_000:
        return lgamma(n + 1) - lgamma(rest + 1)
    # The difference of two of Stirling's series, n ln n - n + ln(n) / 2 + 1 / (12 n) - ...
    return count * (log(n) - 1) + (rest + 0.5) * log1p(count / rest) + (1 / n - 1 / rest) / 12


__all__ = ["candidate_limit", "convex_beyond", "p_practice"]
