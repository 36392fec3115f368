"""What every operator offers.

An operator sees records as numbers: a score (larger is better), an integer that breaks ties (larger
is better), a time, a partition and an id. It never sees the columns of a record; its driver
(``runtime.candidates``) keeps those, for the ids in ``ids()`` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self, runtime_checkable

from crestline.core.batch import Batch
from crestline.core.snapshots import Snapshots
from crestline.types import Bools, Floats, Ints


class Operator(Protocol):
    """A continuous top-k over a window, for any number of partitions at once."""

    def observe(self, batch: Batch | Floats) -> Ints:
        """Take records in; return the indices, in this batch, of those that are kept.

        A bare array is a batch of scores. Without times the window counts records. Ids are arrival
        numbers; with ``number_from`` the kept records are instead numbered from there, in the
        order in which they are returned.
        """

    def advance(self, to: int | None = None) -> Snapshots:
        """Let time pass and return every snapshot that falls due by ``to``."""

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        """The same in portions, so that a long stretch of time need not fit into memory."""

    def top(self, partition: int = 0) -> Ints:
        """The ids of the latest reported snapshot, best first."""

    @property
    def candidates(self) -> int:
        """How many records are kept."""

    def ids(self) -> Ints:
        """The ids of the records that are kept; all others may be forgotten."""

    def rename(self, places: Ints) -> None:
        """Give the record with id i the id ``places[i]``."""

    def set_ties(self, ties: Ints) -> None:
        """Break ties by ``ties[id]``: larger first."""

    def live_partitions(self) -> Bools | None:
        """Which partitions hold anything. None if the others cannot be forgotten, since they do
        not start afresh with their next record."""

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, which get new codes in this order."""

    def notes(self) -> dict[str, Any]:
        """What a user should know of the answers; nothing, if they are exact."""

    def state(self) -> dict[str, Any]:
        """All there is to know, as arrays and numbers."""

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The operator whose ``state()`` this was."""

    def _check(self) -> None:
        """Assert the invariants that the module lists."""


@runtime_checkable
class UncertainOperator(Operator, Protocol):
    """A continuous top-k over records that exist with a probability only.

    Which of two equal scores ranks higher decides what may be forgotten, and the driver knows that
    later than the scores. So a record waits until ``prune``, unless it cannot matter whichever way
    ties are broken.
    """

    #: Results so far in which the probabilities of a rule added up to more than 1.
    overfull: int

    @property
    def crowded(self) -> bool:
        """Whether so many records wait that ``prune`` pays."""

    def prune(self) -> None:
        """Forget what cannot matter any more; ties have been set for all of ``ids()``."""

    def set_codes(self, rule: Ints, group: Ints) -> None:
        """Let the record with id i belong to ``rule[i]`` and to ``group[i]``: rules and groups have
        new numbers."""


@runtime_checkable
class ObjectOperator(Operator, Protocol):
    """A continuous top-k over objects whose values arrive piecemeal.

    Records come in the order of their times (those of one moment in any order, but of two values
    of an object on one stream the first one counts). A record waits until its step is due. The id
    of an object is that of one of its records.
    """

    #: So many instances of objects are kept, as Haghani et al. count.
    instances: int

    def set_streams(self, order: Ints) -> None:
        """Set the streams known so far, in the order in which their values are added up."""

    def take_repeats(self) -> Ints:
        """Return the ids of records since the last call that were repeats, and count nowhere."""

    def prune(self) -> None:
        """Forget what cannot matter any more."""
