"""How the values of an object on several streams become its score."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Self

import numpy as np

from crestline.core.errors import CrestlineError
from crestline.kernels.incomplete.combine import AVG, MAX, MIN, SUM, WEIGHTED_SUM, ScoreRule
from crestline.types import Ints

_FUNCTIONS = {"SUM": SUM, "AVG": AVG, "MIN": MIN, "MAX": MAX, "WEIGHTED_SUM": WEIGHTED_SUM}
#: Sets of streams are the bits of an integer.
MOST_STREAMS = 62


@dataclass(frozen=True, slots=True)
class Combination:
    """``COMBINE`` in numbers.

    ``streams`` is None if the number of streams is not declared. A stream without a value counts
    ``low`` (0 if no range is declared). With ``repeats``, up to ``at_most`` values of an object on
    a stream become one; without, there is at most one. With ``once``, an object that is in the
    window does not return to a stream, even when its value there has left.

    >>> Combination("SUM", streams=3, low=-1.0, high=1.0).missing
    -1.0
    """

    function: str
    streams: int | None
    low: float | None = None
    high: float | None = None
    repeats: str | None = None
    at_most: int = 1
    weights: tuple[float, ...] = ()
    once: bool = False

    def __post_init__(self) -> None:
        if self.function not in _FUNCTIONS:
            raise CrestlineError(f"{self.function} is none of {', '.join(_FUNCTIONS)}")
        if self.repeats is not None and self.repeats not in list(_FUNCTIONS)[:-1]:
            raise CrestlineError(f"repeats cannot be made one by {self.repeats}")
        if self.repeats is None and self.at_most != 1:
            raise CrestlineError("to have several values on one stream, say what becomes of them")
        if self.streams is not None and not 1 <= self.streams <= MOST_STREAMS:
            raise CrestlineError(f"there are 1 to {MOST_STREAMS} streams, not {self.streams}")
        if (self.low is None) != (self.high is None):
            raise CrestlineError("a range of values has two ends")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise CrestlineError("the lower end of the range must be below the upper one")
        if not all(map(isfinite, (self.low or 0.0, self.high or 0.0, *self.weights))):
            raise CrestlineError("the ends of a range and the weights are finite numbers")
        if (self.function == "WEIGHTED_SUM") != bool(self.weights):
            raise CrestlineError("WEIGHTED_SUM needs a weight for each stream, others none")
        if self.weights and len(self.weights) != self.streams:
            raise CrestlineError("give a weight for each stream")
        if any(not weight >= 0 for weight in self.weights):
            raise CrestlineError(
                "a weight is negative: a score must not fall when a value is larger"
            )
        if self.once and self.at_most > 1:
            raise CrestlineError("once means that there are no repeats: leave one of the two out")

    @property
    def missing(self) -> float:
        """The value of a stream without a value."""
        return 0.0 if self.low is None else self.low

    @property
    def grows(self) -> bool:
        """Whether a score can only grow when a value comes."""
        if self.low is None or self.repeats in ("AVG", "MIN"):
            return False
        return self.repeats != "SUM" or self.low >= 0

    def rule(self, order: Ints) -> ScoreRule:
        """Return how values are combined, for kernels; streams are added in this order."""
        return ScoreRule(
            _FUNCTIONS[self.function],
            _FUNCTIONS[self.repeats or "SUM"],
            self.at_most,
            float(self.missing),
            float("-inf") if self.low is None else float(self.low),
            float("inf") if self.high is None else float(self.high),
            self.streams is not None,
            self.once,
            order,
            np.asarray(self.weights, np.float64),
        )

    def state(self) -> dict[str, Any]:
        return asdict(self) | {"weights": list(self.weights)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return cls(**(state | {"weights": tuple(state["weights"])}))
