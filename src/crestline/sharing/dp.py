"""DP: the plan of least cost, by dynamic programming (Chen et al., section 7).

**Problem.** The combined groups G_1..G_g have rising frequencies f and rising k. An execution at
level i serves G_1..G_i and costs k_i. All are executed at 0 and at the end T <= f_g of the cycle.
D(i, t) (the paper's DPcost) is the least cost of the first i groups in 1..t, if all are executed at
0 and at t + 1. The best plan has the least (D(g, T - 1) + k_g) / T.

**Why whole multiples of the frequencies' gcd d suffice.** Round every time of a plan up to a
multiple of d. From s to s' <= s + f, with f a multiple of d, the rounded s' is at most the rounded
s plus f; so no gap becomes too long, and the cycle does not become shorter. So d is the unit.

**One row is enough.** For t < f_i no execution of G_i is needed, and one at level i can be lowered
to level i - 1: D(i, t) = D(i-1, t). So D(g, t) = D(t) = D(i, t) with the largest i of f_i <= t, and
only that level has to be looked at for t. With the first execution of G_i at L <= f_i

    D(t) = k_i + min over L of D(L - 1) + D(t - L),    f_i <= t < f_(i+1).

**Few gaps need to be tried.**
  (1) D does not fall: take the plan for t, let all times be one less, drop what falls on 0; it is a
      plan for t - 1. So of all L with the same D(L - 1), only the largest can be needed.
  (2) Between two executions at levels above i, the gaps of level i can be put in any order. If two
      of them add up to f_i or less, put them side by side, and lower the execution between them to
      level i - 1, which costs less. So in the best plan at most one gap is f_i / 2 or less, and a
      longer one can be put first: L > f_i / 2.
By (2), D(t) needs only values that are f_i / 2 or more before it: numpy takes them in blocks.

**Cost.** By (2) and the single row, at most f_g^2 / 4 additions in units of d altogether, whatever
the number of groups (the paper: g f_g^2), and by (1) mostly far fewer. Kept: f_g numbers.

**Ties.** Of two plans of equal cost the one with fewer executions is taken: costs carry the number
of executions as their last digits. Then the shorter cycle.

>>> from crestline.sharing.demand import Demand
>>> plan = dp([Demand("a", 2, 3), Demand("b", 3, 4), Demand("c", 5, 5)])
>>> plan.cost, [(e.at, e.k) for e in plan.cycles[0].executions]
(Fraction(9, 4), [(2, 4), (4, 5)])
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

import numpy as np

from crestline.sharing.demand import Demand, Group, combined, groups
from crestline.sharing.greedy import greedy
from crestline.sharing.plan import ExecutionPlan, check_executions, of_levels
from crestline.types import Ints

#: The longest frequency that is planned for, in units of the gcd of all frequencies.
MOST_UNITS = 200_000
#: The most additions for one plan: some seconds.
MOST_WORK = 4_000_000_000
#: Numbers per block, so that a block stays in the processor's cache.
_BLOCK = 8_192


class _TooMuch(Exception):
    """Planning would take longer than a few seconds."""


class _Costs:
    """D(t) for 0 <= t < until, and the executions behind it; times in units."""

    def __init__(self, frequencies: Sequence[int], k: Sequence[int], until: int) -> None:
        self._frequency = np.array(frequencies, np.int64)
        self._k = k
        self._gaps: dict[int, tuple[Ints, Ints]] = {}
        self.cost = np.zeros(until, np.int64)
        work = 0
        for i, low in enumerate(frequencies):
            high = min([until, *frequencies[i + 1 : i + 2]])
            if low >= high:
                break
            if i == 0:
                self.cost[low:high] = np.arange(low, high) // low * k[0]
                continue
            work += len(self._gaps_of(i)[0]) * (high - low)
            if work > MOST_WORK:
                raise _TooMuch
            self._fill(i, low, high)

    def _gaps_of(self, i: int) -> tuple[Ints, Ints]:
        """Return the first gaps that can be best at level i, ascending, and their costs."""
        if i not in self._gaps:
            longest = int(self._frequency[i])
            half = longest // 2
            rises = self.cost[half + 1 : longest] > self.cost[half : longest - 1]
            gap = np.append(half + 1 + np.flatnonzero(rises), longest)
            self._gaps[i] = (gap, self.cost[gap - 1] + self._k[i])
        return self._gaps[i]

    def _fill(self, i: int, low: int, high: int) -> None:
        """Compute the costs of ``low <= t < high``, which are at level i."""
        gaps, costs = self._gaps_of(i)
        step = min(int(gaps[0]), _BLOCK)
        pairs = list(zip(gaps.tolist(), costs.tolist(), strict=True))
        longest, longest_cost = pairs.pop()
        spare = np.empty(step, np.int64)
        for start in range(low, high, step):
            end = min(start + step, high)
            best = self.cost[start - longest : end - longest] + longest_cost
            other = spare[: end - start]
            for gap, cost in pairs:
                np.add(self.cost[start - gap : end - gap], cost, out=other)
                np.minimum(best, other, out=best)
            self.cost[start:end] = best

    def moments(self, t: int) -> list[tuple[int, int]]:
        """Return (time, level) of the executions in 1..t, ascending."""
        frequency = self._frequency.tolist()
        above = frequency[1] if len(frequency) > 1 else t + 1
        first: dict[int, tuple[int, int]] = {}
        moments: list[tuple[int, int]] = []
        parts = [(0, t)]
        while parts:
            start, t = parts.pop()
            if t < above:  # only G_1 is needed
                moments += [(start + time, 0) for time in range(frequency[0], t + 1, frequency[0])]
                continue
            if t not in first:
                i = int(np.searchsorted(self._frequency, t, "right")) - 1
                gaps, costs = self._gaps_of(i)
                best = np.flatnonzero(costs + self.cost[t - gaps] == self.cost[t])
                first[t] = (int(gaps[best[-1]]), i)
            gap, i = first[t]
            moments.append((start + gap, i))
            parts += [(start, gap - 1), (start + gap, t - gap)]
        return sorted(moments)


def table(combined_groups: Sequence[Group]) -> Ints:
    """Return the paper's DPcost(i, t) as ``table[i - 1, t]``, t < f_g (Tables 5 and 6)."""
    frequencies = [group.frequency for group in combined_groups]
    k = [group.k for group in combined_groups]
    return np.array(
        [_Costs(frequencies[:i], k[:i], frequencies[-1]).cost for i in range(1, len(k) + 1)]
    )


def _best(ordered: Sequence[Group], unit: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the length of the best cycle and (time, level) of its executions, in units."""
    frequencies = [group.frequency // unit for group in ordered]
    last = frequencies[-1]
    digit = last + 1  # above the number of executions in a cycle
    if last > MOST_UNITS or last * digit * (ordered[-1].k + 1) >= 1 << 62:
        raise _TooMuch
    costs = _Costs(frequencies, [group.k * digit + 1 for group in ordered], last)
    # Of equal costs the longest cycle; the others cannot be best.
    before = np.append(np.flatnonzero(np.diff(costs.cost)), last - 1)
    cost, count = np.divmod(costs.cost[before], digit)
    rate = (cost + ordered[-1].k) / (before + 1)
    near = np.flatnonzero(rate <= rate.min() * (1 + 1e-12))  # fractions decide among these
    length = min(
        (Fraction(int(cost[i]) + ordered[-1].k, n), Fraction(int(count[i]) + 1, n), n)
        for i in near
        for n in [int(before[i]) + 1]
    )[2]
    check_executions("DP", int(costs.cost[length - 1] % digit) + 1, ordered)
    return length, [*costs.moments(length - 1), (length, len(ordered) - 1)]


def dp(demands: Sequence[Demand]) -> ExecutionPlan:
    """Return the plan of least cost; if finding it takes too long, the greedy one with a note."""
    ordered = combined(groups(demands))
    if not ordered:
        return ExecutionPlan("DP", ())
    unit = gcd(*(group.frequency for group in ordered))
    try:
        length, moments = _best(ordered, unit)
    except _TooMuch:
        units = ordered[-1].frequency // unit
        note = (
            f"the greedy plan, at most twice the optimum: the longest frequency is {units:,} times"
            " the greatest common divisor of all, too much to search for the optimum"
        )
        return greedy(demands, note, "DP")
    return of_levels("DP", ordered, length * unit, [(time * unit, i) for time, i in moments])
