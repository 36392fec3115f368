"""The configuration of standing queries: algorithm, corners of the grid, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crestline.certain.arrival_options import LARGE_WINDOW
from crestline.certain.preferences import (
    AttributeDistance,
    Distance,
    Preference,
    WeightedDistance,
    WeightedSum,
)
from crestline.certain.probable import candidate_limit
from crestline.certain.query_grid import MOST_CELLS, suitable_resolution
from crestline.core.errors import CrestlineError
from crestline.kernels.certain.bands import PROBABLE, RELAXED, STRICT
from crestline.kernels.certain.scoring import GIVEN
from crestline.kernels.certain.standing_grid import has_threshold, spare_of
from crestline.kernels.certain.standing_table import (
    BEST,
    BORN,
    CANDIDATES,
    DOMINATORS,
    KIND,
    NO_FILTER,
    NUMBER,
    SKYBAND,
    TIMED,
    WIDTH,
    Algorithm,
    K,
)
from crestline.types import Floats, Ints

#: Band and filter of each algorithm.
ALGORITHMS = {
    "SA": (STRICT, NO_FILTER),
    "RA": (RELAXED, NO_FILTER),
    "PA": (PROBABLE, NO_FILTER),
    "SASF": (STRICT, STRICT),
    "SARF": (STRICT, RELAXED),
    "SAPF": (STRICT, PROBABLE),
    "RASF": (RELAXED, STRICT),
    "RARF": (RELAXED, RELAXED),
    "RAPF": (RELAXED, PROBABLE),
    "CPM": (BEST, NO_FILTER),
    "SNN": (SKYBAND, NO_FILTER),
}

#: The algorithms whose bands are read from the cells.
FROM_CELLS = ("CPM", "SNN")
#: Cells that bands are read from, at most. Measured with 400 queries for the nearest of 6,000
#: points: 16,384 cells take from half to as much time again.
MOST_READ = 4096


@dataclass(frozen=True, slots=True)
class StandingOptions:
    """What is fixed when standing queries are built."""

    dimensions: int
    algorithm: str
    #: Cells for each dimension; None: chosen.
    resolution: int | None
    buffer: int
    gamma: float
    error: float
    additional: int

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            names = ", ".join(ALGORITHMS)
            raise CrestlineError(f"standing queries know {names}, not {self.algorithm}")
        resolution = 1 if self.resolution is None else self.resolution
        if self.dimensions < self.whole or self.buffer < 1 or resolution < 1:
            raise CrestlineError(
                "buffer and resolution must be at least 1, dimensions 0 (CPM and SNN: 1)"
            )
        if not 0 < self.error < 1 or self.gamma < 0 or self.additional < 0:
            raise CrestlineError("error lies between 0 and 1, gamma and additional from 0 on")
        if resolution**self.dimensions > MOST_CELLS:
            raise CrestlineError(
                f"{resolution} cells in each of {self.dimensions} dimensions are more than"
                f" {MOST_CELLS:,}: choose a lower resolution"
            )

    @property
    def band(self) -> int:
        """The kind of the bands."""
        return ALGORITHMS[self.algorithm][0]

    @property
    def filter(self) -> int:
        """The kind of the filters."""
        return ALGORITHMS[self.algorithm][1]

    @property
    def filtered(self) -> bool:
        """Whether there are filters, and a buffer of recent records."""
        return self.filter != NO_FILTER

    @property
    def whole(self) -> bool:
        """Whether cells hold the records of the longest window, and bands are read from them."""
        return self.band in (BEST, SKYBAND)

    def for_kernel(self, span: int) -> Algorithm:
        """Return the options for ``take_records``; the buffer spans at most ``span`` of time."""
        return Algorithm(
            self.band,
            self.filter,
            DOMINATORS + 1 if self.band in (STRICT, SKYBAND) else BORN + 1,
            DOMINATORS + 1 if self.filter == STRICT else NUMBER + 1,
            float(self.gamma),
            self.additional,
            self.buffer,
            span,
        )

    def corners(
        self, low: float | Sequence[float], high: float | Sequence[float]
    ) -> tuple[Floats, Floats]:
        """The corners of the grid, as points."""
        shape = (self.dimensions,)
        first = np.broadcast_to(np.asarray(low, np.float64), shape).copy()
        last = np.broadcast_to(np.asarray(high, np.float64), shape).copy()
        if not (np.isfinite(first) & np.isfinite(last)).all() or (first >= last).any():
            raise CrestlineError("low must lie below high, in every dimension")
        return first, last

    def require_window(self, k: int, window: int, timed: bool) -> None:
        """Refuse a query whose window is too short for the shared buffer."""
        if k < 1 or window < 1:
            raise CrestlineError(f"k and window must be at least 1, not {k} and {window}")
        if self.filtered and not timed and 2 * self.buffer - 1 > window:
            raise CrestlineError(
                f"the shared buffer of {self.buffer:,} records is too long for a window of"
                f" {window:,}, of which it may hold half (Theorem 5.1 of Pripuzic et al.): build"
                " StandingQueries with a smaller buffer"
            )

    def require_preference(self, preference: Preference) -> None:
        """Refuse a score that does not tell in which cell to read on."""
        kinds = (Distance, WeightedDistance, AttributeDistance, WeightedSum)
        if self.whole and not isinstance(preference, kinds):
            raise CrestlineError(
                f"{self.algorithm} reads cells in the order of a distance or a weighted sum, not of"
                f" {type(preference).__name__}"
            )

    def candidates(self, k: int, window: int, timed: bool) -> int:
        """Return the number of candidates beside the k best in a probable list."""
        if PROBABLE not in (self.band, self.filter):
            return 0
        n = self.buffer if self.filtered else (LARGE_WINDOW if timed else window)
        limit = candidate_limit(k, n, self.error)
        return limit if self.band == PROBABLE else min(limit, 2 * spare_of(k))

    def first_limits(self, k: int) -> tuple[float, float]:
        """The limits of empty lists: a threshold (probable), or a size at which to prune."""
        return (
            -np.inf if has_threshold(self.band) else 4.0 * k,
            -np.inf if self.filter == PROBABLE else 4.0 * k,
        )

    def wanted_resolution(self, active: Ints, now: int, records: int) -> int:
        """Return the resolution for queries with these rows: the chosen one, or cells half as wide
        as what the queries look at; ``now`` if that is close to it. The ring has ``records``."""
        if self.resolution is not None:
            return self.resolution
        active = active[active[:, KIND] != GIVEN]
        if len(active) == 0 or (not self.filtered and not has_threshold(self.band)):
            return 1
        if self.filtered:
            k, count = np.unique(active[:, K], return_counts=True)
            spare = [spare_of(each) / 2 if self.filter == PROBABLE else 0.0 for each in k.tolist()]
            inside, among = float(count @ (k + spare)) / len(active), self.buffer
        elif self.whole:
            widths = np.where(active[:, TIMED] == 1, records, active[:, WIDTH])
            inside, among = float(active[:, K].mean()), max(1, int(widths.mean()))
        else:
            inside = float((active[:, K] + active[:, CANDIDATES]).mean())
            among = max(1, int(active[:, WIDTH].mean()))
        most = MOST_READ if self.whole else MOST_CELLS
        wanted = suitable_resolution(inside / among, self.dimensions, most)
        near = now / 2 < wanted < 2 * now and len(active) > 1
        return now if near else wanted


__all__ = ["ALGORITHMS", "FROM_CELLS", "MOST_READ", "StandingOptions"]
