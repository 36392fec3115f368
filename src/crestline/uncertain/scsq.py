"""SCSQ, the segmental compact set queue (Jin et al. 2008, section 4.3): few sets, and extras.

Only few suffixes have their compact sets written out. Beside each set stand *extras* (Lambda in the
paper): what the compact sets of older suffixes, up to the next that is written out, may need
beyond this one. Only the compact set of the whole window is exact; when it loses a record, the new
one is found among the oldest set and its extras.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(log n)
segments of at most 2 H records on average where records come in random order. **Cost**
O(k H log n) per record.

**Invariants**, H being the size of the largest set, updated whenever that has doubled or halved.
S1: sets and extras are in rank order, extras rank before the last of their set. S2 (6 in the
paper): a segment has at most H extras (if H has fallen, so many as it had). S3 (7): two neighbours
have together H extras at least, counting what the older one's set would add. S4: the older a
segment, the earlier its set's oldest record leaves; the newest records leave after all of these.

Deviations from the paper: where several records leave together, the older set's whole unit takes
the place of its oldest record, both in a merge and in S3. When two sets have become equal, the one
that stays has the extras of both (in the paper's example one of them is empty). The paper's
Example 4.1 prints {5, 6, 1} for the set that it creates at time 9, which is {6, 1, 4}.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report
from crestline.kernels.uncertain.lists import LEAVES, RecordList
from crestline.kernels.uncertain.scsq import run_scsq
from crestline.kernels.uncertain.segments import (
    CLOSED,
    NEWEST,
    SEGMENTS,
    WHOLE,
    H,
    SegmentQueue,
)
from crestline.kernels.uncertain.steps import SynopsisQuery
from crestline.types import Ints
from crestline.uncertain.partition import PartitionSynopsis, rank_keys
from crestline.uncertain.synopsis import Synopsis


class SegmentsPartition(PartitionSynopsis):
    """A queue of segments, the newest records that are in none, the compact set of the window."""

    LISTS = ("newest", "queue", "whole")
    EXTRA = ("bounds", "sizes")
    #: The kernel that goes from step to step.
    kernel: ClassVar[Callable[..., Any]] = staticmethod(run_scsq)
    #: Whether the newest records are a buffer, which is emptied from time to time.
    buffered: ClassVar = False

    def run(
        self, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, report: Report
    ) -> Report:
        queue = SegmentQueue(self.lists["queue"], self.extra["bounds"], self.extra["sizes"])
        newest, queue, whole, self.shown, report = self.kernel(
            query, arrivals, steps, until, self.meta, self.lists["newest"], queue,
            self.lists["whole"], self.shown, report,
        )  # fmt: skip
        self.lists = {"newest": newest, "queue": queue.records, "whole": whole}
        self.extra = {"bounds": queue.bounds, "sizes": queue.sizes}
        return report

    def _require_sound_extra(self) -> None:
        segments, bounds = int(self.meta[SEGMENTS]), self.extra["bounds"]
        sizes = self.extra["sizes"][:segments]
        sound.require(0 <= segments < len(bounds), "there are more segments than bounds")
        sound.length("sizes of segments", sizes, of=segments)
        sound.require(len(self.extra["sizes"]) >= len(bounds) - 1, "sizes are too few")
        sound.offsets("bounds", bounds[: segments + 1], segments, int(bounds[segments]))
        fits = (sizes > 0) & (sizes <= np.diff(bounds[: segments + 1]))
        sound.require(fits.all(), "sets do not fit into their segments")
        sound.require(not self.meta[CLOSED] or self.meta[WHOLE] > 0, "nothing is closed")

    def filled(self, name: str) -> int:
        if name == "queue":
            return int(self.extra["bounds"][self.meta[SEGMENTS]])
        return int(self.meta[NEWEST if name == "newest" else WHOLE])

    def segments(self) -> list[tuple[RecordList, RecordList]]:
        """Return set and extras of every segment, the oldest first."""
        floats, ints = self.records("queue")
        segments = []
        for s in range(self.meta[SEGMENTS]):
            start, stop = self.extra["bounds"][s : s + 2]
            middle = start + self.extra["sizes"][s]
            members = RecordList(floats[:, start:middle], ints[:, start:middle])
            segments.append((members, RecordList(floats[:, middle:stop], ints[:, middle:stop])))
        return segments

    def check(self, query: SynopsisQuery) -> None:
        self._check_order(self.records("whole"))
        segments = self.segments()
        first = LONG_AGO
        for members, extras in segments:
            self._check_order(members)
            self._check_order(extras)
            last = rank_keys(members)[-1]
            for key in rank_keys(extras):
                assert key > last, ("S1", key, last)
            leaves = int(members.ints[LEAVES].min())
            assert leaves > first, ("S4", leaves, first)
            first = leaves
        for (older, older_extras), (_, newer_extras) in pairwise(segments):
            unit = (older.ints[LEAVES] == older.ints[LEAVES].min()).sum()
            together = older_extras.ints.shape[1] + newer_extras.ints.shape[1] + unit
            assert self.buffered or together > self.meta[H], ("S3", together, self.meta[H])
        if segments:
            newest = self.records("newest").ints[LEAVES]
            assert (newest >= first + (not self.buffered)).all(), "S4"


class SCSQ(Synopsis):
    """Compact sets of few suffixes, with extras for those between."""

    partition_type = SegmentsPartition


__all__ = ["SCSQ", "SegmentsPartition"]
