"""The accounts of a query whose records are spread over many tasks: each record counted once.

Tasks count what they saw, by the slide it belongs to; only where the state lives is it known which
slides are over, so that is where late records are counted.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from crestline.core.window import RangeWindow
from crestline.kernels.common.order import pane_starts
from crestline.language import Query
from crestline.types import Ints

#: Beyond this many slides to a window its records are not counted: it costs more than it tells.
_MOST_SLIDES = 1 << 17


def slides_of(times: Ints, slide: int, ascending: bool) -> tuple[Ints, Ints, Ints]:
    """The slides that the times belong to, how many times each has, and the first of them.

    >>> [part.tolist() for part in slides_of(np.array([1, 2, 11]), 10, True)]
    [[0, 1], [2, 1], [1, 11]]
    """
    if not ascending:
        times = np.sort(times)
    starts = pane_starts(times, slide)
    first = times[starts[:-1]]
    return first // slide, np.diff(starts), first


class Ledger:
    """Totals of one query since its beginning, and what the last round added."""

    _TOTALS = ("rows_in", "filtered", "admitted", "late")

    def __init__(self, query: Query) -> None:
        panes = query.window.panes
        self._slide = panes.length * panes.slide
        window = query.window
        self._width = window.width if isinstance(window, RangeWindow) else None
        self._revises = query.late == "REVISE"
        self._totals = dict.fromkeys(self._TOTALS, 0)
        self._rejected: dict[str, int] = {}
        self._slides = self._counts = np.empty(0, np.int64)
        self._window_peak = 0
        self._seconds = 0.0
        self._chunks: list[list[int]] = []
        self._rejects: list[bytes] = []
        self.late_now = self.rejected_now = 0
        self.lateness_needed = 0

    def add(self, accounts: list[dict[str, Any]], late_before: int, latest: int) -> None:
        """The accounts of a round's tasks; records before ``late_before`` were too late, as
        ``latest`` was the largest event time of the rounds before."""
        for account in accounts:
            for name in self._TOTALS:
                self._totals[name] += account[name]
            for reason, count in json.loads(account["rejected"]).items():
                if reason != "late":
                    self.rejected_now += count
                    self._rejected[reason] = self._rejected.get(reason, 0) + count
            self.late_now += account["late"]
            self.lateness_needed = max(self.lateness_needed, account["lateness_needed"])
            self._seconds += account["seconds"]
            self._chunks += account["chunks"].tolist()
            if "rejects" in account:
                self._rejects.append(account["rejects"])
        with_slides = [account for account in accounts if "slides" in account]
        self._add_slides(with_slides, late_before, latest)
        if self.late_now and not self._revises:
            self._rejected["late"] = self._rejected.get("late", 0) + self.late_now

    def _add_slides(self, accounts: list[dict[str, Any]], late_before: int, latest: int) -> None:
        if not accounts:
            return
        slides = np.concatenate([account["slides"] for account in accounts])
        counts = np.concatenate([account["counts"] for account in accounts])
        late = slides < late_before // self._slide
        if late.any():
            count = int(counts[late].sum())
            self._totals["late"] += count
            self._totals["admitted"] -= count
            self.late_now += count
            first = np.concatenate([account["first"] for account in accounts])
            self.lateness_needed = max(self.lateness_needed, latest - int(first[late].min()))
            slides, counts = slides[~late], counts[~late]
        self._count_window(slides, counts)

    def _count_window(self, slides: Ints, counts: Ints) -> None:
        """About how many records a window held at most; whole slides are counted."""
        if len(slides) == 0:
            return
        if self._width is None:
            self._window_peak = self._totals["admitted"]
            return
        slides = np.concatenate((self._slides, slides))
        counts = np.concatenate((self._counts, counts))
        slides, place = np.unique(slides, return_inverse=True)
        totals = np.bincount(place, weights=counts).astype(np.int64)
        width = max(1, self._width // self._slide)
        until = np.concatenate(([0], np.cumsum(totals)))
        inside = until[1:] - until[np.searchsorted(slides, slides - width + 1)]
        self._window_peak = max(self._window_peak, int(inside.max()))
        recent = slides > slides[-1] - width
        if np.count_nonzero(recent) > _MOST_SLIDES:
            recent[:] = False
        self._slides, self._counts = slides[recent], totals[recent]

    def take_rejects(self) -> list[bytes]:
        rejects, self._rejects = self._rejects, []
        return rejects

    def told(self) -> dict[str, Any]:
        """For the run's metrics."""
        return {
            "totals": self._totals,
            "rejected": self._rejected,
            "window_peak": self._window_peak,
            "prune_seconds": self._seconds,
            "chunks": self._chunks,
        }

    def state(self) -> dict[str, Any]:
        return {
            "totals": json.dumps(self._totals),
            "rejected": json.dumps(self._rejected),
            "slides": self._slides,
            "counts": self._counts,
            "window_peak": self._window_peak,
            "lateness_needed": self.lateness_needed,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._totals = json.loads(state["totals"])
        self._rejected = json.loads(state["rejected"])
        self._slides, self._counts = state["slides"], state["counts"]
        self._window_peak = state["window_peak"]
        self.lateness_needed = state["lateness_needed"]
