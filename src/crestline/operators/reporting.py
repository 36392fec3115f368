"""Reports: the latest snapshots, reporting in portions, configuration and state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from crestline.core.errors import CrestlineError
from crestline.core.snapshots import Snapshots
from crestline.types import Ints

#: Result rows that one portion of ``advance_gradually`` may hold, roughly.
PORTION = 1 << 20


class Reporting(ABC):
    """What operators have in common when they report; see ``core.operator.Operator``.

    An operator is made from its configuration by ``__init__`` and filled from a state by
    ``_restore``; nobody else writes its attributes.
    """

    #: The arguments of ``__init__`` that a state holds.
    CONFIGURATION: ClassVar[tuple[str, ...]] = ("k", "window", "slide", "only_changes")

    def __init__(self) -> None:
        self._latest = Snapshots.nothing()

    @abstractmethod
    def advance(self, to: int | None = None) -> Snapshots:
        """Report, in order, every window end up to and including ``to``."""

    def _reported(self, snapshots: Snapshots) -> Snapshots:
        """Remember the snapshots of a report, if there are any, and return them."""
        if len(snapshots):
            self._latest = snapshots
        return snapshots

    def top(self, partition: int = 0) -> Ints:
        """Return the ids of the partition's snapshot in the latest report, best first."""
        return self._latest.latest_of(partition)

    # -- portions -----------------------------------------------------------------------------

    def advance_gradually(self, to: int | None = None) -> Iterator[Snapshots]:
        """``advance``, in portions of about ``PORTION`` result rows.

        A stretch in which no window holds anything is passed over at once.
        """
        stretch = self._portion()
        if to is None or stretch is None:
            yield self.advance(to)
            return
        while (start := self._next_content()) is not None and start + stretch < to:
            yield self.advance(start + stretch)
        yield self.advance(to)

    def _portion(self) -> int | None:
        """The stretch of time that holds about ``PORTION`` rows; None: all can come at once."""
        return None

    def _next_content(self) -> int | None:
        """The time after which a window may hold what was not reported; None: there is nothing."""
        return None

    # -- records, state -----------------------------------------------------------------------

    @abstractmethod
    def ids(self) -> Ints:
        """Return the ids of the records that are kept."""

    @property
    def candidates(self) -> int:
        """How many records are kept, waiting ones included."""
        return len(self.ids())

    def notes(self) -> dict[str, Any]:
        """What a user should know of the answers; nothing, if they are exact."""
        return {}

    def _configuration(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.CONFIGURATION}

    @classmethod
    def _configured(cls, state: dict[str, Any]) -> Self:
        """Make a fresh operator with the configuration that a state holds."""
        return cls(**{name: state[name] for name in cls.CONFIGURATION})

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Make the operator whose ``state()`` this was."""
        operator = cls._configured(state)
        operator._restore(state)
        return operator

    @abstractmethod
    def _restore(self, state: dict[str, Any]) -> None:
        """Take over a state, which is refused if a kernel could leave its arrays with it."""


def portion_length(rows: int, step_length: int) -> int:
    """The stretch of time with about ``PORTION`` result rows, if each step has ``rows``."""
    return max(1, PORTION // max(1, rows)) * step_length


def require_k(k: int) -> None:
    """Refuse a k below 1."""
    if k < 1:
        raise CrestlineError(f"k must be at least 1, not {k}")


__all__ = ["PORTION", "Reporting", "portion_length", "require_k"]
