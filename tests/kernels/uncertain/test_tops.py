"""The best records of several queries, in order, and ranks that are discounted."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.sentinels import NO_RULE
from crestline.kernels.uncertain.discounted import walk_discounted
from crestline.kernels.uncertain.tops import (
    enter,
    enter_groups,
    least_of,
    no_tops,
    number_groups,
    write_top,
)


def records_of(tops: Any, top: int) -> list[int]:
    records = np.empty(len(tops.key), np.int64)
    return records[: write_top(tops, top, records, 0)].tolist()


@given(st.lists(st.integers(0, 4), max_size=12), st.integers(1, 5))
def test_a_top_keeps_the_best_and_ties_go_to_the_higher_rank(keys: list[int], most: int) -> None:
    tops = no_tops(2, 5)
    for record, key in enumerate(keys):
        enter(tops, 1, most, float(key), record)
    order = sorted(range(len(keys)), key=lambda record: (-keys[record], record))
    assert records_of(tops, 1) == order[:most] and records_of(tops, 0) == []
    least = least_of(tops.key, tops.later_key, 5, int(tops.size[1]), 0)
    assert least == (keys[order[:most][-1]] if keys else np.inf)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12))
def test_groups_are_numbered_as_they_appear(group: list[int]) -> None:
    groups = number_groups(np.array(group))
    seen = list(dict.fromkeys(group))
    assert groups.number.tolist() == [seen.index(each) for each in group]
    assert groups.first.tolist() == [group.index(each) for each in seen]
    tops, value, weight = no_tops(1, 3), np.ones(len(group)), np.empty(len(group))
    enter_groups(tops, 0, 3, groups, value, weight)
    largest = sorted(seen, key=lambda each: (-group.count(each), group.index(each)))[:3]
    assert records_of(tops, 0) == [group.index(each) for each in largest]
    assert weight[: len(seen)].tolist() == [group.count(each) for each in seen]


def discounted(alpha: float, chance: list[float], rule: list[int]) -> list[float]:
    """The values, by going through all worlds."""
    values = [0.0] * len(chance)
    for world in product((False, True), repeat=len(chance)):
        real = [i for i, each in enumerate(world) if each]
        ruled = [rule[i] for i in real if rule[i] != NO_RULE]
        if len(set(ruled)) < len(ruled):
            continue
        weight = np.prod([chance[i] for i in real])
        absent = {rule[i] for i in range(len(chance)) if rule[i] != NO_RULE} - set(ruled)
        for each in absent:
            weight *= 1 - sum(p for p, r in zip(chance, rule, strict=True) if r == each)
        for i in range(len(chance)):
            if rule[i] == NO_RULE and not world[i]:
                weight *= 1 - chance[i]
        for rank, i in enumerate(real, start=1):
            values[i] += alpha**rank * weight
    return values


@pytest.mark.parametrize("seed", range(30))
def test_discounted_ranks_are_those_of_all_worlds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, k, alpha = (
        int(rng.integers(1, 8)),
        int(rng.integers(1, 4)),
        float(rng.uniform(0.1, 0.95)),
    )
    chance = rng.uniform(0.05, 0.3, count)
    rule = rng.choice([NO_RULE, 0, 1], count) if seed % 2 else np.full(count, NO_RULE)
    best, leader = np.empty(count), np.empty(count, np.int64)
    closed, overfull = walk_discounted(k, alpha, chance, rule, best, leader)
    values = discounted(alpha, chance.tolist(), rule.tolist())
    wanted = sorted(range(count), key=lambda i: -values[i])[: min(k, count)]
    assert leader[: len(wanted)].tolist() == wanted
    assert best[: len(wanted)] == pytest.approx([values[i] for i in wanted])
    if (np.bincount(rule[rule >= 0], chance[rule >= 0]) <= 1).all():
        assert overfull == 0
    assert closed < 0 or closed >= max(wanted) + 1
