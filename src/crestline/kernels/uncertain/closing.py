"""Kinds of answers, and when a prefix of the records decides one.

Records are looked at in rank order, best first, up to the first prefix that *closes*: nothing
behind it can be part of the answer (the compact set of Jin et al. 2008, which
``crestline.uncertain`` proves for each meaning).
"""

from __future__ import annotations

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

#: The kinds of answers; see ``crestline.uncertain.meaning``.
PK_TOPK, PT_K, U_KRANKS, U_KRANKS_WITH_RULES, U_TOPK, EXPECTED_RANK, SUMS, PRF = range(8)
#: What all records behind a prefix may add to a sum of probabilities.
NEGLIGIBLE = 1e-12


@kernel
def rounded(value: float) -> float:
    """Return the value to 40 bits, so that floating point does not decide ties (Veltkamp's
    splitting)."""
    wide = value * 8193.0
    return wide - (wide - value)


@kernel
def closes(
    kind: int, k: int, threshold: float, value: float, fewer: float, rest: float, last: float,
    peak: float, group: int, largest: Floats, state: Floats, groups: Ints,
) -> bool:  # fmt: skip
    """Whether the records up to and including one close.

    Parameters
    ----------
    value
        The probability that this record is in the top k.
    fewer
        The probability that fewer than k of the records exist.
    rest
        How many of the top k are to be expected behind the records.
    last
        The probability that this record has rank k.
    peak
        What no record behind these can exceed at any rank.
    largest, state, groups
        What earlier calls noted: the k largest values as a heap; how many values or groups there
        are, or the largest ``last``; the first k groups.
    """
    if kind == PK_TOPK:
        return keep_largest(k, value, largest, state) and rounded(largest[0]) >= rounded(fewer)
    if kind == PT_K:
        return rounded(fewer) < rounded(threshold)
    if kind in (U_KRANKS, U_KRANKS_WITH_RULES):
        state[0] = max(state[0], last)
        return rounded(state[0]) >= rounded(peak)
    count = int(state[0])
    if count < k:
        for g in range(count):
            if groups[g] == group:
                break
        else:
            groups[count] = group
            state[0] += 1.0
            count += 1
    return count >= k and rest <= NEGLIGIBLE


@kernel
def keep_largest(k: int, value: float, largest: Floats, state: Floats) -> bool:
    """Note a value if it is one of the k largest; ``largest[0]`` is the least of them. Return
    whether there are k."""
    count = int(state[0])
    if count < k:
        state[0] += 1.0
        _push(largest, count, value)
        count += 1
    elif value > largest[0]:
        _replace(largest, count, value)
    return count == k


@kernel
def _push(heap: Floats, count: int, value: float) -> None:
    """Add a value to a heap whose smallest value is first."""
    position = count
    while position > 0:
        above = (position - 1) >> 1
        if heap[above] <= value:
            break
        heap[position] = heap[above]
        position = above
    heap[position] = value


@kernel
def _replace(heap: Floats, count: int, value: float) -> None:
    """Replace the smallest value of a heap."""
    position = 0
    while True:
        below = 2 * position + 1
        if below >= count:
            break
        if below + 1 < count and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= value:
            break
        heap[position] = heap[below]
        position = below
    heap[position] = value
