"""The recent records that all standing queries share: a ring of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.kernels.certain.standing_table import Buffer
from crestline.types import Floats


class QueryBuffer:
    """A ring; record n is in row n modulo its size. Behind the coordinates are given scores."""

    def __init__(self, size: int, dimensions: int) -> None:
        self.dimensions = dimensions
        numbers = np.zeros((3, size), np.int64)
        self.arrays = Buffer(np.zeros((size, dimensions)), *(row.copy() for row in numbers))

    @property
    def given(self) -> int:
        """How many scores stand behind the coordinates of a record."""
        return int(self.arrays.point.shape[1]) - self.dimensions

    def widen(self, given: int) -> None:
        """Make room for so many given scores."""
        point = self.arrays.point
        more = np.zeros((len(point), max(0, given - self.given)))
        self.arrays = self.arrays._replace(point=np.hstack((point, more)))

    def coordinates(self, first: int, last: int) -> Floats:
        """The places of these records, which must be in the ring; infinite ones are left out."""
        rows = np.arange(first, last) % len(self.arrays.time)
        points: Floats = self.arrays.point[rows, : self.dimensions]
        return points[np.isfinite(points).all(axis=1)]

    def make_room(self, size: int, first: int, last: int) -> None:
        """Let the ring have this size; the records from ``first`` up to ``last`` stay in it."""
        old, numbers = self.arrays, np.arange(first, last)
        self.arrays = Buffer(*(np.zeros((size, *each.shape[1:]), each.dtype) for each in old))
        for mine, each in zip(self.arrays, old, strict=True):
            mine[numbers % size] = each[numbers % len(each)]

    def restore(self, state: dict[str, Any]) -> None:
        self.arrays = Buffer(**state)

    def require_sound(self, cells: int) -> None:
        """Refuse a ring that would make a kernel leave its arrays; see ``core.sound``."""
        sound.require(self.given >= 0, "recent points are narrower")
        sound.within("recent cells", self.arrays.cell, 0, cells)
        sound.moments("recent times", self.arrays.time, self.arrays.serial)


__all__ = ["QueryBuffer"]
