"""What operators report: snapshots, the top k of a partition in one window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from crestline.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class ScoreBounds:
    """What may still become of reported objects, a number each."""

    #: The score with the largest value allowed on every stream that has none in the window.
    upper: Floats
    #: Whether it is among the k best whatever values come for the objects in the window.
    certain: Bools
    #: The time, or position, of the newest value.
    latest: Ints
    #: Beside the j-th object of a snapshot: the j-th largest upper bound of any object there.
    rival: Floats

    def take(self, places: Ints) -> Self:
        return type(self)(
            self.upper[places], self.certain[places], self.latest[places], self.rival[places]
        )


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Snapshots that fell due: number i is the top of ``partition[i]`` in the window that ends at
    ``end[i]``; its records are ``id[offset[i] : offset[i + 1]]`` with their scores, best first, and
    where records are uncertain, with the probability that their place is owed to; where they are
    objects with several values, with their outlook. An operator that several queries share tells by
    ``ask[i]`` whose snapshot it is (see ``core.specs``)."""

    partition: Ints
    end: Ints
    offset: Ints
    id: Ints
    score: Floats
    probability: Floats | None = None
    ask: Ints | None = None
    outlook: ScoreBounds | None = None

    @classmethod
    def of(
        cls,
        partition: Ints,
        end: Ints,
        count: Ints,
        id: Ints,
        score: Floats,
        probability: Floats | None = None,
        ask: Ints | None = None,
        outlook: ScoreBounds | None = None,
    ) -> Self:
        """Put snapshots in the order of who asked, of their ends, then of their partitions."""
        offset = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=offset[1:])
        reported = cls(partition, end, offset, id, score, probability, ask, outlook)
        keys = (partition, end) if ask is None else (partition, end, ask)
        return reported.ordered(np.lexsort(keys))

    def ordered(self, order: Ints) -> Self:
        """The snapshots at these places, in this order."""
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
            None if self.ask is None else self.ask[order],
            None if self.outlook is None else self.outlook.take(rows),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """These snapshots and then those, of operators that several queries share."""
        if len(parts) == 1:
            return parts[0]
        told = [part.ask for part in parts if part.ask is not None]
        count = np.concatenate([np.diff(part.offset) for part in parts])
        return cls(
            np.concatenate([part.partition for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate(([0], np.cumsum(count))),
            np.concatenate([part.id for part in parts]),
            np.concatenate([part.score for part in parts]),
            ask=np.concatenate(told) if told else None,
        )

    @classmethod
    def nothing(cls) -> Self:
        none = np.empty(0, np.int64)
        return cls(none, none, np.zeros(1, np.int64), none, np.empty(0))

    def latest_of(self, partition: int, number: int | None = None) -> Ints:
        """Return the ids of the partition's last snapshot, best first; with ``number``, of those of
        this query."""
        wanted = self.partition == partition
        if number is not None:
            wanted &= (0 if self.ask is None else self.ask) == number
        indices = np.flatnonzero(wanted)
        if len(indices) == 0:
            return np.empty(0, np.int64)
        last = indices[np.argmax(self.end[indices])]
        return self.id[self.offset[last] : self.offset[last + 1]]

    def __len__(self) -> int:
        return len(self.end)

    def __iter__(self) -> Iterator[tuple[int, int, Ints, Floats]]:
        """Snapshot by snapshot: partition, end, ids, scores."""
        for i in range(len(self)):
            part = slice(self.offset[i], self.offset[i + 1])
            yield int(self.partition[i]), int(self.end[i]), self.id[part], self.score[part]


def gathered(
    told: Sequence[tuple[Ints, Ints, Floats, Ints]],
) -> tuple[Ints, Ints, Ints, Floats]:
    """What kernels told of several partitions, as one.

    Of each they tell step and number of rows of every snapshot, the ids, columns of numbers, and
    how many snapshots and rows that makes. Here: the number of snapshots of each partition, then
    all steps, ids and numbers one after another.
    """
    snapshots = np.array([filled[0] for _, _, _, filled in told], np.int64)
    steps = np.concatenate([s[:, : f[0]] for s, _, _, f in told], axis=1)
    ids = np.concatenate([i[: f[1]] for _, i, _, f in told])
    numbers = np.concatenate([n[:, : f[1]] for _, _, n, f in told], axis=1)
    return snapshots, steps, ids, numbers


def regrouped(offset: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Groups of rows in another order: their offsets then, and which rows they are."""
    count = np.diff(offset)[order]
    fresh = np.zeros(len(order) + 1, np.int64)
    np.cumsum(count, out=fresh[1:])
    return fresh, np.repeat(offset[:-1][order] - fresh[:-1], count) + np.arange(fresh[-1])


__all__ = ["ScoreBounds", "Snapshots", "gathered", "regrouped"]
