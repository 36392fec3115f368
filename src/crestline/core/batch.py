"""Batches of records as operators see them: numbers, and nothing of a record's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from crestline.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Uncertainty:
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
class Observations:
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
class Batch:
    """Records that an operator takes in, one number each.

    >>> Batch(np.array([3.0, 1.0]), np.array([10, 20]))[:1].times
    array([10])
    """

    #: Larger is better. For incomplete streams these are the observed values.
    scores: Floats
    #: Event times; None where the window counts records.
    times: Ints | None = None
    #: Small integers from 0; None where all records belong to one partition.
    partitions: Ints | None = None
    #: The id of the first record that is kept; the others follow. None: ids are arrival numbers.
    number_from: int | None = None
    #: For uncertain streams; None where every record is certain.
    uncertainty: Uncertainty | None = None
    #: For incomplete streams.
    observations: Observations | None = None

    @classmethod
    def of(cls, batch: Self | Floats) -> Self:
        """The batch itself; a bare array is a batch of scores."""
        return batch if isinstance(batch, cls) else cls(np.asarray(batch, np.float64))

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, part: slice) -> Self:
        """The records of a slice, under numbers of their own."""
        indices = np.arange(len(self))[part]
        return type(self)(
            self.scores[part],
            None if self.times is None else self.times[part],
            None if self.partitions is None else self.partitions[part],
            None,
            None if self.uncertainty is None else self.uncertainty.take(indices),
            None if self.observations is None else self.observations.take(indices),
        )


__all__ = ["Batch", "Observations", "Uncertainty"]
