"""A sample of objects of which every observation in the window is kept, of all partitions together.

One in ``2 ** level`` objects is in the sample. The level rises when the sample is too large, and
falls when it has become small: then observations of the objects that are now in it too are missing
for the length of a window. The correlation of streams (``correlation``) and the control group
(``control``) both rest on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.incomplete.store import ObjectStore
from crestline.kernels.incomplete.sampled import SAMPLED, hashed, in_sample
from crestline.kernels.incomplete.store import Arrivals
from crestline.types import Floats, Ints

#: The sample is made smaller when it has more observations than this.
MOST = 96
#: It is made larger when it has fewer than this part of that.
_FEW = 8
_NAMES = SAMPLED.names or ()


class NewObservations(NamedTuple):
    """Where the observations begin that have just been added, and the steps at which they came."""

    first: int
    steps: Ints


class ObjectSample:
    """The sample; ``whole`` keeps every object."""

    def __init__(self, whole: bool = False) -> None:
        self.level = 0
        self.observations: Any = np.empty(0, SAMPLED).view(np.recarray)
        #: By partition, the step from which on nothing of it is missing.
        self.complete_from = np.empty(0, np.int64)
        self._whole = whole

    def grow(self, partitions: int) -> None:
        """Make room for this number of partitions."""
        more = np.full(partitions - len(self.complete_from), LONG_AGO)
        self.complete_from = np.concatenate((self.complete_from, more))

    def add(
        self, p: int, arrived: Arrivals, steps: Ints, leaves: Ints, passed: int
    ) -> NewObservations:
        """Add the observations of a partition that came at these steps; forget those that have left
        the window before."""
        keys = hashed(arrived.high, arrived.low)
        rows = np.flatnonzero(in_sample(keys, self.level))
        held = self.observations.view(np.ndarray)
        stay = np.flatnonzero((held["owner"] != p) | (held["leaves"] > passed))
        first = len(stay)
        observations = np.empty(first + len(rows), SAMPLED)
        observations[:first], new = held[stay], observations[first:]
        new["key"], new["stream"], new["owner"] = keys[rows], arrived.stream[rows], p
        new["value"], new["leaves"], new["state"] = arrived.value[rows], leaves[rows], 0
        self.observations = observations.view(np.recarray)
        return NewObservations(first, steps[rows])

    def resize(self, stores: Sequence[ObjectStore]) -> None:
        """Adapt the level to the number of observations in the windows."""
        if self._whole:
            return
        while len(self.observations) > MOST:
            self.level += 1
            self.observations = self.observations[in_sample(self.observations.key, self.level)]
        if self.level == 0 or len(self.observations) * _FEW >= MOST:
            return
        passed = np.array([store.passed for store in stores])
        if (self.complete_from <= passed).all():
            self.level -= 1
            self.complete_from = np.array([store.empty_from for store in stores])

    def keep_partitions(self, kept: Ints, numbers: Ints) -> None:
        """Forget all partitions but these; they get new numbers."""
        numbers = numbers[self.observations.owner]
        self.observations = self.observations[numbers >= 0]
        self.observations.owner = numbers[numbers >= 0]
        self.complete_from = self.complete_from[kept]

    def state(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"level": self.level, "complete_from": self.complete_from}
        for name in _NAMES:
            dtype = np.float64 if name == "value" else np.int64
            columns[name] = np.ascontiguousarray(self.observations[name], dtype)
        return columns

    def restore(self, state: dict[str, Any], streams: int, partitions: int) -> None:
        count = sound.length("observations", *(state[name] for name in _NAMES))
        sound.within("observations.stream", state["stream"], 0, streams)
        sound.within("observations.owner", state["owner"], 0, partitions)
        sound.within("observations.state", state["state"], 0, 1 << streams)
        sound.moments("observations", state["leaves"], state["complete_from"])
        sound.numbers("observations.value", state["value"])
        sound.length("complete_from", state["complete_from"], of=partitions)
        sound.require(0 <= state["level"] < 23, "the sample has no such level")
        self.observations = np.empty(count, SAMPLED).view(np.recarray)
        for name in _NAMES:
            self.observations[name] = state[name]
        self.level, self.complete_from = state["level"], state["complete_from"].copy()


def repeats(observations: Any, streams: int) -> Floats:
    """Return by stream how often the object of a value is seen by it, on average: the size of the
    join of the stream with itself divided by its own."""
    keys = np.stack((observations.key, observations.owner.astype(np.int64), observations.stream))
    groups, counts = np.unique(keys, axis=1, return_counts=True)
    own = np.bincount(groups[2], counts, streams)
    joined = np.bincount(groups[2], counts.astype(np.float64) ** 2, streams)
    return np.asarray(joined / np.maximum(own, 1.0))
