"""MinTopk: the least that must be kept, in one list (Yang et al. 2011, section 4).

**Answers** the exact top k of every window that slides in steps, and of windows that report at
every arrival. **Does not** help where scores change after arrival: a record's score is final.

**Idea.** When a record arrives it is known when it will expire. It can be in the top k of a future
window only if fewer than k *better* records expire no sooner; call those its *dominators*. The
records with fewer than k dominators are the minimal candidate set MTK (Theorem 3.1). They stand in
one list, best first (the *super-top-k list*); the first k are the answer.

**Cost**, with C panes a window, n records and s survivors (at most k) in a pane, M = size of MTK:
n memory-bound comparisons to find the survivors, O(s log s) to rank them at worst and O(k + M) to
merge them, for each pane. Small panes are merged together, up to 2 M records at a time; then a
slide costs what arrives and expires. Where its result is written, that costs O(k): to copy the one
before, or to collect it if much has changed. Records kept: k H_C on average for scores in random
order (H_C = 1 + 1/2 + ... + 1/C, panes of at least k records); at worst k C, for falling scores; k,
for rising ones. Nothing depends on how many records the window holds.

**Invariants**
  M1  each partition's list is sorted best first;
  M2  fewer than k listed betters of a record stay as long or longer;
  M3  no listed record has expired.

**Deviations from the paper.** (1) Panes are inserted whole rather than record by record: a pane's
k best are found first, then merged in one pass. (2) Instead of a starting window mark and a lower
bound pointer for each window, dominators are counted by their lives in one pass over the list. The
two say the same: a record is in the predicted top k of exactly those windows of its life that fewer
than k listed betters reach; ``window_marks`` derives the marks, as in the paper's Figure 5.
Counting makes the cost of a merge independent of the number of future windows, which the pointers
do not. (3) Theorem 3.2's average of 2k is k H_C. (4) Small panes are merged several at a time; in
the merged order births and expiries then switch places on and off (``kernels.certain.stretches``).
Records of a batch that later ones put out of reach are never stored (``kernels.certain.thinning``).

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

import numpy as np

from crestline.certain.steps import ListOperator
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.snapshots import Snapshots
from crestline.kernels.certain.mintopk import advance_mintopk
from crestline.kernels.certain.stretches import Lived
from crestline.kernels.certain.thinning import thin
from crestline.kernels.common.order import is_ascending
from crestline.kernels.common.output import written
from crestline.operators.partitions import PerPartition
from crestline.operators.ragged import Ragged
from crestline.operators.records import Records
from crestline.types import Bools, Floats, Ints

#: A batch is thinned if its panes keep this many times k records.
_MANY = 4


class MinTopK(ListOperator):
    """The super-top-k list of each partition; see the module's text."""

    best_first = False
    #: The rows of the last report and a few more: only speed depends on it.
    _usual_rows = 0

    def _storage(self) -> tuple[Ragged, PerPartition]:
        integers = dict.fromkeys(("tie", "pane", "id"), np.int64)
        return Ragged(score=np.float64, **integers), PerPartition(done=LONG_AGO, shown=False)

    def _pruned(
        self, scores: Floats, times: Ints | None, partitions: Ints | None
    ) -> tuple[Ints | None, Ints]:
        """Also leave out records of many small panes that later panes put out of reach."""
        kept, panes = super()._pruned(scores, times, partitions)
        many = len(panes) >= _MANY * self.k and panes[0] < panes[-1]
        if not many or self.partitions > 1 or self.panes.on_arrival:
            return kept, panes
        if times is not None and not is_ascending(panes):
            return kept, panes
        listed = self._kept
        own = scores if kept is None else scores[kept]
        stays = thin(own, panes, self.k, self.panes.width, listed["score"], listed["pane"])
        return stays if kept is None else kept[stays], panes[stays]

    def _advance(self, arrived: Records, offsets: Ints, until: Ints) -> Snapshots:
        listed = self._kept
        every = listed.joined(arrived)
        start, kept, report = advance_mintopk(
            self._window, self._lived(every), listed.start, offsets + len(listed),
            self._own["done"], self._own["shown"], until, self._usual_rows,
        )  # fmt: skip
        listed.replace(start, **every.take(kept).columns)
        partition, end, count, _, ids, scores = written(report)
        self._usual_rows = len(ids) + len(ids) // 8
        end = end - 1 if self.panes.on_arrival else end * self.panes.length
        return Snapshots.of(partition, end, count, ids, scores[0])

    def _lived(self, records: Records) -> Lived:
        """The records with the steps of their first and last windows."""
        pane, width, slide = records["pane"], self.panes.width, self.panes.slide
        birth = pane if slide == 1 else pane // slide
        if self.panes.unbounded:
            return Lived(
                records["id"], records["score"], records["tie"], birth, np.full(len(pane), NEVER)
            )
        last = pane + width
        last = last if slide == 1 else last // slide
        return Lived(records["id"], records["score"], records["tie"], birth, last)

    def window_marks(self, partition: int = 0) -> list[tuple[int, int, int]]:
        """The paper's Figure 5: (id, starting mark, ending mark) for each record, best first.

        Marks are window ends, in the unit of the window. The lower bound pointer of a window is the
        k-th record whose marks enclose it.
        """
        part = self._kept.part(partition)
        ids, pane = self._kept["id"][part], self._kept["pane"][part]
        now = int(self._own["done"][partition])
        slide, width, length = self.panes.slide, self.panes.width, self.panes.length
        marks = []
        for i in range(len(ids)):
            last = int(pane[i] + width) // slide * slide
            start = now
            while np.count_nonzero(pane[:i] >= start - width) >= self.k:
                start += slide
            marks.append((int(ids[i]), start * length, last * length))
        return marks

    def _holding_partitions(self) -> Bools | None:
        if not self.partitions:
            return None
        holds: Bools = self._kept.lengths > 0
        return holds | self._own["shown"] if self.only_changes else holds

    def _check_own(self) -> None:
        listed, width = self._kept, self.panes.width
        for p in range(self.partitions):
            part = listed.part(p)
            keys = list(zip(listed["score"][part], listed["tie"][part], strict=True))
            assert keys == sorted(keys, reverse=True), ("M1", p, keys)
            panes = listed["pane"][part]
            life = (panes + width) // self.panes.slide
            if self.panes.unbounded:
                life = np.zeros(len(panes), np.int64)
            dominators = [int(np.count_nonzero(life[:i] >= life[i])) for i in range(len(life))]
            assert all(count < self.k for count in dominators), ("M2", p, dominators)
            assert (panes >= self._own["done"][p] - width).all(), ("M3", p, panes)


__all__ = ["MinTopK"]
