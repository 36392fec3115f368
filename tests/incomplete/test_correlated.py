"""What CORRELATED keeps, in bytes and for several partitions, and its forms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crestline.core.batch import Batch, Observations
from crestline.core.errors import CrestlineError
from crestline.core.state import pack, unpack
from crestline.incomplete import EAA, SLA, Combination, Correlated
from crestline.incomplete.sample import MOST

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.held import held_bytes  # noqa: E402
from papers.haghani2009 import approximation  # noqa: E402
from papers.haghani2009.stream import Stream, synthetic  # noqa: E402


def combination(streams: int, **options: Any) -> Combination:
    return Combination("SUM", streams, 0.0, 1.0, **options)


def followed(op: Any, records: Stream, every: int) -> list[tuple[set[int], int, int]]:
    """After so many records each: the answer, the bytes held, the instances."""
    found = []
    for start in range(0, len(records), every):
        piece = slice(start, start + every)
        op.observe(Batch(records.value[piece], observations=records.sighting(piece)))
        told = op.advance()
        answer = set(records.object[told.id[told.offset[-2] :]].tolist())
        found.append((answer, held_bytes(op), op.instances))
    return found


@pytest.mark.parametrize(("streams", "k"), [(3, 10), (4, 10), (6, 10), (3, 20)])
def test_less_than_half_of_the_bytes_of_eaa_at_the_papers_settings(streams: int, k: int) -> None:
    window = 1_000
    records = synthetic(12 * window, streams, 0.5)
    told: dict[Any, list[tuple[set[int], int, int]]] = {}
    for kind in (SLA, EAA, Correlated):
        once = combination(streams, once=True)
        op = kind(k, window, 1, combination=once, trusting=kind is not SLA)
        told[kind] = followed(op, records, window // 2)[4:]
    held = {kind: np.mean([bytes for _, bytes, _ in rows]) for kind, rows in told.items()}
    assert held[Correlated] < held[EAA] / 2
    pairs = zip(told[SLA], told[Correlated], strict=True)
    assert np.mean([len(a[0] & b[0]) / k for a, b in pairs]) > 0.9


@pytest.mark.parametrize("streams", [2, 4])
def test_printed_keeps_what_section_4_keeps(streams: int) -> None:
    window, k = 500, 10
    records = synthetic(8 * window, streams, 0.5)
    places = np.arange(2 * window, 8 * window + 1, window)
    right = approximation.followed(records, k, window, places)
    op = Correlated(
        k, window, 1, combination=combination(streams, once=True), trusting=True, printed=True
    )
    mine = followed(op, records, window)[1:]
    items, printed = (np.mean([row[2] for row in rows]) for rows in (mine, right))
    assert 0.85 * printed < items < 1.2 * printed
    assert op._sketched[0].sketches.size > 0


def test_options_that_contradict_each_other() -> None:
    for options in ({"hope": 2.0}, {"exact_counts": True}):
        with pytest.raises(CrestlineError, match="leave"):
            Correlated(1, 5, 1, combination=combination(2), printed=True, **options)  # type: ignore[arg-type]


def test_an_object_that_returns_is_expected_to() -> None:
    """Each object comes on its stream again and again, so that sums of repeats grow."""
    rng = np.random.default_rng(3)
    count, window, k = 12_000, 400, 5
    objects = np.arange(count) // 40 * 10 + rng.integers(0, 10, count)
    streams, values = objects % 2, rng.random(count)
    several = combination(2, repeats="SUM", at_most=20)
    told = {}
    for name, kind, options in (
        ("SLA", SLA, {}), ("plain", Correlated, {}), ("printed", Correlated, {"printed": True}),
    ):  # fmt: skip
        op = kind(k, window, 10, combination=several, **options)
        op.observe(Batch(values, observations=Observations.of(objects, streams)))
        told[name] = [set(objects[ids].tolist()) for _, _, ids, _ in op.advance()]
        if name != "SLA":
            expectation = op._expectation(0)
            assert expectation.times == pytest.approx([4.9, 4.9], rel=0.35)  # 1 + 39 / 10
    for name in ("plain", "printed"):
        shares = [len(a & b) / k for a, b in zip(told["SLA"][50:], told[name][50:], strict=True)]
        assert np.mean(shares) > 0.9, name


@pytest.mark.parametrize("options", [{}, {"printed": True}, {"exact_counts": True}])
def test_a_restored_operator_goes_on_alike(options: dict[str, Any]) -> None:
    records = synthetic(4_000, 3, 0.5)
    first, second = records.sighting(slice(0, 2_500)), records.sighting(slice(2_500, 4_000))
    op = Correlated(5, 300, 10, combination=combination(3), **options)
    op.observe(Batch(records.value[:2_500], observations=first))
    op.advance()
    again = Correlated.from_state(unpack(pack(op.state())))
    told = []
    for each in (op, again):
        each.observe(Batch(records.value[2_500:], observations=second))
        told.append([(ids.tolist(), scores.tolist()) for _, _, ids, scores in each.advance()])
        each._check()
        assert 0 < len(each._sample.observations) <= (MOST if not each.exact_counts else 300)
    same = np.mean([a == b for a, b in zip(*told, strict=True)])
    assert same > 0.95  # expectations are computed at other moments


def test_partitions_share_one_sample() -> None:
    """It is no larger for many of them, forgets those that go, and still tells what is missed."""
    records, partitions = synthetic(40_000, 3, 0.5), 8
    partition = records.object % partitions
    op = Correlated(5, 400, 10, combination=combination(3))
    cut = 30_000
    observation = records.sighting(slice(0, cut))
    op.observe(Batch(records.value[:cut], None, partition[:cut], observations=observation))
    op.advance()
    assert 0 < len(op._sample.observations) <= MOST
    assert len(np.unique(op._sample.observations.owner)) > partitions // 2
    told = op.notes()["expected_precision"]
    assert told is not None and 0.7 < told <= 1
    kept = np.array([5, 2])
    before = {p: (op._sample.observations.owner == p).sum() for p in (5, 2)}
    op.keep_partitions(kept)
    assert [(op._sample.observations.owner == p).sum() for p in (0, 1)] == list(before.values())
    rest = np.flatnonzero(np.isin(partition, kept) & (np.arange(len(partition)) >= cut))
    numbers = np.where(partition[rest] == 5, 0, 1)
    observation = Observations.of(records.object[rest], records.stream[rest])
    op.observe(Batch(records.value[rest], None, numbers, observations=observation))
    op.advance()
    op._check()
    again = Correlated.from_state(unpack(pack(op.state())))
    again._check()


def test_the_sample_grows_again_when_little_comes() -> None:
    """A rush of objects makes it one in many. In the calm after it there are more again."""
    rng = np.random.default_rng(1)
    times = np.concatenate((np.arange(20_000) // 40, 500 + np.arange(0, 6_000, 2)))
    objects = np.arange(len(times))
    streams, values = rng.integers(0, 2, len(times)), rng.random(len(times))
    op = Correlated(3, 100, 5, combination=combination(2))
    levels = []
    for start in range(0, len(times), 500):
        piece = slice(start, start + 500)
        observation = Observations.of(objects[piece], streams[piece])
        op.observe(Batch(values[piece], times[piece], observations=observation))
        op.advance(int(times[piece][-1]) // 5 * 5)
        levels.append(op._sample.level)
        assert len(op._sample.observations) <= MOST
    assert max(levels) >= 5
    assert levels[-1] < max(levels) - 2
