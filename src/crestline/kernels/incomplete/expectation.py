"""What may be expected of an object: how much the streams that have not seen it will add.

An object is in the *state* of the streams that have seen it since it entered the window. The
expectation holds the probability that a stream will still see an object of a state. Where a state
is too rare to have a row, the stream with the largest probability among those that saw the object
counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.incomplete.combine import (
    MAX,
    MIN,
    SUM,
    WEIGHTED_SUM,
    ScoreRule,
    StreamSums,
    combined,
    stream_value,
)
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.types import Floats, Ints


class Expectation(NamedTuple):
    """What may be expected on each stream. Without streams, anything may come."""

    #: The states with a row, as bits, and by row the probabilities of the streams.
    states: Ints
    chances: Floats
    #: By a stream that saw the object, the probabilities of the streams.
    pairs: Floats
    #: By stream: where values lie in their range, from 0 to 1, and the square of that; means.
    shares: Floats
    squares: Floats
    #: By stream: how many values of one object are to be expected.
    times: Floats
    #: How many standard deviations more than the mean are allowed for.
    hope: float


def no_expectation() -> Expectation:
    """Make the expectation of those who expect the most of everything."""
    none, table = np.empty(0), np.empty((0, 0))
    return Expectation(np.empty(0, np.int64), table, table, none, none, none, 0.0)


@borrowing_kernel
def row_of(states: Ints, state: int) -> int:
    """Return the row of a state, or -1."""
    for row in range(len(states)):
        if states[row] == state:
            return int(row)
    return -1


@borrowing_kernel
def _chance(expectation: Expectation, row: int, seen: int, x: int) -> float:
    """Return the probability that stream ``x`` sees an object that it has not seen."""
    if row >= 0:
        return float(expectation.chances[row, x])
    chance = 0.0
    for y in range(len(expectation.pairs)):
        if (seen >> y) & 1 == 1:
            chance = max(chance, expectation.pairs[y, x])
    return float(chance)


@borrowing_kernel
def _largest(rule: ScoreRule, expectation: Expectation, x: int) -> float:
    """Return what stream ``x`` adds if it brings the largest values, as many as are usual."""
    if rule.repeats == SUM and rule.at_most > 1 and rule.high > 0.0:
        return float(rule.high * min(float(rule.at_most), expectation.times[x]))
    return float(rule.high)


@borrowing_kernel
def _scale(rule: ScoreRule, expectation: Expectation, x: int) -> float:
    """Return how much of the score the range of stream ``x`` is."""
    scale = _largest(rule, expectation, x) - rule.missing
    return float(scale * rule.weights[x]) if rule.function == WEIGHTED_SUM else float(scale)


@borrowing_kernel
def _variance(expectation: Expectation, x: int, chance: float) -> float:
    """Return the variance of what stream ``x`` adds, as a share of the range of values."""
    mean = chance * expectation.shares[x]
    return float(max(0.0, chance * expectation.squares[x] - mean * mean))


@kernel
def expected_most(
    rule: ScoreRule, sums: StreamSums, active: int, seen: int, expectation: Expectation
) -> float:
    """Return the score that an object can be expected to reach at most.

    ``seen`` has a bit for each stream that saw it. What the others add are independent variables.
    Of a sum, each gets its part of the standard deviation of all.
    """
    counts, totals = sums
    value, chances = np.empty(len(counts)), np.empty(len(counts))
    summed = rule.repeats == SUM and rule.at_most > 1
    row = row_of(expectation.states, seen)
    total = 0.0
    for x in range(len(counts)):
        if counts[x] == 0 and (seen >> x) & 1 == 0:
            chances[x] = _chance(expectation, row, seen, x)
            total += _scale(rule, expectation, x) ** 2 * _variance(expectation, x, chances[x])
    deviation = np.sqrt(total)
    for x in range(len(counts)):
        value[x] = stream_value(rule, counts[x], totals[x])
        more = min(float(rule.at_most), expectation.times[x]) - counts[x]
        if counts[x] == 0 and (seen >> x) & 1 == 0:
            variance = _variance(expectation, x, chances[x])
            spread = np.sqrt(variance)
            if rule.function not in (MIN, MAX) and deviation > 0.0:
                spread = _scale(rule, expectation, x) * variance / deviation
            part = min(1.0, chances[x] * expectation.shares[x] + expectation.hope * spread)
            value[x] = (1.0 - part) * rule.missing + part * _largest(rule, expectation, x)
        elif summed and counts[x] > 0 and more > 0.0 and rule.high > 0.0:
            value[x] += expectation.shares[x] * more * rule.high
    return combined(rule, active, value)
