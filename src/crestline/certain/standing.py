"""Many standing queries on one stream of points, with a grid between (Pripuzic et al., section 6).

**Answers**, for hundreds of queries that come and go, each with its own k, window and preference,
the exact top k after every record (with PA: approximately). A query sees the records that arrive
after it was added. **Does not** know columns or partitions: a record is a point.
``crestline.Board`` is the same for query texts and tables.

**Idea.** The algorithms are those of ``certain.arrivals``. The recent records stand in one buffer,
and what expires next in one time order, for all queries together. A query's threshold tells which
points can matter to it; the grid over the points' space has in each cell the queries that a point
of the cell may reach, and only those look at a record. SA and RA have no threshold: all look.

**Cost** of a record: a binary search for its cell, and for each query of the cell a score and a
comparison, once when it arrives and once when it leaves the buffer; more only for the few queries
that it matters to. Kept: the buffer once, and for each query a band and a filter of references.

**Resolution**: see ``certain.query_grid``. Points outside ``low`` to ``high`` belong to the outer
cells, which are open: a grid that does not fit costs time only.

**Invariants**
  S1  bands and filters are sorted best first, of equal scores the later first;
  S2  a query is entered in every cell that may hold a point from its threshold on;
  S3  what expires next in a band stands in the time order;
  S4  the records of a probable or relaxed filter are in cells that its query is entered in.

**Deviations.** A record is offered to a band for the second time without a note whether it was
taken the first time: the band looks. The cells of PA reach a tenth further than needed, those of a
probabilistic filter a few records beyond its k-th (Table III), so that few losses touch the grid.

>>> import numpy as np
>>> queries = StandingQueries(dimensions=1, low=0.0, high=10.0, buffer=1)
>>> near_three = queries.add(Distance((3.0,)), k=1, window=2)
>>> snapshots = queries.observe(np.array([[5.0], [4.0], [9.0], [8.0]]))
>>> [(end, ids.tolist(), scores.tolist()) for _, end, ids, scores in snapshots]
[(1, [0], [-2.0]), (2, [1], [-1.0]), (4, [3], [-5.0])]
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import numpy as np

from crestline.certain.preferences import (
    AttributeDistance,
    Cosine,
    Distance,
    Haversine,
    Preference,
    WeightedDistance,
    WeightedSum,
    checked_preference,
)
from crestline.certain.query_grid import QueryGrid
from crestline.certain.query_lists import QueryLists
from crestline.certain.query_table import QueryTable
from crestline.certain.standing_options import ALGORITHMS, StandingOptions
from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.bands import STRICT
from crestline.kernels.certain.standing import take_records
from crestline.kernels.certain.standing_grid import threshold_of
from crestline.kernels.certain.standing_table import (
    BAND,
    BAND_FULL,
    COVERED,
    FILTER,
    FINISHED,
    HEAD,
    OLDEST,
    REPORT_FULL,
    SIZE,
    TIMED,
    TOUCHED,
    WIDTH,
    Buffer,
    Changes,
    K,
    Points,
    Scratch,
    Standing,
    TimeOrder,
)
from crestline.kernels.common.output import Written, new_report, roomy, written
from crestline.types import Floats, Ints

_FIRST_ROOM = 64


class StandingQueries:
    """Queries on one stream; see the module's text."""

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
        none = np.zeros(buffer, np.int64)
        self._recent = Buffer(np.zeros((buffer, dimensions)), none, none.copy())
        self._order = TimeOrder(np.empty((2, 0), np.int64), np.zeros(2, np.int64))
        self._cursor = np.zeros(2, np.int64)
        self._grid = QueryGrid(*options.corners(low, high))

    # -- queries ------------------------------------------------------------------------------

    def add(self, preference: Preference, k: int, window: int, *, timed: bool = False) -> int:
        """Watch for the k best of the last ``window`` records (with ``timed``: units of time) from
        the next record on; returns the query's number."""
        options = self.options
        options.require_window(k, window, timed)
        checked_preference(preference, options.dimensions)
        slot = self._free_slot()
        number = self._queries.add(
            slot, preference, k, window, timed, options.candidates(k, window, timed), self.seen,
            options.first_limits(k),
        )  # fmt: skip
        self._choose_resolution()
        self._grid.cover(self._queries.arrays, slot, -np.inf)
        return number

    def remove(self, number: int) -> None:
        """Stop watching for a query."""
        self._grid.remove(self._queries.remove(number))

    def __len__(self) -> int:
        return len(self._queries.slot_of)

    def _free_slot(self) -> int:
        slot = self._queries.free_slot()
        if slot is not None:
            return slot
        count = self._queries.slots
        more = max(8, count)
        self._queries.grow(more)
        room = np.where(np.arange(count + more) < count, 0, _FIRST_ROOM)
        self._bands.make_room(self._queries.arrays.table, room)
        self._filters.make_room(self._queries.arrays.table, room)
        self._grid.grow(more)
        # Room for four notes of each query; they are as many as there is room for, at most.
        heaps = self._order.heaps
        notes = np.zeros((2, 8 * (count + more) + 32 - heaps.shape[1]), np.int64)
        self._order = self._order._replace(heaps=np.hstack((heaps, notes)))
        return count

    # -- the grid -----------------------------------------------------------------------------

    @property
    def dimensions(self) -> int:
        """Coordinates of a point."""
        return self.options.dimensions

    @property
    def resolution(self) -> int:
        """Cells for each dimension."""
        return self._grid.resolution

    def _choose_resolution(self) -> None:
        wanted = self.options.wanted_resolution(self._queries.active(), self.resolution)
        if wanted != self.resolution:
            self._grid.lay(wanted, self._queries.slots)
            # The recent records belong to other cells now.
            self._recent.cell[:] = self._grid.cells_of(self._recent.point)
            for slot in self._queries.slot_of.values():
                self._grid.cover(self._queries.arrays, slot, self._threshold(slot))
                self._filters.forget_uncovered(
                    self._queries.arrays, slot, self.options.filter, self._grid, self._recent
                )

    def _threshold(self, slot: int) -> float:
        table, values = self._queries.arrays.table, self._queries.arrays.values
        scores = self._filters.arrays.score
        return threshold_of(table, values, scores, slot, self.options.band, self.options.filter)

    # -- records ------------------------------------------------------------------------------

    def observe(self, points: Floats, times: Ints | None = None) -> Snapshots:
        """Take records in, in order of time; return, for each record, the answers it changed.

        ``partition`` is a query's number, ``end`` the number of records so far or, for queries on
        time, the record's time. Of a record with several at the same time, the last counts.
        """
        points = np.ascontiguousarray(points, np.float64)
        if points.ndim != 2 or points.shape[1] != self.dimensions:
            raise CrestlineError(
                f"points must come as an array of {self.dimensions} columns, not of shape"
                f" {points.shape}"
            )
        if not np.isfinite(points).all():
            raise CrestlineError("points must be finite numbers: leave others out")
        if times is None:
            times = np.full(len(points), self._time if self.seen else 0)
            if self._queries.active()[:, TIMED].any():
                raise CrestlineError("a query on time needs the times of the records")
        times = np.ascontiguousarray(times, np.int64)
        if len(points) == 0 or not self._queries.slot_of:
            return self._pass_by(points, times)
        if times[0] < self._time or (np.diff(times) < 0).any():
            raise CrestlineError("records must come in the order of their times")
        slot, end, count, _, numbers, scores = self._take(points, times)
        return Snapshots.of(
            self._queries.number_of[slot], end, count, numbers, scores[0]
        ).last_of_ends()

    def _pass_by(self, points: Floats, times: Ints) -> Snapshots:
        """Count records that no query sees; queries added later see only later records."""
        if len(points):
            self.seen += len(points)
            self._time = int(times[-1])
            self._cursor[HEAD] = self.seen
        return Snapshots.nothing()

    def _take(self, points: Floats, times: Ints) -> Written:
        active = self._queries.active()
        widths = active[active[:, TIMED] == 1, WIDTH]
        span = max(1, int(widths.min()) // 2) if len(widths) else NEVER
        algorithm = self.options.for_kernel(span)
        table = self._queries.arrays.table
        slots, rows = len(table), int(table[:, K].sum())
        changes = Changes(np.zeros(slots, np.bool_), np.zeros(slots + 1, np.int64))
        report = new_report(1, slots + 256, rows + 1024)
        arriving = Points(points, times, self.seen)
        terms, low, high = np.empty((3, self.dimensions))
        scratch = Scratch(terms, low, high, np.empty(max(1, table[:, K].max()), np.int64))
        position, reason = 0, -1
        while reason != FINISHED:
            standing = Standing(
                self._queries.arrays, self._bands.arrays, self._filters.arrays, self._grid.arrays,
                self._recent, self._order, changes,
            )  # fmt: skip
            reason, _, position = take_records(
                algorithm, standing, arriving, position, self._cursor, report, scratch
            )
            if reason == REPORT_FULL:
                report = roomy(report, slots, rows)
            elif reason != FINISHED:
                lists = self._bands if reason == BAND_FULL else self._filters
                lists.double_crowded(table)
        self.seen += len(points)
        self._time = int(times[-1])
        return written(report)

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
        return int(self._queries.active()[:, [BAND + SIZE, FILTER + SIZE]].sum())

    def ids(self) -> Ints:
        """The numbers of the records that any answer may still name, each once."""
        pieces = [np.arange(self.seen - self.buffered, self.seen)]
        pieces += [self.band(number)[0] for number in self._queries.slot_of]
        return np.unique(np.concatenate(pieces))

    @property
    def buffered(self) -> int:
        """The number of records in the shared buffer."""
        return int(self.seen - self._cursor[HEAD]) if self.options.filtered else 0

    @property
    def touched(self) -> int:
        """How often a query has looked at a record."""
        return int(self._cursor[TOUCHED])

    def stands_for(self, number: int, preference: Preference, k: int, window: int) -> bool:
        """Whether the query of this number equals this one."""
        return self._queries.holds(number, preference, k, window)

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
            "recent": self._recent._asdict(),
            "order": self._order._asdict(),
            "grid": self._grid.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> StandingQueries:
        """Make the queries whose ``state()`` this was."""
        grid, recent = state["grid"], state["recent"]
        options = state["options"]
        sound.length("corners", grid["low"], grid["high"], of=options["dimensions"])
        sound.length("buffer", *recent.values(), of=options["buffer"])
        run = cls(low=grid["low"], high=grid["high"], **options)
        run._restore(state)
        return run

    def _restore(self, state: dict[str, Any]) -> None:
        sound.like(state, self.state(), "standing")
        self.seen, self._time = state["seen"], state["time"]
        self._cursor = state["cursor"]
        self._queries.restore(state["queries"])
        self._bands.restore(state["bands"])
        self._filters.restore(state["filters"])
        self._recent, self._order = Buffer(**state["recent"]), TimeOrder(**state["order"])
        self._grid.restore(state["grid"])
        self._require_sound()

    def _require_sound(self) -> None:
        """Refuse a state that would make a kernel leave its arrays; see ``core.sound``."""
        self._queries.require_sound()
        table, slots = self._queries.arrays.table, self._queries.slots
        self._bands.require_sound(table)
        self._filters.require_sound(table)
        self._grid.require_sound(slots)
        sound.require(self._recent.point.shape[1] == self.dimensions, "recent points are wider")
        sound.within("recent cells", self._recent.cell, 0, self.resolution**self.dimensions)
        sound.length("cursor", self._cursor, of=2)
        sound.within("cursor", self._cursor[:1], 0, self.seen + 1)
        sound.within("cursor", self._cursor, 0, sound.FAR)
        sound.require(self.buffered <= self.options.buffer, "the buffer is longer")
        sound.moments("times", self._recent.time, np.array([self._time, self.seen]))
        heaps, sizes = self._order
        sound.length("heap sizes", sizes, of=2)
        sound.require(len(heaps) == 2, "there are two heaps")
        for heap, notes in zip(heaps, sizes.tolist(), strict=True):
            sound.require(0 <= 2 * notes <= len(heap), "a heap is longer than its room")
            sound.within("heap", heap[1 : 2 * notes : 2], 0, slots)
        sound.require(heaps.shape[1] >= 8 * slots, "heaps have no room")

    def _check(self) -> None:
        for number, slot in self._queries.slot_of.items():
            for numbers, scores in (self.band(number), self.filter(number)):
                keys = list(zip(scores.tolist(), numbers.tolist(), strict=True))
                assert keys == sorted(keys, reverse=True), ("S1", number, keys)
            threshold, covered = self._threshold(slot), self.covered(number)
            assert threshold >= covered, ("S2", number, threshold, covered)
            entered, needed = self._grid.arrays.entered[:, slot], deepcopy(self._grid)
            needed.cover(self._queries.arrays, slot, covered)
            assert (needed.arrays.entered[:, slot] <= entered).all(), ("S2", number)
            if self.options.filter != STRICT:
                cells = self._recent.cell[self.filter(number)[0] % self.options.buffer]
                assert entered[cells].all(), ("S4", number, cells)
            row, (heaps, sizes) = self._queries.arrays.table[slot], self._order
            if row[OLDEST] < NEVER:
                notes = heaps[row[TIMED], : 2 * sizes[row[TIMED]]].reshape(-1, 2)
                assert [row[OLDEST] + row[WIDTH], slot] in notes.tolist(), ("S3", number)


__all__ = [
    "ALGORITHMS",
    "AttributeDistance",
    "Cosine",
    "Distance",
    "Haversine",
    "Preference",
    "StandingQueries",
    "WeightedDistance",
    "WeightedSum",
]
