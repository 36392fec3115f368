"""What the synopses for uncertain streams have in common: records wait, steps pass, answers come.

A window moves from *step* to step: at each, records arrive and others leave. Of every record it is
known beforehand at which step it leaves, and records that arrive later never leave earlier. What
is to be kept is therefore a matter of *suffixes*: the records that will still be there when older
ones have left. Where a window slides by panes, the records of a pane are one unit, and only
suffixes of panes matter.

Records wait, in any order, until their step is due; then they are handed, in rank order, to the
synopsis of their partition. Nothing is pruned before ties are known, as an answer may depend on the
order of records with equal scores: ``prune`` forgets what waits outside its own pane's compact set.

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

from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots, gathered
from crestline.core.window import unit_panes
from crestline.kernels.common.order import count_positions, is_ascending
from crestline.kernels.uncertain.compact import (
    CHANCE,
    DONE,
    FLOATS,
    GROUP,
    ID,
    INTS,
    LEAVES,
    NEVER,
    RULE,
    SCORE,
    SHOWN,
    STALE,
    TIE,
    List,
    Setting,
    Told,
)
from crestline.kernels.uncertain.panes import prune_units
from crestline.kernels.uncertain.worlds import PICK, weighing
from crestline.operators.waiting import rank_order
from crestline.types import Bools, Floats, Ints
from crestline.uncertain.meaning import Meaning
from crestline.uncertain.part import Part, no_records, nothing_told
from crestline.uncertain.semantics import meaning_of
from crestline.uncertain.window import WindowPart

#: Waiting records are pruned again when they have doubled, but not below this number.
_PRUNE_AT_LEAST = 4096
#: Result rows that one portion of ``advance_gradually`` may hold, roughly.
_PORTION = 1 << 20


class Synopsis(ABC):
    """A continuous top-k over uncertain records; see ``core.operator.UncertainOperator``."""

    #: What is kept for a partition, where windows have compact sets.
    part: ClassVar[type[Part]]

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
        """As ``certain.steps.StepOperator``; ``semantics`` says what is asked for, ``threshold``
        belongs to PT_K, and with ``summed`` groups are ranked by their sums of probability. For
        U_TOPK and U_KRANKS it must be said if records may exclude one another (``exclusive``)."""
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        self.k, self.window, self.slide = k, window, slide
        self.only_changes = only_changes
        self.semantics, self.threshold, self.summed = semantics, threshold, summed
        self.meaning: Meaning = meaning_of(semantics, threshold, summed)
        self.panes = unit_panes(window, slide)
        self.seen = 0
        self._timed: bool | None = None
        self.exclusive = exclusive
        self._ruled = exclusive  # whether any record may have a rule
        #: Whether no compact set is known for what is asked: then the whole window is kept.
        self.keeps_all = self.meaning.keeps_all or (exclusive and self.meaning.keeps_all_with_rules)
        self._closed = LONG_AGO  # steps up to this one accept no more records
        self._counts = np.zeros(0, np.int64)
        self._wait = no_records()
        self._wait_partition = self._wait_step = np.empty(0, np.int64)
        self._pruned_size = 0
        self._parts: list[Part] = []
        self._last = np.zeros(0, np.int64)  # by partition: from when on its window is empty
        self._reported = Snapshots.nothing()
        self.overfull = 0

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in, in any order as long as their steps have not been reported.

        Without ``doubt`` they are certain. Larger ids win ties until ``set_ties`` says otherwise.
        Returns the places of those that wait; see
        ``core.operator.Operator``.
        """
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        doubt = batch.uncertainty
        if self._timed is None:
            self._timed = times is not None
        elif self._timed != (times is not None):
            raise CrestlineError("give times with every batch or with none")
        count = len(scores)
        if count == 0:
            return np.empty(0, np.int64)
        self._grow(1 if partitions is None else int(partitions.max()) + 1)
        if doubt is None:
            none = np.zeros(count, np.int64)
            doubt = Uncertainty(np.ones(count), none - 1, none)
        elif self.meaning.minds_rules and not self.exclusive:
            self._refuse_rules(doubt.rule)
        self._ruled = self._ruled or bool((doubt.rule >= 0).any())
        kept = self._passing(scores, times, partitions, doubt)
        step, leaves = self._steps_of(times, partitions, count, kept)
        if kept is not None:
            scores, doubt = scores[kept], doubt.take(kept)
        some = len(scores)
        floats, ints = np.empty((FLOATS, some)), np.empty((INTS, some), np.int64)
        floats[SCORE], floats[CHANCE] = scores, doubt.probability
        ints[RULE], ints[GROUP], ints[LEAVES] = doubt.rule, doubt.group, leaves
        if number_from is not None:
            ints[ID] = np.arange(number_from, number_from + some)
        else:
            ints[ID] = self.seen + (np.arange(some) if kept is None else kept)
        ints[TIE] = ints[ID]
        self.seen += count
        part = np.zeros(some, np.int64) if partitions is None else np.asarray(partitions)
        if len(self._wait_step) == 0:
            self._wait, self._wait_partition, self._wait_step = (floats, ints), part, step
        else:
            self._wait = (
                np.concatenate((self._wait[0], floats), axis=1),
                np.concatenate((self._wait[1], ints), axis=1),
            )
            self._wait_partition = np.concatenate((self._wait_partition, part))
            self._wait_step = np.concatenate((self._wait_step, step))
        return np.arange(count) if kept is None else kept

    def _passing(
        self, scores: Floats, times: Ints | None, partitions: Ints | None, doubt: Uncertainty
    ) -> Ints | None:
        """The places of the records that have to wait; None: all of them."""
        return None

    def _steps_of(
        self, times: Ints | None, partitions: Ints | None, count: int, kept: Ints | None
    ) -> tuple[Ints, Ints]:
        """The step at which each record arrives and the one at which it leaves; where only some are
        ``kept``, of those."""
        panes = self.panes
        if times is not None:
            at = np.ascontiguousarray(times, np.int64)
            earliest = int(at[0] if is_ascending(at) else at.min())
        elif partitions is not None:
            at, earliest = count_positions(np.asarray(partitions), self._counts), 0
        else:
            at, earliest = self._counts[0] + (np.arange(count) if kept is None else kept), 0
            self._counts[0] += count
        if panes.on_arrival:
            step = at if self._timed else at + 1
            leaves = np.full(count, NEVER) if self.window is None else step + self.window
        else:
            pane = at // panes.length
            step = pane // panes.slide + 1
            leaves = np.full(len(at), NEVER)
            if not panes.unbounded:
                leaves = (pane + panes.width) // panes.slide + 1
        if self._timed and self._step_at(earliest) <= self._closed:
            raise CrestlineError(
                f"a record at {earliest} came after windows up to"
                f" {self._end_of(self._closed)} had been reported"
            )
        return step, leaves

    def _step_at(self, time: int) -> int:
        """The first step that a record of this time takes part in."""
        panes = self.panes
        return time if panes.on_arrival else time // panes.length // panes.slide + 1

    def _end_of(self, step: int) -> int:
        panes = self.panes
        return step if panes.on_arrival else step * panes.slide * panes.length

    def _grow(self, partitions: int) -> None:
        more = partitions - len(self._parts)
        if more > 0:
            self._counts = np.concatenate((self._counts, np.zeros(more, np.int64)))
            self._last = np.concatenate((self._last, np.full(more, LONG_AGO)))
            self._parts += [self._new_part() for _ in range(more)]

    def _new_part(self) -> Part:
        return WindowPart() if self.keeps_all else self.part()

    def _refuse_rules(self, rule: Ints) -> None:
        if (rule >= 0).any():
            raise CrestlineError(
                f"{self.semantics} keeps more where records exclude one another: say so with"
                " exclusive=True"
            )

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that ``prune`` is worth its while."""
        return len(self._wait_step) > max(2 * self._pruned_size, _PRUNE_AT_LEAST)

    def prune(self) -> None:
        """Forget what waits and is not in the compact set of its pane; ties must be known."""
        count = len(self._wait_step)
        if count and not self.keeps_all and self._has_units:
            # Records of one step leave at one of two steps, one after the other.
            unit = self._wait_step * 2 + (self._wait[1][LEAVES] & 1)
            order = self._rank_order(unit)
            kept = order[prune_units(self._setting, *self._wait, self._wait_partition, unit, order)]
            self._wait = self._wait[0][:, kept], self._wait[1][:, kept]
            self._wait_partition = self._wait_partition[kept]
            self._wait_step = self._wait_step[kept]
        self._pruned_size = len(self._wait_step)

    @property
    def _has_units(self) -> bool:
        """Whether several records can leave together."""
        return self._timed is True or self.panes.length > 1 or self.panes.unbounded

    def _rank_order(self, stage: Ints) -> Ints:
        """Places by partition, stage and rank."""
        floats, ints = self._wait
        if len(stage) < 2 or (len(self._parts) == 1 and (stage[1:] > stage[:-1]).all()):
            return np.arange(len(stage))
        return rank_order(self._wait_partition, stage, floats[SCORE], ints[TIE])

    # -- answers out --------------------------------------------------------------------------

    @property
    def _setting(self) -> Setting:
        every = not self.panes.on_arrival
        threshold = float(self.threshold or 0.0)
        kind = self.meaning.kind
        if self.exclusive and self.meaning.kind_with_rules is not None:
            kind = self.meaning.kind_with_rules
        asked = kind, self.k, threshold, every, self.only_changes
        weigh = weighing(kind, self._ruled)
        return *asked, weigh.address(), PICK.address(), every is False or self.panes.slide == 1

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``."""
        if self._timed and to is None:
            raise CrestlineError("a window on time needs the time to advance to")
        panes = self.panes
        if self._timed is not True or to is None:
            until = self._counts // (panes.length * panes.slide)
        else:
            limit = to if panes.on_arrival else to // panes.length // panes.slide
            until = np.full(len(self._parts), limit, np.int64)
            self._closed = max(self._closed, limit)
        arrived, starts, steps = self._take_due(until)
        active = np.diff(starts) > 0
        if self._setting[3]:
            active |= self._last > LONG_AGO  # a window that is not empty is due at every step
        reported = [
            self._run(int(p), arrived, steps, int(starts[p]), int(starts[p + 1]), int(until[p]))
            for p in np.flatnonzero(active)
        ]
        return self._collect(np.flatnonzero(active), reported)

    def _take_due(self, until: Ints) -> tuple[List, Ints, Ints]:
        """Remove the records whose steps are due, in the order of partition, step and rank; where
        each partition's begin; their steps."""
        due = self._wait_step <= until[self._wait_partition]
        order = self._rank_order(self._wait_step)
        rest = np.flatnonzero(~due)
        order = order[due[order]] if len(rest) else order
        floats, ints = self._wait
        seen = ints[LEAVES, order] > self._wait_step[order]  # else it is in no window at all
        order = order[seen] if not seen.all() else order
        ascending = len(order) == len(due) and is_ascending(order)
        arrived = (floats, ints) if ascending else (floats[:, order], ints[:, order])
        steps = self._wait_step if ascending else self._wait_step[order]
        counts = np.bincount(self._wait_partition[order], minlength=len(self._parts))
        self._wait = floats[:, rest], ints[:, rest]
        self._wait_partition = self._wait_partition[rest]
        self._wait_step = self._wait_step[rest]
        self._pruned_size = len(rest)
        return arrived, np.concatenate(([0], np.cumsum(counts))), steps

    def _run(self, p: int, arrived: List, steps: Ints, start: int, stop: int, until: int) -> Told:
        part = self._parts[p]
        floats, ints = arrived
        whole = stop - start == floats.shape[1]
        mine = arrived if whole else (_own(floats[:, start:stop]), _own(ints[:, start:stop]))
        before = part.overfull
        told = part.run(self._setting, mine, steps[start:stop], until, nothing_told())
        self._last[p] = part.last if part.last > until else LONG_AGO
        self.overfull += part.overfull - before
        return told

    def _collect(self, partitions: Ints, told: list[Told]) -> Snapshots:
        if not told:
            return Snapshots.nothing()
        snapshots, steps, ids, numbers = gathered(told)
        panes = self.panes
        end = steps[0] if panes.on_arrival else steps[0] * (panes.slide * panes.length)
        reported = Snapshots.of(
            np.repeat(partitions, snapshots), end, steps[1], ids, numbers[0], numbers[1]
        )
        if len(reported):
            self._reported = reported
        return reported

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        """``advance``, in portions of about ``_PORTION`` result rows."""
        panes = self.panes
        if self._timed is not True or to is None or panes.on_arrival or self.only_changes:
            yield self.advance(to)
            return
        portion = max(1, _PORTION // (self.k * max(1, len(self._parts))))
        goal = to // panes.length // panes.slide
        while True:
            waiting = int(self._wait_step.min()) if len(self._wait_step) else NEVER
            start = (
                self._closed
                if (self._last > self._closed).any()
                else max(self._closed, waiting - 1)
            )
            if start + portion >= goal:
                break
            yield self.advance(self._end_of(start + portion))
        yield self.advance(to)

    def top(self, partition: int = 0) -> Ints:
        """The ids of the partition's snapshot in the latest report, best first."""
        return self._reported.latest_of(partition)

    # -- merging ------------------------------------------------------------------------------

    def merge(self, other: Self) -> None:
        """Take over what another synopsis of the same query keeps, of a disjoint part of the same
        windows: both must have come equally far, and ids and rules must mean the same in both.

        What is kept of both parts holds the compact set of every suffix of their union (see the
        proof above), so it is enough to go through those records once more.
        """
        if self._closed != other._closed:
            raise CrestlineError("synopses that are merged must have come equally far")
        self._grow(len(other._parts))
        other._grow(len(self._parts))
        for p, (mine, theirs) in enumerate(zip(self._parts, other._parts, strict=True)):
            self._parts[p] = self._together(mine, theirs)
            self._last[p] = max(self._last[p], other._last[p])
        self._wait = (
            np.concatenate((self._wait[0], other._wait[0]), axis=1),
            np.concatenate((self._wait[1], other._wait[1]), axis=1),
        )
        self._wait_partition = np.concatenate((self._wait_partition, other._wait_partition))
        self._wait_step = np.concatenate((self._wait_step, other._wait_step))
        self._timed = other._timed if self._timed is None else self._timed
        self.seen += other.seen

    def _together(self, mine: Part, theirs: Part) -> Part:
        """A fresh part that has seen the records of both, unit by unit, and told nothing."""
        lists = mine.everything(), theirs.everything()
        floats = np.concatenate([f for f, _ in lists], axis=1)
        ints = np.concatenate([i for _, i in lists], axis=1)
        order = np.lexsort((-ints[TIE], -floats[SCORE], ints[LEAVES]))
        fresh = self._new_part()
        done = int(max(mine.meta[DONE], theirs.meta[DONE]))
        if ints.shape[1]:
            # Steps of their own, one a unit, all of them before the next real one.
            _, unit = np.unique(ints[LEAVES, order], return_inverse=True)
            steps = done - int(unit[-1]) + unit
            kind, k, threshold, _, _, weigh, pick, together = self._setting
            replayed: Setting = (kind, k, threshold, False, True, weigh, pick, together)
            fresh.run(replayed, (floats[:, order], ints[:, order]), steps, done, nothing_told())
        fresh.meta[DONE], fresh.meta[STALE] = done, 1
        return fresh

    # -- ids, ties, partitions ----------------------------------------------------------------

    @property
    def candidates(self) -> int:
        """How many records are kept, waiting ones included."""
        return len(self.ids())

    @property
    def space(self) -> int:
        """How many records are written down, as the paper counts: also those in several sets."""
        return len(self._wait_step) + sum(part.space for part in self._parts)

    def ids(self) -> Ints:
        return np.concatenate([self._wait[1][ID], *(part.ids() for part in self._parts)])

    def rename(self, places: Ints) -> None:
        self._wait[1][ID] = places[self._wait[1][ID]]
        for part in self._parts:
            part.rename(places)

    def set_ties(self, ties: Ints) -> None:
        self._wait[1][TIE] = ties[self._wait[1][ID]]
        for part in self._parts:
            part.set_ties(ties)

    def set_codes(self, rule: Ints, group: Ints) -> None:
        ints = self._wait[1]
        ints[RULE], ints[GROUP] = rule[ints[ID]], group[ints[ID]]
        for part in self._parts:
            part.set_codes(rule, group)

    def live_partitions(self) -> Bools | None:
        if self._timed is not True:
            return None
        live = self._last > LONG_AGO
        live[self._wait_partition] = True
        if self.only_changes:
            live |= np.array([part.meta[SHOWN] > 0 for part in self._parts], np.bool_)
        return live

    def keep_partitions(self, kept: Ints) -> None:
        places = np.full(len(self._parts), -1)
        places[kept] = np.arange(len(kept))
        self._wait_partition = places[self._wait_partition]
        self._counts, self._last = self._counts[kept], self._last[kept]
        self._parts = [self._parts[p] for p in kept]

    def notes(self) -> dict[str, Any]:
        return {}

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        parts = [part.state() for part in self._parts]
        names = list(parts[0]) if parts else []
        return {
            "k": self.k,
            "window": self.window,
            "slide": self.slide,
            "only_changes": self.only_changes,
            "semantics": self.semantics,
            "threshold": self.threshold,
            "summed": self.summed,
            "seen": self.seen,
            "timed": self._timed,
            "exclusive": self.exclusive,
            "closed": int(self._closed),
            "overfull": self.overfull,
            "counts": self._counts,
            "last": self._last,
            "wait": {
                "floats": self._wait[0].ravel(),
                "ints": self._wait[1].ravel(),
                "partition": self._wait_partition,
                "step": self._wait_step,
            },
            "parts": {
                name: {
                    "sizes": np.array([len(part[name]) for part in parts], np.int64),
                    "values": np.concatenate([part[name] for part in parts]),
                }
                for name in names
            },
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        operator = cls(
            state["k"], state["window"], state["slide"], only_changes=state["only_changes"],
            semantics=state["semantics"], threshold=state["threshold"], summed=state["summed"],
            exclusive=state["exclusive"],
        )  # fmt: skip
        operator.seen, operator._timed = state["seen"], state["timed"]
        operator._ruled = True  # for all that is known
        operator._closed, operator.overfull = state["closed"], state["overfull"]
        operator._counts, operator._last = state["counts"].copy(), state["last"].copy()
        wait = state["wait"]
        operator._wait = (
            wait["floats"].reshape(FLOATS, -1).copy(),
            wait["ints"].reshape(INTS, -1).copy(),
        )
        operator._wait_partition, operator._wait_step = wait["partition"], wait["step"]
        operator._pruned_size = len(operator._wait_step)
        count = sound.length("counts", operator._counts, operator._last)
        sound.within("counts", operator._counts, 0, sound.FAR)
        sound.moments("last", operator._last, np.array([operator._closed]))
        steps, columns = operator._wait_step, (*operator._wait[0], *operator._wait[1])
        sound.length("wait", operator._wait_partition, steps, *columns)
        sound.within("wait.partition", operator._wait_partition, 0, count)
        sound.moments("wait.step", steps, operator._wait[1][LEAVES])
        sound.numbers("wait", operator._wait[0])
        fresh = operator._new_part()
        for saved in sound.divided(state["parts"], fresh.state(), count):
            operator._parts.append(type(fresh).from_state(saved))
        for part in operator._parts:
            part.sound()
        done = max((int(part.meta[DONE]) for part in operator._parts), default=LONG_AGO)
        sound.require(not operator._timed or operator._closed >= done, "closed is behind")
        return operator

    def _check(self) -> None:
        """W1: nothing waits for a step that has passed. W2: no NaN. Then the parts' invariants."""
        assert self._timed is not True or (self._wait_step > self._closed).all(), "W1"
        assert not np.isnan(self._wait[0]).any(), "W2"
        for part in self._parts:
            part.check(self._setting)


def _own(values: Any) -> Any:
    """Contiguous, which to numba is another type than a slice of columns."""
    return np.ascontiguousarray(values)


def writeable(values: Any) -> Any:
    """A copy of what is read-only, as columns from Arrow are: to numba that is another type."""
    return values if values.flags.writeable else values.copy()


__all__ = ["Synopsis", "writeable"]
