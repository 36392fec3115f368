"""Random uncertain streams through every operator, judged from whole windows; also run as a
program, to see that the kernels give the same as plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

from crestline import planner
from crestline.core.batch import Batch, Uncertainty
from crestline.core.snapshots import Snapshots
from crestline.core.state import pack, unpack
from uncertain.streams import QUESTIONS, Cell, Judged, Rows, Stream


def operators() -> dict[str, Any]:
    """Every class of the catalogue's family, by name."""
    return {
        a.name: a.operator
        for a in planner.algorithms()
        if a.family == "uncertain" and a.operator is not None
    }


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


NAMES = list(operators())

each_operator = pytest.mark.parametrize("name", NAMES)

each_question = pytest.mark.parametrize("question", QUESTIONS)


@cache
def small(question: str, seed: int) -> Stream:
    """Shared by all operators, and so is what the judge has found out about it."""
    return Stream.random(np.random.default_rng([seed, QUESTIONS.index(question)]), question)


@cache
def long(question: str, seed: int) -> Stream:
    return Stream.long(np.random.default_rng([seed, QUESTIONS.index(question), 1]), question)
