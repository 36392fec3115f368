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

**Resolution.** If points are spread evenly, a query looks at a ball around itself that holds its
share of them; the cells are chosen as wide as its radius. Where that leaves most queries in most
cells, as in six dimensions or more, there is one cell. There are no more than ``MOST_CELLS``.
Points outside ``low`` to ``high`` belong to the outer cells, which are open: a grid that does not
fit costs time only.

**Invariants**
  S1  bands and filters are sorted best first, of equal scores the later first;
  S2  a query is entered in every cell that may hold a point from its threshold on;
  S3  what expires next in a band stands in the time order.

**Deviations.** A record is offered to a band for the second time without a note whether it was
taken the first time: the band looks whether it has it. Of a probabilistic filter the cells reach as
far as its last candidate, of PA a tenth further than needed, so that few losses touch the grid;
those of strict and relaxed filters reach as far as the k-th (Table III).

>>> import numpy as np
>>> queries = StandingQueries(dimensions=1, low=0.0, high=10.0, buffer=1)
>>> near_three = queries.add(Distance((3.0,)), k=1, window=2)
>>> reported = queries.observe(np.array([[5.0], [4.0], [9.0], [8.0]]))
>>> [(end, ids.tolist(), scores.tolist()) for _, end, ids, scores in reported]
[(1, [0], [-2.0]), (2, [1], [-1.0]), (4, [3], [-5.0])]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gamma, isfinite, pi, sqrt
from typing import Any

import numpy as np

from crestline.certain.arrival_options import LARGE_WINDOW
from crestline.certain.probable import candidate_limit
from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.bands import PROBABLE, RELAXED, STRICT
from crestline.kernels.certain.scoring import (
    COSINE,
    DISTANCE,
    HAVERSINE,
    WEIGHTED_DISTANCE,
    WEIGHTED_SUM,
)
from crestline.kernels.certain.standing import (
    ACTIVE,
    BAND,
    BAND_FULL,
    BAND_LIMIT,
    CANDIDATES,
    COLUMNS,
    COVERED,
    DOMINATORS,
    FILTER,
    FILTER_LIMIT,
    FINISHED,
    KIND,
    LENGTH,
    NONE,
    NUMBER,
    OLDEST,
    OUTPUT_FULL,
    ROOM,
    SINCE,
    SIZE,
    START,
    TIMED,
    VALUES,
    WIDTH,
    K,
    cover,
    leave_cell,
    take_records,
    threshold_of,
)
from crestline.types import Bools, Floats, Ints

#: band and filter of each algorithm.
ALGORITHMS = {
    "SA": (STRICT, NONE),
    "RA": (RELAXED, NONE),
    "PA": (PROBABLE, NONE),
    "SASF": (STRICT, STRICT),
    "SARF": (STRICT, RELAXED),
    "SAPF": (STRICT, PROBABLE),
    "RASF": (RELAXED, STRICT),
    "RARF": (RELAXED, RELAXED),
    "RAPF": (RELAXED, PROBABLE),
}
MOST_CELLS = 1 << 14
_FIRST_ROOM = 64


@dataclass(frozen=True, slots=True)
class Distance:
    """The nearest points first, by Euclid."""

    point: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WeightedDistance:
    """As ``Distance``, with each squared difference multiplied by a weight."""

    point: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """The largest weighted sum of the coordinates first."""

    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cosine:
    """The smallest angle to a vector first. A point at the origin has none and is passed over."""

    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Haversine:
    """The nearest points on earth first: two coordinates, latitude and longitude in degrees."""

    point: tuple[float, float]


Preference = Distance | WeightedDistance | WeightedSum | Cosine | Haversine


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
        if algorithm.upper() not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise CrestlineError(f"standing queries know {known}, not {algorithm}")
        self.algorithm = algorithm.upper()
        self._band, self._filter = ALGORITHMS[self.algorithm]
        if dimensions < 1 or buffer < 1 or (resolution is not None and resolution < 1):
            raise CrestlineError("dimensions, buffer and resolution must be at least 1")
        if not 0 < error < 1 or gamma < 0 or additional < 0:
            raise CrestlineError("error lies between 0 and 1, gamma and additional from 0 on")
        if resolution is not None and resolution**dimensions > MOST_CELLS:
            raise CrestlineError(
                f"{resolution} cells in each of {dimensions} dimensions are more than"
                f" {MOST_CELLS:,}: choose a lower resolution"
            )
        self.dimensions, self.buffer = dimensions, buffer
        self.gamma, self.error, self.additional = gamma, error, additional
        self._low = np.broadcast_to(np.asarray(low, np.float64), (dimensions,)).copy()
        self._high = np.broadcast_to(np.asarray(high, np.float64), (dimensions,)).copy()
        if (
            not (np.isfinite(self._low) & np.isfinite(self._high)).all()
            or (self._low >= self._high).any()
        ):
            raise CrestlineError("low must lie below high, in every dimension")
        self._wish = resolution
        self.seen = 0
        self._time = LONG_AGO
        self._slot_of: dict[int, int] = {}  # by number
        self._next_number = 0
        # By slot; see ``kernels.certain.standing``.
        self._number_of = np.empty(0, np.int64)
        self._table = np.empty((0, COLUMNS), np.int64)
        self._values = np.empty((0, VALUES))
        self._point, self._weight = np.empty((0, dimensions)), np.empty((0, dimensions))
        # The lists of all slots, one after the other.
        self._band_score, self._filter_score = np.empty(0), np.empty(0)
        self._band_ints = np.empty((DOMINATORS + 1, 0), np.int64)
        self._filter_ints = np.empty((DOMINATORS + 1, 0), np.int64)
        self._recent_point = np.zeros((buffer, dimensions))
        self._recent_time = np.zeros(buffer, np.int64)
        self._recent_cell = np.zeros(buffer, np.int64)
        self._cursor = np.zeros(4, np.int64)
        self._heaps, self._heap_sizes = np.empty((2, 0), np.int64), np.zeros(2, np.int64)
        self._edges: Floats
        self._count: Ints
        self._members: Ints
        self._entered: Bools
        self._reach: Ints
        self._lay_grid(1)

    # -- queries ------------------------------------------------------------------------------

    def add(self, preference: Preference, k: int, window: int, *, timed: bool = False) -> int:
        """Watch for the k best of the last ``window`` records (with ``timed``: units of time) from
        the next record on; returns the query's number."""
        if k < 1 or window < 1:
            raise CrestlineError(f"k and window must be at least 1, not {k} and {window}")
        if self._filter != NONE and not timed and 2 * self.buffer - 1 > window:
            raise CrestlineError(
                f"the shared buffer of {self.buffer:,} records is too long for a window of"
                f" {window:,}, of which it may hold half (Theorem 5.1 of Pripuzic et al.): build"
                " StandingQueries with a smaller buffer"
            )
        kind, point, weight = self._checked(preference)
        slot = self._free_slot()
        self._point[slot], self._weight[slot] = point, weight
        n = self.buffer if self._filter != NONE else (LARGE_WINDOW if timed else window)
        needs_limit = PROBABLE in (self._band, self._filter)
        row = self._table[slot]
        row[K], row[WIDTH], row[TIMED], row[KIND] = k, window, timed, kind
        row[CANDIDATES] = candidate_limit(k, n, self.error) if needs_limit else 0
        row[SINCE], row[OLDEST], row[ACTIVE] = self.seen, NEVER, True
        row[BAND + SIZE] = row[FILTER + SIZE] = 0
        first = 4.0 * k
        self._values[slot, LENGTH] = sqrt(float(sum(value * value for value in point)))
        self._values[slot, BAND_LIMIT] = -np.inf if self._band == PROBABLE else first
        self._values[slot, FILTER_LIMIT] = -np.inf if self._filter == PROBABLE else first
        number = self._next_number
        self._next_number += 1
        self._number_of[slot], self._slot_of[number] = number, slot
        self._choose_resolution()
        self._cover(slot, -np.inf)
        return number

    def remove(self, number: int) -> None:
        """Stop watching for a query."""
        if number not in self._slot_of:
            raise CrestlineError(f"there is no query {number}: it was removed, or never added")
        slot = self._slot_of.pop(number)
        row = self._table[slot]
        row[ACTIVE] = row[BAND + SIZE] = row[FILTER + SIZE] = 0
        for cell in np.flatnonzero(self._entered[:, slot]).tolist():
            leave_cell(self._count, self._members, self._entered, cell, slot)
        self._reach[:, slot] = _nowhere(1, self.dimensions)[:, 0]

    def __len__(self) -> int:
        return len(self._slot_of)

    def _checked(self, preference: Preference) -> tuple[int, Sequence[float], Sequence[float]]:
        ones = (1.0,) * self.dimensions
        kind: int
        if isinstance(preference, Distance):
            kind, point, weight = DISTANCE, preference.point, ones
        elif isinstance(preference, WeightedDistance):
            kind, point, weight = WEIGHTED_DISTANCE, preference.point, preference.weights
            if any(value < 0 for value in weight):
                raise CrestlineError("the weights of a distance must not be negative")
        elif isinstance(preference, WeightedSum):
            kind, point, weight = WEIGHTED_SUM, ones, preference.weights
        elif isinstance(preference, Haversine):
            kind, point, weight = HAVERSINE, preference.point, ones
            if self.dimensions != 2 or not abs(point[0]) <= 90:
                raise CrestlineError(f"{preference} is no latitude and longitude in degrees")
        else:
            kind, point, weight = COSINE, preference.vector, ones
            if not any(point):
                raise CrestlineError("a vector of zeros has no direction")
        for values in (point, weight):
            if len(values) != self.dimensions or not all(map(isfinite, values)):
                raise CrestlineError(
                    f"{preference} does not fit points of {self.dimensions} dimensions: it needs"
                    f" {self.dimensions} finite numbers"
                )
        return kind, point, weight

    def _free_slot(self) -> int:
        free = np.flatnonzero(self._table[:, ACTIVE] == 0)
        if len(free):
            return int(free[0])
        count = len(self._table)
        more = max(8, count)
        for name in ("number_of", "table", "values", "point", "weight"):
            setattr(self, f"_{name}", _longer(getattr(self, f"_{name}"), more))
        self._lay_lists(BAND, np.where(np.arange(count + more) < count, 0, _FIRST_ROOM))
        self._lay_lists(FILTER, np.where(np.arange(count + more) < count, 0, _FIRST_ROOM))
        wide = np.zeros((len(self._count), more), np.int64)
        self._members = np.hstack((self._members, wide))
        self._entered = np.hstack((self._entered, wide.astype(np.bool_)))
        self._reach = np.concatenate((self._reach, _nowhere(more, self.dimensions)), axis=1)
        # Room for four notes of each query; they are as many as there is room for, at most.
        longer = np.zeros((2, 8 * (count + more) + 32 - self._heaps.shape[1]), np.int64)
        self._heaps = np.hstack((self._heaps, longer))
        return count

    def _lay_lists(self, of: int, more: Ints) -> None:
        """Move all bands (or filters) to where each has so much more room."""
        table = self._table
        ints, scores = (
            ("band_ints", "band_score") if of == BAND else ("filter_ints", "filter_score")
        )
        size = table[:, of + SIZE]
        old = np.repeat(table[:, of + START], size) + _within(size)
        table[:, of + ROOM] += more
        table[1:, of + START] = np.cumsum(table[:-1, of + ROOM])
        table[:1, of + START] = 0
        new = np.repeat(table[:, of + START], size) + _within(size)
        room = int(table[:, of + ROOM].sum())
        moved_scores, moved_ints = np.zeros(room), np.zeros((DOMINATORS + 1, room), np.int64)
        moved_scores[new] = getattr(self, f"_{scores}")[old]
        moved_ints[:, new] = getattr(self, f"_{ints}")[:, old]
        setattr(self, f"_{scores}", moved_scores)
        setattr(self, f"_{ints}", moved_ints)

    # -- the grid -----------------------------------------------------------------------------

    @property
    def resolution(self) -> int:
        """Cells for each dimension."""
        return int(self._edges.shape[1] + 1)

    def _choose_resolution(self) -> None:
        """Cells half as wide as what queries look at, unless there is a wish; see above."""
        if self._wish is not None:
            wanted = self._wish
        elif self._filter == NONE and self._band != PROBABLE:
            wanted = 1
        else:
            active = self._table[self._table[:, ACTIVE] == 1]
            inside = float((active[:, K] + active[:, CANDIDATES]).mean())
            among = self.buffer
            if self._filter == NONE:
                among = max(1, int(active[:, WIDTH].mean()))
            wanted = _resolution(inside / among, self.dimensions)
            if self.resolution / 2 < wanted < 2 * self.resolution and len(self) > 1:
                return
        if wanted != self.resolution:
            self._lay_grid(wanted)

    def _lay_grid(self, resolution: int) -> None:
        steps = np.arange(1, resolution) / resolution
        # In two halves, since the corners may be further apart than a number can be.
        half = (self._high / 2 - self._low / 2)[:, None] * steps
        self._edges = self._low[:, None] + half + half
        cells, queries = resolution**self.dimensions, len(self._table)
        self._count = np.zeros(cells, np.int64)
        self._members = np.zeros((cells, queries), np.int64)
        self._entered = np.zeros((cells, queries), np.bool_)
        self._reach = _nowhere(queries, self.dimensions)
        # The recent records belong to other cells now.
        self._recent_cell[:] = 0
        for edges, x in zip(self._edges, self._recent_point.T, strict=True):
            slices = np.searchsorted(edges, x, side="right")
            self._recent_cell[:] = self._recent_cell * resolution + slices
        for slot in self._slot_of.values():
            self._cover(slot, self._threshold(slot))

    def _cover(self, slot: int, threshold: float) -> None:
        cover(
            self._table, self._values, self._point, self._weight, self._edges, self._count,
            self._members, self._entered, self._reach, slot, threshold, True,
            np.empty(self.dimensions), np.empty(self.dimensions),
        )  # fmt: skip

    def _threshold(self, slot: int) -> float:
        return threshold_of(
            self._table, self._values, self._filter_score, slot, self._band, self._filter
        )

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
            if self._table[self._table[:, ACTIVE] == 1, TIMED].any():
                raise CrestlineError("a query on time needs the times of the records")
        times = np.ascontiguousarray(times, np.int64)
        if len(points) == 0 or not self._slot_of:
            return self._pass_by(points, times)
        if times[0] < self._time or (np.diff(times) < 0).any():
            raise CrestlineError("records must come in the order of their times")
        snapshots, numbers, scores = self._take(points, times)
        slot, end, count = np.ascontiguousarray(snapshots.reshape(-1, 3).T)
        return _last_of_moments(Snapshots.of(self._number_of[slot], end, count, numbers, scores))

    def _pass_by(self, points: Floats, times: Ints) -> Snapshots:
        """Records that no query sees: later queries see later records only."""
        if len(points):
            self.seen += len(points)
            self._time = int(times[-1])
            self._cursor[0] = self.seen
        return Snapshots.nothing()

    def _take(self, points: Floats, times: Ints) -> tuple[Ints, Ints, Floats]:
        span = NEVER
        on_time = (self._table[:, ACTIVE] == 1) & (self._table[:, TIMED] == 1)
        if on_time.any():
            span = max(1, int(self._table[on_time, WIDTH].min()) // 2)
        count = len(self._table)
        changed, marks = np.zeros(count, np.bool_), np.zeros(count + 1, np.int64)
        rows = int(self._table[:, K].sum())
        out_snapshot = np.empty(3 * (count + 256), np.int64)
        out_number, out_score = np.empty(rows + 1024, np.int64), np.empty(rows + 1024)
        self._cursor[1:3] = 0
        at, reason = 0, -1
        while reason != FINISHED:
            reason, slot, at = take_records(
                self._band, self._filter, self.gamma, self.additional, self.buffer, span, points,
                times, self.seen, at, self._cursor, self._table, self._values, self._point,
                self._weight, self._band_score, self._band_ints, self._filter_score,
                self._filter_ints, self._edges, self._count, self._members, self._entered,
                self._reach, self._recent_point, self._recent_time, self._recent_cell,
                self._heaps, self._heap_sizes, changed, marks, out_snapshot, out_number, out_score,
            )  # fmt: skip
            if reason == OUTPUT_FULL:
                out_snapshot = _longer(out_snapshot, len(out_snapshot))
                out_number = _longer(out_number, len(out_number))
                out_score = _longer(out_score, len(out_score))
            elif reason != FINISHED:
                of = BAND if reason == BAND_FULL else FILTER
                more = np.zeros(count, np.int64)
                more[slot] = self._table[slot, of + ROOM]
                self._lay_lists(of, more)
        self.seen += len(points)
        self._time = int(times[-1])
        _, snapshots, written, _ = self._cursor.tolist()
        return out_snapshot[: 3 * snapshots], out_number[:written], out_score[:written]

    def top(self, number: int) -> tuple[Ints, Floats]:
        """A query's answer now: the records' numbers and scores, best first."""
        numbers, scores = self.band(number)
        k = int(self._table[self._slot_of[number], K])
        return numbers[:k], scores[:k]

    def band(self, number: int) -> tuple[Ints, Floats]:
        """All that a query's band holds."""
        return self._listed(number, BAND, self._band_ints, self._band_score)

    def filter(self, number: int) -> tuple[Ints, Floats]:
        """All that a query's filter holds."""
        return self._listed(number, FILTER, self._filter_ints, self._filter_score)

    def covered(self, number: int) -> float:
        """The threshold that a query's cells are good for."""
        return float(self._values[self._slot_of[number], COVERED])

    def _listed(self, number: int, of: int, ints: Ints, scores: Floats) -> tuple[Ints, Floats]:
        if number not in self._slot_of:
            raise CrestlineError(f"there is no query {number}: it was removed, or never added")
        row = self._table[self._slot_of[number]]
        part = slice(row[of + START], row[of + START] + row[of + SIZE])
        return ints[NUMBER, part].copy(), scores[part].copy()

    @property
    def candidates(self) -> int:
        """References to records in bands and filters, of all queries."""
        active = self._table[self._table[:, ACTIVE] == 1]
        return int(active[:, BAND + SIZE].sum() + active[:, FILTER + SIZE].sum())

    def ids(self) -> Ints:
        """The numbers of the records that any answer may still name, each once."""
        pieces = [np.arange(self._cursor[0], self.seen)] if self._filter != NONE else []
        for number in self._slot_of:
            pieces.append(self.band(number)[0])
        return np.unique(np.concatenate([np.empty(0, np.int64), *pieces]))

    @property
    def buffered(self) -> int:
        """Records in the shared buffer."""
        return int(self.seen - self._cursor[0]) if self._filter != NONE else 0

    @property
    def touched(self) -> int:
        """How often a query has looked at a record."""
        return int(self._cursor[3])

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        return {
            "dimensions": self.dimensions,
            "algorithm": self.algorithm,
            "wish": self._wish,
            "buffer": self.buffer,
            "gamma": self.gamma,
            "error": self.error,
            "additional": self.additional,
            "seen": self.seen,
            "time": int(self._time),
            "next_number": self._next_number,
            "slots": np.array(list(self._slot_of.items()), np.int64).reshape(-1, 2),
            "arrays": {name: getattr(self, f"_{name}") for name in _ARRAYS},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> StandingQueries:
        arrays = state["arrays"]
        sound.length("corners", arrays["low"], arrays["high"], of=state["dimensions"])
        length = sound.length("buffer", arrays["recent_time"], of=state["buffer"])
        sound.require(length == len(arrays["recent_point"]), "recent points are others")
        run = cls(
            state["dimensions"], algorithm=state["algorithm"], low=arrays["low"],
            high=arrays["high"], resolution=state["wish"], buffer=state["buffer"],
            gamma=state["gamma"], error=state["error"], additional=state["additional"],
        )  # fmt: skip
        run.seen, run._time = state["seen"], state["time"]
        run._next_number = state["next_number"]
        run._slot_of = {int(number): int(slot) for number, slot in state["slots"]}
        sound.like(state, run.state(), "standing")
        for name in _ARRAYS:
            setattr(run, f"_{name}", arrays[name])
        run._sound()
        return run

    def stands_for(self, number: int, preference: Preference, k: int, window: int) -> bool:
        """Whether the query of this number is this one."""
        if number not in self._slot_of:
            return False
        slot, (kind, point, weight) = self._slot_of[number], self._checked(preference)
        row = self._table[slot]
        same = np.array_equal(self._point[slot], point) and np.array_equal(
            self._weight[slot], weight
        )
        return same and (row[KIND], row[K], row[WIDTH], row[TIMED]) == (kind, k, window, 0)

    def _sound(self) -> None:
        """Refuse a state with which a kernel would leave its arrays; see ``core.sound``."""
        table, dimensions = self._table, self.dimensions
        slots = sound.length(
            "slots", table, self._number_of, self._values, self._point, self._weight
        )
        shapes = [
            table.shape[1],
            self._values.shape[1],
            self._point.shape[1],
            self._weight.shape[1],
        ]
        sound.require(shapes == [COLUMNS, VALUES, dimensions, dimensions], "a slot is wider")
        sound.require(self._recent_point.shape[1] == dimensions, "recent points are wider")
        sound.within("flags", table[:, [TIMED, ACTIVE]], 0, 2)
        sound.within("kinds", table[:, KIND], DISTANCE, HAVERSINE + 1)
        sound.within("k", table[:, K], 0, 1 << 31)
        sound.within("candidates", table[:, CANDIDATES], 0, 1 << 31)
        sound.moments("windows", table[:, WIDTH], table[:, SINCE], table[:, OLDEST])
        active = sorted(np.flatnonzero(table[:, ACTIVE] == 1).tolist())
        sound.require(sorted(self._slot_of.values()) == active, "queries stand in other slots")
        sound.require((table[active, K] >= 1).all(), "a query asks for nothing")
        numbers = self._number_of[list(self._slot_of.values())].tolist()
        sound.require(numbers == list(self._slot_of), "queries have other numbers")
        sound.within("numbers", np.array(numbers, np.int64), 0, self._next_number)
        lists = (
            (BAND, self._band_score, self._band_ints),
            (FILTER, self._filter_score, self._filter_ints),
        )
        for of, scores, ints in lists:
            start, room, size = (table[:, of + column] for column in (START, ROOM, SIZE))
            sound.require(ints.shape == (DOMINATORS + 1, len(scores)), "lists are wider")
            starts = np.append(start, len(scores))
            sound.offsets("lists", starts, slots, len(scores))
            fits = (size >= 0) & (size <= room) & (room == np.diff(starts))
            sound.require(fits.all(), "lists are longer than their room")
        self._sound_grid(slots)
        sound.length("cursor", self._cursor, of=4)
        sound.within("cursor", self._cursor[:1], 0, self.seen + 1)
        sound.within("cursor", self._cursor, 0, sound.FAR)
        buffered = self._filter == NONE or self.seen - self._cursor[0] <= self.buffer
        sound.require(buffered, "the buffer is longer")
        sound.moments("times", self._recent_time, np.array([self._time, self.seen]))
        sound.length("heap_sizes", self._heap_sizes, of=2)
        sound.require(len(self._heaps) == 2, "there are two heaps")
        for heap, notes in zip(self._heaps, self._heap_sizes.tolist(), strict=True):
            sound.require(0 <= 2 * notes <= len(heap), "a heap is longer than its room")
            sound.within("heap", heap[1 : 2 * notes : 2], 0, slots)
        sound.require(self._heaps.shape[1] >= 8 * slots, "heaps have no room")

    def _sound_grid(self, slots: int) -> None:
        edges, dimensions = self._edges, self.dimensions
        sound.require(len(edges) == dimensions, "the grid has other dimensions")
        sound.require((edges[:, 1:] >= edges[:, :-1]).all(), "borders do not ascend")
        cells = self.resolution**dimensions
        sound.require(cells <= MOST_CELLS, "there are too many cells")
        sound.length("cells", self._count, self._members, self._entered, of=cells)
        shapes = (self._members.shape[1], self._entered.shape[1])
        sound.require(shapes == (slots, slots), "cells know other queries")
        sound.require(self._reach.shape == (2, slots, dimensions), "queries reach elsewhere")
        sound.within("recent cells", self._recent_cell, 0, cells)
        sound.length("recent cells", self._recent_cell, of=self.buffer)
        sound.within("members", self._members, 0, max(slots, 1))
        told = self._entered.sum(axis=1)
        sound.require((told == self._count).all(), "cells count others")
        for cell in np.flatnonzero(self._count):
            mine = self._members[cell, : self._count[cell]]
            sound.require(self._entered[cell, mine].all(), "members are not entered")
            sound.require(len(np.unique(mine)) == len(mine), "a member comes twice")
        first, last = self._reach
        last_slice = edges.shape[1]
        inside = (first >= 0) & (last <= last_slice)
        nowhere = (first == NEVER) & (last == LONG_AGO)
        sound.require((inside | nowhere).all(), "queries reach outside the grid")

    def _check(self) -> None:
        for number, slot in self._slot_of.items():
            for numbers, scores in (self.band(number), self.filter(number)):
                keys = list(zip(scores.tolist(), numbers.tolist(), strict=True))
                assert keys == sorted(keys, reverse=True), ("S1", number, keys)
            threshold, covered = self._threshold(slot), self.covered(number)
            assert threshold >= covered, ("S2", number, threshold, covered)
            before = self._entered[:, slot].copy()
            self._cover(slot, covered)
            assert (self._entered[:, slot] <= before).all(), ("S2", number)
            row = self._table[slot]
            if row[OLDEST] < NEVER:
                notes = self._heaps[row[TIMED], : 2 * self._heap_sizes[row[TIMED]]].reshape(-1, 2)
                assert [row[OLDEST] + row[WIDTH], slot] in notes.tolist(), ("S3", number)


#: All that a state needs beside what was told at the beginning.
_ARRAYS = (
    "low", "high", "number_of", "table", "values", "point", "weight", "band_score", "band_ints",
    "filter_score", "filter_ints", "recent_point", "recent_time", "recent_cell", "cursor", "heaps",
    "heap_sizes", "edges", "count", "members", "entered", "reach",
)  # fmt: skip


def _resolution(share: float, dimensions: int) -> int:
    """Cells for each dimension where queries look at balls that hold this share of the space.

    >>> _resolution(0.02, 2), _resolution(0.02, 4), _resolution(0.02, 6)
    (13, 4, 1)
    """
    ball = pi ** (dimensions / 2) / gamma(dimensions / 2 + 1)
    radius = (min(1.0, share) / ball) ** (1 / dimensions)
    cells = max(1, round(1 / radius))
    while cells > 1 and cells**dimensions > MOST_CELLS:
        cells -= 1
    reached = min(1.0, 2 * radius + 1 / cells) ** dimensions
    return cells if reached < 0.5 else 1


def _longer(values: Any, more: int) -> Any:
    """The same array with that much room behind."""
    return np.concatenate((values, np.zeros((more, *values.shape[1:]), values.dtype)))


def _nowhere(queries: int, dimensions: int) -> Ints:
    """The first and last slices of queries that are in no cell."""
    reach = np.full((2, queries, dimensions), NEVER)
    reach[1] = LONG_AGO
    return reach


def _within(size: Ints) -> Ints:
    """0, 1, 2, ... for each of the stretches."""
    ends = np.cumsum(size)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - size, size)


def _last_of_moments(reported: Snapshots) -> Snapshots:
    """Of several answers of a query at one time, the last: the others never were."""
    same = np.zeros(len(reported), np.bool_)
    same[:-1] = (reported.partition[1:] == reported.partition[:-1]) & (
        reported.end[1:] == reported.end[:-1]
    )
    if not same.any():
        return reported
    kept = np.flatnonzero(~same)
    rows = np.concatenate(
        [np.arange(reported.offset[i], reported.offset[i + 1]) for i in kept]
    ).astype(np.int64)
    return Snapshots.of(
        reported.partition[kept],
        reported.end[kept],
        np.diff(reported.offset)[kept],
        reported.id[rows],
        reported.score[rows],
    )


__all__ = [
    "ALGORITHMS",
    "MOST_CELLS",
    "Cosine",
    "Distance",
    "Haversine",
    "Preference",
    "StandingQueries",
    "WeightedDistance",
    "WeightedSum",
]
