"""The stored observations and objects of one partition: arrays for kernels, which grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report
from crestline.kernels.incomplete.answers import NUMBERS, Answer, no_answer
from crestline.kernels.incomplete.guard import ENTRY, copy_guard, new_guard
from crestline.kernels.incomplete.heaps import FREE_SLOTS, STREAM, WAKE, Heaps
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

    def __init__(
        self, streams: int, *, declared: bool, guarded: bool, listed: bool, hides: bool, tight: bool
    ) -> None:
        """Arrays of a ``tight`` store grow only when they are full, and by little."""
        self.guarded, self.listed, self.tight = guarded, listed, tight
        self.meta = np.zeros(META, np.int64)
        self.meta[PASSED] = self.meta[EMPTY_FROM] = self.meta[ARRIVING] = LONG_AGO
        self.meta[ACTIVE] = (1 << streams) - 1 if declared else 0
        self.thresholds = np.full(THRESHOLDS, -np.inf)
        self.observations = _records(0, OBSERVATION)
        heaps = STREAM + streams if listed else WAKE + hides
        self.heaps = Heaps(
            np.zeros(max(heaps, STREAM), np.int64), np.empty((heaps, 0), np.int32),
            _records(0, OBJECT), _records((0, 1 + streams if listed else 0), LISTED),
        )  # fmt: skip
        self.streams = streams
        self.table = np.full(1, -1, np.int32)
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
    def live(self) -> int:
        """How many slots are in use."""
        return int(self.meta[USED] - self.heaps.size[FREE_SLOTS])

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
        count, first, repeats = rows.stop - rows.start, rows.start, 0
        self.reserve(0 if self.tight else count, len(query.rule.order))
        self._reserve_guard(count)
        refused = np.empty(count, np.int64)
        while True:
            self.answer, report, more, first = run(
                query, self.arrays, arrivals, first, rows.stop, until, self.answer, partition,
                report, refused[repeats:],
            )  # fmt: skip
            repeats += more
            if first == rows.stop:
                return report, refused[:repeats]
            self.reserve(1, self.streams)

    # -- room ---------------------------------------------------------------------------------

    def reserve(self, more: int, streams: int) -> None:
        """Make room for ``more`` observations, each of which may be of a new object."""
        if self.streams < streams:
            self._add_streams(streams)
        if self.meta[TAIL] + more > len(self.observations):
            self._move_observations(more)
        if self.live + more > len(self.objects):
            self._resize_objects(_grown(self.live + more))

    def _reserve_guard(self, more: int) -> None:
        meta = self.meta
        if self.guarded and 3 * (meta[GUARDED] + more) > 2 * len(self.guard):
            live = int((self.guard["until"] > meta[PASSED]).sum())
            guard = new_guard(live + live // 4 + more)
            meta[GUARDED] = copy_guard(self.guard, guard, self.passed)
            self.guard = guard

    def _add_streams(self, streams: int) -> None:
        size, slot, objects, lists = self.heaps
        more, self.streams = streams - self.streams, streams
        if not self.listed:
            return
        wider = _records((len(lists), lists.shape[1] + more), LISTED)
        wider[:, :-more] = lists
        self.heaps = Heaps(
            np.concatenate((size, np.zeros(more, np.int64))),
            np.concatenate((slot, np.empty((more, slot.shape[1]), np.int32))), objects, wider,
        )  # fmt: skip

    def _move_observations(self, more: int) -> None:
        """Move the observations to the front of an array with room for ``more``."""
        room, size = self.values + more, len(self.observations)
        free = size // (16 if self.tight else 10)  # so many at least after this move
        self.observations = self._moved(_grown(room) if room > size - free else size)

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

    def _resize_objects(self, size: int) -> None:
        """Move the objects to arrays of this size."""
        heaps = self.heaps
        entries, kept = np.empty((len(heaps.slot), size), np.int32), min(size, len(heaps.objects))
        entries[:, :kept] = heaps.slot[:, :kept]
        self.heaps = Heaps(
            heaps.size, entries, _longer(heaps.objects, size),
            _longer(heaps.lists, size if self.listed else 0),
        )  # fmt: skip
        self._fill_table()

    def trim(self, values: int, live: int) -> None:
        """Give room back that so many values and objects do not need. Lists of streams must not be
        kept."""
        values, live = max(values, self.values), max(live, self.live)
        values, live = values + values // 16 + 1, live + live // 16 + 1
        if 4 * len(self.observations) > 5 * values:
            self.observations = self._moved(values)
        if 4 * len(self.objects) > 5 * live:
            self._close_ranks()
            self._resize_objects(live)

    def _close_ranks(self) -> None:
        """Move all objects to the first slots."""
        meta, slots, heaps = self.meta, self.slots(), self.heaps
        number = np.full(int(meta[USED]), -1)
        number[slots] = np.arange(len(slots))
        heaps.objects[: len(slots)] = heaps.objects[slots]
        heaps.size[FREE_SLOTS] = 0
        for entries, count in zip(heaps.slot, heaps.size.tolist(), strict=False):
            entries[:count] = number[entries[:count]]
        head, tail, shown = int(meta[HEAD]), int(meta[TAIL]), int(meta[SHOWN])
        self.observations["slot"][head:tail] = number[self.observations["slot"][head:tail]]
        self.answer.slot[:shown] = number[self.answer.slot[:shown]]
        meta[USED] = len(slots)

    def _fill_table(self) -> None:
        """Write the table again, with two places per slot or, where memory counts less, four."""
        self.table = np.full((2 if self.tight else 4) * len(self.objects), -1, np.int32)
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


def _records(shape: int | tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Make records that kernels, and Python, can read by name."""
    fresh = np.empty(shape, dtype)
    if dtype == OBJECT:
        fresh["id"] = fresh["newest"] = -1
    elif dtype == LISTED:
        fresh["number"] = -1
    return fresh.view(np.recarray)


def _grown(count: int) -> int:
    """Return the size of an array that is to grow to this number of entries: an eighth more, so
    that the cost of copying stays in proportion and little is unused."""
    return count + max(8, count // 8)


def _longer(records: Any, size: int) -> Any:
    """Return the records in an array of this size; what does not fit is left out."""
    fresh, kept = _records((size, *records.shape[1:]), records.dtype), min(size, len(records))
    fresh[:kept] = records[:kept]
    return fresh


def _plain(values: Any) -> Any:
    """Return the values as a state may hold them: 64 bits per number."""
    dtype = np.float64 if values.dtype == np.float64 else np.int64
    return np.ascontiguousarray(values, dtype)
