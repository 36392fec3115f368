"""CSQ, the compact set queue (Jin et al. 2008, section 4.1): a compact set for every suffix.

For every suffix of the window (the records that are still there once older ones have left) the
queue holds its compact set; equal ones are held once. When a record of the oldest set leaves, the
next set takes its place. The newest records, of which no suffix closes yet, are kept as they are.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(H log n) sets
of H records each, H being the size of a compact set (about 2 k where p is uniform). **Cost**
O(k H^2) per record, as about H sets have to be brought up to date.

**Invariants** Q1: every set is in rank order and closes (or did when it was made: rounding may
differ). Q2: the older a set, the earlier its oldest record leaves. Q3: no two neighbours are equal.
Q4: the newest records do not close, and all leave after the newest set's oldest.
"""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report
from crestline.kernels.uncertain.csq import NEWEST, SETS, SetQueue, run_csq
from crestline.kernels.uncertain.lists import ID, LEAVES, RecordList
from crestline.kernels.uncertain.steps import SynopsisQuery, depth
from crestline.types import Ints
from crestline.uncertain.partition import PartitionSynopsis
from crestline.uncertain.synopsis import Synopsis


class CSQPartition(PartitionSynopsis):
    """A queue of compact sets, and the newest records."""

    LISTS = ("newest", "queue")
    EXTRA = ("bounds",)

    def run(
        self, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, report: Report
    ) -> Report:
        queue = SetQueue(self.lists["queue"], self.extra["bounds"])
        newest, queue, self.shown, report = run_csq(
            query, arrivals, steps, until, self.meta, self.lists["newest"], queue, self.shown,
            report,
        )  # fmt: skip
        self.lists = {"newest": newest, "queue": queue.records}
        self.extra["bounds"] = queue.bounds
        return report

    def _require_sound_extra(self) -> None:
        sets, bounds = int(self.meta[SETS]), self.extra["bounds"]
        sound.require(0 <= sets < len(bounds), "there are more sets than bounds")
        sound.offsets("bounds", bounds[: sets + 1], sets, int(bounds[sets]))

    def filled(self, name: str) -> int:
        return int(self.meta[NEWEST] if name == "newest" else self.extra["bounds"][self.meta[SETS]])

    def check(self, query: SynopsisQuery) -> None:
        newest, queue = self.records("newest"), self.records("queue")
        self._check_order(newest)
        bounds = self.extra["bounds"][: self.meta[SETS] + 1]
        before: Ints | None = None
        first = LONG_AGO
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
            members = RecordList(queue.floats[:, start:stop], queue.ints[:, start:stop])
            self._check_order(members)
            ids, leaves = members.ints[ID], members.ints[LEAVES]
            assert leaves.min() > first, ("Q2", leaves)
            assert before is None or not np.array_equal(ids, before), ("Q3", ids)
            before, first = ids, int(leaves.min())
        assert (newest.ints[LEAVES] > first).all(), ("Q4", newest.ints[LEAVES])
        if self.meta[NEWEST]:
            assert depth(query, self.lists["newest"], 0, int(self.meta[NEWEST])) < 0, "Q4"


class CSQ(Synopsis):
    """A compact set for every suffix of the window."""

    partition_type = CSQPartition


__all__ = ["CSQ", "CSQPartition"]
