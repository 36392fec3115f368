"""The gate: which records take part in a query, which are rejected, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.order import oriented
from crestline.core.tables import decoded
from crestline.core.window import TIME_LIMIT
from crestline.kernels.common.order import has_nan
from crestline.language import Query
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.columns import as_floats
from crestline.runtime.conforming import Misfit
from crestline.runtime.fitting import MOMENT, read_texts
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Role
from crestline.types import Bools, Floats, Ints

#: Microseconds of each unit of a timestamp but nanoseconds, of which a microsecond has 1,000.
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000


class Gate:
    """Turns projected columns into admitted records."""

    def __init__(self, query: Query, texts: frozenset[str], rejects: Rejects) -> None:
        self._texts, self._rejects = texts, rejects
        self._combine, self._streams = query.combine, query.known_streams
        self._descending = query.descending
        self._timed = query.window.on is not None
        self._uncertain = query.probability is not None
        where = () if query.where is None else query.where.columns
        self._where = frozenset(name.casefold() for name in where)

    def admit(
        self, columns: pa.Table, first_row: int, misfits: Sequence[Misfit] = ()
    ) -> tuple[AdmittedBatch, int]:
        """The records that pass WHERE and all checks, and how many records WHERE left out.

        ``misfits`` are values that did not fit into their columns, which have NULL there.
        """
        rows: Ints | range = range(first_row, first_row + columns.num_rows)
        filtered = 0
        if Role.WHERE in columns.column_names:
            indices = self._passing(columns.column(Role.WHERE), misfits)
            filtered = len(rows) - len(indices)
            columns, rows = columns.take(indices), first_row + indices
            misfits = [misfit.take(indices) for misfit in misfits]
        checks = Checks(rows, self._rejects)
        for misfit in misfits:
            checks.reject_column(misfit.which, misfit.column, misfit.reason, misfit.values)
        time = self._times(columns.column(Role.TIME), checks) if self._timed else None
        score = self._scores(columns, checks)
        if self._combine is not None:
            self._check_observations(columns, score, checks)
        probability = None
        if self._uncertain:
            probability = self._probabilities(columns.column(Role.PROBABILITY), checks)
        admitted = AdmittedBatch(columns, rows, score, time, probability)
        if checks.failed is not None:
            admitted = admitted.take(np.flatnonzero(~checks.failed))
        return admitted, filtered

    def _passing(self, where: pa.ChunkedArray, misfits: Sequence[Misfit]) -> Ints:
        """The indices of records that pass WHERE, or whose value for WHERE is not known."""
        passes = np.asarray(where.cast(pa.bool_()).fill_null(False).to_numpy())
        for misfit in misfits:
            if misfit.column.casefold() in self._where:
                passes = passes | misfit.which
        return np.flatnonzero(passes)

    def _times(self, column: pa.ChunkedArray, checks: Checks) -> Ints:
        """Event times in microseconds."""
        read = self._read(Role.TIME, column, MOMENT)
        checks.reject_nulls(read, column, Role.TIME, "event time is NULL", "not a timestamp")
        times, beyond = _microseconds(read)
        if beyond is not None:
            checks.reject(beyond, Role.TIME, "event time is out of range", column)
        return times

    def _scores(self, columns: pa.Table, checks: Checks) -> Floats:
        """Scores: larger is better."""
        noun = "score" if self._combine is None else "value"
        score = self._numbers(Role.SCORE, noun, columns.column(Role.SCORE), checks)
        return oriented(score, self._descending)

    def _check_observations(self, columns: pa.Table, value: Floats, checks: Checks) -> None:
        """Reject observations of no object, on no stream, or out of range."""
        assert self._combine is not None
        values = columns.column(Role.SCORE)
        if self._combine.high is not None:
            outside = (value < self._combine.low) | (value > self._combine.high)
            checks.reject(outside, Role.SCORE, "value is outside its range", values)
        else:
            checks.reject(np.isinf(value), Role.SCORE, "value is infinite", values)
        streams = columns.column(Role.STREAM)
        for role, noun in ((Role.OBJECT, "object"), (Role.STREAM, "stream")):
            column = columns.column(role)
            if column.null_count:
                checks.reject(np.asarray(column.is_null()), role, f"{noun} is NULL", column)
        if self._streams is not None:
            declared = pa.array(self._streams, pa.string())
            declared_mask = np.asarray(pc.is_in(stream_names(streams), value_set=declared))
            reason = "stream is not one of those declared"
            checks.reject(~declared_mask, Role.STREAM, reason, streams)

    def _probabilities(self, column: pa.ChunkedArray, checks: Checks) -> Floats:
        probability = self._numbers(Role.PROBABILITY, "probability", column, checks)
        outside = ~((probability > 0) & (probability <= 1))  # also true of NULL and NaN
        checks.reject(outside, Role.PROBABILITY, "probability is outside (0, 1]", column)
        return probability

    def _numbers(self, role: str, noun: str, column: pa.ChunkedArray, checks: Checks) -> Floats:
        read = self._read(role, column, pa.float64())
        checks.reject_nulls(read, column, role, f"{noun} is NULL", "not a number")
        numbers = as_floats(read)
        if has_nan(numbers):
            checks.reject(np.isnan(numbers), role, f"{noun} is NaN", column)
        return numbers

    def _read(self, role: str, column: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
        """Texts as numbers or times, NULL where a text is neither; other columns as they are."""
        return read_texts(decoded(column), dtype) if role in self._texts else column


class Checks:
    """The records of one batch that have failed a check so far."""

    def __init__(self, rows: Ints | range, rejects: Rejects) -> None:
        self.rows, self._rejects = rows, rejects
        #: None as long as no record has failed.
        self.failed: Bools | None = None

    def reject(self, fails: Bools, role: str, reason: str, values: pa.ChunkedArray) -> None:
        """Reject the records that newly fail, because of the column that plays this role."""
        if fails.any():
            self.reject_column(fails, self._rejects.column_of(role), reason, values)

    def reject_column(
        self, fails: Bools, column: str, reason: str, values: pa.ChunkedArray
    ) -> None:
        """Reject the records that newly fail, because of a column of the stream."""
        new = fails if self.failed is None else fails & ~self.failed
        if fails.any():
            self.failed = fails if self.failed is None else self.failed | fails
        if new.any():
            rows = np.asarray(self.rows)[new]
            self._rejects.add_column(rows, column, reason, values.filter(pa.array(new)))

    def reject_nulls(
        self, read: pa.ChunkedArray, column: pa.ChunkedArray, role: str, missing: str, unread: str
    ) -> None:
        """Reject NULLs as ``missing``, and values that become NULL when read as ``unread``."""
        if read.null_count:
            null = np.asarray(read.is_null().to_numpy())
            self.reject(null & column.is_null().to_numpy(), role, missing, column)
            self.reject(null, role, unread, column)


def stream_names(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names of streams, which a query writes as texts."""
    column = decoded(column)
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _microseconds(column: pa.ChunkedArray) -> tuple[Ints, Bools | None]:
    """Event times since 1970; which are beyond the range that windows are computed in, if any."""
    dtype = column.type
    if pa.types.is_null(dtype) or len(column) == 0:
        return np.zeros(len(column), np.int64), None
    if pa.types.is_date32(dtype):
        column, factor = column.cast(pa.int32()), _DAY
    else:  # a date64 counts milliseconds
        factor = _MICROSECONDS.get("ms" if pa.types.is_date64(dtype) else dtype.unit, 0)
    integers = column.cast(pa.int64())
    times = np.asarray((integers.fill_null(0) if integers.null_count else integers).to_numpy())
    if not factor:
        times, factor = times // 1000, 1
    limit = TIME_LIMIT // factor
    if times.max() <= limit and times.min() >= -limit:
        return times if factor == 1 else times * factor, None
    beyond = (times > limit) | (times < -limit)
    return np.where(beyond, 0, times) * factor, beyond
