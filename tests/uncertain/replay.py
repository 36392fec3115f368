"""Random uncertain streams through every operator, judged from whole windows; also run as a
program, to see that the kernels give the same as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from crestline import planner
from crestline.core.batch import Batch, Uncertainty
from crestline.core.snapshots import Snapshots
from crestline.core.state import pack, unpack
from hostile import PROBABILITIES, spiked
from uncertain.worlds import SEMANTICS, ByFormulas, Record, best_first, objection

#: What can be asked for: every semantics, and sums over groups.
QUESTIONS = (*SEMANTICS, "SUM")
THRESHOLDS = (0.1, 0.25, 0.3, 0.5, 0.9, 1.0, 1e-9)

Rng = np.random.Generator
Cell = tuple[int, int]  # partition, end of the window
Rows = list[tuple[int, float]]  # arrival numbers with their probabilities
Judged = list[tuple[Cell, Rows]]


def operators() -> dict[str, Any]:
    """Every class of the catalogue's family, by name."""
    return {
        a.name: a.operator
        for a in planner.algorithms()
        if a.family == "uncertain" and a.operator is not None
    }


# --- what may come --------------------------------------------------------------------------------


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
            threshold=float(rng.choice(THRESHOLDS)) if question == "PT_K" else None,
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
            threshold=float(rng.choice(THRESHOLDS)) if question == "PT_K" else None,
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
            threshold=float(rng.choice(THRESHOLDS)) if question == "PT_K" else None,
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


# --- through an operator --------------------------------------------------------------------------


@dataclass(frozen=True)
class Habits:
    """What whoever drives an operator does between batches, each with this probability."""

    prune: float = 0.0
    save: float = 0.0
    rename: float = 0.0
    recode: float = 0.0
    forget: float = 0.0  # partitions that hold nothing
    shuffle: bool = False  # a batch may come in any order where times say when


STEADY = Habits()
RESTLESS = Habits(prune=0.4, save=0.5, rename=0.5, recode=0.4, forget=0.5, shuffle=True)


class Run:
    """One operator over one stream. Ids change as the driver likes; it knows who is meant."""

    def __init__(
        self,
        stream: Stream,
        operator: Any,
        habits: Habits = STEADY,
        *,
        only_changes: bool = False,
        seed: int = 0,
        check: bool = True,
    ) -> None:
        self.stream, self.habits, self.check = stream, habits, check
        self.rng = np.random.default_rng(seed)
        self.make = operator
        self.operator = operator(
            stream.k,
            stream.window,
            stream.slide,
            only_changes=only_changes,
            semantics=stream.semantics,
            threshold=stream.threshold,
            summed=stream.summed,
            exclusive=bool((stream.rule >= 0).any()),
        )
        self.only_changes = only_changes
        self.known = np.empty(0, np.int64)  # by id: the arrival number
        self.codes = np.arange(int(stream.rule.max(initial=-1)) + 1)  # how rules are known now
        self.groups = np.arange(int(stream.group.max(initial=0)) + 1)
        self.partitions: list[int] = []  # by the number that the operator knows
        self.snapshots: Judged = []

    def all(self) -> Judged:
        cuts = self.stream.cuts
        for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
            self.take(start, stop)
        return self.snapshots

    def take(self, start: int, stop: int) -> None:
        """A batch, whatever the driver does with it, and the results it brings."""
        stream, habits, operator = self.stream, self.habits, self.operator
        arrivals = np.arange(start, stop)
        if habits.shuffle and stream.times is not None:
            arrivals = self.rng.permutation(arrivals)
        self.observe(arrivals)
        operator.set_ties(np.array([stream.tie_of(i) for i in self.known.tolist()], np.int64))
        if self.happens(habits.recode):
            self.recode()
        if operator.crowded or self.happens(habits.prune):
            operator.prune()
            self.assert_known()
        for reported in operator.advance_gradually(stream.until(stop)):
            self.snapshots += self.read(reported)
        self.assert_known()
        self.assert_small(stop)
        if self.check:
            operator._check()
        if self.happens(habits.rename):
            self.rename()
        if self.happens(habits.forget):
            self.forget()
        if self.happens(habits.save):
            self.operator = self.make.from_state(unpack(pack(operator.state())))

    def happens(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def observe(self, arrivals: Any) -> None:
        stream = self.stream
        rule = stream.rule[arrivals]
        doubt = Uncertainty(
            stream.probability[arrivals],
            np.where(rule < 0, -1, self.codes[rule]) if len(self.codes) else rule,
            self.groups[stream.group[arrivals]],
        )
        given = [
            stream.scores[arrivals],
            None if stream.times is None else stream.times[arrivals],
            None if stream.partitions is None else self.numbers(stream.partitions[arrivals]),
        ]
        before = [None if g is None else g.copy() for g in given]
        places = self.operator.observe(
            Batch(*given, number_from=len(self.known), uncertainty=doubt)
        )
        # Of a long batch, some need not even wait.
        assert (np.diff(places) > 0).all() and set(places.tolist()) <= set(range(len(arrivals)))
        for mine, same in zip(given, before, strict=True):
            assert mine is None or np.array_equal(mine, same), "the input was changed"
        assert np.array_equal(doubt.probability, stream.probability[arrivals])
        self.known = np.concatenate((self.known, arrivals[places]))

    def numbers(self, partitions: Any) -> Any:
        """Partitions as the operator knows them: small numbers, in the order of appearance."""
        for p in partitions.tolist():
            if p not in self.partitions:
                self.partitions.append(p)
        return np.array([self.partitions.index(p) for p in partitions.tolist()], np.int64)

    def read(self, reported: Snapshots) -> Iterator[tuple[Cell, Rows]]:
        """The snapshots of a report, by arrival numbers."""
        if len(reported) == 0:
            return
        assert reported.probability is not None
        assert len(reported.probability) == len(reported.id) == len(reported.score)
        order = np.lexsort((reported.partition, reported.end))
        assert order.tolist() == list(range(len(reported))), "by end, then partition"
        for i, (partition, end, ids, scores) in enumerate(reported):
            arrivals = self.known[ids]
            assert scores.tolist() == self.stream.scores[arrivals].tolist()
            chances = reported.probability[reported.offset[i] : reported.offset[i + 1]]
            if self.stream.partitions is not None:
                partition = self.partitions[partition]
            yield (partition, end), list(zip(arrivals.tolist(), chances.tolist(), strict=True))

    def assert_known(self) -> None:
        ids = self.operator.ids()
        assert len(ids) == self.operator.candidates
        assert len(np.unique(ids)) == len(ids), "nobody is kept twice"
        assert len(ids) == 0 or (ids.min() >= 0 and ids.max() < len(self.known))

    def assert_small(self, stop: int) -> None:
        """No more is kept than the latest window and what came after it hold."""
        stream, slide = self.stream, self.stream.slide or 0
        if stream.window is None:
            return
        allowed = 0
        for p in np.unique(stream.parts[:stop]).tolist():
            at = stream.positions[:stop][stream.parts[:stop] == p]
            now = len(at) if stream.times is None else stream.until(stop)
            # Without a slide, nothing is due between arrivals.
            end = now // slide * slide if slide else int(at[at <= now].max(initial=at.min()))
            low = stream.bounds(end)[0] - (slide if self.only_changes else 0)
            allowed += int((at >= low).sum())
        kept = self.operator.candidates
        assert kept <= allowed, f"{kept} records are kept of {allowed}: {stream}"

    def rename(self) -> None:
        """Forget who is not kept any more; those who are get new ids, in any order."""
        ids = self.rng.permutation(self.operator.ids())
        places = np.full(len(self.known), -1)
        places[ids] = np.arange(len(ids))
        self.operator.rename(places)
        self.known = self.known[ids]

    def forget(self) -> None:
        """Partitions that hold nothing, if the operator says which; the others get new numbers."""
        live = self.operator.live_partitions()
        if live is None or self.stream.partitions is None:
            return
        kept = self.rng.permutation(np.flatnonzero(live))
        self.operator.keep_partitions(kept)
        self.partitions = [self.partitions[p] for p in kept.tolist()]

    def recode(self) -> None:
        """Number rules and groups anew."""
        stream = self.stream
        self.codes = self.rng.permutation(len(self.codes) + 3)[: len(self.codes)]
        self.groups = self.rng.permutation(len(self.groups) + 3)[: len(self.groups)]
        rule = stream.rule[self.known]
        if len(self.codes):
            rule = np.where(rule < 0, -1, self.codes[rule])
        self.operator.set_codes(rule, self.groups[stream.group[self.known]])


def through(stream: Stream, operator: Any, habits: Habits = STEADY, **how: Any) -> Judged:
    """All snapshots of a stream, as an operator reports them."""
    return Run(stream, operator, habits, **how).all()


def assert_judged(stream: Stream, snapshots: Judged, every: int = 1) -> None:
    """Each due window is reported once, in order, and each ``every``-th is right in all its rows.

    A window in which nobody passes the threshold may be reported without rows or not at all.
    """
    reported = dict(snapshots)
    assert len(reported) == len(snapshots), "a window is reported once"
    for p in np.unique(stream.parts).tolist():
        ends = [end for (q, end), _ in snapshots if q == p]
        assert ends == sorted(ends)
    strangers = [cell for cell in reported if cell not in stream.windows]
    assert not strangers, f"{strangers} are not due or hold nothing"
    for number, cell in enumerate(stream.windows):
        if cell not in reported and stream.semantics != "PT_K":
            raise AssertionError(f"{cell} is due, but was not reported: {stream}")
        if number % every == 0:
            rows = reported.get(cell, [])
            fault = stream.object_to(cell, rows)
            assert fault is None, f"{cell}: {fault}\n{rows}\n{stream.judge(cell).records}\n{stream}"


def replay(seed: int, streams: int) -> list[Judged]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(streams):
        stream = Stream.random(rng, QUESTIONS[number % len(QUESTIONS)])
        found += [through(stream, operator, check=False) for operator in operators().values()]
    return found
