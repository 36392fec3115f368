"""One member's part in a task near the source: judge the records, keep those that can matter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crestline.core.distributed import Distributed
from crestline.core.sentinels import LONG_AGO
from crestline.core.tables import table_bytes
from crestline.core.window import counts_rows
from crestline.kernels.common.order import find_late, is_ascending
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.conforming import Misfit
from crestline.runtime.entrance import gate_for
from crestline.runtime.lateness import delay_of, reject_late
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Carried, Number, Role
from crestline.spark.spread import buckets_of, spread_by
from crestline.spark.stages.accounts import Chunk, SlideCounts, TaskAccount
from crestline.spark.stages.ledger import joined, slide_counts
from crestline.spark.stages.member import Member
from crestline.types import Ints


@dataclass(frozen=True)
class Reading:
    """How the records of a stream are judged."""

    #: The largest event time in all chunks before each chunk. With it, and with LATENESS, records
    #: are judged in their order of arrival. None: no record is late near the source.
    before: dict[int, int] | None = None
    #: Whether rejects are listed, not only counted.
    keep_rejects: bool = False
    #: Whether every record is sent on: they are replayed in their order of arrival.
    whole: bool = False


class Sieve:
    """Judges and gathers the records of one member in one task."""

    def __init__(self, member: Member, reading: Reading) -> None:
        query = member.query
        self.member, self._reading, self._query = member, reading, query
        self._rejects = Rejects(query, strict=False)
        self._gate = gate_for(member.plan, member.texts, self._rejects)
        # A value of an object can only be judged where all values of the object are together, and
        # of standing queries every record is an arrival.
        keeps_all = reading.whole or query.combine is not None or member.plan.standing is not None
        self._gatherer: Distributed[AdmittedBatch] | None = (
            None if keeps_all else member.gatherer(self._rejects)
        )
        self._everything: list[pa.Table] = []
        # A bounded run without LATENESS has no late record.
        self._judges = (
            reading.before is not None and query.lateness is not None and not reading.whole
        )
        panes = query.window.panes
        slides_in_time = not (panes.on_arrival or counts_rows(query.window))
        self._slide = panes.length * panes.slide if slides_in_time else None
        self._account = TaskAccount()
        self._chunks: dict[int, Chunk] = {}
        self._slides: list[SlideCounts] = []
        self._listed: list[pa.Table] = []
        #: The largest event time of all records that take part.
        self.latest = LONG_AGO

    @property
    def has_read(self) -> bool:
        """Whether there was a record, readable or not."""
        return bool(self._chunks)

    def add(self, number: int, columns: pa.Table, misfits: Sequence[Misfit] = ()) -> None:
        """Take the next records of a chunk, as columns by role. ``misfits`` are values that did not
        fit into their columns."""
        began = time.perf_counter()
        chunk = self._chunk(number)
        first_row = chunk.rows
        chunk.rows += columns.num_rows
        totals = self._account.totals
        totals.rows_in += columns.num_rows
        carried = pa.repeat(pa.scalar(number), columns.num_rows)
        columns = columns.append_column(Carried.CHUNK, carried)
        admitted, filtered = self._gate.admit(columns, first_row, misfits)
        totals.filtered += filtered
        if admitted.time is not None and len(admitted):
            admitted = self._watch_time(chunk, admitted, admitted.time)
        totals.admitted += len(admitted)
        if len(admitted):
            if self._gatherer is None:
                self._everything.append(_with_numbers(admitted, self._reading.whole))
            else:
                self._gatherer.fold(admitted)
        self._take_rejects(columns, number)
        self._account.seconds += time.perf_counter() - began

    def leave_out(self, number: int, rows: int) -> None:
        """Count the records of a chunk that WHERE leaves out, as is known without reading them."""
        self._chunk(number).rows += rows
        self._account.totals.rows_in += rows
        self._account.totals.filtered += rows

    def end_chunk(self, number: int, rejects: pa.Table, lines: int, stream: str) -> None:
        """Take the records of a chunk that could not be read, and the number of its lines."""
        if lines or rejects.num_rows:
            self._chunk(number).lines += lines
        self._rejects.add_table(rejects)
        taken = self._rejects.take()
        if self._reading.keep_rejects and taken.num_rows:
            # Their rows are counted by lines: see ``by_line``.
            self._listed.append(_of_chunk(taken, by_line(number), stream))

    def _chunk(self, number: int) -> Chunk:
        before = (self._reading.before or {}).get(number, LONG_AGO)
        return self._chunks.setdefault(number, Chunk(number, latest=before))

    def _watch_time(self, chunk: Chunk, admitted: AdmittedBatch, times: Ints) -> AdmittedBatch:
        """Note the event times of a chunk; return the records that are not late."""
        ascending = is_ascending(times)
        chunk.earliest = min(chunk.earliest, int(times[0] if ascending else times.min()))
        if ascending and times[0] >= chunk.latest - self._query.delay:
            chunk.latest = max(chunk.latest, int(times[-1]))
        else:
            before = chunk.latest
            late, count, latest = find_late(times, before, self._query.delay)
            chunk.latest = int(latest)
            chunk.out_of_order |= count > 0
            if count and self._judges:
                account = self._account
                account.totals.late += count
                needed = delay_of(times, late, before)
                account.lateness_needed = max(account.lateness_needed, needed)
                reject_late(self._rejects, admitted.take(np.flatnonzero(late)))
                admitted, times = admitted.take(np.flatnonzero(~late)), times[~late]
        if len(admitted):
            self.latest = max(self.latest, chunk.latest)
            if self._slide is not None:
                self._slides.append(slide_counts(times, self._slide, ascending))
        return admitted

    def _take_rejects(self, columns: pa.Table, chunk: int) -> None:
        rejects = self._rejects.take()
        if not self._reading.keep_rejects or rejects.num_rows == 0:
            return
        stream = self._query.stream
        if self._query.others:  # a chunk is of one of several inputs
            stream = columns.column(Role.STREAM)[0].as_py()
        self._listed.append(_of_chunk(rejects, chunk, stream))

    def by_bucket(self, buckets: int) -> dict[int, pa.Table]:
        """The records that can matter, for each bucket that has any."""
        began = time.perf_counter()
        tables = self._everything
        if self._gatherer is not None and self._account.totals.admitted:
            tables = [self._gatherer.gathered()]
        gathered = self._split(pa.concat_tables(tables), buckets) if tables else {}
        self._account.seconds += time.perf_counter() - began
        return gathered

    def _split(self, gathered: pa.Table, buckets: int) -> dict[int, pa.Table]:
        """The records of each bucket that has any. Buckets are computed only now: most records
        never need one."""
        if gathered.num_rows == 0:
            return {}
        if self.member.bucket is not None:
            return {self.member.bucket: gathered}
        by = spread_by(self.member.plan)
        numbers = buckets_of([gathered.column(role) for role in by], buckets)
        gathered = gathered.take(np.argsort(numbers, kind="stable"))  # of 16 bits: sorted by digits
        count = np.bincount(numbers, minlength=buckets)
        starts = np.cumsum(count) - count
        return {
            int(b): gathered.slice(int(starts[b]), int(count[b])) for b in np.flatnonzero(count > 0)
        }

    def account(self) -> TaskAccount:
        """What the ledger needs to know."""
        account = self._account
        account.rejected = self._rejects.counts
        account.chunks = list(self._chunks.values())
        account.slides = joined(self._slides) if self._slides else None
        account.rejects = table_bytes(pa.concat_tables(self._listed)) if self._listed else None
        return account


def by_line(chunk: int) -> int:
    """Marks the number of a chunk: rows are counted by the lines of its file.

    >>> by_line(7), by_line(by_line(7))
    (-8, 7)
    """
    return ~chunk


def _of_chunk(rejects: pa.Table, chunk: int, stream: str) -> pa.Table:
    count = rejects.num_rows
    rejects = rejects.set_column(0, "stream", pa.repeat(stream, count))
    return rejects.append_column(Carried.CHUNK, pa.array(np.full(count, chunk)))


def _with_numbers(admitted: AdmittedBatch, whole: bool) -> pa.Table:
    """The records with what the gate computed; columns that it has read stay only if ``whole``."""
    table = admitted.columns.append_column(Number.ROW, pa.array(np.asarray(admitted.rows)))
    table = table.append_column(Number.SCORE, pa.array(admitted.score))
    if admitted.time is not None:
        table = table.append_column(Number.TIME, pa.array(admitted.time))
    if admitted.probability is not None:
        table = table.append_column(Number.PROBABILITY, pa.array(admitted.probability))
    read = () if whole else (Role.WHERE, Role.TIME, Role.SCORE)
    return table.drop_columns([name for name in read if name in table.column_names])


__all__ = ["Reading", "Sieve", "by_line"]
