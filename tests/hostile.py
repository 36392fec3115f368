"""Numbers that are allowed and awkward: every random test of every family draws from these.

Infinities (``inf - inf`` is NaN), zeros of both signs (equal, so ties), numbers too small to be
normal (their products vanish), the largest (their sums and differences overflow), and neighbours
that a rounded sum takes for equal.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

LARGEST = sys.float_info.max
LEAST_NORMAL = sys.float_info.min
SCORES = (
    math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 2.2e-308, LEAST_NORMAL, -LEAST_NORMAL,
    LARGEST, -LARGEST, math.nextafter(LARGEST, 0.0), 1.0, math.nextafter(1.0, 0.0),
    math.nextafter(1.0, 2.0),
)  # fmt: skip
FINITE = tuple(score for score in SCORES if math.isfinite(score))
#: Doubles cannot tell all of them apart.
INTEGERS = (
    0, 1, -1, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63),
    -(2**63) + 1,
)  # fmt: skip
PROBABILITIES = (5e-324, 2.2e-308, 1e-300, 1e-16, 2.0**-53, 0.5, math.nextafter(1.0, 0.0), 1.0)

#: Ends of a declared range: huge, tiny, hardly apart.
RANGES = (
    (0.0, LARGEST), (-LARGEST, LARGEST), (-5e-324, 5e-324), (0.0, 2.2e-308),
    (1.0, math.nextafter(1.0, 2.0)), (-LARGEST, 0.0),
)  # fmt: skip
WEIGHTS = (0.0, 5e-324, 1.0, LARGEST)


def within(low: float, high: float) -> tuple[float, ...]:
    """The finite ones of such a range, its ends included."""
    return (low, high, *(value for value in FINITE if low <= value <= high))


def spiked(rng: np.random.Generator, values: Any, hostile: tuple[float, ...] = SCORES) -> Any:
    """The values, none, some or all of them replaced by hostile ones: often only two or three
    different ones, which then meet each other."""
    share = float(rng.choice([0.0, 0.0, 0.2, 0.7, 1.0]))
    few = rng.choice(hostile, int(rng.choice([2, 3, len(hostile)])))
    return np.where(rng.random(np.shape(values)) < share, rng.choice(few, np.shape(values)), values)
