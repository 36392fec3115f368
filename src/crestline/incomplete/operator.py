"""What algorithms for incomplete streams have in common: records wait, steps pass, answers come.

Records wait until their step is due, in the order of their times; then the kernels store them,
partition by partition (``kernels.incomplete.observations``). What is stored differs: all of the
window (``SLA``), or what can still matter (``EAA``), or probably so (``CORRELATED``).

Invariants, which hold whenever steps have passed: I1: nothing waits for a step that has passed.
I2: every stored value is in the window. I3: values leave in the order in which they are stored, and
an object's chain of values leads through all of them. I4: scores and bounds are those of the stored
values. I5: heaps are heaps, and hold each object with values that is not hidden once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.core.snapshots import ScoreBounds, Snapshots, gathered
from crestline.core.window import unit_panes
from crestline.incomplete.combination import MOST_STREAMS, Combination
from crestline.incomplete.part import Part
from crestline.kernels.common.order import is_ascending
from crestline.kernels.incomplete.combine import Terms, outlook
from crestline.kernels.incomplete.objects import BOUND, SCORE
from crestline.kernels.incomplete.observations import (
    ACTIVE,
    ARRIVING,
    DONE,
    HEAD,
    INSTANCES,
    NUMBERS,
    TAIL,
    Arrivals,
    Setting,
    Told,
    chosen,
    gather,
    run,
)
from crestline.types import Bools, Floats, Ints

_LONG_AGO, _NEVER = -(1 << 62), 1 << 62
#: Records handed to a kernel at once, at least: arrays grow by as many.
_PIECE = 1 << 13
#: Result rows that one portion of ``advance_gradually`` may hold, roughly.
_PORTION = 1 << 20


class IncompleteOperator:
    """A continuous top-k over objects with several values; see ``core.operator.ObjectOperator``."""

    #: What ``USING`` may tell it, with the defaults.
    OPTIONS: ClassVar[Mapping[str, float | None]] = {"once": False}
    #: Whether objects are found in sorted lists.
    listed: ClassVar[bool] = False
    #: Whether values are forgotten before they leave the window.
    forgets: ClassVar[bool] = False
    #: Whether what is forgotten is certain not to matter.
    hides: ClassVar[bool] = True
    #: Whether sketches of the streams are kept.
    sketched: ClassVar[bool] = False

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
        """As ``certain.steps.StepOperator``; ``combination`` says what is combined and how. If it
        is ``trusting``, nothing is remembered of values that were forgotten: a repeat of such a
        value is taken for a first one."""
        if k < 1:
            raise CrestlineError(f"k must be at least 1, not {k}")
        if trusting and not combination.grows:
            raise CrestlineError(
                "trusting needs scores that only grow as values come: declare their range, and"
                " make repeats one by MAX, or by SUM where none is negative"
            )
        self.k, self.window, self.slide = k, window, slide
        self.combination, self.only_changes, self.trusting = combination, only_changes, trusting
        self.panes = unit_panes(window, slide)
        self.seen = 0
        self._timed: bool | None = None
        self._dated = False
        self._order = np.arange(combination.streams or 0)
        self._parts: list[Part] = []
        self._last = np.zeros(0, np.int64)  # by partition: from when on its window is empty
        self._closed = _LONG_AGO
        self._wait = _nothing()
        self._wait_partition = np.empty(0, np.int64)
        self._repeats: list[Ints] = []
        self._reported = Snapshots.nothing()

    # -- records in ---------------------------------------------------------------------------

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take values in, in the order of their times; all of them wait."""
        batch = Batch.of(batch)
        scores, times, partitions = batch.scores, batch.times, batch.partitions
        number_from = batch.number_from
        sighting = batch.observations
        if sighting is None:
            raise CrestlineError("say of which objects and on which streams these values are")
        if self._timed is None:
            self._timed = times is not None
        elif self._timed != (times is not None):
            raise CrestlineError("give times with every batch or with none")
        count = len(scores)
        if count == 0:
            return np.empty(0, np.int64)
        self._check_streams(sighting.stream)
        at = np.zeros(count, np.int64) if times is None else np.asarray(times, np.int64)
        if sighting.moment is not None:
            at, self._dated = np.asarray(sighting.moment, np.int64), True
        latest = int(self._wait.at[-1]) if len(self._wait.at) else _LONG_AGO
        if not is_ascending(at) or at[0] < latest or self._step_at(int(at[0])) <= self._closed:
            raise CrestlineError("values must come in the order of their times")
        first = self.seen if number_from is None else number_from
        self.seen += count
        self._grow(1 if partitions is None else int(partitions.max()) + 1)
        more = Arrivals(
            _whole(sighting.high), _whole(sighting.low), _whole(sighting.code),
            _whole(sighting.stream), np.ascontiguousarray(scores, np.float64), at,
            np.arange(first, first + count),
        )  # fmt: skip
        part = np.zeros(count, np.int64) if partitions is None else np.asarray(partitions)
        if len(self._wait.at):
            pairs = zip(self._wait, more, strict=True)
            more = Arrivals(*(np.concatenate(pair) for pair in pairs))
            part = np.concatenate((self._wait_partition, part))
        self._wait, self._wait_partition = more, part
        if len(part) >= _PIECE:
            self._take_in_early()
        return np.arange(count)

    def _take_in_early(self) -> None:
        """Store what belongs to the step that has begun, before it is due: values that do not
        matter need not wait for that. A step before which results are due is not taken yet."""
        if self._timed is not True or self.panes.on_arrival:
            return
        step = self._step_at(int(self._wait.at[0]))
        if step > self._closed + 1 and (self._last > self._closed).any():
            return
        self._closed = max(self._closed, step - 1)
        told = self._run_all(*self._take_due(step), _LONG_AGO)
        assert not any(filled[0] for _, _, _, filled in told.values())

    def _check_streams(self, stream: Ints) -> None:
        low, high = int(stream.min()), int(stream.max())
        known = self.combination.streams
        if low < 0 or high >= (MOST_STREAMS if known is None else known):
            most = MOST_STREAMS if known is None else known
            raise CrestlineError(
                f"there is a stream {low if low < 0 else high}: they are numbered from 0 to"
                f" {most - 1}"
            )
        if high >= len(self._order):  # nobody told in which order they are added up
            self._order = np.arange(high + 1)

    def set_streams(self, order: Ints) -> None:
        """The streams known by now, in the order in which their values are added up."""
        self._order = np.asarray(order, np.int64)

    def _step_at(self, time: int) -> int:
        """The first step that a record of this time takes part in."""
        if self._timed is not True:
            return _NEVER
        panes = self.panes
        return time if panes.on_arrival else time // panes.length // panes.slide + 1

    def _grow(self, partitions: int) -> None:
        more = partitions - len(self._parts)
        if more > 0:
            self._last = np.concatenate((self._last, np.full(more, _LONG_AGO)))
            self._parts += [self._new_part() for _ in range(more)]

    def _new_part(self) -> Part:
        return Part(
            len(self._order),
            known=self.combination.streams is not None,
            guarded=self.forgets and not self.trusting,
            listed=self.listed,
            sketched=self.sketched,
        )

    # -- answers out --------------------------------------------------------------------------

    @property
    def _setting(self) -> Setting:
        panes = self.panes
        width = self.window if panes.on_arrival else panes.width
        return Setting(
            self.k, self.only_changes, panes.on_arrival, self._timed is not True, self._dated,
            panes.length, width or 0, panes.slide, self.window is None, self.listed, self.hides,
        )  # fmt: skip

    @property
    def _terms(self) -> Terms:
        return Terms(self._order, np.asarray(self.combination.weights, np.float64))

    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``."""
        if self._timed and to is None:
            raise CrestlineError("a window on time needs the time to advance to")
        panes = self.panes
        until = _NEVER
        if self._timed and to is not None:
            until = to if panes.on_arrival else to // panes.length // panes.slide
            self._closed = max(self._closed, until)
        told = self._run_all(*self._take_due(until), until)
        return self._collect(np.array(list(told), np.int64), list(told.values()))

    def _run_all(self, arrived: Arrivals, partition: Ints, until: int) -> dict[int, Told]:
        """Let the partitions that have anything to do take records in and pass steps."""
        active = np.zeros(len(self._parts), np.bool_)
        active[partition] = True
        if self._timed and not self.panes.on_arrival and until > _LONG_AGO:
            active |= self._last > _LONG_AGO  # a window that is not empty is due at every step
        order = np.argsort(partition, kind="stable") if len(self._parts) > 1 else None
        starts = np.concatenate(([0], np.cumsum(np.bincount(partition, minlength=len(active)))))
        told = {}
        for p in np.flatnonzero(active).tolist():
            mine = arrived if order is None else chosen(arrived, order[starts[p] : starts[p + 1]])
            told[p] = self._run(p, mine, until)
        return told

    def _take_due(self, until: int) -> tuple[Arrivals, Ints]:
        """Remove the records whose steps are due."""
        wait, partition = self._wait, self._wait_partition
        if until == _NEVER or len(wait.at) == 0:
            due = len(wait.at)
        else:
            panes = self.panes
            end = until + 1 if panes.on_arrival else until * panes.slide * panes.length
            due = int(np.searchsorted(wait.at, end))
        self._wait = Arrivals._make(field[due:].copy() for field in wait)  # the rest can go
        self._wait_partition = partition[due:]
        return chosen(wait, slice(0, due)), partition[:due]

    def _run(self, p: int, arrived: Arrivals, until: int) -> Told:
        part, setting = self._parts[p], self._setting
        rule, terms = self.combination.rule(), self._terms
        told: Told = nothing_told()
        total, first = len(arrived.at), 0
        while first < total or first == 0:
            stop = min(total, first + self._piece(part))
            part.reserve(stop - first, len(self._order))
            refused = np.empty(stop - first, np.int64)
            limit = until if stop == total else _LONG_AGO
            part.shown, told, repeats = run(
                setting, rule, terms, part.meta, part.edge, part.stored, part.objects, part.lists,
                part.heaps, part.table, part.guard, part.stamps, arrived, first, stop, limit,
                part.shown, told, refused,
            )  # fmt: skip
            if repeats:
                self._repeats.append(arrived.id[refused[:repeats]])
            self._took_in(p, arrived, first, stop, refused[:repeats])
            self._forget(part)
            first = stop
            if first == total:
                break
        self._last[p] = part.last if part.last > part.meta[DONE] else _LONG_AGO
        return told

    def _piece(self, part: Part) -> int:
        """How many records are handed to a kernel at once."""
        return max(_PIECE, part.values)

    def _took_in(self, p: int, arrived: Arrivals, first: int, stop: int, refused: Ints) -> None:
        """Records ``first`` to ``stop`` were stored, but for those refused."""

    def _forget(self, part: Part, always: bool = False) -> None:
        """Let go of what cannot matter any more, if there is enough of it."""

    def _collect(self, partitions: Ints, told: list[Told]) -> Snapshots:
        if not told:
            return Snapshots.nothing()
        snapshots, steps, ids, numbers = gathered(told)
        panes = self.panes
        end = steps[0] if panes.on_arrival else steps[0] * (panes.slide * panes.length)
        view = ScoreBounds(numbers[1], numbers[2] > 0, numbers[3].astype(np.int64), numbers[4])
        reported = Snapshots.of(
            np.repeat(partitions, snapshots), end, steps[1], ids, numbers[0], outlook=view
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
        length = panes.slide * panes.length
        portion = max(1, _PORTION // (self.k * max(1, len(self._parts))))
        goal = to // length
        while True:
            waiting = self._step_at(int(self._wait.at[0])) if len(self._wait.at) else _NEVER
            start = self._closed
            if not (self._last > self._closed).any():
                start = max(start, waiting - 1)
            if start + portion >= goal:
                break
            yield self.advance((start + portion) * length)
        yield self.advance(to)

    def top(self, partition: int = 0) -> Ints:
        """The ids of the partition's snapshot in the latest report, best first."""
        return self._reported.latest_of(partition)

    def take_repeats(self) -> Ints:
        """The ids of the records that were repeats, since the last call."""
        found = np.concatenate([np.empty(0, np.int64), *self._repeats])
        self._repeats = []
        return found

    # -- what is kept -------------------------------------------------------------------------

    @property
    def candidates(self) -> int:
        """How many values are stored, waiting ones included."""
        return sum(part.values for part in self._parts) + len(self._wait.at)

    @property
    def instances(self) -> int:
        """How many instances of objects are kept, as Haghani et al. count."""
        if not self.forgets:
            return self.candidates
        self.prune()
        return int(sum(part.meta[INSTANCES] for part in self._parts))

    def prune(self) -> None:
        """Forget what cannot matter any more, be it ever so little."""
        for part in self._parts:
            self._forget(part, always=True)

    def ids(self) -> Ints:
        found = [part.ids() for part in self._parts]
        return np.concatenate([self._wait.id, *found])

    def rename(self, places: Ints) -> None:
        """From now on the record with id i is known as ``places[i]``."""
        self._wait = self._wait._replace(id=places[self._wait.id])
        for part in self._parts:
            part.rename(places)

    def set_ties(self, ties: Ints) -> None:
        """Ties are broken by times and codes."""

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything; None where they count their records."""
        if self._timed is not True or self.combination.streams is None:
            return None
        live = self._last > _LONG_AGO
        live[self._wait_partition] = True
        return live

    def keep_partitions(self, kept: Ints) -> None:
        places = np.full(len(self._parts), -1)
        places[kept] = np.arange(len(kept))
        self._parts = [self._parts[p] for p in kept]
        self._last = self._last[kept]
        self._wait_partition = places[self._wait_partition]

    def notes(self) -> dict[str, Any]:
        return {}

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        self.prune()
        combination = self.combination
        parts = [part.state() for part in self._parts]
        joined = {
            name: {
                "values": np.concatenate([part[name] for part in parts]),
                "sizes": np.array([len(part[name]) for part in parts], np.int64),
            }
            for name in (parts[0] if parts else {})
        }
        return {
            "k": self.k, "window": self.window, "slide": self.slide,
            "only_changes": self.only_changes, "trusting": self.trusting,
            "combination": {
                name: getattr(combination, name)
                for name in ("function", "streams", "low", "high", "repeats", "at_most", "once")
            },
            "weights": np.array(combination.weights, np.float64),
            "seen": self.seen, "timed": self._timed, "dated": self._dated, "closed": self._closed,
            "order": self._order, "last": self._last,
            "wait": {name: getattr(self._wait, name) for name in Arrivals._fields},
            "wait_partition": self._wait_partition,
            "repeats": np.concatenate([np.empty(0, np.int64), *self._repeats]),
            "parts": joined,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        told = dict(state["combination"], weights=tuple(state["weights"].tolist()))
        combination = Combination(**told)
        operator = cls(
            state["k"], state["window"], state["slide"], combination=combination,
            only_changes=state["only_changes"], trusting=state["trusting"],
        )  # fmt: skip
        operator.seen, operator._timed = state["seen"], state["timed"]
        operator._dated = state["dated"]
        operator._closed, operator._order = state["closed"], state["order"].copy()
        operator._last = state["last"].copy()
        operator._wait = Arrivals(*(state["wait"][name].copy() for name in Arrivals._fields))
        operator._wait_partition = state["wait_partition"].copy()
        operator._repeats = [state["repeats"].copy()]
        count, streams = len(operator._last), len(operator._order)
        if combination.streams is not None:
            sound.require(streams == combination.streams, "order names other streams")
        sound.require(
            sorted(operator._order.tolist()) == list(range(streams)), "order lacks streams"
        )
        sound.require(streams <= MOST_STREAMS, "order names too many streams")
        sound.length("wait", operator._wait_partition, *operator._wait)
        sound.within("wait.partition", operator._wait_partition, 0, count)
        sound.within("wait.stream", operator._wait.stream, 0, streams)
        sound.moments("wait.at", operator._wait.at, operator._last)
        sound.moments("closed", np.array([operator._closed]))
        sound.numbers("wait.value", operator._wait.value)
        for saved in sound.divided(state["parts"], operator._new_part().state(), count):
            part = operator._new_part()
            part.restore(saved, operator._setting, combination.rule(), operator._terms)
            operator._parts.append(part)
        return operator

    def _check(self) -> None:
        """Assert the invariants above."""
        if len(self._wait.at):
            assert self._step_at(int(self._wait.at[0])) > self._closed, "I1"
        for part in self._parts:
            self._check_part(part)

    def _check_part(self, part: Part) -> None:
        meta, objects = part.meta, part.objects
        head, done = int(meta[HEAD]), int(meta[DONE])
        stored = part.stored[head : meta[TAIL]]
        rule, (order, weights) = self.combination.rule(), self._terms
        assert (stored.leaves > done).all(), ("I2", stored.leaves)
        assert (np.diff(stored.leaves) >= 0).all(), ("I3", stored.leaves)
        count, total = np.zeros(len(order), np.int64), np.zeros(len(order))
        held = part.slots()
        held = held[objects["newest"][held] >= 0]
        hidden = objects["hidden"][held] > done
        assert (hidden | (objects["in_bounds"][held] >= 0)).all(), "I5"
        held = held[objects["in_bounds"][held] >= 0]
        for slot in held:
            chain, place = [], int(objects[slot].newest)
            while place >= head:
                chain.append(place)
                place = int(part.stored[place].older)
            mine = head + np.flatnonzero(stored.slot == slot)
            found = []
            # Where a step has begun, objects that were seen in it are as they will be at its end.
            for step in (done, int(max(done, meta[ARRIVING]))):
                gather(rule, meta, part.stored, int(objects[slot].newest), step, count, total)
                now, _, bound = outlook(
                    rule, order, weights, count, total, int(meta[ACTIVE]), int(objects[slot].seen)
                )
                staying = mine[part.stored["leaves"][mine] > step]
                if [i for i in chain if part.stored[i].leaves > step] == staying[::-1].tolist():
                    found.append((now, bound))
            assert found, ("I3", slot)
            assert (objects[slot].score, objects[slot].bound) in found, ("I4", slot)
        _check_heap(part, BOUND, objects["in_bounds"], objects["bound"], held)
        if not self.listed:
            _check_heap(part, SCORE, objects["in_scores"], objects["score"], held)


def _check_heap(part: Part, which: int, place: Ints, key: Floats, held: Ints) -> None:
    entries = part.heaps[which, : len(held)]
    assert sorted(entries) == held.tolist(), ("I5", which)
    assert (place[entries] == np.arange(len(held))).all(), ("I5", which)
    parents = entries[(np.arange(1, len(held)) - 1) // 2]
    assert (key[parents] >= key[entries[1:]]).all(), ("I5", which)


def _nothing() -> Arrivals:
    none = np.empty(0, np.int64)
    return Arrivals(none, none, none, none, np.empty(0), none, none)


def _whole(values: Ints) -> Ints:
    return np.ascontiguousarray(values, np.int64)


def nothing_told() -> Told:
    none = np.empty(0, np.int64)
    return np.empty((2, 0), np.int64), none, np.empty((NUMBERS, 0)), np.zeros(2, np.int64)
