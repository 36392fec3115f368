"""The gate: which records take part, which are set aside and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core import sound
from crestline.core.errors import RecordError, SourceError
from crestline.core.window import TIME_LIMIT
from crestline.kernels.common.order import has_nan
from crestline.language import Query
from crestline.runtime.conforming import Misfit
from crestline.runtime.fitting import MOMENT, bare_type, fit, plain_type, read_texts
from crestline.runtime.roles import Role, role_expressions
from crestline.types import Bools, Floats, Ints

REJECTS = pa.schema(
    [
        ("stream", pa.string()),
        ("row", pa.int64()),
        ("column", pa.string()),
        ("reason", pa.string()),
        ("value", pa.string()),
    ]
)


@dataclass(slots=True)
class AdmittedBatch:
    """Records that take part, with what the engine computes on: scores (larger is better), event
    times in microseconds (none without event time) and probabilities (none of a certain stream),
    beside all the columns by role.

    ``rows`` are the records' numbers in the stream: a range as long as none was left out.
    """

    columns: pa.Table
    rows: Ints | range
    score: Floats
    time: Ints | None
    probability: Floats | None = None

    def __len__(self) -> int:
        return len(self.score)

    def rows_at(self, places: Ints) -> Ints:
        return self.rows.start + places if isinstance(self.rows, range) else self.rows[places]

    def take(self, places: Ints) -> AdmittedBatch:
        time = None if self.time is None else self.time[places]
        probability = None if self.probability is None else self.probability[places]
        columns = self.columns.take(places)
        return AdmittedBatch(columns, self.rows_at(places), self.score[places], time, probability)

    def slice(self, start: int, stop: int) -> AdmittedBatch:
        time = None if self.time is None else self.time[start:stop]
        probability = None if self.probability is None else self.probability[start:stop]
        columns = self.columns.slice(start, stop - start)
        return AdmittedBatch(
            columns, self.rows[start:stop], self.score[start:stop], time, probability
        )

    @classmethod
    def nothing(cls) -> AdmittedBatch:
        none = np.empty(0, np.int64)
        return cls(pa.table({}), none, np.empty(0), none)

    def plus(self, other: AdmittedBatch) -> AdmittedBatch:
        """These records and then the others."""
        return AdmittedBatch.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[AdmittedBatch]) -> AdmittedBatch:
        """The records of all parts (one at least), one after the other."""
        if len(parts) == 1:
            return parts[0]
        times = [part.time for part in parts if part.time is not None]
        chances = [part.probability for part in parts if part.probability is not None]
        return cls(
            pa.concat_tables([part.columns for part in parts], promote_options="permissive"),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate(times) if len(times) == len(parts) else None,
            np.concatenate(chances) if len(chances) == len(parts) else None,
        )

    def fits(self, roles: pa.Schema) -> bool:
        """Whether columns are of the types they have in such records, dictionaries aside."""
        return all(
            bare_type(field.type) == bare_type(roles.field(field.name).type)
            for field in self.columns.schema
            if field.name in roles.names
        )

    def state(self) -> dict[str, Any]:
        return {
            "columns": table_bytes(self.columns),
            "rows": np.asarray(self.rows, np.int64),
            "score": self.score,
            "time": self.time,
            "probability": self.probability,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> AdmittedBatch:
        columns = table_from(state["columns"])
        found = cls(columns, state["rows"], state["score"], state["time"], state.get("probability"))
        arrays = [found.rows, found.score, found.time, found.probability]
        sound.length("held records", *(a for a in arrays if a is not None), of=columns.num_rows)
        sound.like(found.score, np.empty(0), "held scores")
        for whole in (found.rows, found.time):
            if whole is not None:
                sound.like(whole, np.empty(0, np.int64), "held numbers")
        sound.moments("held times", *(a for a in (found.rows, found.time) if a is not None))
        return found


def table_bytes(table: pa.Table) -> bytes:
    """A table in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def table_from(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


class CandidateMisfit(SourceError):
    """A column cannot widen: a value that is kept would change."""


def retyped(table: pa.Table, types: pa.Schema) -> pa.Table:
    """The table with its columns in the types that have widened; KeptMisfit if a value does not
    fit."""
    for i, field in enumerate(table.schema):
        place = types.get_field_index(field.name)
        if place < 0 or types.field(place).type == field.type:
            continue
        column, unfit = fit(table.column(i), types.field(place).type, reading=True)
        if unfit is not None:
            raise CandidateMisfit(
                f"kept values of {field.name} do not fit {types.field(place).type}"
            )
        column = column.cast(plain_type(types.field(place).type))
        table = table.set_column(i, pa.field(field.name, column.type), column)
    return table


class Rejects:
    """Bad records with their reasons, until somebody takes them: the first ``limit`` of them (None:
    all). ``counts`` counts every one."""

    def __init__(self, query: Query, strict: bool, limit: int | None = None) -> None:
        self.query, self.strict, self.limit = query, strict, limit
        self.counts: dict[str, int] = {}
        self._parts: list[pa.Table] = []
        self._held = 0

    def mark(self) -> tuple[dict[str, int], list[pa.Table]]:
        """What to ``return_to`` if what is being looked at is refused as a whole."""
        return dict(self.counts), list(self._parts)

    def return_to(self, mark: tuple[dict[str, int], list[pa.Table]]) -> None:
        self.counts, self._parts = mark
        self._held = sum(part.num_rows for part in self._parts)

    def add(self, rows: Ints, role: str, reason: str, values: pa.Array | pa.ChunkedArray) -> None:
        """Set records aside because of the column that plays this role."""
        self.add_column(rows, role_expressions(self.query)[role].sql, reason, values)

    def add_column(
        self, rows: Ints, column: str, reason: str, values: pa.Array | pa.ChunkedArray
    ) -> None:
        if len(rows) == 0:
            return
        if self.strict and reason != "late":
            raise RecordError(self.query.stream, int(rows[0]), column, reason)
        self.add_table(
            pa.table(
                {
                    "stream": pa.repeat(self.query.stream, len(rows)),
                    "row": rows,
                    "column": pa.repeat(column, len(rows)),
                    "reason": pa.repeat(reason, len(rows)),
                    "value": _texts(values),
                },
                schema=REJECTS,
            )
        )

    def add_table(self, rejected: pa.Table) -> None:
        """Records that a source itself could not read."""
        if self.strict and rejected.num_rows:
            first = rejected.slice(0, 1).to_pylist()[0]
            bad = (first["stream"], first["row"], first["column"], first["reason"])
            if first["reason"] != "late":
                raise RecordError(*bad)
        for found in rejected.column("reason").value_counts().to_pylist():
            reason = found["values"]
            self.counts[reason] = self.counts.get(reason, 0) + found["counts"]
        if self.limit is not None:
            rejected = rejected.slice(0, max(0, self.limit - self._held))
        if rejected.num_rows:
            self._held += rejected.num_rows
            self._parts.append(rejected)

    def take(self) -> pa.Table:
        """What was added since the last call."""
        parts, self._parts, self._held = self._parts, [], 0
        return pa.concat_tables([REJECTS.empty_table(), *parts])


class Gate:
    """Turns projected columns into admitted records."""

    def __init__(self, query: Query, texts: frozenset[str], rejects: Rejects) -> None:
        self.texts, self.rejects = texts, rejects
        self._combine, self._streams = query.combine, query.known_streams
        self._descending = query.combine is not None or query.order_by[0].descending
        self._timed = query.window.on is not None
        self._uncertain = query.probability is not None
        where = () if query.where is None else query.where.columns
        self._where = frozenset(name.casefold() for name in where)

    def admit(
        self, columns: pa.Table, first_row: int, misfits: Sequence[Misfit] = ()
    ) -> tuple[AdmittedBatch, int]:
        """The records that pass WHERE and are sound; also how many WHERE left out. ``misfits`` are
        values that did not fit into their columns, which have NULL there."""
        rows: Ints | range = range(first_row, first_row + columns.num_rows)
        filtered = 0
        if Role.WHERE in columns.column_names:
            where = columns.column(Role.WHERE).cast(pa.bool_()).fill_null(False)
            passes = np.asarray(where.to_numpy())
            for misfit in misfits:  # what WHERE would say of it is not known
                if misfit.column.casefold() in self._where:
                    passes = passes | misfit.which
            chosen = np.flatnonzero(passes)
            filtered = len(rows) - len(chosen)
            columns, rows = columns.take(chosen), first_row + chosen
            misfits = [misfit.take(chosen) for misfit in misfits]
        bad: Bools | None = None
        for misfit in misfits:
            fresh = misfit.which if bad is None else misfit.which & ~bad
            values = misfit.values.filter(pa.array(fresh))
            self.rejects.add_column(np.asarray(rows)[fresh], misfit.column, misfit.reason, values)
            bad = misfit.which if bad is None else bad | misfit.which
        time: Ints | None = None
        if self._timed:
            time, bad = self._times(columns.column(Role.TIME), rows, bad)
        score, bad = self._scores(columns.column(Role.SCORE), rows, bad)
        if self._combine is not None:
            bad = self._sightings(columns, score, rows, bad)
        probability: Floats | None = None
        if self._uncertain:
            probability, bad = self._probabilities(columns.column(Role.PROBABILITY), rows, bad)
        admitted = AdmittedBatch(columns, rows, score, time, probability)
        return admitted if bad is None else admitted.take(np.flatnonzero(~bad)), filtered

    def _times(
        self, given: pa.ChunkedArray, rows: Ints | range, bad: Bools | None
    ) -> tuple[Ints, Bools | None]:
        column = self._read(Role.TIME, given, MOMENT)
        null = self._nulls(
            column, given, rows, Role.TIME, "event time is NULL", "not a timestamp", bad
        )
        if null is not None:
            bad = null if bad is None else bad | null
        times, beyond = _microseconds(column)
        if beyond is not None:
            reason = "event time is out of range"
            bad = self._refuse(beyond, rows, Role.TIME, reason, pa.table({Role.TIME: given}), bad)
        return times, bad

    def _scores(
        self, given: pa.ChunkedArray, rows: Ints | range, bad: Bools | None
    ) -> tuple[Floats, Bools | None]:
        """Scores, larger is better, and which records are bad by now."""
        what = "score" if self._combine is None else "value"
        score, bad = self._numbers(Role.SCORE, what, given, rows, bad)
        return score if self._descending else 0.0 - score, bad

    def _sightings(
        self, columns: pa.Table, value: Floats, rows: Ints | range, bad: Bools | None
    ) -> Bools | None:
        """Which observations are bad by now: of no object, on no stream, or out of range."""
        combine = self._combine
        assert combine is not None
        if combine.high is not None:
            outside = (value < combine.low) | (value > combine.high)
            bad = self._refuse(
                outside, rows, Role.SCORE, "value is outside its range", columns, bad
            )
        else:
            bad = self._refuse(np.isinf(value), rows, Role.SCORE, "value is infinite", columns, bad)
        for role, what in ((Role.OBJECT, "object"), (Role.STREAM, "stream")):
            if columns.column(role).null_count:
                null = np.asarray(columns.column(role).is_null().to_numpy())
                bad = self._refuse(null, rows, role, f"{what} is NULL", columns, bad)
        if self._streams is not None:
            names = stream_names(columns.column(Role.STREAM))
            among = pc.is_in(names, value_set=pa.array(self._streams, pa.string()))
            reason = "stream is not one of those declared"
            bad = self._refuse(
                ~np.asarray(among.to_numpy()), rows, Role.STREAM, reason, columns, bad
            )
        return bad

    def _refuse(
        self, which: Bools, rows: Ints | range, role: str, reason: str, columns: pa.Table,
        bad: Bools | None,
    ) -> Bools | None:  # fmt: skip
        """Set aside those that are not bad already; which are bad by now."""
        if not which.any():
            return bad
        fresh = which if bad is None else which & ~bad
        self._reject(fresh, rows, role, reason, columns.column(role))
        return which if bad is None else bad | which

    def _probabilities(
        self, given: pa.ChunkedArray, rows: Ints | range, bad: Bools | None
    ) -> tuple[Floats, Bools | None]:
        probability, bad = self._numbers(Role.PROBABILITY, "probability", given, rows, bad)
        outside = ~((probability > 0) & (probability <= 1))  # what is NULL or NaN is bad already
        reason = "probability is outside (0, 1]"
        return probability, self._refuse(
            outside, rows, Role.PROBABILITY, reason, pa.table({Role.PROBABILITY: given}), bad
        )

    def _numbers(
        self, role: str, what: str, given: pa.ChunkedArray, rows: Ints | range, bad: Bools | None
    ) -> tuple[Floats, Bools | None]:
        """The numbers of a column, and which records are bad by now."""
        column = self._read(role, given, pa.float64())
        null = self._nulls(column, given, rows, role, f"{what} is NULL", "not a number", bad)
        if null is not None:
            bad = null if bad is None else bad | null
        numbers = _floats(column)
        if has_nan(numbers):
            nan = np.isnan(numbers)
            fresh = nan if bad is None else nan & ~bad
            self._reject(fresh, rows, role, f"{what} is NaN", given)
            bad = nan if bad is None else bad | nan
        return numbers, bad

    def _read(self, role: str, given: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """Text as numbers or times, NULL where it is neither; anything else as it is."""
        if role not in self.texts:
            return given
        if pa.types.is_dictionary(given.type):
            given = given.cast(given.type.value_type)
        return read_texts(given, kind)

    def _nulls(
        self,
        column: pa.ChunkedArray,
        given: pa.ChunkedArray,
        rows: Ints | range,
        role: str,
        reason: str,
        unreadable: str,
        known: Bools | None = None,
    ) -> Bools | None:
        """Which values are missing, if any; those not ``known`` to be bad are set aside."""
        if column.null_count == 0:
            return None
        null = np.asarray(column.is_null().to_numpy())
        fresh = null if known is None else null & ~known
        missing = fresh & given.is_null().to_numpy()
        self._reject(missing, rows, role, reason, given)
        self._reject(fresh & ~missing, rows, role, unreadable, given)
        return null

    def _reject(
        self, which: Bools, rows: Ints | range, role: str, reason: str, values: pa.ChunkedArray
    ) -> None:
        numbers = np.asarray(rows)[which]
        self.rejects.add(numbers, role, reason, values.filter(pa.array(which)))


def stream_names(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names of streams, which a query writes as texts."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _floats(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        column = column.fill_null(np.nan)
    return np.asarray(column.to_numpy())


#: Microseconds of each unit of a timestamp but nanoseconds, of which a microsecond has 1,000.
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_DAY = 86_400_000_000


def _microseconds(column: pa.ChunkedArray) -> tuple[Ints, Bools | None]:
    """Event times since 1970, and which are beyond the range that windows are computed in, if
    any."""
    kind = column.type
    if pa.types.is_null(kind) or len(column) == 0:
        return np.zeros(len(column), np.int64), None
    if pa.types.is_date32(kind):
        column, factor = column.cast(pa.int32()), _DAY
    else:  # a date64 counts milliseconds
        factor = _MICROSECONDS.get("ms" if pa.types.is_date64(kind) else kind.unit, 0)
    numbers = column.cast(pa.int64())
    times = np.asarray((numbers.fill_null(0) if numbers.null_count else numbers).to_numpy())
    if not factor:
        times, factor = times // 1000, 1
    limit = TIME_LIMIT // factor
    if times.max() <= limit and times.min() >= -limit:
        return times if factor == 1 else times * factor, None
    beyond = (times > limit) | (times < -limit)
    return np.where(beyond, 0, times) * factor, beyond


def _texts(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    try:
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([_text(value) for value in values], pa.string())


def _text(scalar: pa.Scalar) -> str | None:
    try:
        return None if scalar.as_py() is None else str(scalar.as_py())
    except (ValueError, OverflowError):  # a time that Python has no word for
        return str(scalar)
