"""What a query offers to be run on many machines.

Records are *gathered* where they are read: a fresh instance folds batch after batch and forgets at
once what cannot matter, so that few records have to be moved. Where their partitions live, an
instance with a history *merges* what was gathered and reports what falls *due*; between two rounds
it is nothing but bytes. Whoever keeps to this runs on Spark without the pipeline knowing more.

An instance that has gathered and reported nothing and the table it gives away are the same thing:
merging that table continues from both. Merging in any order gives the same state, as the records
carry their order of arrival with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, Self, TypeVar

import pyarrow as pa

Records_contra = TypeVar("Records_contra", contravariant=True)


class Distributed(Protocol[Records_contra]):
    """The part of a query's work that falls to one machine."""

    def fold(self, records: Records_contra) -> None:
        """Near the source: take a batch in, keep what can still matter, report nothing."""

    def gathered(self) -> pa.Table:
        """Near the source: the records that were kept, with all that is needed of them."""

    def merge(self, gathered: pa.Table) -> None:
        """Add what was gathered elsewhere; records whose result is out already are late."""

    def due(self, latest: int | None) -> Iterator[tuple[str, pa.Table]]:
        """The result rows, by query, that fall due once ``latest`` is the largest event time of
        all."""

    def finish(self) -> Iterator[tuple[str, pa.Table]]:
        """The end of a bounded stream: the result rows, by query, that are still due."""

    def to_bytes(self) -> bytes:
        """All there is to know, versioned and checked; never a pickle."""

    def from_bytes(self, state: bytes) -> Self:
        """An instance for the same query that continues from ``to_bytes()``."""
