"""Several queries over one window of an uncertain stream: one list, one array, many answers.

The queries (*asks*) have windows of time of the same width, but each its own k, meaning and moments
at which it is answered. At a moment t the window of an ask holds the records with
t - width <= time < t; of an ask that was added while the stream ran, only those of its time.
Which asks are answered together is the agenda's to say (``core.specs``): they are answered by one
walk (``kernels.uncertain.specs``), as Chen et al. propose for PT-k.

**Why one list is enough.** Let C_a(A) be the compact set of A for the ask a: the shortest prefix
of A, in rank order, that closes for it (``uncertain.meaning``); and U(A) the longest of them, or
all of A if one of them does not close. C_a(A + B) lies within C_a(A) + C_a(B) for every ask
(``uncertain.synopsis``), so U(A + B) lies within U(A) + U(B): it is the compact set of some ask,
and U(A) and U(B) hold what this ask needs of either; and where one does not close with A + B, it
does with neither. Any longer prefix is as good. A prefix that closes still does when records are
added, so what ranks behind U(A) is in no compact set of any set that holds A.

**What is kept.** For each partition the records that began to be seen, in rank order. Whoever sees
a record also sees all newer ones that are in the list already, now and later. So a record that
ranks behind U of these can never be needed. It would be costly to work that out for each record;
instead it is done for the newest k records, twice as many, four times as many and so on: what is
older than those and ranks behind their U goes. Of the records that are newer than one, half at
least have a say, so that it stays about twice as probably as it has to: O(k log(n / k)) records of
n stay where scores come in random order. This is done whenever the list has doubled since the last
time.
Where an ask has no compact set (EXPECTED_RANK, U_TOPK with rules), the whole window is kept.

Records wait until a moment comes that sees them. Those that wait for the same moment are a unit;
``prune`` thins it in the same way, when ties are known. For that, an agenda must stand by the
moments up to the latest record's time: queries that are added change those after it.

**Cost** of an execution over records of which d are in U: O(d k) for the largest k (with rules, see
``kernels.uncertain.worlds``), O(d) for each ask, and O(list) to find those that are seen.

**Invariants** H1: the list is in rank order. H2: it holds nothing that is gone. H3: nothing waits
that a moment has passed. H4: no NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots, gathered
from crestline.core.specs import Agenda, Executions, QuerySpec
from crestline.kernels.uncertain.compact import (
    CHANCE,
    FLOATS,
    GROUP,
    ID,
    INTS,
    LEAVES,
    RULE,
    SCORE,
    TIE,
    List,
    Told,
    stay,
)
from crestline.kernels.uncertain.shared_worlds import (
    COUNT,
    MARK,
    OVERFULL,
    THINNED,
    WALKS,
    WORK,
    Asked,
    Due,
    Shape,
    needed,
    run_shared,
)
from crestline.kernels.uncertain.specs import ANSWER_ASKS
from crestline.kernels.uncertain.worlds import PICK, WEIGH
from crestline.operators.waiting import rank_order
from crestline.types import Bools, Floats, Ints
from crestline.uncertain.meaning import Meaning
from crestline.uncertain.part import no_records, nothing_told
from crestline.uncertain.semantics import meaning_of

#: How far a window reaches that nothing leaves.
_FOR_EVER = 1 << 61
#: Waiting records are pruned again when they have doubled, but not below this number.
_PRUNE_AT_LEAST = 4096
#: Lists are not thinned below this number.
_THIN_AT_LEAST = 256
#: Result rows that one portion of ``advance_gradually`` may hold, roughly.
_PORTION = 1 << 20


class SharedWorlds:
    """Continuous top-k queries over uncertain records; see ``core.operator.UncertainOperator``."""

    def __init__(
        self, asks: Sequence[QuerySpec], agenda: Agenda, *, exclusive: bool = False
    ) -> None:
        """``exclusive``: whether records may exclude one another, which U_TOPK and U_KRANKS must
        know beforehand."""
        self.agenda, self.exclusive = agenda, exclusive
        self.seen = 0
        self.overfull = 0
        #: How many times records were walked through for answers, and how many records were looked
        #: at in these walks, each times the largest k.
        self.shared_walks = self.work = 0
        self._thin_at_least = _THIN_AT_LEAST
        self._asks: list[QuerySpec] = []
        self._numbers = np.empty(0, np.int64)
        self._known = 0  # asks ever
        self._width: int | None = None
        self._to = LONG_AGO  # all that was due by then has been told
        self._handled = LONG_AGO  # the last moment at which records were looked at
        self._newest = LONG_AGO  # the latest time of a record
        self._stretch = 1  # for how long a time the agenda is asked at once
        self._wait: List = no_records()
        self._wait_partition = np.empty(0, np.int64)
        self._pruned_size = 0
        self._parts: list[_Part] = []
        self._reported = Snapshots.nothing()
        for ask in asks:
            self.add(ask)

    # -- asks ---------------------------------------------------------------------------------

    @property
    def asks(self) -> dict[int, QuerySpec]:
        """The asks that are answered, by their numbers."""
        return dict(zip(self._numbers.tolist(), self._asks, strict=True))

    def add(self, ask: QuerySpec) -> int:
        """Answer one more ask, which sees records later than all so far; returns its number."""
        if ask.k < 1:
            raise CrestlineError(f"k must be at least 1, not {ask.k}")
        if self._known and ask.width != self._width:
            raise CrestlineError(
                f"queries that share a list have windows of the same width: {ask.width} is not"
                f" {self._width}"
            )
        if ask.since <= self._newest > LONG_AGO:
            raise CrestlineError(
                f"a query that is added sees records later than {self._newest}, not since"
                f" {ask.since}"
            )
        _meaning(ask)
        self._width = ask.width
        self._asks.append(ask)
        self._numbers = np.append(self._numbers, self._known)
        self._known += 1
        for part in self._parts:
            part.shown = np.append(part.shown, 0)
        return self._known - 1

    def remove(self, number: int) -> None:
        """Forget an ask: it is not answered any more, and nothing is kept for its sake."""
        if number not in self.asks:
            raise CrestlineError(f"there is no ask {number}")
        place = int(np.searchsorted(self._numbers, number))
        del self._asks[place]
        self._numbers = np.delete(self._numbers, place)
        for part in self._parts:
            part.shown = np.delete(part.shown, place)
            part.meta[THINNED] = 0
        self._forget_gone()

    @property
    def keeps_all(self) -> bool:
        """Whether no compact set is known for one of the asks: then the whole window is kept."""
        meanings = [_meaning(ask) for ask in self._asks]
        return any(m.keeps_all or (self.exclusive and m.keeps_all_with_rules) for m in meanings)

    @property
    def _reach(self) -> int:
        """A record leaves at the first moment that comes so long after it."""
        return _FOR_EVER if self._width is None else self._width + 1

    @property
    def _shape(self) -> Shape:
        addresses = ANSWER_ASKS.address(), WEIGH.address(), PICK.address(), MARK.address()
        for_ever = self._width is None
        return self._reach, for_ever, self.keeps_all, self._thin_at_least, *addresses

    @property
    def _asked(self) -> Asked:
        meanings = [_meaning(ask) for ask in self._asks]
        kinds = [
            m.kind_with_rules if self.exclusive and m.kind_with_rules is not None else m.kind
            for m in meanings
        ]
        return (
            np.array(kinds, np.int64),
            np.array([ask.k for ask in self._asks], np.int64),
            np.array([ask.threshold or 0.0 for ask in self._asks]),
            np.array([ask.since for ask in self._asks], np.int64),
            np.array([ask.only_changes for ask in self._asks], np.int64),
        )

    @property
    def _only_changes(self) -> Bools:
        return np.array([ask.only_changes for ask in self._asks], np.bool_)

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as no moment after their time has been reported.

        All of them wait; see ``uncertain.synopsis.Synopsis.observe``.
        """
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        doubt = batch.uncertainty
        if times is None:
            raise CrestlineError("queries that share a list have windows of time: give times")
        count = len(scores)
        if count == 0:
            return np.empty(0, np.int64)
        at = np.asarray(times, np.int64)
        self._refuse_late(int(at.min()))
        if doubt is None:
            none = np.zeros(count, np.int64)
            doubt = Uncertainty(np.ones(count), none - 1, none)
        elif not self.exclusive:
            self._refuse_rules(doubt.rule)
        part = np.zeros(count, np.int64) if partitions is None else np.asarray(partitions)
        for _ in range(int(part.max()) + 1 - len(self._parts)):
            self._parts.append(_Part(len(self._asks)))
        floats, ints = np.empty((FLOATS, count)), np.empty((INTS, count), np.int64)
        floats[SCORE], floats[CHANCE] = scores, doubt.probability
        ints[RULE], ints[GROUP], ints[LEAVES] = doubt.rule, doubt.group, at + self._reach
        ints[ID] = np.arange(count) + (self.seen if number_from is None else number_from)
        ints[TIE] = ints[ID]
        self.seen += count
        self._newest = max(self._newest, int(at.max()))
        self._wait = (
            np.concatenate((self._wait[0], floats), axis=1),
            np.concatenate((self._wait[1], ints), axis=1),
        )
        self._wait_partition = np.concatenate((self._wait_partition, part))
        return np.arange(count)

    def _refuse_late(self, earliest: int) -> None:
        """Raise if a moment after this time has been reported."""
        if earliest >= self._to:
            return
        passed = earliest < self._handled
        after, stretch = earliest, 1  # where no record was, moments were passed over
        while not passed and after < self._to:
            until = min(after + stretch, self._to)
            passed = len(self.agenda.due(after, until)) > 0
            after, stretch = until, 2 * stretch
        if passed:
            raise CrestlineError(
                f"a record at {earliest} came after windows up to {self._to} had been reported"
            )

    def _refuse_rules(self, rule: Ints) -> None:
        minding = [ask.semantics for ask in self._asks if _meaning(ask).minds_rules]
        if minding and (rule >= 0).any():
            raise CrestlineError(
                f"{minding[0]} keeps more where records exclude one another: say so with"
                " exclusive=True"
            )

    @property
    def _wait_time(self) -> Ints:
        times: Ints = self._wait[1][LEAVES] - self._reach
        return times

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that ``prune`` is worth its while."""
        return len(self._wait_partition) > max(2 * self._pruned_size, _PRUNE_AT_LEAST)

    def prune(self) -> None:
        """Forget what waits and ranks behind U of the newer ones that wait for the same moment;
        ties must be known."""
        if len(self._wait_partition):
            self._keep_waiting(np.flatnonzero(self._wait[1][LEAVES] > self._gone))
        count = len(self._wait_partition)
        if count and not self.keeps_all:
            time = self._wait_time
            moments, known = self._moments(int(time.min()), int(time.max()), count)
            unit = np.searchsorted(moments, time, "right")
            # Behind what is known of the agenda, there may be a moment between any two times.
            unit = np.where(time <= known, unit, len(moments) + time - known)
            order = self._rank_order(np.arange(count), unit)
            floats, ints = _own(self._wait[0][:, order]), _own(self._wait[1][:, order])
            unit, partition = unit[order], self._wait_partition[order]
            new = (unit[1:] != unit[:-1]) | (partition[1:] != partition[:-1])
            starts = np.concatenate(([0], np.flatnonzero(new) + 1))
            kept = needed(self._shape, self._asked, floats, ints, starts)
            self._keep_waiting(np.sort(order[kept]))
        self._pruned_size = len(self._wait_partition)

    def _moments(self, after: int, until: int, records: int) -> tuple[Ints, int]:
        """The moments up to ``until``, or to some time before it if there are very many, and up to
        when they are known."""
        found: list[Ints] = []
        total, stretch = 0, 1
        while after < until and total < 2 * records + _PRUNE_AT_LEAST:
            known = min(after + stretch, until)
            found.append(self.agenda.due(after, known).at)
            total += len(found[-1])
            after, stretch = known, 2 * stretch
        return _joined(found), after

    def _keep_waiting(self, places: Ints) -> None:
        if len(places) < len(self._wait_partition):
            self._wait = self._wait[0][:, places], self._wait[1][:, places]
            self._wait_partition = self._wait_partition[places]

    def _rank_order(self, places: Ints, stage: Ints) -> Ints:
        """The places of waiting records by partition, stage and rank."""
        if len(places) < 2:
            return places
        score, tie = self._wait[0][SCORE, places], self._wait[1][TIE, places]
        return places[rank_order(self._wait_partition[places], stage, score, tie)]

    # -- answers out --------------------------------------------------------------------------

    def advance(self, to: int | None = None, latest: int | None = None) -> Snapshots:
        """Report what is due up to and including ``to``; at the end of a bounded stream ``latest``
        is the time of its last record (see ``core.specs.Agenda``)."""
        return _together(list(self.advance_gradually(to, latest)))

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """The end of a bounded stream whose last event is at ``latest``: every ask is answered up
        to its first moment after that."""
        return self.advance_gradually(self.agenda.last(latest), latest)

    def advance_gradually(
        self, to: int | None = None, latest: int | None = None
    ) -> Iterator[Snapshots]:
        """``advance``, in portions of about ``_PORTION`` result rows."""
        if to is None:
            raise CrestlineError("a window on time needs the time to advance to")
        while True:
            after = self._quiet_until()
            if after >= to:
                break
            until = min(after + self._stretch, to)
            executions = self._live(self.agenda.due(after, until, latest))
            rows = self._rows(executions)
            for portion in _portions(executions, rows):
                self._to = max(self._to, int(portion.at[-1]))
                yield self._told(portion)
            self._to = max(self._to, until)
            if 2 * rows.sum() > 3 * _PORTION:
                self._stretch = max(1, self._stretch // 2)
            elif 2 * rows.sum() < _PORTION and until - after == self._stretch < _FOR_EVER:
                self._stretch *= 2
        self._to = max(self._to, to)
        self._forget_gone()

    def _quiet_until(self) -> int:
        """Up to when nothing can be told: there are no records then."""
        if any(part.last > self._to + 1 for part in self._parts) or self._awaited().any():
            return self._to
        if len(self._wait_partition) == 0:
            return 2 * _FOR_EVER
        return max(self._to, int(self._wait_time.min()))

    def _awaited(self) -> Bools:
        """The partitions of which an ask is still to hear that its window became empty."""
        only_changes = self._only_changes
        if not only_changes.any():
            return np.zeros(len(self._parts), np.bool_)
        return np.array([(part.shown[only_changes] > 0).any() for part in self._parts], np.bool_)

    def _live(self, executions: Executions) -> Executions:
        """The same with places in the list of asks for their numbers, without removed ones."""
        places = np.searchsorted(self._numbers, executions.ask)
        known = places < len(self._numbers)
        known[known] = self._numbers[places[known]] == executions.ask[known]
        counts = np.concatenate(([0], np.cumsum(known)))[executions.offset]
        some = np.flatnonzero(np.diff(counts) > 0)
        offset = np.append(counts[some], counts[-1])
        return Executions(executions.at[some], offset, places[known])

    def _rows(self, executions: Executions) -> Ints:
        """How many result rows each execution has, roughly."""
        k = np.array([ask.k for ask in self._asks], np.int64)
        rows = np.concatenate(([0], np.cumsum(k[executions.ask])))[executions.offset]
        return np.diff(rows) * max(1, len(self._parts))

    def _told(self, due: Executions) -> Snapshots:
        """Let the moments of these executions, which have one at least, pass."""
        arrived, begins, starts = self._take_due(due.at)
        awaited = self._awaited()
        shape, asked = self._shape, self._asked
        executions: Due = due.at, due.offset, due.ask
        told: list[Told] = []
        active: list[int] = []
        for p, part in enumerate(self._parts):
            start, stop = int(starts[p]), int(starts[p + 1])
            if stop > start or part.last > due.at[0] or awaited[p]:
                mine = _own(arrived[0][:, start:stop]), _own(arrived[1][:, start:stop])
                told.append(part.run(shape, asked, mine, begins[start:stop], executions))
                active.append(p)
                self.overfull += part.take(OVERFULL)
                self.shared_walks += part.take(WALKS)
                self.work += part.take(WORK)
        self._handled = int(due.at[-1])
        return self._collect(active, told, due)

    def _take_due(self, moments: Ints) -> tuple[List, Ints, Ints]:
        """Remove the records that begin to be seen, in the order of partition, moment and rank; the
        moments at which they do; where each partition's begin."""
        first = np.searchsorted(moments, self._wait_time, "right")
        due = first < len(moments)
        begins = moments[np.minimum(first, len(moments) - 1)]
        # Who left before anybody looked, or came before all who look, is in no window.
        seen = due & (self._wait[1][LEAVES] > np.maximum(begins, self._seen_from))
        places = np.flatnonzero(seen)
        order = self._rank_order(places, begins[places])
        arrived = self._wait[0][:, order], self._wait[1][:, order]
        counts = np.bincount(self._wait_partition[order], minlength=len(self._parts))
        self._keep_waiting(np.flatnonzero(~due))
        self._pruned_size = min(self._pruned_size, len(self._wait_partition))
        return arrived, begins[order], np.concatenate(([0], np.cumsum(counts)))

    def _collect(self, partitions: list[int], told: list[Told], due: Executions) -> Snapshots:
        if not told:
            return Snapshots.nothing()
        snapshots, steps, ids, numbers = gathered(told)
        end = np.repeat(due.at, np.diff(due.offset))[steps[0]]
        reported = Snapshots.of(
            np.repeat(np.array(partitions, np.int64), snapshots),
            end,
            steps[1],
            ids,
            numbers[0],
            numbers[1],
            self._numbers[due.ask[steps[0]]],
        )
        if len(reported):
            self._reported = reported
        return reported

    def top(self, partition: int = 0) -> Ints:
        """The ids of the partition's last snapshot in the latest report, best first."""
        return self._reported.latest_of(partition)

    # -- what is kept -------------------------------------------------------------------------

    @property
    def _gone(self) -> int:
        """What leaves up to then is not seen by anybody any more."""
        return max(self._to + 1, self._seen_from)

    @property
    def _seen_from(self) -> int:
        """What leaves up to then is older than all asks."""
        since = min((ask.since for ask in self._asks), default=_FOR_EVER)
        return since + self._reach - 1

    def _forget_gone(self) -> None:
        gone = self._gone
        for part in self._parts:
            part.forget(gone)

    @property
    def candidates(self) -> int:
        """How many records are kept, waiting ones included."""
        return len(self._wait_partition) + sum(part.count for part in self._parts)

    def ids(self) -> Ints:
        return np.concatenate([self._wait[1][ID], *(part.ints[ID] for part in self._parts)])

    def rename(self, places: Ints) -> None:
        for ints in self._all_ints():
            ints[ID] = places[ints[ID]]

    def set_ties(self, ties: Ints) -> None:
        for ints in self._all_ints():
            ints[TIE] = ties[ints[ID]]

    def set_codes(self, rule: Ints, group: Ints) -> None:
        for ints in self._all_ints():
            ints[RULE], ints[GROUP] = rule[ints[ID]], group[ints[ID]]

    def _all_ints(self) -> list[Ints]:
        return [self._wait[1], *(part.ints for part in self._parts)]

    def live_partitions(self) -> Bools:
        live = self._awaited()
        live |= np.array([part.count > 0 for part in self._parts], np.bool_)
        live[self._wait_partition] = True
        return live

    def keep_partitions(self, kept: Ints) -> None:
        places = np.full(len(self._parts), -1)
        places[kept] = np.arange(len(kept))
        self._wait_partition = places[self._wait_partition]
        self._parts = [self._parts[p] for p in kept]

    def notes(self) -> dict[str, Any]:
        return {}

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        parts = self._parts
        return {
            "asks": [asdict(ask) for ask in self._asks],
            "numbers": self._numbers,
            "known": self._known,
            "width": self._width,
            "exclusive": self.exclusive,
            "seen": self.seen,
            "overfull": self.overfull,
            "shared_walks": self.shared_walks,
            "work": self.work,
            "to": self._to,
            "handled": self._handled,
            "newest": self._newest,
            "wait": {
                "floats": self._wait[0].ravel(),
                "ints": self._wait[1].ravel(),
                "partition": self._wait_partition,
            },
            "parts": {
                "count": np.array([part.count for part in parts], np.int64),
                "thinned": np.array([part.meta[THINNED] for part in parts], np.int64),
                "shown": _joined([part.shown for part in parts]),
                "floats": np.concatenate([np.empty((FLOATS, 0)), *(p.floats for p in parts)], 1),
                "ints": np.concatenate([no_records()[1], *(p.ints for p in parts)], 1),
            },
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], agenda: Agenda | None = None) -> Self:
        assert agenda is not None, "the agenda has a state of its own"
        operator = cls([], agenda, exclusive=state["exclusive"])
        operator._asks = [QuerySpec(**ask) for ask in state["asks"]]
        operator._numbers, operator._known = state["numbers"].copy(), state["known"]
        operator._width, operator.seen = state["width"], state["seen"]
        operator.overfull, operator.work = state["overfull"], state["work"]
        operator.shared_walks = state["shared_walks"]
        operator._to, operator._handled = state["to"], state["handled"]
        operator._newest = state["newest"]
        wait = state["wait"]
        operator._wait = (
            wait["floats"].reshape(FLOATS, -1).copy(),
            wait["ints"].reshape(INTS, -1).copy(),
        )
        operator._wait_partition = wait["partition"].copy()
        operator._pruned_size = len(operator._wait_partition)
        parts, asks = state["parts"], len(operator._asks)
        operator._sound(parts)
        start = 0
        for p, count in enumerate(parts["count"].tolist()):
            part = _Part(asks)
            part.records = (
                _own(parts["floats"][:, start : start + count]).copy(),
                _own(parts["ints"][:, start : start + count]).copy(),
            )
            part.meta[COUNT], part.meta[THINNED] = count, parts["thinned"][p]
            part.shown = parts["shown"][p * asks : (p + 1) * asks].copy()
            operator._parts.append(part)
            start += count
        return operator

    def _sound(self, parts: dict[str, Any]) -> None:
        """Refuse lists that are not as long as they are said to be, and asks that nobody asks."""
        sound.length("numbers", self._numbers, of=len(self._asks))
        sound.within("numbers", self._numbers, 0, self._known)
        sound.require(len(np.unique(self._numbers)) == len(self._asks), "an ask comes twice")
        count = sound.length("parts", parts["count"], parts["thinned"])
        sound.length("parts.shown", parts["shown"], of=count * len(self._asks))
        sound.within("parts.shown", parts["shown"], 0, sound.FAR)
        total = parts["ints"].shape[1]
        sound.within("parts.count", parts["count"], 0, total + 1)
        fits = parts["floats"].shape == (FLOATS, total) and len(parts["ints"]) == INTS
        sound.require(fits and int(parts["count"].sum()) == total, "parts have other lengths")
        waiting = sound.length("wait", self._wait_partition, *self._wait[0], *self._wait[1])
        sound.within("wait.partition", self._wait_partition, 0, max(count, 1 if waiting else 0))
        for floats, ints in (self._wait, (parts["floats"], parts["ints"])):
            sound.numbers("records", floats)
            sound.moments("records", ints[LEAVES])
        sound.moments("moments", np.array([self._handled, self._newest, self._to or 0]))

    def _check(self) -> None:
        assert (self._wait_time >= self._handled).all(), "H3"
        assert not np.isnan(self._wait[0]).any(), "H4"
        for part in self._parts:
            floats, ints = part.floats, part.ints
            keys = list(zip(floats[SCORE], ints[TIE], strict=True))
            assert keys == sorted(keys, reverse=True), ("H1", keys)
            assert (ints[LEAVES] > self._gone).all(), "H2"


class _Part:
    """The list of one partition, and what its asks were shown."""

    __slots__ = ("meta", "records", "shown")

    def __init__(self, asks: int) -> None:
        self.records: List = no_records()
        self.meta = np.zeros(5, np.int64)
        #: By ask: how many records it was shown last.
        self.shown = np.zeros(asks, np.int64)

    @property
    def count(self) -> int:
        return int(self.meta[COUNT])

    @property
    def floats(self) -> Floats:
        return self.records[0][:, : self.count]

    @property
    def ints(self) -> Ints:
        return self.records[1][:, : self.count]

    @property
    def last(self) -> int:
        """The moment from which on all records are gone."""
        return int(self.ints[LEAVES].max(initial=LONG_AGO))

    def run(self, shape: Shape, asked: Asked, arrivals: List, begins: Ints, due: Due) -> Told:
        floats, ints, told = run_shared(
            shape, asked, arrivals, begins, due, *self.records, self.meta, self.shown,
            nothing_told(),
        )  # fmt: skip
        self.records = floats, ints
        return told

    def take(self, entry: int) -> int:
        """What was counted since the last time."""
        counted = int(self.meta[entry])
        self.meta[entry] = 0
        return counted

    def forget(self, gone: int) -> None:
        """Drop what leaves up to a moment."""
        if self.count and int(self.ints[LEAVES].min()) <= gone:
            self.meta[COUNT] = stay(*self.records, 0, self.count, gone)


def _meaning(ask: QuerySpec) -> Meaning:
    if ask.semantics is None:
        raise CrestlineError("an ask of an uncertain stream says what it means by the top")
    return meaning_of(ask.semantics, ask.threshold, ask.summed)


def _portions(executions: Executions, rows: Ints) -> Iterator[Executions]:
    """Pieces of about ``_PORTION`` result rows; those of one moment stay together."""
    if len(executions) == 0:
        return
    if rows.sum() <= _PORTION:
        yield executions
        return
    first = 0
    moments = np.append(np.flatnonzero(np.diff(executions.at)) + 1, len(executions))
    total = np.concatenate(([0], np.cumsum(rows)))
    for stop in moments.tolist():
        if total[stop] - total[first] >= _PORTION or stop == len(executions):
            offset = executions.offset[first : stop + 1]
            asks = executions.ask[offset[0] : offset[-1]]
            yield Executions(executions.at[first:stop], offset - offset[0], asks)
            first = stop


def _together(portions: list[Snapshots]) -> Snapshots:
    """Reports one after the other, as one."""
    some = [reported for reported in portions if len(reported)]
    if len(some) < 2:
        return some[0] if some else Snapshots.nothing()
    return Snapshots.of(
        np.concatenate([r.partition for r in some]),
        np.concatenate([r.end for r in some]),
        np.concatenate([np.diff(r.offset) for r in some]),
        np.concatenate([r.id for r in some]),
        np.concatenate([r.score for r in some]),
        np.concatenate([_given(r.probability) for r in some]),
        np.concatenate([_given(r.ask) for r in some]),
    )


def _given(values: Any) -> Any:
    assert values is not None
    return values


def _own(values: Any) -> Any:
    """Contiguous, which to numba is another type than a slice of columns."""
    return np.ascontiguousarray(values)


def _joined(arrays: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *arrays])


__all__ = ["SharedWorlds"]
