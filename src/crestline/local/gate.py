"""The gate: which records take part, which are set aside and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.errors import RecordError
from crestline.kernels.order import has_nan
from crestline.language import Query
from crestline.local.projection import roles
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
class Admitted:
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

    def take(self, places: Ints) -> Admitted:
        time = None if self.time is None else self.time[places]
        probability = None if self.probability is None else self.probability[places]
        columns = self.columns.take(places)
        return Admitted(columns, self.rows_at(places), self.score[places], time, probability)

    def slice(self, start: int, stop: int) -> Admitted:
        time = None if self.time is None else self.time[start:stop]
        probability = None if self.probability is None else self.probability[start:stop]
        columns = self.columns.slice(start, stop - start)
        return Admitted(columns, self.rows[start:stop], self.score[start:stop], time, probability)

    @classmethod
    def nothing(cls) -> Admitted:
        none = np.empty(0, np.int64)
        return cls(pa.table({}), none, np.empty(0), none)

    def plus(self, other: Admitted) -> Admitted:
        """These records and then the others."""
        time = None
        if self.time is not None and other.time is not None:
            time = np.concatenate((self.time, other.time))
        probability = None
        if self.probability is not None and other.probability is not None:
            probability = np.concatenate((self.probability, other.probability))
        return Admitted(
            pa.concat_tables([self.columns, other.columns], promote_options="permissive"),
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.score, other.score)),
            time,
            probability,
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
    def from_state(cls, state: dict[str, Any]) -> Admitted:
        columns = table_from(state["columns"])
        return cls(columns, state["rows"], state["score"], state["time"], state.get("probability"))


def table_bytes(table: pa.Table) -> bytes:
    """A table in Arrow's stream format."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


def table_from(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


class Rejects:
    """Bad records with their reasons, until somebody takes them."""

    def __init__(self, query: Query, strict: bool) -> None:
        self.query, self.strict = query, strict
        self.counts: dict[str, int] = {}
        self._parts: list[pa.Table] = []

    def add(self, rows: Ints, role: str, reason: str, values: pa.Array | pa.ChunkedArray) -> None:
        if len(rows) == 0:
            return
        column = roles(self.query)[role].sql
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
        self._parts.append(rejected)

    def take(self) -> pa.Table:
        """All that was added since the last call."""
        parts, self._parts = self._parts, []
        return pa.concat_tables([REJECTS.empty_table(), *parts])


class Gate:
    """Turns projected columns into admitted records."""

    def __init__(self, query: Query, texts: frozenset[str], rejects: Rejects) -> None:
        self.texts, self.rejects = texts, rejects
        self._combine, self._streams = query.combine, query.known_streams
        self._descending = query.combine is not None or query.order_by[0].descending
        self._timed = query.window.on is not None
        self._uncertain = query.probability is not None

    def admit(self, columns: pa.Table, first_row: int) -> tuple[Admitted, int]:
        """The records that pass WHERE and are sound; also how many WHERE left out."""
        rows: Ints | range = range(first_row, first_row + columns.num_rows)
        filtered = 0
        if "where" in columns.column_names:
            passes = columns.column("where").fill_null(False)
            chosen = np.flatnonzero(passes.to_numpy())
            filtered = len(rows) - len(chosen)
            columns, rows = columns.take(chosen), first_row + chosen
        time: Ints | None = None
        bad: Bools | None = None
        if self._timed:
            time, bad = self._times(columns.column("time"), rows)
        score, bad = self._scores(columns.column("score"), rows, bad)
        if self._combine is not None:
            bad = self._sightings(columns, score, rows, bad)
        probability: Floats | None = None
        if self._uncertain:
            probability, bad = self._probabilities(columns.column("u"), rows, bad)
        admitted = Admitted(columns, rows, score, time, probability)
        return admitted if bad is None else admitted.take(np.flatnonzero(~bad)), filtered

    def _times(self, given: pa.ChunkedArray, rows: Ints | range) -> tuple[Ints, Bools | None]:
        column = self._read("time", given, pa.timestamp("us", "UTC"))
        bad = self._nulls(column, given, rows, "time", "event time is NULL", "not a timestamp")
        return _microseconds(column), bad

    def _scores(
        self, given: pa.ChunkedArray, rows: Ints | range, bad: Bools | None
    ) -> tuple[Floats, Bools | None]:
        """Scores, larger is better, and which records are bad by now."""
        what = "score" if self._combine is None else "value"
        score, bad = self._numbers("score", what, given, rows, bad)
        return score if self._descending else 0.0 - score, bad

    def _sightings(
        self, columns: pa.Table, value: Floats, rows: Ints | range, bad: Bools | None
    ) -> Bools | None:
        """Which observations are bad by now: of no object, on no stream, or out of range."""
        combine = self._combine
        assert combine is not None
        if combine.high is not None:
            outside = (value < combine.low) | (value > combine.high)
            bad = self._refuse(outside, rows, "score", "value is outside its range", columns, bad)
        else:
            bad = self._refuse(np.isinf(value), rows, "score", "value is infinite", columns, bad)
        for role, what in (("o", "object"), ("s", "stream")):
            if columns.column(role).null_count:
                null = np.asarray(columns.column(role).is_null().to_numpy())
                bad = self._refuse(null, rows, role, f"{what} is NULL", columns, bad)
        if self._streams is not None:
            names = stream_names(columns.column("s"))
            among = pc.is_in(names, value_set=pa.array(self._streams, pa.string()))
            reason = "stream is not one of those declared"
            bad = self._refuse(~np.asarray(among.to_numpy()), rows, "s", reason, columns, bad)
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
        probability, bad = self._numbers("u", "probability", given, rows, bad)
        outside = ~((probability > 0) & (probability <= 1))  # what is NULL or NaN is bad already
        reason = "probability is outside (0, 1]"
        return probability, self._refuse(outside, rows, "u", reason, pa.table({"u": given}), bad)

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
        values = [read_text(value, kind) for value in given.to_pylist()]
        return pa.chunked_array([pa.array(values, kind)])

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


def read_text(text: str | None, kind: pa.DataType) -> object:
    """A number or a timestamp from text, or None."""
    if text is None:
        return None
    try:
        if pa.types.is_floating(kind):
            # Python also reads 1_000 as a number; no data file means that.
            return None if "_" in text else float(text)
        return pc.cast(pa.scalar(_zoned(text.strip())), kind).as_py()
    except (ValueError, pa.ArrowInvalid):
        return None


def _zoned(text: str) -> str:
    """Timestamps without a zone are UTC; Arrow's parser wants them to say so."""
    tail = text[10:]
    return text if "Z" in tail or "+" in tail or "-" in tail or len(text) <= 10 else text + "Z"


def _floats(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        column = column.fill_null(np.nan)
    return np.asarray(column.to_numpy())


def _microseconds(column: pa.ChunkedArray) -> Ints:
    kind = column.type
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.int64)
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("us"))
    elif kind.unit == "ns":
        floored = np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy()) // 1000
        return np.asarray(floored)
    elif kind.unit != "us":
        column = column.cast(pa.timestamp("us", kind.tz))
    numbers = column.cast(pa.int64())
    return np.asarray((numbers.fill_null(0) if numbers.null_count else numbers).to_numpy())


def _texts(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    try:
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
