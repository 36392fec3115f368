"""One member's part in a task near the source: judge the records, keep those that can matter."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crestline.core.distributed import Distributed
from crestline.core.sentinels import LONG_AGO
from crestline.core.tables import REJECTS, table_bytes
from crestline.core.window import counts_rows
from crestline.kernels.common.order import find_late, is_ascending
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.gate import Gate
from crestline.runtime.lateness import delay_of, reject_late
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Carried, Number, Role
from crestline.spark.stages.accounts import Chunk, SlideCounts, TaskAccount
from crestline.spark.stages.ledger import joined, slide_counts
from crestline.spark.stages.member import Member
from crestline.types import Ints


@dataclass(frozen=True)
class Reading:
    """How the records of a frame are ordered and judged."""

    #: The column that orders the chunks of the stream. None: the number of the task does.
    chunk: str | None = None
    #: The largest event time in all chunks before each chunk. With it, and with LATENESS, records
    #: are judged in their order of arrival. None: no record is late near the source.
    before: dict[int, int] | None = None
    #: The columns (column, reason, value) in which a reader reports values that it could not read.
    bad: tuple[str, str, str] | None = None
    #: Whether rejects are listed, not only counted.
    keep_rejects: bool = False
    #: Whether every record is sent on: they are replayed in their order of arrival.
    whole: bool = False


class Sieve:
    """Judges and gathers the records of one member in one task."""

    def __init__(self, member: Member, reading: Reading) -> None:
        query = member.query
        self._member, self._reading, self._query = member, reading, query
        self._schema = member.schema
        self._rejects = Rejects(query, strict=False)
        self._gate = Gate(query, member.texts, self._rejects)
        # A value of an object can only be judged where all values of the object are together.
        keeps_all = reading.whole or query.combine is not None
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
    def rows_in(self) -> int:
        return self._account.totals.rows_in

    def add(self, number: int, table: pa.Table) -> None:
        """Take the next records of a chunk."""
        began = time.perf_counter()
        chunk = self._chunk(number)
        first_row = chunk.rows
        chunk.rows += table.num_rows
        totals = self._account.totals
        totals.rows_in += table.num_rows
        columns = self._role_columns(table, number)
        readable, indices = self._without_bad(columns, table, first_row)
        admitted, filtered = self._gate.admit(readable, first_row)
        if indices is not None:
            admitted.rows = first_row + indices[np.asarray(admitted.rows) - first_row]
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

    def _chunk(self, number: int) -> Chunk:
        before = (self._reading.before or {}).get(number, LONG_AGO)
        return self._chunks.setdefault(number, Chunk(number, latest=before))

    def _role_columns(self, table: pa.Table, chunk: int) -> pa.Table:
        """The columns by role, with the bucket and the chunk of each record."""
        arrays = [table.column(name) for name in self._member.columns.values()]
        columns = pa.table(arrays, names=list(self._member.columns)).cast(self._schema)
        if isinstance(self._member.bucket, str):
            bucket = table.column(self._member.bucket)
        else:
            bucket = pa.repeat(pa.scalar(self._member.bucket, pa.int32()), table.num_rows)
        columns = columns.append_column(Carried.BUCKET, bucket)
        return columns.append_column(Carried.CHUNK, pa.repeat(pa.scalar(chunk), table.num_rows))

    def _without_bad(
        self, columns: pa.Table, table: pa.Table, first_row: int
    ) -> tuple[pa.Table, Ints | None]:
        """Reject the records that the reader could not read; return the others and their indices,
        or None if there is no such reader."""
        if self._reading.bad is None:
            return columns, None
        column, reason, value = (table.column(name) for name in self._reading.bad)
        bad_mask = np.asarray(reason.is_valid().to_numpy())
        indices = np.flatnonzero(~bad_mask)
        if bad_mask.any():
            bad = np.flatnonzero(bad_mask)
            rejects = {
                "stream": pa.repeat(self._query.stream, len(bad)),
                "row": first_row + bad,
                "column": column.take(bad),
                "reason": reason.take(bad),
                "value": value.take(bad),
            }
            self._rejects.add_table(pa.table(rejects, schema=REJECTS))
            columns = columns.take(indices)
        return columns, indices

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
        count = rejects.num_rows
        if not self._reading.keep_rejects or count == 0:
            return
        rejects = rejects.append_column(Carried.CHUNK, pa.array(np.full(count, chunk)))
        if self._query.others:  # a task reads one of several inputs
            names = pa.repeat(columns.column(Role.STREAM)[0], count)
            rejects = rejects.set_column(0, "stream", names)
        self._listed.append(rejects)

    def by_bucket(self, buckets: int) -> dict[int, pa.Table]:
        """The records that can matter, for each bucket that has any."""
        began = time.perf_counter()
        tables = self._everything
        if self._gatherer is not None and self._account.totals.admitted:
            tables = [self._gatherer.gathered()]
        gathered = _split(pa.concat_tables(tables), self._member.bucket, buckets) if tables else {}
        self._account.seconds += time.perf_counter() - began
        return gathered

    def account(self) -> TaskAccount:
        """What the ledger needs to know."""
        account = self._account
        account.rejected = self._rejects.counts
        account.chunks = list(self._chunks.values())
        account.slides = joined(self._slides) if self._slides else None
        account.rejects = table_bytes(pa.concat_tables(self._listed)) if self._listed else None
        return account


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


def _split(gathered: pa.Table, bucket: str | int, buckets: int) -> dict[int, pa.Table]:
    """The records of each bucket that has any."""
    if gathered.num_rows == 0:
        return {}
    if isinstance(bucket, int):
        return {bucket: gathered.drop_columns([Carried.BUCKET])}
    numbers = np.asarray(gathered.column(Carried.BUCKET).to_numpy())
    gathered = gathered.drop_columns([Carried.BUCKET]).take(np.argsort(numbers, kind="stable"))
    count = np.bincount(numbers, minlength=buckets)
    starts = np.cumsum(count) - count
    return {
        int(b): gathered.slice(int(starts[b]), int(count[b])) for b in np.flatnonzero(count > 0)
    }


__all__ = ["Reading", "Sieve"]
