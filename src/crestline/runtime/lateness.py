"""Late records: which are dropped, how they are counted, and when a run warns of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from crestline.core.errors import LateRecordsWarning
from crestline.language import duration
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.metrics import Metrics
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Number, Role
from crestline.runtime.watermark import Watermark
from crestline.types import Bools, Ints

#: Beyond this share of dropped records a run warns.
_MANY = 0.01
#: Records that a run has to see before their share means anything.
_FEW = 1000
_MOMENT = pa.timestamp("us")


class Lateness:
    """Judges records by a watermark and rejects the late ones."""

    def __init__(
        self, watermark: Watermark, metrics: Metrics, rejects: Rejects, roles: pa.Schema,
        *, counts_merged: bool,
    ) -> None:  # fmt: skip
        """``counts_merged``: late records of a round are counted here, as no stage near the source
        leaves any out and counts them."""
        self.watermark = watermark
        self._metrics, self._rejects, self._roles = metrics, rejects, roles
        self._counts_merged = counts_merged

    def admit(self, records: AdmittedBatch, horizon: int) -> AdmittedBatch:
        """The records that are not late, judged one by one as they arrived. Where none is late, no
        record to come is before ``horizon``."""
        if records.time is None:
            return records
        if self.watermark.none_late:
            self.watermark.approach(records.time, horizon)
            return records
        late = self.judge(records.time)
        if late is None:
            return records
        self._metrics.rows_late += int(late.sum())
        reject_late(self._rejects, records.take(np.flatnonzero(late)))
        return records.take(np.flatnonzero(~late))

    def judge(self, times: Ints) -> Bools | None:
        """Move the watermark; tell which records are late (None: none) and note by how much."""
        before = self.watermark.latest
        late = self.watermark.late(times)
        if late is not None:
            self.note(delay_of(times, late, before))
        return late

    def late_merged(self, records: AdmittedBatch) -> Bools | None:
        """Tell which records of a round are late (None: none) and note by how much."""
        if records.time is None:
            return None
        late = records.time < self.watermark.late_before
        if not late.any():
            return None
        self.note(self.watermark.latest - int(records.time.min()))
        return np.asarray(late)

    def drop_merged(self, late: AdmittedBatch) -> None:
        """Reject late records of a round, which lack the column that the gate has read."""
        if self._counts_merged:
            self._metrics.rows_late += len(late)
        dtype = self._roles.field(Role.TIME).type
        times = late.columns.column(Number.TIME).cast(_MOMENT).cast(dtype)
        columns = pa.table({Role.TIME: times})
        reject_late(self._rejects, AdmittedBatch(columns, late.rows, late.score, late.time))

    def count(self, late: int) -> None:
        """Count late records that are not dropped."""
        self._metrics.rows_late += late

    def note(self, delay: int) -> None:
        """Note a LATENESS that would have sufficed."""
        self._metrics.lateness_needed = max(self._metrics.lateness_needed, delay)


def reject_late(rejects: Rejects, late: AdmittedBatch) -> None:
    """Reject records because they are late."""
    rejects.add(np.asarray(late.rows), Role.TIME, "late", late.columns.column(Role.TIME))


def delay_of(times: Ints, late: Bools, latest: int) -> int:
    """The lateness that would have sufficed for the ``late`` ones of a batch, which came when
    ``latest`` was the largest event time.

    >>> delay_of(np.array([5, 9, 2, 3]), np.array([False, False, True, True]), 4)
    7
    """
    reached = np.maximum(np.maximum.accumulate(times), latest)
    return int((reached - times)[late].max())


def many_late(metrics: Metrics, *, following: bool = False) -> str | None:
    """A sentence about dropped records if they are more than one in a hundred; it names the
    LATENESS that would have sufficed. A run that is ``following`` a stream says it only after
    enough records."""
    taken = metrics.rows_in - metrics.rows_filtered
    dropped = metrics.rejected.get("late", 0)
    if dropped <= _MANY * taken or (following and taken < _FEW):
        return None
    enough = duration.written(duration.rounded_up(metrics.lateness_needed))
    return (
        f"{dropped:,} of {taken:,} records ({dropped / taken:.0%}) came late and were dropped:"
        f" LATENESS {enough} would have counted them all."
    )


def warn_of_late(by_query: Mapping[str, Metrics], *, following: bool = False) -> bool:
    """Warn once if a query has dropped too many records; return whether one has. Of several
    queries, the one that dropped most is named."""
    sentences = {
        name: sentence
        for name, metrics in by_query.items()
        if (sentence := many_late(metrics, following=following)) is not None
    }
    if not sentences:
        return False
    worst = max(sentences, key=lambda name: by_query[name].rejected["late"])
    where = f"query {worst}: " if len(by_query) > 1 else ""
    # At the line of the caller of crestline.run, or of Session.push, which waits for a lock first.
    level = 4 if following else 3
    warnings.warn(f"{where}{sentences[worst]}", LateRecordsWarning, stacklevel=level)
    return True
