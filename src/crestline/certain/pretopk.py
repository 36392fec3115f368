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

from crestline.certain.steps import StepOperator
from crestline.core import sound
from crestline.core.errors import CrestlineError
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.pretopk import NEVER, advance_pretopk
from crestline.operators.waiting import Waiting
from crestline.types import Ints


class PreTopK(StepOperator):
    """The predicted top k of all future windows; see the module's text."""

    _NAMES = ("windows", "ends", "sizes", "heaps", "score", "tie", "pane", "id", "shown_end")
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
        none = np.empty(0, np.int64)
        self._windows = np.zeros(1, np.int64)
        self._ends = self._sizes = self._tie = self._pane = self._id = none
        self._heaps = np.empty((0, k), np.int64)
        self._score = np.empty(0)
        self._shown_end = none

    def _grow_partitions(self, more: int) -> None:
        self._windows = np.concatenate((self._windows, np.full(more, self._windows[-1])))
        self._shown_end = np.concatenate((self._shown_end, np.full(more, NEVER)))

    def _advance(self, arrived: Waiting, offsets: Ints, until: Ints) -> Snapshots:
        score = np.concatenate((self._score, arrived.score))
        tie = np.concatenate((self._tie, arrived.tie))
        pane = np.concatenate((self._pane, arrived.pane))
        id = np.concatenate((self._id, arrived.id))
        windows, ends, sizes, heaps, partition, end, count, places = advance_pretopk(
            self.k,
            self.panes.width,
            self.panes.slide,
            self.only_changes,
            score,
            tie,
            pane,
            self._windows,
            self._ends,
            self._sizes,
            self._heaps,
            offsets + len(self._score),
            self._shown_end,
            until,
        )
        self._windows, self._ends, self._sizes = windows, ends, sizes
        self._heaps = heaps.reshape(-1, self.k)
        used = np.zeros(len(score) + 1, np.bool_)
        used[self._heaps] = True  # the filler -1 marks the extra last place
        kept = np.flatnonzero(used[:-1])
        place = np.full(len(score) + 1, -1, np.int64)
        place[kept] = np.arange(len(kept))
        self._heaps = place[self._heaps]
        self._score, self._tie, self._pane = score[kept], tie[kept], pane[kept]
        self._id = id[kept]
        return Snapshots.of(partition, end, count, id[places], score[places])

    def _kept_ids(self) -> Ints:
        return self._id

    def _rename_kept(self, places: Ints) -> None:
        self._id = places[self._id]

    def _set_kept_ties(self, ties: Ints) -> None:
        self._tie = ties[self._id]

    def _own_state(self) -> dict[str, Any]:
        return {name: getattr(self, f"_{name}") for name in self._NAMES}

    def _restore_own(self, own: dict[str, Any]) -> None:
        total = sound.length("own", *(own[name] for name in ("score", "tie", "pane", "id")))
        windows = sound.length("own.windows", *(own[name] for name in ("ends", "sizes", "heaps")))
        sound.offsets("own.windows", own["windows"], self.partitions, windows)
        sound.length("own.shown_end", own["shown_end"], of=self.partitions)
        sound.require(own["heaps"].shape[1] == self.k, "own.heaps are not of k records")
        whose = np.repeat(np.arange(self.partitions), np.diff(own["windows"]))
        ascends = (own["ends"][1:] > own["ends"][:-1]) | (whose[1:] != whose[:-1])
        sound.require(ascends.all(), "own.ends do not ascend")
        # Windows are found again by walking from one to the next.
        sound.require((own["ends"] % self.panes.slide == 0).all(), "own.ends are between slides")
        reached = self._counts // self.panes.length
        if self._timed:
            reached = np.full(self.partitions, self._closed)
        apart = own["ends"] - reached[whose]
        sound.within("own.ends", apart, -self.panes.width, 2 * self.panes.width + 1)
        sound.within("own.sizes", own["sizes"], 1, self.k + 1)
        sound.within("own.heaps", own["heaps"], -1, total)
        filled = np.arange(self.k) < own["sizes"][:, None]
        sound.require((own["heaps"][filled] >= 0).all(), "own.heaps have gaps")
        sound.numbers("own.score", own["score"])
        sound.moments("own", own["pane"], own["ends"], own["shown_end"])
        for name, value in own.items():
            setattr(self, f"_{name}", value)

    def _check_own(self) -> None:
        referred: set[int] = set()
        for w, (end, size) in enumerate(zip(self._ends, self._sizes, strict=True)):
            heap = self._heaps[w, :size]
            assert 0 < size <= self.k, ("P1", w, size)
            panes = self._pane[heap]
            assert ((panes < end) & (panes >= end - self.panes.width)).all(), ("P1", w, panes)
            keys = list(zip(self._score[heap], self._tie[heap], strict=True))
            assert min(keys) == keys[0], ("P2", w, keys)
            referred.update(heap.tolist())
        assert referred == set(range(len(self._id))), ("P3", len(referred), len(self._id))
