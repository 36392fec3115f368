"""What is stored for one partition: arrays for the kernels, which grow as they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.incomplete.combine import Rule, Terms
from crestline.kernels.incomplete.guard import ENTRY, copy_guard, new_guard
from crestline.kernels.incomplete.objects import (
    FREE,
    LISTED,
    OBJECT,
    SIZES,
    STREAM,
    USED,
    enter_all,
)
from crestline.kernels.incomplete.observations import (
    ACTIVE,
    ARRIVING,
    DONE,
    GUARDED,
    HEAD,
    LAST,
    META,
    NUMBERS,
    OBSERVATION,
    SHOWN,
    TAIL,
    Setting,
    Shown,
    rebuild,
)
from crestline.kernels.incomplete.sketches import BITS, MAPS, new_stamps
from crestline.types import Ints

#: What is told of observations and objects in a state: the rest is found again.
_OBSERVED = ("value", "leaves", "at", "slot", "stream")
_OBJECTS = ("high", "low", "code", "id", "hidden", "seen", "shown")
#: Entries of ``edge``: see ``kernels.incomplete.observations`` and
# ``kernels.incomplete.sorted_lists``.
_EDGE = 6


class Part:
    """The stored observations and objects of a partition; see
    ``kernels.incomplete.observations``."""

    def __init__(
        self, streams: int, *, known: bool, guarded: bool, listed: bool, sketched: bool
    ) -> None:
        self.guarded, self.listed, self.sketched = guarded, listed, sketched
        self.meta = np.zeros(META, np.int64)
        self.meta[DONE] = self.meta[LAST] = self.meta[ARRIVING] = LONG_AGO
        self.meta[ACTIVE] = (1 << streams) - 1 if known else 0
        self.edge = np.full(_EDGE, -np.inf)
        self.edge[-2:] = 0
        self.stored, self.objects = _records(0, OBSERVATION), _records(0, OBJECT)
        self.lists = _records((0, streams), LISTED)
        self.heaps = np.empty((STREAM + (streams if listed else 0), 0), np.int64)
        self.table = np.full(16, -1, np.int32)
        self.guard = new_guard(16 if guarded else 0)
        self.stamps = new_stamps(streams if sketched else 0)
        none = np.empty(0, np.int64)
        self.shown = Shown(none, none, np.empty((NUMBERS, 0)))
        self.swept = 0  # values stored when it was last looked what can be forgotten
        self.chances = np.empty((0, 0))  # see ``incomplete.correlated``
        self.estimated = -1  # and how many values had come when they were estimated
        self.sums, self.counts = np.zeros(streams), np.zeros(streams)  # of shares, by stream
        if listed:
            self.meta = np.concatenate((self.meta, np.zeros(streams, np.int64)))

    @property
    def values(self) -> int:
        """How many values are stored."""
        return int(self.meta[TAIL] - self.meta[HEAD])

    @property
    def last(self) -> int:
        """The step from which on the window is empty."""
        return int(self.meta[LAST])

    def slots(self) -> Ints:
        """The slots that are in use."""
        return np.flatnonzero(self.objects["id"][: self.meta[USED]] >= 0)

    def ids(self) -> Ints:
        return np.asarray(self.objects["id"][self.slots()])

    def rename(self, places: Ints) -> None:
        slots, ids = self.slots(), self.objects["id"]
        ids[slots] = places[ids[slots]]
        shown = slice(0, int(self.meta[SHOWN]))
        self.shown.id[shown] = ids[self.shown.slot[shown]]

    # -- room ---------------------------------------------------------------------------------

    def reserve(self, more: int, streams: int) -> None:
        """Make room for so many observations more, each of which may be of a new object."""
        meta = self.meta
        if self.lists.shape[1] < streams:
            self._add_streams(streams)
        if meta[TAIL] + more > len(self.stored):
            self._move_observations(more)
        if meta[USED] - meta[FREE] + more > len(self.objects):
            self._add_objects(int(meta[USED]) + more)
        if self.guarded and 3 * (meta[GUARDED] + more) > 2 * len(self.guard):
            live = int((self.guard["until"] > meta[DONE]).sum())
            guard = new_guard(live + live // 4 + more)
            meta[GUARDED] = copy_guard(self.guard, guard, int(meta[DONE]))
            self.guard = guard

    def _add_streams(self, streams: int) -> None:
        more = streams - self.lists.shape[1]
        wider = _records((len(self.lists), streams), LISTED)
        wider["place"] = -1
        wider[:, :-more] = self.lists
        self.lists = wider
        if self.listed:
            self.meta = np.concatenate((self.meta, np.zeros(more, np.int64)))
            fresh = np.empty((more, self.heaps.shape[1]), np.int64)
            self.heaps = np.concatenate((self.heaps, fresh))
        if self.sketched:
            self.stamps = np.concatenate((self.stamps, new_stamps(more)))

    def _move_observations(self, more: int) -> None:
        """To the front, with room behind them."""
        meta, objects = self.meta, self.objects
        head, tail = int(meta[HEAD]), int(meta[TAIL])
        room = tail - head + more
        size = len(self.stored) if 2 * room <= len(self.stored) else 2 * room
        moved = _records(size, OBSERVATION)
        moved[: tail - head] = self.stored[head:tail]
        moved["older"][: tail - head] -= head
        newest = objects["newest"]
        newest[:] = np.where(newest >= head, newest - head, -1)
        meta[HEAD], meta[TAIL] = 0, tail - head
        self.stored = moved

    def _add_objects(self, count: int) -> None:
        known = len(self.objects)
        size = max(2 * known, count, 16)
        objects = _records(size, OBJECT)
        objects[:known] = self.objects
        heaps = np.empty((len(self.heaps), size), np.int64)
        heaps[:, :known] = self.heaps
        self.objects, self.heaps = objects, heaps
        self.table = np.full(1 << (2 * size - 1).bit_length(), -1, np.int32)
        enter_all(self.meta, objects, self.table)
        if self.listed:
            lists = _records((size, self.lists.shape[1]), LISTED)
            lists[:known] = self.lists
            self.lists = lists

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Arrays of one dimension, by name; what can be found again from them is left out."""
        meta = self.meta[:META].copy()
        stored, slots = self.stored[int(meta[HEAD]) : int(meta[TAIL])], self.slots()
        number = np.full(int(meta[USED]) + 1, -1)
        number[slots] = np.arange(len(slots))
        state: dict[str, Any] = {"edge": self.edge}
        for name in _OBSERVED:
            state[name] = _plain(stored[name])
        state["slot"] = number[stored["slot"]]
        for name in _OBJECTS:
            state[name] = _plain(self.objects[name][slots])
        guard = self.guard[self.guard["until"] > meta[DONE]]
        for name in ENTRY.names or ():
            state[f"guard.{name}"] = _plain(guard[name])
        meta[HEAD], meta[TAIL], meta[USED], meta[FREE] = 0, len(stored), len(slots), 0
        meta[GUARDED], meta[SIZES : SIZES + STREAM] = len(guard), 0
        state["meta"], state["stamps"] = meta, self.stamps.ravel()
        state["sums"], state["counts"] = self.sums, self.counts
        count = int(meta[SHOWN])
        state["shown.slot"] = number[self.shown.slot[:count]]
        state["shown.id"] = self.shown.id[:count]
        state["shown.numbers"] = self.shown.numbers[:, :count].ravel()
        return state

    def restore(self, state: dict[str, Any], setting: Setting, rule: Rule, terms: Terms) -> None:
        """Become the part whose ``state()`` this was; it must be fresh."""
        meta = state["meta"]
        used, count = int(meta[USED]), len(state["value"])
        self._sound(state, used, count, len(terms.order))
        self.reserve(max(count, used), len(terms.order))
        for name in _OBSERVED:
            self.stored[name][:count] = state[name]
        for name in _OBJECTS:
            self.objects[name][:used] = state[name]
        if self.guarded:
            saved = np.empty(len(state["guard.until"]), ENTRY)
            for name in ENTRY.names or ():
                saved[name] = state[f"guard.{name}"]
            self.guard = new_guard(max(16, 2 * len(saved)))
            copy_guard(saved.view(np.recarray), self.guard, int(meta[DONE]))
        self.meta[:META] = meta
        self.edge[:3] = state["edge"][:3]  # where lists are kept, they are made anew
        self.stamps = state["stamps"].reshape(-1, MAPS, BITS).copy()
        numbers = state["shown.numbers"].reshape(NUMBERS, -1).copy()
        self.shown = Shown(state["shown.slot"].copy(), state["shown.id"].copy(), numbers)
        self.swept = count
        self.sums, self.counts = state["sums"].copy(), state["counts"].copy()
        rebuild(
            setting, rule, terms, self.meta, self.edge, self.stored, self.objects, self.lists,
            self.heaps, self.table,
        )  # fmt: skip

    def _sound(self, state: dict[str, Any], used: int, count: int, streams: int) -> None:
        """Refuse what a kernel would look for outside its arrays."""
        meta = state["meta"]
        sound.length("meta", meta, of=META)
        sound.moments("meta", meta)
        sound.length("observations", *(state[name] for name in _OBSERVED), of=count)
        sound.length("objects", *(state[name] for name in _OBJECTS), of=used)
        sound.require((meta[HEAD], meta[TAIL], meta[FREE]) == (0, count, 0), "meta counts others")
        sound.require(not meta[SIZES:].any(), "heaps are not empty")
        sound.require(0 <= int(meta[ACTIVE]) < 1 << streams, "others are active")
        sound.within("slot", state["slot"], 0, used)
        sound.within("stream", state["stream"], 0, streams)
        sound.within("id", state["id"], 0, sound.FAR)
        sound.within("shown", state["shown"], 0, 1 << 31)
        sound.moments("times", state["leaves"], state["at"], state["hidden"])
        sound.numbers("value", state["value"])
        shown = sound.length("shown", state["shown.slot"], state["shown.id"], of=int(meta[SHOWN]))
        sound.within("shown.slot", state["shown.slot"], -1, used)
        sound.length("shown.numbers", state["shown.numbers"], of=NUMBERS * shown)
        guard = [state[f"guard.{name}"] for name in ENTRY.names or ()]
        sound.length("guard", *guard, of=int(meta[GUARDED]))
        sketched = streams * MAPS * BITS if self.sketched else 0
        sound.length("stamps", state["stamps"], of=sketched)
        sound.length("sums", state["sums"], state["counts"])
        sound.length("edge", state["edge"], of=_EDGE)


def _records(shape: int | tuple[int, int], kind: np.dtype[Any]) -> Any:
    """Records that kernels, and Python, can read by name."""
    fresh = np.empty(shape, kind)
    if "id" in (kind.names or ()):
        fresh["id"] = fresh["newest"] = -1
    return fresh.view(np.recarray)


def _plain(values: Any) -> Any:
    """As a state may hold it: 64 bits a number."""
    kind = np.float64 if values.dtype == np.float64 else np.int64
    return np.ascontiguousarray(values, kind)
