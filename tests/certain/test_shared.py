"""The band that queries share: equal to NAIVE for each of them, and no larger than it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crestline.certain import MinTopK, Naive
from crestline.certain.shared import SharedTopK
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.snapshots import Snapshots
from crestline.core.specs import QuerySpec
from crestline.core.state import pack, unpack
from hostile import spiked

Cell = tuple[int, int, list[int]]


def cells(reported: Snapshots) -> dict[int, list[Cell]]:
    """Snapshots by ask, as ends, partitions and ids."""
    found: dict[int, list[Cell]] = {}
    asks = np.zeros(len(reported), np.int64) if reported.query is None else reported.query
    for ask, (partition, end, ids, _) in zip(asks.tolist(), reported, strict=True):
        found.setdefault(ask, []).append((end, partition, ids.tolist()))
    return found


def random_asks(rng: np.random.Generator, kind: str) -> list[QuerySpec]:
    unit = int(rng.integers(1, 4))
    found = []
    for _ in range(int(rng.integers(1, 6))):
        width = None if rng.random() < 0.1 and kind != "arrivals" else int(rng.integers(1, 14))
        slide = None if kind == "arrivals" else int(rng.integers(1, 8)) * unit
        wide = None if width is None else width * unit
        found.append(QuerySpec(int(rng.integers(1, 7)), wide, slide))
    return found


@pytest.mark.parametrize("kind", ["time", "rows", "arrivals"])
@pytest.mark.parametrize("seed", range(40))
def test_every_ask_is_answered_as_naive_would(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    asks, count = random_asks(rng, kind), int(rng.integers(1, 90))
    scores = spiked(rng, rng.integers(0, int(rng.integers(2, 30)), count).astype(np.float64))
    times: Any = None
    if kind != "rows":
        times = np.cumsum(rng.integers(0, 4, count)) + int(rng.integers(-20, 20))
        times[count // 2 :] += int(rng.integers(0, 2)) * 150  # a gap
    partitions = rng.integers(0, 3, count) if rng.random() < 0.6 else None
    shared: SharedTopK = SharedTopK(asks)
    alone = [Naive(ask.k, ask.width, ask.slide) for ask in asks]
    got: dict[int, list[Cell]] = {}
    wanted: dict[int, list[Cell]] = {}

    def note(into: dict[int, list[Cell]], reported: Snapshots, ask: int | None = None) -> None:
        for number, told in cells(reported).items():
            into.setdefault(number if ask is None else ask, []).extend(told)

    edges = [0, *sorted(rng.integers(0, count + 1, 3).tolist()), count]
    for start, stop in zip(edges, edges[1:], strict=False):
        part = slice(start, stop)
        places = rng.permutation(stop - start) if times is not None else np.arange(stop - start)
        some = None if times is None else times[part][places]
        divided = None if partitions is None else partitions[part][places]
        for operator in (shared, *alone):
            operator.observe(Batch(scores[part][places], some, divided))
        to = None
        if times is not None and stop:
            to = int(times[stop - 1]) - 1 if kind == "arrivals" else int(times[stop - 1])
            if stop < count and kind == "arrivals":
                to = min(to, int(times[stop]) - 1)
        if times is None or stop:
            for reported in shared.advance_gradually(to):
                note(got, reported)
            for number, operator in enumerate(alone):
                note(wanted, operator.advance(to), number)
        shared._check()
        shared = SharedTopK.from_state(unpack(pack(shared.state())))
    if times is not None:
        latest = int(times[-1])
        for reported in shared.finish(latest):
            note(got, reported)
        for number, (ask, operator) in enumerate(zip(asks, alone, strict=True)):
            end = latest if ask.slide is None else (latest // ask.slide + 1) * ask.slide
            note(wanted, operator.advance(end), number)
    for number in range(len(asks)):
        assert sorted(got.get(number, [])) == sorted(wanted.get(number, [])), (number, asks)


def test_changes_are_told_where_something_changed_and_where_all_is_gone() -> None:
    asks = [QuerySpec(1, 10, 1, only_changes=True), QuerySpec(1, 100, 1, only_changes=True)]
    operator = SharedTopK(asks)
    operator.observe(Batch(np.array([5.0, 3.0]), np.array([0, 4])))
    told = cells(operator.advance(200))
    assert told[0] == [(1, 0, [0]), (11, 0, [1]), (15, 0, [])]
    assert told[1] == [(1, 0, [0]), (101, 0, [1]), (105, 0, [])]
    assert operator.candidates == 0
    assert operator.top(number=1).tolist() == [] and operator.top(partition=9).tolist() == []
    operator.observe(Batch(np.array([7.0]), np.array([300])))
    operator.advance(301)
    assert operator.top(number=0).tolist() == operator.top(number=1).tolist() == [2]


@pytest.mark.parametrize(
    "asks",
    [
        [
            QuerySpec(100, 10_000, 100),
            QuerySpec(10, 40_000, 100),
            QuerySpec(100, 500, 100),
            QuerySpec(50, 20_000, 20_000),
        ],
        [QuerySpec(100, 500, 100), QuerySpec(2, 40_000, 100)],
        [QuerySpec(20, 9_000, 70), QuerySpec(30, 6_000, 100)],
    ],
)
def test_what_is_kept_is_what_the_queries_need_together(asks: list[QuerySpec]) -> None:
    """The union of what each keeps: far less than the skyband of the largest k over the longest
    window, where long windows have a small k."""
    rng = np.random.default_rng(1)
    scores, times = rng.random(60_000), np.arange(60_000)
    shared = SharedTopK(asks)
    alone = [MinTopK(ask.k, ask.width, ask.slide) for ask in asks]
    for operator in (shared, *alone):
        operator.observe(Batch(scores, times))
        operator.advance(59_900)
    kept: set[int] = set().union(*(operator.ids().tolist() for operator in alone))
    assert shared.candidates <= 1.25 * len(kept) + 32


def test_asks_join_and_leave() -> None:
    rng = np.random.default_rng(2)
    scores, times = rng.integers(0, 20, 200).astype(np.float64), np.sort(rng.integers(0, 300, 200))
    half = int(np.searchsorted(times, 150))
    shared = SharedTopK([QuerySpec(3, 60, 20), QuerySpec(2, 30, 10)])
    shared.observe(Batch(scores[:half], times[:half]))
    shared.advance(int(times[half - 1]))
    begin = (int(times[half - 1]) // 5 + 1) * 5
    number = shared.add(QuerySpec(4, 45, 15, since=begin))
    shared.remove(1)
    shared = SharedTopK.from_state(unpack(pack(shared.state())))
    shared.observe(Batch(scores[half:], times[half:]))
    told: dict[int, list[Cell]] = {}
    for reported in shared.finish(int(times[-1])):
        told |= cells(reported)
    assert set(told) == {0, number}
    # Panes became shorter; what was there before still counts for the one that stayed.
    stayed = Naive(3, 60, 20)
    stayed.observe(Batch(scores, times))
    every = cells(stayed.advance((int(times[-1]) // 20 + 1) * 20))[0]
    assert told[0] == [cell for cell in every if cell[0] > times[half - 1]]
    fresh = Naive(4, 45, 15)
    later = np.flatnonzero(times >= begin)
    fresh.observe(Batch(scores[later], times[later]))
    wanted = cells(fresh.advance((int(times[-1]) // 15 + 1) * 15))[0]
    assert told[number] == [(end, p, [later[0] + i for i in ids]) for end, p, ids in wanted]


def test_who_cannot_join() -> None:
    counted = SharedTopK([QuerySpec(1, 10, 5)])
    counted.observe(np.array([1.0]))
    with pytest.raises(CrestlineError, match="only windows on time"):
        counted.add(QuerySpec(1, 10, 5))
    timed = SharedTopK([QuerySpec(1, 10, 5)])
    timed.observe(Batch(np.array([1.0]), np.array([7])))
    timed.advance(10)
    with pytest.raises(CrestlineError, match="have been reported"):
        timed.add(QuerySpec(1, 10, 5, since=10))
    with pytest.raises(CrestlineError, match="the last query"):
        timed.remove(0)
    with pytest.raises(CrestlineError, match="share with queries at every arrival only"):
        SharedTopK([QuerySpec(1, 10, 5), QuerySpec(1, 10, None)])
