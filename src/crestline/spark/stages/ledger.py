"""The accounts of a member whose records are spread over many tasks: each record is counted once.

A task counts its records by slide. Only where the state lives is it known which slides have been
reported, so late records are counted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from crestline.core.window import RangeWindow
from crestline.kernels.common.order import pane_starts
from crestline.language import Query
from crestline.spark.stages.accounts import (
    Chunk,
    LedgerAccount,
    SlideCounts,
    TaskAccount,
    Totals,
)
from crestline.types import Ints

#: The bucket whose state holds the ledger.
LEDGER = 0
#: Windows with more slides than this are not counted: the number is not worth its cost.
_MOST_SLIDES = 1 << 17


def slide_counts(times: Ints, slide: int, ascending: bool) -> SlideCounts:
    """Count event times by the slide that they fall into.

    >>> counts = slide_counts(np.array([1, 2, 11]), 10, True)
    >>> counts.slide.tolist(), counts.count.tolist(), counts.first.tolist()
    ([0, 1], [2, 1], [1, 11])
    """
    if not ascending:
        times = np.sort(times)
    starts = pane_starts(times, slide)
    first = times[starts[:-1]]
    return SlideCounts(first // slide, np.diff(starts), first)


def joined(parts: Sequence[SlideCounts]) -> SlideCounts:
    """Put counts one after the other; a slide may then occur several times."""
    return SlideCounts(
        np.concatenate([part.slide for part in parts]),
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.first for part in parts]),
    )


def _no_integers() -> Ints:
    return np.empty(0, np.int64)


@dataclass(slots=True)
class LedgerState:
    """What the ledger keeps from round to round."""

    totals: Totals = field(default_factory=Totals)
    #: Records that were set aside near the source, and late ones, by reason.
    rejected: dict[str, int] = field(default_factory=dict)
    #: The slides of the latest window, and how many records each has.
    slides: Ints = field(default_factory=_no_integers)
    counts: Ints = field(default_factory=_no_integers)
    window_peak: int = 0
    lateness_needed: int = 0

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        return cls(**plain | {"totals": Totals(**plain["totals"])})


class Ledger:
    """Counts the records of a member since the beginning, and those of this round."""

    def __init__(self, query: Query, state: LedgerState | None = None) -> None:
        panes = query.window.panes
        self._slide = panes.length * panes.slide
        window = query.window
        self._width = window.width if isinstance(window, RangeWindow) else None
        self._revises = query.late == "REVISE"
        self.state = LedgerState() if state is None else state
        self._seconds = 0.0
        self._chunks: list[Chunk] = []
        #: Of this round.
        self.late = self.rejected = 0
        #: The records of this round that were set aside, as tables in Arrow's stream format.
        self.rejects: list[bytes] = []

    def add(self, accounts: Sequence[TaskAccount], late_before: int, latest: int) -> None:
        """Add the accounts of a round's tasks.

        Records before ``late_before`` are late. ``latest`` is the largest event time of the rounds
        before.
        """
        state = self.state
        for account in accounts:
            state.totals.add(account.totals)
            for reason, count in account.rejected.items():
                if reason != "late":
                    self.rejected += count
                    self._reject(reason, count)
            self.late += account.totals.late
            state.lateness_needed = max(state.lateness_needed, account.lateness_needed)
            self._seconds += account.seconds
            self._chunks += account.chunks
            if account.rejects is not None:
                self.rejects.append(account.rejects)
        slides = [account.slides for account in accounts if account.slides is not None]
        if slides:
            self._add_slides(joined(slides), late_before, latest)
        if self.late and not self._revises:
            self._reject("late", self.late)

    def _reject(self, reason: str, count: int) -> None:
        self.state.rejected[reason] = self.state.rejected.get(reason, 0) + count

    def _add_slides(self, added: SlideCounts, late_before: int, latest: int) -> None:
        state, slides, counts = self.state, added.slide, added.count
        late = slides < late_before // self._slide
        if late.any():
            count = int(counts[late].sum())
            state.totals.late += count
            state.totals.admitted -= count
            self.late += count
            needed = latest - int(added.first[late].min())
            state.lateness_needed = max(state.lateness_needed, needed)
            slides, counts = slides[~late], counts[~late]
        if len(slides):
            self._count_window(slides, counts)

    def _count_window(self, slides: Ints, counts: Ints) -> None:
        """Estimate how many records a window held at most, from whole slides."""
        state = self.state
        if self._width is None:
            state.window_peak = state.totals.admitted
            return
        slides = np.concatenate((state.slides, slides))
        counts = np.concatenate((state.counts, counts))
        slides, group = np.unique(slides, return_inverse=True)
        totals = np.bincount(group, weights=counts).astype(np.int64)
        width = max(1, self._width // self._slide)
        until = np.concatenate(([0], np.cumsum(totals)))
        inside = until[1:] - until[np.searchsorted(slides, slides - width + 1)]
        state.window_peak = max(state.window_peak, int(inside.max()))
        recent = slides > slides[-1] - width
        if np.count_nonzero(recent) > _MOST_SLIDES:
            recent[:] = False
        state.slides, state.counts = slides[recent], totals[recent]

    def account(self) -> LedgerAccount:
        """What the driver needs to know."""
        state = self.state
        return LedgerAccount(
            state.totals, state.rejected, state.window_peak, self._seconds, self._chunks
        )


__all__ = ["LEDGER", "Ledger", "LedgerState", "joined", "slide_counts"]
