"""Several queries that share one list: each is told what it would be told alone, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from crestline.core.specs import Executions, QuerySpec
from crestline.kernels.uncertain.closing import PT_K
from crestline.uncertain import SCSQBuffer, executions
from crestline.uncertain import shared as module
from crestline.uncertain.shared import SharedWorlds
from uncertain.shared_replay import (
    Drive,
    Rhythm,
    alone,
    check,
    kind_of,
    random_stream,
    weighed,
    windows,
)
from uncertain.streams import CHANCES, QUESTIONS, Rng, Stream, parameter


def one(seed: int, every: int = 7, most: int = 60) -> Drive:
    rng = np.random.default_rng([seed, 0])
    stream = random_stream(rng, most)
    drive = Drive(stream, seed, restless=seed % 3 > 0).run()
    check(drive, every)
    return drive


def thinned(seed: int, every: int = 37) -> None:
    """Questions with compact sets that are much smaller than the window: most of it is dropped."""
    rng = np.random.default_rng([seed, 2])
    n = int(rng.integers(60, 260))
    spread = int(rng.choice([n // 4, n, 3 * n]))
    chances = str(rng.choice(["any", "tenths", "almost certain", "certain", "halves"]))
    stream = Stream(
        question="PK_TOPK",
        k=1,
        window=None,
        slide=None,
        scores=rng.integers(0, int(rng.choice([3, 40, 1000])), n).astype(np.float64),
        probability=CHANCES[chances](rng, n),
        rule=np.full(n, -1),
        group=rng.integers(0, 30, n),
        cuts=[0, *sorted(rng.integers(0, n + 1, int(rng.integers(0, 8))).tolist()), n],
        times=np.sort(rng.integers(0, spread, n)),
        ties=rng.permutation(n),
    )
    questions = ("PK_TOPK", "PT_K", "U_KRANKS", "U_TOPK", "PRF")
    if rng.random() < 0.4:
        stream, questions = stream.exclusive(rng, 0.4), questions[:3]
    drive = Drive(stream, seed, questions=questions)
    drive.operator._thin_at_least = 0
    check(drive.run(), every)


@pytest.mark.parametrize("block", range(6))
def test_every_ask_is_told_what_it_would_be_told_alone(block: int) -> None:
    for seed in range(20 * block, 20 * (block + 1)):
        one(seed)


@pytest.mark.parametrize("block", range(5))
def test_nothing_is_dropped_that_matters(block: int) -> None:
    for seed in range(10 * block, 10 * (block + 1)):
        thinned(seed)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(20))
def test_nothing_is_dropped_that_matters_at_length(block: int) -> None:
    for seed in range(50 * (block + 1), 50 * (block + 2)):
        thinned(seed)


@pytest.mark.stress
@pytest.mark.parametrize("block", range(20))
def test_every_ask_is_told_what_it_would_be_told_alone_at_length(block: int) -> None:
    for seed in range(100 * (block + 2), 100 * (block + 3)):
        one(seed)


def long_stream(rng: Rng, n: int, share: float) -> Stream:
    stream = Stream(
        question="PK_TOPK",
        k=1,
        window=None,
        slide=None,
        scores=rng.integers(0, 500, n).astype(np.float64),
        probability=1 - rng.random(n),
        rule=np.full(n, -1),
        group=rng.integers(0, 40, n),
        cuts=[0, n],
        times=np.sort(rng.integers(0, 4 * n, n)),
        ties=rng.permutation(n),
    )
    return stream.exclusive(rng, share) if share else stream


def doubt_of(stream: Stream, places: Any = slice(None)) -> Uncertainty:
    return Uncertainty(stream.probability[places], stream.rule[places], stream.group[places])


@pytest.mark.parametrize(
    ("share", "most", "width"), [(0.0, 1.0, 600), (0.4, 1.0, 600), (0.4, 0.02, 3_000)]
)
def test_the_same_as_by_the_operator_of_one_query(share: float, most: float, width: int) -> None:
    """RANGE w SLIDE s: snapshot by snapshot, to the last bit; also where rules promise too much,
    and where it takes very many records to close."""
    rng = np.random.default_rng(5)
    n = 900
    stream = long_stream(rng, n, share)
    stream.probability[:] *= most
    if share:  # some rules promise too much
        stream.probability[rng.integers(0, n, 20)] = 0.99
    asks = [
        QuerySpec(k, width, slide, semantics="PK_TOPK" if q == "SUM" else q, summed=q == "SUM",
            threshold=parameter(q, 0.3))
        for q in QUESTIONS
        for k, slide in ((2, width // 20), (9, width // 10), (5, width // 20))
    ]  # fmt: skip
    agenda = Rhythm(3, {number: ask.slide or 0 for number, ask in enumerate(asks)})
    shared = SharedWorlds(asks, agenda, exclusive=share > 0)
    shared._thin_at_least = 16
    end = int(stream.times.max()) + 2 * width
    together: dict[int, list[Any]] = {number: [] for number in range(len(asks))}
    for start in range(0, n, 300):
        some = slice(start, start + 300)
        shared.observe(
            Batch(stream.scores[some], stream.times[some], uncertainty=doubt_of(stream, some))
        )
        shared.set_ties(stream.ties)
        to = end if start + 300 >= n else int(stream.times[start + 300])
        reported = shared.advance(to)
        assert reported.query is not None and reported.probability is not None
        for i, (_, moment, ids, _) in enumerate(reported):
            chances = reported.probability[reported.offset[i] : reported.offset[i + 1]]
            together[int(reported.query[i])].append((moment, ids.tolist(), chances.tolist()))
    overfull = 0
    for number, ask in enumerate(asks):
        own = SCSQBuffer(
            ask.k, width, ask.slide, semantics=ask.semantics or "", threshold=ask.threshold,
            summed=ask.summed, exclusive=share > 0,
        )  # fmt: skip
        own.observe(Batch(stream.scores, stream.times, uncertainty=doubt_of(stream)))
        own.set_ties(stream.ties)
        reported = own.advance(end)
        assert reported.probability is not None
        told = [
            (moment, ids.tolist(), reported.probability[lo:hi].tolist())
            for (_, moment, ids, _), lo, hi in zip(
                reported, reported.offset[:-1], reported.offset[1:], strict=True
            )
        ]
        assert together[number] == told, ask
        for moment, _, _ in told:
            overfull += sum(alone(stream, ask, w)[1] for _, w in windows(stream, ask, moment))
    assert shared.overfull == overfull
    assert (overfull > 0) == (share > 0)


def test_an_ask_that_comes_later_is_told_what_a_fresh_operator_tells() -> None:
    rng = np.random.default_rng(8)
    stream = long_stream(rng, 400, 0.3)
    width, since = 300, int(stream.times[199]) + 1
    old = QuerySpec(4, width, None, semantics="PK_TOPK")
    late = QuerySpec(6, width, None, since=since, semantics="PT_K", threshold=0.2)
    agenda = Rhythm(1, {0: 25})
    shared = SharedWorlds([old], agenda, exclusive=True)
    shared._thin_at_least = 8
    first, rest = stream.times < since, stream.times >= since
    shared.observe(
        Batch(stream.scores[first], stream.times[first], uncertainty=doubt_of(stream, first))
    )
    shared.advance(since)
    assert shared.add(late) == 1
    agenda.periods[1] = 20
    shared.observe(
        Batch(stream.scores[rest], stream.times[rest], uncertainty=doubt_of(stream, rest))
    )
    end = int(stream.times.max()) + 2 * width
    told = shared.advance(end)
    fresh = SharedWorlds([late], Rhythm(2, {0: 20}), exclusive=True)
    numbers = int(first.sum())
    fresh.observe(
        Batch(stream.scores[rest], stream.times[rest], None, numbers, doubt_of(stream, rest))
    )
    alone = fresh.advance(end)
    mine = [(end, ids.tolist()) for (_, end, ids, _), a in zip(told, told.query, strict=True) if a]  # type: ignore[arg-type]
    assert mine == [(end, ids.tolist()) for _, end, ids, _ in alone]
    shared.remove(0)
    assert shared.candidates == fresh.candidates == 0
    assert list(shared.specs) == [1]


def asks_of(*questions: tuple[str, int], width: int | None) -> list[QuerySpec]:
    return [
        QuerySpec(k, width, None, semantics=q, threshold=parameter(q, 0.3)) for q, k in questions
    ]


@pytest.mark.parametrize("width", [50_000, None])
def test_little_is_kept(width: int | None) -> None:
    rng = np.random.default_rng(0)
    n, batch = 200_000, 10_000
    asks = asks_of(("PK_TOPK", 5), ("PK_TOPK", 20), ("PT_K", 10), ("U_KRANKS", 7), width=width)
    shared = SharedWorlds(asks, Rhythm(0, dict.fromkeys(range(4), 1_000)))
    scores, chance = rng.random(n), 1 - rng.random(n)
    none = np.full(batch, -1)
    kept = []
    for start in range(0, n, batch):
        some = slice(start, start + batch)
        doubt = Uncertainty(chance[some], none, none)
        shared.observe(Batch(scores[some], np.arange(start, start + batch), uncertainty=doubt))
        assert shared.crowded
        shared.prune()
        assert shared.candidates < 4_000
        shared.advance(start + batch)
        kept.append(shared.candidates)
    assert max(kept) < (2_000 if width else 300)


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize(
    "questions",
    [
        [("PK_TOPK", 3), ("PK_TOPK", 10), ("PT_K", 5), ("U_KRANKS", 10)],
        [("PK_TOPK", 10), ("PK_TOPK", 9), ("PK_TOPK", 2)],
        [("U_KRANKS", 9), ("U_KRANKS", 4), ("PT_K", 2)],
    ],
)
def test_one_walk_serves_them_all(questions: list[tuple[str, int]], share: float) -> None:
    """It goes exactly as far as the ask goes alone that goes farthest."""
    stream = replace(long_stream(np.random.default_rng(2), 2_000, share), times=np.arange(2_000))
    asks = asks_of(*questions, width=500)

    class Together(Rhythm):
        def due(self, after: int, until: int, latest: int | None = None) -> Executions:
            at = np.array(self.moments(0, after, until, latest), np.int64)
            count = len(self.periods)
            offset = count * np.arange(len(at) + 1)
            return Executions(at, offset, np.tile(np.arange(count), len(at)))

    agenda = Together(0, dict.fromkeys(range(len(asks)), 50))
    shared = SharedWorlds(asks, agenda, exclusive=share > 0)
    shared.observe(Batch(stream.scores, stream.times, uncertainty=doubt_of(stream)))
    shared.set_ties(stream.ties)
    shared.advance(2_000)
    assert shared.shared_walks == 40
    farthest, each = 0, 0
    for end in range(50, 2_001, 50):
        for _, window in windows(stream, asks[0], end):
            columns = [a[window] for a in (stream.probability, stream.rule, stream.group)]
            depths = [
                weighed(kind_of(stream, ask), ask.k, ask.threshold or 0.0, *columns)[0]
                for ask in asks
            ]
            depths = [len(window) if depth < 0 else depth for depth in depths]
            farthest += max(depths)
            each += sum(depth * ask.k for depth, ask in zip(depths, asks, strict=True))
    most = max(ask.k for ask in asks)
    assert shared.work == farthest * most < 0.8 * each


def test_a_gap_costs_nothing() -> None:
    asks = asks_of(("PK_TOPK", 1), ("EXPECTED_RANK", 1), width=10)
    asks.append(QuerySpec(1, 10, None, semantics="U_TOPK", only_changes=True))
    agenda = Rhythm(0, {0: 1, 1: 7, 2: 3})
    shared = SharedWorlds(asks, agenda)
    shared.observe(Batch(np.ones(2), np.array([0, 10**12])))
    told = shared.advance(10**12 + 100)
    ends = {
        number: told.end[told.query == number].tolist()  # type: ignore[comparison-overlap]
        for number in range(3)
    }
    assert ends[0] == [*range(1, 11), *range(10**12 + 1, 10**12 + 11)]
    assert ends[2][:4] == [3, 6, 9, 12] and len(ends[2]) == 8
    assert np.diff(told.offset)[told.query == 2].tolist() == [1, 1, 1, 0, 1, 1, 1, 0]
    assert agenda.asked_for < 1_000


def test_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    stream = long_stream(rng, 300, 0.0)
    asks = asks_of(("PK_TOPK", 3), ("PT_K", 5), width=200)

    def fresh() -> SharedWorlds:
        shared = SharedWorlds(asks, Rhythm(6, {0: 10, 1: 15}))
        shared.observe(Batch(stream.scores, stream.times, uncertainty=doubt_of(stream)))
        return shared

    whole = fresh().advance(2_000)
    for reporting in (module, executions):
        monkeypatch.setattr(reporting, "PORTION", 50)
    portions = list(fresh().advance_gradually(2_000))
    assert len(portions) > 20
    assert max(len(p.id) for p in portions) < 150
    again = fresh().advance(2_000)
    assert whole.end.tolist() == again.end.tolist()
    assert whole.id.tolist() == again.id.tolist()
    assert whole.query.tolist() == again.query.tolist()  # type: ignore[union-attr]
    assert whole.probability.tolist() == again.probability.tolist()  # type: ignore[union-attr]
    assert sum(len(p) for p in portions) == len(whole)


def test_the_end_of_a_bounded_stream() -> None:
    shared = SharedWorlds(asks_of(("PK_TOPK", 1), width=100), Rhythm(0, {0: 10}))
    shared.observe(Batch(np.ones(3), np.array([1, 5, 12])))
    assert shared.advance(1_000, latest=12).end.tolist() == [10, 20]
    assert shared.top().tolist() == [2]


def test_late_records_are_refused() -> None:
    shared = SharedWorlds(asks_of(("PK_TOPK", 1), width=100), Rhythm(0, {0: 10}))
    shared.observe(Batch(np.ones(1), np.array([5])))
    shared.advance(27)
    shared.observe(Batch(np.ones(1), np.array([20])))  # 20 was reported: it does not see this one
    with pytest.raises(CrestlineError, match="a record at 19 came after"):
        shared.observe(Batch(np.ones(1), np.array([19])))
    assert shared.advance(30).id.tolist() == [1]
    # Where there was nothing to tell, time has passed all the same.
    shared.advance(5_003)
    shared.observe(Batch(np.ones(1), np.array([5_000])))
    with pytest.raises(CrestlineError, match="a record at 4999 came after"):
        shared.observe(Batch(np.ones(1), np.array([4_999])))


def test_what_does_not_fit_is_refused() -> None:
    ask = asks_of(("PK_TOPK", 2), width=10)[0]
    shared = SharedWorlds([ask], Rhythm(0, {0: 1}))
    with pytest.raises(CrestlineError, match="same width: 11 is not 10"):
        shared.add(replace(ask, width=11))
    with pytest.raises(CrestlineError, match="k must be at least 1"):
        shared.add(replace(ask, k=0))
    with pytest.raises(CrestlineError, match="says with semantics"):
        shared.add(replace(ask, semantics=None))
    with pytest.raises(CrestlineError, match="give times"):
        shared.observe(np.ones(1))
    with pytest.raises(CrestlineError, match="the time to advance to"):
        shared.advance()
    with pytest.raises(CrestlineError, match="there is no query 1"):
        shared.remove(1)
    exclusive = Uncertainty(np.array([0.5]), np.array([3]), np.array([0]))
    shared.observe(Batch(np.ones(1), np.array([7]), uncertainty=exclusive))
    with pytest.raises(CrestlineError, match="sees records later than 7, not since 7"):
        shared.add(replace(ask, since=7))
    shared.add(replace(ask, since=8, semantics="U_TOPK"))
    with pytest.raises(CrestlineError, match="U_TOPK keeps more"):
        shared.observe(Batch(np.ones(1), np.array([9]), uncertainty=exclusive))


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_values_do_not_depend_on_what_ranks_behind(share: float) -> None:
    """To the last bit, also with rules."""
    rng = np.random.default_rng(7)
    for n in (1, 2, 9, 33, 70, 150):
        stream = long_stream(rng, n, share)
        threshold, k = 0.0, int(rng.integers(1, 12))  # which never closes
        whole = np.empty(n)
        columns = stream.probability, stream.rule, stream.group
        for m in range(n, 0, -1 if n < 40 else -13):
            found, _, value, _, _ = weighed(PT_K, k, threshold, *(column[:m] for column in columns))
            assert found == -1
            if m == n:
                whole = value
            assert value.tolist() == whole[:m].tolist()
