"""The judges agree with each other, and their verdict can be `wrong`."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from uncertain.objections import objection, same_answer
from uncertain.worlds import SEMANTICS, Answer, ByFormulas, ByWorlds, Judge, Record, best_first

#: Ways to draw a probability.
DRAWS: dict[str, Any] = {
    "any": lambda rng: 1 - rng.random(),
    "eighths": lambda rng: rng.randint(1, 8) / 8,
    "tenths": lambda rng: rng.randint(1, 10) / 10,
    "doubtful": lambda rng: rng.choice((1e-12, 3e-7, 1e-3)),
    "certain": lambda rng: rng.choice((1.0, 1.0, 1 - 1e-9, 0.5)),
}


def window(rng: random.Random, size: int, draw: str, exclusive: float) -> list[Record]:
    """Records best first; of a rule no more than there is room for, often exactly that."""
    records = []
    left: dict[int, Fraction] = {}
    for number in range(size):
        p, rule = DRAWS[draw](rng), None
        if rng.random() < exclusive:
            rule = rng.randrange(3)
            room = left.setdefault(rule, Fraction(1))
            if Fraction(p) > room:
                p = float(room)
            if p == 0.0 or Fraction(p) > room:
                p, rule = 0.5, None
            else:
                left[rule] = room - Fraction(p)
        group = rng.randrange(3)
        records.append(Record(f"r{number}", rng.randrange(4), number, p, rule, group))
    return best_first(records)


def windows(seed: int, count: int, most: int = 6) -> list[list[Record]]:
    rng = random.Random(seed)
    return [
        window(rng, rng.randint(1, most), rng.choice(list(DRAWS)), rng.choice((0, 0.3, 0.7, 1)))
        for _ in range(count)
    ]


def rows(judge: Judge, semantics: str, threshold: float | None, summed: bool = False) -> Answer:
    """A judge's own answer, as an engine would give it."""
    answer = judge.answer(semantics, threshold, summed)
    return [(judge.records[place].id, float(value)) for place, value in answer]


@pytest.mark.parametrize("seed", range(4))
def test_formulas_and_worlds_agree(seed: int) -> None:
    rng = random.Random(seed)
    for records in windows(seed, 500):
        k = rng.randint(1, len(records) + 1)
        counted, computed = ByWorlds(records, k), ByFormulas(records, k)
        assert computed.at_rank == counted.at_rank
        assert computed.expected_rank == counted.expected_rank
        for places in combinations(range(len(records)), counted.k):
            assert computed.vector(places) == counted.vector(places)
        threshold = rng.choice((0.1, 0.25, 0.5, 1.0, DRAWS["any"](rng)))
        for semantics in SEMANTICS:
            wanted = counted.answer(semantics, threshold)
            assert computed.answer(semantics, threshold) == wanted, (semantics, records, k)
        assert computed.answer("PK_TOPK", summed=True) == counted.answer("PK_TOPK", summed=True)


def test_the_worlds_of_a_rule() -> None:
    """Two that exclude one another and one that nobody does: six worlds."""
    records = [Record("a", 3, 0, 0.5, "x"), Record("b", 2, 0, 0.25), Record("c", 1, 0, 0.25, "x")]
    worlds = {places: float(chance) for places, chance in ByWorlds(records, 2).worlds()}
    assert worlds == {
        (0,): 0.375, (0, 1): 0.125, (2,): 0.1875, (1, 2): 0.0625, (): 0.1875, (1,): 0.0625,
    }  # fmt: skip


@pytest.mark.parametrize("semantics", [*SEMANTICS, "sums"])
def test_right_answers_pass(semantics: str) -> None:
    summed = semantics == "sums"
    for number, records in enumerate(windows(11, 300, most=9)):
        judge = ByFormulas(records, 1 + number % 5)
        meaning = "PK_TOPK" if summed else semantics
        got = rows(judge, meaning, 0.3, summed)
        how: dict[str, Any] = {"threshold": 0.3, "summed": summed}
        assert objection(got, judge, meaning, **how) is None
        assert same_answer(got, records, judge.k, meaning, **how)


@pytest.mark.parametrize("semantics", [*SEMANTICS, "sums"])
def test_wrong_answers_do_not(semantics: str) -> None:
    """A row less, a row more, rows in another order, another record, a slightly other number."""
    summed = semantics == "sums"
    meaning = "PK_TOPK" if summed else semantics
    rng = random.Random(5)
    tried = 0
    for number, records in enumerate(windows(12, 400, most=9)):
        judge = ByFormulas(records, 1 + number % 5)
        got = rows(judge, meaning, 0.3, summed)
        for wrong in spoiled(rng, got, judge, semantics):
            tried += 1
            objected = objection(wrong, judge, meaning, threshold=0.3, summed=summed)
            assert objected is not None, (got, wrong, records)
    assert tried > 800


def spoiled(rng: random.Random, got: Answer, judge: Judge, semantics: str) -> list[Answer]:
    """Answers that no tolerance may let through."""
    wrong: list[Answer] = [[*got, ("nobody", 0.5)], [*got, (judge.records[0].id, 2.0)]]
    if not got:
        return wrong
    place = rng.randrange(len(got))
    id, probability = got[place]
    before, after = got[:place], got[place + 1 :]
    wrong += [[*before, *after], [*before, (id, float("nan")), *after]]
    if probability > 1e-3:
        factor = 1 + rng.choice((-1, 1)) * 1e-8
        wrong.append([*before, (id, probability * factor), *after])
    if semantics == "U_TOPK":
        wrong += [got[::-1]] if len(got) > 1 else []
    elif len(got) > 1 and abs(got[0][1] - got[-1][1]) > 1e-6:
        wrong.append([got[-1], *got[1:-1], got[0]])
    others = [r.id for r in judge.records if r.id not in {id for id, _ in got}]
    if semantics in ("PK_TOPK", "EXPECTED_RANK", "PRF") and others:
        chosen = rng.choice(others)
        place = [r.id for r in judge.records].index(chosen)
        values = judge.in_top if semantics == "PK_TOPK" else judge.expected_rank
        if semantics == "PRF":
            values = judge.discounted(0.3)
        if abs(float(values[place]) - got[-1][1]) > 1e-6:
            wrong.append([*got[:-1], (chosen, float(values[place]))])
    return wrong


EQUALS = [Record("a", 4, 0, 0.5), Record("b", 3, 0, 0.5), Record("c", 2, 0, 1.0)]


def test_equals_go_by_rank() -> None:
    """Pr_2 is 0.5, 0.5, 0.75; the worlds in which b is the second have as much as those of a."""
    judge = ByWorlds(EQUALS, 2)
    assert judge.in_top == [Fraction(1, 2), Fraction(1, 2), Fraction(3, 4)]
    assert objection([("c", 0.75), ("a", 0.5)], judge) is None
    assert objection([("c", 0.75), ("b", 0.5)], judge) is not None
    assert objection([("a", 0.5), ("c", 0.75)], judge) is not None
    how: dict[str, Any] = {"semantics": "PT_K", "threshold": 0.5}
    assert objection([("c", 0.75), ("a", 0.5), ("b", 0.5)], judge, **how) is None
    assert objection([("c", 0.75), ("b", 0.5), ("a", 0.5)], judge, **how) is not None
    assert objection([("c", 0.75)], judge, **how) is not None
    how["threshold"] = 0.5000001
    assert objection([("c", 0.75)], judge, **how) is None
    assert objection([("c", 0.75), ("a", 0.5)], judge, **how) is not None
    # Vectors: (a, b) 1/4, (a, c) 1/4, (b, c) 1/4.
    how = {"semantics": "U_TOPK"}
    assert objection([("a", 0.25), ("b", 0.25)], judge, **how) is None
    assert objection([("a", 0.25), ("c", 0.25)], judge, **how) is not None
    # First: a 1/2, b 1/4, c 1/4. Second: b 1/4, c 1/2.
    how = {"semantics": "U_KRANKS"}
    assert objection([("a", 0.5), ("c", 0.5)], judge, **how) is None
    assert objection([("a", 0.5), ("b", 0.25)], judge, **how) is not None


@pytest.mark.parametrize(
    ("third", "by_rank"), [(math.nextafter(0.2, 1), True), (0.2 * (1 + 1e-10), False)]
)
def test_what_doubles_cannot_tell_apart(third: float, by_rank: bool) -> None:
    """A difference in the last bit is none; one in the tenth digit decides."""
    records = [Record("a", 9, 0, 0.7), Record("b", 8, 0, 0.2), Record("c", 7, 0, third)]
    judge = ByFormulas(records, 3)
    assert (objection([("a", 0.7), ("b", 0.2), ("c", third)], judge) is None) is by_rank
    assert (objection([("a", 0.7), ("c", third), ("b", 0.2)], judge) is None) is not by_rank


def test_near_decimals_are_equal() -> None:
    """Two ways to get 0.06, which differ by 7e-18: the higher rank wins."""
    records = [
        Record("a", 9, 0, 0.4), Record("b", 8, 0, 0.1), Record("c", 7, 0, 0.06 / 0.54),
    ]  # fmt: skip
    judge = ByFormulas(records, 1)
    assert judge.in_top[1] != judge.in_top[2]
    assert abs(judge.in_top[1] - judge.in_top[2]) < 1e-15
    assert [place for place, _ in judge.answer("PT_K", 0.06)] == [0, 1, 2]
    right: Answer = [("a", 0.4), ("b", 0.06), ("c", 0.06)]
    how: dict[str, Any] = {"semantics": "PT_K", "threshold": 0.06}
    assert objection(right, judge, **how) is None
    assert objection([right[0], right[2], right[1]], judge, **how) is not None
    assert objection(right[:1], judge, **how) is not None


def test_impossible_vectors_are_equals_too() -> None:
    """Of two that exclude one another nobody is ever the second."""
    records = [Record("a", 2, 0, 0.25, "x"), Record("b", 1, 0, 0.75, "x")]
    for judge in (ByWorlds(records, 2), ByFormulas(records, 2)):
        assert judge.answer("U_TOPK") == [(0, 0), (1, 0)]
        assert judge.answer("U_KRANKS") == [(1, Fraction(3, 4)), (0, 0)]


def test_tiny_probabilities_are_judged_by_their_own_size() -> None:
    records = [Record(i, 9 - i, 0, 1e-12) for i in range(4)]
    judge = ByFormulas(records, 2)
    exact = [(i, float(value)) for i, value in enumerate(judge.in_top)]
    assert objection(exact[:2], judge) is None
    assert objection([(0, 1e-12), (1, 1.00001e-12)], judge) is not None
    assert objection([(0, 1e-12), (1, 0.0)], judge) is not None
