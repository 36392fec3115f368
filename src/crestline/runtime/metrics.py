"""The counts of a run. Every record that is left out is counted here."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.order import is_ascending
from crestline.kernels.jit.tiers import waited
from crestline.types import Ints


@dataclass(slots=True, repr=False)
class Metrics:
    """Counts of one query's run; ``kept`` are records, ``*_peak`` the most at any one time."""

    #: Records that came in.
    rows_in: int = 0
    #: Of these, records for which WHERE is not true.
    rows_filtered: int = 0
    #: Records behind the watermark, dropped or corrected for.
    rows_late: int = 0
    #: The LATENESS with which none of these would have been late, in microseconds.
    lateness_needed: int = 0
    #: Records that were set aside, by reason; dropped late ones too.
    rejected: dict[str, int] = field(default_factory=dict)
    #: Rows that were reported.
    result_rows: int = 0
    #: Partitions that hold records now; 0 without PARTITION BY.
    partitions: int = 0
    #: Records kept now, of all partitions.
    kept: int = 0
    #: The most records kept at any one time.
    kept_peak: int = 0
    #: About how many records a window held at most.
    window_records_peak: int = 0
    #: Time spent in the engine, without reading, writing and compiling kernels.
    seconds: float = 0.0
    #: How many queries share what is kept.
    sharing: int = 1
    #: Results in which the probabilities of records that exclude one another exceeded 1.
    rules_above_one: int = 0
    #: For an approximate answer: the bound, the streams it holds for, and the algorithm.
    approximation: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The counts by their names."""
        return {name: getattr(self, name) for name in self.__slots__}

    def kept_text(self) -> str:
        """The most records that were kept, compared with what the window held."""
        window, text = self.window_records_peak, f"{self.kept_peak:,} at most"
        if self.sharing > 1:
            text += f" for {self.sharing:,} queries"
        if not window:
            return text
        if self.kept_peak >= window:
            return f"{text}, as many as the window held"
        share = 100 * self.kept_peak / window
        return f"{text}, where the window held about {window:,} ({share:.3g} %)"

    def __repr__(self) -> str:
        """The records that came in, and the other counts that are not 0."""
        zeros = Metrics().as_dict() | {"rows_in": None}
        counts = ((name, value) for name, value in self.as_dict().items() if value != zeros[name])
        return f"Metrics({', '.join(f'{name}={value!r}' for name, value in counts)})"

    def keeps(self, records: int) -> None:
        """Note how many records are kept now."""
        self.kept = records
        self.kept_peak = max(self.kept_peak, records)


class WindowCount:
    """Estimates how many records a window on time holds, from first and last times of batches."""

    def __init__(self, width: int | None) -> None:
        self._width = width
        self._batches: deque[tuple[int, int, int]] = deque()
        self._inside = 0

    def add(self, first: int, last: int, records: int) -> int:
        """Take a batch into account; return the estimate for the window that ends with it."""
        self._inside += records
        if self._width is None:
            return self._inside
        self._batches.append((first, last, records))
        start = last - self._width
        while self._batches and self._batches[0][1] <= start:
            self._inside -= self._batches.popleft()[2]
        first, last, records = self._batches[0]
        if first >= start or last == first:
            return self._inside
        return self._inside - round(records * (start - first) / (last - first))


class WindowSample:
    """Estimates how many records a window on time holds at most, in any order, from a sample.

    >>> sample = WindowSample(10)
    >>> sample.add(np.array([31, 2, 39]))
    >>> sample.add(np.array([35, 12]))
    >>> sample.peak()
    3
    """

    #: The least size of a full sample. It holds at most twice as many times.
    SIZE = 1 << 16

    def __init__(self, width: int) -> None:
        self._width = width
        self._every = 1  # the sample has one of so many records
        self._times = np.empty(0, np.int64)
        self._latest = LONG_AGO
        #: Whether all records came in order. ``WindowCount`` is more exact then.
        self.in_order = True

    def add(self, times: Ints) -> None:
        """Take a batch into account."""
        if len(times):
            self.in_order = self.in_order and times[0] >= self._latest and is_ascending(times)
            self._latest = times[-1]
        self._times = np.concatenate((self._times, times[:: self._every]))
        while len(self._times) > 2 * self.SIZE:
            self._times, self._every = self._times[::2], 2 * self._every

    def peak(self) -> int:
        """The estimate for the fullest window."""
        times = np.sort(self._times)
        started = np.searchsorted(times, times - self._width, side="right")
        return int((np.arange(1, len(times) + 1) - started).max(initial=0)) * self._every


class Clock:
    """Adds the seconds spent in a ``with`` block, without those that compiled kernels."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def __enter__(self) -> None:
        self._started = time.perf_counter() - waited()

    def __exit__(self, *exception: object) -> None:
        self._metrics.seconds += time.perf_counter() - waited() - self._started
