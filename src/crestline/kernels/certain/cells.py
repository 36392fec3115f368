"""Cells of a grid, over scores or over attributes, and the best score that each can hold.

A cell of attributes is a box. The slices of a dimension are equally wide, the first begins at
``low``; points beyond the outer slices belong to these.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.certain.scoring import best_in_box
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


@kernel
def _slice(value: float, low: float, scale: float, slices: int) -> int:
    place = (value - low) * scale
    if not place > 0.0:  # NaN too
        return 0
    return slices - 1 if place >= slices - 1 else int(place)


@kernel
def cells_of_scores(scores: Floats, low: float, scale: float, cells: int) -> Ints:
    """The cell of each score; cells are ``1 / scale`` wide, and better scores are in later ones."""
    found = np.empty(len(scores), np.int64)
    for i in range(len(scores)):
        found[i] = _slice(scores[i], low, scale, cells)
    return found


@kernel
def cells_of_points(
    points: Floats, scores: Floats, low: Floats, scale: Floats, resolution: int, bounds: Floats
) -> Ints:
    """The cell of each point; slices of dimension i are ``1 / scale[i]`` wide. A point that scores
    better than the bound of its cell is in the last one."""
    found = np.empty(len(points), np.int64)
    for row in range(len(points)):
        cell = 0
        for i in range(len(low)):
            cell = cell * resolution + _slice(points[row, i], low[i], scale[i], resolution)
        found[row] = cell if scores[row] <= bounds[cell] else len(bounds) - 1
    return found


@kernel
def bounds_of_cells(
    kind: int, point: Floats, weight: Floats, first: Floats, width: Floats, resolution: int
) -> Floats:
    """Return for each cell a score that no point between its sides exceeds.

    ``kind``, ``point`` and ``weight`` are a query (one row each); see ``kernels.certain.scoring``.
    """
    dimensions = len(first)
    bounds = np.empty(resolution**dimensions)
    low, high = np.empty(dimensions), np.empty(dimensions)
    for cell in range(len(bounds)):
        rest = cell
        for i in range(dimensions - 1, -1, -1):
            low[i] = first[i] + (rest % resolution) * width[i]
            high[i] = first[i] + (rest % resolution + 1) * width[i]
            rest //= resolution
        bounds[cell] = best_in_box(kind, point, weight, 0.0, 0, low, high)
    return bounds
