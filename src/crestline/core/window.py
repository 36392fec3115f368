"""Windows and panes.

Every window slides over *panes*: stretches of the stream whose records always expire together.
With ``g = gcd(w, s)`` all window ends are multiples of ``g``, so one pair of integers describes any
window: its ``width`` and ``slide`` counted in panes. A pane ``p`` lies in the window that ends at
``e`` (both in panes) exactly when ``e - width <= p < e``.

======================  ==================  =====================  ==============================
window                  a pane is           pane of a record       due at
======================  ==================  =====================  ==============================
RANGE w SLIDE s ON ts   gcd(w, s) of time   ts // g                multiples of s
RANGE w ON ts           one microsecond     ts                     ts + 1, at each arrival
ROWS n SLIDE m          gcd(n, m) records   position // g          every m records of a partition
UNBOUNDED SLIDE s       s                   ts // s, position // s multiples of s, nothing expires
======================  ==================  =====================  ==============================

>>> RangeWindow(width=100, slide=30, on="ts").panes
Panes(length=10, width=10, slide=3, on_arrival=False)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from crestline.core.errors import CrestlineError

#: The width, in panes, of a window from which nothing expires.
FOREVER = 1 << 62

#: The largest distance of an event time from 1970 in microseconds, some 73,000 years: as durations
#: are no longer either, no sum of a time, a width and a slide leaves 64 bits.
TIME_LIMIT = 1 << 61


@dataclass(frozen=True, slots=True)
class Panes:
    """A window in units of panes; ``length`` is in microseconds or records."""

    length: int
    width: int
    slide: int
    on_arrival: bool = False

    @property
    def unbounded(self) -> bool:
        return self.width >= FOREVER

    @property
    def per_window(self) -> int:
        """C of the papers: how many panes, at most, a window spans (1 if nothing expires)."""
        return 1 if self.unbounded else self.width


@dataclass(frozen=True, slots=True)
class RangeWindow:
    """``[RANGE w SLIDE s ON ts]``, or with ``slide=None`` ``[RANGE w ON ts]``; microseconds."""

    width: int
    slide: int | None
    on: str

    @property
    def panes(self) -> Panes:
        if self.slide is None:
            return Panes(1, self.width, 1, on_arrival=True)
        g = gcd(self.width, self.slide)
        return Panes(g, self.width // g, self.slide // g)


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """``[ROWS n SLIDE m]``; with ``on`` the records count in event-time order, not arrival
    order."""

    rows: int
    slide: int = 1
    on: str | None = None

    @property
    def panes(self) -> Panes:
        g = gcd(self.rows, self.slide)
        return Panes(g, self.rows // g, self.slide // g)


@dataclass(frozen=True, slots=True)
class UnboundedWindow:
    """``[UNBOUNDED SLIDE s ON ts]``; without ``on``, ``[UNBOUNDED SLIDE m ROWS]``."""

    slide: int
    on: str | None = None

    @property
    def panes(self) -> Panes:
        return Panes(self.slide, FOREVER, 1)


Window = RangeWindow | RowsWindow | UnboundedWindow


def counts_rows(window: Window) -> bool:
    """Whether positions rather than times delimit the window."""
    return isinstance(window, RowsWindow) or (
        isinstance(window, UnboundedWindow) and window.on is None
    )


def unit_panes(window: int | None, slide: int | None) -> Panes:
    """The panes of a window given in records or in units of time; None: unbounded, each arrival."""
    if (window is not None and window < 1) or (slide is not None and slide < 1):
        raise CrestlineError(f"window and slide must be at least 1, not {window} and {slide}")
    if slide is None:
        return Panes(1, window or FOREVER, 1, on_arrival=True)
    if window is None:
        return Panes(slide, FOREVER, 1)
    g = gcd(window, slide)
    return Panes(g, window // g, slide // g)
