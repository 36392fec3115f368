"""The stored observations and objects of one partition: arrays for kernels, which grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report
from crestline.kernels.incomplete.answers import NUMBERS, Answer, no_answer
from crestline.kernels.incomplete.guard import ENTRY, copy_guard, new_guard
from crestline.kernels.incomplete.heaps import FREE_SLOTS, STREAM, Heaps
from crestline.kernels.incomplete.objects import LISTED, OBJECT, enter_all
from crestline.kernels.incomplete.observations import run
from crestline.kernels.incomplete.refresh import rebuild
from crestline.kernels.incomplete.store import (
    ACTIVE,
    ARRIVING,
    EMPTY_FROM,
    FILLS,
    FLOOR,
    GUARDED,
    HEAD,
    LISTED_OBJECTS,
    META,
    OBSERVATION,
    PASSED,
    SHOWN,
    TAIL,
    THRESHOLDS,
    USED,
    Arrivals,
    ObjectQuery,
    StoreArrays,
)
from crestline.types import Ints

#: The fields of observations and objects that a state holds; the others are derived from them.
_OBSERVED = ("value", "leaves", "time", "slot", "stream")
_OBJECTS = ("high", "low", "code", "id", "hidden", "seen", "shown")


class ObjectStore:
    """The stored observations and objects of a partition; see ``kernels.incomplete.store``."""

    def __init__(self, streams: int, *, declared: bool, guarded: bool, listed: bool) -> None:
        self.guarded, self.listed = guarded, listed
        self.meta = np.zeros(META, np.int64)
        self.meta[PASSED] = self.meta[EMPTY_FROM] = self.meta[ARRIVING] = LONG_AGO
        self.meta[ACTIVE] = (1 << streams) - 1 if declared else 0
        self.thresholds = np.full(THRESHOLDS, -np.inf)
        self.observations = _records(0, OBSERVATION)
        heaps = STREAM + (streams if listed else 0)
        self.heaps = Heaps(
            np.zeros(heaps, np.int64), np.empty((heaps, 0), np.int32), _records(0, OBJECT),
            _records((0, streams), LISTED),
        )  # fmt: skip
        self.table = np.full(16, -1, np.int32)
        self.guard = new_guard(16 if guarded else 0)
        self.answer = no_answer()
        #: How many values were stored after the last sweep.
        self.swept = 0

    @property
    def arrays(self) -> StoreArrays:
        """The arrays as kernels take them."""
        return StoreArrays(
            self.meta, self.thresholds, self.observations, self.heaps, self.table, self.guard,
        )  # fmt: skip

    @property
    def objects(self) -> Any:
        return self.heaps.objects

    @property
    def values(self) -> int:
        """How many values are stored."""
        return int(self.meta[TAIL] - self.meta[HEAD])

    @property
    def streams(self) -> int:
        return int(self.heaps.lists.shape[1])

    @property
    def passed(self) -> int:
        """The last step that has passed."""
        return int(self.meta[PASSED])

    @property
    def empty_from(self) -> int:
        """The step from which the window is empty."""
        return int(self.meta[EMPTY_FROM])

    def slots(self) -> Ints:
        """Return the slots in use."""
        return np.flatnonzero(self.objects["id"][: self.meta[USED]] >= 0)

    def ids(self) -> Ints:
        return np.asarray(self.objects["id"][self.slots()])

    def rename(self, new_ids: Ints) -> None:
        """Replace every id i by ``new_ids[i]``."""
        slots, ids = self.slots(), self.objects["id"]
        ids[slots] = new_ids[ids[slots]]
        shown = slice(0, int(self.meta[SHOWN]))
        self.answer.id[shown] = ids[self.answer.slot[shown]]

    def run(
        self, query: ObjectQuery, arrivals: Arrivals, rows: slice, until: int, partition: int,
        report: Report,
    ) -> tuple[Report, Ints]:  # fmt: skip
        """Take in some rows of ``arrivals``, then pass all steps up to ``until``.

        Return the report with the snapshots that fell due, of this partition, and the rows that are
        repeats.
        """
        count = rows.stop - rows.start
        self.reserve(count, len(query.rule.order))
        refused = np.empty(count, np.int64)
        self.answer, report, repeats = run(
            query, self.arrays, arrivals, rows.start, rows.stop, until, self.answer, partition,
            report, refused,
        )  # fmt: skip
        return report, refused[:repeats]

    # -- room ---------------------------------------------------------------------------------

    def reserve(self, more: int, streams: int) -> None:
        """Make room for ``more`` observations, each of which may be of a new object."""
        meta = self.meta
        if self.streams < streams:
            self._add_streams(streams)
        if meta[TAIL] + more > len(self.observations):
            self._move_observations(more)
        needed = int(meta[USED] - self.heaps.size[FREE_SLOTS]) + more
        if needed > len(self.objects):
            self._add_objects(needed)
        if self.guarded and 3 * (meta[GUARDED] + more) > 2 * len(self.guard):
            live = int((self.guard["until"] > meta[PASSED]).sum())
            guard = new_guard(live + live // 4 + more)
            meta[GUARDED] = copy_guard(self.guard, guard, self.passed)
            self.guard = guard

    def _add_streams(self, streams: int) -> None:
        size, slot, objects, lists = self.heaps
        more = streams - self.streams
        wider = _records((len(lists), streams), LISTED)
        wider["position"] = -1
        wider[:, :-more] = lists
        if self.listed:
            size = np.concatenate((size, np.zeros(more, np.int64)))
            slot = np.concatenate((slot, np.empty((more, slot.shape[1]), np.int32)))
        self.heaps = Heaps(size, slot, objects, wider)

    def _move_observations(self, more: int) -> None:
        """Move the observations to the front of an array with room for ``more``."""
        room, size = self.values + more, len(self.observations)
        # After this move, a tenth at least is free.
        self.observations = self._moved(_grown(room) if room > size - size // 10 else size)

    def _moved(self, size: int) -> Any:
        """Return the observations at the front of an array of this size."""
        meta, newest = self.meta, self.objects["newest"]
        head, tail = int(meta[HEAD]), int(meta[TAIL])
        moved = _records(size, OBSERVATION)
        moved[: tail - head] = self.observations[head:tail]
        moved["older"][: tail - head] -= head
        newest[:] = np.where(newest >= head, newest - head, -1)
        meta[HEAD], meta[TAIL] = 0, tail - head
        return moved

    def _add_objects(self, count: int) -> None:
        counts, slots, former, lists = self.heaps
        size = _grown(count)
        objects = _records(size, OBJECT)
        objects[: len(former)] = former
        heaps = np.empty((len(slots), size), np.int32)
        heaps[:, : len(former)] = slots
        if self.listed:
            longer = _records((size, self.streams), LISTED)
            longer[: len(former)] = lists
            lists = longer
        self.heaps = Heaps(counts, heaps, objects, lists)
        self._fill_table(size)

    def trim(self, more: int) -> None:
        """Give room back that is not needed for this number of further observations. Lists of
        streams must not be kept."""
        stored, live = self.values, int(self.meta[USED] - self.heaps.size[FREE_SLOTS])
        if 4 * len(self.observations) > 5 * _grown(stored + more):
            self.observations = self._moved(_grown(stored + more))
        if 4 * len(self.objects) > 5 * _grown(live + more):
            self._close_ranks(_grown(live + more))

    def _close_ranks(self, size: int) -> None:
        """Move all objects to the first slots of arrays of this size."""
        meta, slots = self.meta, self.slots()
        counts, heaps, former, lists = self.heaps
        number = np.full(int(meta[USED]), -1)
        number[slots] = np.arange(len(slots))
        objects, entries = _records(size, OBJECT), np.empty((len(heaps), size), np.int32)
        objects[: len(slots)] = former[slots]
        counts[FREE_SLOTS] = 0
        for heap, count in enumerate(counts.tolist()):
            entries[heap, :count] = number[heaps[heap, :count]]
        head, tail, shown = int(meta[HEAD]), int(meta[TAIL]), int(meta[SHOWN])
        self.observations["slot"][head:tail] = number[self.observations["slot"][head:tail]]
        self.answer.slot[:shown] = number[self.answer.slot[:shown]]
        meta[USED] = len(slots)
        self.heaps = Heaps(counts, entries, objects, lists)
        self._fill_table(size)

    def _fill_table(self, size: int) -> None:
        self.table = np.full(1 << (2 * size - 1).bit_length(), -1, np.int32)
        enter_all(self.meta, self.objects, self.table)

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return arrays of one dimension, by name, without what can be derived from them."""
        meta = self.meta.copy()
        stored, slots = self.observations[int(meta[HEAD]) : int(meta[TAIL])], self.slots()
        number = np.full(int(meta[USED]) + 1, -1)
        number[slots] = np.arange(len(slots))
        state: dict[str, Any] = {"thresholds": self.thresholds}
        for name in _OBSERVED:
            state[name] = _plain(stored[name])
        state["slot"] = number[stored["slot"]]
        for name in _OBJECTS:
            state[name] = _plain(self.objects[name][slots])
        guard = self.guard[self.guard["until"] > meta[PASSED]]
        for name in ENTRY.names or ():
            state[f"guard.{name}"] = _plain(guard[name])
        meta[HEAD], meta[TAIL], meta[USED] = 0, len(stored), len(slots)
        meta[GUARDED], meta[LISTED_OBJECTS], meta[FILLS] = len(guard), 0, 0
        state["meta"] = meta
        count = int(meta[SHOWN])
        state["answer.slot"] = number[self.answer.slot[:count]]
        state["answer.id"] = self.answer.id[:count]
        state["answer.numbers"] = self.answer.numbers[:, :count].ravel()
        return state

    def restore(self, state: dict[str, Any], query: ObjectQuery) -> None:
        """Take over a ``state()``; the store must be fresh."""
        meta, streams = state["meta"], len(query.rule.order)
        used, count = int(meta[USED]), len(state["value"])
        self._require_sound(state, used, count, streams)
        self.reserve(max(count, used), streams)
        for name in _OBSERVED:
            self.observations[name][:count] = state[name]
        for name in _OBJECTS:
            self.objects[name][:used] = state[name]
        if self.guarded:
            saved = np.empty(len(state["guard.until"]), ENTRY)
            for name in ENTRY.names or ():
                saved[name] = state[f"guard.{name}"]
            self.guard = new_guard(max(16, 2 * len(saved)))
            copy_guard(saved.view(np.recarray), self.guard, int(meta[PASSED]))
        self.meta[:] = meta
        self.thresholds[:FLOOR] = state["thresholds"][:FLOOR]  # the view is filled again
        numbers = state["answer.numbers"].reshape(NUMBERS, -1).copy()
        self.answer = Answer(state["answer.slot"].copy(), state["answer.id"].copy(), numbers)
        self.swept = count
        rebuild(query, self.arrays)

    def _require_sound(self, state: dict[str, Any], used: int, count: int, streams: int) -> None:
        """Refuse a state that would make a kernel leave its arrays."""
        meta = state["meta"]
        sound.length("meta", meta, of=META)
        sound.moments("meta", meta)
        sound.length("observations", *(state[name] for name in _OBSERVED), of=count)
        sound.length("objects", *(state[name] for name in _OBJECTS), of=used)
        sound.require((meta[HEAD], meta[TAIL]) == (0, count), "meta counts others")
        sound.require((meta[LISTED_OBJECTS], meta[FILLS]) == (0, 0), "heaps are not empty")
        sound.require(0 <= int(meta[ACTIVE]) < 1 << streams, "others are active")
        sound.within("slot", state["slot"], 0, used)
        sound.within("stream", state["stream"], 0, streams)
        sound.within("id", state["id"], 0, sound.FAR)
        sound.within("shown", state["shown"], 0, 1 << 31)
        sound.moments("times", state["leaves"], state["time"], state["hidden"])
        sound.numbers("value", state["value"])
        shown = sound.length(
            "answer", state["answer.slot"], state["answer.id"], of=int(meta[SHOWN])
        )
        sound.within("answer.slot", state["answer.slot"], -1, used)
        sound.length("answer.numbers", state["answer.numbers"], of=NUMBERS * shown)
        guard = [state[f"guard.{name}"] for name in ENTRY.names or ()]
        sound.length("guard", *guard, of=int(meta[GUARDED]))
        sound.length("thresholds", state["thresholds"], of=THRESHOLDS)


def _grown(count: int) -> int:
    """Return the size of an array that is to grow to this number of entries: an eighth more, so
    that the cost of copying stays in proportion and little is unused."""
    return max(16, count + count // 8)


def _records(shape: int | tuple[int, int], dtype: np.dtype[Any]) -> Any:
    """Make records that kernels, and Python, can read by name."""
    fresh = np.empty(shape, dtype)
    if "id" in (dtype.names or ()):
        fresh["id"] = fresh["newest"] = -1
    return fresh.view(np.recarray)


def _plain(values: Any) -> Any:
    """Return the values as a state may hold them: 64 bits per number."""
    dtype = np.float64 if values.dtype == np.float64 else np.int64
    return np.ascontiguousarray(values, dtype)
