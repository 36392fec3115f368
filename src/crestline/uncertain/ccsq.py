"""CCSQ, the compressed compact set queue (Jin et al. 2008, section 4.2): differences only.

Going from the newest suffix to older ones, a record joins the compact sets with its own suffix and,
once it has dropped out, never comes back (Lemma 4.3). So each record is kept once, with a note of
the suffix that lost it: that is the difference of every two neighbouring sets. A record that is
lost by its own suffix is forgotten. When records arrive, the sets are restored one by one from the
newest suffix on, until the new records are in none of them.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(H log n)
records, the least that any exact synopsis can, and the compact set of the window. **Cost**
O(k H^2) a record.

**Invariants** C1: records leave in the order of the list. C2: a record is lost by an older suffix
than its own. C3: what no remaining suffix has lost is the compact set of the window.
"""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.kernels.uncertain.ccsq import CLOSED, KEPT, WHOLE, run_ccsq
from crestline.kernels.uncertain.compact import DONE, ID, LEAVES, List, Setting, Told
from crestline.types import Ints
from crestline.uncertain.part import Part
from crestline.uncertain.synopsis import Synopsis


class CCSQPart(Part):
    LISTS = ("kept", "whole")
    EXTRA = ("gone",)

    def run(self, setting: Setting, arrivals: List, steps: Ints, until: int, told: Told) -> Told:
        kept, self.extra["gone"], whole, self.shown_id, self.shown, told = run_ccsq(
            setting, arrivals, steps, until, self.meta, self.lists["kept"], self.extra["gone"],
            self.lists["whole"], self.shown_id, self.shown, told,
        )  # fmt: skip
        self.lists = {"kept": kept, "whole": whole}
        return told

    def _sound_extra(self) -> None:
        sound.require(len(self.extra["gone"]) >= self.meta[KEPT], "gone is too short")
        sound.require(not self.meta[CLOSED] or self.meta[WHOLE] > 0, "nothing is closed")

    def filled(self, name: str) -> int:
        return int(self.meta[KEPT if name == "kept" else WHOLE])

    def check(self, setting: Setting) -> None:
        leaves = self.records("kept")[1][LEAVES]
        gone = self.extra["gone"][: len(leaves)]
        assert (np.diff(leaves) >= 0).all(), ("C1", leaves)
        assert (gone < leaves).all(), ("C2", gone, leaves)
        self._check_order(*self.records("whole"))
        left = self.records("kept")[1][ID][gone <= self.meta[DONE]]
        whole = self.records("whole")[1]
        still = whole[ID][whole[LEAVES] > self.meta[DONE]]
        if self.meta[CLOSED] and len(still) == len(whole[ID]):
            assert sorted(left) == sorted(still), ("C3", left, still)


class CCSQ(Synopsis):
    """The compact sets of all suffixes, as differences."""

    part = CCSQPart


__all__ = ["CCSQ"]
