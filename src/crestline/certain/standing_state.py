"""What is known of standing queries, and what can be read from it; see ``certain.standing``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from crestline.certain.preferences import (
    Preference,
)  # fmt: skip
from crestline.certain.query_buffer import QueryBuffer
from crestline.certain.query_grid import QueryGrid
from crestline.certain.query_lists import QueryLists
from crestline.certain.query_table import QueryTable
from crestline.certain.standing_options import StandingOptions
from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.certain.standing_cells import link
from crestline.kernels.certain.standing_grid import threshold_of
from crestline.kernels.certain.standing_table import (
    BAND,
    COVERED,
    FILTER,
    HEAD,
    SIZE,
    TOUCHED,
    Chains,
    K,
    TimeOrder,
)  # fmt: skip
from crestline.types import Floats, Ints

_FIRST_ROOM = 64


class StandingState:
    """The queries, their lists, the recent records, what expires next, and the grid."""

    def __init__(
        self,
        dimensions: int,
        *,
        algorithm: str = "RAPF",
        low: float | Sequence[float] = 0.0,
        high: float | Sequence[float] = 1.0,
        resolution: int | None = None,
        buffer: int = 2000,
        gamma: float = 0.2,
        error: float = 0.001,
        additional: int = 10,
    ) -> None:
        """``low`` and ``high`` are the corners between which most points lie; ``resolution`` is the
        number of cells for each dimension (None: chosen, 1: no grid)."""
        self.options = options = StandingOptions(
            dimensions, algorithm.upper(), resolution, buffer, gamma, error, additional
        )
        self.seen = 0
        self._time = LONG_AGO
        self._queries = QueryTable(dimensions)
        self._bands, self._filters = QueryLists(BAND), QueryLists(FILTER)
        self._recent = QueryBuffer(_FIRST_ROOM if options.whole else buffer, dimensions)
        self._order = TimeOrder(np.empty((2, 0), np.int64), np.zeros(2, np.int64))
        self._cursor = np.array([0, 0, -1])
        self._grid = QueryGrid(*options.corners(low, high))
        self._link()

    @property
    def dimensions(self) -> int:
        """Coordinates of a point."""
        return self.options.dimensions

    @property
    def resolution(self) -> int:
        """Cells for each dimension."""
        return self._grid.resolution

    @property
    def given(self) -> int:
        """How many scores stand behind the coordinates of a record."""
        return self._recent.given

    def __len__(self) -> int:
        return len(self._queries.slot_of)

    def _threshold(self, slot: int) -> float:
        table, values = self._queries.arrays.table, self._queries.arrays.values
        scores = self._filters.arrays.score
        return threshold_of(table, values, scores, slot, self.options.band, self.options.filter)

    def top(self, number: int) -> tuple[Ints, Floats]:
        """Return a query's answer now: the numbers and scores of its records, best first."""
        numbers, scores = self.band(number)
        k = int(self._row(number)[K])
        return numbers[:k], scores[:k]

    def band(self, number: int) -> tuple[Ints, Floats]:
        """Return all records in a query's band."""
        return self._bands.of(self._row(number))

    def filter(self, number: int) -> tuple[Ints, Floats]:
        """Return all records in a query's filter."""
        return self._filters.of(self._row(number))

    def _row(self, number: int) -> Ints:
        row: Ints = self._queries.arrays.table[self._queries.slot(number)]
        return row

    def covered(self, number: int) -> float:
        """The threshold for which a query's cells are sufficient."""
        return float(self._queries.arrays.values[self._queries.slot(number), COVERED])

    @property
    def candidates(self) -> int:
        """The number of references to records in the bands and filters of all queries."""
        active = self._queries.active()
        return int(active[:, BAND + SIZE].sum() + active[:, FILTER + SIZE].sum())

    def ids(self) -> Ints:
        """The numbers of the records that any answer may still name, each once."""
        buffered = np.arange(self.seen - self.buffered, self.seen)
        return np.union1d(self._bands.all_numbers(self._queries.active()), buffered)

    @property
    def buffered(self) -> int:
        """The number of records in the shared buffer or, for CPM and SNN, in the cells."""
        kept = self.options.filtered or self.options.whole
        return int(self.seen - self._cursor[HEAD]) if kept else 0

    def _link(self) -> None:
        """Chain the records of the ring by their cells, where bands are read from these."""
        rings, cells, grid = 0, 0, self._grid
        if self.options.whole:
            rings, cells = len(self._recent.arrays.time), self.resolution**self.dimensions
        self._chains = Chains(
            np.zeros(cells, np.int64), np.zeros(rings, np.int64), np.array([grid.low, grid.high])
        )
        if self.options.whole:
            link(self._recent.arrays, self._chains, int(self._cursor[HEAD]), self.seen)

    @property
    def touched(self) -> int:
        """How often a query has looked at a record."""
        return int(self._cursor[TOUCHED])

    @property
    def numbers(self) -> list[int]:
        """The numbers of the queries."""
        return list(self._queries.slot_of)

    def stands_for(
        self, number: int, preference: Preference, k: int, window: int, timed: bool, every: bool
    ) -> bool:
        """Whether the query of this number equals this one."""
        return self._queries.holds(number, preference, k, window, timed, every)

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return {
            "options": asdict(self.options),
            "seen": self.seen,
            "time": int(self._time),
            "queries": self._queries.state(),
            "cursor": self._cursor,
            "bands": self._bands.arrays._asdict(),
            "filters": self._filters.arrays._asdict(),
            "recent": self._recent.arrays._asdict(),
            "order": self._order._asdict(),
            "grid": self._grid.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make the queries whose ``state()`` this was."""
        grid, recent = state["grid"], state["recent"]
        options = state["options"]
        sound.length("corners", grid["low"], grid["high"], of=options["dimensions"])
        run = cls(low=grid["low"], high=grid["high"], **options)
        size = None if run.options.whole else options["buffer"]
        sound.require(sound.length("buffer", *recent.values(), of=size) > 0, "there is no buffer")
        run._restore(state)
        return run

    def _restore(self, state: dict[str, Any]) -> None:
        sound.like(state, self.state(), "standing")
        self.seen, self._time = state["seen"], state["time"]
        self._cursor = state["cursor"]
        self._queries.restore(state["queries"])
        self._bands.restore(state["bands"])
        self._filters.restore(state["filters"])
        self._recent.restore(state["recent"])
        self._order = TimeOrder(**state["order"])
        self._grid.restore(state["grid"])
        self._require_sound()
        self._link()

    def _require_sound(self) -> None:
        """Refuse a state that would make a kernel leave its arrays; see ``core.sound``."""
        self._queries.require_sound()
        table, slots = self._queries.arrays.table, self._queries.slots
        self._bands.require_sound(table)
        self._filters.require_sound(table)
        self._grid.require_sound(slots)
        self._recent.require_sound(self.resolution**self.dimensions)
        columns = self._queries.given
        sound.within("columns", columns, 0, self.given)
        sound.require(len(np.unique(columns)) == len(columns), "queries share given scores")
        sound.length("cursor", self._cursor, of=3)
        sound.within("cursor", self._cursor[:1], 0, self.seen + 1)
        sound.within("cursor", self._cursor, -1, sound.FAR)
        ring = len(self._recent.arrays.time)
        sound.require(self.buffered <= ring, "the buffer is longer")
        sound.moments("times", np.array([self._time, self.seen]))
        heaps, sizes = self._order
        sound.length("heap sizes", sizes, of=2)
        sound.require(len(heaps) == 2, "there are two heaps")
        for heap, notes in zip(heaps, sizes.tolist(), strict=True):
            sound.require(0 <= 2 * notes <= len(heap), "a heap is longer than its room")
            sound.within("heap", heap[1 : 2 * notes : 2], 0, slots)
        sound.require(heaps.shape[1] >= 8 * slots, "heaps have no room")


__all__ = ["StandingState"]
