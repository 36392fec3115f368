"""Weights and answers, against a judge that computes with fractions: every kind, with and without
rules, which takes the walks, the vectors and the expected ranks through their paces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crestline.kernels.uncertain import worlds
from crestline.kernels.uncertain.closing import (
    EXPECTED_RANK,
    PK_TOPK,
    PRF,
    PT_K,
    SUMS,
    U_KRANKS,
    U_KRANKS_WITH_RULES,
    U_TOPK,
)
from crestline.kernels.uncertain.exclusive import IN_ORDER, first_rule, rule_factors
from crestline.kernels.uncertain.expected_rank import expected_ranks
from crestline.kernels.uncertain.independent import (
    compete,
    include,
    missing_of_top,
    total_from,
    walk_independent,
)
from crestline.kernels.uncertain.lists import ID
from crestline.kernels.uncertain.vectors import best_vector, best_vector_with_rules
from kernels.uncertain.windows import best_first, columns, judge_of, random_records, records_of
from uncertain.objections import objection

KINDS = {
    "PK_TOPK": PK_TOPK, "PT_K": PT_K, "U_KRANKS": U_KRANKS, "U_TOPK": U_TOPK,
    "EXPECTED_RANK": EXPECTED_RANK, "SUMS": SUMS, "PRF": PRF,
}  # fmt: skip
THRESHOLD = 0.3


def answer(kind: int, k: int, chance: Any, rule: Any, group: Any) -> list[tuple[int, float]]:
    n = len(chance)
    value, best, leader = np.empty(n), np.empty(n), np.empty(n, np.int64)
    how = kind, k, THRESHOLD if kind in (PT_K, PRF) else 0.0
    found, _ = worlds._weigh_at(
        worlds.WEIGH.address(), *how, chance, rule, group, value, best, leader
    )
    chosen, weight = np.empty(n, np.int64), np.empty(n)
    count = n if found < 0 else found
    number = worlds._pick(*how, count, group, value, best, leader, chosen, weight)
    return [(int(chosen[j]), float(weight[j])) for j in range(number)]


@pytest.mark.parametrize("exclusive", [0.0, 0.6])
@pytest.mark.parametrize("semantics", KINDS)
def test_answers_are_right(semantics: str, exclusive: float) -> None:
    rng = np.random.default_rng(2)
    kind = KINDS[semantics]
    if exclusive and kind == U_KRANKS:
        kind = U_KRANKS_WITH_RULES
    for size in (1, 2, 5, 9, 14):
        records = best_first(random_records(rng, size, exclusive))
        records.ints[ID] = np.arange(size)
        k = int(rng.integers(1, 5))
        rows = answer(kind, k, *columns(records))
        summed = semantics == "SUMS"
        meaning = "PK_TOPK" if summed else semantics
        judge = judge_of(records, k)
        assert objection(rows, judge, meaning, threshold=THRESHOLD, summed=summed) is None


@pytest.mark.parametrize("exclusive", [False, True])
def test_values_behind_the_records_in_order(exclusive: bool) -> None:
    """Long windows, where rules are looked at through the tree: the values of a few records."""
    n, k = IN_ORDER + 90, 3
    chance = np.full(n, 1e-3)
    rule = np.full(n, -1)
    if exclusive:
        rule[::7] = np.arange(n)[::7] // 14
    found, value = worlds.weigh_here(PT_K, k, 0.0, chance, rule, np.zeros(n, np.int64))
    assert found == -1
    for i in (3, IN_ORDER - 1, IN_ORDER + 40, n - 1):
        units: dict[int, float] = {}
        for above in range(i):
            number = int(rule[above]) if rule[above] >= 0 else -1 - above
            if rule[i] < 0 or number != rule[i]:
                units[number] = units.get(number, 0.0) + chance[above]
        exactly = np.zeros(k)
        exactly[0] = 1.0
        for p in units.values():
            exactly = exactly * (1 - p) + np.append(0.0, exactly[:-1]) * p
        assert value[i] == pytest.approx(chance[i] * exactly.sum(), rel=1e-12)


def test_an_overfull_rule_is_noticed() -> None:
    chance, rule, group = np.array([0.7, 0.6, 0.5]), np.array([0, 0, -1]), np.zeros(3, np.int64)
    for kind in (PT_K, U_TOPK, EXPECTED_RANK, PRF):
        value, best, leader = np.empty(3), np.empty(3), np.empty(3, np.int64)
        _, overfull = worlds._weigh_at(
            worlds.WEIGH.address(), kind, 3, THRESHOLD, chance, rule, group, value, best, leader
        )
        assert overfull == 1


# --- the parts of a walk -------------------------------------------------------------------------


def test_counting_records_that_exist() -> None:
    """Of two coins: none, one, two; k is 3, and the last entry is a zero."""
    exactly = np.array([0.0, 0.0, 1.0, 0.0])
    include(exactly, 0.5)
    include(exactly, 0.5)
    assert exactly.tolist() == [0.25, 0.5, 0.25, 0.0]
    assert total_from(exactly, 1) == 0.75
    assert missing_of_top(exactly, 3) == 3 * 0.25 + 2 * 0.5 + 1 * 0.25
    best, leader = np.array([0.2, 0.1, 0.25]), np.zeros(3, np.int64)
    compete(0.5, exactly, 3, 7, best, leader)
    assert best.tolist() == [0.2, 0.25, 0.25]
    assert leader.tolist() == [0, 7, 0]


def test_independent_records_close() -> None:
    """Two certain records close for k = 2, whatever comes behind them."""
    chance, group = np.array([1.0, 1.0, 0.9]), np.zeros(3, np.int64)
    value, best, leader = np.empty(3), np.empty(3), np.empty(3, np.int64)
    assert walk_independent(PK_TOPK, 2, 0.0, chance, group, value, best, leader) == 2
    assert value[:2].tolist() == [1.0, 1.0]


def test_factors_hold_between_the_members_of_a_rule() -> None:
    chance, rule = np.array([0.25, 0.5, 0.25, 0.125]), np.array([0, -1, 0, -1])
    mass, start, factor, levels, overfull = rule_factors(chance, rule)
    assert (first_rule(rule), levels, overfull) == (0, 2, 0)
    assert mass.tolist() == [0.0, 0.0, 0.25, 0.0]
    size = 1 << levels
    for i, expected in enumerate([[], [0.25], [0.5], [0.5, 0.5]]):
        on_path: list[float] = []
        for level in range(levels + 1):
            node = (size + i) >> level
            on_path += factor[start[node] : start[node + 1]].tolist()
        assert sorted(on_path) == expected


def test_vectors() -> None:
    """Of 0.9, 0.2 and 0.8 the first and the third, while the second does not exist."""
    chance, best, vector = np.array([0.9, 0.2, 0.8]), np.empty(3), np.empty(3, np.int64)
    best_vector(2, chance, best, vector)
    assert vector[:2].tolist() == [0, 2]
    assert np.exp(best[0]) == pytest.approx(0.9 * 0.8 * 0.8)
    rule = np.array([4, -1, 4])  # the first and the third exclude one another
    chance = np.array([0.5, 0.3, 0.5])
    best_vector_with_rules(2, chance, rule, best, vector)
    assert vector[:2].tolist() == [0, 1]


def test_expected_ranks_by_hand() -> None:
    """Above the second stands the first, with probability 0.5; if it is missing, both others."""
    value = np.empty(3)
    assert expected_ranks(np.array([0.5, 0.4, 1.0]), np.full(3, -1), value) == 0
    assert value.tolist() == pytest.approx([0.5 * 1.4, 0.4 * 0.5 + 0.6 * 1.5, 0.9])


def test_one_function_for_each_need() -> None:
    records = records_of([1.0])
    assert worlds.weighing(U_TOPK, False) is worlds.WEIGH
    assert worlds.weighing(PK_TOPK, False) is not worlds.weighing(PK_TOPK, True)
    assert worlds.weigh_here(PK_TOPK, 1, 0.0, *columns(records))[1].tolist() == [0.5]
