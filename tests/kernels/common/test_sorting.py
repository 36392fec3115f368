"""Sorts inside kernels, against NumPy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.kernels.common.ascending import ascending, put_ascending
from crestline.kernels.common.keys import moment_order, text_keys
from crestline.kernels.common.order import count_positions, reach
from crestline.kernels.common.product import product
from crestline.kernels.common.sort import sort_records, sort_room, sort_runs
from hostile import spiked

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(0, 80))
def test_ascending_is_stable(seed: int, count: int) -> None:
    keys = np.random.default_rng(seed).integers(0, 9, count)
    assert ascending(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    into = np.zeros(count, np.int64)
    put_ascending(keys, count, into)
    assert into.tolist() == sorted(keys.tolist())


@given(SEEDS, st.integers(0, 120), st.integers(0, 3))
def test_records_best_first(seed: int, count: int, shape: int) -> None:
    """Few values, values close together, over all magnitudes, and the awkward ones."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, count).astype(float)
    if shape == 1:
        scores = 1.0 + rng.integers(0, 50, count) * 2.0**-52
    elif shape == 2:
        scores = rng.choice([-1.0, 1.0], count) * np.exp(rng.uniform(-700, 700, count))
    elif shape == 3:
        scores = spiked(rng, rng.normal(size=count))
    ties, records = rng.permutation(count), rng.permutation(count)
    sort_records(records, 0, count, sort_room(count), scores, ties)
    assert records.tolist() == np.lexsort((-ties, -scores)).tolist()


def test_a_part_is_sorted_and_the_rest_left_alone() -> None:
    scores, ties = np.arange(40.0), np.arange(40)
    records = np.arange(40)
    sort_records(records, 10, 20, sort_room(20), scores, ties)
    assert records.tolist() == [*range(10), *range(29, 9, -1), *range(30, 40)]


@given(st.integers(0, 60), st.integers(0, 3))
def test_equal_scores_that_come_last_first(count: int, exchanged: int) -> None:
    ties, records = np.arange(count), np.arange(count)
    for i in range(0, min(exchanged, count - 1)):
        records[[i, i + 1]] = records[[i + 1, i]]
    sort_records(records, 0, count, sort_room(count), np.zeros(count), ties)
    assert records.tolist() == list(range(count))[::-1]


def test_runs_are_sorted_each() -> None:
    scores, ties = np.array([1.0, 2, 1, 2, 3]), np.arange(5)
    order = np.arange(5)
    sort_runs(order, np.array([0, 2, 5]), scores, ties)
    assert order.tolist() == [1, 0, 4, 3, 2]


@given(SEEDS, st.integers(1, 40))
def test_positions_count_within_partitions(seed: int, count: int) -> None:
    partitions = np.random.default_rng(seed).integers(0, 3, count)
    counters = np.array([10, 20, 30])
    positions = count_positions(partitions, counters)
    for p, first in enumerate((10, 20, 30)):
        inside = positions[partitions == p]
        assert inside.tolist() == list(range(first, first + len(inside)))
        assert counters[p] == first + len(inside)


def test_reach() -> None:
    assert reach(np.array([1.0, 3.0]), 3.0) and not reach(np.array([1.0, 2.0]), 3.0)
    assert not reach(np.empty(0), -np.inf)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_products_keep_their_low_bits(a: int, b: int) -> None:
    assert product(a, b) == a * b % 2**63


@given(st.lists(st.text(max_size=12), max_size=20))
def test_equal_texts_have_equal_keys(texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)])
    data = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
    high, low, code = text_keys(offsets, data)
    keys = list(zip(high.tolist(), low.tolist(), strict=True))
    assert len(set(keys)) == len(set(texts))
    for i, a in enumerate(encoded):
        for j, b in enumerate(encoded):
            padded = a[:8].ljust(8, b"\0"), b[:8].ljust(8, b"\0")
            assert (code[i] < code[j]) == (padded[0] < padded[1])


@given(SEEDS, st.integers(0, 40))
def test_observations_of_a_moment(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 4, count))
    high, low, stream = (rng.integers(0, 2, count) for _ in range(3))
    value = rng.integers(0, 3, count).astype(float)
    order = moment_order(at, high, low, stream, value)
    assert order.tolist() == np.lexsort((np.arange(count), -value, stream, low, high, at)).tolist()
