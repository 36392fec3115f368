"""Time to step: whether records have times, the steps of a window, what has been reported.

A window moves from *step* to step. A step is a number; where windows slide, step s is the window
that ends at s times the slide. Where a result is due at every arrival, the step is the time of the
arrival, or the position behind it where records are counted.
"""

from __future__ import annotations

from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO
from crestline.core.window import Panes
from crestline.types import Ints


class Timing:
    """How far a stream has come.

    >>> timing = Timing(Panes(length=10, width=10, slide=3))
    >>> timing.step_of(59), timing.last_step(89), timing.end_of(2)
    (2, 2, 60)
    """

    __slots__ = ("closed", "panes", "timed")

    def __init__(self, panes: Panes) -> None:
        self.panes = panes
        #: Whether records have times; None before the first batch.
        self.timed: bool | None = None
        #: Steps up to this one have been reported and accept no more records.
        self.closed = LONG_AGO

    def settle(self, times: Ints | None) -> None:
        """Learn from a batch whether records have times; refuse a batch that differs."""
        if self.timed is None:
            self.timed = times is not None
        elif self.timed != (times is not None):
            raise CrestlineError("give times with every batch or with none")

    def require(self, to: int | None) -> None:
        """Refuse to advance a window on time without a time."""
        if self.timed and to is None:
            raise CrestlineError("a window on time needs the time to advance to")

    def refuse_late(self, earliest: int) -> None:
        """Refuse a record at a time whose windows have been reported."""
        if self.timed and self.step_of(earliest) <= self.closed:
            raise late_record(earliest, self.end_of(self.closed))

    def step_of(self, time: int) -> int:
        """The first step that a record of this time takes part in."""
        panes = self.panes
        return time if panes.on_arrival else time // panes.length // panes.slide + 1

    def last_step(self, to: int) -> int:
        """The last step that is due at this time."""
        panes = self.panes
        return to if panes.on_arrival else to // panes.length // panes.slide

    def end_of(self, step: int) -> int:
        """The window end of a step, in the unit of the window."""
        return step if self.panes.on_arrival else step * self.step_length

    @property
    def step_length(self) -> int:
        """From one step to the next, in the unit of the window."""
        return self.panes.slide * self.panes.length

    def close(self, to: int) -> int:
        """Note that all steps up to this time are reported; return the last one that is due."""
        step = self.last_step(to)
        self.closed = max(self.closed, step)
        return step

    # -- the same in panes --------------------------------------------------------------------

    def pane_after(self, step: int) -> int:
        """The first pane that a step does not hold: those before it are over."""
        return step + 1 if self.panes.on_arrival else step * self.panes.slide

    @property
    def open_pane(self) -> int:
        """The first pane that accepts records."""
        return LONG_AGO if self.closed == LONG_AGO else self.pane_after(self.closed)

    @open_pane.setter
    def open_pane(self, pane: int) -> None:
        self.closed = pane
        if pane != LONG_AGO:
            self.closed = pane - 1 if self.panes.on_arrival else pane // self.panes.slide


def late_record(time: int, reported: int) -> CrestlineError:
    """The error for a record that comes too late."""
    return CrestlineError(
        f"a record at {time} came after windows up to {reported} had been reported"
    )


__all__ = ["Timing", "late_record"]
