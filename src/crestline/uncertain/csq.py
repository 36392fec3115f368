"""CSQ, the compact set queue (Jin et al. 2008, section 4.1): a compact set for every suffix.

For every suffix of the window (the records that are still there once older ones have left) the
queue holds its compact set; equal ones are held once. When a record of the oldest set leaves, the
next set takes its place. The newest records, of which no suffix closes yet, are kept as they are.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(H log n) sets
of H records each, H being the size of a compact set (about 2 k where p is uniform). **Cost**
O(k H^2) a record, as about H sets have to be brought up to date.

**Invariants** Q1: every set is in rank order and closes (or did when it was made: rounding may
differ). Q2: the older a set, the earlier its oldest record leaves. Q3: no two neighbours are equal.
Q4: the newest records do not close, and all leave after the newest set's oldest.
"""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.kernels.uncertain.compact import ID, LEAVES, List, Setting, Told, depth
from crestline.kernels.uncertain.csq import NEWEST, SETS, run_csq
from crestline.types import Ints
from crestline.uncertain.part import Part
from crestline.uncertain.synopsis import Synopsis


class CSQPart(Part):
    LISTS = ("newest", "queue")
    EXTRA = ("bounds",)

    def run(self, setting: Setting, arrivals: List, steps: Ints, until: int, told: Told) -> Told:
        newest, queue, bounds, self.shown_id, self.shown, told = run_csq(
            setting, arrivals, steps, until, self.meta, self.lists["newest"], self.lists["queue"],
            self.extra["bounds"], self.shown_id, self.shown, told,
        )  # fmt: skip
        self.lists = {"newest": newest, "queue": queue}
        self.extra["bounds"] = bounds
        return told

    def _sound_extra(self) -> None:
        sets, bounds = int(self.meta[SETS]), self.extra["bounds"]
        sound.require(0 <= sets < len(bounds), "there are more sets than bounds")
        sound.offsets("bounds", bounds[: sets + 1], sets, int(bounds[sets]))

    def filled(self, name: str) -> int:
        return int(self.meta[NEWEST] if name == "newest" else self.extra["bounds"][self.meta[SETS]])

    def check(self, setting: Setting) -> None:
        newest, queue = self.records("newest"), self.records("queue")
        self._check_order(*newest)
        bounds = self.extra["bounds"][: self.meta[SETS] + 1]
        before: Ints | None = None
        first = -(1 << 62)
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
            self._check_order(queue[0][:, start:stop], queue[1][:, start:stop])
            ids, leaves = queue[1][ID, start:stop], queue[1][LEAVES, start:stop]
            assert leaves.min() > first, ("Q2", leaves)
            assert before is None or not np.array_equal(ids, before), ("Q3", ids)
            before, first = ids, int(leaves.min())
        assert (newest[1][LEAVES] > first).all(), ("Q4", newest[1][LEAVES])
        if self.meta[NEWEST]:
            assert depth(setting, *self.lists["newest"], 0, int(self.meta[NEWEST])) < 0, "Q4"


class CSQ(Synopsis):
    """A compact set for every suffix of the window."""

    part = CSQPart


__all__ = ["CSQ"]
