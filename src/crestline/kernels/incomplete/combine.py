"""The score of an object from its values on several streams, and the bounds of that score.

The values of one stream in the window become one value (``REPEATS``). The values of all streams
become the score. A sum beyond the largest double is infinite. Two infinite sums of different signs
cancel (``plus``), so every object has a score.

Two bounds go with the score: the least and the most it can become while these values stay in the
window, whatever else arrives. All three are added in the same order of streams. Rounding is
monotone, so without repeats floating point keeps least <= score <= most.
"""

from __future__ import annotations

from typing import NamedTuple

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

SUM, AVG, MIN, MAX, WEIGHTED_SUM = range(5)


class ScoreRule(NamedTuple):
    """How values become a score."""

    function: int
    #: How the values of one stream become one, and how many of them there can be.
    repeats: int
    at_most: int
    #: The value of a stream without a value.
    missing: float
    #: Every value lies between these two.
    low: float
    high: float
    #: Whether all streams are declared.
    declared: bool
    #: Whether an object returns to a stream only after it has left the window.
    once: bool
    #: The streams in the order in which they are added.
    order: Ints
    #: The weight of each stream; empty unless the function is WEIGHTED_SUM.
    weights: Floats


class StreamSums(NamedTuple):
    """Scratch arrays: the values of one object by stream, how many there are and their total."""

    counts: Ints
    totals: Floats


@kernel
def plus(a: float, b: float) -> float:
    """Add two numbers; the result is 0 where it would be NaN. It grows with both."""
    total = a + b
    return 0.0 if total != total else total


@kernel
def add_value(rule: ScoreRule, sums: StreamSums, stream: int, value: float) -> None:
    """Add one value of a stream. Newer values must be added first."""
    count, total = sums
    if count[stream] == 0:
        total[stream] = value
    elif rule.repeats == MIN:
        total[stream] = min(total[stream], value)
    elif rule.repeats == MAX:
        total[stream] = max(total[stream], value)
    else:
        total[stream] += value
    count[stream] += 1


@kernel
def stream_value(rule: ScoreRule, count: int, total: float) -> float:
    """Return what the values of one stream count together."""
    if count == 0:
        return rule.missing
    return total / count if rule.repeats == AVG else total


@kernel
def _stream_bounds(
    rule: ScoreRule, count: int, total: float, closed: bool
) -> tuple[float, float, float]:
    """Return what a stream with ``count`` values counts now, at least and at most."""
    now = stream_value(rule, count, total)
    more = rule.at_most - count
    if closed or more <= 0:
        return now, now, now
    if rule.at_most == 1:
        return now, min(now, rule.low), max(now, rule.high)
    least, most = now, now
    if rule.repeats == SUM:
        begun = total if count > 0 else 0.0
        least = min(now, plus(begun, rule.low), plus(begun, more * rule.low))
        most = max(now, plus(begun, rule.high), plus(begun, more * rule.high))
    elif rule.repeats == AVG and count > 0:
        least = min(now, plus(total, more * rule.low) / rule.at_most)
        most = max(now, plus(total, more * rule.high) / rule.at_most)
    else:
        if count == 0 or rule.repeats != MAX:
            least = min(now, rule.low)
        if count == 0 or rule.repeats != MIN:
            most = max(now, rule.high)
    return now, least, most


@kernel
def score_bounds(
    rule: ScoreRule, sums: StreamSums, active: int, seen: int
) -> tuple[float, float, float]:
    """Return the score of an object with these values, its least and its most.

    ``active`` has a bit for each stream that exists, ``seen`` one for each stream on which the
    object was seen.
    """
    order, weights = rule.order, rule.weights
    count, total = sums
    now = least = most = 0.0
    if rule.function == MIN:
        now = least = most = float("inf")
    elif rule.function == MAX:
        now = least = most = float("-inf")
    streams = 0
    for j in range(len(order)):
        x = order[j]
        if (active >> x) & 1 == 0:
            continue
        streams += 1
        closed = rule.once and (seen >> x) & 1 == 1
        value, low, high = _stream_bounds(rule, count[x], total[x], closed)
        if rule.function == WEIGHTED_SUM:
            weight = weights[x]
            if weight == 0.0:
                continue
            value *= weight
            low *= weight
            high *= weight
        if rule.function == MIN:
            now, least, most = min(now, value), min(least, low), min(most, high)
        elif rule.function == MAX:
            now, least, most = max(now, value), max(least, low), max(most, high)
        else:
            now, least, most = plus(now, value), plus(least, low), plus(most, high)
    if rule.function == AVG:
        now, least, most = now / streams, least / streams, most / streams
    if not rule.declared:  # a stream that is not active yet may come
        least = float("-inf")
        if rule.function == SUM:
            most = float("inf")
        elif rule.function != MIN:
            most = max(now, rule.high)
    return now, least, most


@kernel
def combined(rule: ScoreRule, active: int, value: Floats) -> float:
    """Return the score of an object with one value for each stream."""
    order, weights = rule.order, rule.weights
    score = 0.0
    if rule.function == MIN:
        score = float("inf")
    elif rule.function == MAX:
        score = float("-inf")
    streams = 0
    for j in range(len(order)):
        x = order[j]
        if (active >> x) & 1 == 0:
            continue
        streams += 1
        if rule.function == MIN:
            score = min(score, value[x])
        elif rule.function == MAX:
            score = max(score, value[x])
        elif rule.function != WEIGHTED_SUM:
            score = plus(score, value[x])
        elif weights[x] > 0.0:
            score = plus(score, weights[x] * value[x])
    return score / streams if rule.function == AVG else score
