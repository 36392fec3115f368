"""The contract between a query and the pipeline that runs it on many machines.

Near the source, a fresh instance folds batch after batch and forgets at once what cannot matter, so
few records have to be moved. Where the state lives, another instance merges what was gathered and
reports what falls due. Between two rounds it is bytes. Whatever keeps this contract runs on Spark,
and the pipeline needs to know no more about it.

A gathered table holds all that its instance has learned: merging the table is the same as
continuing from the instance. Records carry their order of arrival, so tables may be merged in any
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self, TypeVar

import pyarrow as pa

Records_contra = TypeVar("Records_contra", contravariant=True)


class Counts(Protocol):
    """What an instance has counted since its beginning."""

    rows_late: int
    #: The LATENESS that no record would have been late with, in microseconds.
    lateness_needed: int
    partitions: int
    kept: int
    kept_peak: int
    rules_above_one: int
    seconds: float
    approximation: dict[str, Any]


class Distributed(Protocol[Records_contra]):
    """The part of a query's work that one machine does."""

    # -- near the source ----------------------------------------------------------------------

    def fold(self, records: Records_contra) -> None:
        """Take a batch in, keep what can still matter, report nothing."""

    def gathered(self) -> pa.Table:
        """Return the records that were kept, with all that merging needs."""

    # -- where the state lives ----------------------------------------------------------------

    def merge(self, gathered: pa.Table) -> None:
        """Add what was gathered elsewhere. Records before ``late_before`` are late."""

    def due(self, latest: int | None) -> Iterator[tuple[str, pa.Table]]:
        """Yield the result rows, by query, that fall due once ``latest`` is the largest event
        time."""

    def push(self, records: Records_contra) -> Iterator[tuple[str, pa.Table]]:
        """Take records in their order of arrival, instead of merging; yield the result rows, by
        query, that fall due."""

    def finish(self) -> Iterator[tuple[str, pa.Table]]:
        """End a bounded stream; yield the result rows, by query, that are still due."""

    @property
    def latest(self) -> int:
        """The largest event time so far."""

    @property
    def late_before(self) -> int:
        """Records before this time belong to results that are out."""

    @property
    def metrics(self) -> Counts:
        """The counts so far."""

    @property
    def filtered(self) -> dict[str, int]:
        """How many records the condition that a query has for itself left out, by query."""

    # -- between rounds -----------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the whole state, versioned and checked; never a pickle."""

    def from_bytes(self, state: bytes) -> Self:
        """Return an instance for the same query that continues from ``to_bytes()``."""
