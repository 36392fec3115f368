"""Records whose windows are not due yet, and the order in which an algorithm wants them."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.kernels.common.order import is_ascending
from crestline.kernels.common.sort import sort_runs
from crestline.types import Floats, Ints

#: Runs up to this length are sorted by a kernel.
_SHORT = 512


class Waiting:
    """Parallel arrays, a record at each place."""

    __slots__ = ("id", "pane", "partition", "score", "tie")

    def __init__(self, partition: Ints, pane: Ints, score: Floats, tie: Ints, id: Ints) -> None:
        self.partition, self.pane, self.score, self.tie, self.id = partition, pane, score, tie, id

    @classmethod
    def empty(cls) -> Waiting:
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty(0), none, none)

    def __len__(self) -> int:
        return len(self.pane)

    def take(self, places: Ints) -> Waiting:
        id = self.id[places]
        tie = id if self.tie is self.id else self.tie[places]  # until ties are set, ids break them
        return Waiting(self.partition[places], self.pane[places], self.score[places], tie, id)

    def plus(self, other: Waiting) -> Waiting:
        if len(self) == 0:
            return other
        pairs = zip(self._columns(), other._columns(), strict=True)
        return Waiting(*(np.concatenate(pair) for pair in pairs))

    def _columns(self) -> tuple[Any, ...]:
        return self.partition, self.pane, self.score, self.tie, self.id


def order_of(waiting: Waiting, stage: Ints) -> Ints:
    """Places by partition, stage, then best first."""
    single = not waiting.partition.any()
    if single and is_ascending(stage):
        return _order_of_runs(waiting, stage)
    best: Ints = np.argsort(-waiting.score)
    ranked = waiting.score[best]
    if (ranked[1:] == ranked[:-1]).any():
        best = np.lexsort((-waiting.tie, -waiting.score))
    stage = stage[best]
    if single:
        return best[np.argsort(stage, kind="stable")]
    first = int(stage.min())
    span = int(stage.max()) - first + 1
    partition = waiting.partition[best]
    if span > (1 << 62) // (int(partition.max()) + 1):
        return best[np.lexsort((stage, partition))]
    return best[np.argsort(partition * span + (stage - first), kind="stable")]


def _order_of_runs(waiting: Waiting, stage: Ints) -> Ints:
    """The same where stages are in order already: sort the records of each, on their own."""
    order = np.arange(len(waiting))
    starts = np.flatnonzero(np.diff(stage, prepend=stage[0] - 1, append=stage[-1] + 1))
    if len(starts) > len(order):
        return order
    sort_runs(order, starts, _SHORT, waiting.score, waiting.tie)
    for run in np.flatnonzero(np.diff(starts) > _SHORT):  # NumPy sorts long ones faster
        part = slice(starts[run], starts[run + 1])
        score = waiting.score[part]
        best = np.argsort(-score)
        ranked = score[best]
        if (ranked[1:] == ranked[:-1]).any():
            best = np.lexsort((-waiting.tie[part], -score))
        order[part] = starts[run] + best
    return order
