"""The cells of a grid that holds a window: which cell a record is in, and in which order cells are
read.

**Over the score**, cells are intervals, and the best interval comes first. **Over attributes**
(Mouratidis et al. 2006, Mouratidis and Papadias 2007), cells are boxes in the space of the columns
that the score is computed from. They are read in the order of the best score that a point of the
box can have: around the point of a distance, from the best corner of a weighted sum. The query
stays, so that order is computed once. A query's *influence region* is the beginning of the order:
the cells whose bound reaches a threshold.

The score of a record comes from the engine, so no bound of ours can vouch for it: columns may be of
any type, and rounding differs. A record that scores better than the bound of its cell is in the
last cell instead, which is read first. So every record scores at most the bound of the cell it is
in, whatever its columns hold.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from crestline.certain.preferences import Preference, checked_preference
from crestline.core import sound
from crestline.core.batch import Batch
from crestline.core.errors import CrestlineError
from crestline.kernels.certain.cells import bounds_of_cells, cells_of_points, cells_of_scores
from crestline.types import Floats, Ints

#: The most cells of a partition.
MOST_CELLS = 4096
#: A partition has at least so many intervals of scores, and slices of a dimension.
_LEAST_INTERVALS, _LEAST_SLICES = 4, 2


class ScoreCells:
    """Intervals of the score, equally wide between two scores; the outer ones are open."""

    #: Whether all records of a cell rank before those of the cells that are read after it.
    disjoint = True

    def __init__(self, low: float, scale: float, count: int) -> None:
        self.low, self.scale, self.count = low, scale, count
        self.order = np.arange(count - 1, -1, -1)
        self.bounds = np.empty(0)

    @classmethod
    def over(cls, scores: Floats, most: int) -> Self:
        """Make ``most`` cells over the range of these scores."""
        count = max(_LEAST_INTERVALS, most)
        low, width = _slices(scores[:, None], count)
        return cls(float(low[0]), float(_inverse(width)[0]), count)

    def of_scores(self, scores: Floats) -> Ints:
        return cells_of_scores(scores, self.low, self.scale, self.count)

    def state(self) -> dict[str, Any]:
        return {"low": self.low, "scale": self.scale, "count": self.count}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        sound.within("cells", np.array([state["count"]]), 1, MOST_CELLS + 1)
        sound.require(np.isfinite((state["low"], state["scale"])).all(), "cells have no width")
        return cls(state["low"], state["scale"], state["count"])


class AttributeCells:
    """Boxes in the space of the attributes, and the cell of the records that score too well for
    theirs."""

    disjoint = False

    def __init__(self, preference: Preference, low: Floats, width: Floats, resolution: int) -> None:
        self.low, self.width, self.resolution = low, width, resolution
        kind, point, weight = checked_preference(preference, len(low))
        rows = np.array([point], np.float64), np.array([weight], np.float64)
        boxes = bounds_of_cells(kind, *rows, low, width, resolution)
        #: No record of a cell scores better.
        self.bounds = np.append(boxes, np.inf)
        #: The cells, those with the best bounds first.
        self.order = np.argsort(-self.bounds, kind="stable")

    @property
    def count(self) -> int:
        return len(self.bounds)

    @classmethod
    def over(cls, preference: Preference, points: Floats, most: int) -> Self:
        """Make up to ``most`` cells over the box of these points."""
        resolution = max(_LEAST_SLICES, int(max(most, 1) ** (1 / points.shape[1]) + 1e-9))
        return cls(preference, *_slices(points, resolution), resolution)

    def of(self, batch: Batch) -> Ints:
        """The cells of records with points."""
        points = points_of(batch, len(self.low))
        scores = np.ascontiguousarray(batch.scores, np.float64)
        return cells_of_points(
            points, scores, self.low, _inverse(self.width), self.resolution, self.bounds
        )

    def influence(self, threshold: float) -> Ints:
        """The cells that can hold a record with a score of ``threshold`` or more."""
        reached = self.bounds[self.order] >= threshold
        return self.order[: np.count_nonzero(reached)]

    def state(self) -> dict[str, Any]:
        return {"low": self.low, "width": self.width, "resolution": self.resolution}

    @classmethod
    def restored(cls, preference: Preference, state: dict[str, Any]) -> Self:
        low, width, resolution = state["low"], state["width"], state["resolution"]
        dimensions = sound.length("cells", low, width)
        sound.within("slices", np.array([resolution]), _LEAST_SLICES, MOST_CELLS + 1)
        sound.require(1 <= dimensions < MOST_CELLS.bit_length(), "cells have too many dimensions")
        sound.require(resolution**dimensions <= MOST_CELLS, "there are too many cells")
        sound.require(np.isfinite((low, width)).all(), "cells have no width")
        return cls(preference, low, width, resolution)


def points_of(batch: Batch, dimensions: int) -> Floats:
    """The points of a batch; CrestlineError if it has none of so many dimensions."""
    points = batch.points
    if points is None or points.shape != (len(batch), dimensions):
        raise CrestlineError(
            f"records need points of {dimensions} coordinates: the operator ranks by a preference"
        )
    return np.ascontiguousarray(points, np.float64)


def _slices(points: Floats, count: int) -> tuple[Floats, Floats]:
    """The beginning and the width of ``count`` equal slices of each dimension, over the finite
    values."""
    low, width = np.zeros(points.shape[1]), np.zeros(points.shape[1])
    for i, values in enumerate(points.T):
        finite = values[np.isfinite(values)]
        if len(finite):
            low[i] = finite.min()
            # Divided first: the difference of the largest numbers overflows.
            width[i] = finite.max() / count - low[i] / count
    return low, np.maximum(width, 0.0)


def _inverse(width: Floats) -> Floats:
    """Slices in a unit; 0 where they have no width."""
    with np.errstate(divide="ignore", over="ignore"):
        scale = 1.0 / width
    return np.where(np.isfinite(scale), scale, 0.0)


__all__ = ["MOST_CELLS", "AttributeCells", "ScoreCells", "points_of"]
