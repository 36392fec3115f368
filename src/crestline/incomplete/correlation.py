"""Which streams see the same objects, and how large their values are.

That is a property of the streams, so all partitions of an operator share it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.incomplete.sample import NewObservations, ObjectSample, repeats
from crestline.kernels.incomplete.expectation import Expectation
from crestline.kernels.incomplete.sampled import Tallies, count_followers
from crestline.types import Floats, Ints

#: States with a row of their own, at most.
_STATES = 32
#: A state or a stream tells something when so many objects were counted.
_ENOUGH = 16
#: Expectations are renewed after so many observations of the sample.
_RENEWED = 8
#: When so many values, or entries into states, were counted, all that was counted before is halved.
_MANY = 1024


class StreamCorrelation:
    """How probable it is that an object is seen on another stream, and the mean values."""

    def __init__(self, streams: int) -> None:
        #: Of values as shares of their range: their number, sum and sum of squares, by stream.
        self.values = np.zeros((3, streams))
        rows = min(_STATES, (1 << streams) - 1)
        self.tallies = Tallies(
            np.zeros(rows, np.int64), _zeros(rows), _zeros(rows, streams), _zeros(streams),
            _zeros(streams, streams),
        )  # fmt: skip

        self._expectation: Expectation | None = None
        self._fresh = 0  # observations since it was computed

    def add(self, stream: Ints, shares: Floats) -> None:
        """Take in values that lie at these shares of their range."""
        if self.values[0].sum() > _MANY:
            self.values /= 2
        for power, sums in enumerate(self.values):
            sums += np.bincount(stream, shares**power, len(sums))

    def count(self, sample: ObjectSample, new: NewObservations) -> None:
        """Count what observations tell that were added to the sample."""
        if self.tallies.seen.sum() > _MANY:
            for counted in self.tallies[1:]:
                counted /= 2
        self._fresh += len(new.steps)
        count_followers(sample.observations, new.first, new.steps, self.tallies)

    def expectation(self, sample: ObjectSample, hope: float, repeated: bool) -> Expectation:
        """Return what may be expected; see ``_expected``."""
        little = self.tallies.seen.min() < _ENOUGH
        if self._expectation is None or little or self._fresh >= _RENEWED:
            self._expectation, self._fresh = self._expected(sample, hope, repeated), 0
        return self._expectation

    def _expected(self, sample: ObjectSample, hope: float, repeated: bool) -> Expectation:
        """Work out what may be expected. Where little was counted, everything may come."""
        states, entered, followed, seen, together = self.tallies
        streams = self.values.shape[1]
        rows = np.flatnonzero(entered >= _ENOUGH)
        often = np.maximum(entered[rows], 1)
        pairs = np.where(
            seen[:, None] >= _ENOUGH, np.minimum(1.0, together / np.maximum(seen, 1)[:, None]), 1.0
        )
        counts, sums, of_squares = self.values
        shares, squares = sums / np.maximum(counts, 1), of_squares / np.maximum(counts, 1)
        return Expectation(
            states[rows],
            np.minimum(1.0, followed[rows] / often[:, None]).astype(np.float64),
            pairs.astype(np.float64),
            shares,
            squares,
            repeats(sample.observations, streams) if repeated else np.ones(streams),
            hope,
        )

    def state(self) -> dict[str, Any]:
        tallies = {
            name: values.ravel().astype(np.int64 if name == "states" else np.float64)
            for name, values in self.tallies._asdict().items()
        }
        return tallies | {"values": self.values.ravel()}

    def restore(self, state: dict[str, Any]) -> None:
        for name, values in (self.tallies._asdict() | {"values": self.values}).items():
            sound.length(name, state[name], of=values.size)
            if name != "states":
                fair = (state[name] >= 0) & (state[name] <= sound.FAR)
                sound.require(fair.all(), f"{name} holds what is no count")
            values[:] = state[name].reshape(values.shape)


def _zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)
