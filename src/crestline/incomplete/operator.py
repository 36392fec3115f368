"""What algorithms for incomplete streams share: records wait, steps pass, answers are reported.

Records wait until their step is due, in the order of their times. Then kernels store them,
partition by partition (``kernels.incomplete.observations``). Algorithms differ in what stays
stored: all of the window (``SLA``), what can still matter (``EAA``), or what probably matters
(``CORRELATED``).

Invariants, which hold whenever steps have passed. I1: no record waits for a step that has passed.
I2: every stored value is in the window. I3: values leave in the order in which they are stored, and
an object's chain of values leads through all of them. I4: scores and bounds are those of the stored
values. I5: heaps are heaps, and hold each object with values that is not hidden exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.snapshots import ScoreBounds, Snapshots
from crestline.core.window import unit_panes
from crestline.incomplete.combination import MOST_STREAMS, Combination
from crestline.incomplete.invariants import check_store
from crestline.incomplete.queue import ObservationQueue, out_of_order
from crestline.incomplete.store import ObjectStore
from crestline.kernels.common.output import Report, new_report, written
from crestline.kernels.incomplete.answers import NUMBERS
from crestline.kernels.incomplete.store import INSTANCES, Arrivals, ObjectQuery, chosen
from crestline.operators.partitions import renumbering
from crestline.operators.records import new_ids
from crestline.operators.reporting import Reporting, portion_length, require_k
from crestline.operators.timing import Timing
from crestline.types import Bools, Floats, Ints

#: Records handed to a kernel at once, at least. Arrays grow by as many.
_PIECE = 1 << 13


class IncompleteOperator(Reporting):
    """A continuous top-k over objects with several values; see ``core.operator.ObjectOperator``."""

    #: What ``USING`` may set, with the defaults.
    OPTIONS: ClassVar[Mapping[str, float | None]] = {"once": False}
    CONFIGURATION: ClassVar[tuple[str, ...]] = (
        "k", "window", "slide", "combination", "only_changes", "trusting",
    )  # fmt: skip
    #: Whether sorted lists, instead of a heap, yield the best objects.
    listed: ClassVar[bool] = False
    #: Whether values are forgotten before they leave the window.
    forgets: ClassVar[bool] = False
    #: Whether forgotten values are certain not to matter.
    hides: ClassVar[bool] = True

    def __init__(
        self,
        k: int,
        window: int | None,
        slide: int | None = None,
        *,
        combination: Combination,
        only_changes: bool = False,
        trusting: bool = False,
    ) -> None:
        """Take the parameters of ``certain.steps.StepOperator`` and two more.

        ``combination`` says which values are combined and how. A ``trusting`` operator remembers
        nothing of forgotten values: it takes a repeat of such a value for a first one.
        """
        super().__init__()
        require_k(k)
        if trusting and not combination.grows:
            raise CrestlineError(
                "trusting needs scores that only grow as values come: declare their range, and"
                " make repeats one by MAX, or by SUM where none is negative"
            )
        self.k, self.window, self.slide = k, window, slide
        self.combination, self.only_changes, self.trusting = combination, only_changes, trusting
        self.panes = unit_panes(window, slide)
        self.seen = 0
        self._timing = Timing(self.panes)
        self._dated = False
        self._order = np.arange(combination.streams or 0)
        self._stores: list[ObjectStore] = []
        #: By partition: the step from which its window is empty; LONG_AGO if it is empty.
        self._empty_from = np.zeros(0, np.int64)
        self._waiting = ObservationQueue()
        self._repeats: list[Ints] = []

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take values in, in the order of their times; all of them wait."""
        batch = Batch.of(batch)
        observations = batch.observations
        if observations is None:
            raise CrestlineError("say of which objects and on which streams these values are")
        self._timing.settle(batch.times)
        count = len(batch)
        if count == 0:
            return np.empty(0, np.int64)
        self._check_streams(observations.stream)
        times = batch.times
        if observations.moment is not None:
            times, self._dated = observations.moment, True
        times = np.zeros(count, np.int64) if times is None else np.asarray(times, np.int64)
        if self._is_late(int(times[0])):
            raise out_of_order()
        indices = np.arange(count)
        self._waiting.add(
            batch, observations, times, new_ids(indices, self.seen, batch.number_from)
        )
        self.seen += count
        self._grow(1 if batch.partitions is None else int(batch.partitions.max()) + 1)
        if len(self._waiting) >= _PIECE:
            self._take_in_early()
        return indices

    def _is_late(self, time: int) -> bool:
        timing = self._timing
        return timing.timed is True and timing.step_of(time) <= timing.closed

    def _take_in_early(self) -> None:
        """Store the records of the step that has begun, before it is due: values that do not matter
        need not wait for that. A step before which results are due is not taken yet."""
        timing = self._timing
        if timing.timed is not True or self.panes.on_arrival:
            return
        step = timing.step_of(self._waiting.first_time)
        if step > timing.closed + 1 and (self._empty_from > timing.closed).any():
            return
        timing.closed = max(timing.closed, step - 1)
        report = self._run_all(*self._take_due(step), LONG_AGO)
        assert not report.filled.any(), "a step that has only begun has no results"

    def _check_streams(self, stream: Ints) -> None:
        low, high = int(stream.min()), int(stream.max())
        limit = self.combination.streams or MOST_STREAMS
        if low < 0 or high >= limit:
            raise CrestlineError(
                f"there is a stream {low if low < 0 else high}: they are numbered from 0 to"
                f" {limit - 1}"
            )
        if high >= len(self._order):  # the order of addition was not set
            self._order = np.arange(high + 1)

    def set_streams(self, order: Ints) -> None:
        """Set the streams seen so far, in the order in which their values are added."""
        self._order = np.asarray(order, np.int64)

    def _grow(self, partitions: int) -> None:
        """Make stores up to this number of partitions."""
        more = partitions - len(self._stores)
        if more > 0:
            self._empty_from = np.concatenate((self._empty_from, np.full(more, LONG_AGO)))
            self._stores += [self._new_store() for _ in range(more)]

    def _new_store(self) -> ObjectStore:
        return ObjectStore(
            len(self._order), declared=self.combination.streams is not None,
            guarded=self.forgets and not self.trusting, listed=self.listed,
            hides=self.forgets and self.hides, tight=self.forgets,
        )  # fmt: skip

    # -- answers out --------------------------------------------------------------------------

    @property
    def _query(self) -> ObjectQuery:
        """What is asked, for kernels."""
        panes = self.panes
        width = self.window if panes.on_arrival else panes.width
        return ObjectQuery(
            self.k, self.only_changes, panes.on_arrival, self._timing.timed is not True,
            self._dated, panes.length, width or 0, panes.slide, self.window is None, self.listed,
            self.forgets and self.hides, self.combination.rule(self._order),
        )  # fmt: skip

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``."""
        self._timing.require(to)
        until = NEVER
        if self._timing.timed and to is not None:
            until = self._timing.close(to)
        return self._reported(self._collect(self._run_all(*self._take_due(until), until)))

    def _take_due(self, until: int) -> tuple[Arrivals, Ints]:
        """Remove the records whose steps are due; return them and their partitions."""
        end = until + 1 if self.panes.on_arrival else self._timing.end_of(until)
        return self._waiting.take_before(None if until == NEVER else end)

    def _run_all(self, arrived: Arrivals, partition: Ints, until: int) -> Report:
        """Run the partitions that have records to take in or steps to pass."""
        active = np.zeros(len(self._stores), np.bool_)
        active[partition] = True
        if self._timing.timed and not self.panes.on_arrival and until > LONG_AGO:
            active |= self._empty_from > LONG_AGO  # a window that is not empty is due at every step
        order = np.argsort(partition, kind="stable") if len(self._stores) > 1 else None
        starts = np.concatenate(([0], np.cumsum(np.bincount(partition, minlength=len(active)))))
        report = new_report(NUMBERS, 0, 0)
        for p in np.flatnonzero(active).tolist():
            rows = arrived if order is None else chosen(arrived, order[starts[p] : starts[p + 1]])
            report = self._run(p, rows, until, report)
        return report

    def _run(self, p: int, arrived: Arrivals, until: int, report: Report) -> Report:
        """Let one partition take records in, piece by piece, and then pass steps."""
        store, query = self._stores[p], self._query
        total, first, ended = len(arrived.time), 0, False
        while not ended:
            rows = slice(first, min(total, first + self._piece(p)))
            ended = rows.stop == total
            limit = until if ended else LONG_AGO
            report, refused = store.run(query, arrived, rows, limit, p, report)
            if len(refused):
                self._repeats.append(arrived.id[refused])
            self._took_in(p, arrived, rows, refused)
            self._forget(p)
            first = rows.stop
        self._empty_from[p] = store.empty_from if store.empty_from > store.passed else LONG_AGO
        return report

    def _piece(self, p: int) -> int:
        """Return how many records are handed to a kernel at once."""
        return max(_PIECE, self._stores[p].values)

    def _took_in(self, p: int, arrived: Arrivals, rows: slice, refused: Ints) -> None:
        """Note that some rows were stored, except those refused."""

    def _forget(self, p: int, always: bool = False) -> None:
        """Forget values that cannot matter any more, if there are enough of them."""

    def _collect(self, report: Report) -> Snapshots:
        """Return what kernels reported as snapshots."""
        partition, step, count, _, ids, numbers = written(report)
        bounds = ScoreBounds(numbers[1], numbers[2] > 0, numbers[3].astype(np.int64), numbers[4])
        end = step if self.panes.on_arrival else step * self._timing.step_length
        return Snapshots.of(partition, end, count, ids, numbers[0], bounds=bounds)

    def _portion(self) -> int | None:
        if self._timing.timed is not True or self.panes.on_arrival or self.only_changes:
            return None
        return portion_length(self.k * max(1, len(self._stores)), self._timing.step_length)

    def _next_content(self) -> int | None:
        timing = self._timing
        start = timing.closed
        if not (self._empty_from > timing.closed).any():
            if not len(self._waiting):
                return None
            start = max(start, timing.step_of(self._waiting.first_time) - 1)
        return timing.end_of(start)

    def take_repeats(self) -> Ints:
        """Return the ids of the records that were repeats, since the last call."""
        repeats, self._repeats = self._repeats, []
        return _joined(repeats)

    # -- what is kept -------------------------------------------------------------------------

    @property
    def candidates(self) -> int:
        """How many values are stored, waiting ones included."""
        return sum(store.values for store in self._stores) + len(self._waiting)

    @property
    def instances(self) -> int:
        """How many instances of objects are kept, as Haghani et al. count."""
        if not self.forgets:
            return self.candidates
        self.prune()
        return int(sum(store.meta[INSTANCES] for store in self._stores))

    def prune(self) -> None:
        """Forget all values that cannot matter any more, however few."""
        for p in range(len(self._stores)):
            self._forget(p, always=True)

    def ids(self) -> Ints:
        return np.concatenate([self._waiting["id"], *(store.ids() for store in self._stores)])

    def rename(self, new_ids: Ints) -> None:
        """Replace every id i by ``new_ids[i]``."""
        self._waiting.rename(new_ids)
        for store in self._stores:
            store.rename(new_ids)

    def set_ties(self, ties: Ints) -> None:
        """Ties are broken by times and codes."""

    def live_partitions(self) -> Bools | None:
        """Return which partitions hold anything; None where they count their records."""
        if self._timing.timed is not True or self.combination.streams is None:
            return None
        live = self._empty_from > LONG_AGO
        live[self._waiting["partition"]] = True
        return live

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which are renumbered in this order."""
        self._waiting.renumber_partitions(renumbering(kept, len(self._stores)))
        self._stores = [self._stores[p] for p in kept]
        self._empty_from = self._empty_from[kept]

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        self.prune()
        stores = [store.state() for store in self._stores]
        joined = {
            name: {
                "values": np.concatenate([store[name] for store in stores]),
                "sizes": np.array([len(store[name]) for store in stores], np.int64),
            }
            for name in (stores[0] if stores else {})
        }
        return self._configuration() | {
            "combination": self.combination.state(), "seen": self.seen,
            "timed": self._timing.timed, "dated": self._dated, "closed": self._timing.closed,
            "order": self._order, "empty_from": self._empty_from,
            "waiting": self._waiting.state(), "repeats": _joined(self._repeats), "stores": joined,
        }  # fmt: skip

    @classmethod
    def _configured(cls, state: dict[str, Any]) -> Self:
        combination = Combination.from_state(state["combination"])
        return super()._configured(state | {"combination": combination})

    def _restore(self, state: dict[str, Any]) -> None:
        self.seen, self._dated = state["seen"], state["dated"]
        self._timing.timed, self._timing.closed = state["timed"], state["closed"]
        self._order, self._empty_from = state["order"].copy(), state["empty_from"].copy()
        self._waiting.restore(state["waiting"])
        self._repeats = [state["repeats"].copy()]
        self._require_sound()
        partitions = len(self._empty_from)
        for saved in sound.divided(state["stores"], self._new_store().state(), partitions):
            store = self._new_store()
            store.restore(saved, self._query)
            self._stores.append(store)

    def _require_sound(self) -> None:
        """Refuse a state that would make a kernel leave its arrays."""
        streams = len(self._order)
        if self.combination.streams is not None:
            sound.require(streams == self.combination.streams, "order names other streams")
        sound.require(sorted(self._order.tolist()) == list(range(streams)), "order lacks streams")
        sound.require(streams <= MOST_STREAMS, "order names too many streams")
        sound.moments("closed", np.array([self._timing.closed]), self._empty_from)
        self._waiting.require_sound(len(self._empty_from), streams)

    def _check(self) -> None:
        """Assert the invariants above."""
        if len(self._waiting):
            assert not self._is_late(self._waiting.first_time), "I1"
        for store in self._stores:
            self._check_store(store)

    def _check_store(self, store: ObjectStore) -> None:
        check_store(store, self._query)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *parts])
