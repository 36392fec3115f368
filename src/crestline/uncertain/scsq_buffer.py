"""SCSQ_BUFFER (Jin et al. 2008, section 4.4): segments that are brought up to date in batches.

Only the compact set of the whole window is needed at every moment; it is kept exact. All other
records wait in a buffer, and most need no more than a comparison with the last of the compact set.
When the buffer is full, segments (see SCSQ) are made of what is in it, and those of older records
are brought up to date with its compact set, all at once.

**Answers** what the compact set of the whole window says, which is exact. **Keeps** O(log n)
segments of at most 2 H records on average, and a buffer of three times as many. **Cost** O(k) per
record, most of it shared when the buffer is emptied, and O(k H^2 / n) for the window's compact set,
where records come in random order.

**Invariants**: those of SCSQ, but S3 holds when the buffer has been emptied: extras that leave
later make neighbours small until then; and of S4, records that leave together with the newest
set's oldest may still be in the buffer.

Deviations from the paper: the buffer holds three times what the segments do instead of k H
records, since emptying it goes through those. It is not emptied altogether: no suffix of the newest
records closes, so a compact set to come may need each of them, also those outside every present
one. They stay. The shortest suffix that closes is not searched for: a short one is found by
doubling, and what is newer stays in the buffer. Records that arrive one per step and rank behind
the window's compact set are passed over in blocks where only changes are reported. Long batches are
looked at in blocks first: what ranks behind the compact sets of both neighbouring blocks is not
taken in at all (``kernels.uncertain.panes.passing``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.batch import Batch, Uncertainty
from crestline.kernels.uncertain.emptying import FULL, IN_SEGMENTS, LEAST
from crestline.kernels.uncertain.panes import passing
from crestline.kernels.uncertain.scsq_buffer import run_buffered
from crestline.kernels.uncertain.segments import NEWEST
from crestline.types import Ints
from crestline.uncertain.scsq import SegmentsPartition
from crestline.uncertain.synopsis import Synopsis

#: Records of a long batch that are looked at together.
_BLOCK = 4096


class BufferedPartition(SegmentsPartition):
    """The same, with the newest records as a buffer in the order in which they leave."""

    kernel = staticmethod(run_buffered)
    buffered = True

    def __init__(self) -> None:
        super().__init__()
        self.meta[FULL] = LEAST

    def _require_sound_extra(self) -> None:
        super()._require_sound_extra()
        shared = self.meta[IN_SEGMENTS : IN_SEGMENTS + 1]
        sound.within("buffered records in segments", shared, 0, int(self.meta[NEWEST]) + 1)


class SCSQBuffer(Synopsis):
    """Segments of compact sets behind a buffer; the default for uncertain streams."""

    partition_type = BufferedPartition

    def _passing(self, batch: Batch, uncertainty: Uncertainty) -> Ints | None:
        counts_all = batch.times is None and batch.partitions is None
        if not counts_all or self.keeps_all or self.window is None:
            return None
        block = min(_BLOCK, self.window // 4)
        if self.slide != 1 or block < 16 * self.k or len(batch) < 4 * block:
            return None
        scores = np.ascontiguousarray(batch.scores, np.float64)
        return passing(
            self._query, _writeable(scores), _writeable(uncertainty.probability),
            _writeable(uncertainty.rule), _writeable(uncertainty.group), block,
        )  # fmt: skip


def _writeable(values: Any) -> Any:
    """Copy what is read-only, as columns from Arrow are: to numba that is another type."""
    return values if values.flags.writeable else values.copy()


__all__ = ["SCSQBuffer"]
