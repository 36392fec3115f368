"""Several queries at once: one walk, and one list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import new_report, written
from crestline.kernels.uncertain import worlds
from crestline.kernels.uncertain.closing import (
    EXPECTED_RANK,
    PK_TOPK,
    PT_K,
    SUMS,
    U_KRANKS_WITH_RULES,
    U_TOPK,
)
from crestline.kernels.uncertain.lists import ID, LEAVES
from crestline.kernels.uncertain.shared_worlds import (
    COUNT,
    MARK,
    WALKS,
    DueExecutions,
    SharedQueries,
    SharedWindow,
    _deepest,
    needed,
    run_shared,
)
from crestline.kernels.uncertain.specs import ANSWER_SPECS, largest_k
from crestline.kernels.uncertain.steps import NUMBERS
from crestline.uncertain.partition import empty_list
from kernels.uncertain.windows import answer_at, best_first, columns, random_records

KIND = np.array([PK_TOPK, PT_K, U_KRANKS_WITH_RULES, SUMS, U_TOPK, PK_TOPK])
K = np.array([3, 2, 4, 2, 2, 6])
THRESHOLD = np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])


def together(kind: Any, k: Any, threshold: Any, chance: Any, rule: Any, group: Any) -> list[Any]:
    """The answers of all queries, as indices and weights."""
    queries, count = len(kind), len(chance)
    number, overfull = np.zeros(queries, np.int64), np.zeros(queries, np.int64)
    chosen, weight = np.empty(queries * count, np.int64), np.empty(queries * count)
    addresses = ANSWER_SPECS.address(), worlds.WEIGH.address(), worlds.PICK.address()
    answer_at(addresses, kind, k, threshold, chance, rule, group, overfull, number, chosen, weight)
    rows = [slice(a * count, a * count + number[a]) for a in range(queries)]
    return [(chosen[row].tolist(), weight[row].tolist()) for row in rows]


def alone(kind: int, k: int, threshold: float, chance: Any, rule: Any, group: Any) -> Any:
    count = len(chance)
    value, best, leader = np.empty(count), np.empty(count), np.empty(count, np.int64)
    found, _ = worlds._weigh_at(
        worlds.WEIGH.address(), kind, k, threshold, chance, rule, group, value, best, leader
    )
    chosen, weight = np.empty(count, np.int64), np.empty(count)
    seen = count if found < 0 else found
    number = worlds._pick(kind, k, threshold, seen, group, value, best, leader, chosen, weight)
    return chosen[:number].tolist(), weight[:number].tolist()


@pytest.mark.parametrize("exclusive", [0.0, 0.5])
@pytest.mark.parametrize("count", [1, 4, 40])
def test_every_query_gets_what_it_gets_alone(count: int, exclusive: float) -> None:
    """To the last bit."""
    records = best_first(random_records(np.random.default_rng(count), count, exclusive))
    got = together(KIND, K, THRESHOLD, *columns(records))
    for a in range(len(KIND)):
        how = int(KIND[a]), int(K[a]), float(THRESHOLD[a])
        assert got[a] == alone(*how, *columns(records)), how


#: Probabilities at which values tie, are exact, or differ in the last bits only.
AWKWARD: list[Callable[[np.random.Generator, int], Any]] = [
    lambda rng, count: 1 - rng.random(count),
    lambda rng, count: rng.integers(1, 11, count) / 10,
    lambda rng, count: np.ones(count),
    lambda rng, count: 1 - rng.random(count) * 1e-9,
    lambda rng, count: rng.random(count) * 1e-3 + 1e-300,
    lambda rng, count: rng.choice([1.0, 0.5, 1e-12, 1 - 1e-13], count),
]


def awkward_records(rng: np.random.Generator, count: int) -> tuple[Any, Any, Any]:
    """Probabilities, rules and groups in rank order; rules may promise too much."""
    chance = AWKWARD[rng.integers(len(AWKWARD))](rng, count)
    rule = np.full(count, -1)
    if rng.random() < 0.6:
        rule = np.where(rng.random(count) < 0.5, rng.integers(0, max(1, count // 3), count), -1)
        rule[: int(rng.choice([0, count // 2]))] = -1
    return chance, rule, rng.integers(0, int(rng.choice([2, 8, 40])), count)


@pytest.mark.parametrize("seed", range(240))
def test_queries_of_any_k_and_kind_get_what_they_get_alone(seed: int) -> None:
    """To the last bit: more than all records, ties, values that round differently, rules."""
    rng = np.random.default_rng(seed)
    count, queries = int(rng.integers(1, 60)), int(rng.integers(2, 9))
    if seed % 40 == 0:
        count = 600  # with rules, some need more than the walk goes
    records = awkward_records(rng, count)
    kinds = [PK_TOPK, PT_K] if rng.random() < 0.5 else [*KIND.tolist(), PT_K]
    kind = rng.choice(kinds, queries)
    k = rng.integers(1, int(rng.choice([4, 40, 80])), queries)
    threshold = np.where(kind == PT_K, rng.choice([1.0, 0.5, 1e-3, 0.999], queries), 0.0)
    got = together(kind, k, threshold, *records)
    for a in range(queries):
        how = int(kind[a]), int(k[a]), float(threshold[a])
        assert got[a] == alone(*how, *records), how


def depth_of(kind: int, k: int, threshold: float, records: tuple[Any, Any, Any]) -> int:
    """How many records close; more than all, if they do not."""
    closed, _ = worlds.weigh_here(kind, k, threshold, *records)
    return len(records[0]) + 1 if closed < 0 else closed


@pytest.mark.parametrize("kind", [PK_TOPK, PT_K, SUMS])
@pytest.mark.parametrize("seed", range(40))
def test_compact_sets_grow_with_k_and_as_the_threshold_falls(kind: int, seed: int) -> None:
    """Lists are thinned for the queries with the deepest compact sets alone."""
    rng = np.random.default_rng([seed, kind])
    chance, rule, group = awkward_records(rng, int(rng.integers(1, 60)))
    for number in np.unique(rule[rule >= 0]):  # the proofs need rules that keep their promise
        chance[rule == number] /= max(1.0, chance[rule == number].sum())
    k = np.sort(rng.integers(1, 12, 5))
    threshold = -np.sort(-rng.random(5)) if kind == PT_K else np.zeros(5)
    pairs = zip(k.tolist(), threshold.tolist(), strict=True)
    depths = [depth_of(kind, *each, (chance, rule, group)) for each in pairs]
    assert depths == sorted(depths)
    every = np.full(5, kind), k, threshold
    assert [depths[a] for a in _deepest(*every)] == [depths[-1]]


def test_kinds_whose_compact_sets_are_not_nested_all_count() -> None:
    kind = np.array([PK_TOPK, U_TOPK, PK_TOPK, PT_K, PT_K, U_KRANKS_WITH_RULES, PT_K, PK_TOPK])
    k = np.array([3, 2, 5, 2, 4, 9, 4, 5])
    threshold = np.array([0.0, 0.0, 0.0, 0.2, 0.3, 0.0, 0.3, 0.0])
    assert _deepest(kind, k, threshold).tolist() == [1, 2, 3, 4, 5]


def test_expected_ranks_are_worked_out_once() -> None:
    records = best_first(random_records(np.random.default_rng(1), 12, 0.5))
    kind, k = np.full(2, EXPECTED_RANK), np.array([2, 5])
    got = together(kind, k, np.zeros(2), *columns(records))
    assert got == [alone(EXPECTED_RANK, int(each), 0.0, *columns(records)) for each in k]
    assert largest_k(k) == 5


# --- one list ------------------------------------------------------------------------------------

REACH = 11


def window_of(thin_at_least: int) -> SharedWindow:
    addresses = ANSWER_SPECS, worlds.WEIGH, worlds.PICK, MARK
    return SharedWindow(REACH, False, False, thin_at_least, *(a.address() for a in addresses))


def queries_of(k: Any, only_changes: Any) -> SharedQueries:
    k = np.array(k)
    since = np.full(len(k), LONG_AGO)
    return SharedQueries(
        np.full(len(k), PK_TOPK), k, np.zeros(len(k)), since, np.array(only_changes)
    )


@pytest.mark.parametrize("thin_at_least", [0, 1000])
def test_moments_are_answered(thin_at_least: int) -> None:
    """Thinning or not makes no difference; a window that became empty is reported on request."""
    rng = np.random.default_rng(6)
    count = 60
    records = random_records(rng, count)
    times = np.arange(count)
    records.ints[LEAVES] = times + REACH
    moments = np.arange(1, count + 2 * REACH)
    due = DueExecutions(moments, 2 * np.arange(len(moments) + 1), np.tile([0, 1], len(moments)))
    meta, shown = np.zeros(5, np.int64), np.zeros(2, np.int64)
    queries = queries_of([1, 3], [0, 1])
    _, report = run_shared(
        window_of(thin_at_least), queries, tuple(records), times + 1, due, empty_list(), meta,
        shown, new_report(NUMBERS, 0, 0),
    )  # fmt: skip
    _, end, size, query, ids, _ = written(report)
    offset = np.concatenate(([0], np.cumsum(size)))
    for i in range(len(end)):
        inside = np.flatnonzero((times < end[i]) & (times + REACH > end[i]))
        window = best_first(type(records)(*(a[:, inside].copy() for a in records)))
        right, _ = alone(PK_TOPK, int(queries.k[query[i]]), 0.0, *columns(window)) if len(inside) \
            else ([], None)  # fmt: skip
        assert ids[offset[i] : offset[i + 1]].tolist() == window.ints[ID, right].tolist()
    last = count + REACH - 2  # the last moment with a record
    assert end[query == 0].tolist() == list(range(1, last + 1))
    assert end[query == 1].tolist() == list(range(1, last + 2))
    assert meta[WALKS] > 0
    if thin_at_least:
        assert meta[COUNT] == count


def test_what_no_query_needs() -> None:
    """Of a unit, what ranks behind the compact set of newer records."""
    rng = np.random.default_rng(7)
    records = best_first(random_records(rng, 200))
    records.ints[LEAVES] = rng.permutation(200)
    queries = queries_of([2], [0])
    kept = needed(window_of(0), queries, records, np.array([0]))
    assert kept.sum() < 60
    for since in range(0, 190, 10):
        newer = np.flatnonzero(records.ints[LEAVES] >= since)
        chance, rule, group = (column[newer] for column in columns(records))
        found, _ = worlds.weigh_here(PK_TOPK, 2, 0.0, chance, rule, group)
        assert kept[newer[: max(found, 0)]].all()
