"""Many standing queries on one stream of points, with a grid between (Pripuzic et al., section 6).

**Answers**, for hundreds of queries that come and go, each with its own k, window and preference,
the exact top k after every record (with PA: approximately). A query sees the records that arrive
after it was added and for which it has a score. **Does not** know columns or partitions: a record
is a point. ``certain.standing_operator`` makes it an operator for query texts and tables.

A score need not come from a point: behind the coordinates a record may have scores that are
``Given``. Such a query looks at every record, and shares the rest.

**Idea.** The algorithms are those of ``certain.arrivals``. The recent records stand in one buffer,
and what expires next in one time order, for all queries together. A query's threshold tells which
points can matter to it; the grid over the points' space has in each cell the queries that a point
of the cell may reach, and only those look at a record. SA and RA have no threshold: all look.

CPM/w and SNN (Mouratidis and Papadias 2007) have no buffer. The cells hold all records of the
longest window, each in the chain of its cell. A query's band is its k best (CPM) or the skyband of
what reaches a threshold (SNN); where it runs short it is read again from the cells, in the order of
their distance (``kernels.certain.standing_cells``). They rank by distances and weighted sums only.

**Cost** of a record: a binary search for its cell, and for each query of the cell a score and a
comparison, once when it arrives and once when it leaves the buffer; more only for the few queries
that it matters to. Kept: the buffer once, and for each query a band and a filter of references.
With CPM and SNN, into its chain O(1), out of it nothing; to read a band again O(r log k + c log c)
for r records of c cells. Kept: all records of the longest window, and references of the bands.

**Resolution**: see ``certain.query_grid``. Points outside ``low`` to ``high`` belong to the outer
cells, which are open: a grid that does not fit costs time only.

**Invariants**
  S1  bands and filters are sorted best first, of equal scores the later first;
  S2  a query is entered in every cell that may hold a point from its threshold on;
  S3  the time order has a note of what expires next in a band, or an earlier one;
  S4  the records of a probable or relaxed filter are in cells that its query is entered in;
  S5  (CPM, SNN) the chains hold each record of the ring once, in its cell and the later first, and
      no record of a chain is outside the sides of its cell;
  S6  (SNN) the dominators of a record in a skyband are counted right, until it expires.

**Deviations.** A record is offered to a band for the second time without a note whether it was
taken the first time: the band looks. A probabilistic filter has no more candidates than twice what
its cells reach beyond the k-th: more would be put in and taken out unread. The cells of PA, CPM and
SNN reach a tenth further than needed, those of a probabilistic filter a few records beyond its k-th
(Table III), so that few losses touch the grid. CPM and SNN: the next cell comes from one heap, not
from rectangles of cells. The threshold of SNN rises when the skyband reaches far beyond its k-th
record, and what is below it is forgotten; in the original it stays as the last reading left it.

>>> import numpy as np
>>> queries = StandingQueries(dimensions=1, low=0.0, high=10.0, buffer=1)
>>> near_three = queries.add(Distance((3.0,)), k=1, window=2)
>>> snapshots = queries.observe(np.array([[5.0], [4.0], [9.0], [8.0]]))
>>> [(end, ids.tolist(), scores.tolist()) for _, end, ids, scores in snapshots]
[(1, [0], [-2.0]), (2, [1], [-1.0]), (4, [3], [-5.0])]
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from crestline.certain.preferences import (
    AttributeDistance,
    Cosine,
    Distance,
    Given,
    Haversine,
    Preference,
    WeightedDistance,
    WeightedSum,
    checked_preference,
)  # fmt: skip
from crestline.certain.standing_options import ALGORITHMS
from crestline.certain.standing_state import StandingState
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import NEVER
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.bands import STRICT
from crestline.kernels.certain.scoring import GIVEN
from crestline.kernels.certain.standing import take_records
from crestline.kernels.certain.standing_cells import link, oldest_needed
from crestline.kernels.certain.standing_table import (
    BAND,
    BAND_FULL,
    FINISHED,
    HEAD,
    KIND,
    OLDEST,
    REPORT_FULL,
    RING_FULL,
    SIZE,
    SKIPPED,
    SKYBAND,
    START,
    TIMED,
    WIDTH,
    K,
    Points,
    Scratch,
    Standing,
)  # fmt: skip
from crestline.kernels.common.output import RECORDS, Written, new_report, roomy, written
from crestline.operators.reporting import PORTION
from crestline.types import Floats, Ints

_FIRST_ROOM = 64


class StandingQueries(StandingState):
    """Queries on one stream; see the module's text."""

    # -- queries ------------------------------------------------------------------------------

    def add(
        self, preference: Preference, k: int, window: int, *, timed: bool = False,
        every: bool = False, since: int | None = None,
    ) -> int:  # fmt: skip
        """Watch for the k best of the last ``window`` records (with ``timed``: units of time) from
        the next record on; returns the query's number.

        With ``every``, each record that the query sees brings a report. ``since`` is the serial
        number of the first record that it may see, where ``take`` gets such numbers."""
        options = self.options
        options.require_window(k, window, timed)
        checked_preference(preference, options.dimensions)
        options.require_preference(preference)
        if isinstance(preference, Given) and preference.column in self._queries.given:
            raise CrestlineError(f"column {preference.column} has the scores of another query")
        slot = self._free_slot()
        number = self._queries.add(
            slot, preference, k, window, timed, options.candidates(k, window, timed),
            self.seen if since is None else since, options.first_limits(k), every,
        )  # fmt: skip
        if isinstance(preference, Given):
            self._recent.widen(preference.column + 1)
        self._choose_resolution()
        self._grid.cover(self._queries.arrays, slot, -np.inf)
        return number

    def free_column(self) -> int:
        """Return the first column of given scores that no query uses."""
        used = set(self._queries.given.tolist())
        return next(column for column in range(len(used) + 1) if column not in used)

    def remove(self, number: int) -> None:
        """Stop watching for a query."""
        self._grid.remove(self._queries.remove(number))

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

    def _choose_resolution(self) -> None:
        wanted = self.options.wanted_resolution(
            self._queries.active(), self.resolution, self.buffered
        )
        if wanted != self.resolution:
            self._lay(wanted)

    def _lay(self, resolution: int) -> None:
        self._grid.lay(resolution, self._queries.slots)
        # The recent records belong to other cells now.
        self._recent.arrays.cell[:] = self._grid.cells_of(self._recent.arrays.point)
        self._link()
        for slot in self._queries.slot_of.values():
            self._grid.cover(self._queries.arrays, slot, self._threshold(slot))
            if self._queries.arrays.table[slot, KIND] != GIVEN:
                self._filters.forget_uncovered(
                    self._queries.arrays, slot, self.options.filter, self._grid,
                    self._recent.arrays,
                )  # fmt: skip

    def fit(self) -> None:
        """Lay the grid around the records of the buffer, if it fits them badly."""
        points = self._recent.coordinates(self.seen - self.buffered, self.seen)
        if self.dimensions and len(points) and self._grid.fit(points):
            self._lay(self.resolution)
        if self.options.whole:
            self._choose_resolution()  # now it is known how many records a time holds

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
        serials = np.arange(self.seen, self.seen + len(points))
        return Snapshots.joined([Snapshots.nothing(), *self.take(points, times, serials)])

    def take(self, points: Floats, times: Ints, serials: Ints) -> Iterator[Snapshots]:
        """As ``observe``, in portions. Records have scores that are given behind their coordinates,
        and serial numbers, which decide whether a query added later sees them. Times that are the
        same must not be split."""
        if len(points) == 0 or not self._queries.slot_of:
            self._pass_by(points, times)
            return
        if times[0] < self._time or (np.diff(times) < 0).any():
            raise CrestlineError("records must come in the order of their times")
        for slot, end, count, _, numbers, scores in self._take(points, times, serials):
            query = self._queries.number_of[slot]
            yield Snapshots.of(query, end, count, numbers, scores[0])

    def _pass_by(self, points: Floats, times: Ints) -> None:
        """Count records that no query sees; queries added later see only later records."""
        if len(points):
            self.seen += len(points)
            self._time = int(times[-1])
            self._cursor[HEAD] = self.seen

    def _take(self, points: Floats, times: Ints, serials: Ints) -> Iterator[Written]:
        active = self._queries.active()
        widths = active[active[:, TIMED] == 1, WIDTH]
        span = max(1, int(widths.min()) // 2) if len(widths) else NEVER
        algorithm = self.options.for_kernel(span)
        table = self._queries.arrays.table
        slots, rows = len(table), int(table[:, K].sum())
        report = new_report(1, slots + 256, rows + 1024)
        arriving = Points(points, times, serials, self.seen)
        terms, low, high = np.empty((3, self.dimensions))
        floors, owner = np.empty((2, self.given)), np.zeros(self.given, np.int64)
        latest, meets = np.empty(max(1, table[:, K].max()), np.int64), np.empty(slots, np.int64)
        cells = len(self._chains.newest) + 1
        bounds, heap = np.empty(cells), np.empty(cells, np.int64)
        scratch = Scratch(terms, low, high, latest, floors, owner, meets, bounds, heap)
        marks = np.zeros(slots + 1, np.int64)
        position, reason = 0, -1
        while reason != FINISHED:
            standing = Standing(
                self._queries.arrays, self._bands.arrays, self._filters.arrays, self._grid.arrays,
                self._recent.arrays, self._chains, self._order, marks,
            )  # fmt: skip
            reason, _, position = take_records(
                algorithm, standing, arriving, position, self._cursor, report, scratch
            )
            if reason == REPORT_FULL and report.filled[RECORDS] > PORTION:
                yield written(report)
                report = new_report(1, slots + 256, rows + 1024)
            elif reason == REPORT_FULL:
                report = roomy(report, slots, rows)
            elif reason == RING_FULL:
                self._let_go(self.seen + position, int(times[position]))
            elif reason != FINISHED:
                lists = self._bands if reason == BAND_FULL else self._filters
                lists.double_crowded(table)
        self.seen += len(points)
        self._time = int(times[-1])
        if self.options.whole:
            self._let_go(self.seen, self._time)
        yield written(report)

    def _let_go(self, number: int, now: int) -> None:
        """Forget the records in the cells that no query has in its window when record ``number``
        comes; make room in the ring if there is hardly any."""
        self._cursor[HEAD] = first = oldest_needed(
            self._queries.arrays, self._recent.arrays, int(self._cursor[HEAD]), number, now,
            np.empty(self.dimensions),
        )  # fmt: skip
        needed = number - first
        if 5 * needed > 4 * len(self._recent.arrays.time):
            self._recent.make_room(2 * needed, first, number)
            self._chains = self._chains._replace(older=np.zeros(2 * needed, np.int64))
            link(self._recent.arrays, self._chains, first, number)

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
            placed = self._queries.arrays.table[slot, KIND] != GIVEN
            if placed and self.options.filter != STRICT:
                cells = self._recent.arrays.cell[self.filter(number)[0] % self.options.buffer]
                assert entered[cells].all(), ("S4", number, cells)
            row, (heaps, sizes) = self._queries.arrays.table[slot], self._order
            if row[OLDEST] < NEVER:
                notes = heaps[row[TIMED], : 2 * sizes[row[TIMED]]].reshape(-1, 2)
                due = row[OLDEST] + row[WIDTH] + (0 if row[TIMED] else row[SKIPPED])
                assert notes[notes[:, 1] == slot, 0].min(initial=NEVER) <= due, ("S3", number)
            if self.options.band == SKYBAND:
                part = slice(row[BAND + START], row[BAND + START] + row[BAND + SIZE])
                record, born, dominators = self._bands.arrays.ints[:, part]
                clock = self._time if row[TIMED] else self.seen - 1 - row[SKIPPED]
                counted = np.triu(record[:, None] > record, 1).sum(axis=0)
                wrong = (dominators != counted) & (born > clock - row[WIDTH])
                assert not wrong.any(), ("S6", number, record, dominators)
        if self.options.whole:
            self._check_chains()

    def _check_chains(self) -> None:
        newest, older, extent = self._chains
        recent, first = self._recent.arrays, self.seen - self.buffered
        chained = []
        for cell, record in enumerate(newest.tolist()):
            while record >= first:
                assert recent.cell[record % len(older)] == cell, ("S5", cell, record)
                chained.append(record)
                earlier = int(older[record % len(older)])
                assert earlier < record, ("S5", cell, record, earlier)
                record = earlier
        assert sorted(chained) == list(range(first, self.seen)), ("S5", chained)
        points = recent.point[np.array(chained, np.int64) % len(older), : self.dimensions]
        assert (extent[0] <= points).all() and (points <= extent[1]).all(), ("S5", extent)


__all__ = [
    "ALGORITHMS", "AttributeDistance", "Cosine", "Distance", "Given", "Haversine", "Preference",
    "StandingQueries", "WeightedDistance", "WeightedSum",
]  # fmt: skip
