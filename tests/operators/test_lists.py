"""Lists and arrays by partition, against plain Python lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.errors import StateError
from crestline.operators.partitions import PerPartition, renumbering
from crestline.operators.ragged import Ragged

LISTS = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)


def ragged(lists: list[list[int]]) -> Ragged:
    made = Ragged(score=np.float64, id=np.int64)
    made.grow(len(lists))
    start = np.cumsum([0, *map(len, lists)])
    flat = [value for one in lists for value in one]
    made.replace(start, score=np.array(flat, np.float64), id=np.arange(len(flat)))
    return made


def plain(lists: Ragged) -> list[list[float]]:
    return [lists["score"][lists.part(p)].tolist() for p in range(len(lists.start) - 1)]


@given(LISTS)
def test_lists_of_records(lists: list[list[int]]) -> None:
    made = ragged(lists)
    assert plain(made) == lists
    assert made.lengths.tolist() == [len(one) for one in lists]
    assert made.partition().tolist() == [p for p, one in enumerate(lists) for _ in one]
    kept = np.random.default_rng(len(lists)).permutation(len(lists))[: len(lists) // 2 + 1]
    made.keep(kept)
    assert plain(made) == [lists[p] for p in kept]
    made.filter(made["score"] < 5)
    assert plain(made) == [[v for v in lists[p] if v < 5] for p in kept]
    made.grow(1)
    assert plain(made)[-1] == []
    made.require_sound("lists", len(kept) + 1)
    restored = ragged([])
    restored.restore(made.state())
    assert plain(restored) == plain(made)
    made.clear()
    assert len(made) == 0 and not made.lengths.any()


def test_lists_that_do_not_make_up_the_arrays_are_refused() -> None:
    for start in ([0, 2, 1, 3], [0, 1, 2, 4], [1, 1, 2, 3]):
        lists = ragged([[1], [2], [3]])
        lists.start = np.array(start)
        with pytest.raises(StateError, match="lists"):
            lists.require_sound("lists", 3)
    with pytest.raises(StateError, match="lists"):
        ragged([[1], [2]]).require_sound("lists", 3)


def test_arrays_with_an_entry_for_each_partition() -> None:
    arrays = PerPartition(count=0, row=np.zeros(2))
    arrays.grow(2)
    arrays.grow(1, count=5)
    arrays["row"][1] = [3.0, 4.0]
    assert len(arrays) == 3 and arrays["count"].tolist() == [0, 0, 5]
    arrays.keep(np.array([2, 1]))
    assert arrays["count"].tolist() == [5, 0]
    assert arrays["row"].tolist() == [[0, 0], [3, 4]]
    arrays.widen("row", 9)
    arrays.grow(1)
    assert arrays["row"].tolist() == [[0, 0, 9], [3, 4, 9], [0, 0, 9]]
    arrays.reset("count")
    assert arrays["count"].tolist() == [0, 0, 0]
    arrays.reset("count", 7)
    arrays["count"][0] = 1
    assert arrays["count"].tolist() == [1, 7, 7], "every partition has an entry of its own"
    arrays.require_sound("arrays", 3)
    with pytest.raises(StateError, match="arrays"):
        arrays.require_sound("arrays", 2)
    arrays["row"] = np.zeros((3, 2))
    with pytest.raises(StateError, match=r"arrays.row has rows of another length"):
        arrays.require_sound("arrays", 3)


def test_a_restored_array_is_a_copy() -> None:
    saved = PerPartition(count=0)
    saved.grow(2)
    restored = PerPartition(count=0)
    restored.restore(saved.state())
    restored["count"][0] = 3
    assert saved["count"].tolist() == [0, 0]


@given(st.permutations(range(6)), st.integers(0, 6))
def test_renumbering(order: list[int], kept: int) -> None:
    numbers = renumbering(np.array(order[:kept], np.int64), 6)
    assert [numbers[p] for p in order[:kept]] == list(range(kept))
    assert all(numbers[p] == -1 for p in order[kept:])
