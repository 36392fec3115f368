"""About how many records a window holds at most, for the metrics."""

from __future__ import annotations

from crestline.core.window import RangeWindow, counts_rows
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.candidates import Candidates
from crestline.runtime.metrics import Metrics, WindowCount, WindowSample


class WindowMeter:
    """Keeps ``Metrics.window_records_peak`` up to date."""

    def __init__(
        self, query: Query, metrics: Metrics, candidates: Candidates, *, any_order: bool
    ) -> None:
        """Records come in ``any_order`` where none is late and none waits."""
        self._metrics, self._candidates = metrics, candidates
        self._panes, self._counts_rows = query.window.panes, counts_rows(query.window)
        width = query.window.width if isinstance(query.window, RangeWindow) else None
        self._count = WindowCount(width)
        self._sample = WindowSample(width) if any_order and width is not None else None

    def add(self, records: AdmittedBatch) -> None:
        """Take records into account whose partitions have codes."""
        if self._counts_rows or records.time is None:
            inside = self._metrics.rows_in
            if not self._panes.unbounded:
                rows = self._panes.width * self._panes.length
                inside = min(inside, rows * max(1, self._candidates.partition_count))
        elif len(records):
            if self._sample is not None:
                self._sample.add(records.time)
            first, last = int(records.time.min()), int(records.time.max())
            inside = self._count.add(first, last, len(records))
        else:
            return
        self._metrics.window_records_peak = max(self._metrics.window_records_peak, inside)

    def finish(self) -> None:
        """The stream is over: where records came out of order, the sample knows better."""
        if self._sample is not None and not self._sample.in_order:
            self._metrics.window_records_peak = self._sample.peak()


__all__ = ["WindowMeter"]
