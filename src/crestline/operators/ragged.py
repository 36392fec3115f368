"""Parallel arrays in which every partition has a stretch of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.types import Ints


class Ragged:
    """``start[p] .. start[p + 1]`` are partition p's places in each of the named arrays."""

    def __init__(self, **kinds: Any) -> None:
        self.start: Ints = np.zeros(1, np.int64)
        self.columns: dict[str, Any] = {name: np.empty(0, kind) for name, kind in kinds.items()}

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def __setitem__(self, name: str, values: Any) -> None:
        self.columns[name] = values

    def __len__(self) -> int:
        return int(self.start[-1])

    def grow(self, more: int) -> None:
        """That many new partitions, with nothing in them."""
        self.start = np.concatenate((self.start, np.full(more, self.start[-1])))

    def replace(self, start: Ints, **columns: Any) -> None:
        self.start = start
        self.columns |= columns

    def partition(self) -> Ints:
        """The partition of every place."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def keep(self, partitions: Ints) -> None:
        """Forget all partitions but these, which are numbered anew in this order."""
        count = np.diff(self.start)[partitions]
        start = np.concatenate(([0], np.cumsum(count)))
        places = np.repeat(self.start[:-1][partitions] - start[:-1], count) + np.arange(start[-1])
        self.replace(start, **{name: values[places] for name, values in self.columns.items()})

    def state(self) -> dict[str, Any]:
        return {"start": self.start} | self.columns

    def restore(self, state: dict[str, Any]) -> None:
        self.start = state["start"]
        self.columns = {name: state[name] for name in self.columns}
