"""CCSQ, the compressed compact set queue (Jin et al. 2008, section 4.2): differences only.

Going from the newest suffix to older ones, a record joins the compact sets with its own suffix and,
once it has dropped out, never comes back (Lemma 4.3). So each record is kept once, with a note of
the suffix that lost it: these notes are the differences of neighbouring sets. A record that its own
suffix loses is forgotten. When records arrive, the sets are restored one by one from the newest
suffix on, until the new records are in none of them.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(H log n)
records, the least that any exact synopsis can, and the compact set of the window. **Cost**
O(k H^2) per record.

**Invariants** C1: records leave in the order of the list. C2: a record is lost by an older suffix
than its own. C3: what no remaining suffix has lost is the compact set of the window.
"""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.kernels.common.output import Report
from crestline.kernels.uncertain.ccsq import CLOSED, KEPT, WHOLE, run_ccsq
from crestline.kernels.uncertain.lists import ID, LEAVES, RecordList
from crestline.kernels.uncertain.steps import SynopsisQuery
from crestline.types import Ints
from crestline.uncertain.partition import PartitionSynopsis
from crestline.uncertain.synopsis import Synopsis


class CCSQPartition(PartitionSynopsis):
    """The records of all compact sets, each once, and the compact set of the window."""

    LISTS = ("kept", "whole")
    EXTRA = ("gone",)

    def run(
        self, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, report: Report
    ) -> Report:
        kept, self.extra["gone"], whole, self.shown, report = run_ccsq(
            query, arrivals, steps, until, self.meta, self.lists["kept"], self.extra["gone"],
            self.lists["whole"], self.shown, report,
        )  # fmt: skip
        self.lists = {"kept": kept, "whole": whole}
        return report

    def _require_sound_extra(self) -> None:
        sound.require(len(self.extra["gone"]) >= self.meta[KEPT], "gone is too short")
        sound.require(not self.meta[CLOSED] or self.meta[WHOLE] > 0, "nothing is closed")

    def filled(self, name: str) -> int:
        return int(self.meta[KEPT if name == "kept" else WHOLE])

    def check(self, query: SynopsisQuery) -> None:
        leaves = self.records("kept").ints[LEAVES]
        gone = self.extra["gone"][: len(leaves)]
        assert (np.diff(leaves) >= 0).all(), ("C1", leaves)
        assert (gone < leaves).all(), ("C2", gone, leaves)
        self._check_order(self.records("whole"))
        left = self.records("kept").ints[ID][gone <= self.step]
        whole = self.records("whole").ints
        still = whole[ID][whole[LEAVES] > self.step]
        if self.meta[CLOSED] and len(still) == len(whole[ID]):
            assert sorted(left) == sorted(still), ("C3", left, still)


class CCSQ(Synopsis):
    """The compact sets of all suffixes, as differences."""

    partition_type = CCSQPartition


__all__ = ["CCSQ", "CCSQPartition"]
