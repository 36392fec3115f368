"""Several queries that share one operator: what each asks for, and when it is answered.

A shared operator keeps what any of its queries may need. Every snapshot says which query it answers
(``Snapshots.query``). Queries have numbers, in the order in which they were added. The number of a
removed query is not used again.
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
    """What one query asks for; ``width`` and ``slide`` are in records or in units of time."""

    k: int
    #: How far back its window reaches; None: nothing expires.
    width: int | None
    #: Its window ends at every multiple; None: at every arrival, or when the agenda says so.
    slide: int | None
    #: The longest time between two answers, if the agenda picks the moments (FREQUENCY). The
    #: moments are multiples of the greatest common divisor of the frequencies of all queries.
    frequency: int | None = None
    #: Whether a snapshot that equals the one before may be left out. One that became empty is
    #: reported.
    only_changes: bool = False
    #: Records before this time are not seen, because the query was added later.
    since: int = LONG_AGO
    #: The semantics of a query on an uncertain stream; None for a certain stream.
    semantics: str | None = None
    threshold: float | None = None
    summed: bool = False

    @property
    def scheduled(self) -> bool:
        """Whether the agenda picks the moments."""
        return self.frequency is not None


@dataclass(frozen=True, slots=True)
class Executions:
    """Computations in the order of time.

    Computation i is due at ``at[i]`` and answers the queries ``query[offset[i] : offset[i + 1]]``
    together. Several may be due at the same moment.
    """

    at: Ints
    offset: Ints
    query: Ints

    def __len__(self) -> int:
        return len(self.at)


class Agenda(Protocol):
    """When queries on time are answered, and which of them together."""

    def due(self, after: int, until: int, latest: int | None = None) -> Executions:
        """Return the executions with ``after < at <= until``. At the end of a bounded stream whose
        last event is at ``latest``, the last one of a query is its first after that."""

    def last(self, latest: int) -> int:
        """Return the time of the last execution for a bounded stream whose last event is at
        ``latest``."""


@runtime_checkable
class SharedOperator(Operator, Protocol):
    """An operator that answers several queries, which may come and go."""

    @property
    def agenda(self) -> Agenda | None:
        """When queries are answered; None where their slides say it."""

    def finish(self, latest: int) -> Iterator[Snapshots]:
        """End a bounded stream whose last event is at ``latest``: every query is answered up to
        its first moment after that."""

    def add(self, spec: QuerySpec, /) -> int:
        """Answer one more query, which sees none of the records so far; return its number."""

    def remove(self, number: int) -> None:
        """Answer a query no more; others must stay."""
