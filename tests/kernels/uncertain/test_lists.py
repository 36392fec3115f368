"""Lists of records, against sorting."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.core.sentinels import NEVER
from crestline.kernels.uncertain.lists import (
    LEAVES,
    append_by_leaving,
    holds,
    leading,
    merged,
    no_records,
    oldest,
    precedes,
    rank_order,
    ranked_copy,
    room,
    same_ids,
    stay,
    take,
)
from kernels.uncertain.windows import best_first, chosen, ids, random_records, records_of


@pytest.mark.parametrize("seed", range(5))
def test_merging_is_sorting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    both = random_records(rng, 23)
    split = rng.permutation(23)
    left, right = (best_first(chosen(both, part)) for part in (split[:9], split[9:]))
    assert ids(merged(left, 9, right, 0, 14), 23) == ids(best_first(both))
    assert ids(ranked_copy(both, 0, 23)) == ids(best_first(both))
    assert rank_order(both, 5, 5).tolist() == []
    assert ids(chosen(both, rank_order(both, 4, 20))) == ids(best_first(chosen(both, range(4, 20))))


def test_ties_go_to_the_larger_tie() -> None:
    records = records_of([1.0, 1.0, 2.0])
    assert precedes(records, 1, records, 0)
    assert not precedes(records, 0, records, 1)
    assert not precedes(records, 0, records, 0)
    assert precedes(records, 2, records, 1)


def test_leading_counts_what_ranks_before() -> None:
    records = records_of([9.0, 7.0, 5.0, 3.0])
    for score, before in ((10.0, 0), (7.5, 1), (4.0, 3), (1.0, 4)):
        assert leading(records, 0, 4, records_of([score]), 0) == before
    assert leading(records, 2, 2, records_of([4.0]), 0) == 1


def test_room_keeps_what_is_filled() -> None:
    records = records_of([3.0, 2.0, 1.0])
    assert np.shares_memory(room(records, 3, 3).floats, records.floats)
    larger = room(records, 2, 4)
    assert larger.floats.shape[1] >= 4
    assert ids(larger, 2) == [0, 1]


def test_staying_and_leaving() -> None:
    records = records_of([5.0, 4.0, 3.0, 2.0, 1.0], leaves=[3, 9, 3, 7, 8])
    assert oldest(records, 0, 5) == 3
    assert oldest(records, 3, 2) == 7
    assert oldest(records, 3, 0) == NEVER
    assert stay(records, 1, 4, 7) == 2
    assert ids(records, 3) == [0, 1, 4]


def test_arrivals_are_appended_in_the_order_in_which_they_leave() -> None:
    arrivals = records_of([9.0, 8.0, 7.0, 6.0, 5.0], leaves=[1, 6, 5, 6, 5])
    target = room(no_records(), 0, 5)
    append_by_leaving(target, 0, arrivals, 1, 5)
    assert ids(target, 4) == [2, 4, 1, 3]
    assert target.ints[LEAVES, :4].tolist() == [5, 5, 6, 6]


def test_same_and_held() -> None:
    left, right = records_of([3.0, 2.0, 1.0]), records_of([2.0, 1.0], ids=[1, 2])
    assert same_ids(left, 1, right, 0, 2)
    assert not same_ids(left, 0, right, 0, 2)
    assert holds(left, 1, 3, 2)
    assert not holds(left, 1, 3, 0)


def test_take() -> None:
    chance, rule, group = np.array([0.1, 0.2, 0.3]), np.array([4, 5, 6]), np.array([7, 8, 9])
    taken = take(chance, rule, group, np.array([2, 0]))
    assert [column.tolist() for column in taken] == [[0.3, 0.1], [6, 4], [9, 7]]
