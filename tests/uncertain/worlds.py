"""The judge of uncertain streams: what the answer of a window is.

It shares no code with the engine. There are two judges with one interface. ``ByWorlds`` writes down
every possible world and counts, so that nobody has to believe a formula. ``ByFormulas`` is for
larger windows: for each record it computes the distribution of how many rank higher, the plain way.
Both are exact. ``ByFormulas`` computes in whole numbers: doubles are multiples of a power of two.

A window is a list of records, best first. *Places* are positions in that list; *ranks* count from 0
here too. ``objections.py`` compares an answer with what a judge says.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nlargest
from itertools import product
from typing import Any

SEMANTICS = ("PK_TOPK", "PT_K", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF")

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
    def discounted(self, alpha: float) -> list[Fraction]:
        """By place: the sum over all ranks, from 1, of alpha to the rank times its probability."""

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
        if semantics == "PRF":
            assert threshold is not None
            values = self.discounted(threshold)
            order = sorted(places, key=lambda p: (-rounded(values[p]), p))
            return [(p, values[p]) for p in order[: self.k]]
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
        self._worlds = self.worlds()
        for present, chance in self._worlds:
            for rank, place in enumerate(present[: self.k]):
                self.at_rank[place][rank] += chance
            for place in range(self.size):
                rank = present.index(place) if place in present else len(present)
                self.expected_rank[place] += rank * chance
            if len(present) >= self.k:
                top = present[: self.k]
                self._vectors[top] = self._vectors.get(top, Fraction(0)) + chance

    def discounted(self, alpha: float) -> list[Fraction]:
        values = [Fraction(0)] * self.size
        for present, chance in self._worlds:
            for rank, place in enumerate(present, start=1):
                values[place] += Fraction(alpha) ** rank * chance
        return values

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

    def discounted(self, alpha: float) -> list[Fraction]:
        """By the generating function of the number above: each unit brings alpha or 1."""
        discount, values = Fraction(alpha), []
        rules: dict[Any, int] = {}
        for place, chance in enumerate(self._chance):
            own = self._rule_of(place)
            value = discount * Fraction(chance, self._unit)
            for rule, total in rules.items():
                if rule != own:
                    value *= 1 - Fraction(total, self._unit) * (1 - discount)
            values.append(value)
            rules[own] = rules.get(own, 0) + chance
        return values

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


def rounded(value: Fraction | float) -> float:
    """To 40 bits of mantissa."""
    mantissa, exponent = math.frexp(float(value))
    return math.ldexp(round(mantissa * 2**40), exponent - 40)
