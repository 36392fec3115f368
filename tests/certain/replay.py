"""Random streams through every operator, checked against NAIVE; also run as a program, to see that
the kernels give the same as plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crestline.certain import (
    CPM,
    RA,
    RAPF,
    RARF,
    RASF,
    SA,
    SAPF,
    SARF,
    SASF,
    SMA,
    SNN,
    TMA,
    MinTopK,
    Naive,
    PreTopK,
)  # fmt: skip
from crestline.core.batch import Batch
from crestline.core.state import pack, unpack
from hostile import spiked

ARRIVALS = (SA, RA, SASF, SARF, SAPF, RASF, RARF, RAPF, SNN, CPM)
OPERATORS = (MinTopK, PreTopK, SMA, TMA, *ARRIVALS)
Rows = list[tuple[int, int, list[int], list[float]]]


@dataclass
class Stream:
    """A random stream, a random window and a random way to cut the stream into batches."""

    k: int
    window: int | None
    slide: int | None
    scores: Any
    times: Any
    partitions: Any
    cuts: list[int]

    @classmethod
    def random(cls, rng: np.random.Generator) -> Stream:
        n = int(rng.integers(1, 60))
        timed = rng.random() < 0.6
        window = int(rng.integers(1, 20)) if rng.random() < 0.85 else None
        slide = int(rng.integers(1, 12)) if rng.random() < 0.8 or not timed else None
        times = np.sort(rng.integers(-30, 60, n)) * (1 if rng.random() < 0.7 else 10)
        parts = int(rng.integers(1, 4))
        return cls(
            k=int(rng.integers(1, 6)),
            window=window,
            slide=slide,
            scores=spiked(rng, rng.integers(0, 8, n).astype(np.float64)),
            times=times if timed else None,
            partitions=rng.integers(0, parts, n) if parts > 1 else None,
            cuts=[0, *sorted(rng.integers(0, n + 1, 2).tolist()), n],
        )

    @classmethod
    def long(cls, rng: np.random.Generator) -> Stream:
        """Many records for a short window and a small k, in large batches: what long batches are
        spared has to be right too."""
        n = int(rng.integers(100, 700))
        timed = rng.random() < 0.4
        scores = rng.integers(0, int(rng.choice([5, 50, 10_000])), n).astype(np.float64)
        shape = rng.integers(4)
        if shape == 1:
            scores += np.arange(n) * rng.choice([-1.0, 1.0]) * rng.choice([0.1, 10.0])
        elif shape == 2:
            scores += 20 * np.sin(np.arange(n) / rng.integers(2, 40))
        scores = spiked(rng, scores)
        parts = int(rng.integers(1, 3))
        return cls(
            k=int(rng.integers(1, 5)),
            window=int(rng.integers(5, 120)),
            slide=None if timed else 1,
            scores=scores,
            times=np.sort(rng.integers(0, 2 * n, n)) if timed else None,
            partitions=rng.integers(0, parts, n) if parts > 1 else None,
            cuts=[0, *sorted(rng.integers(0, n + 1, int(rng.integers(0, 3))).tolist()), n],
        )

    def supports(self, operator: type) -> bool:
        if operator is PreTopK:
            return self.window is not None and self.slide is not None
        if operator in (SNN, CPM) or operator not in ARRIVALS:
            return True
        return self.window is not None and self.slide == (1 if self.times is None else None)

    def through(self, operator: type, *, check: bool = True, only_changes: bool = False) -> Rows:
        """All snapshots; the operator is checked, saved and restored after every batch."""
        run = operator(self.k, self.window, self.slide, only_changes=only_changes)
        rows: Rows = []
        for start, stop in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            part = slice(start, stop)
            times = None if self.times is None else self.times[part]
            partitions = None if self.partitions is None else self.partitions[part]
            run.observe(Batch(self.scores[part], times, partitions))
            for reported in run.advance_gradually(self._until(stop)):
                rows += [(p, e, ids.tolist(), s.tolist()) for p, e, ids, s in reported]
            if check:
                run._check()
            run = operator.from_state(unpack(pack(run.state())))
        return rows

    def _until(self, stop: int) -> int | None:
        if self.times is None:
            return None
        if stop == len(self.times):
            return int(self.times[-1]) + (self.slide or 0) + 5
        return int(self.times[stop]) - (1 if self.slide is None else 0)


def replay(seed: int, streams: int) -> list[Rows]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(streams):
        stream = Stream.random(rng)
        for operator in (*OPERATORS, Naive):
            if stream.supports(operator):
                found.append(stream.through(operator, check=False))
    return found
