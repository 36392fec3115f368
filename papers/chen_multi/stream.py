"""The streams and the sets of queries of section 10.1.

Windows reach back ``WIDTH`` seconds, and n records arrive in that time, one after the other: the
paper says how many records a window holds, not how fast they come. Synthetic: scores and
probabilities uniform. Icebergs: those of `papers.jin2008.stream` (drawn at random with replacement,
real ones where they are at hand), and of two records that follow one another and whose
probabilities add up to 1 at most, half are made a generation rule. Seismic: the series of the real
recording, the probability of each sample 1/w; without the file there is no such stream. A sample is
scored by how far it is from the mean of its series, as series differ in their zero.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from papers.jin2008 import stream as icebergs

from crestline.core.batch import Uncertainty
from crestline.sharing import Demand
from crestline.types import Floats, Ints

_SEISMIC = "seismic_montserrat_volcano_19970130.parquet"
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
#: Seconds that a window reaches back, and the engine's units of time in a second.
WIDTH, SECOND = 100, 1_000_000


@dataclass(frozen=True, slots=True)
class Stream:
    """Records in the order of arrival; ``group`` is the stream of a record, where there are several
    (``groups`` of them)."""

    score: Floats
    probability: Floats
    rule: Ints
    group: Ints
    groups: int = 0

    @property
    def exclusive(self) -> bool:
        return bool((self.rule >= 0).any())

    def doubt(self, places: slice) -> Uncertainty:
        return Uncertainty(self.probability[places], self.rule[places], self.group[places])

    def ranked(self, start: int, count: int) -> tuple[Floats, Ints, Ints]:
        """Probabilities, rules and groups of a window's records, best first."""
        order = start + np.argsort(-self.score[start : start + count], kind="stable")
        return self.probability[order], self.rule[order], self.group[order]


def synthetic(count: int, seed: int = 1) -> Stream:
    rng = np.random.default_rng(seed)
    return _alone(rng.random(count), 1.0 - rng.random(count))


def sightings(count: int, seed: int = 1) -> Stream:
    """Icebergs, with generation rules."""
    drawn = icebergs.stream("icebergs", count, seed)
    rng = np.random.default_rng(seed + 1)
    rule, at = np.full(count, -1), 0
    wanted = rng.random(count) < 0.5
    while at < count - 1:
        pair = wanted[at] and drawn.probability[at] + drawn.probability[at + 1] <= 1
        if pair:
            rule[at] = rule[at + 1] = at
        at += 2 if pair else 1
    return _alone(drawn.score, drawn.probability, rule)


def several(streams: int, count: int, seed: int = 1) -> Stream:
    """So many synthetic streams, one record of each in turn; ``count`` records in all."""
    rng = np.random.default_rng(seed)
    group = np.arange(count) % streams
    return Stream(rng.random(count), 1.0 - rng.random(count), np.full(count, -1), group, streams)


def seismic(streams: int, window: int, count: int) -> Stream | None:
    """So many series, one sample of each in turn, the probability being 1 / window; None without
    the recording."""
    series = _series()
    if series is None:
        return None
    samples = -(-count // streams)
    if samples > series.shape[1]:
        raise ValueError(f"the recording has {series.shape[1]} samples of a series, not {samples}")
    score = series[:streams, :samples].T.ravel()[:count]
    group = np.arange(count) % streams
    return Stream(score, np.full(count, 1 / window), np.full(count, -1), group, streams)


@cache
def _series() -> Floats | None:
    """A row for each series: how far its samples are from their mean."""
    named = os.environ.get("CRESTLINE_DATA")
    path = (Path(named) if named else _BESIDE) / _SEISMIC
    if not path.is_file():
        return None
    table = pq.read_table(path)
    names = zip(table.column("station").to_pylist(), table.column("channel").to_pylist(),
                strict=True)  # fmt: skip
    _, number = np.unique([f"{station} {channel}" for station, channel in names],
                          return_inverse=True)  # fmt: skip
    counts = table.column("counts").to_numpy().astype(np.float64)
    # From station to station first, so that few streams are not those of a few stations.
    rows = np.array([counts[number == each] for each in range(number.max() + 1)])
    spread = np.argsort(np.arange(len(rows)) * 5 % len(rows), kind="stable")
    rows = rows[spread]
    away: Floats = np.abs(rows - rows.mean(axis=1, keepdims=True))
    return away


# -- queries --------------------------------------------------------------------------------------


def demands(kind: str, count: int, ks: tuple[int, int], seed: int) -> list[Demand]:
    """A set of queries. ``kind``: how the frequency (in seconds) and k are distributed, each u
    (uniform: 1 to 40, and ``ks``) or g (normal: 40 and 5, 100 and 10; at least 1)."""
    rng = np.random.default_rng([seed, count])
    frequency = (
        rng.integers(1, 41, count) if kind[0] == "u" else _at_least_1(rng.normal(40, 5, count))
    )
    k = (
        rng.integers(ks[0], ks[1] + 1, count)
        if kind[1] == "u"
        else _at_least_1(rng.normal(100, 10, count))
    )
    pairs = zip(frequency.tolist(), k.tolist(), strict=True)
    return [Demand(f"q{i}", f, k) for i, (f, k) in enumerate(pairs, 1)]


def _at_least_1(drawn: Floats) -> Ints:
    return np.maximum(1, np.rint(drawn)).astype(np.int64)


def _alone(score: Floats, probability: Floats, rule: Ints | None = None) -> Stream:
    none = np.full(len(score), -1)
    return Stream(
        score, probability, none if rule is None else rule, np.zeros(len(score), np.int64)
    )
