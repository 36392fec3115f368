"""What every operator offers, and what it reports.

An operator sees records as numbers: a score (larger is better), an integer that breaks ties (larger
is better), a time, a partition and an id. It never sees the columns of a record; whoever drives it
keeps those, for the ids in ``ids()`` only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from crestline.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Doubt:
    """What is uncertain about a batch of records, a number each."""

    #: With which probability it exists, in (0, 1].
    probability: Floats
    #: Records of the same rule exclude one another; -1 for a record that excludes none.
    rule: Ints
    #: To whose sum it adds; zeros where no sum is asked for.
    group: Ints

    def take(self, places: Ints) -> Self:
        return type(self)(self.probability[places], self.rule[places], self.group[places])

    def plus(self, more: Self) -> Self:
        """These and then more."""
        return type(self)(
            np.concatenate((self.probability, more.probability)),
            np.concatenate((self.rule, more.rule)),
            np.concatenate((self.group, more.group)),
        )


@dataclass(frozen=True, slots=True)
class Sighting:
    """Of what object, and on which stream, each value of a batch is."""

    #: Two halves of a key: equal for equal objects only. The second one alone may do.
    high: Ints
    low: Ints
    #: Of two objects, the one with the smaller code comes first; equal codes tell nothing.
    code: Ints
    #: Streams are numbered from 0.
    stream: Ints
    #: Where records are counted but have times: of equal scores the one of the later time comes
    #: first. Without, the one that was counted later does.
    moment: Ints | None = None

    @classmethod
    def of(cls, objects: Ints, streams: Ints) -> Self:
        """Objects that are integers."""
        objects = np.asarray(objects, np.int64)
        return cls(np.zeros_like(objects), objects, objects, np.asarray(streams, np.int64))

    def take(self, places: Ints) -> Self:
        return type(self)(
            self.high[places],
            self.low[places],
            self.code[places],
            self.stream[places],
            None if self.moment is None else self.moment[places],
        )


@dataclass(frozen=True, slots=True)
class Outlook:
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
class Reported:
    """Snapshots that fell due: number i is the top of ``partition[i]`` in the window that ends at
    ``end[i]``; its records are ``id[offset[i] : offset[i + 1]]`` with their scores, best first, and
    where records are uncertain, with the probability that their place is owed to; where they are
    objects with several values, with their outlook. An operator that several queries share tells by
    ``ask[i]`` whose snapshot it is (see ``core.asks``)."""

    partition: Ints
    end: Ints
    offset: Ints
    id: Ints
    score: Floats
    probability: Floats | None = None
    ask: Ints | None = None
    outlook: Outlook | None = None

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
        outlook: Outlook | None = None,
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

    def latest_of(self, partition: int) -> Ints:
        """The ids of the partition's last snapshot, best first."""
        places = np.flatnonzero(self.partition == partition)
        if len(places) == 0:
            return np.empty(0, np.int64)
        last = places[np.argmax(self.end[places])]
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


class UncertainOperator(Operator, Protocol):
    """A continuous top-k over records that exist with a probability only.

    Which of two equal scores ranks higher decides what may be forgotten, and whoever drives the
    operator knows that later than the scores: so a record waits until ``prune``, unless it cannot
    matter whichever way ties are broken.
    """

    #: Results so far in which the probabilities of a rule added up to more than 1.
    overfull: int

    def observe(
        self,
        scores: Floats,
        times: Ints | None = None,
        partitions: Ints | None = None,
        number_from: int | None = None,
        doubt: Doubt | None = None,
    ) -> Ints:
        """As ``Operator.observe``; without ``doubt`` every record is certain."""

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that ``prune`` is worth its while."""

    def prune(self) -> None:
        """Forget what cannot matter any more; ties have been set for all of ``ids()``."""

    def set_codes(self, rule: Ints, group: Ints) -> None:
        """From now on the record with id i belongs to ``rule[i]`` and to ``group[i]``: rules and
        groups were numbered anew."""


class ObjectOperator(Operator, Protocol):
    """A continuous top-k over objects whose values arrive piecemeal.

    Records come in the order of their times (those of one moment in any order, but of two values
    of an object on one stream the first one counts). A record waits until its step is due. The id
    of an object is that of one of its records.
    """

    #: So many instances of objects are kept, as Haghani et al. count.
    instances: int

    def observe(
        self,
        scores: Floats,
        times: Ints | None = None,
        partitions: Ints | None = None,
        number_from: int | None = None,
        sighting: Sighting | None = None,
    ) -> Ints:
        """As ``Operator.observe``, of values; ``sighting`` is needed."""

    def set_streams(self, order: Ints) -> None:
        """The streams known by now, in the order in which their values are added up."""

    def take_repeats(self) -> Ints:
        """The ids of records that were repeats, and count nowhere, since the last call."""

    def prune(self) -> None:
        """Forget what cannot matter any more."""
