"""When records count and results fall due.

A run is a sequence of *turns*: some records count, then results are due up to some time. The
``Turns`` of a bundle are chosen once:

================  ================================================================================
``ArrivalTurns``  records count as they arrive; results are due up to the watermark
``TimeTurns``     records wait for the watermark and count in time order: ``[ROWS n ON ts]``,
                  COMBINE, and a result at every arrival where no record is late
``Revisions``     as they arrive; late records wait and correct results (``runtime.revisions``)
================  ================================================================================

Records come in one of two ways. ``push`` takes them in order of arrival and judges each of them.
``merge`` and ``due`` take them in rounds, from machines that saw them in some order: those whose
results are out are late.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.core.snapshots import Snapshots
from crestline.core.tables import table_bytes, table_from
from crestline.core.window import counts_rows
from crestline.kernels.common.order import is_ascending
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.fitting import retyped
from crestline.runtime.lateness import Lateness
from crestline.runtime.reorder import Reorder
from crestline.runtime.watermark import Watermark
from crestline.runtime.window_meter import WindowMeter
from crestline.types import Ints

#: Result rows that one turn may bring, roughly, where every few records bring some.
_PORTION = 1 << 20
#: Result rows that a record brings, where the operator reports in portions by itself.
_ROWS = 64


@dataclass(frozen=True, slots=True)
class Turn:
    """Records that count now, and what is due after them."""

    records: AdmittedBatch | None
    #: Results are due up to this time; None where windows count rows.
    until: int | None = None
    #: Whether any result can be due.
    due: bool = True
    #: The stream is over after this turn.
    last: bool = False


class Turns(ABC):
    """What all kinds of turns share; records that were merged wait for ``due``."""

    def __init__(
        self, queries: Mapping[str, Query], common: Query, lateness: Lateness, meter: WindowMeter
    ) -> None:
        """No ``queries``: the operator reports in portions by itself."""
        self._lateness, self._meter = lateness, meter
        self._counts_rows = counts_rows(common.window)
        #: Records that one turn takes at most, where every few of them bring results.
        self._portion: int | None = None
        if self._counts_rows or common.window.panes.on_arrival:
            rows_per_record = sum(q.k / (q.window.slide or 1) for q in queries.values()) or _ROWS
            self._portion = max(1, int(_PORTION / rows_per_record))
        self._merged: AdmittedBatch | None = None

    @property
    def _watermark(self) -> Watermark:
        return self._lateness.watermark

    @property
    def waiting(self) -> int:
        """How many records wait for their turn."""
        return 0

    @abstractmethod
    def push(self, records: AdmittedBatch, horizon: int = LONG_AGO) -> Iterator[Turn]:
        """Take records in, in order of arrival. No record to come is before ``horizon``."""

    def merge(self, records: AdmittedBatch) -> AdmittedBatch:
        """Take records of a round in; return those that are not late. They count at ``due``."""
        late = self._lateness.late_merged(records)
        if late is not None:
            self._set_late_aside(records.take(np.flatnonzero(late)))
            records = records.take(np.flatnonzero(~late))
        if len(records):
            self._hold(records)
        return records

    def _set_late_aside(self, late: AdmittedBatch) -> None:
        self._lateness.drop_merged(late)

    def _hold(self, records: AdmittedBatch) -> None:
        self._merged = records if self._merged is None else self._merged.plus(records)

    def due(self, latest: int | None) -> Iterator[Turn]:
        """Let merged records count; ``latest`` is the largest event time of all."""
        if latest is not None:
            self._watermark.reach(latest)
        merged, self._merged = self._merged, None
        if self._counts_rows:
            yield from self._counted(merged)
        elif self._watermark.started:
            until = self._watermark.due()
            yield Turn(merged, until, self._watermark.passes_end(until))

    def _counted(self, records: AdmittedBatch | None) -> Iterator[Turn]:
        """Turns of records that count in this order."""
        for part in self._portions(records):
            yield Turn(part)
            self._meter.add(part)

    def flush(self) -> Iterator[Turn]:
        """End a bounded stream."""
        self._meter.finish()
        if not self._counts_rows and self._watermark.started:
            yield Turn(None, self._watermark.last_end, last=True)

    def _portions(self, records: AdmittedBatch | None) -> Iterator[AdmittedBatch]:
        """Pieces whose results fit into memory."""
        count = 0 if records is None else len(records)
        if records is None or count == 0:
            return
        rows = self._portion or count
        for start in range(0, count, rows):
            yield records.slice(start, min(start + rows, count))

    def corrections(self) -> Iterator[tuple[Snapshots, Ints]]:
        """Snapshots that late records have changed, with their revisions."""
        return iter(())

    # -- state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The records that wait, and what is known of results; nothing may be merged just now."""
        assert self._merged is None, "merged records count before a state is saved"
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from ``state()``."""
        sound.require(not state, "records wait that have no turn to wait for")

    def retype(self, state: dict[str, Any], roles: pa.Schema) -> None:
        """Give the waiting records of a state the column types of these roles."""
        sound.require(not state, "records wait that have no turn to wait for")

    def parts(self) -> list[AdmittedBatch]:
        """The records that wait, also those that are late."""
        return []


def retype_records(state: dict[str, Any], roles: pa.Schema) -> None:
    """Give waiting records, in their saved form, the column types of these roles."""
    if state:
        state["columns"] = table_bytes(retyped(table_from(state["columns"]), roles))


class ArrivalTurns(Turns):
    """Records count as they arrive."""

    def push(self, records: AdmittedBatch, horizon: int = LONG_AGO) -> Iterator[Turn]:
        latest = self._watermark.latest
        records = self._lateness.admit(records, horizon)
        for part in self._portions(records):
            if part.time is not None:  # the parts to come have not counted yet
                latest = max(latest, int(part.time.max()))
            until = self._watermark.due(latest)
            yield Turn(part, until, self._watermark.passes_end(until))
            self._meter.add(part)


class TimeTurns(Turns):
    """Records wait until the watermark has passed them, then count in time order."""

    def __init__(
        self, queries: Mapping[str, Query], common: Query, lateness: Lateness, meter: WindowMeter,
        *, waits: bool,
    ) -> None:  # fmt: skip
        """Unless it ``waits``, a batch may count at once if it is in order already."""
        super().__init__(queries, common, lateness, meter)
        self._reorder, self._waits = Reorder(common), waits

    @property
    def waiting(self) -> int:
        return len(self._reorder)

    def push(self, records: AdmittedBatch, horizon: int = LONG_AGO) -> Iterator[Turn]:
        records = self._lateness.admit(records, horizon)
        at_once = self._counts_at_once(records)
        self._reorder.hold(records)
        yield from self._release(None if at_once else self._watermark.value)

    def _counts_at_once(self, records: AdmittedBatch) -> bool:
        """Whether none of the records has to wait: all that come are later."""
        if self._waits or len(self._reorder):
            return False
        assert records.time is not None
        return self._watermark.horizon >= self._watermark.latest and is_ascending(records.time)

    def _hold(self, records: AdmittedBatch) -> None:
        self._reorder.hold(records)

    def due(self, latest: int | None) -> Iterator[Turn]:
        if latest is not None:
            self._watermark.reach(latest)
        yield from self._release(self._watermark.value)

    def flush(self) -> Iterator[Turn]:
        yield from self._release(None)
        yield from super().flush()

    def _release(self, watermark: int | None) -> Iterator[Turn]:
        """Turns of the records before the watermark (None: of all)."""
        for released in self._reorder.release(watermark):
            if self._counts_rows:
                yield from self._counted(released)
                continue
            for part in self._portions(released):
                assert part.time is not None
                # The records to come are not earlier.
                yield Turn(part, int(part.time[-1]) - self._watermark.on_arrival)
                self._meter.add(part)
        if watermark is not None and not self._counts_rows:
            until = self._watermark.due()
            if self._watermark.passes_end(until):
                yield Turn(None, until)

    def state(self) -> dict[str, Any]:
        return self._reorder.state()

    def restore(self, state: dict[str, Any]) -> None:
        self._reorder.restore(state)

    def retype(self, state: dict[str, Any], roles: pa.Schema) -> None:
        retype_records(state, roles)

    def parts(self) -> list[AdmittedBatch]:
        return self._reorder.parts()


__all__ = ["ArrivalTurns", "TimeTurns", "Turn", "Turns", "retype_records"]
