"""The arrivals of a stream with times: a result is due at each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.kernels.common.order import is_ascending
from crestline.types import Bools, Ints

_NONE = np.empty(0, np.int64)


class Moments:
    """Partitions and times of arrivals, in pieces as they came."""

    def __init__(self) -> None:
        self._pieces: list[tuple[Ints, Ints]] = []

    def add(self, partition: Ints, times: Ints) -> None:
        self._pieces.append((partition, times))

    def _joined(self) -> tuple[Ints, Ints]:
        partition = np.concatenate([_NONE, *(part for part, _ in self._pieces)])
        return partition, np.concatenate([_NONE, *(times for _, times in self._pieces)])

    def take_due(self, to: int, partitions: int) -> tuple[Ints, Ints]:
        """Remove the arrivals up to ``to``; return their offsets by partition, and their times,
        each once and in order."""
        start = np.zeros(partitions + 1, np.int64)
        if not self._pieces:
            return start, _NONE
        partition, times = self._joined()
        later = times > to
        self._pieces = [(partition[later], times[later])] if later.any() else []
        partition, times = partition[~later], times[~later]
        if partitions > 1 or not is_ascending(times):
            order = np.argsort(times) if partitions == 1 else np.lexsort((times, partition))
            partition, times = partition[order], times[order]
        new = np.ones(len(times), np.bool_)
        new[1:] = (times[1:] != times[:-1]) | (partition[1:] != partition[:-1])
        start[1:] = np.cumsum(np.bincount(partition[new], minlength=partitions))
        return start, times[new]

    def mark_partitions(self, mask: Bools) -> None:
        """Set the mask for every partition with an arrival."""
        for partition, _ in self._pieces:
            mask[partition] = True

    def renumber_partitions(self, numbers: Ints) -> None:
        """Replace every partition p by ``numbers[p]``."""
        self._pieces = [(numbers[partition], times) for partition, times in self._pieces]

    def state(self) -> dict[str, Any]:
        partition, times = self._joined()
        return {"partition": partition, "times": times}

    def restore(self, state: dict[str, Any], partitions: int) -> None:
        """Take over a state; refuse one of other partitions."""
        partition, times = state["partition"], state["times"]
        sound.length("moments", partition, times)
        sound.within("moments.partition", partition, 0, partitions)
        sound.moments("moments.times", times)
        self._pieces = [(partition, times)] if len(times) else []


__all__ = ["Moments"]
