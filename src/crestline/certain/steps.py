"""What the certain operators have in common: records wait here until their window is due.

A record belongs to a pane, and a pane's records expire together. Records wait, in any order, until
time has passed their pane; then they are handed to the algorithm sorted by partition, pane and
rank. Algorithms that may forget all but a pane's k best (``prunes``) never see the others: nor does
the memory, since waiting records are pruned as they come.

Waiting records cost O(1) each, and O(s log s) for the s survivors of a batch; with pruning, no more
than twice k for each open pane of a partition wait, apart from ties with the k-th.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.window import unit_panes
from crestline.kernels.common.order import count_positions, is_ascending, pane_starts
from crestline.kernels.common.select import select_groups, select_partitioned, select_runs
from crestline.operators.waiting import Waiting, order_of
from crestline.types import Bools, Floats, Ints

#: Waiting records are pruned again when they have doubled, but not below this number.
_PRUNE_AT_LEAST = 4096
#: Result rows that one portion of ``advance_gradually`` may hold, roughly.
_PORTION = 1 << 20


class StepOperator(ABC):
    """A continuous top-k that answers at window ends; see ``core.operator.Operator``."""

    #: Whether records beyond a pane's k best may be dropped before the algorithm sees them.
    prunes: ClassVar[bool] = True

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False
    ) -> None:
        """The k best of the last ``window`` records, after every ``slide`` of them.

        With ``times`` in ``observe`` the two are in the unit of the times instead. ``window=None``
        forgets nothing; ``slide=None`` reports at every arrival. With ``only_changes`` a snapshot
        that equals the one before it may be left out, and one that became empty is reported.
        """
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        self.k, self.window, self.slide = k, window, slide
        self.only_changes = only_changes
        self.panes = unit_panes(window, slide)
        self.partitions = 0
        self.seen = 0
        self._timed: bool | None = None
        self._closed = LONG_AGO  # panes before this one accept no more records
        self._content_until = LONG_AGO  # no window that ends after this pane holds anything yet
        self._counts = np.zeros(0, np.int64)  # records so far, by partition (count windows)
        self._guess = np.array([-np.inf, 0.0])  # see select_runs: only speed depends on it
        self._wait = Waiting.empty()
        self._pruned_size = 0
        self._last = Snapshots.nothing()

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as their panes have not been reported.

        ``partitions`` are small integers from 0. Larger ids win ties until ``set_ties`` says
        otherwise. Returns the places of the records that wait; see ``core.operator.Operator``.
        """
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        scores = np.ascontiguousarray(scores, np.float64)
        kept, panes = self.choose(scores, times, partitions)
        if number_from is None:
            ids = self.seen + kept
        else:
            ids = np.arange(number_from, number_from + len(kept))
        self.take_in(kept, panes, ids, scores, partitions)
        return kept

    def choose(
        self, scores: Floats, times: Ints | None, partitions: Ints | None
    ) -> tuple[Ints, Ints]:
        """The places of those records of a batch that have to wait, and their panes."""
        if self._timed is None:
            self._timed = times is not None
        elif self._timed != (times is not None):
            raise CrestlineError("give times with every batch or with none")
        if len(scores) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if partitions is not None:
            self._grow(int(partitions.max()) + 1)
        else:
            self._grow(1)
        if times is None:
            kept, panes = self._observe_counted(scores, partitions)
        else:
            times = np.ascontiguousarray(times, np.int64)
            kept, panes = self._observe_timed(scores, times, partitions)
        return np.arange(len(scores)) if kept is None else kept, panes

    def take_in(
        self, kept: Ints, panes: Ints, ids: Ints, scores: Floats, partitions: Ints | None
    ) -> None:
        """Let the chosen records of a batch wait, under these ids."""
        self.seen += len(scores)
        if len(kept) == 0:
            return
        part = np.zeros(len(panes), np.int64) if partitions is None else partitions[kept]
        if len(self._wait) == 0:  # the batch itself is pruned already
            self._pruned_size = len(kept)
        self._wait = self._wait.plus(Waiting(part, panes, scores[kept], ids, ids))
        if self.prunes and len(self._wait) > max(2 * self._pruned_size, _PRUNE_AT_LEAST):
            self._wait = self._wait.take(self._prune(self._wait))
            self._pruned_size = len(self._wait)

    def _observe_counted(self, scores: Floats, partitions: Ints | None) -> tuple[Ints | None, Ints]:
        """Which records wait (None: all), and the panes of those."""
        length = self.panes.length
        if partitions is not None:
            panes = count_positions(partitions, self._counts) // length
            if not self.prunes or length == 1:
                return None, panes
            kept = self._prune(Waiting(partitions, panes, scores, panes, panes))
            return kept, panes[kept]
        first = int(self._counts[0])
        self._counts[0] += len(scores)
        if not self.prunes or length == 1:
            return None, np.arange(first, first + len(scores)) // length
        to_boundary = length - first % length
        inner = np.arange(to_boundary, len(scores), length)
        kept = select_runs(scores, np.concatenate(([0], inner, [len(scores)])), self.k, self._guess)
        return kept, (first + kept) // length

    def _observe_timed(
        self, scores: Floats, times: Ints, partitions: Ints | None
    ) -> tuple[Ints | None, Ints]:
        length = self.panes.length
        ascending = is_ascending(times)
        earliest = times[0] if ascending else times.min()
        if earliest // length < self._closed:
            raise CrestlineError(
                f"a record at {earliest} came after windows up to"
                f" {self._closed * length} had been reported"
            )
        if not self.prunes or self.panes.on_arrival:
            return None, times // length
        if ascending:
            starts = pane_starts(times, length)
            if partitions is None:
                kept = select_runs(scores, starts, self.k, self._guess)
                return kept, times[kept] // length
            if self.partitions * (len(starts) - 1) <= 4 * len(times):
                kept = select_partitioned(scores, partitions, self.partitions, starts, self.k)
                return kept, times[kept] // length
        panes = times // length
        part = np.zeros(len(panes), np.int64) if partitions is None else partitions
        kept = self._prune(Waiting(part, panes, scores, panes, panes))
        return kept, panes[kept]

    def _prune(self, waiting: Waiting) -> Ints:
        """Places of each pane's k best, by partition; ties with the k-th stay."""
        first, last = int(waiting.pane.min()), int(waiting.pane.max())
        span = last - first + 1
        if span * self.partitions <= 4 * len(waiting) + 1024:
            groups = waiting.partition * span + (waiting.pane - first)
            return select_groups(waiting.score, groups, span * self.partitions, self.k)
        _, panes = np.unique(waiting.pane, return_inverse=True)
        wide = int(panes.max()) + 1
        if wide * self.partitions > 4 * len(waiting) + 1024:
            _, groups = np.unique(waiting.partition * wide + panes, return_inverse=True)
            return select_groups(waiting.score, groups, int(groups.max()) + 1, self.k)
        groups = waiting.partition * wide + panes
        return select_groups(waiting.score, groups, wide * self.partitions, self.k)

    def _grow(self, partitions: int) -> None:
        if partitions <= self.partitions:
            return
        more = partitions - self.partitions
        self._counts = np.concatenate((self._counts, np.zeros(more, np.int64)))
        self.partitions = partitions
        self._grow_partitions(more)

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``.

        Counting windows take ``to`` from the records seen. With ``slide=None`` (every arrival) a
        window that ends *at* a time t holds the records of that time too.
        """
        panes = self.panes
        if self._timed is False or to is None:
            if self._timed:
                raise CrestlineError("a window on time needs the time to advance to")
            until = self._counts // panes.length // panes.slide * panes.slide
        else:
            limit = to + 1 if panes.on_arrival else to // panes.length // panes.slide * panes.slide
            until = np.full(self.partitions, limit, np.int64)
            self._closed = max(self._closed, limit)
        arrived = self._take_closed(until)
        offsets = np.zeros(self.partitions + 1, np.int64)
        np.cumsum(np.bincount(arrived.partition, minlength=self.partitions), out=offsets[1:])
        reported = self._advance(arrived, offsets, until)
        if panes.on_arrival:
            reported = _with_end(reported, reported.end - 1)
        else:
            reported = _with_end(reported, reported.end * panes.length)
        if len(reported):
            self._last = reported
        return reported

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        """``advance``, in portions of about ``_PORTION`` result rows.

        A stretch in which no window holds anything is passed over at once.
        """
        panes = self.panes
        if self._timed is not True or to is None or panes.on_arrival or self.only_changes:
            yield self.advance(to)
            return
        step = max(1, _PORTION // (self.k * max(1, self.partitions))) * panes.slide
        goal = to // panes.length // panes.slide * panes.slide
        while self._closed < goal:
            start = self._closed
            if start >= self._content_until:
                if len(self._wait) == 0:
                    break
                start = max(start, int(self._wait.pane.min()))
            yield self.advance(min(start + step, goal) * panes.length)
        yield self.advance(to)

    def _take_closed(self, until: Ints) -> Waiting:
        """Remove the records whose panes are over; sort them by partition, pane and rank."""
        waiting = self._wait
        if len(waiting) == 0:
            return waiting
        closed = waiting.pane < until[waiting.partition]
        if closed.all():
            self._wait = Waiting.empty()
        else:
            self._wait = waiting.take(np.flatnonzero(~closed))
            waiting = waiting.take(np.flatnonzero(closed))
        self._pruned_size = len(self._wait)
        if len(waiting):
            self._content_until = max(
                self._content_until, int(waiting.pane.max()) + self.panes.width
            )
        return waiting.take(order_of(waiting, self._stages(waiting))) if len(waiting) else waiting

    def _stages(self, waiting: Waiting) -> Ints:
        """Numbers that ascend with the panes and are equal for panes between the same two window
        ends that also leave the window together: those are one pane to an algorithm."""
        width, slide = self.panes.width, self.panes.slide
        if slide == 1:
            return waiting.pane
        return waiting.pane // slide + (waiting.pane + width) // slide

    def top(self, partition: int = 0) -> Ints:
        """The ids of the partition's snapshot in the latest report, best first."""
        return self._last.latest_of(partition)

    # -- ids, ties, state ---------------------------------------------------------------------

    @property
    def candidates(self) -> int:
        """How many records are kept, waiting ones included."""
        return len(self.ids())

    def ids(self) -> Ints:
        return np.concatenate((self._wait.id, self._kept_ids()))

    def rename(self, places: Ints) -> None:
        self._wait.id = places[self._wait.id]
        self._rename_kept(places)

    def set_ties(self, ties: Ints) -> None:
        self._wait.tie = ties[self._wait.id]
        self._set_kept_ties(ties)

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything; the others may be forgotten, since they begin anew with
        their next record. None if that is not so: where positions are counted, or the algorithm
        does not tell."""
        holds = None if self._timed is not True else self._holding_partitions()
        if holds is not None:
            holds[self._wait.partition] = True
        return holds

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which are numbered anew in this order."""
        places = np.full(self.partitions, -1)
        places[kept] = np.arange(len(kept))
        self._wait.partition = places[self._wait.partition]
        self._counts = self._counts[kept]
        self.partitions = len(kept)
        self._keep_partitions(kept)

    def notes(self) -> dict[str, Any]:
        return {}

    def state(self) -> dict[str, Any]:
        wait = self._wait
        return {
            "k": self.k,
            "window": self.window,
            "slide": self.slide,
            "only_changes": self.only_changes,
            "partitions": self.partitions,
            "seen": self.seen,
            "timed": self._timed,
            "closed": int(self._closed),
            "content_until": int(self._content_until),
            "counts": self._counts,
            "waiting": {name: getattr(wait, name) for name in Waiting.__slots__},
            "own": self._own_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        operator = cls(
            state["k"], state["window"], state["slide"], only_changes=state["only_changes"]
        )
        operator._restore(state)
        return operator

    def _restore(self, state: dict[str, Any]) -> None:
        partitions = sound.length("counts", state["counts"], of=state["partitions"])
        sound.within("counts", state["counts"], 0, sound.FAR)
        self._grow(partitions)
        self.seen, self._timed = state["seen"], state["timed"]
        self._closed, self._counts = state["closed"], state["counts"]
        self._content_until = state["content_until"]
        sound.moments("closed", np.array([self._closed]))
        self._wait = wait = Waiting(**state["waiting"])
        sound.length("waiting", *wait._columns())
        sound.within("waiting.partition", wait.partition, 0, partitions)
        sound.moments("waiting.pane", wait.pane)
        sound.numbers("waiting.score", wait.score)
        if self._timed:
            sound.within("waiting.pane", wait.pane, self._closed, sound.FAR)
        else:
            sound.require(int(self._counts.sum()) == self.seen, "counts do not add up")
        self._pruned_size = len(wait)
        self._restore_own(state["own"])

    def _check(self) -> None:
        """W1: no waiting record is of a closed pane. W2: no NaN. W3: partitions are known."""
        wait = self._wait
        assert self._timed is False or (wait.pane >= self._closed).all(), "W1"
        assert not np.isnan(wait.score).any(), "W2"
        assert ((wait.partition >= 0) & (wait.partition < self.partitions)).all(), "W3"
        self._check_own()

    def _sound_moments(self, what: str, done: Ints, holds: Bools) -> None:
        """Partitions have come as far as the operator has, and no further; those that hold nothing
        may not have begun."""
        begun = done > LONG_AGO
        sound.require((begun | ~holds).all(), f"{what}: records of a time that never was")
        if self._timed and self.panes.on_arrival:
            sound.require((done <= self._closed).all(), f"{what} is ahead")
        elif self._timed:
            sound.require((done[begun] == self._closed).all(), f"{what} is not {self._closed}")
        else:
            sound.moments(what, done)
            reached = self._counts // self.panes.length
            sound.require((done[begun] <= reached[begun] + 1).all(), f"{what} is ahead")
            sound.require((done[begun] >= 0).all(), f"{what} is negative")

    # -- what an algorithm adds ---------------------------------------------------------------

    @abstractmethod
    def _advance(self, arrived: Waiting, offsets: Ints, until: Ints) -> Snapshots:
        """Handle all panes before ``until[p]``; ends are in panes."""

    @abstractmethod
    def _grow_partitions(self, more: int) -> None: ...

    def _holding_partitions(self) -> Bools | None:
        """Which partitions hold anything, by number; None if the algorithm does not tell."""
        return None

    def _keep_partitions(self, kept: Ints) -> None:
        raise NotImplementedError

    @abstractmethod
    def _kept_ids(self) -> Ints: ...

    @abstractmethod
    def _rename_kept(self, places: Ints) -> None: ...

    @abstractmethod
    def _set_kept_ties(self, ties: Ints) -> None: ...

    @abstractmethod
    def _own_state(self) -> dict[str, Any]: ...

    @abstractmethod
    def _restore_own(self, own: dict[str, Any]) -> None: ...

    @abstractmethod
    def _check_own(self) -> None: ...


def _with_end(reported: Snapshots, end: Ints) -> Snapshots:
    return replace(reported, end=end)
