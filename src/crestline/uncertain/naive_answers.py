"""The answer of a window, by its definition, for every semantics: what NAIVE reports.

Plain NumPy and Python. Nothing here is shared with the algorithms that NAIVE judges.
"""

from __future__ import annotations

from collections.abc import Callable
from math import frexp, fsum, ldexp
from typing import Any, NamedTuple

import numpy as np

from crestline.types import Floats, Ints

#: Indices of records of a window, in the order in which they are reported, and probabilities.
Answer = tuple[Ints, Floats]


class RankedWindow(NamedTuple):
    """The records of a window in rank order, and what is asked of them."""

    p: Floats
    #: From 0; records without a rule have one of their own.
    rule: Ints
    #: Whether any rule has two records.
    dependent: bool
    group: Ints
    #: No more than there are records.
    k: int
    threshold: float | None


def number_rules(rule: Ints) -> tuple[Ints, bool]:
    """Number the rules from 0, with one of its own for each record without; also return whether
    any rule has two records.

    They are numbered as they first appear, so that the last bit of an answer does not depend on the
    numbers that they had.
    """
    alone = rule < 0
    rule = np.where(alone, rule.max(initial=0) + 1 + np.arange(len(rule)), rule)
    rules, first, numbers = np.unique(rule, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers], len(rules) < len(rule)


def _rounded(value: Floats) -> Floats:
    """Round to 40 bits: floating point must not decide which of two values is the larger."""
    mantissa, exponent = np.frexp(value)
    rounded: Floats = np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40)
    return rounded


def _largest(value: Floats, count: int) -> Ints:
    """Return the indices of the largest values, largest first; of equal ones the first."""
    return np.argsort(-_rounded(value), kind="stable")[:count]


def _sums_above(p: Floats, members: Ints) -> Floats:
    """Return how probable it is that a member of a rule exists above each index."""
    reached = np.array([fsum(p[members[:i]]) for i in range(len(members) + 1)])
    if len(members) > 1:
        # Decimal fractions that make up 1 may miss it by a little: the rule is then not absent.
        reached[reached > 1 - 1e-12] = 1.0
    return reached[np.searchsorted(members, np.arange(len(p)))]


def _above(window: RankedWindow) -> Floats:
    """Return, for each record (row), the probability that exactly j = 0 ... k - 1 (column) of
    those that rank higher exist if it does."""
    n, k = len(window.p), window.k
    if not window.dependent:
        table = np.zeros((n, k))
        row = np.zeros(k)
        row[0] = 1.0
        for i, p in enumerate(window.p):
            table[i] = row
            shifted = np.append(0.0, row[:-1])
            row = row * (1 - p) + shifted * p
        return table
    table = np.zeros((n, k))
    table[:, 0] = 1.0
    for number in range(int(window.rule.max()) + 1):
        members = np.flatnonzero(window.rule == number)
        share = _sums_above(window.p, members)
        share[members] = 0.0  # where a record exists, the others of its rule do not
        share = share[:, None]
        shifted = np.hstack((np.zeros((n, 1)), table[:, :-1]))
        table = table * (1 - share) + shifted * share
    return table


def _top_k_probability(window: RankedWindow) -> Floats:
    probability: Floats = window.p * _above(window).sum(axis=1)
    return probability


def _pk_topk(window: RankedWindow) -> Answer:
    probability = _top_k_probability(window)
    indices = _largest(probability, window.k)
    return indices, probability[indices]


def _pt_k(window: RankedWindow) -> Answer:
    probability = _top_k_probability(window)
    order = _largest(probability, len(probability))
    enough = _rounded(probability) >= _rounded(np.array(window.threshold))
    indices = order[enough[order]]
    return indices, probability[indices]


def _u_kranks(window: RankedWindow) -> Answer:
    at_rank = window.p[:, None] * _above(window)
    indices = np.argmax(_rounded(at_rank), axis=0)
    return indices, at_rank[indices, np.arange(window.k)]


def _expected_rank(window: RankedWindow) -> Answer:
    p, rule = window.p.astype(np.longdouble), window.rule
    above, total = np.cumsum(p) - p, p.sum()
    own_above, own_others = np.zeros_like(p), np.zeros_like(p)
    if window.dependent:
        for number in range(int(rule.max()) + 1):
            members = np.flatnonzero(rule == number)
            own_above[members] = np.cumsum(p[members]) - p[members]
            own_others[members] = p[members].sum() - p[members]
    others = total - p - own_others
    rank = (p * (above - own_above) + own_others + (1 - p) * others).astype(np.float64)
    indices = np.argsort(_rounded(rank), kind="stable")[: window.k]
    return indices, rank[indices]


def _prf(window: RankedWindow) -> Answer:
    """The mean of alpha to the rank: each rule above brings alpha if it exists, and else 1. As
    mantissa and exponent, since values may be smaller than any float."""
    assert window.threshold is not None
    p, alpha = window.p.astype(np.longdouble), np.longdouble(window.threshold)
    mantissa, exponent = np.frexp(p)
    mantissa, exponent = _times(mantissa, exponent, np.full(len(p), alpha))
    if not window.dependent:
        above = np.longdouble(1.0), 0
        for i, mean in enumerate((1 - p) + p * alpha):
            mantissa[i], more = np.frexp(mantissa[i] * above[0])
            exponent[i] += above[1] + more
            above = _times(*above, mean)
    for number in range(int(window.rule.max()) + 1 if window.dependent else 0):
        members = np.flatnonzero(window.rule == number)
        share = _sums_above(window.p, members).astype(np.longdouble)
        share[members] = 0.0  # where a record exists, the others of its rule do not
        mantissa, exponent = _times(mantissa, exponent, (1 - share) + share * alpha)
    whole = np.rint(mantissa * 2.0**40)
    up = whole == 2.0**40
    indices = np.lexsort((-np.where(up, 2.0**39, whole), -(exponent + up)))[: window.k]
    return indices, np.ldexp(mantissa, exponent)[indices].astype(np.float64)


def _times(mantissa: Any, exponent: Any, factor: Any) -> tuple[Any, Any]:
    """Multiply numbers that are mantissa and exponent."""
    part, more = np.frexp(factor)
    product, further = np.frexp(mantissa * part)
    return product, exponent + more + further


def sums(window: RankedWindow) -> Answer:
    """Rank groups by the sum of their records' probabilities; the best record of a group is
    reported for it."""
    probability = _top_k_probability(window)
    groups: dict[int, list[int]] = {}
    for index, group in enumerate(window.group.tolist()):
        groups.setdefault(group, []).append(index)
    sums = np.array([fsum(probability[indices]) for indices in groups.values()])
    best = np.array([indices[0] for indices in groups.values()])
    shown = _largest(sums, window.k)
    return best[shown], sums[shown]


def _u_topk(window: RankedWindow) -> Answer:
    """For every record that may be the last of the vector, find the most probable vector that ends
    in it; of these return the most probable.

    Given the last one, every other rule either is in the vector, with its most probable record
    above, or is absent above. The rules for which the quotient of the two is largest are taken.
    """
    rules = int(window.rule.max()) + 1
    p, k = window.p, window.k
    rounded = _rounded(p)
    reached: list[list[float]] = [[] for _ in range(rules)]  # of each rule, the records above
    best = np.zeros(rules)
    first = np.full(rules, len(p))  # the highest of the best
    absent = np.ones(rules)
    vectors: list[tuple[float, Ints]] = []
    for last, number in enumerate(window.rule.tolist()):
        others = np.flatnonzero(best > 0)
        others = others[others != number]
        if len(others) >= k - 1:
            with np.errstate(divide="ignore"):
                gain = _rounded(best[others] / absent[others])
                order = others[np.lexsort((first[others], -gain))]
                taken, left = order[: k - 1], order[k - 1 :]
                likelihood = (
                    np.log(p[last]) + np.log(best[taken]).sum() + np.log(absent[left]).sum()
                )
            if likelihood > -np.inf:
                vectors.append((likelihood, np.append(np.sort(first[taken]), last)))
        reached[number].append(p[last])
        if first[number] == len(p) or rounded[last] > rounded[first[number]]:
            best[number], first[number] = p[last], last
        if len(reached[number]) == 1:
            absent[number] = 1 - p[last]
        else:  # see _sums_above
            total = fsum(reached[number])
            absent[number] = 0.0 if total > 1 - 1e-12 else 1 - total
    if not vectors:  # the rules do not let k records exist at once
        return np.arange(k), np.zeros(k)
    most = max(likelihood for likelihood, _ in vectors)
    close = [indices for likelihood, indices in vectors if likelihood > most - 1e-6]
    mantissa, exponent, indices = min(
        ((*_vector_probability(window, indices), indices) for indices in close),
        key=lambda one: (*_descending(one[0], one[1]), one[2].tolist()),
    )
    return indices, np.full(k, ldexp(mantissa, exponent))


def _descending(mantissa: float, exponent: int) -> tuple[int, int]:
    """Return a key that sorts the largest first; equal in 40 bits is equal, also across a power of
    two."""
    whole = round(mantissa * 2**40)
    return (-exponent - 1, -(2**39)) if whole == 2**40 else (-exponent, -whole)


def _vector_probability(window: RankedWindow, indices: Ints) -> tuple[float, int]:
    """Return the probability that these records and no others above the last of them exist, as
    mantissa and exponent: it may be smaller than any float."""
    last = int(indices[-1])
    inside = set(window.rule[indices].tolist())
    factors = window.p[indices].tolist()
    above: dict[int, list[float]] = {}
    for number, p in zip(window.rule[:last].tolist(), window.p[:last].tolist(), strict=True):
        above.setdefault(number, []).append(p)
    factors += [1 - fsum(some) for number, some in above.items() if number not in inside]
    mantissa, exponent = 1.0, 0
    for factor in factors:
        mantissa, more = frexp(mantissa * factor)
        exponent += more
    return mantissa, exponent


ANSWERS: dict[str, Callable[[RankedWindow], Answer]] = {
    "PK_TOPK": _pk_topk,
    "PT_K": _pt_k,
    "U_KRANKS": _u_kranks,
    "U_TOPK": _u_topk,
    "EXPECTED_RANK": _expected_rank,
    "PRF": _prf,
}

__all__ = ["ANSWERS", "Answer", "RankedWindow", "number_rules", "sums"]
