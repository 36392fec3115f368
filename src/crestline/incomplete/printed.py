"""Section 4 of Haghani et al. as printed: sketches of the streams of one partition.

The probability that an object of some streams is seen on another one is the share of the objects on
all of these that are on that one too. Windowed sketches of Flajolet and Martin give the sizes of
unions, and from these follow those of the joins. Of more than `_JOINT` streams only pairs are
looked at. Where objects may return to a stream, the size of its join with itself (Alon, Matias and
Szegedy) divided by its own tells how often they do (section 5; the paper does not say how).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.kernels.incomplete.expectation import Expectation
from crestline.kernels.incomplete.moments import PARTS, count_signs, new_moments, self_joins
from crestline.kernels.incomplete.sketches import (
    BITS,
    MAPS,
    highest,
    joined,
    new_sketches,
    sizes,
    sketch,
    with_room,
    without_unused,
)
from crestline.kernels.incomplete.store import Arrivals
from crestline.types import Floats, Ints

#: With more streams than this, an estimate for each set of streams would take too long.
_JOINT = 6
#: Sketches are read again when this many times the stored values have arrived.
_OFTEN = 2


class PrintedCorrelation:
    """Sketches of the streams of one partition."""

    def __init__(self, streams: int, repeated: bool, steps: int) -> None:
        """A window has this many ``steps``. Where objects are ``repeated``, returns are counted."""
        self.sketches = new_sketches(streams)
        self.counters, self.values, self.parts = new_moments(streams if repeated else 0)
        self._span = max(1, -(-steps // PARTS))
        self._arrived = 0  # values since the last estimate
        self._expectation: Expectation | None = None

    def add(self, arrived: Arrivals, leaves: Ints) -> None:
        """Take in values that leave at these steps."""
        rows = arrived.stream, arrived.high, arrived.low, leaves
        self.sketches = with_room(self.sketches, 1 + highest(arrived.high, arrived.low))
        sketch(self.sketches, *rows)
        if len(self.counters):
            count_signs(self.counters, self.values, self.parts, self._span, *rows)
        self._arrived += len(leaves)

    def expectation(self, step: int, stored: int) -> Expectation:
        """Return what may be expected after a step: the largest values."""
        if self._expectation is None or self._arrived > _OFTEN * stored:
            self._arrived, self.sketches = 0, without_unused(self.sketches, step)
            self._expectation = self._estimated(step)
        return self._expectation

    def _estimated(self, step: int) -> Expectation:
        streams = len(self.sketches)
        single = 1 << np.arange(streams)
        if streams <= _JOINT:
            states = np.arange(1, 1 << streams)
            unions = sizes(self.sketches, step)
            chances = np.array([self._shares(unions, int(state), single) for state in states])
            pairs = chances[single - 1]
        else:
            states, chances = np.empty(0, np.int64), np.empty((0, streams))
            pairs = self._pairs(step)
        times = np.ones(streams)
        if len(self.counters):
            joins, counts = self_joins(self.counters, self.values, self.parts, self._span, step)
            times = np.maximum(1.0, joins / np.maximum(counts, 1))
        full = np.ones(streams)
        return Expectation(states, chances, pairs, full, full, times, 0.0)

    @staticmethod
    def _shares(unions: Floats, state: int, single: Ints) -> Floats:
        """Return the share of the objects of a state that each stream has seen too; 1 where there
        are none."""
        of = joined(unions, state)
        if of < 1:
            return np.ones(len(single))
        both = np.array([joined(unions, state | bit) for bit in single.tolist()])
        return np.clip(both / of, 0.0, 1.0)

    def _pairs(self, step: int) -> Floats:
        streams = len(self.sketches)
        pairs = np.ones((streams, streams))
        for x in range(streams):
            for y in range(x):
                unions = sizes(np.ascontiguousarray(self.sketches[[x, y]]), step)
                both = joined(unions, 3)
                for a, b, size in ((x, y, unions[1]), (y, x, unions[2])):
                    pairs[a, b] = min(1.0, max(0.0, both / size)) if size >= 1 else 1.0
        return pairs

    def state(self) -> dict[str, Any]:
        return {
            "sketches": self.sketches.ravel(),
            "counters": self.counters.ravel().astype(np.int64),
            "values": self.values.ravel(),
            "parts": self.parts,
        }

    def restore(self, state: dict[str, Any]) -> None:
        streams = len(self.sketches)
        bits = len(state["sketches"]) // (streams * MAPS)
        sound.require(1 <= bits <= BITS, "the sketches have no such positions")
        self.sketches = new_sketches(streams, bits)
        for name in ("sketches", "counters", "values", "parts"):
            held = getattr(self, name)
            sound.length(name, state[name], of=held.size)
            sound.moments(name, state[name])
            held[:] = state[name].reshape(held.shape)
