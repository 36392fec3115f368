"""Lists of records, one for each partition, in common arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.snapshots import regrouped
from crestline.operators.records import Records
from crestline.types import Bools, Ints


class Ragged(Records):
    """Partition p holds the records at ``start[p] .. start[p + 1]`` of each of the named arrays.

    >>> lists = Ragged(score=np.float64)
    >>> lists.grow(2)
    >>> lists.replace(np.array([0, 1, 3]), score=np.array([5.0, 2.0, 1.0]))
    >>> lists.part(1), lists.partition()
    (slice(1, 3, None), array([0, 1, 1]))
    """

    def __init__(self, **dtypes: Any) -> None:
        super().__init__(**{name: np.empty(0, dtype) for name, dtype in dtypes.items()})
        self.start: Ints = np.zeros(1, np.int64)

    @property
    def lengths(self) -> Ints:
        """The length of each partition's list."""
        return np.diff(self.start)

    def part(self, partition: int) -> slice:
        """The stretch of one partition."""
        return slice(int(self.start[partition]), int(self.start[partition + 1]))

    def partition(self) -> Ints:
        """The partition of every record."""
        return np.repeat(np.arange(len(self.start) - 1), self.lengths)

    def grow(self, more: int) -> None:
        """Add ``more`` partitions with empty lists."""
        self.start = np.concatenate((self.start, np.full(more, self.start[-1])))

    def replace(self, start: Ints, **columns: Any) -> None:
        """Put other lists in place of these; columns that are not named stay as they are."""
        self.start = start
        self.columns |= columns

    def clear(self) -> None:
        """Empty every list."""
        empty = {name: values[:0] for name, values in self.columns.items()}
        self.replace(np.zeros_like(self.start), **empty)

    def keep(self, partitions: Ints) -> None:
        """Forget all partitions but these, which are renumbered in this order."""
        start, indices = regrouped(self.start, partitions)
        self.replace(start, **{name: values[indices] for name, values in self.columns.items()})

    def filter(self, mask: Bools) -> None:
        """Keep the records of the mask only, in the lists where they are."""
        count = np.bincount(self.partition()[mask], minlength=len(self.start) - 1)
        start = np.concatenate(([0], np.cumsum(count)))
        self.replace(start, **{name: values[mask] for name, values in self.columns.items()})

    def state(self) -> dict[str, Any]:
        return {"start": self.start} | super().state()

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.start = state["start"]

    def require_sound(self, name: str, partitions: int) -> None:
        """Refuse a state whose lists do not make up the arrays; see ``core.sound``."""
        total = sound.length(name, *self.columns.values())
        sound.offsets(f"{name}.start", self.start, partitions, total)
        if "score" in self.columns:
            sound.numbers(f"{name}.score", self.columns["score"])


__all__ = ["Ragged"]
