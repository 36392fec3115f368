"""Arrays with one entry for each partition, and the renumbering of partitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.types import Ints


class PerPartition:
    """Named arrays with one entry for each partition; a fresh partition begins with ``fills``.

    A fill that is an array gives each partition a row.

    >>> arrays = PerPartition(count=0, limit=-np.inf)
    >>> arrays.grow(2)
    >>> arrays["count"][1] = 7
    >>> arrays.keep(np.array([1]))
    >>> arrays["count"], arrays["limit"]
    (array([7]), array([-inf]))
    """

    def __init__(self, **fills: Any) -> None:
        self._fills = {name: np.asarray(fill) for name, fill in fills.items()}
        self.columns: dict[str, Any] = {
            name: np.empty((0, *fill.shape), fill.dtype) for name, fill in self._fills.items()
        }

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __setitem__(self, name: str, values: Any) -> None:
        self.columns[name] = values

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def grow(self, more: int, **fills: Any) -> None:
        """Add ``more`` partitions; ``fills`` are others than usual."""
        for name, usual in self._fills.items():
            fill = np.asarray(fills.get(name, usual), usual.dtype)
            fresh = np.empty((more, *fill.shape), fill.dtype)
            fresh[:] = fill
            self.columns[name] = np.concatenate((self.columns[name], fresh))

    def keep(self, partitions: Ints) -> None:
        """Forget all partitions but these, which are renumbered in this order."""
        self.columns = {name: values[partitions] for name, values in self.columns.items()}

    def reset(self, name: str, fill: Any = None) -> None:
        """Give every partition the same value: ``fill``, or what a fresh one has."""
        value = self._fills[name] if fill is None else np.asarray(fill, self._fills[name].dtype)
        self.columns[name] = np.broadcast_to(value, (len(self), *value.shape)).copy()

    def widen(self, name: str, fill: Any) -> None:
        """Append an entry to the row of every partition."""
        column, default = self.columns[name], self._fills[name]
        entry = np.full((len(column), 1), fill, column.dtype)
        self.columns[name] = np.concatenate((column, entry), axis=1)
        self._fills[name] = np.append(default, np.asarray(fill, default.dtype))

    def state(self) -> dict[str, Any]:
        return dict(self.columns)

    def restore(self, state: dict[str, Any]) -> None:
        self.columns = {name: state[name].copy() for name in self.columns}

    def require_sound(self, name: str, partitions: int) -> None:
        """Refuse a state with other numbers of partitions; see ``core.sound``."""
        sound.length(f"{name}, by partition,", *self.columns.values(), of=partitions)
        for column, fill in self._fills.items():
            fits = self.columns[column].shape[1:] == fill.shape
            sound.require(fits, f"{name}.{column} has rows of another length")


def offsets_of(partition: Ints, partitions: int) -> Ints:
    """Return where each partition begins among records that are in the order of partitions, and
    the end.

    >>> offsets_of(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    """
    offsets = np.zeros(partitions + 1, np.int64)
    if partitions == 1:
        offsets[1] = len(partition)
    else:
        np.cumsum(np.bincount(partition, minlength=partitions), out=offsets[1:])
    return offsets


def renumbering(kept: Ints, partitions: int) -> Ints:
    """Return the new number of each partition: its index in ``kept``, -1 if it is forgotten.

    >>> renumbering(np.array([2, 0]), 3)
    array([ 1, -1,  0])
    """
    numbers = np.full(partitions, -1)
    numbers[kept] = np.arange(len(kept))
    return numbers


__all__ = ["PerPartition", "offsets_of", "renumbering"]
