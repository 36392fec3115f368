"""What every operator offers, and what it reports.

An operator sees records as numbers: a score (larger is better), an integer that breaks ties (larger
is better), a time, a partition and an id. It never sees the columns of a record; whoever drives it
keeps those, for the ids in ``ids()`` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from crestline.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Reported:
    """Snapshots that fell due: number i is the top of ``partition[i]`` in the window that ends at
    ``end[i]``; its records are ``id[offset[i] : offset[i + 1]]`` with their scores, best first."""

    partition: Ints
    end: Ints
    offset: Ints
    id: Ints
    score: Floats

    @classmethod
    def of(cls, partition: Ints, end: Ints, count: Ints, id: Ints, score: Floats) -> Self:
        """Put snapshots in the order of their ends, then of their partitions."""
        offset = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=offset[1:])
        return cls(partition, end, offset, id, score).ordered(np.lexsort((partition, end)))

    def ordered(self, order: Ints) -> Self:
        """The same snapshots in another order."""
        if (order[1:] > order[:-1]).all():
            return self
        count = np.diff(self.offset)[order]
        offset = np.zeros(len(order) + 1, np.int64)
        np.cumsum(count, out=offset[1:])
        rows = np.repeat(self.offset[:-1][order] - offset[:-1], count) + np.arange(offset[-1])
        return type(self)(
            self.partition[order], self.end[order], offset, self.id[rows], self.score[rows]
        )

    @classmethod
    def nothing(cls) -> Self:
        none = np.empty(0, np.int64)
        return cls(none, none, np.zeros(1, np.int64), none, np.empty(0))

    def __len__(self) -> int:
        return len(self.end)

    def __iter__(self) -> Iterator[tuple[int, int, Ints, Floats]]:
        """Snapshot by snapshot: partition, end, ids, scores."""
        for i in range(len(self)):
            part = slice(self.offset[i], self.offset[i + 1])
            yield int(self.partition[i]), int(self.end[i]), self.id[part], self.score[part]


class Operator(Protocol):
    """A continuous top-k over a window, for any number of partitions at once."""

    def observe(
        self,
        scores: Floats,
        times: Ints | None = None,
        partitions: Ints | None = None,
        number_from: int | None = None,
    ) -> Ints:
        """Take records in; return the places, in this batch, of those that are kept.

        Without ``times`` the window counts records. Ids are arrival numbers; with ``number_from``
        the kept records are instead numbered from there, in the order in which they are returned.
        """

    def advance(self, to: int | None = None) -> Reported:
        """Let time pass and return every snapshot that falls due by ``to``."""

    def advance_gradually(self, to: int | None = None) -> Iterator[Reported]:
        """The same in portions, so that a long stretch of time need not fit into memory."""

    def top(self, partition: int = 0) -> Ints:
        """The ids of the latest reported snapshot, best first."""

    @property
    def candidates(self) -> int:
        """How many records are kept."""

    def ids(self) -> Ints:
        """The ids of the records that are kept; all others may be forgotten."""

    def rename(self, places: Ints) -> None:
        """From now on the record with id i is known as ``places[i]``."""

    def set_ties(self, ties: Ints) -> None:
        """Break ties by ``ties[id]`` from now on: larger first."""

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything, if the others begin anew with their next record."""

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which are numbered anew in this order."""

    def notes(self) -> dict[str, Any]:
        """What a user should know of the answers; nothing, if they are exact."""

    def state(self) -> dict[str, Any]:
        """All there is to know, as arrays and numbers."""

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The operator whose ``state()`` this was."""

    def _check(self) -> None:
        """Assert the invariants that the module lists."""
