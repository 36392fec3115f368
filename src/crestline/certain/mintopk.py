"""MinTopk: the least that must be kept, in one list (Yang et al. 2011, section 4).

**Answers** the exact top k of every window that slides in steps, and of windows that report at
every arrival. **Does not** help where scores change after arrival: a record's score is final.

**Idea.** When a record arrives it is known when it will expire. It can be in the top k of a future
window only if fewer than k *better* records expire no sooner; call those its *dominators*. The
records with fewer than k dominators are the minimal candidate set MTK (Theorem 3.1). They stand in
one list, best first (the *super-top-k list*); the first k are the answer.

**Cost**, with C panes a window, n records and s survivors (at most k) in a pane, M = size of MTK:
n memory-bound comparisons to find the survivors, O(s log s) to rank them and O(k + M) to merge
them, for each pane. Records kept: k H_C on average for scores in random order (H_C = 1 + 1/2 + ...
+ 1/C, panes of at least k records); at worst k C, for falling scores; k, for rising ones. Nothing
depends on how many records the window holds.

**Invariants**
  M1  each partition's list is sorted best first;
  M2  a record's count of dominators is the number of listed betters that stay as long or longer;
  M3  every count is below k;
  M4  no listed record has expired.

**Deviations from the paper.** (1) Panes are inserted whole rather than record by record: a pane's
k best are found first, then merged in one pass. (2) Instead of a starting window mark and a lower
bound pointer for each window, each record carries its count of dominators. The two say the same:
a record is in the predicted top k of exactly those windows of its life that fewer than k listed
betters reach; ``window_marks`` derives the marks, as in the paper's Figure 5. Counting makes the
cost of a merge independent of the number of future windows, which the pointers do not.
(3) Theorem 3.2's average of 2k is k H_C.

**By hand.** Window of 4 records, slide of 2, k = 1. After 9 5 | 3 7 the list is 9 7: 9 wins now, 7
will when 9 has gone; 5 and 3 never can.

>>> import numpy as np
>>> operator = MinTopK(k=1, window=4, slide=2)
>>> _ = operator.observe(np.array([9.0, 5, 3, 7, 1, 2]))
>>> [(end, scores.tolist()) for _, end, _, scores in operator.advance()]
[(2, [9.0]), (4, [9.0]), (6, [7.0])]
>>> operator.candidates
2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.certain.steps import StepOperator
from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.mintopk import advance_mintopk
from crestline.operators.waiting import Waiting
from crestline.types import Bools, Ints


class MinTopK(StepOperator):
    """The super-top-k list of each partition; see the module's text."""

    _NAMES = ("listed", "score", "tie", "pane", "id", "dominators", "done", "shown")

    def _grow_partitions(self, more: int) -> None:
        if self.partitions == more:
            none = np.empty(0, np.int64)
            self._listed = np.zeros(1, np.int64)
            self._score = np.empty(0)
            self._tie = self._pane = self._id = self._dominators = none
            self._done = none
            self._shown = np.empty(0, np.bool_)
        last = self._listed[-1]
        self._listed = np.concatenate((self._listed, np.full(more, last)))
        self._done = np.concatenate((self._done, np.full(more, LONG_AGO)))
        self._shown = np.concatenate((self._shown, np.zeros(more, np.bool_)))

    def _advance(self, arrived: Waiting, offsets: Ints, until: Ints) -> Snapshots:
        if self.partitions == 0:
            return Snapshots.nothing()
        score = np.concatenate((self._score, arrived.score))
        tie = np.concatenate((self._tie, arrived.tie))
        pane = np.concatenate((self._pane, arrived.pane))
        id = np.concatenate((self._id, arrived.id))
        dominators = np.concatenate((self._dominators, np.zeros(len(arrived), np.int64)))
        self._listed, kept, partition, end, count, places = advance_mintopk(
            self.k,
            self.panes.width,
            self.panes.slide,
            self.panes.on_arrival,
            self.only_changes,
            score,
            tie,
            pane,
            dominators,
            self._listed,
            offsets + self._listed[-1],
            self._done,
            self._shown,
            until,
        )
        self._score, self._tie, self._pane = score[kept], tie[kept], pane[kept]
        self._id, self._dominators = id[kept], dominators[kept]
        return Snapshots.of(partition, end, count, id[places], score[places])

    def window_marks(self, partition: int = 0) -> list[tuple[int, int, int]]:
        """The paper's Figure 5: (id, starting mark, ending mark) for each record, best first.

        Marks are window ends, in the unit of the window. The lower bound pointer of a window is the
        k-th record whose marks enclose it.
        """
        low, high = self._listed[partition], self._listed[partition + 1]
        now = int(self._done[partition])
        slide, width, length = self.panes.slide, self.panes.width, self.panes.length
        marks = []
        for i in range(low, high):
            last = int(self._pane[i] + width) // slide * slide
            start = now
            while np.count_nonzero(self._pane[low:i] >= start - width) >= self.k:
                start += slide
            marks.append((int(self._id[i]), start * length, last * length))
        return marks

    def _kept_ids(self) -> Ints:
        return self._id if self.partitions else np.empty(0, np.int64)

    def _rename_kept(self, places: Ints) -> None:
        if self.partitions:
            self._id = places[self._id]

    def _set_kept_ties(self, ties: Ints) -> None:
        if self.partitions:
            self._tie = ties[self._id]

    def _holding_partitions(self) -> Bools | None:
        if not self.partitions:
            return None
        holds = np.diff(self._listed) > 0
        return holds | self._shown if self.only_changes else holds

    def _keep_partitions(self, kept: Ints) -> None:
        count = np.diff(self._listed)[kept]
        self._listed = np.concatenate(([0], np.cumsum(count)))  # the others' lists are empty
        self._done, self._shown = self._done[kept], self._shown[kept]

    def _own_state(self) -> dict[str, Any]:
        return {n: getattr(self, f"_{n}") for n in self._NAMES} if self.partitions else {}

    def _restore_own(self, own: dict[str, Any]) -> None:
        if not self.partitions:
            return
        sound.like(own, {name: getattr(self, f"_{name}") for name in self._NAMES}, "own")
        names = ("score", "tie", "pane", "id", "dominators")
        total = sound.length("own", *(own[name] for name in names))
        sound.offsets("own.listed", own["listed"], self.partitions, total)
        sound.length("own, by partition,", own["done"], own["shown"], of=self.partitions)
        sound.numbers("own.score", own["score"])
        sound.moments("own.pane", own["pane"])
        self._sound_moments("own.done", own["done"], np.diff(own["listed"]) > 0)
        for name, value in own.items():
            setattr(self, f"_{name}", value)

    def _check_own(self) -> None:
        for p in range(self.partitions):
            part = slice(self._listed[p], self._listed[p + 1])
            keys = list(zip(self._score[part], self._tie[part], strict=True))
            assert keys == sorted(keys, reverse=True), ("M1", p, keys)
            panes = self._pane[part]
            life = (panes + self.panes.width) // self.panes.slide
            counted = [int(np.count_nonzero(life[:i] >= life[i])) for i in range(len(life))]
            assert counted == self._dominators[part].tolist(), ("M2", p, counted)
            assert all(count < self.k for count in counted), ("M3", p, counted)
            assert (panes >= self._done[p] - self.panes.width).all(), ("M4", p, panes)
