"""Whether an answer may be called right, beside the exact one of a judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from uncertain.worlds import Answer, ByFormulas, Judge, Record, rounded

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


def int_log2(value: Fraction) -> int:
    """The power of two that is near a value, however small it is."""
    return value.numerator.bit_length() - value.denominator.bit_length()


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
    if semantics == "PRF":
        assert threshold is not None
        values = judge.discounted(threshold)
        # Their order is right also where all are too small to be shown.
        scale = Fraction(2) ** int_log2(max(values))
        entries = {p: Entry(p, v, float(v / scale)) for p, v in enumerate(values)}
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
