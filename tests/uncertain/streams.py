"""Uncertain streams drawn at random, and the questions that are asked about them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from hostile import PROBABILITIES, spiked
from uncertain.objections import objection
from uncertain.worlds import SEMANTICS, ByFormulas, Record, best_first

#: What can be asked for: every semantics, and sums over groups.
QUESTIONS = (*SEMANTICS, "SUM")

THRESHOLDS = (0.1, 0.25, 0.3, 0.5, 0.9, 1.0, 1e-9)
ALPHAS = (0.5, 0.3, 0.75, 0.99, 1e-9, 5e-324, math.nextafter(1.0, 0.0))

Rng = np.random.Generator

Cell = tuple[int, int]  # partition, end of the window

Rows = list[tuple[int, float]]  # arrival numbers with their probabilities

Judged = list[tuple[Cell, Rows]]


def any_parameter(rng: Rng, question: str) -> float | None:
    """A threshold or an alpha, where the question has one."""
    drawn = {"PT_K": THRESHOLDS, "PRF": ALPHAS}
    return float(rng.choice(drawn[question])) if question in drawn else None


def parameter(question: str, threshold: float) -> float | None:
    """This threshold for PT_K, an alpha for PRF."""
    return {"PT_K": threshold, "PRF": 0.7}.get(question)


def tenths(rng: Rng, n: int) -> Any:
    return rng.integers(1, 11, n) / 10


def eighths(rng: Rng, n: int) -> Any:
    """Few values, all exact: probabilities of different records are often equal."""
    return rng.integers(1, 9, n) / 8


def short(rng: Rng, n: int) -> Any:
    """Ten bits, so that exact numbers stay short; never 1."""
    return rng.integers(1, 1024, n) / 1024


def falling(rng: Rng, n: int) -> Any:
    return np.linspace(0.99, 0.05, n)


def doubtful(rng: Rng, n: int) -> Any:
    """Few exist at all: most windows cannot do without any of their records."""
    return rng.choice([1e-12, 2e-12, 1e-9, 3e-7, 1e-300], n)


def almost_certain(rng: Rng, n: int) -> Any:
    return rng.choice([1.0, 1.0, 1.0, 1 - 2.0**-40, 0.5], n)


def seldom_or_surely(rng: Rng, n: int) -> Any:
    """Which of several equals stands before one that is sure to exist?"""
    return rng.choice([0.125, 0.25, 0.25, 0.1, 1.0], n)


CHANCES: dict[str, Callable[[Rng, int], Any]] = {
    "any": lambda rng, n: 1 - rng.random(n),
    "tenths": tenths,
    "eighths": eighths,
    "short": short,
    "falling": falling,
    "certain": lambda rng, n: np.ones(n),
    "almost certain": almost_certain,
    "doubtful": doubtful,
    "seldom or surely": seldom_or_surely,
    "halves": lambda rng, n: np.full(n, 0.5),
    "hostile": lambda rng, n: rng.choice(PROBABILITIES, n),
}


@dataclass
class Stream:
    """A random stream, what is asked of it, and a random way to cut it into batches."""

    question: str
    k: int
    window: int | None
    slide: int | None
    scores: Any
    probability: Any
    rule: Any
    group: Any
    cuts: list[int]
    times: Any = None
    partitions: Any = None
    ties: Any = None  # None: of equal scores the later arrival ranks higher
    threshold: float | None = None
    judged: dict[Cell, ByFormulas] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def semantics(self) -> str:
        return "PK_TOPK" if self.question == "SUM" else self.question

    @property
    def summed(self) -> bool:
        return self.question == "SUM"

    @classmethod
    def random(cls, rng: Rng, question: str) -> Stream:
        """Small, and full of corners."""
        n = int(rng.integers(1, 45))
        kind = str(rng.choice(["rows", "rows in steps", "steps", "arrivals"]))
        unbounded = rng.random() < 0.12
        window: int | None = int(rng.integers(1, 16))
        slide: int | None = int(rng.integers(1, 9))
        times = None
        if kind == "rows":
            slide = 1
        elif kind != "rows in steps":
            times = np.sort(rng.integers(-20, 40, n))
            if rng.random() < 0.3:
                times *= 10  # gaps in which nothing happens
            slide = None if kind == "arrivals" else slide
        parts = int(rng.choice([1, 1, 2, 3]))
        scores = spiked(rng, rng.integers(0, int(rng.choice([2, 8, 1000])), n).astype(np.float64))
        if rng.random() < 0.2:
            scores = np.sort(scores)[::-1].copy()
        stream = cls(
            question=question,
            k=int(rng.choice([1, 2, 2, 3, 4, 20])),
            window=None if unbounded else window,
            slide=slide,
            scores=scores,
            probability=CHANCES[str(rng.choice(list(CHANCES)))](rng, n),
            rule=np.full(n, -1),
            group=rng.integers(0, int(rng.choice([1, 3, 30])), n),
            cuts=[0, *sorted(rng.integers(0, n + 1, int(rng.integers(0, 5))).tolist()), n],
            times=times,
            partitions=rng.integers(0, parts, n) if parts > 1 else None,
            ties=rng.permutation(n) if rng.random() < 0.6 else None,
            threshold=any_parameter(rng, question),
        )
        share = float(rng.choice([0.0, 0.3, 1.0]))
        return stream.exclusive(rng, share) if share else stream

    @classmethod
    def long(cls, rng: Rng, question: str) -> Stream:
        """Many records for a window that can do without most of them, in large batches."""
        n = int(rng.integers(150, 500))
        timed = rng.random() < 0.4
        window = int(rng.integers(20, 120))
        scores = rng.integers(0, int(rng.choice([5, 10_000])), n).astype(np.float64)
        shape = rng.integers(3)
        if shape:  # rising or falling over the length of the stream
            scores += np.arange(n) * (10.0 if shape == 1 else -10.0)
        scores = spiked(rng, scores)
        parts = int(rng.integers(1, 3))
        stream = cls(
            question=question,
            k=int(rng.integers(1, 6)),
            window=window,
            slide=None if timed and rng.random() < 0.5 else int(rng.choice([1, 1, 7])),
            scores=scores,
            probability=CHANCES[str(rng.choice(["short", "eighths", "tenths"]))](rng, n),
            rule=np.full(n, -1),
            group=rng.integers(0, int(rng.choice([3, 30])), n),
            cuts=[0, *sorted(rng.integers(0, n + 1, int(rng.integers(0, 4))).tolist()), n],
            times=np.sort(rng.integers(0, n, n)) if timed else None,
            partitions=rng.integers(0, parts, n) if parts > 1 else None,
            ties=rng.permutation(n) if rng.random() < 0.5 else None,
            threshold=any_parameter(rng, question),
        )
        share = float(rng.choice([0.0, 0.3]))
        return stream.exclusive(rng, share) if share else stream

    @classmethod
    def bulk(cls, rng: Rng, question: str) -> Stream:
        """Batches so long that most of their records can be passed over unseen."""
        n = int(rng.integers(300, 900))
        k = int(rng.integers(1, 3))
        scores = rng.integers(0, int(rng.choice([40, 100_000])), n).astype(np.float64)
        if rng.random() < 0.3:
            scores += 50 * np.sin(np.arange(n) / rng.integers(5, 60))
        scores = spiked(rng, scores)
        stream = cls(
            question=question,
            k=k,
            window=int(rng.integers(64 * k, 100 * k)),
            slide=1,
            scores=scores,
            probability=CHANCES[str(rng.choice(["short", "eighths", "tenths", "certain"]))](rng, n),
            rule=np.full(n, -1),
            group=rng.integers(0, 8, n),
            cuts=[0, *sorted(rng.integers(0, n + 1, int(rng.integers(0, 2))).tolist()), n],
            ties=rng.permutation(n) if rng.random() < 0.5 else None,
            threshold=any_parameter(rng, question),
        )
        share = float(rng.choice([0.0, 0.0, 0.3]))
        return stream.exclusive(rng, share) if share else stream

    def exclusive(self, rng: Rng, share: float) -> Stream:
        """The same with rules for a share of the records; each rule holds no more than 1, and often
        exactly that. Partitions use the same numbers, which mean different rules there."""
        probability, rule = self.probability.copy(), self.rule.copy()
        together = int(rng.choice([1, 2, 5]))  # rules that are open at the same time
        full: dict[int, int] = {}
        left: dict[tuple[int, int], Fraction] = {}
        for i in np.flatnonzero(rng.random(len(self)) < share).tolist():
            partition = 0 if self.partitions is None else int(self.partitions[i])
            slot = int(rng.integers(together))
            chosen = slot + together * full.get(slot, 0)
            room = left.setdefault((partition, chosen), Fraction(1))
            if Fraction(probability[i]) > room:
                full[slot] = full.get(slot, 0) + 1  # the next one opens a new rule
                if room == 0 or float(room) > room or float(room) < 1e-3:
                    continue
                probability[i] = float(room)  # this one closes it
            left[partition, chosen] = room - Fraction(probability[i])
            rule[i] = chosen
        return replace(self, probability=probability, rule=rule, judged={})

    def in_one_batch(self) -> Stream:
        return replace(self, cuts=[0, len(self)])

    # --- what is due ------------------------------------------------------------------------------

    @property
    def on_arrival(self) -> bool:
        return self.slide is None

    def until(self, stop: int) -> int | None:
        """How far time has come when this many records are in."""
        if self.times is None:
            return None
        if stop == len(self):
            return int(self.times.max(initial=0)) + (self.slide or 0) + 5
        return int(self.times[stop:].min()) - (1 if self.on_arrival else 0)

    @cached_property
    def positions(self) -> Any:
        """Times, or what takes their place: numbers within the partition."""
        if self.times is not None:
            return self.times
        positions, counts = np.zeros(len(self), np.int64), {}
        for i, p in enumerate(self.parts.tolist()):
            positions[i] = counts.get(p, 0)
            counts[p] = positions[i] + 1
        return positions

    @cached_property
    def parts(self) -> Any:
        return np.zeros(len(self), np.int64) if self.partitions is None else self.partitions

    def bounds(self, end: int) -> tuple[int, int]:
        """The half-open range of positions in the window that ends there."""
        shift = 1 if self.on_arrival else 0
        low = -(10**18) if self.window is None else end - self.window
        return low + shift, end + shift

    def due(self) -> dict[Cell, Any]:
        """Every window that is due and holds anything, with the places of its records."""
        found: dict[Cell, Any] = {}
        for p in np.unique(self.parts).tolist():
            mine = np.flatnonzero(self.parts == p)
            at = self.positions[mine]
            last = len(mine) if self.times is None else self.until(len(self))
            if self.slide is None:
                ends: Any = np.unique(at).tolist()
            else:
                first = (int(at.min()) // self.slide + 1) * self.slide
                ends = range(first, last + 1, self.slide)
            for end in ends:
                low, high = self.bounds(end)
                inside = mine[(at >= low) & (at < high)]
                if len(inside):
                    found[p, end] = inside
        return found

    @cached_property
    def windows(self) -> dict[Cell, Any]:
        return self.due()

    def tie_of(self, arrival: int) -> int:
        return arrival if self.ties is None else int(self.ties[arrival])

    def judge(self, cell: Cell) -> ByFormulas:
        """What is true of a window; worked out once, whoever asks."""
        if cell not in self.judged:
            records = [
                Record(
                    id=i,
                    score=float(self.scores[i]),
                    tie=self.tie_of(i),
                    probability=float(self.probability[i]),
                    rule=None if self.rule[i] < 0 else int(self.rule[i]),
                    group=int(self.group[i]),
                )
                for i in self.windows[cell].tolist()
            ]
            self.judged[cell] = ByFormulas(best_first(records), self.k)
        return self.judged[cell]

    def object_to(self, cell: Cell, rows: Rows) -> str | None:
        """What is wrong with a snapshot."""
        return objection(
            rows,
            self.judge(cell),
            self.semantics,
            threshold=self.threshold,
            summed=self.summed,
        )
