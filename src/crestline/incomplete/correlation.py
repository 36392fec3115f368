"""Which streams share objects, and how large their values are, in one partition."""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.incomplete.store import ObjectStore
from crestline.kernels.incomplete.sketches import chances
from crestline.kernels.incomplete.store import COUNTED, Arrivals
from crestline.types import Floats, Ints

#: Probabilities are estimated again when this many times the stored values have arrived.
_OFTEN = 2
_FEW = 1024


class StreamCorrelation:
    """How probable it is that an object of one stream is seen on another, and the mean values.

    With ``exact`` all values of the window are kept and counted; else sketches give estimates.
    """

    def __init__(self, streams: int, exact: bool) -> None:
        #: By stream: the sum of values, as shares of their range, and their number. Old values
        #: count less.
        self.sums, self.counts = np.zeros(streams), np.zeros(streams)
        self._exact = ExactCounts() if exact else None
        self._chances = np.empty((0, 0))
        self._estimated_at = -1  # how many values had arrived at the last estimate

    def add(self, arrived: Arrivals, shares: Floats, stored: int) -> None:
        """Take in values that lie at these shares of their range."""
        if self.counts.sum() > max(_FEW, _OFTEN * stored):  # old values count half
            self.sums, self.counts = self.sums / 2, self.counts / 2
        streams = len(self.sums)
        self.sums = self.sums + np.bincount(arrived.stream, shares, streams)
        self.counts = self.counts + np.bincount(arrived.stream, minlength=streams)

    def count(self, arrived: Arrivals, leaves: Ints) -> None:
        """Count the objects of values that leave at these steps, if counts are exact."""
        if self._exact is not None:
            self._exact.add(arrived, leaves)

    def chances(self, store: ObjectStore, hope: float) -> Floats:
        """Return, for each pair of streams, the probability that an object of the first comes on
        the second, times ``hope`` and the mean value there."""
        arrived = int(store.meta[COUNTED])
        if arrived - self._estimated_at >= min(arrived, _OFTEN * store.values):
            self._estimated_at = arrived
            if self._exact is None:
                shared = chances(store.sketches, store.passed)
            else:
                shared = self._exact.chances(store.streams, store.passed)
            means = self.sums / np.maximum(self.counts, 1)
            self._chances = np.minimum(1.0, hope * shared * means)
        return self._chances

    def state(self) -> dict[str, Floats]:
        return {"sums": self.sums, "counts": self.counts}

    def restore(self, state: dict[str, Floats]) -> None:
        sound.length("sums", state["sums"], state["counts"], of=len(self.sums))
        self.sums, self.counts = state["sums"].copy(), state["counts"].copy()


class ExactCounts:
    """Every value of the window, to count exactly which object was seen where."""

    def __init__(self) -> None:
        self._rows = np.empty((4, 0), np.int64)

    def add(self, arrived: Arrivals, leaves: Ints) -> None:
        more = np.stack((arrived.high, arrived.low, arrived.stream, leaves))
        self._rows = np.concatenate((self._rows, more), axis=1)

    def chances(self, streams: int, step: int) -> Floats:
        """Return the probabilities by pairs of streams; see ``kernels.incomplete.sketches``."""
        self._rows = self._rows[:, self._rows[3] > step]
        _, object_of = np.unique(self._rows[:2], axis=1, return_inverse=True)
        seen = np.zeros((int(object_of.max(initial=-1)) + 1, streams))
        seen[object_of.ravel(), self._rows[2]] = 1
        half = seen.T @ seen / 2
        share: Floats = half / np.maximum(2 * np.diag(half)[:, None] - half, 1)
        np.fill_diagonal(share, 0)
        return share
