"""The base of the certain operators that answer at window ends: records wait until they are due.

A record belongs to a pane, and a pane's records expire together. Records wait, in any order, until
time has passed their pane. Then the algorithm gets them sorted by partition, pane and rank. Where
an algorithm may forget all but a pane's k best (``prunes``), the others neither wait nor reach it.

Waiting records cost O(1) each, and O(s log s) for the s survivors of a batch. With pruning, no more
than twice k wait for each open pane of a partition, apart from ties with the k-th.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from crestline.certain.pane_pruning import PanePruner
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.window import unit_panes
from crestline.kernels.common.order import is_ascending
from crestline.kernels.common.output import Report, written
from crestline.kernels.common.windows import Ranked, StepWindow
from crestline.operators.partitions import PerPartition, offsets_of, renumbering
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records, new_ids
from crestline.operators.reporting import Reporting, portion_length, require_k
from crestline.operators.timing import Timing
from crestline.operators.waiting import Waiting, rank_order, time_order
from crestline.types import Bools, Floats, Ints


class StepOperator(Reporting):
    """A continuous top-k that answers at window ends; see ``core.operator.Operator``."""

    #: Whether records beyond a pane's k best may be dropped before the algorithm sees them.
    prunes: ClassVar[bool] = True
    #: Whether the algorithm gets the records of a pane best first, or in any order.
    best_first: ClassVar[bool] = True

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False
    ) -> None:
        """The k best of the last ``window`` records, after every ``slide`` of them.

        With ``times`` in ``observe`` the two are in the unit of the times instead. ``window=None``
        forgets nothing; ``slide=None`` reports at every arrival. With ``only_changes`` a snapshot
        that equals the one before it may be left out, and one that became empty is reported.
        """
        super().__init__()
        require_k(k)
        self.only_changes = only_changes
        self.partitions = 0
        self.seen = 0
        self._time = Timing(unit_panes(window, slide))
        self._configure(k, window, slide)
        self._content_until = LONG_AGO  # no window that ends after this pane holds anything yet
        self._counts = np.zeros(0, np.int64)  # records so far, by partition (count windows)
        self._wait = Waiting(**_columns())
        self._kept, self._own = self._storage()

    def _configure(self, k: int, window: int | None, slide: int | None) -> None:
        self.k, self.window, self.slide = k, window, slide
        self.panes = self._time.panes = unit_panes(window, slide)
        self._window = StepWindow(
            k, self.panes.width, self.panes.slide, self.panes.on_arrival, self.only_changes
        )
        self._pruner = PanePruner(k, self.panes, self.prunes)

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as their panes have not been reported.

        ``partitions`` are small integers from 0. Larger ids win ties until ``set_ties`` says
        otherwise. Returns the indices of the records that wait; see ``core.operator.Operator``.
        """
        batch = Batch.of(batch)
        scores = np.ascontiguousarray(batch.scores, np.float64)
        kept, panes = self.choose(scores, batch.times, batch.partitions)
        ids = new_ids(kept, self.seen, batch.number_from)
        self.take_in(kept, panes, ids, scores, batch.partitions, **self._further(batch, kept))
        return kept

    def _further(self, batch: Batch, kept: Ints) -> dict[str, Ints]:
        """Further columns of the records that wait."""
        return {}

    def choose(
        self, scores: Floats, times: Ints | None, partitions: Ints | None
    ) -> tuple[Ints, Ints]:
        """Return the indices of those records of a batch that have to wait, and their panes."""
        self._time.settle(times)
        if len(scores) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        kept, panes = self._pruned(scores, times, partitions)
        return np.arange(len(scores)) if kept is None else kept, panes

    def _pruned(
        self, scores: Floats, times: Ints | None, partitions: Ints | None
    ) -> tuple[Ints | None, Ints]:
        """The same for a batch that holds something, where None stands for all of it."""
        self._grow(1 if partitions is None else int(partitions.max()) + 1)
        if times is None:
            return self._pruner.by_count(scores, partitions, self._counts)
        times = np.ascontiguousarray(times, np.int64)
        ascending = is_ascending(times)
        self._time.refuse_late(int(times[0] if ascending else times.min()))
        return self._pruner.by_time(scores, times, ascending, partitions, self.partitions)

    def take_in(
        self, kept: Ints, panes: Ints, ids: Ints, scores: Floats, partitions: Ints | None,
        **further: Ints,
    ) -> None:  # fmt: skip
        """Let the chosen records of a batch wait, under these ids."""
        self.seen += len(scores)
        if len(kept) == 0:
            return
        wait = self._wait
        part = np.zeros(len(panes), np.int64) if partitions is None else partitions[kept]
        if len(wait) == 0:  # the batch itself is pruned already
            wait.pruned_size = len(kept)
        wait.append(partition=part, pane=panes, score=scores[kept], tie=ids, id=ids, **further)
        if self.prunes and wait.crowded:
            best = self._pruner.best(
                wait["partition"], wait["pane"], wait["score"], self.partitions
            )
            wait.prune(best)

    def _grow(self, partitions: int) -> None:
        more = partitions - self.partitions
        if more > 0:
            self._counts = np.concatenate((self._counts, np.zeros(more, np.int64)))
            self.partitions = partitions
            self._grow_partitions(more)

    # -- windows out --------------------------------------------------------------------------

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``.

        Counting windows take ``to`` from the records seen. With ``slide=None`` (every arrival) a
        window that ends *at* a time t holds the records of that time too.
        """
        panes, time, partitions = self.panes, self._time, self.partitions
        if time.timed is False or to is None:
            time.require(to)
            until = self._counts // panes.length // panes.slide * panes.slide
        else:
            until = np.full(partitions, time.pane_after(time.close(to)), np.int64)
        if partitions == 0:
            return Snapshots.nothing()
        arrived = self._take_closed(until)
        offsets = offsets_of(arrived["partition"], partitions)
        return self._reported(self._advance(arrived, offsets, until))

    def _snapshots(self, report: Report, records: Records, query: Ints | None = None) -> Snapshots:
        """What a kernel reported of these records; ``query`` are the numbers of several queries."""
        partition, end, count, asked, indices, _ = written(report)
        end = end - 1 if self.panes.on_arrival else end * self.panes.length
        ids, scores = records["id"][indices], records["score"][indices]
        number = None if query is None else query[asked]
        return Snapshots.of(partition, end, count, ids, scores, query=number)

    def _take_closed(self, until: Ints) -> Records:
        """Remove the records whose panes are over; sort them by partition, pane and, where the
        algorithm wants it, rank."""
        wait = self._wait
        if len(wait) == 0:
            return Records(**wait.columns)
        arrived = wait.take_out(wait["pane"] < until[wait["partition"]])
        if len(arrived) == 0:
            return arrived
        content = int(arrived["pane"].max()) + self.panes.width
        self._content_until = max(self._content_until, content)
        partition, pane = arrived["partition"], arrived["pane"]
        if not self.best_first:
            order = time_order(partition, pane)
            return arrived if order is None else arrived.take(order)
        stage = self._stages(pane)
        return arrived.take(rank_order(partition, stage, arrived["score"], arrived["tie"]))

    def _stages(self, pane: Ints) -> Ints:
        """Return numbers that ascend with the panes and are equal for panes between the same two
        window ends that also leave the window together: those are one pane to an algorithm."""
        width, slide = self.panes.width, self.panes.slide
        if slide == 1:
            return pane
        return pane // slide + (pane + width) // slide

    def _portion(self) -> int | None:
        if self._time.timed is not True or self.panes.on_arrival or self.only_changes:
            return None
        return portion_length(self.k * self.partitions, self._time.step_length)

    def _next_content(self) -> int | None:
        pane, wait = self._time.open_pane, self._wait
        if pane >= self._content_until:
            if len(wait) == 0:
                return None
            pane = max(pane, int(wait["pane"].min()))
        return pane * self.panes.length

    # -- ids, ties, partitions ----------------------------------------------------------------

    def ids(self) -> Ints:
        return np.concatenate((self._wait["id"], self._kept["id"]))

    def rename(self, new_ids: Ints) -> None:
        self._wait.rename(new_ids)
        self._kept.rename(new_ids)

    def set_ties(self, ties: Ints) -> None:
        self._wait.set_ties(ties)
        self._kept.set_ties(ties)

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything; the others may be forgotten, since they begin again with
        their next record. None if that is not so: where positions are counted, or the algorithm
        does not know."""
        holds = None if self._time.timed is not True else self._holding_partitions()
        if holds is not None:
            holds[self._wait["partition"]] = True
        return holds

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which are renumbered in this order."""
        self._wait.renumber_partitions(renumbering(kept, self.partitions))
        self._counts = self._counts[kept]
        self.partitions = len(kept)
        self._keep_partitions(kept)

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return self._configuration() | {
            "partitions": self.partitions,
            "seen": self.seen,
            "timed": self._time.timed,
            "closed": int(self._time.open_pane),
            "content_until": int(self._content_until),
            "counts": self._counts,
            "waiting": self._wait.state(),
            "own": self._own_state(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        partitions = sound.length("counts", state["counts"], of=state["partitions"])
        sound.within("counts", state["counts"], 0, sound.FAR)
        self._grow(partitions)
        self.seen, self._time.timed = state["seen"], state["timed"]
        sound.moments("closed", np.array([state["closed"]]))
        self._time.open_pane = state["closed"]
        self._counts, self._content_until = state["counts"], state["content_until"]
        wait = self._wait
        wait.restore(state["waiting"])
        sound.length("waiting", *wait.columns.values())
        sound.within("waiting.partition", wait["partition"], 0, partitions)
        sound.moments("waiting.pane", wait["pane"])
        sound.numbers("waiting.score", wait["score"])
        if self._time.timed:
            sound.within("waiting.pane", wait["pane"], self._time.open_pane, sound.FAR)
        else:
            sound.require(int(self._counts.sum()) == self.seen, "counts do not add up")
        wait.pruned_size = len(wait)
        self._restore_own(state["own"])

    def _require_sound_ends(self, name: str, done: Ints, holds: Bools) -> None:
        """Partitions have come as far as the operator has, and no further; those that hold nothing
        may not have begun."""
        begun, closed = done > LONG_AGO, self._time.open_pane
        sound.require((begun | ~holds).all(), f"{name}: records of a time that never was")
        if self._time.timed and self.panes.on_arrival:
            sound.require((done <= closed).all(), f"{name} is ahead")
        elif self._time.timed:
            sound.require((done[begun] == closed).all(), f"{name} is not {closed}")
        else:
            sound.moments(name, done)
            reached = self._counts // self.panes.length
            sound.require((done[begun] <= reached[begun] + 1).all(), f"{name} is ahead")
            sound.require((done[begun] >= 0).all(), f"{name} is negative")

    def _check(self) -> None:
        """W1: no waiting record is of a closed pane. W2: no NaN. W3: partitions are in range."""
        wait = self._wait
        assert self._time.timed is False or (wait["pane"] >= self._time.open_pane).all(), "W1"
        assert not np.isnan(wait["score"]).any(), "W2"
        assert ((wait["partition"] >= 0) & (wait["partition"] < self.partitions)).all(), "W3"
        self._check_own()

    # -- what an algorithm adds ---------------------------------------------------------------

    @abstractmethod
    def _storage(self) -> tuple[Records, PerPartition]:
        """Return the records that the algorithm keeps, none so far, and its arrays by partition."""

    @abstractmethod
    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        """Handle all panes before ``until[p]``, and report."""

    def _grow_partitions(self, more: int) -> None:
        self._own.grow(more)

    def _holding_partitions(self) -> Bools | None:
        """Which partitions hold anything, by number; None if the algorithm does not know."""
        return None

    def _keep_partitions(self, kept: Ints) -> None:
        """Keep only these partitions, where ``_holding_partitions`` told which hold anything."""
        raise AssertionError("every partition is remembered")

    def _own_state(self) -> dict[str, Any]:
        return self._kept.state() | self._own.state()

    @abstractmethod
    def _restore_own(self, own: dict[str, Any]) -> None: ...

    @abstractmethod
    def _check_own(self) -> None: ...


class ListOperator(StepOperator):
    """A step operator that keeps a list of records for each partition, best first."""

    _kept: Ragged

    def _grow_partitions(self, more: int) -> None:
        super()._grow_partitions(more)
        self._kept.grow(more)

    def _keep_partitions(self, kept: Ints) -> None:
        self._kept.keep(kept)
        self._own.keep(kept)

    def _restore_own(self, own: dict[str, Any]) -> None:
        sound.like(own, self._own_state(), "own")
        self._kept.restore(own)
        self._own.restore(own)
        self._kept.require_sound("own", self.partitions)
        self._own.require_sound("own", self.partitions)
        sound.moments("own.pane", self._kept["pane"])
        self._require_sound_ends("own.done", self._own["done"], self._kept.lengths > 0)


def ranked(records: Records) -> Ranked:
    """The columns that kernels rank records by."""
    return Ranked(records["score"], records["tie"], records["pane"])


def _columns() -> dict[str, Any]:
    none = np.empty(0, np.int64)
    return {"partition": none, "pane": none, "score": np.empty(0), "tie": none, "id": none}


__all__ = ["ListOperator", "StepOperator", "ranked"]
