"""The base of the synopses for uncertain streams: records wait, steps pass, answers are reported.

A window moves from *step* to step: at each, records arrive and others leave. The step at which a
record leaves is known beforehand, and records that arrive later never leave earlier. So what must
be kept depends on *suffixes*: the records that are still there when older ones have left. Where a
window slides by panes, the records of a pane are one unit, and only suffixes of panes matter.

Records wait, in any order, until their step is due. Then the synopsis of their partition gets them
in rank order. Nothing is pruned before ties are known, as an answer may depend on the order of
records with equal scores: ``prune`` forgets what waits outside its own pane's compact set.

**Why that is exact.** C(A) is the compact set of A (all of A where it has none). By Theorem 3.2 of
Jin et al. (``crestline.uncertain.meaning`` has the proofs for each meaning and for rules), adding
a record x to A leaves C(A + x) within C(A) + x. Adding the records of B one after the other gives
C(A + B) within C(A) + B, and within A + C(B) likewise; A and B being disjoint,
C(A + B) lies within C(A) + C(B). As C(A + B) is the best-ranking part of A + B, it is also the
best-ranking part of C(A) + C(B), over which the same numbers are computed: so
C(C(A) + C(B)) = C(A + B). This holds for A and B in any order of time; hence panes may be pruned on
their own, near the source, and two synopses of disjoint parts of a window `merge` into one.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.window import unit_panes
from crestline.kernels.common.order import count_positions, is_ascending
from crestline.kernels.common.output import PARTITION, SNAPSHOTS, Report, written
from crestline.kernels.uncertain.lists import ListArrays
from crestline.kernels.uncertain.panes import prune_units
from crestline.kernels.uncertain.steps import SHOWN, SynopsisQuery
from crestline.kernels.uncertain.worlds import PICK, weighing
from crestline.operators.partitions import PerPartition, renumbering
from crestline.operators.records import new_ids
from crestline.operators.reporting import Reporting, portion_length, require_k
from crestline.operators.timing import Timing
from crestline.types import Bools, Floats, Ints
from crestline.uncertain.partition import (
    PartitionSynopsis,
    merge_into,
    no_snapshots,
)
from crestline.uncertain.records import (
    WaitingRecords,
    arrival_and_leaving,
    part_of,
    ranked,
    record_list,
    uncertainty_of,
)
from crestline.uncertain.semantics import meaning_of, refuse_rules
from crestline.uncertain.window import WindowPartition


class Synopsis(Reporting):
    """A continuous top-k over uncertain records; see ``core.operator.UncertainOperator``."""

    #: What is kept for a partition, where windows have compact sets.
    partition_type: ClassVar[type[PartitionSynopsis]]
    CONFIGURATION = (
        *Reporting.CONFIGURATION, "semantics", "threshold", "summed", "exclusive",
    )  # fmt: skip

    def __init__(
        self,
        k: int,
        window: int | None,
        slide: int | None = None,
        *,
        only_changes: bool = False,
        semantics: str = "PK_TOPK",
        threshold: float | None = None,
        summed: bool = False,
        exclusive: bool = False,
    ) -> None:
        """Answer one query.

        Parameters
        ----------
        k, window, slide, only_changes
            As for ``certain.steps.StepOperator``.
        semantics
            What is asked for.
        threshold
            For PT_K; for PRF its alpha.
        summed
            Whether groups are ranked by their sums of probability.
        exclusive
            Whether records may exclude one another; U_TOPK and U_KRANKS must know beforehand.
        """
        super().__init__()
        require_k(k)
        self.k, self.window, self.slide = k, window, slide
        self.only_changes = only_changes
        self.semantics, self.threshold, self.summed = semantics, threshold, summed
        self.exclusive = exclusive
        self.meaning = meaning_of(semantics, threshold, summed)
        #: Whether no compact set is known for what is asked: then the whole window is kept.
        self.keeps_all = self.meaning.keeps_everything(exclusive)
        self.panes = unit_panes(window, slide)
        self.seen = 0
        self.overfull = 0
        self._ruled = exclusive  # whether any record may have a rule
        self._time = Timing(self.panes)
        self._wait = WaitingRecords("step")
        self._parts: list[PartitionSynopsis] = []
        #: Records so far, where windows count them; the step from which on the window is empty.
        self._by_partition = PerPartition(counts=0, empty_from=LONG_AGO)

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as their steps have not been reported.

        Without an uncertainty they are certain. Returns the indices of the records that wait; see
        ``core.operator.Operator``.
        """
        batch = Batch.of(batch)
        self._time.settle(batch.times)
        count = len(batch)
        if count == 0:
            return np.empty(0, np.int64)
        self._grow(1 if batch.partitions is None else int(batch.partitions.max()) + 1)
        uncertainty = uncertainty_of(batch)
        if self.meaning.minds_rules and not self.exclusive:
            refuse_rules(self.semantics, uncertainty.rule)
        self._ruled = self._ruled or bool((uncertainty.rule >= 0).any())
        scores, kept = batch.scores, self._passing(batch, uncertainty)
        step, leaves = self._steps_of(batch, kept)
        if kept is not None:
            scores, uncertainty = scores[kept], uncertainty.take(kept)
        indices = np.arange(count) if kept is None else kept
        ids = new_ids(indices, self.seen, batch.number_from)
        self._wait.add(scores, uncertainty, batch.partitions, step=step, leaves=leaves, id=ids)
        self.seen += count
        return indices

    def _passing(self, batch: Batch, uncertainty: Uncertainty) -> Ints | None:
        """Return the indices of the records that have to wait; None: all of them."""
        return None

    def _steps_of(self, batch: Batch, kept: Ints | None) -> tuple[Ints, Ints]:
        """Return the step at which each of the kept records arrives, and that at which it
        leaves. Only where neither times nor partitions are given can some not be kept."""
        counts = self._by_partition["counts"]
        if batch.times is not None:
            position = np.ascontiguousarray(batch.times, np.int64)
            earliest = position[0] if is_ascending(position) else position.min()
            self._time.refuse_late(int(earliest))
        elif batch.partitions is not None:
            position = count_positions(np.asarray(batch.partitions), counts)
        else:
            position = counts[0] + (np.arange(len(batch)) if kept is None else kept)
            counts[0] += len(batch)
        return arrival_and_leaving(self.panes, position, batch.times is not None)

    def _grow(self, partitions: int) -> None:
        more = partitions - len(self._parts)
        if more > 0:
            self._by_partition.grow(more)
            self._parts += [self._new_part() for _ in range(more)]

    def _new_part(self) -> PartitionSynopsis:
        return WindowPartition() if self.keeps_all else self.partition_type()

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that ``prune`` is worth its while."""
        return self._wait.crowded

    def prune(self) -> None:
        """Forget what waits and is not in the compact set of its pane; ties must be known."""
        wait = self._wait
        kept = np.arange(len(wait))
        if len(wait) and not self.keeps_all and self._has_units:
            # Records of one step leave at one of two steps, one after the other.
            unit = wait["step"] * 2 + (wait["leaves"] & 1)
            order = ranked(wait, unit)
            kept = order[
                prune_units(
                    self._query, wait["chance"], wait["rule"], wait["group"], wait["partition"],
                    unit, order,
                )
            ]  # fmt: skip
        wait.prune(kept)

    @property
    def _has_units(self) -> bool:
        """Whether several records can leave together."""
        return self._time.timed is True or self.panes.length > 1 or self.panes.unbounded

    # -- answers out --------------------------------------------------------------------------

    @property
    def _query(self) -> SynopsisQuery:
        every_step, kind = not self.panes.on_arrival, self.meaning.kind_for(self.exclusive)
        return SynopsisQuery(
            kind=kind,
            k=self.k,
            threshold=float(self.threshold or 0.0),
            every_step=every_step,
            only_changes=self.only_changes,
            leave_together=not every_step or self.panes.slide == 1,
            weigh=weighing(kind, self._ruled).address(),
            pick=PICK.address(),
        )

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``."""
        self._time.require(to)
        if self._time.timed is not True or to is None:
            until = self._by_partition["counts"] // self._time.step_length
        else:
            until = np.full(len(self._parts), self._time.close(to), np.int64)
        query = self._query
        arrivals, steps, starts = self._take_due(until)
        active = np.diff(starts) > 0
        if query.every_step:  # a window that is not empty is due at every step
            active |= self._by_partition["empty_from"] > LONG_AGO
        report = no_snapshots()
        for p in np.flatnonzero(active).tolist():
            start, stop = int(starts[p]), int(starts[p + 1])
            some = part_of(arrivals, start, stop)
            report = self._run(query, p, some, steps[start:stop], int(until[p]), report)
        partition, step, count, _, ids, numbers = written(report)
        end = step * self._time.step_length if query.every_step else step
        return self._reported(Snapshots.of(partition, end, count, ids, numbers[0], numbers[1]))

    def _take_due(self, until: Ints) -> tuple[ListArrays, Ints, Ints]:
        """Remove the records whose steps are due, in the order of partition, step and rank; return
        them, their steps, and where each partition's begin."""
        wait, single = self._wait, len(self._parts) == 1
        arrived = wait.take_out(wait["step"] <= (until if single else until[wait["partition"]]))
        in_window = arrived["leaves"] > arrived["step"]
        if not in_window.all():
            arrived = arrived.take(np.flatnonzero(in_window))
        steps, order = arrived["step"], None
        if not single or not (steps[1:] > steps[:-1]).all():
            order = ranked(arrived, steps)
            steps = steps[order]
        starts = np.array([0, len(arrived)])
        if not single:
            counts = np.bincount(arrived["partition"], minlength=len(self._parts))
            starts = np.concatenate(([0], np.cumsum(counts)))
        return record_list(arrived, order), steps, starts

    def _run(
        self,
        query: SynopsisQuery,
        p: int,
        arrivals: ListArrays,
        steps: Ints,
        until: int,
        report: Report,
    ) -> Report:
        """Let the steps of one partition pass."""
        part = self._parts[p]
        before, first = part.overfull, report.filled[SNAPSHOTS]
        report = part.run(query, arrivals, steps, until, report)
        report.heads[PARTITION, first : report.filled[SNAPSHOTS]] = p
        content = part.empty_from > until
        self._by_partition["empty_from"][p] = part.empty_from if content else LONG_AGO
        self.overfull += part.overfull - before
        return report

    def _portion(self) -> int | None:
        if self._time.timed is not True or self.panes.on_arrival or self.only_changes:
            return None
        return portion_length(self.k * len(self._parts), self._time.step_length)

    def _next_content(self) -> int | None:
        step, wait = self._time.closed, self._wait
        if not (self._by_partition["empty_from"] > step).any():
            if len(wait) == 0:
                return None
            step = max(step, int(wait["step"].min()) - 1)
        return self._time.end_of(step)

    # -- merging ------------------------------------------------------------------------------

    def merge(self, other: Self) -> None:
        """Take over what another synopsis of the same query keeps, of a disjoint part of the same
        windows: both must have come equally far, and ids and rules must mean the same in both.

        What both keep holds the compact set of every suffix of their union (see the proof above),
        so it is enough to go through those records once more.
        """
        if self._time.closed != other._time.closed:
            raise CrestlineError("synopses that are merged must have come equally far")
        self._grow(len(other._parts))
        other._grow(len(self._parts))
        self._ruled = self._ruled or other._ruled
        query = self._query
        pairs = zip(self._parts, other._parts, strict=True)
        self._parts = [merge_into(self._new_part(), query, *pair) for pair in pairs]
        empty_from = self._by_partition["empty_from"]
        np.maximum(empty_from, other._by_partition["empty_from"], out=empty_from)
        self._wait.append(**other._wait.columns)
        self._time.timed = other._time.timed if self._time.timed is None else self._time.timed
        self.seen += other.seen

    # -- ids, ties, partitions ----------------------------------------------------------------

    @property
    def space(self) -> int:
        """How many records are written down, as the paper counts: also those in several sets."""
        return len(self._wait) + sum(part.space for part in self._parts)

    def ids(self) -> Ints:
        return np.concatenate([self._wait["id"], *(part.ids() for part in self._parts)])

    def rename(self, new_ids: Ints) -> None:
        self._wait.rename(new_ids)
        for part in self._parts:
            part.rename(new_ids)

    def set_ties(self, ties: Ints) -> None:
        self._wait.set_ties(ties)
        for part in self._parts:
            part.set_ties(ties)

    def set_codes(self, rule: Ints, group: Ints) -> None:
        self._wait.set_codes(rule, group)
        for part in self._parts:
            part.set_codes(rule, group)

    def live_partitions(self) -> Bools | None:
        if self._time.timed is not True:
            return None
        live: Bools = self._by_partition["empty_from"] > LONG_AGO
        live[self._wait["partition"]] = True
        if self.only_changes:
            live |= np.array([part.meta[SHOWN] > 0 for part in self._parts], np.bool_)
        return live

    def keep_partitions(self, kept: Ints) -> None:
        self._wait.renumber_partitions(renumbering(kept, len(self._parts)))
        self._by_partition.keep(kept)
        self._parts = [self._parts[p] for p in kept]

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        parts = [part.state() for part in self._parts]
        return self._configuration() | self._by_partition.state() | {
            "seen": self.seen,
            "timed": self._time.timed,
            "ruled": self._ruled,
            "closed": int(self._time.closed),
            "overfull": self.overfull,
            "wait": self._wait.state(),
            "parts": {
                name: {
                    "sizes": np.array([len(part[name]) for part in parts], np.int64),
                    "values": np.concatenate([part[name] for part in parts]),
                }
                for name in (parts[0] if parts else ())
            },
        }  # fmt: skip

    def _restore(self, state: dict[str, Any]) -> None:
        time, count = self._time, len(state["counts"])
        self.seen, self.overfull = state["seen"], state["overfull"]
        self._ruled = state["ruled"]
        time.timed, time.closed = state["timed"], state["closed"]
        self._by_partition.restore(state)
        self._by_partition.require_sound("partitions", count)
        sound.within("counts", state["counts"], 0, sound.FAR)
        sound.moments("empty_from", state["empty_from"], np.array([time.closed]))
        self._wait.restore(state["wait"])
        self._wait.require_sound(count)
        sound.moments("wait.step", self._wait["step"])
        fresh = self._new_part()
        self._parts = [
            type(fresh).from_state(part)
            for part in sound.divided(state["parts"], fresh.state(), count)
        ]
        latest = max((part.step for part in self._parts), default=LONG_AGO)
        sound.require(not time.timed or time.closed >= latest, "closed is behind")

    def _check(self) -> None:
        """W1: nothing waits for a step that has passed. W2: no NaN. Then the parts' invariants."""
        wait, query = self._wait, self._query
        assert self._time.timed is not True or (wait["step"] > self._time.closed).all(), "W1"
        assert not (np.isnan(wait["score"]) | np.isnan(wait["chance"])).any(), "W2"
        for part in self._parts:
            part.check(query)


__all__ = ["Synopsis"]
