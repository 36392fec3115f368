"""Shared operators driven over random streams, and what each of their queries should report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crestline.core.batch import Batch, Uncertainty
from crestline.core.specs import LONG_AGO, Executions, QuerySpec
from crestline.core.state import pack, unpack
from crestline.kernels.uncertain import worlds as kernels
from crestline.uncertain.semantics import meaning_of
from crestline.uncertain.shared import SharedWorlds
from hostile import spiked
from uncertain.objections import objection
from uncertain.streams import CHANCES, QUESTIONS, Rng, Rows, Stream, any_parameter
from uncertain.worlds import ByFormulas, Record, best_first

Told = dict[tuple[int, int, int], Rows]  # ask, end, partition: arrival numbers with probabilities


@dataclass
class Rhythm:
    """An agenda: an ask is due at every multiple of its period (from its start on); those that are
    due at the same moment are answered together or not, as chance has it."""

    seed: int = 0
    periods: dict[int, int] = field(default_factory=dict)
    start: dict[int, int] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)
    asked_for: int = 0  # moments, in all

    def moments(self, ask: int, after: int, until: int, latest: int | None = None) -> range:
        period = self.periods[ask]
        after = max(after, self.start.get(ask, LONG_AGO))
        if latest is not None:
            until = min(until, (latest // period + 1) * period)
        return range((after // period + 1) * period, until + 1, period)

    def due(self, after: int, until: int, latest: int | None = None) -> Executions:
        by_moment: dict[int, list[int]] = {}
        for ask in self.periods.keys() - self.silent:
            for moment in self.moments(ask, after, until, latest):
                by_moment.setdefault(moment, []).append(ask)
        at, asks, offset = [], [], [0]
        for moment in sorted(by_moment):
            rng = np.random.default_rng([self.seed, moment % 1000])
            due = rng.permutation(by_moment[moment])
            cut = int(rng.integers(len(due) + 1)) if rng.random() < 0.4 else len(due)
            for some in (due[:cut], due[cut:]):
                if len(some):
                    at.append(moment)
                    asks += some.tolist()
                    offset.append(len(asks))
        self.asked_for += len(at)
        return Executions(*(np.array(a, np.int64) for a in (at, offset, asks)))


def random_ask(
    rng: Rng, width: int | None, since: int = LONG_AGO, questions: tuple[str, ...] = QUESTIONS
) -> QuerySpec:
    question = str(rng.choice(questions))
    return QuerySpec(
        int(rng.choice([1, 2, 2, 3, 4, 7, 20] if questions is QUESTIONS else [1, 2, 3, 5])),
        width,
        None,
        only_changes=bool(rng.random() < 0.3),
        since=since,
        semantics="PK_TOPK" if question == "SUM" else question,
        threshold=any_parameter(rng, question),
        summed=question == "SUM",
    )


def random_stream(rng: Rng, most: int) -> Stream:
    n = int(rng.integers(1, most))
    chances = CHANCES[str(rng.choice(list(CHANCES)))]
    times = np.sort(rng.integers(-20, 40 if rng.random() < 0.7 else 200, n))
    if rng.random() < 0.2:
        times = times * int(rng.choice([10, 1000]))
    stream = Stream(
        question="PK_TOPK",
        k=1,
        window=None,
        slide=None,
        scores=spiked(rng, rng.integers(0, int(rng.choice([2, 8, 1000])), n).astype(np.float64)),
        probability=chances(rng, n),
        rule=np.full(n, -1),
        group=rng.integers(0, int(rng.choice([1, 3, 20])), n),
        cuts=[0, *sorted(rng.integers(0, n + 1, int(rng.integers(0, 8))).tolist()), n],
        times=times,
        partitions=rng.integers(0, 3, n) if rng.random() < 0.4 else None,
        ties=rng.permutation(n) if rng.random() < 0.5 else None,
    )
    return stream.exclusive(rng, float(rng.choice([0.3, 0.9]))) if rng.random() < 0.5 else stream


def ranked(stream: Stream, places: Any) -> Any:
    """Arrival numbers, best first."""
    ties = np.array([stream.tie_of(i) for i in places.tolist()])
    return places[np.lexsort((-ties, -stream.scores[places]))]


def weighed(
    kind: int, k: int, threshold: float, chance: Any, rule: Any, group: Any
) -> tuple[int, int, Any, Any, Any]:
    """What the kernel says, from Python."""
    n = len(chance)
    value, best, place = np.empty(n), np.empty(n), np.empty(n, np.int64)
    found, overfull = kernels._weigh_at(
        kernels.WEIGH.address(), kind, k, threshold, chance, rule, group, value, best, place
    )
    return found, overfull, value, best, place


def kind_of(stream: Stream, ask: QuerySpec) -> int:
    meaning = meaning_of(ask.semantics or "", ask.threshold, ask.summed)
    return meaning.kind_for(bool((stream.rule >= 0).any()))


def alone(stream: Stream, ask: QuerySpec, window: Any) -> tuple[Rows, int]:
    """What the same query gives by itself, from the whole window (best first), and whether a rule
    promises too much."""
    kind = kind_of(stream, ask)
    n, threshold = len(window), ask.threshold or 0.0
    chance, rule, group = (a[window] for a in (stream.probability, stream.rule, stream.group))
    found, overfull, value, best, place = weighed(kind, ask.k, threshold, chance, rule, group)
    chosen, weight = np.empty(n, np.int64), np.empty(n)
    count = n if found < 0 else found
    number = kernels._pick(kind, ask.k, threshold, count, group, value, best, place, chosen, weight)
    return [(int(window[chosen[j]]), float(weight[j])) for j in range(number)], overfull


def objection_to(stream: Stream, ask: QuerySpec, window: Any, rows: Rows) -> str | None:
    records = [
        Record(
            id=i,
            score=float(stream.scores[i]),
            tie=stream.tie_of(i),
            probability=float(stream.probability[i]),
            rule=None if stream.rule[i] < 0 else int(stream.rule[i]),
            group=int(stream.group[i]),
        )
        for i in window.tolist()
    ]
    judge = ByFormulas(best_first(records), ask.k)
    how: dict[str, Any] = {"threshold": ask.threshold, "summed": ask.summed}
    return objection(rows, judge, ask.semantics or "", **how)


def windows(stream: Stream, ask: QuerySpec, end: int) -> Iterator[tuple[int, Any]]:
    """By partition: who is in the window that ends there, best first."""
    low = ask.since if ask.width is None else max(end - ask.width, ask.since)
    for p in np.unique(stream.parts).tolist():
        inside = (stream.parts == p) & (stream.times >= low) & (stream.times < end)
        yield p, ranked(stream, np.flatnonzero(inside))


class Drive:
    """One shared operator over one stream, with asks that come and go, and all that a driver does
    between batches."""

    def __init__(
        self,
        stream: Stream,
        seed: int,
        restless: bool = True,
        questions: tuple[str, ...] = QUESTIONS,
    ) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.stream, self.restless, self.questions = stream, restless, questions
        rng = self.rng
        widest = int(rng.choice([3, 16, 60]))
        span = int(np.ptp(stream.times)) + 1 if len(stream) else 1
        scale = max(1, span // 200)  # where there are gaps, windows may be small in them
        scale = int(rng.choice([1, scale]))
        self.scale = scale
        self.width = None if rng.random() < 0.12 else scale * int(rng.integers(1, widest))
        self.agenda = Rhythm(seed)
        count = int(rng.integers(1, 7))
        asks = [random_ask(rng, self.width, questions=questions) for _ in range(count)]
        self.asks: dict[int, QuerySpec] = {}
        self.life: dict[int, list[int]] = {}  # told after the first of these and up to the last
        self.exclusive = bool((stream.rule >= 0).any())
        self.operator = SharedWorlds(asks, self.agenda, exclusive=self.exclusive)
        self.operator._thin_at_least = int(rng.choice([0, 4, 256]))
        for number, ask in enumerate(asks):
            self.begin(number, ask, LONG_AGO)
        self.known = np.empty(0, np.int64)
        self.codes = np.arange(int(stream.rule.max(initial=-1)) + 1)
        self.partitions: list[int] = []
        self.told: Told = {}
        self.largest = 0

    def begin(self, number: int, ask: QuerySpec, after: int) -> None:
        self.asks[number] = ask
        self.agenda.periods[number] = self.scale * int(self.rng.integers(1, 14))
        if after > LONG_AGO:
            self.agenda.start[number] = after
        self.life[number] = [after, 1 << 60]

    def run(self) -> Drive:
        stream = self.stream
        cuts = stream.cuts if self.restless else [0, len(stream)]
        for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
            last = stop == len(stream)
            if last:
                to = int(stream.times.max()) + (self.width or 0) + 30 * self.scale
            else:
                to = int(stream.times[stop:].min())
            self.take(np.arange(start, stop), to)
            if last:
                break
            self.change(to)
        return self

    def take(self, arrivals: Any, to: int) -> None:
        rng, operator = self.rng, self.operator
        if self.restless:
            arrivals = rng.permutation(arrivals)
        self.observe(arrivals)
        ties = np.array([self.stream.tie_of(i) for i in self.known.tolist()], np.int64)
        operator.set_ties(ties)
        if self.restless and rng.random() < 0.4:
            self.recode()
        if self.restless and rng.random() < 0.5:
            operator.prune()
            self.check_known()
        if self.restless and rng.random() < 0.3 and len(arrivals):
            # A first step, to some time before.
            sooner = int(self.stream.times[arrivals].min()) + int(rng.integers(0, 3))
            self.advance(min(sooner, to))
            operator._check()
        self.advance(to)
        self.check_known()
        operator._check()
        if self.restless:
            self.disturb()

    def advance(self, to: int) -> None:
        operator = self.operator
        if self.rng.random() < 0.5:
            reports = [operator.advance(to)]
        else:
            reports = list(operator.advance_gradually(to))
        for reported in reports:
            if len(reported) == 0:
                continue
            assert reported.query is not None and reported.probability is not None
            keys = np.lexsort((reported.partition, reported.end, reported.query))
            assert keys.tolist() == list(range(len(reported)))
            for i, (partition, end, ids, scores) in enumerate(reported):
                arrivals = self.known[ids]
                assert scores.tolist() == self.stream.scores[arrivals].tolist()
                chances = reported.probability[reported.offset[i] : reported.offset[i + 1]]
                p = partition if self.stream.partitions is None else self.partitions[partition]
                cell = int(reported.query[i]), end, p
                assert cell not in self.told, f"{cell} is told twice"
                self.told[cell] = list(zip(arrivals.tolist(), chances.tolist(), strict=True))

    def observe(self, arrivals: Any) -> None:
        stream = self.stream
        rule = stream.rule[arrivals]
        doubt = Uncertainty(
            stream.probability[arrivals],
            np.where(rule < 0, -1, self.codes[rule]) if len(self.codes) else rule,
            stream.group[arrivals],
        )
        partitions = None
        if stream.partitions is not None:
            for p in stream.partitions[arrivals].tolist():
                if p not in self.partitions:
                    self.partitions.append(p)
            numbers = [self.partitions.index(p) for p in stream.partitions[arrivals].tolist()]
            partitions = np.array(numbers, np.int64)
        times = stream.times[arrivals]
        first = len(self.known)
        places = self.operator.observe(
            Batch(stream.scores[arrivals], times, partitions, first, doubt)
        )
        self.known = np.concatenate((self.known, arrivals[places]))

    def check_known(self) -> None:
        ids = self.operator.ids()
        self.largest = max(self.largest, len(ids))
        assert len(ids) == self.operator.candidates == len(np.unique(ids))
        assert len(ids) == 0 or (ids.min() >= 0 and ids.max() < len(self.known))

    def disturb(self) -> None:
        rng, operator = self.rng, self.operator
        if rng.random() < 0.4:
            ids = rng.permutation(operator.ids())
            places = np.full(len(self.known), -1)
            places[ids] = np.arange(len(ids))
            operator.rename(places)
            self.known = self.known[ids]
        if rng.random() < 0.4 and self.stream.partitions is not None:
            kept = rng.permutation(np.flatnonzero(operator.live_partitions()))
            operator.keep_partitions(kept)
            self.partitions = [self.partitions[p] for p in kept.tolist()]
        if rng.random() < 0.4:
            least = operator._thin_at_least
            state = unpack(pack(operator.state()))
            self.operator = SharedWorlds.from_state(state, self.agenda)
            self.operator._thin_at_least = least

    def recode(self) -> None:
        self.codes = self.rng.permutation(len(self.codes) + 3)[: len(self.codes)]
        rule = self.stream.rule[self.known]
        if len(self.codes):
            rule = np.where(rule < 0, -1, self.codes[rule])
        self.operator.set_codes(rule, self.stream.group[self.known])

    def change(self, to: int) -> None:
        """Asks come and go."""
        rng = self.rng
        if self.restless and rng.random() < 0.3 and self.operator.specs:
            number = int(rng.choice(list(self.operator.specs)))
            self.operator.remove(number)
            self.life[number][1] = to
            if rng.random() < 0.5:  # an agenda may not know that
                self.agenda.silent.add(number)
        if self.restless and rng.random() < 0.4:
            newest = self.operator._newest
            since = max(newest, to) + int(rng.integers(1, 4)) if newest > LONG_AGO else to
            ask = random_ask(rng, self.width, since, self.questions)
            self.begin(self.operator.add(ask), ask, since if rng.random() < 0.5 else to)

    # --- and what should have come ----------------------------------------------------------------

    def wanted(self) -> Iterator[tuple[tuple[int, int, int], Any]]:
        """Every snapshot that is due, with its window."""
        until = int(self.stream.times.max()) + (self.width or 0) + 30 * self.scale
        for number, ask in self.asks.items():
            after, stop = self.life[number]
            after = max(after, int(self.stream.times.min()) - 1)
            for end in self.agenda.moments(number, after, min(stop, until)):
                for p, window in windows(self.stream, ask, end):
                    yield (number, end, p), window


def check(drive: Drive, every: int) -> int:
    """All is told that should be, bit for bit; the judge looks at each ``every``-th."""
    shown: dict[tuple[int, int], bool] = {}
    wanted: dict[tuple[int, int, int], Any] = {}
    for cell, window in drive.wanted():
        ask = drive.asks[cell[0]]
        who = cell[0], cell[2]
        if len(window) == 0:
            if ask.only_changes and shown.get(who):
                wanted[cell] = window
                shown[who] = False
            continue
        wanted[cell] = window
        shown[who] = len(drive.told.get(cell, [])) > 0
    told = drive.told
    missing, extra = wanted.keys() - told.keys(), told.keys() - wanted.keys()
    assert not missing and not extra, (sorted(missing)[:5], sorted(extra)[:5], drive.asks)
    for number, (cell, window) in enumerate(wanted.items()):
        ask = drive.asks[cell[0]]
        if len(window) == 0:
            assert told[cell] == []
            continue
        expected, _ = alone(drive.stream, ask, window)
        assert told[cell] == expected, (cell, ask, told[cell], expected)
        if number % every == 0:
            fault = objection_to(drive.stream, ask, window, told[cell])
            assert fault is None, (cell, ask, fault, told[cell])
    return len(wanted)
