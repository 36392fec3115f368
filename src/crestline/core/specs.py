"""Several queries that share one operator: what each asks for, and when it is answered.

An operator that is shared keeps what any of its *asks* may need, and tells of every snapshot which
ask it answers (``Snapshots.ask``). Asks are known by their numbers, in the order in which they
came; the number of one that was removed is not given away again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from crestline.core.operator import Operator
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.types import Ints


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """One query's question; ``width`` and ``slide`` in records or in units of time."""

    k: int
    #: How far back its window reaches; None: nothing expires.
    width: int | None
    #: Its window ends at every multiple; None: at every arrival, or when the agenda says so.
    slide: int | None
    #: The longest time between two answers, if the agenda picks the moments (FREQUENCY): they are
    #: multiples of what such times of all asks have in common.
    frequency: int | None = None
    #: Whether a snapshot that equals the one before may be left out; one that became empty is told.
    only_changes: bool = False
    #: Records before this time are not seen: those of a query that was added while the stream ran.
    since: int = LONG_AGO
    #: What is asked of an uncertain stream; None of a certain one.
    semantics: str | None = None
    threshold: float | None = None
    summed: bool = False

    @property
    def scheduled(self) -> bool:
        """Whether the agenda picks the moments."""
        return self.frequency is not None


@dataclass(frozen=True, slots=True)
class Executions:
    """Computations in the order of time: number i, at ``at[i]``, answers the asks
    ``ask[offset[i] : offset[i + 1]]`` together. Several may be due at the same moment."""

    at: Ints
    offset: Ints
    ask: Ints

    def __len__(self) -> int:
        return len(self.at)


class Agenda(Protocol):
    """When asks on time are answered, and which of them together."""

    def due(self, after: int, until: int, latest: int | None = None) -> Executions:
        """The executions with ``after < at <= until``. At the end of a bounded stream whose last
        event is at ``latest``, an ask's last one is its first after that."""

    def last(self, latest: int) -> int:
        """The last execution for a bounded stream whose last event is at ``latest``."""


@runtime_checkable
class SharedOperator(Operator, Protocol):
    """An operator that answers several asks, which may come and go."""

    @property
    def agenda(self) -> Agenda | None:
        """When asks are answered; None where their slides say it."""

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """The end of a bounded stream whose last event is at ``latest``: every ask is answered up
        to its first moment after that."""

    def add(self, ask: QuerySpec) -> int:
        """Answer one ask more, which sees none of the records so far; its number."""

    def remove(self, number: int) -> None:
        """Answer an ask no more; others must stay."""
