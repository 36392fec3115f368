"""NAIVE: keep the whole window and compute every answer from it, for any semantics.

The yardstick in benchmarks and the judge in tests, so it shares nothing with what it judges: plain
NumPy, no kernels, no compact sets, no pruning.

**Answers** exactly what the semantics asks for. A record exists with its probability,
independently of the others, but for the records of its rule, which exclude one another.
``Pr_k(t)`` is the probability that t exists and fewer than k records that rank higher do.
Probabilities that agree to 40 bits are equal, and then the record that ranks higher comes first. A
window of n records asks for min(k, n), whether or not its rules let so many exist at once: what
cannot be has probability 0.

**Cost** for each due window of n records: O(n k) without rules (Jin et al. 2008), O(n^2 k) with
rules (Chen et al., section 3; a record's own rule is left out); U_TOPK O(n^2 log n), EXPECTED_RANK
O(n log n). All n records are kept.

**Invariant** N1: every kept record is in the current or in a future window.

The four speeds of Jin et al., Table 1; the two that are most probably among the fastest two:

>>> import numpy as np
>>> from crestline.core.operator import Doubt
>>> operator = Naive(k=2, window=4, slide=4)
>>> none = np.full(4, -1)
>>> doubt = Doubt(np.array([0.8, 0.5, 0.4, 0.4]), none, none)
>>> _ = operator.observe(np.array([5.0, 6, 8, 2]), doubt=doubt)
>>> reported = operator.advance()
>>> reported.score.tolist(), reported.probability.round(3).tolist()
([5.0, 6.0], [0.64, 0.5])
"""

from __future__ import annotations

from collections.abc import Iterator
from math import frexp, fsum, ldexp
from typing import Any, NamedTuple, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from crestline.core.snapshots import Snapshots
from crestline.types import Floats, Ints

_ARRAYS = ("partition", "at", "score", "tie", "id", "probability", "rule", "group")
#: A rule may exceed 1 by so much: decimal fractions do not add up exactly.
_LENIENCE = 1e-9


class _Ranked(NamedTuple):
    """The records of a window in rank order, and the number of the answer's records asked for."""

    p: Floats
    #: From 0; records without a rule have one of their own.
    rule: Ints
    #: Whether any rule has two records.
    dependent: bool
    group: Ints
    k: int


class _Answer(NamedTuple):
    """Places in a ``_Ranked``, in the order in which they are shown."""

    places: Ints
    probability: Floats


class Naive:
    """All records of the window, partition by partition."""

    def __init__(
        self,
        k: int,
        window: int | None,
        slide: int | None = None,
        *,
        only_changes: bool = False,
        semantics: str = "PK_TOPK",
        threshold: float | None = None,
        summed: bool = False,
        exclusive: bool = False,
    ) -> None:
        """Other algorithms must know beforehand if records may exclude one another (``exclusive``);
        here it makes no difference."""
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        if semantics not in _ANSWERS:
            raise CrestlineError(f"semantics is one of {', '.join(_ANSWERS)}, not {semantics}")
        if (threshold is None) == (semantics == "PT_K"):
            raise CrestlineError("PT_K needs a threshold, and nothing else takes one")
        if summed and semantics != "PK_TOPK":
            raise CrestlineError(f"probabilities are summed for PK_TOPK, not for {semantics}")
        self.k, self.window, self.slide = k, window, slide
        self.only_changes = only_changes
        self.semantics, self.threshold, self.summed = semantics, threshold, summed
        self.overfull = 0
        self.timed: bool | None = None
        self.seen = 0
        self.counts: dict[int, int] = {}
        self.done: dict[int, int] = {}  # the last window end handled, by partition
        self.partition = self.at = self.tie = self.id = np.empty(0, np.int64)
        self.rule = self.group = np.empty(0, np.int64)
        self.score = self.probability = np.empty(0)
        self.shown: dict[int, bool] = {}  # whether the partition's last snapshot held anything
        self.latest: dict[int, Ints] = {}

    def observe(self, batch: Batch | Floats) -> Ints:
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        doubt = batch.uncertainty
        count = len(scores)
        if doubt is None:
            doubt = Uncertainty(np.ones(count), np.full(count, -1), np.zeros(count, np.int64))
        probability = np.asarray(doubt.probability, np.float64)
        if not ((probability > 0) & (probability <= 1)).all():
            raise CrestlineError("a probability lies above 0 and is at most 1")
        self.timed = times is not None
        partition = np.zeros(count, np.int64) if partitions is None else np.asarray(partitions)
        if times is None:
            at = np.empty(count, np.int64)
            for p in np.unique(partition):
                mine = np.flatnonzero(partition == p)
                before = self.counts.get(int(p), 0)
                at[mine] = before + np.arange(len(mine))
                self.counts[int(p)] = before + len(mine)
        else:
            at = np.asarray(times, np.int64)
        first = self.seen if number_from is None else number_from
        id = np.arange(first, first + count)
        self.seen += count
        self.partition = np.append(self.partition, partition)
        self.at = np.append(self.at, at)
        self.score = np.append(self.score, scores)
        self.tie = np.append(self.tie, id)
        self.id = np.append(self.id, id)
        self.probability = np.append(self.probability, probability)
        self.rule = np.append(self.rule, doubt.rule)
        self.group = np.append(self.group, doubt.group)
        return np.arange(count)

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        yield self.advance(to)

    def advance(self, to: int | None = None) -> Snapshots:
        partitions: list[int] = []
        ends: list[int] = []
        tops: list[Ints] = []
        probabilities: list[Floats] = []
        needed = np.zeros(len(self.at), np.bool_)
        for p in np.unique(self.partition).tolist():
            mine = np.flatnonzero(self.partition == p)
            limit = to if self.timed and to is not None else self.counts.get(p, 0)
            for end in self._due(mine, p, limit):
                low, high = self._bounds(end)
                inside = mine[(self.at[mine] >= low) & (self.at[mine] < high)]
                if len(inside) or (self.only_changes and self.shown.get(p)):
                    top, probability = self._answer(inside)
                    self.shown[p] = len(top) > 0
                    partitions.append(p)
                    ends.append(end)
                    tops.append(top)
                    probabilities.append(probability)
            self.done[p] = limit
            needed[mine] = self.at[mine] >= self._needed_from(limit)
        places = np.concatenate(tops) if tops else np.empty(0, np.int64)
        reported = Snapshots.of(
            np.array(partitions, np.int64),
            np.array(ends, np.int64),
            np.array([len(top) for top in tops], np.int64),
            self.id[places],
            self.score[places],
            np.concatenate(probabilities) if probabilities else np.empty(0),
        )
        self.latest.update({p: ids for p, _, ids, _ in reported})
        self._keep(np.flatnonzero(needed))
        return reported

    def _answer(self, inside: Ints) -> tuple[Ints, Floats]:
        """The places of the records shown, of those inside a window, and their probabilities."""
        if len(inside) == 0:
            return inside, np.empty(0)
        ranked = inside[np.lexsort((-self.tie[inside], -self.score[inside]))]
        rule, dependent = _own_rules(self.rule[ranked])
        p = self.probability[ranked]
        if dependent and (np.bincount(rule, p) > 1 + _LENIENCE).any():
            self.overfull += 1
        window = _Ranked(p, rule, dependent, self.group[ranked], min(self.k, len(ranked)))
        answers = _sums if self.summed else _ANSWERS[self.semantics]
        answer = answers(window, self.threshold)
        return ranked[answer.places], answer.probability

    def _due(self, mine: Ints, p: int, limit: int) -> list[int]:
        """Window ends of the partition after the last one handled, up to the limit."""
        done = self.done.get(p)
        if self.slide is None:  # one for each distinct time (or position) of a new record
            ends = np.unique(self.at[mine] + (0 if self.timed else 1))
            return [e for e in ends.tolist() if e <= limit and (done is None or e > done)]
        ends_at: set[int] = set()
        for at in np.unique(self.at[mine]).tolist():
            first = (at // self.slide + 1) * self.slide
            last = limit if self.window is None else min(limit, at + self.window)
            if self.only_changes:  # a window's content changes only where a record comes or goes
                ends_at.add(first)
                if self.window is not None:
                    ends_at.add((at + self.window) // self.slide * self.slide + self.slide)
                continue
            if done is not None:
                first = max(first, (done // self.slide + 1) * self.slide)
            ends_at.update(range(first, last + 1, self.slide))
        ends_at = {end for end in ends_at if end <= limit and (done is None or end > done)}
        return sorted(ends_at)

    def _bounds(self, end: int) -> tuple[int, int]:
        """The half-open range of times or positions that the window ending at ``end`` holds."""
        shift = 1 if self.slide is None and self.timed else 0
        low = -(1 << 62) if self.window is None else end - self.window + shift
        return low, end + shift

    def _needed_from(self, limit: int) -> int:
        """Records from here on can be in a window after those up to ``limit``. A stream of changes
        needs one slide more, to notice that a window became empty."""
        earliest = self._bounds(limit if self.slide is None else limit + 1)[0]
        return earliest - (self.slide or 0) if self.only_changes else earliest

    def _keep(self, places: Ints) -> None:
        for name in _ARRAYS:
            setattr(self, name, getattr(self, name)[places])

    def top(self, partition: int = 0) -> Ints:
        return self.latest.get(partition, np.empty(0, np.int64))

    @property
    def candidates(self) -> int:
        return len(self.id)

    @property
    def crowded(self) -> bool:
        """There is nothing to forget."""
        return False

    def prune(self) -> None:
        """Every record of a window matters here."""

    def ids(self) -> Ints:
        return self.id

    def rename(self, places: Ints) -> None:
        self.id = places[self.id]

    def live_partitions(self) -> None:
        """It remembers every partition."""

    def keep_partitions(self, kept: Ints) -> None:
        raise NotImplementedError

    def set_ties(self, ties: Ints) -> None:
        self.tie = ties[self.id]

    def set_codes(self, rule: Ints, group: Ints) -> None:
        self.rule, self.group = rule[self.id], group[self.id]

    def notes(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        names = (
            "k", "window", "slide", "only_changes", "semantics", "threshold", "summed",
            "timed", "seen", "overfull",
        )  # fmt: skip
        plain = {name: getattr(self, name) for name in names}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        pairs = {
            "counts": np.array(list(self.counts.items()), np.int64).reshape(-1, 2),
            "shown": np.array(list(self.shown.items()), np.int64).reshape(-1, 2),
            "done": np.array(list(self.done.items()), np.int64).reshape(-1, 2),
        }
        return plain | {"arrays": arrays, "pairs": pairs}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        told = ("only_changes", "semantics", "threshold", "summed")
        operator = cls(
            state["k"], state["window"], state["slide"], **{name: state[name] for name in told}
        )
        for name in ("timed", "seen", "overfull"):
            setattr(operator, name, state[name])
        for name, value in state["arrays"].items():
            setattr(operator, name, value)
        for name, value in state["pairs"].items():
            setattr(operator, name, {int(p): int(n) for p, n in value})
        sound.length("arrays", *state["arrays"].values())
        sound.moments("at", operator.at)
        if not operator.timed:
            known = set(operator.partition.tolist()) <= set(operator.counts)
            sound.require(known, "records of partitions that were not counted")
        return operator

    def _check(self) -> None:
        for p, limit in self.done.items():
            assert (self.at[self.partition == p] >= self._needed_from(limit)).all(), ("N1", p)


# -- the answer of a window -------------------------------------------------------------------


def _own_rules(rule: Ints) -> tuple[Ints, bool]:
    """Number rules from 0, with one of its own for each record without; whether any has two.

    They are numbered as they first appear, so that the last bit of an answer does not depend on how
    anybody else has numbered them.
    """
    alone = rule < 0
    rule = np.where(alone, rule.max(initial=0) + 1 + np.arange(len(rule)), rule)
    known, first, numbers = np.unique(rule, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers], len(known) < len(rule)


def _rounded(value: Floats) -> Floats:
    """To 40 bits: floating point must not decide which of two is the larger."""
    mantissa, exponent = np.frexp(value)
    rounded: Floats = np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40)
    return rounded


def _largest(value: Floats, count: int) -> Ints:
    """The places of the largest, in their order; of equal ones the first."""
    return np.argsort(-_rounded(value), kind="stable")[:count]


def _sums_above(p: Floats, mine: Ints) -> Floats:
    """How probable it is that a record of the rule (which are ``mine``) exists above each place."""
    reached = np.array([fsum(p[mine[:i]]) for i in range(len(mine) + 1)])
    if len(mine) > 1:
        # Decimal fractions that make up 1 may miss it by a little: the rule is then not absent.
        reached[reached > 1 - 1e-12] = 1.0
    return reached[np.searchsorted(mine, np.arange(len(p)))]


def _above(window: _Ranked) -> Floats:
    """For each record (row) the probability that exactly j = 0 ... k - 1 (column) of those that
    rank higher exist if it does."""
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
        mine = np.flatnonzero(window.rule == number)
        share = _sums_above(window.p, mine)
        share[mine] = 0.0  # where a record exists, the others of its rule do not
        share = share[:, None]
        shifted = np.hstack((np.zeros((n, 1)), table[:, :-1]))
        table = table * (1 - share) + shifted * share
    return table


def _top_k_probability(window: _Ranked) -> Floats:
    probability: Floats = window.p * _above(window).sum(axis=1)
    return probability


def _pk_topk(window: _Ranked, threshold: float | None) -> _Answer:
    probability = _top_k_probability(window)
    places = _largest(probability, window.k)
    return _Answer(places, probability[places])


def _pt_k(window: _Ranked, threshold: float | None) -> _Answer:
    probability = _top_k_probability(window)
    order = _largest(probability, len(probability))
    enough = _rounded(probability) >= _rounded(np.array(threshold))
    places = order[enough[order]]
    return _Answer(places, probability[places])


def _u_kranks(window: _Ranked, threshold: float | None) -> _Answer:
    at_rank = window.p[:, None] * _above(window)
    places = np.argmax(_rounded(at_rank), axis=0)
    return _Answer(places, at_rank[places, np.arange(window.k)])


def _expected_rank(window: _Ranked, threshold: float | None) -> _Answer:
    p, rule = window.p.astype(np.longdouble), window.rule
    above, total = np.cumsum(p) - p, p.sum()
    own_above, own_others = np.zeros_like(p), np.zeros_like(p)
    if window.dependent:
        for number in range(int(rule.max()) + 1):
            mine = np.flatnonzero(rule == number)
            own_above[mine] = np.cumsum(p[mine]) - p[mine]
            own_others[mine] = p[mine].sum() - p[mine]
    others = total - p - own_others
    rank = (p * (above - own_above) + own_others + (1 - p) * others).astype(np.float64)
    places = np.argsort(_rounded(rank), kind="stable")[: window.k]
    return _Answer(places, rank[places])


def _sums(window: _Ranked, threshold: float | None) -> _Answer:
    """Groups by the sum of their records' probabilities; the best record stands for its group."""
    probability = _top_k_probability(window)
    groups: dict[int, list[int]] = {}
    for place, group in enumerate(window.group.tolist()):
        groups.setdefault(group, []).append(place)
    sums = np.array([fsum(probability[places]) for places in groups.values()])
    best = np.array([places[0] for places in groups.values()])
    shown = _largest(sums, window.k)
    return _Answer(best[shown], sums[shown])


def _u_topk(window: _Ranked, threshold: float | None) -> _Answer:
    """For every record that may be the last of the vector, the most probable vector that ends in
    it; of these the most probable.

    Given the last one, every other rule either is in the vector, with its most probable record
    above, or is absent above. The rules for which that quotient is largest are taken.
    """
    rules = int(window.rule.max()) + 1
    p, k = window.p, window.k
    rounded = _rounded(p)
    reached: list[list[float]] = [[] for _ in range(rules)]  # of each rule, the records above
    best = np.zeros(rules)
    first = np.full(rules, len(p))  # the highest of the best
    absent = np.ones(rules)
    found: list[tuple[float, Ints]] = []
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
                found.append((likelihood, np.append(np.sort(first[taken]), last)))
        reached[number].append(p[last])
        if first[number] == len(p) or rounded[last] > rounded[first[number]]:
            best[number], first[number] = p[last], last
        if len(reached[number]) == 1:
            absent[number] = 1 - p[last]
        else:  # see _sums_above
            total = fsum(reached[number])
            absent[number] = 0.0 if total > 1 - 1e-12 else 1 - total
    if not found:  # the rules do not let k records exist at once
        return _Answer(np.arange(k), np.zeros(k))
    most = max(likelihood for likelihood, _ in found)
    close = [places for likelihood, places in found if likelihood > most - 1e-6]
    mantissa, exponent, places = min(
        ((*_vector_probability(window, places), places) for places in close),
        key=lambda one: (*_descending(one[0], one[1]), one[2].tolist()),
    )
    return _Answer(places, np.full(k, ldexp(mantissa, exponent)))


def _descending(mantissa: float, exponent: int) -> tuple[int, int]:
    """Sorts the largest first; equal in 40 bits is equal, also across a power of two."""
    whole = round(mantissa * 2**40)
    return (-exponent - 1, -(2**39)) if whole == 2**40 else (-exponent, -whole)


def _vector_probability(window: _Ranked, places: Ints) -> tuple[float, int]:
    """With which probability these records and no others above the last of them exist, as mantissa
    and exponent: it may be smaller than any float."""
    last = int(places[-1])
    inside = set(window.rule[places].tolist())
    factors = window.p[places].tolist()
    above: dict[int, list[float]] = {}
    for number, p in zip(window.rule[:last].tolist(), window.p[:last].tolist(), strict=True):
        above.setdefault(number, []).append(p)
    factors += [1 - fsum(some) for number, some in above.items() if number not in inside]
    mantissa, exponent = 1.0, 0
    for factor in factors:
        mantissa, more = frexp(mantissa * factor)
        exponent += more
    return mantissa, exponent


_ANSWERS = {
    "PK_TOPK": _pk_topk,
    "PT_K": _pt_k,
    "U_KRANKS": _u_kranks,
    "U_TOPK": _u_topk,
    "EXPECTED_RANK": _expected_rank,
}
