"""Records whose windows are not due yet, and the order in which an algorithm wants them."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.kernels.common.order import is_ascending
from crestline.kernels.common.sort import sort_runs
from crestline.operators.records import Records
from crestline.types import Bools, Floats, Ints

#: Waiting records are pruned again when they have doubled, but not below this number.
PRUNE_AT_LEAST = 4096


class Waiting(Records):
    """Records that wait, none at first; ``partition`` is one of their columns."""

    def __init__(self, **columns: Any) -> None:
        super().__init__(**columns)
        self._empty = columns
        #: How many of them there were when they were last pruned.
        self.pruned_size = 0

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that pruning is worth its while."""
        return len(self) > max(2 * self.pruned_size, PRUNE_AT_LEAST)

    def keep(self, indices: Ints) -> None:
        """Forget all records but these."""
        if len(indices) < len(self):
            self.columns = self.take(indices).columns

    def prune(self, indices: Ints) -> None:
        """Forget all records but these, which are all that can matter."""
        self.keep(indices)
        self.pruned_size = len(self)

    def take_all(self) -> Records:
        """Remove all records and return them."""
        removed = Records(**self.columns)
        self.columns, self.pruned_size = dict(self._empty), 0
        return removed

    def take_out(self, mask: Bools) -> Records:
        """Remove the records of the mask and return them."""
        if mask.all():
            return self.take_all()
        removed = self.take(np.flatnonzero(mask))
        self.columns = self.take(np.flatnonzero(~mask)).columns
        self.pruned_size = len(self)
        return removed

    def renumber_partitions(self, numbers: Ints) -> None:
        """Replace every partition p by ``numbers[p]``; see ``operators.partitions``."""
        self.columns["partition"] = numbers[self.columns["partition"]]


def rank_order(partition: Ints, stage: Ints, score: Floats, tie: Ints) -> Ints:
    """Return the indices by partition, stage, then best first."""
    order = time_order(partition, stage)
    if order is not None:
        partition, stage = partition[order], stage[order]
    else:
        order = np.arange(len(stage))
    changes = ((stage[1:] != stage[:-1]) | (partition[1:] != partition[:-1])).nonzero()[0]
    if len(changes) + 1 < len(stage):
        starts = np.zeros(len(changes) + 2, np.int64)
        starts[1:-1], starts[-1] = changes + 1, len(stage)
        sort_runs(order, starts, score, tie)
    return order


def time_order(partition: Ints, stage: Ints) -> Ints | None:
    """Return the indices by partition and stage, None if they are in this order already."""
    if not partition.any():
        return None if is_ascending(stage) else np.argsort(stage, kind="stable")
    first = int(stage.min())
    span = int(stage.max()) - first + 1
    if span > (1 << 62) // (int(partition.max()) + 1):
        return np.lexsort((stage, partition))
    key = partition * span + (stage - first)
    return None if is_ascending(key) else np.argsort(key, kind="stable")


__all__ = ["PRUNE_AT_LEAST", "Waiting", "rank_order", "time_order"]
