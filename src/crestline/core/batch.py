"""Batches of records as operators see them: numbers only, no columns of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from crestline.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What is uncertain about the records of a batch, one number each."""

    #: The probability that the record exists, in (0, 1].
    probability: Floats
    #: Records of the same rule exclude one another; NO_RULE for a record that excludes none.
    rule: Ints
    #: The group to whose sum the record adds; zeros where no sum is asked for.
    group: Ints

    def take(self, indices: Ints) -> Self:
        """Return what belongs to the records at these indices."""
        return type(self)(self.probability[indices], self.rule[indices], self.group[indices])

    def plus(self, more: Self) -> Self:
        """Return what belongs to these records and then to more."""
        return type(self)(
            np.concatenate((self.probability, more.probability)),
            np.concatenate((self.rule, more.rule)),
            np.concatenate((self.group, more.group)),
        )


@dataclass(frozen=True, slots=True)
class Observations:
    """The object and the stream of each value of a batch."""

    #: Two halves of a key, which are equal for equal objects only. The second one alone may do.
    high: Ints
    low: Ints
    #: Of two objects, the one with the smaller code comes first. Equal codes do not decide.
    code: Ints
    #: Streams are numbered from 0.
    stream: Ints
    #: Times, where records are counted but have times: of two equal scores the later one comes
    #: first. Without times, the one that was counted later comes first.
    moment: Ints | None = None

    @classmethod
    def of(cls, objects: Ints, streams: Ints) -> Self:
        """Make observations of objects that are integers."""
        objects = np.asarray(objects, np.int64)
        return cls(np.zeros_like(objects), objects, objects, np.asarray(streams, np.int64))

    def take(self, indices: Ints) -> Self:
        """Return what belongs to the values at these indices."""
        return type(self)(
            self.high[indices],
            self.low[indices],
            self.code[indices],
            self.stream[indices],
            None if self.moment is None else self.moment[indices],
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Records for an operator; each array has one number for each record.

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
    #: The attributes that scores are computed from, a column for each, or where every query has
    #: scores of its own (``certain.standing``) these too; None where an operator has no use for
    #: them.
    points: Floats | None = None

    @classmethod
    def of(cls, batch: Self | Floats) -> Self:
        """Return the batch itself; a bare array is a batch of scores."""
        return batch if isinstance(batch, cls) else cls(np.asarray(batch, np.float64))

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, part: slice) -> Self:
        """Return the records of a slice; ``number_from`` is left out."""
        indices = np.arange(len(self))[part]
        return type(self)(
            self.scores[part],
            None if self.times is None else self.times[part],
            None if self.partitions is None else self.partitions[part],
            None,
            None if self.uncertainty is None else self.uncertainty.take(indices),
            None if self.observations is None else self.observations.take(indices),
            None if self.points is None else self.points[part],
        )


__all__ = ["Batch", "Observations", "Uncertainty"]
