"""The score of an object from its values on several streams, and how far it may still go.

The values of a stream that are in the window become one (``REPEATS``), then those of the streams
become the score. A sum may grow beyond the largest double and is infinite then; two such sums of
different signs cancel (``plus``), so that every object has a score. Beside the score of now stand
the least and the most that it can be as long as these values are in the window, whatever else
comes. All are added up in the same order of streams: rounding is monotone, so without repeats
floating point keeps least <= score <= most.
"""

from __future__ import annotations

from typing import NamedTuple

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

SUM, AVG, MIN, MAX, WEIGHTED_SUM = range(5)


class Rule(NamedTuple):
    """How values become a score."""

    function: int
    #: How the values of one stream become one, and how many there can be.
    repeats: int
    at_most: int
    #: What a stream without a value counts.
    missing: float
    #: Between these lies every value.
    low: float
    high: float
    #: Whether all streams are known beforehand.
    known: bool
    #: Whether an object comes back to a stream only after it was gone altogether.
    once: bool


class Terms(NamedTuple):
    """The streams: in the order in which they are added up, and their weights by number."""

    order: Ints
    weights: Floats


@kernel
def plus(a: float, b: float) -> float:
    """The sum; 0 where that is no number. It grows with both, as a bound must."""
    total = a + b
    return 0.0 if total != total else total


@kernel
def add_value(rule: Rule, count: Ints, total: Floats, stream: int, value: float) -> None:
    """One value more of a stream; newer ones come first."""
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
def _stream_outlook(
    rule: Rule, count: int, total: float, closed: bool
) -> tuple[float, float, float]:
    """What a stream with so many values counts now, at least and at most."""
    now = rule.missing
    if count > 0:
        now = total / count if rule.repeats == AVG else total
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
def outlook(
    rule: Rule, order: Ints, weights: Floats, count: Ints, total: Floats, active: int, seen: int
) -> tuple[float, float, float]:
    """The score of an object with these values, the least and the most that it can become.

    ``active`` has a bit for every stream there is, ``seen`` for every one on which the object was.
    """
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
        value, low, high = _stream_outlook(rule, count[x], total[x], closed)
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
    if not rule.known:  # a stream nobody has heard of may come
        least = float("-inf")
        if rule.function == SUM:
            most = float("inf")
        elif rule.function != MIN:
            most = max(now, rule.high)
    return now, least, most


@kernel
def combined(rule: Rule, order: Ints, weights: Floats, active: int, value: Floats) -> float:
    """The score of an object with one value for each stream."""
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
