"""Segments of compact sets, and how a buffer becomes segments."""

from __future__ import annotations

import numpy as np

from crestline.kernels.uncertain.emptying import FULL, IN_SEGMENTS, LEAST, empty_buffer
from crestline.kernels.uncertain.lists import RecordList, no_records, oldest
from crestline.kernels.uncertain.segments import (
    NEWEST,
    SEGMENTS,
    H,
    SegmentQueue,
    adapt,
    append,
    expire,
    join_small,
    needed,
    update,
)
from crestline.types import Ints
from kernels.uncertain.windows import ids, query_of, records_of


def no_segments() -> tuple[SegmentQueue, Ints]:
    queue = SegmentQueue(no_records(), np.zeros(8, np.int64), np.zeros(8, np.int64))
    return queue, np.zeros(12, np.int64)


def listed(queue: SegmentQueue, meta: Ints) -> list[tuple[list[int], list[int]]]:
    """The ids of each segment's set and extras."""
    found = []
    for s in range(meta[SEGMENTS]):
        start, stop = queue.bounds[s : s + 2].tolist()
        all_ids = ids(queue.records)[start:stop]
        found.append((all_ids[: queue.sizes[s]], all_ids[queue.sizes[s] :]))
    return found


def two_segments() -> tuple[SegmentQueue, Ints]:
    """Sets of one record each: 0 with the extra 1, which leave at 5 and 4; then 2, at 9."""
    queue, meta = no_segments()
    source = records_of([9.0, 9.5, 5.0], [1.0, 0.5, 1.0], [5, 4, 9])
    queue = append(queue, meta, source, 0, 1, 1)
    return append(queue, meta, source, 2, 1, 0), meta


def test_segments_are_appended_and_expire() -> None:
    queue, meta = two_segments()
    assert listed(queue, meta) == [([0], [1]), ([2], [])]
    expire(queue, meta, 4)
    assert listed(queue, meta) == [([0], []), ([2], [])]
    expire(queue, meta, 5)
    assert listed(queue, meta) == [([2], [])]
    expire(queue, meta, 9)
    assert listed(queue, meta) == []


def test_equal_sets_are_one_segment() -> None:
    queue, meta = two_segments()
    source = records_of([5.0, 6.0], [1.0, 0.5], [9, 8], ids=[2, 3])
    assert listed(append(queue, meta, source, 0, 1, 1), meta) == [([0], [1]), ([2], [3])]


def test_newer_records_change_the_sets_that_they_reach() -> None:
    queue, meta = two_segments()
    newer = records_of([7.0], [1.0], [12], ids=[3])
    queue = update(query_of(1), queue, meta, newer, 0, 1)
    assert listed(queue, meta) == [([0], [1]), ([3], [])]
    queue = update(query_of(1), queue, meta, records_of([1.0], ids=[4]), 0, 1)
    assert listed(queue, meta) == [([0], [1]), ([3], [])]


def test_small_neighbours_join() -> None:
    queue, meta = two_segments()
    join_small(queue, meta)
    assert meta[SEGMENTS] == 2  # H is 0
    meta[H] = 2
    join_small(queue, meta)
    assert listed(queue, meta) == [([2], [1, 0])]
    assert ids(needed(queue, no_records()), 3) == [1, 0, 2]


def test_h_follows_the_largest_set() -> None:
    queue, meta = two_segments()
    for before, after in ((0, 1), (1, 1), (2, 1), (5, 1)):
        meta[H] = before
        adapt(queue, meta)
        assert meta[H] == after


def buffered(scores: list[float], chances: list[float]) -> tuple[RecordList, SegmentQueue, Ints]:
    """A full buffer: records leave one after the other."""
    queue, meta = no_segments()
    meta[NEWEST] = len(scores)
    return records_of(scores, chances, np.arange(10, 10 + len(scores))), queue, meta


def test_a_buffer_becomes_segments() -> None:
    """Every certain record closes for k = 1, so every suffix has a compact set of one record."""
    buffer, queue, meta = buffered([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0], [1.0] * 9)
    queue = empty_buffer(query_of(1), buffer, queue, meta)
    sets = listed(queue, meta)
    assert sets[0][0] == [0] or 0 in sets[0][1]
    firsts = [oldest(queue.records, queue.bounds[s], queue.sizes[s]) for s in range(len(sets))]
    assert firsts == sorted(set(firsts))
    assert meta[NEWEST] == meta[IN_SEGMENTS]
    assert meta[FULL] >= meta[NEWEST] + LEAST


def test_a_buffer_that_does_not_close_waits_for_more() -> None:
    buffer, queue, meta = buffered([3.0, 2.0, 1.0], [0.1, 0.1, 0.1])
    queue = empty_buffer(query_of(3), buffer, queue, meta)
    assert meta[SEGMENTS] == 0
    assert (meta[NEWEST], meta[FULL]) == (3, LEAST)
