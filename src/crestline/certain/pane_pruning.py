"""The panes of the records of a batch, and the records that can matter: the k best of each pane.

Costs O(1) for each record. The records of a pane expire together, so those beyond its k best are
never reported. Ties with the k-th stay, since the driver breaks ties later.
"""

from __future__ import annotations

import numpy as np

from crestline.core.window import Panes
from crestline.kernels.common.order import count_panes, count_positions, pane_starts
from crestline.kernels.common.select import select_groups, select_partitioned, select_runs
from crestline.types import Floats, Ints


class PanePruner:
    """Finds the panes of records and the k best of each."""

    def __init__(self, k: int, panes: Panes, prunes: bool) -> None:
        self.k, self.panes, self.prunes = k, panes, prunes
        self._guess = np.array([-np.inf, 0.0])  # see select_runs: only speed depends on it

    def by_count(
        self, scores: Floats, partitions: Ints | None, counts: Ints
    ) -> tuple[Ints | None, Ints]:
        """Return the indices of the records to keep (None: all) and their panes.

        ``counts`` holds how many records each partition had before; it moves on in place.
        """
        length = self.panes.length
        whole = not self.prunes or length <= self.k
        if partitions is not None:
            panes = count_positions(partitions, counts) // length
            if whole:
                return None, panes
            kept = self.best(partitions, panes, scores, len(counts))
            return kept, panes[kept]
        first = int(counts[0])
        counts[0] += len(scores)
        if whole:
            return None, count_panes(first, len(scores), length)
        starts = np.arange(-(first % length), len(scores) + length, length)
        starts[0], starts[-1] = 0, len(scores)
        kept = select_runs(scores, starts, self.k, self._guess)
        return kept, (first + kept) // length

    def by_time(
        self, scores: Floats, times: Ints, ascending: bool, partitions: Ints | None, count: int
    ) -> tuple[Ints | None, Ints]:
        """The same for records with times, which ascend or not, in ``count`` partitions."""
        length = self.panes.length
        if not self.prunes or self.panes.on_arrival:
            return None, times // length
        if ascending:
            starts = pane_starts(times, length)
            if partitions is None:
                kept = select_runs(scores, starts, self.k, self._guess)
                return kept, times[kept] // length
            if count * (len(starts) - 1) <= 4 * len(times):
                kept = select_partitioned(scores, partitions, count, starts, self.k)
                return kept, times[kept] // length
        panes = times // length
        part = np.zeros(len(panes), np.int64) if partitions is None else partitions
        kept = self.best(part, panes, scores, count)
        return kept, panes[kept]

    def best(self, partition: Ints, pane: Ints, score: Floats, count: int) -> Ints:
        """Return the indices of each pane's k best, by partition; ties with the k-th stay."""
        first, last = int(pane.min()), int(pane.max())
        span = last - first + 1
        room = 4 * len(pane) + 1024
        if span * count <= room:
            groups = partition * span + (pane - first)
            return select_groups(score, groups, span * count, self.k)
        _, panes = np.unique(pane, return_inverse=True)
        wide = int(panes.max()) + 1
        groups = partition * wide + panes
        if wide * count > room:
            _, groups = np.unique(groups, return_inverse=True)
            return select_groups(score, groups, int(groups.max()) + 1, self.k)
        return select_groups(score, groups, wide * count, self.k)


__all__ = ["PanePruner"]
