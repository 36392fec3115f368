"""What operators report: snapshots. A snapshot is the top k of a partition in one window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from crestline.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class ScoreBounds:
    """What the scores of reported objects may still become, one number each."""

    #: The score if every stream without a value in the window had the largest value allowed.
    upper: Floats
    #: Whether the object is among the k best whatever values come for the objects in the window.
    certain: Bools
    #: The time, or position, of the newest value.
    latest: Ints
    #: For the j-th object of a snapshot: the j-th largest upper bound of any object in the window.
    rival: Floats

    def take(self, indices: Ints) -> Self:
        """Return what belongs to the objects at these indices."""
        return type(self)(
            self.upper[indices], self.certain[indices], self.latest[indices], self.rival[indices]
        )


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Snapshots that fell due.

    Snapshot i is the top of ``partition[i]`` in the window that ends at ``end[i]``. Its records are
    ``id[offset[i] : offset[i + 1]]``, best first, with their scores. Uncertain records also have
    the probability they are ranked by, objects with several values their ``ScoreBounds``. Where
    several queries share an operator, ``query[i]`` is the number of the query (see ``core.specs``).
    """

    partition: Ints
    end: Ints
    offset: Ints
    id: Ints
    score: Floats
    probability: Floats | None = None
    query: Ints | None = None
    bounds: ScoreBounds | None = None

    @classmethod
    def of(
        cls,
        partition: Ints,
        end: Ints,
        count: Ints,
        id: Ints,
        score: Floats,
        probability: Floats | None = None,
        query: Ints | None = None,
        bounds: ScoreBounds | None = None,
    ) -> Self:
        """Make snapshots in the order of queries, then ends, then partitions."""
        offset = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=offset[1:])
        snapshots = cls(partition, end, offset, id, score, probability, query, bounds)
        if len(count) < 2:
            return snapshots
        keys = (partition, end) if query is None else (partition, end, query)
        return snapshots.ordered(np.lexsort(keys))

    def ordered(self, order: Ints) -> Self:
        """Return the snapshots at these indices, in this order."""
        if len(order) == len(self) and (order[1:] > order[:-1]).all():
            return self
        offset, rows = regrouped(self.offset, order)
        return type(self)(
            self.partition[order],
            self.end[order],
            offset,
            self.id[rows],
            self.score[rows],
            None if self.probability is None else self.probability[rows],
            None if self.query is None else self.query[order],
            None if self.bounds is None else self.bounds.take(rows),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the snapshots of several operators, one operator after the other."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        numbers = [part.query for part in parts if part.query is not None]
        count = np.concatenate([np.diff(part.offset) for part in parts])
        return cls(
            np.concatenate([part.partition for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate(([0], np.cumsum(count))),
            np.concatenate([part.id for part in parts]),
            np.concatenate([part.score for part in parts]),
            query=np.concatenate(numbers) if numbers else None,
        )

    @classmethod
    def nothing(cls) -> Self:
        """Return no snapshots."""
        none = np.empty(0, np.int64)
        return cls(none, none, np.zeros(1, np.int64), none, np.empty(0))

    def latest_of(self, partition: int, number: int | None = None) -> Ints:
        """Return the ids of the partition's last snapshot, best first; with ``number``, of those of
        this query."""
        wanted = self.partition == partition
        if number is not None:
            wanted &= (0 if self.query is None else self.query) == number
        indices = np.flatnonzero(wanted)
        if len(indices) == 0:
            return np.empty(0, np.int64)
        last = indices[np.argmax(self.end[indices])]
        return self.id[self.offset[last] : self.offset[last + 1]]

    def __len__(self) -> int:
        return len(self.end)

    def __iter__(self) -> Iterator[tuple[int, int, Ints, Floats]]:
        """Yield partition, end, ids and scores of each snapshot."""
        for i in range(len(self)):
            part = slice(self.offset[i], self.offset[i + 1])
            yield int(self.partition[i]), int(self.end[i]), self.id[part], self.score[part]


def regrouped(offset: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Put groups of rows into another order; return the new offsets and the indices of the rows."""
    count = np.diff(offset)[order]
    start = np.zeros(len(order) + 1, np.int64)
    np.cumsum(count, out=start[1:])
    return start, np.repeat(offset[:-1][order] - start[:-1], count) + np.arange(start[-1])


__all__ = ["ScoreBounds", "Snapshots", "regrouped"]
