"""How far event time has come: which records are late, which results are due.

The watermark is a time before which no record counts any more: the largest event time so far, less
the LATENESS. In a bounded run without LATENESS no record is late, and the *horizon* takes its
place: a time before which no record will come, told by the source (``sources.horizon``).

>>> import numpy as np
>>> from crestline.language import parse
>>> text = "SELECT TOP 1 id FROM s [RANGE 9 s SLIDE 3 s ON ts] ORDER BY x DESC LATENESS 1 s"
>>> watermark = Watermark(parse(text))
>>> watermark.late(np.array([1_000_000, 5_000_000, 3_000_000])).tolist()
[False, False, True]
>>> watermark.value, watermark.late_before, watermark.last_end
(4000000, 3000000, 6000000)
"""

from __future__ import annotations

from crestline.core.errors import SourceError
from crestline.core.sentinels import LONG_AGO
from crestline.core.window import counts_rows
from crestline.kernels.common.order import find_late, is_ascending
from crestline.language import Query
from crestline.types import Bools, Ints


class Watermark:
    """The event time that a bundle of queries has reached.

    Parameters
    ----------
    query
        The query, or what the queries of the bundle have in common.
    bounded
        The stream is there as a whole: without LATENESS no record is late.
    in_order
        Records count one by one in time order, so a record before the watermark is late even if
        its window end has not passed.
    """

    def __init__(self, query: Query, *, bounded: bool = False, in_order: bool = False) -> None:
        self._stream, self._in_order = query.stream, in_order
        #: Every record counts, in any order.
        self.none_late = bounded and query.lateness is None and query.window.on is not None
        #: The largest event time so far.
        self.latest = LONG_AGO
        #: No record to come is before this time; used where none is late.
        self.horizon = LONG_AGO
        self.follow(query)

    def follow(self, query: Query) -> None:
        """Judge by the window of this query from now on; the time reached stays."""
        panes = query.window.panes
        self.delay = query.delay
        self.on_arrival = panes.on_arrival
        #: Distance of two window ends.
        self.slide = panes.length * panes.slide
        self._counts_rows = counts_rows(query.window)
        self._passed: int | None = None  # the last window end that was passed, in slides

    @property
    def started(self) -> bool:
        """Whether any event time was seen."""
        return self.latest != LONG_AGO

    @property
    def value(self) -> int:
        """No record that counts will be before this time."""
        return min(self.horizon, self.latest) if self.none_late else self.latest - self.delay

    # -- records ------------------------------------------------------------------------------

    def late(self, times: Ints) -> Bools | None:
        """Take records in, in order of arrival; tell which are late. None: none of them."""
        if len(times) and times[0] >= self.value and is_ascending(times):
            self.reach(int(times[-1]))
            return None
        late, count, latest = find_late(times, self.latest, self.delay)
        self.latest = int(latest)
        return late if count else None

    def reach(self, latest: int) -> None:
        """Note that a record of this time exists."""
        self.latest = max(self.latest, latest)

    def approach(self, times: Ints, horizon: int) -> None:
        """Where none is late: take records in; no record to come is before ``horizon``."""
        if len(times):
            if times.min() < self.horizon:
                raise SourceError(
                    f"stream {self._stream!r}: the event times of its parquet files are not"
                    " what the statistics in the files say: write the files again, or give the"
                    " query a LATENESS, which does without the statistics"
                )
            self.reach(int(times.max()))
        self.horizon = max(self.horizon, horizon)

    @property
    def late_before(self) -> int:
        """Records before this time are late if judged between rounds only.

        Nobody knows which of two records of a round came first. So a record is late if its result
        is out: before the last window end that the watermark has passed.
        """
        if not self.started or self.none_late:
            return LONG_AGO
        if self._in_order or self.on_arrival:
            return self.value
        return self.value // self.slide * self.slide

    # -- results ------------------------------------------------------------------------------

    def due(self, latest: int | None = None) -> int | None:
        """The time up to which results are due: window ends, or the times of arrivals.

        ``latest`` is the largest event time that counts here, if more have been taken in. None
        where windows count rows: every result is due at once.
        """
        if self._counts_rows:
            return None
        reached = self.value if latest is None or self.none_late else latest - self.delay
        return reached - 1 if self.on_arrival else reached

    def passes_end(self, until: int | None) -> bool:
        """Whether a result may be due by ``until`` that was not before; most batches bring none."""
        if self.none_late and self.horizon == LONG_AGO:
            return False
        if until is None or self.on_arrival:
            return True
        step = until // self.slide
        passed, self._passed = step != self._passed, step
        return passed

    @property
    def last_end(self) -> int:
        """The last window end of a bounded stream: the first multiple after the last event."""
        if self.on_arrival:
            return self.latest
        return (self.latest // self.slide + 1) * self.slide


__all__ = ["Watermark"]
