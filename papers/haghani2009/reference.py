"""Section 3.2 word by word: instances, interval dominance, the k dominance set.

From the whole history, in plain Python and in quadratic time; shares no code with the operators,
which are judged by it. An observation is (object, stream, value, time); streams are numbered from
0. At the moment ``now`` those of the last ``window`` units of time are valid, which is to say that
a value of time t is valid until ``t + window - 1``. Where records are counted, a record's number is
its time. Observations come in the order of their times.

Two objects, two streams, a window of 10:

>>> history = [("a", 0, 0.25, 1), ("b", 0, 0.75, 3), ("a", 1, 0.5, 4), ("b", 1, 0.25, 5)]
>>> for one in instances(history, now=4, window=10, streams=2):
...     print(one)
Instance(object='a', time=1, current=0.75, best=0.75)
Instance(object='a', time=4, current=0.5, best=0.5)
Instance(object='b', time=3, current=0.75, best=1.75)
>>> later = instances(history, now=5, window=10, streams=2)
>>> [(one.object, one.time) for one in dominance_set(later, k=1)]
[('a', 4), ('b', 3), ('b', 5)]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: (object, stream, value, time)
Observation = tuple[Any, int, float, int]
#: A monotone function of one value a stream.
Combine = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Instance:
    """p^j: what the values of an object add up to that are at most as old as ``time``."""

    object: Any
    time: int
    #: The score of these values; it can only grow.
    current: float
    #: What they can still become; it can only shrink.
    best: float


def instances(
    observations: Iterable[Observation],
    now: int,
    window: int,
    streams: int,
    combine: Combine = sum,
    low: float = 0.0,
    high: float = 1.0,
    once: bool = True,
) -> list[Instance]:
    """All valid instances at ``now``, by object and time: one for each valid value, or for several
    of one object at the same time.

    With ``once``, as in the paper, an object that is in the window does not come twice on a stream:
    a stream on which it was seen before the instance cannot add anything any more. Otherwise it can
    come again, with the largest value, as soon as the earlier value has left the window.
    """
    found = []
    for name, stay in _stays(observations, now, window).items():
        valid = [one for one in stay if one[3] > now - window]
        for time in sorted({one[3] for one in valid}):
            values = {stream: value for _, stream, value, at in valid if at >= time}
            seen = {one[1] for one in stay} if once else set()
            current = [values.get(stream, low) for stream in range(streams)]
            best = [values.get(s, low if s in seen else high) for s in range(streams)]
            found.append(Instance(name, time, combine(current), combine(best)))
    return sorted(found, key=lambda one: (one.object, one.time))


def _stays(
    observations: Iterable[Observation], now: int, window: int
) -> dict[Hashable, list[Observation]]:
    """For each object in the window at ``now``: its values since it entered, valid or not.

    An object that was out of the window, for however short a time, enters anew.
    """
    stays: dict[Hashable, list[Observation]] = {}
    for one in observations:
        name, _, _, time = one
        if time > now:
            break
        stay = stays.setdefault(name, [])
        if stay and stay[-1][3] <= time - window:
            stay.clear()
        stay.append(one)
    return {name: stay for name, stay in stays.items() if stay[-1][3] > now - window}


def dominates(p: Instance, q: Instance) -> bool:
    """Definition 1."""
    return p.time > q.time and p.current > q.best


def dominators(q: Instance, among: Iterable[Instance]) -> set[Any]:
    """The objects that dominate an instance: several instances of an object count once."""
    return {p.object for p in among if dominates(p, q)}


def dominance_set(valid: Sequence[Instance], k: int) -> list[Instance]:
    """S_k: the instances that are dominated by less than k objects."""
    return [one for one in valid if len(dominators(one, valid)) < k]


def scores(
    observations: Iterable[Observation],
    now: int,
    window: int,
    streams: int,
    combine: Combine = sum,
    low: float = 0.0,
) -> list[tuple[Any, float]]:
    """The objects in the window at ``now`` with their scores, best first; of equal ones that with
    the newer value, then the smaller object."""
    values: dict[Any, dict[int, float]] = {}
    newest: dict[Any, int] = {}
    for name, stream, value, time in observations:
        if now - window < time <= now:
            values.setdefault(name, {})[stream] = value
            newest[name] = time
    found = [
        (name, combine([of.get(stream, low) for stream in range(streams)]))
        for name, of in values.items()
    ]
    return sorted(found, key=lambda one: (-one[1], -newest[one[0]], one[0]))


def top(valid: Iterable[Instance], k: int) -> list[tuple[Any, float]]:
    """The k best objects, as far as these instances tell: an object scores what its best instance
    does now (for an increasing function that is its oldest)."""
    best: dict[Any, Instance] = {}
    newest: dict[Any, int] = {}
    for one in valid:
        if one.object not in best or one.current > best[one.object].current:
            best[one.object] = one
        newest[one.object] = max(one.time, newest.get(one.object, one.time))
    ranked = sorted(best.values(), key=lambda one: (-one.current, -newest[one.object], one.object))
    return [(one.object, one.current) for one in ranked[:k]]


def without_repeats(
    observations: Iterable[Observation], window: int, once: bool = True
) -> list[Observation]:
    """Without observations whose object has a value on that stream already: one of the same window,
    or, with ``once``, one since the object entered the window."""
    kept: list[Observation] = []
    last: dict[tuple[Any, int], int] = {}
    entered: dict[Any, int] = {}
    newest: dict[Any, int] = {}
    for one in observations:
        name, stream, _, time = one
        if newest.get(name, time - window) <= time - window:
            entered[name] = time
        since = entered[name] if once else time - window + 1
        if last.get((name, stream), since - 1) < since:
            kept.append(one)
            last[name, stream] = newest[name] = time
    return kept
