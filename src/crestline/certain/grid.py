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

from crestline.certain.steps import StepOperator, ranked
from crestline.core import sound
from crestline.core.sentinels import LONG_AGO, NOWHERE
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.grid import Cells, GridRule, Slots, Views, advance_grid
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records
from crestline.types import Floats, Ints

#: What is kept of the record in each slot.
_SLOT = ("tie", "pane", "dominators", "cell_next", "age_next", "id")


class GridOperator(StepOperator):
    """A grid of all records, FIFO cells, and a sorted view for each partition."""

    prunes = False
    skyband: ClassVar[bool]
    #: Whether the view is computed once there are k records, rather than again and again while the
    #: window fills.
    at_once: ClassVar[bool] = False
    #: Cells of all partitions together; a partition has at least ``LEAST_CELLS``.
    CELLS, LEAST_CELLS = 4096, 4

    def _storage(self) -> tuple[Records, PerPartition]:
        none = np.empty(0, np.int64)
        #: How often a view was rebuilt from the grid.
        self.recomputed = 0
        self._free = none
        self._views = Ragged(slot=np.int64)
        self._cells = 0
        self._cell_first = self._cell_last = none
        self._low, self._scale = 0.0, 0.0
        # Until the first view is computed, all records belong in it, or none.
        least = -np.inf if self.at_once else np.inf
        return Records(score=np.empty(0), **dict.fromkeys(_SLOT, none)), PerPartition(
            oldest=0, newest=0, alive=0, threshold=least, done=LONG_AGO, filling=0, shown=False
        )

    def _grow_partitions(self, more: int) -> None:
        super()._grow_partitions(more)
        self._views.grow(more)
        if self._cells:
            nothing = np.full(more * self._cells, NOWHERE)
            self._cell_first = np.concatenate((self._cell_first, nothing))
            self._cell_last = np.concatenate((self._cell_last, nothing))

    def _lay_grid(self, scores: Floats) -> None:
        """Make cells of equal width over the range of the first scores; the outer ones are open."""
        finite = scores[np.isfinite(scores)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
        self._cells = max(self.LEAST_CELLS, self.CELLS // self.partitions)
        self._low = low
        # Divided first: the difference of the largest numbers overflows.
        width = high / self._cells - low / self._cells
        self._scale = 1.0 / width if width > 0.0 else 0.0
        if not np.isfinite(self._scale):
            self._scale = 0.0
        self._cell_first = np.full(self.partitions * self._cells, NOWHERE)
        self._cell_last = np.full(self.partitions * self._cells, NOWHERE)

    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        if self._cells == 0 and len(arrived):
            self._lay_grid(arrived["score"])
        self._make_room(len(arrived))
        kept, own, views = self._kept, self._own, self._views
        free = np.empty(len(kept), np.int64)
        free[: len(self._free)] = self._free
        slots, free_count, view_from, viewed, report, recomputed = advance_grid(
            self._window,
            GridRule(self.skyband, self.at_once, self._low, self._scale, max(self._cells, 1)),
            ranked(arrived),
            offsets,
            until,
            Slots(*(kept[name] for name in Slots._fields)),
            free,
            len(self._free),
            Cells(self._cell_first, self._cell_last),
            Views(*(own[name] for name in Views._fields)),
            views.start,
            views["slot"],
        )
        kept["id"][slots] = arrived["id"]
        self._free = free[:free_count].copy()
        views.replace(view_from, slot=viewed)
        self.recomputed += recomputed
        return self._snapshots(report, kept)

    def _make_room(self, needed: int) -> None:
        size = len(self._kept)
        missing = needed - len(self._free)
        if missing <= 0:
            return
        missing = max(missing, size)
        fresh = np.arange(size + missing - 1, size - 1, -1)
        self._free = np.concatenate((fresh, self._free))
        for (
            name,
            values,
        ) in (
            self._kept.columns.items()
        ):  # one by one, so that the memory of each old array is used again
            self._kept[name] = np.concatenate((values, np.zeros(missing, values.dtype)))

    def view(self, partition: int = 0) -> tuple[Ints, float]:
        """Return the ids of the records above the grid, best first, and the threshold: the k-th
        score when the view was last computed."""
        slots = self._views["slot"][self._views.part(partition)]
        return self._kept["id"][slots], float(self._own["threshold"][partition])

    # -- ids, ties, state ---------------------------------------------------------------------

    def _used(self) -> Ints:
        used = np.ones(len(self._kept), np.bool_)
        used[self._free] = False
        return np.flatnonzero(used)

    def ids(self) -> Ints:
        return np.concatenate((self._wait["id"], self._kept["id"][self._used()]))

    def rename(self, new_ids: Ints) -> None:
        self._wait.rename(new_ids)
        used, ids = self._used(), self._kept["id"]
        ids[used] = new_ids[ids[used]]

    def set_ties(self, ties: Ints) -> None:
        self._wait.set_ties(ties)
        used = self._used()
        self._kept["tie"][used] = ties[self._kept["id"][used]]

    def _own_state(self) -> dict[str, Any]:
        return super()._own_state() | {
            "free": self._free,
            "cell_first": self._cell_first,
            "cell_last": self._cell_last,
            "views": self._views.state(),
            "cells": self._cells,
            "low": self._low,
            "scale": self._scale,
        }

    def _restore_own(self, own: dict[str, Any]) -> None:
        self._kept.restore(own)
        self._own.restore(own)
        self._views.restore(own["views"])
        self._free, self._cells = own["free"], own["cells"]
        self._cell_first, self._cell_last = own["cell_first"], own["cell_last"]
        self._low, self._scale = own["low"], own["scale"]
        self._require_sound()

    def _require_sound(self) -> None:
        """Refuse chains that leave the grid, go in circles or lose records, and views of others."""
        parts, cells, kept, own = self.partitions, self._cells, self._kept, self._own
        slots = sound.length("own", *kept.columns.values())
        own.require_sound("own", parts)
        sound.within("cells", np.array([cells]), 0, self.CELLS + self.LEAST_CELLS + 1)
        sound.length("own, by cell,", self._cell_first, self._cell_last, of=parts * cells)
        sound.require(np.isfinite((self._low, self._scale)).all(), "cells have no width")
        sound.within("own.free", self._free, 0, slots)
        sound.require(len(np.unique(self._free)) == len(self._free), "a slot is free twice")
        used, alive = self._used(), own["alive"]
        sound.within("own.alive", alive, 0, slots + 1)
        sound.require(int(alive.sum()) == len(used), "own.alive counts others")
        self._views.require_sound("own.views", parts)
        sound.require(np.isin(self._views["slot"], used).all(), "own.views shows others")
        sound.numbers("own.score", kept["score"][used])
        sound.moments("own.pane", kept["pane"][used])
        self._require_sound_ends("own.done", own["done"], alive > 0)
        oldest = np.where(alive > 0, own["oldest"], NOWHERE)
        newest = np.where(alive > 0, own["newest"], NOWHERE)
        for first, last, following, ends in (
            (self._cell_first, self._cell_last, kept["cell_next"], True),
            (oldest, newest, kept["age_next"], False),
        ):
            chained = _followed(first, last, following, slots, ends)
            sound.require(sorted(chained) == used.tolist(), "a chain has lost records")

    def _check_own(self) -> None:
        kept, alive = self._kept, self._own["alive"]
        used = self._used()
        assert len(used) == int(alive.sum()), ("G1", len(used), alive)

        def rank(slot: int) -> tuple[float, int]:
            return kept["score"][slot], kept["tie"][slot]

        for p in range(self.partitions):
            members = []
            for cell in range(p * self._cells, (p + 1) * self._cells):
                slot = int(self._cell_first[cell])
                while slot != NOWHERE:
                    members.append(slot)
                    slot = int(kept["cell_next"][slot])
            assert len(members) == alive[p], ("G1", p, members)
            view = self._views["slot"][self._views.part(p)].tolist()
            ranked = sorted(members, key=rank, reverse=True)
            assert view == sorted(view, key=rank, reverse=True), ("G2", p, view)
            assert set(view) <= set(members), ("G2", p, view)
            assert view[: self.k] == ranked[: self.k], ("G3", p, view, ranked)
            assert self.skyband or len(view) <= self.k, ("G3", p, view)


def _followed(first: Ints, last: Ints, following: Ints, slots: int, ends: bool) -> list[int]:
    """Return the slots of all chains, from first to last; no more than there can be. At the end of
    a chain that ``ends``, no slot may follow."""
    sound.within("first", first, NOWHERE, slots)
    sound.within("last", last, NOWHERE, slots)
    chained: list[int] = []
    for slot, goal in zip(first.tolist(), last.tolist(), strict=True):
        while slot != NOWHERE and len(chained) <= slots:
            chained.append(slot)
            if slot == goal:
                sound.require(not ends or following[slot] == NOWHERE, "a chain goes on")
                break
            slot = int(following[slot])
            sound.require(0 <= slot < slots, "a chain leaves the grid")
    return chained


__all__ = ["GridOperator"]
