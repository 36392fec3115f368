"""The judge of uncertain streams: what a window's answer is, and whether an answer is that one.

It shares no code with the engine. There are two judges with one interface. ``ByWorlds`` writes down
every possible world and counts, so that nobody has to believe a formula. ``ByFormulas`` is for
larger windows: the distribution of how many rank higher, by the plain way, for each record anew.
Both are exact. ``ByFormulas`` computes in whole numbers: doubles are multiples of a power of two.

A window is a list of records, best first. *Places* are positions in that list; *ranks* count from 0
here too. ``objection`` compares an answer with what a judge says.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nlargest
from itertools import accumulate, product
from typing import Any

SEMANTICS = ("PK_TOPK", "PT_K", "U_KRANKS", "U_TOPK", "EXPECTED_RANK")
Answer = list[tuple[Any, float]]  # record ids with their probabilities, as rows of a result


@dataclass(frozen=True)
class Record:
    """Among equal scores the larger ``tie`` ranks higher; ``rule`` is None where there is none."""

    id: Any
    score: float
    tie: Any
    probability: float
    rule: Any = None
    group: Any = None


def best_first(records: Iterable[Record]) -> list[Record]:
    """The records in rank order."""
    return sorted(records, key=lambda r: (r.score, r.tie), reverse=True)


class Judge(ABC):
    """What is true of a window; ``k`` is no more than it has records."""

    def __init__(self, records: Sequence[Record], k: int) -> None:
        self.records = list(records)
        self.k = min(k, len(records))
        self.size = len(records)

    #: By place and rank below k: how probable the record is at exactly that rank.
    at_rank: list[list[Fraction]]
    #: By place: how many rank higher on average (Cormode et al. 2009).
    expected_rank: list[Fraction]

    @abstractmethod
    def vector(self, places: tuple[int, ...]) -> Fraction:
        """How probable these k places (ascending) are to be exactly the top k."""

    @abstractmethod
    def best_vector(self) -> tuple[int, ...]:
        """The most probable vector; of equal ones the first in lexicographic order."""

    @cached_property
    def most_probable(self) -> tuple[int, ...]:
        """The best vector, searched for once."""
        return self.best_vector()

    @cached_property
    def in_top(self) -> list[Fraction]:
        """Pr_k by place."""
        return [sum(at, Fraction(0)) for at in self.at_rank]

    @cached_property
    def sums(self) -> dict[Any, tuple[int, Fraction]]:
        """By group: the place of its highest-ranking record and the sum of Pr_k."""
        sums: dict[Any, tuple[int, Fraction]] = {}
        for place, record in enumerate(self.records):
            first, total = sums.get(record.group, (place, Fraction(0)))
            sums[record.group] = (first, total + self.in_top[place])
        return sums

    @cached_property
    def has_rules(self) -> bool:
        """Whether any two records exclude one another."""
        rules = [r.rule for r in self.records if r.rule is not None]
        return len(set(rules)) < len(rules)

    def answer(
        self, semantics: str, threshold: float | None = None, summed: bool = False
    ) -> list[tuple[int, Fraction]]:
        """The rows as places with their probabilities, by the letter of the definition."""
        places = range(self.size)
        if summed:
            ranked = sorted(self.sums.values(), key=lambda s: (-rounded(s[1]), s[0]))
            return ranked[: self.k]
        if semantics == "U_TOPK":
            vector = self.most_probable
            return [(place, self.vector(vector)) for place in vector]
        if semantics == "U_KRANKS":
            rows = []
            for rank in range(self.k):
                best = max(places, key=lambda p: (rounded(self.at_rank[p][rank]), -p))
                rows.append((best, self.at_rank[best][rank]))
            return rows
        if semantics == "EXPECTED_RANK":
            order = sorted(places, key=lambda p: (rounded(self.expected_rank[p]), p))
            return [(p, self.expected_rank[p]) for p in order[: self.k]]
        order = sorted(places, key=lambda p: (-rounded(self.in_top[p]), p))
        if semantics == "PT_K":
            assert threshold is not None
            limit = rounded(threshold)
            return [(p, self.in_top[p]) for p in order if rounded(self.in_top[p]) >= limit]
        return [(p, self.in_top[p]) for p in order[: self.k]]


class ByWorlds(Judge):
    """Every possible world: each rule gives at most one of its records."""

    def worlds(self) -> list[tuple[tuple[int, ...], Fraction]]:
        """All of them, as ascending places with their probability."""
        rules: dict[Any, list[int]] = {}
        for place, record in enumerate(self.records):
            alone = record.rule is None
            rules.setdefault(("alone", place) if alone else ("rule", record.rule), []).append(place)
        choices = []
        for members in rules.values():
            chances = [Fraction(self.records[m].probability) for m in members]
            none = 1 - sum(chances)
            choices.append([*zip(members, chances, strict=True), (None, none)])
        found = []
        for chosen in product(*choices):
            present = tuple(sorted(place for place, _ in chosen if place is not None))
            found.append((present, math.prod(chance for _, chance in chosen)))
        return found

    def __init__(self, records: Sequence[Record], k: int) -> None:
        super().__init__(records, k)
        self.at_rank = [[Fraction(0)] * self.k for _ in records]
        self.expected_rank = [Fraction(0)] * self.size
        self._vectors: dict[tuple[int, ...], Fraction] = {}
        for present, chance in self.worlds():
            for rank, place in enumerate(present[: self.k]):
                self.at_rank[place][rank] += chance
            for place in range(self.size):
                rank = present.index(place) if place in present else len(present)
                self.expected_rank[place] += rank * chance
            if len(present) >= self.k:
                top = present[: self.k]
                self._vectors[top] = self._vectors.get(top, Fraction(0)) + chance

    def vector(self, places: tuple[int, ...]) -> Fraction:
        return self._vectors.get(places, Fraction(0))

    def best_vector(self) -> tuple[int, ...]:
        first = tuple(range(self.k))
        vectors = {first: Fraction(0)} | self._vectors  # where none is possible, all are equal
        return min(vectors, key=lambda v: (-rounded(vectors[v]), v))


class ByFormulas(Judge):
    """The dynamic program over the records that rank higher, the record's own rule left out."""

    def __init__(self, records: Sequence[Record], k: int) -> None:
        super().__init__(records, k)
        ratios = [r.probability.as_integer_ratio() for r in self.records]
        self._unit = max((d for _, d in ratios), default=1)
        #: Probabilities as multiples of 1 / unit.
        self._chance = [n * (self._unit // d) for n, d in ratios]

    @cached_property
    def _above(self) -> list[tuple[list[int], int]]:
        """By place: how many of those that rank higher exist, if it does. Entry j of the list over
        the number that comes with it is the probability of exactly j."""
        unit, rows = self._unit, []
        alone = [1] + [0] * (self.k - 1)  # of the records without a rule
        count = 0
        rules: dict[Any, int] = {}  # how probable it is that one of the rule's exists
        for record, chance in zip(self.records, self._chance, strict=True):
            others = [total for rule, total in rules.items() if rule != record.rule]
            above = alone
            for total in others:
                above = _with_another(above, total, unit)
            rows.append((above, unit ** (count + len(others))))
            if record.rule is None:
                alone = _with_another(alone, chance, unit)
                count += 1
            else:
                rules[record.rule] = rules.get(record.rule, 0) + chance
        return rows

    @cached_property
    def at_rank(self) -> list[list[Fraction]]:  # type: ignore[override]
        return [
            [Fraction(chance * exactly, scale * self._unit) for exactly in above]
            for chance, (above, scale) in zip(self._chance, self._above, strict=True)
        ]

    @cached_property
    def in_top(self) -> list[Fraction]:
        return [
            Fraction(chance * sum(above), scale * self._unit)
            for chance, (above, scale) in zip(self._chance, self._above, strict=True)
        ]

    @cached_property
    def expected_rank(self) -> list[Fraction]:  # type: ignore[override]
        unit, everything = self._unit, sum(self._chance)
        of_rule: dict[Any, int] = {}
        for record, chance in zip(self.records, self._chance, strict=True):
            of_rule[record.rule] = of_rule.get(record.rule, 0) + chance
        above, above_of_rule, rows = 0, dict.fromkeys(of_rule, 0), []
        for record, chance in zip(self.records, self._chance, strict=True):
            own = chance if record.rule is None else of_rule[record.rule]
            own_above = 0 if record.rule is None else above_of_rule[record.rule]
            present = chance * (above - own_above)
            absent = (own - chance) * unit + (unit - chance) * (everything - own)
            rows.append(Fraction(present + absent, unit * unit))
            above += chance
            above_of_rule[record.rule] += chance
        return rows

    def vector(self, places: tuple[int, ...]) -> Fraction:
        """All of them exist, and of every other rule nothing down to the last of them does."""
        chosen = {self._rule_of(place): place for place in places}
        if len(chosen) < len(places):
            return Fraction(0)
        total = math.prod(self._chance[place] for place in places)
        absent: dict[Any, int] = {}
        for place in range(places[-1] + 1):
            rule = self._rule_of(place)
            if rule not in chosen:
                absent[rule] = absent.get(rule, self._unit) - self._chance[place]
        return Fraction(
            total * math.prod(absent.values()), self._unit ** (len(places) + len(absent))
        )

    def best_vector(self) -> tuple[int, ...]:
        """For each place as the last: the k - 1 rules above it that are worth most, each by its
        most probable record. Worth is the chance of that record against that of none."""
        best: list[tuple[Fraction, tuple[int, ...]]] = [(Fraction(0), tuple(range(self.k)))]
        favourite: dict[Any, int] = {}  # by rule: the place of the most probable record so far
        none: dict[Any, int] = {}  # by rule: the chance that it gives nothing so far
        worth: dict[Any, Fraction] = {}  # of the rules that may give nothing
        for last in range(self.size):
            own = self._rule_of(last)
            # A rule that surely gives something cannot be left out.
            sure = [place for rule, place in favourite.items() if rule not in worth and rule != own]
            others = {favourite[rule]: w for rule, w in worth.items() if rule != own}
            chosen = sure + _worthiest(others, self.k - 1 - len(sure))
            if len(chosen) == self.k - 1:
                places = (*sorted(chosen), last)
                best.append((self.vector(places), places))
            known = favourite.get(own)
            if known is None or not _at_least(self._chance[known], self._chance[last]):
                favourite[own] = last
            none[own] = none.get(own, self._unit) - self._chance[last]
            worth.pop(own, None)
            if none[own] > 0:
                worth[own] = Fraction(self._chance[favourite[own]], none[own])
        most = max(value for value, _ in best)
        return min(places for value, places in best if _at_least(value, most))

    def _rule_of(self, place: int) -> Any:
        rule = self.records[place].rule
        return ("alone", place) if rule is None else ("rule", rule)


def _with_another(counts: list[int], chance: int, unit: int) -> list[int]:
    """How many exist when one more may, which exists with chance / unit."""
    absent = unit - chance
    shifted = [0, *counts[:-1]]
    return [absent * same + chance * less for same, less in zip(counts, shifted, strict=True)]


def _worthiest(worth: dict[int, Fraction], count: int) -> list[int]:
    """The places that are worth most, higher ranks first among equals; all, if there are fewer."""
    if count <= 0:
        return []
    limit = min(nlargest(count, worth.values()), default=Fraction(0))
    more = [place for place, w in worth.items() if not _at_least(limit, w)]
    equal = [place for place, w in worth.items() if place not in more and _at_least(w, limit)]
    return more + sorted(equal)[: count - len(more)]


def _at_least(value: Fraction | int, limit: Fraction | int) -> bool:
    """Not smaller, or by less than anybody could see in 40 bits."""
    return value * (2**42 + 1) >= limit * 2**42


# --- comparing ------------------------------------------------------------------------------------
#
# The contract: values are equal if they agree in 40 bits, and equal ones go by rank. A double
# differs from the true value in its last bits, so a true value that lies that close to where the
# rounding turns may be taken for either neighbour. Everything else is decided, and an answer that
# decides it otherwise is wrong. What `close` and `Sight` allow is all that is allowed:
#
# - n records cost each value up to n units in the last place or so;
# - rules bring differences such as 1 - (0.3 + 0.7), which are right to about 1e-15 and no better,
#   however small they are; they can blur an order, but not one of equals;
# - an expected rank is a difference of sums over the window;
# - a sum over a group may leave out the last records of the window, up to 1e-12 in all: by as much,
#   and no more, equals may be parted;
# - below 1e-290 doubles lose their meaning.

_FLOOR = 1e-290


def rounded(value: Fraction | float) -> float:
    """To 40 bits of mantissa."""
    mantissa, exponent = math.frexp(float(value))
    return math.ldexp(round(mantissa * 2**40), exponent - 40)


@dataclass(frozen=True)
class Sight:
    """How well an engine that computes in doubles can see the values of a window."""

    relative: float
    absolute: float = 0.0
    left_out: float = 0.0

    @classmethod
    def of(cls, judge: Judge, semantics: str, summed: bool) -> Sight:
        relative = (judge.size + 2) * 2.0**-51
        absolute = 2.0**-48 if judge.has_rules else 0.0
        if semantics == "EXPECTED_RANK":
            absolute += relative * sum(r.probability for r in judge.records)
        left_out = 0.0
        if summed:
            from_the_last = accumulate(float(value) for value in reversed(judge.in_top))
            left_out = max((total for total in from_the_last if total <= 1e-12), default=0.0)
        return cls(relative, absolute, left_out)

    @property
    def sharp(self) -> Sight:
        """What remains when two values are equal in truth."""
        return Sight(self.relative, 0.0, self.left_out)

    def blur(self, value: float) -> float:
        return abs(value) * self.relative + self.absolute + self.left_out

    def low(self, seen: float) -> float:
        """The least that a value can be taken for."""
        return 0.0 if abs(seen) < _FLOOR else rounded(seen - self.blur(seen))

    def high(self, seen: float) -> float:
        """The most."""
        return self.blur(0.0) if seen == 0 else rounded(seen + self.blur(max(abs(seen), _FLOOR)))


def close(got: float, true: Fraction, tolerance: float, absolute: float = 0.0) -> bool:
    """Equal but for a share of the true value, and what cannot be helped."""
    if got != got or math.isinf(got):
        return False
    return abs(Fraction(got) - true) <= Fraction(tolerance) * abs(true) + Fraction(
        max(absolute, _FLOOR)
    )


@dataclass(frozen=True)
class Entry:
    """A value, and the place that decides among equals."""

    place: int
    value: Fraction
    seen: float  # the same as a double, worked out once

    @classmethod
    def of(cls, place: int, value: Fraction) -> Entry:
        return cls(place, value, float(value))


def may_precede(first: Entry, second: Entry, sight: Sight, ascending: bool = False) -> bool:
    """Whether an engine of this sight may put the one before the other."""
    if first.seen == second.seen and first.value == second.value:
        sight = sight.sharp
    # The first at its best against the second at its worst.
    if ascending:
        gain = sight.high(second.seen) - sight.low(first.seen)
    else:
        gain = sight.high(first.seen) - sight.low(second.seen)
    return gain > 0 or (gain == 0 and first.place <= second.place)


def objection(
    got: Answer,
    judge: Judge,
    semantics: str = "PK_TOPK",
    *,
    threshold: float | None = None,
    summed: bool = False,
    tolerance: float = 1e-9,
) -> str | None:
    """What is wrong with an answer, or None."""
    ids = {record.id: place for place, record in enumerate(judge.records)}
    assert len(ids) == judge.size, "the records of a window have different ids"
    strangers = [id for id, _ in got if id not in ids]
    if strangers:
        return f"{strangers} are not in the window"
    rows = [(ids[id], probability) for id, probability in got]
    sight = Sight.of(judge, semantics, summed)
    if semantics == "U_TOPK":
        return _object_to_vector(rows, judge, sight, tolerance)
    if semantics == "U_KRANKS":
        return _object_to_ranks(rows, judge, sight, tolerance)
    if summed:
        tolerance = min(tolerance, sight.relative)
        entries = {place: Entry.of(place, total) for place, total in judge.sums.values()}
    else:
        values = judge.expected_rank if semantics == "EXPECTED_RANK" else judge.in_top
        entries = {place: Entry.of(place, value) for place, value in enumerate(values)}
    if semantics == "PT_K":
        assert threshold is not None
        return _object_to_passing(rows, entries, sight, threshold, tolerance)
    ascending = semantics == "EXPECTED_RANK"
    expected = min(judge.k, len(entries))
    if len(rows) != expected:
        return f"{len(rows)} rows, not {expected}"
    return _object_to_order(rows, entries, sight, tolerance, ascending) or _object_to_choice(
        rows, entries, sight, ascending
    )


def _object_to_order(
    rows: list[tuple[int, float]],
    entries: dict[int, Entry],
    sight: Sight,
    tolerance: float,
    ascending: bool = False,
) -> str | None:
    """Each row's value, and the order of the rows."""
    for i, (place, probability) in enumerate(rows):
        if place not in entries:
            return f"row {i}: the group has a record that ranks higher than place {place}"
        if place in [p for p, _ in rows[:i]]:
            return f"row {i}: place {place} once more"
        entry = entries[place]
        if not close(probability, entry.value, tolerance, sight.blur(0.0)):
            return f"row {i}: {probability!r} for place {place}, not {entry.seen!r}"
        for before, _ in rows[:i]:
            if not may_precede(entries[before], entry, sight, ascending):
                return f"place {before} stands before place {place}"
    return None


def _object_to_choice(
    rows: list[tuple[int, float]], entries: dict[int, Entry], sight: Sight, ascending: bool
) -> str | None:
    """Nobody who was left out is better than somebody who was not."""
    shown = {place for place, _ in rows}
    for place, entry in entries.items():
        if place not in shown:
            for other in shown:
                if not may_precede(entries[other], entry, sight, ascending):
                    return f"place {other} is shown, place {place} is not"
    return None


def _object_to_passing(
    rows: list[tuple[int, float]],
    entries: dict[int, Entry],
    sight: Sight,
    threshold: float,
    tolerance: float,
) -> str | None:
    limit, shown = rounded(threshold), {place for place, _ in rows}
    for place, entry in entries.items():
        here = sight.sharp if entry.value == Fraction(threshold) else sight
        if place in shown and here.high(entry.seen) < limit:
            return f"place {place} with {entry.seen!r} is below {threshold}"
        if place not in shown and here.low(entry.seen) >= limit:
            return f"place {place} with {entry.seen!r} is missing"
    return _object_to_order(rows, entries, sight, tolerance)


def _object_to_ranks(
    rows: list[tuple[int, float]], judge: Judge, sight: Sight, tolerance: float
) -> str | None:
    if len(rows) != judge.k:
        return f"{len(rows)} rows, not {judge.k}"
    for rank, (place, probability) in enumerate(rows):
        entries = [Entry.of(p, at[rank]) for p, at in enumerate(judge.at_rank)]
        shown = entries[place]
        if not close(probability, shown.value, tolerance, sight.absolute):
            return f"rank {rank}: {probability!r} for place {place}, not {shown.seen!r}"
        for other in entries:
            if not may_precede(shown, other, sight):
                return f"rank {rank}: place {other.place} rather than place {place}"
    return None


def _object_to_vector(
    rows: list[tuple[int, float]], judge: Judge, sight: Sight, tolerance: float
) -> str | None:
    places = tuple(place for place, _ in rows)
    if len(places) != judge.k or list(places) != sorted(set(places)):
        return f"{places} is no vector of {judge.k} in rank order"
    value, best = judge.vector(places), judge.most_probable
    for _, probability in rows:
        if not close(probability, value, tolerance, sight.absolute):
            return f"{probability!r} for the vector {places}, not {float(value)!r}"
    # The lexicographic order takes the part of the rank.
    mine = Entry.of(int(places > best), value)
    other = Entry.of(int(best > places), judge.vector(best))
    if places != best and not may_precede(mine, other, sight):
        return f"the vector {best} rather than {places}"
    return None


def same_answer(
    got: Answer,
    records: Sequence[Record],
    k: int,
    semantics: str = "PK_TOPK",
    tolerance: float = 1e-9,
    *,
    threshold: float | None = None,
    summed: bool = False,
) -> bool:
    """Whether these rows answer the query on this window, given best first."""
    judge = ByFormulas(records, k)
    how: dict[str, Any] = {"threshold": threshold, "summed": summed, "tolerance": tolerance}
    return objection(got, judge, semantics, **how) is None
