"""What TMA and SMA share: the whole window in a grid, and a view above it.

Mouratidis, Bakiras, Papadias (SIGMOD 2006), the rivals of Yang et al. See ``kernels.certain.grid``
for the structures. Invariants, checked by ``_check``:
  G1  the grid holds exactly the records of the window, each in the cell of its score;
  G2  the view is sorted best first and its records are alive;
  G3  the view's first k are the top k of the window (TMA: the view is exactly those).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crestline.certain.steps import StepOperator
from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.grid import advance_grid
from crestline.operators.waiting import Waiting
from crestline.types import Ints

_NONE = -1


class GridOperator(StepOperator):
    """A grid of all records, FIFO cells, and a sorted view for each partition."""

    prunes = False
    skyband: ClassVar[bool]
    #: Whether the view is computed once there are k records, rather than ever again while the
    #: window fills.
    at_once: ClassVar[bool] = False
    #: Cells of all partitions together; a partition has at least ``LEAST_CELLS``.
    CELLS, LEAST_CELLS = 4096, 4
    _BY_SLOT = ("score", "tie", "pane", "dominators", "cell_next", "age_next", "id")
    _BY_PARTITION = ("oldest", "newest", "alive", "threshold", "done", "filling", "shown")
    _OTHER = ("free", "cell_first", "cell_last", "view_from", "views")

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False
    ) -> None:
        super().__init__(k, window, slide, only_changes=only_changes)
        #: How often a view was built anew from the grid.
        self.recomputed = 0
        none = np.empty(0, np.int64)
        self._score = np.empty(0)
        self._tie = self._pane = self._dominators = self._id = none
        self._cell_next = self._age_next = self._free = none
        self._oldest = self._newest = self._alive = self._done = self._filling = none
        self._threshold = np.empty(0)
        self._shown = np.empty(0, np.bool_)
        self._view_from, self._views = np.zeros(1, np.int64), none
        self._cells = 0
        self._cell_first = self._cell_last = none
        self._low, self._scale = 0.0, 0.0

    def _grow_partitions(self, more: int) -> None:
        zeros = np.zeros(more, np.int64)
        self._oldest = np.concatenate((self._oldest, zeros))
        self._newest = np.concatenate((self._newest, zeros))
        self._alive = np.concatenate((self._alive, zeros))
        # Until the first view is computed, everything belongs into it, or nothing.
        least = -np.inf if self.at_once else np.inf
        self._threshold = np.concatenate((self._threshold, np.full(more, least)))
        self._done = np.concatenate((self._done, np.full(more, LONG_AGO)))
        self._filling = np.concatenate((self._filling, zeros))
        self._shown = np.concatenate((self._shown, np.zeros(more, np.bool_)))
        self._view_from = np.concatenate((self._view_from, np.full(more, self._view_from[-1])))
        if self._cells:
            nothing = np.full(more * self._cells, _NONE)
            self._cell_first = np.concatenate((self._cell_first, nothing))
            self._cell_last = np.concatenate((self._cell_last, nothing))

    def _lay_grid(self, arrived: Waiting) -> None:
        """Cells of equal width over the range of the first scores; the outer ones are open."""
        finite = arrived.score[np.isfinite(arrived.score)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        self._cells = max(self.LEAST_CELLS, self.CELLS // self.partitions)
        self._low = low
        # Divided first: the largest numbers are further apart than a number can be.
        width = high / self._cells - low / self._cells
        self._scale = 1.0 / width if width > 0.0 else 0.0
        if not np.isfinite(self._scale):
            self._scale = 0.0
        self._cell_first = np.full(self.partitions * self._cells, _NONE)
        self._cell_last = np.full(self.partitions * self._cells, _NONE)

    def _advance(self, arrived: Waiting, offsets: Ints, until: Ints) -> Snapshots:
        if self.partitions == 0:
            return Snapshots.nothing()
        if self._cells == 0 and len(arrived):
            self._lay_grid(arrived)
        self._make_room(len(arrived))
        free = np.empty(len(self._score), np.int64)
        free[: len(self._free)] = self._free
        slots, free_count, view_from, views, partition, end, count, places, recomputed = (
            advance_grid(
                self.k,
                self.panes.width,
                self.panes.slide,
                self.panes.on_arrival,
                self.only_changes,
                self.skyband,
                self.at_once,
                self._low,
                self._scale,
                max(self._cells, 1),
                arrived.score,
                arrived.tie,
                arrived.pane,
                offsets,
                until,
                self._score,
                self._tie,
                self._pane,
                self._dominators,
                self._cell_next,
                self._age_next,
                free,
                len(self._free),
                self._cell_first,
                self._cell_last,
                self._oldest,
                self._newest,
                self._alive,
                self._threshold,
                self._done,
                self._filling,
                self._shown,
                self._view_from,
                self._views,
            )
        )
        self._id[slots] = arrived.id
        self._free = free[:free_count].copy()
        self._view_from, self._views = view_from, views
        self.recomputed += recomputed
        return Snapshots.of(partition, end, count, self._id[places], self._score[places])

    def _make_room(self, needed: int) -> None:
        missing = needed - len(self._free)
        if missing <= 0:
            return
        missing = max(missing, len(self._score))
        fresh = np.arange(len(self._score) + missing - 1, len(self._score) - 1, -1)
        self._free = np.concatenate((fresh, self._free))
        for name in self._BY_SLOT:
            old = getattr(self, f"_{name}")
            setattr(self, f"_{name}", np.concatenate((old, np.zeros(missing, old.dtype))))

    def view(self, partition: int = 0) -> tuple[Ints, float]:
        """The ids of the records above the grid, best first, and the threshold: the k-th score when
        the view was last computed."""
        part = slice(self._view_from[partition], self._view_from[partition + 1])
        return self._id[self._views[part]], float(self._threshold[partition])

    def _used(self) -> Ints:
        used = np.ones(len(self._score), np.bool_)
        used[self._free] = False
        return np.flatnonzero(used)

    def _kept_ids(self) -> Ints:
        return self._id[self._used()]

    def _rename_kept(self, places: Ints) -> None:
        used = self._used()
        self._id[used] = places[self._id[used]]

    def _set_kept_ties(self, ties: Ints) -> None:
        used = self._used()
        self._tie[used] = ties[self._id[used]]

    def _own_state(self) -> dict[str, Any]:
        names = (*self._BY_SLOT, *self._BY_PARTITION, *self._OTHER)
        own = {name: getattr(self, f"_{name}") for name in names}
        return own | {"cells": self._cells, "low": self._low, "scale": self._scale}

    def _restore_own(self, own: dict[str, Any]) -> None:
        for name, value in own.items():
            setattr(self, f"_{name}", value)
        self._sound_own()

    def _sound_own(self) -> None:
        """Refuse chains that leave the grid, go in circles or lose records, and views of others."""
        parts, cells = self.partitions, self._cells
        slots = sound.length("own", *(getattr(self, f"_{name}") for name in self._BY_SLOT))
        by_part = (getattr(self, f"_{name}") for name in self._BY_PARTITION)
        sound.length("own, by partition,", self._counts, *by_part, of=parts)
        sound.within("cells", np.array([cells]), 0, self.CELLS + self.LEAST_CELLS + 1)
        sound.length("own, by cell,", self._cell_first, self._cell_last, of=parts * cells)
        sound.require(np.isfinite((self._low, self._scale)).all(), "cells have no width")
        sound.within("own.free", self._free, 0, slots)
        sound.require(len(np.unique(self._free)) == len(self._free), "a slot is free twice")
        used = self._used()
        sound.within("own.alive", self._alive, 0, slots + 1)
        sound.require(int(self._alive.sum()) == len(used), "own.alive counts others")
        total = len(self._views)
        sound.offsets("own.view_from", self._view_from, parts, total)
        sound.require(np.isin(self._views, used).all(), "own.views shows others")
        sound.numbers("own.score", self._score[used])
        sound.moments("own.pane", self._pane[used])
        self._sound_moments("own.done", self._done, self._alive > 0)
        nothing = np.full(parts, _NONE)
        oldest = np.where(self._alive > 0, self._oldest, nothing)
        newest = np.where(self._alive > 0, self._newest, nothing)
        for first, last, following, ends in (
            (self._cell_first, self._cell_last, self._cell_next, True),
            (oldest, newest, self._age_next, False),
        ):
            found = _followed(first, last, following, slots, ends)
            sound.require(sorted(found) == used.tolist(), "a chain has lost records")

    def _check_own(self) -> None:
        used = self._used()
        assert len(used) == int(self._alive.sum()), ("G1", len(used), self._alive)
        for p in range(self.partitions):
            members = []
            for cell in range(p * self._cells, (p + 1) * self._cells):
                slot = int(self._cell_first[cell])
                while slot != _NONE:
                    members.append(slot)
                    slot = int(self._cell_next[slot])
            assert len(members) == self._alive[p], ("G1", p, members)
            view = self._views[self._view_from[p] : self._view_from[p + 1]].tolist()
            ranked = sorted(members, key=lambda s: (self._score[s], self._tie[s]), reverse=True)
            listed = sorted(view, key=lambda s: (self._score[s], self._tie[s]), reverse=True)
            assert view == listed and set(view) <= set(members), ("G2", p, view)
            assert view[: self.k] == ranked[: self.k], ("G3", p, view, ranked)
            assert self.skyband or len(view) <= self.k, ("G3", p, view)


def _followed(first: Ints, last: Ints, following: Ints, slots: int, ends: bool) -> list[int]:
    """The slots of all chains, from their first to their last; no more than there can be. Where a
    chain ``ends``, nothing follows its last."""
    sound.within("first", first, _NONE, slots)
    sound.within("last", last, _NONE, slots)
    found: list[int] = []
    for slot, goal in zip(first.tolist(), last.tolist(), strict=True):
        while slot != _NONE and len(found) <= slots:
            found.append(slot)
            if slot == goal:
                sound.require(not ends or following[slot] == _NONE, "a chain goes on")
                break
            slot = int(following[slot])
            sound.require(0 <= slot < slots, "a chain leaves the grid")
    return found
