"""What TMA, SMA, CPM and SNN share: the whole window in a grid, and a view above it.

Mouratidis, Bakiras, Papadias (SIGMOD 2006) and Mouratidis, Papadias (TKDE 2007), the rivals of Yang
et al. and of Pripuzic et al. The cells are boxes of attributes if the operator knows the
*preference* that scores are computed by, else intervals of the score; see ``certain.cells``, and
``kernels.certain.grid`` for the structures. Invariants, checked by ``_check``:
  G1  the grid holds exactly the records of the window, each in its cell;
  G2  the view is sorted best first and its records are alive;
  G3  the view's first k are the top k of the window (TMA: the view is exactly those);
  G4  no record scores better than the bound of its cell, so those that reach a threshold are in
      the cells of its influence region (cells of attributes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from crestline.certain.cells import MOST_CELLS, AttributeCells, ScoreCells, points_of
from crestline.certain.preferences import (
    PointPreference,
    checked_preference,
    dimensions_of,
    preference_from,
    preference_state,
)
from crestline.certain.steps import StepOperator
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.sentinels import LONG_AGO, NOWHERE
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.grid import Cells, GridRule, Placed, Slots, Views, advance_grid
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records
from crestline.operators.waiting import Waiting
from crestline.types import Ints

#: What is kept of the record in each slot.
_SLOT = ("tie", "pane", "dominators", "cell", "cell_next", "age_next", "id")
_NONE = np.empty(0, np.int64)


class GridOperator(StepOperator):
    """A grid of all records, FIFO cells, and a sorted view for each partition."""

    prunes = False
    skyband: ClassVar[bool]
    #: Whether the view is computed once there are k records, rather than again and again while the
    #: window fills.
    at_once: ClassVar[bool] = False
    #: Cells of all partitions together, about.
    CELLS: ClassVar[int] = MOST_CELLS
    #: Whether the planner hands over the preference, where the score of a query has one.
    OPTIONS: ClassVar[Mapping[str, float | None]] = {"attributes": True}

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False,
        preference: PointPreference | None = None,
    ) -> None:  # fmt: skip
        """As ``StepOperator``. With a ``preference``, batches have points, scores are what it gives
        to them, and cells are boxes of their space."""
        self.preference = preference
        if preference is not None:
            checked_preference(preference, dimensions_of(preference))
        super().__init__(k, window, slide, only_changes=only_changes)
        if preference is not None:
            self._wait = Waiting(**self._wait.columns, cell=_NONE)

    @property
    def options(self) -> dict[str, bool]:
        """Whether cells are boxes of attributes."""
        return {"attributes": self.preference is not None}

    def _storage(self) -> tuple[Records, PerPartition]:
        #: How often a view was rebuilt from the grid.
        self.recomputed = 0
        self._free = _NONE
        self._views = Ragged(slot=np.int64)
        #: Made over the first records.
        self._cells: ScoreCells | AttributeCells | None = None
        self._cell_first = self._cell_last = _NONE
        # Until the first view is computed, all records belong in it, or none.
        least = -np.inf if self.at_once else np.inf
        return Records(score=np.empty(0), **dict.fromkeys(_SLOT, _NONE)), PerPartition(
            oldest=0, newest=0, alive=0, threshold=least, done=LONG_AGO, filling=0, shown=False
        )

    def _grow_partitions(self, more: int) -> None:
        super()._grow_partitions(more)
        self._views.grow(more)
        if self._cells is not None:
            nothing = np.full(more * self._cells.count, NOWHERE)
            self._cell_first = np.concatenate((self._cell_first, nothing))
            self._cell_last = np.concatenate((self._cell_last, nothing))

    def _lay(self, cells: ScoreCells | AttributeCells) -> None:
        self._cells = cells
        self._cell_first = np.full(self.partitions * cells.count, NOWHERE)
        self._cell_last = np.full(self.partitions * cells.count, NOWHERE)

    def _further(self, batch: Batch, kept: Ints) -> dict[str, Ints]:
        """The cells of records with points; those of scores are found once they are due."""
        if self.preference is None or len(kept) == 0:
            return {}
        if self._cells is None:
            points = points_of(batch, dimensions_of(self.preference))
            most = self.CELLS // self.partitions
            if not self._time.timed and self.window is not None:
                most = min(most, self.window)  # no more than there are records
            self._lay(AttributeCells.over(self.preference, points, most))
        assert isinstance(self._cells, AttributeCells)
        return {"cell": self._cells.of(batch)[kept]}

    def _placed(self, arrived: Records) -> Placed:
        if self.preference is None:
            if self._cells is None and len(arrived):
                self._lay(ScoreCells.over(arrived["score"], self.CELLS // self.partitions))
            if isinstance(self._cells, ScoreCells):
                arrived["cell"] = self._cells.of_scores(arrived["score"])
            else:
                arrived["cell"] = _NONE
        return Placed(*(arrived[name] for name in Placed._fields))

    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        arriving = self._placed(arrived)
        cells = self._cells or ScoreCells(0.0, 0.0, 1)  # no cells: no records either
        self._make_room(len(arrived))
        kept, own, views = self._kept, self._own, self._views
        free = np.empty(len(kept), np.int64)
        free[: len(self._free)] = self._free
        slots, free_count, view_from, viewed, report, recomputed = advance_grid(
            self._window,
            GridRule(self.skyband, self.at_once, cells.count, cells.disjoint),
            arriving,
            offsets,
            until,
            Slots(*(kept[name] for name in Slots._fields)),
            free,
            len(self._free),
            Cells(self._cell_first, self._cell_last, cells.order, cells.bounds),
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

    def _configuration(self) -> dict[str, Any]:
        return super()._configuration() | {"preference": preference_state(self.preference)}

    @classmethod
    def _configured(cls, state: dict[str, Any]) -> Self:
        settings = {name: state[name] for name in cls.CONFIGURATION}
        return cls(**settings, preference=preference_from(state["preference"]))

    def _own_state(self) -> dict[str, Any]:
        return super()._own_state() | {
            "free": self._free,
            "cell_first": self._cell_first,
            "cell_last": self._cell_last,
            "views": self._views.state(),
            "cells": None if self._cells is None else self._cells.state(),
        }

    def _restore_own(self, own: dict[str, Any]) -> None:
        self._kept.restore(own)
        self._own.restore(own)
        self._views.restore(own["views"])
        self._free = own["free"]
        if own["cells"] is not None:
            self._cells = (
                ScoreCells.restored(own["cells"])
                if self.preference is None
                else AttributeCells.restored(self.preference, own["cells"])
            )
        self._cell_first, self._cell_last = own["cell_first"], own["cell_last"]
        self._require_sound()

    def _require_sound(self) -> None:
        """Refuse chains that leave the grid, go in circles or lose records, and views of others."""
        parts, kept, own = self.partitions, self._kept, self._own
        cells = 0 if self._cells is None else self._cells.count
        slots = sound.length("own", *kept.columns.values())
        own.require_sound("own", parts)
        sound.length("own, by cell,", self._cell_first, self._cell_last, of=parts * cells)
        sound.within("own.free", self._free, 0, slots)
        sound.require(len(np.unique(self._free)) == len(self._free), "a slot is free twice")
        used, alive = self._used(), own["alive"]
        sound.within("own.alive", alive, 0, slots + 1)
        sound.require(int(alive.sum()) == len(used), "own.alive counts others")
        self._views.require_sound("own.views", parts)
        sound.require(np.isin(self._views["slot"], used).all(), "own.views shows others")
        sound.numbers("own.score", kept["score"][used])
        sound.moments("own.pane", kept["pane"][used])
        sound.within("own.cell", kept["cell"][used], 0, cells)
        if self.preference is not None:
            sound.within("waiting.cell", self._wait["cell"], 0, cells)
        self._require_sound_ends("own.done", own["done"], alive > 0)
        oldest = np.where(alive > 0, own["oldest"], NOWHERE)
        newest = np.where(alive > 0, own["newest"], NOWHERE)
        chains = list(_followed(self._cell_first, self._cell_last, kept["cell_next"], slots, True))
        sound.require(
            all(cell % cells == kept["cell"][slot] for cell, slot in chains),
            "a record is in the chain of another cell",
        )
        ages = _followed(oldest, newest, kept["age_next"], slots, False)
        for chained in (chains, ages):
            found = sorted(slot for _, slot in chained)
            sound.require(found == used.tolist(), "a chain has lost records")

    def _check_own(self) -> None:
        kept, alive = self._kept, self._own["alive"]
        used = self._used()
        assert len(used) == int(alive.sum()), ("G1", len(used), alive)

        def rank(slot: int) -> tuple[float, int]:
            return kept["score"][slot], kept["tie"][slot]

        for p in range(self.partitions):
            members = []
            count = 0 if self._cells is None else self._cells.count
            for cell in range(p * count, (p + 1) * count):
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
            if isinstance(self._cells, AttributeCells):
                score, cells = kept["score"][members], kept["cell"][members]
                assert (score <= self._cells.bounds[cells]).all(), ("G4", p)
                threshold = self._own["threshold"][p]
                reached = np.isin(cells, self._cells.influence(threshold))
                assert reached[score >= threshold].all(), ("G4", p, threshold)


def _followed(
    first: Ints, last: Ints, following: Ints, slots: int, ends: bool
) -> Iterator[tuple[int, int]]:
    """Yield the number of each chain and its slots, from first to last; no more than there can be.
    At the end of a chain that ``ends``, no slot may follow."""
    sound.within("first", first, NOWHERE, slots)
    sound.within("last", last, NOWHERE, slots)
    count = 0
    for number, (slot, goal) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        while slot != NOWHERE and count <= slots:
            count += 1
            yield number, slot
            if slot == goal:
                sound.require(not ends or following[slot] == NOWHERE, "a chain goes on")
                break
            slot = int(following[slot])
            sound.require(0 <= slot < slots, "a chain leaves the grid")


__all__ = ["GridOperator"]
