"""PreTopk: a predicted result for every future window (Yang et al. 2011, section 3).

**Answers** the exact top k of every bounded window that slides in steps. **Does not** do windows
that report at every arrival, nor unbounded ones: it must know its future windows.

**Idea.** A record belongs to a known run of future windows. For each of them a heap holds the k
best seen so far; when a window is due its heap is the answer.

**Cost**, with C = ceil(width / slide) future windows: O(A log k) for a record that enters A of them
(found from the newest window to the oldest, stopping at the first refusal), O(k log k) for a due
window; C k references are kept. That is why it suffers when windows are many slides long: MinTopk
keeps the same records once.

**Invariants**
  P1  a window's heap holds at most k records, all of panes that it covers;
  P2  each heap's root ranks last;
  P3  the kept records are exactly those that some heap refers to.

**Deviations from the paper.** Results are heaps, sorted when due; a pane's records beyond its k
best are dropped before they are offered (they could enter no window).

>>> import numpy as np
>>> operator = PreTopK(k=1, window=4, slide=2)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(2, [9.0]), (4, [9.0]), (6, [7.0])]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.certain.steps import StepOperator, ranked
from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.sentinels import LONG_AGO, NOWHERE
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.pretopk import Windows, advance_pretopk
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records
from crestline.types import Ints


class PreTopK(StepOperator):
    """The predicted top k of all future windows; see the module's text."""

    #: More future windows than this are refused: each needs room for k references.
    MOST_REFERENCES = 1 << 27

    def __init__(
        self, k: int, window: int | None, slide: int | None = None, *, only_changes: bool = False
    ) -> None:
        super().__init__(k, window, slide, only_changes=only_changes)
        if self.panes.unbounded or self.panes.on_arrival:
            raise CrestlineError("PRETOPK needs a bounded window that slides in steps: use MINTOPK")
        future = -(-self.panes.width // self.panes.slide)
        if future * k > self.MOST_REFERENCES:
            raise CrestlineError(
                f"PRETOPK would keep {future:,} future results of {k:,} records each: use MINTOPK"
            )

    def _storage(self) -> tuple[Records, PerPartition]:
        none = np.empty(0, np.int64)
        #: The future windows of each partition, and a heap of indices for each of them.
        self._windows = Ragged(ends=np.int64, sizes=np.int64)
        self._heaps = np.empty((0, self.k), np.int64)
        kept = Records(score=np.empty(0), tie=none, pane=none, id=none)
        return kept, PerPartition(shown_end=LONG_AGO)

    def _grow_partitions(self, more: int) -> None:
        super()._grow_partitions(more)
        self._windows.grow(more)

    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        kept, windows = self._kept, self._windows
        every = kept.joined(arrived)
        left, report = advance_pretopk(
            self._window,
            ranked(every),
            Windows(windows.start, windows["ends"], windows["sizes"], self._heaps),
            offsets + len(kept),
            self._own["shown_end"],
            until,
        )
        windows.replace(left.start, ends=left.end, sizes=left.size)
        heaps = left.heap
        used = np.zeros(len(every) + 1, np.bool_)
        used[heaps] = True  # NOWHERE marks the extra last entry
        referred = np.flatnonzero(used[:-1])
        index = np.full(len(every) + 1, NOWHERE, np.int64)
        index[referred] = np.arange(len(referred))
        self._heaps = index[heaps]
        self._kept = every.take(referred)
        return self._snapshots(report, every)

    def _own_state(self) -> dict[str, Any]:
        return super()._own_state() | {"windows": self._windows.state(), "heaps": self._heaps}

    def _restore_own(self, own: dict[str, Any]) -> None:
        self._kept.restore(own)
        self._own.restore(own)
        self._windows.restore(own["windows"])
        self._heaps = own["heaps"]
        total = sound.length("own", *self._kept.columns.values())
        self._windows.require_sound("own.windows", self.partitions)
        self._own.require_sound("own", self.partitions)
        ends, sizes, heaps = self._windows["ends"], self._windows["sizes"], self._heaps
        fits = heaps.shape == (len(ends), self.k)
        sound.require(fits, "own.heaps are not of k records for each window")
        owner = self._windows.partition()
        ascends = (ends[1:] > ends[:-1]) | (owner[1:] != owner[:-1])
        sound.require(ascends.all(), "own.ends do not ascend")
        # Windows are found again by walking from one to the next.
        sound.require((ends % self.panes.slide == 0).all(), "own.ends are between slides")
        reached = self._counts // self.panes.length
        if self._time.timed:
            reached = np.full(self.partitions, self._time.open_pane)
        apart = ends - reached[owner]
        sound.within("own.ends", apart, -self.panes.width, 2 * self.panes.width + 1)
        sound.within("own.sizes", sizes, 1, self.k + 1)
        sound.within("own.heaps", heaps, NOWHERE, total)
        filled = np.arange(self.k) < sizes[:, None]
        sound.require((heaps[filled] >= 0).all(), "own.heaps have gaps")
        sound.numbers("own.score", self._kept["score"])
        sound.moments("own", self._kept["pane"], ends, self._own["shown_end"])

    def _check_own(self) -> None:
        kept, windows = self._kept, self._windows
        referred: set[int] = set()
        for w, (end, size) in enumerate(zip(windows["ends"], windows["sizes"], strict=True)):
            heap = self._heaps[w, :size]
            assert 0 < size <= self.k, ("P1", w, size)
            panes = kept["pane"][heap]
            assert ((panes < end) & (panes >= end - self.panes.width)).all(), ("P1", w, panes)
            keys = list(zip(kept["score"][heap], kept["tie"][heap], strict=True))
            assert min(keys) == keys[0], ("P2", w, keys)
            referred.update(heap.tolist())
        assert referred == set(range(len(kept))), ("P3", len(referred), len(kept))


__all__ = ["PreTopK"]
