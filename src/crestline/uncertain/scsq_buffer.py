"""SCSQ_BUFFER (Jin et al. 2008, section 4.4): segments that are brought up to date in batches.

Only the compact set of the whole window is needed at every moment; it is kept exact. All other
records wait in a buffer, and most need no more than a comparison with the last of the compact set.
When the buffer is full, segments (see SCSQ) are made of what is in it, and those of older records
are brought up to date with its compact set, all at once.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(log n)
segments of at most 2 H records on average, and a buffer of three times as many. **Cost** O(k) a
record, most of it shared when the buffer is emptied, and O(k H^2 / n) for the window's compact set,
where records come in random order.

**Invariants**: those of SCSQ, but S3 holds when the buffer has been emptied: extras that leave
later make neighbours small until then; and of S4, records that leave together with the newest
set's oldest may still be in the buffer.

Deviations from the paper: the buffer holds three times what the segments do instead of k H
records, since to empty it is to go through those. It is not emptied altogether: of the newest
records no suffix closes, so each of them may be needed by a compact set to come, also those outside
every present one. They stay. Which suffix is the shortest that closes is not searched for: a short
one is found by doubling, and what is newer stays in the buffer. Records that arrive one a step and
rank behind the window's compact set are passed over in blocks where only changes are told. Of long
batches whole blocks are looked at first: what ranks behind the compact sets of both neighbouring
blocks is not even taken in (``kernels.uncertain.panes.passing``).
"""

from __future__ import annotations

import numpy as np

from crestline.core import sound
from crestline.core.batch import Uncertainty
from crestline.kernels.uncertain.panes import passing
from crestline.kernels.uncertain.scsq_buffer import FULL, KNOWN, LEAST, run_buffered
from crestline.kernels.uncertain.segments import NEWEST
from crestline.types import Floats, Ints
from crestline.uncertain.scsq import SegmentsPart
from crestline.uncertain.synopsis import Synopsis, writeable

#: Records of a long batch that are looked at together.
_BLOCK = 4096


class BufferedPart(SegmentsPart):
    """The same, with the newest records as a buffer in the order in which they leave."""

    steps = staticmethod(run_buffered)
    buffered = True

    def __init__(self) -> None:
        super().__init__()
        self.meta[FULL] = LEAST

    def _sound_extra(self) -> None:
        super()._sound_extra()
        sound.within("known", self.meta[KNOWN : KNOWN + 1], 0, int(self.meta[NEWEST]) + 1)


class SCSQBuffer(Synopsis):
    """Segments of compact sets behind a buffer; the default for uncertain streams."""

    part = BufferedPart

    def _passing(
        self, scores: Floats, times: Ints | None, partitions: Ints | None, doubt: Uncertainty
    ) -> Ints | None:
        if times is not None or partitions is not None or self.keeps_all or self.window is None:
            return None
        block = min(_BLOCK, self.window // 4)
        if self.slide != 1 or block < 16 * self.k or len(scores) < 4 * block:
            return None
        plain = np.ascontiguousarray(scores, np.float64)
        return passing(
            self._setting, writeable(plain), writeable(doubt.probability), writeable(doubt.rule),
            writeable(doubt.group), block,
        )  # fmt: skip


__all__ = ["SCSQBuffer"]
