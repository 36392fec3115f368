"""The grid over the space of points: each cell lists the queries that a point of it may reach.

**Resolution.** If points are spread evenly, a query looks at a ball around itself that holds its
share of them; cells are as wide as the radius of that ball. Where that leaves most queries in most
cells, as in six dimensions or more, there is one cell. There are never more than ``MOST_CELLS``.
"""

from __future__ import annotations

from math import gamma, pi
from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.kernels.certain.standing_grid import cover, leave_cell
from crestline.kernels.certain.standing_table import Grid, Queries
from crestline.types import Floats, Ints

MOST_CELLS = 1 << 14


class QueryGrid:
    """Cells between two corners; the outer ones are open."""

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = low, high
        self.arrays: Grid
        self.lay(1, 0)

    @property
    def dimensions(self) -> int:
        return len(self.low)

    @property
    def resolution(self) -> int:
        """Cells for each dimension."""
        return int(self.arrays.edges.shape[1] + 1)

    def lay(self, resolution: int, queries: int) -> None:
        """Replace the cells, with room for this many queries; no query is entered."""
        steps = np.arange(1, resolution) / resolution
        # In two halves, since the distance of the corners may overflow.
        half = (self.high / 2 - self.low / 2)[:, None] * steps
        cells = resolution**self.dimensions
        self.arrays = Grid(
            self.low[:, None] + half + half,
            np.zeros(cells, np.int64),
            np.zeros((cells, queries), np.int64),
            np.zeros((cells, queries), np.bool_),
            _nowhere(queries, self.dimensions),
        )

    def fit(self, points: Floats) -> bool:
        """Move the corners to those of the points, if they fit badly; whether they were moved."""
        low, high = points.min(axis=0), points.max(axis=0)
        half = high / 2 - low / 2  # their distance may overflow
        fits = (abs(self.low - low) <= half / 4) & (abs(self.high - high) <= half / 4)
        if fits.all() or not (half > 0).all():
            return False
        self.low, self.high = low, high
        return True

    def grow(self, more: int) -> None:
        """Make room for more queries."""
        grid = self.arrays
        wide = np.zeros((len(grid.sizes), more), np.int64)
        self.arrays = grid._replace(
            members=np.hstack((grid.members, wide)),
            entered=np.hstack((grid.entered, wide.astype(np.bool_))),
            reach=np.concatenate((grid.reach, _nowhere(more, self.dimensions)), axis=1),
        )

    def cells_of(self, points: Floats) -> Ints:
        """The cell of each point; what stands behind the coordinates plays no part."""
        cells = np.zeros(len(points), np.int64)
        for edges, x in zip(self.arrays.edges, points.T, strict=False):
            cells = cells * self.resolution + np.searchsorted(edges, x, side="right")
        return cells

    def cover(self, queries: Queries, slot: int, threshold: float) -> None:
        """Enter a query into exactly the cells that may hold a point with a score of the threshold
        or more."""
        room = np.empty(self.dimensions), np.empty(self.dimensions)
        cover(queries, self.arrays, slot, threshold, True, *room)

    def remove(self, slot: int) -> None:
        """Take a query out of all cells."""
        grid = self.arrays
        for cell in np.flatnonzero(grid.entered[:, slot]).tolist():
            leave_cell(grid.sizes, grid.members, grid.entered, cell, slot)
        grid.reach[:, slot] = _nowhere(1, self.dimensions)[:, 0]

    def state(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high} | self.arrays._asdict()

    def restore(self, state: dict[str, Any]) -> None:
        self.low, self.high = state["low"], state["high"]
        self.arrays = Grid(**{name: state[name] for name in Grid._fields})

    def require_sound(self, slots: int) -> None:
        """Refuse a grid that would make a kernel leave its arrays; see ``core.sound``."""
        edges, count, members, entered, reach = self.arrays
        sound.require(len(edges) == self.dimensions, "the grid has other dimensions")
        sound.require((edges[:, 1:] >= edges[:, :-1]).all(), "borders do not ascend")
        cells = self.resolution**self.dimensions
        sound.require(cells <= MOST_CELLS, "there are too many cells")
        sound.length("cells", count, members, entered, of=cells)
        shapes = (members.shape[1], entered.shape[1])
        sound.require(shapes == (slots, slots), "cells know other queries")
        sound.require(reach.shape == (2, slots, self.dimensions), "queries reach elsewhere")
        sound.within("members", members, 0, max(slots, 1))
        sound.require((entered.sum(axis=1) == count).all(), "cells count others")
        for cell in np.flatnonzero(count):
            listed = members[cell, : count[cell]]
            sound.require(entered[cell, listed].all(), "members are not entered")
            sound.require(len(np.unique(listed)) == len(listed), "a member comes twice")
        first, last = reach
        inside = (first >= 0) & (last <= edges.shape[1])
        nowhere = (first == NEVER) & (last == LONG_AGO)
        sound.require((inside | nowhere).all(), "queries reach outside the grid")


def suitable_resolution(share: float, dimensions: int, most: int = MOST_CELLS) -> int:
    """Return the number of cells by dimension for queries whose balls hold this share of the space;
    there are at most so many cells.

    >>> [suitable_resolution(0.02, dimensions) for dimensions in (2, 4, 6)]
    [13, 4, 1]
    """
    ball = pi ** (dimensions / 2) / gamma(dimensions / 2 + 1)
    radius = (min(1.0, share) / ball) ** (1 / dimensions)
    cells = max(1, round(1 / radius))
    while cells > 1 and cells**dimensions > most:
        cells -= 1
    reached = min(1.0, 2 * radius + 1 / cells) ** dimensions
    return cells if reached < 0.5 else 1


def _nowhere(queries: int, dimensions: int) -> Ints:
    """Return the first and last slices of queries that are in no cell."""
    reach = np.full((2, queries, dimensions), NEVER)
    reach[1] = LONG_AGO
    return reach


__all__ = ["MOST_CELLS", "QueryGrid", "suitable_resolution"]
