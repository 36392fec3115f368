"""Several inputs of one query as one stream: ``FROM a, b, c`` with COMBINE.

The position of a record is the largest event time that its own input has reached, the record
included. So the inputs interleave by event time, and a record is late in the merged stream exactly
if it is late within its own input: no record before it has a later time than its input has reached.
Records that take no part (WHERE, bad values) do not advance the time of their input, as they do not
advance a watermark. Records of equal positions are in the order of the inputs.

One batch of each input is held at a time, whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import repeat

import numpy as np
import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.core.sentinels import LONG_AGO, NEVER
from crestline.core.tables import REJECTS
from crestline.language import Expression, Query
from crestline.language.tokens import quoted_name
from crestline.runtime.columns import as_floats, floored
from crestline.runtime.fitting import bare_type, fit, is_number, read_texts, wider
from crestline.runtime.projection import resolve
from crestline.runtime.sql import Evaluator
from crestline.sources import Source
from crestline.sources.horizon import earliest_in
from crestline.types import Bools, Ints

#: The position of records before the first event time of their input.
_FIRST = np.iinfo(np.int64).min


def merged(query: Query, inputs: Mapping[str, Source]) -> Source:
    """The inputs of a query, by name, as one source: the columns that they share and the ACROSS
    column. It can be read once, for all queries with the same ``merging_key``."""
    if query.window.on is None:
        raise SourceError(
            f"the inputs {', '.join(inputs)} have no event time to be put in order by: write"
            " [ROWS 1000 ON ts], or another window ON the column of the event time"
        )
    assert query.combine is not None
    across = query.combine.across
    sources = {name: opened for name, opened in inputs.items() if opened.schema.names}
    typed = all(opened.typed for opened in sources.values())
    shared = shared_columns(query, sources)

    def read(columns: list[str]) -> Iterator[pa.Table]:
        chosen = [name for name in shared.schema.names if name in columns and name != across]
        times = _EventTimes(query, shared.schema)
        wanted = list(dict.fromkeys([*chosen, *times.columns]))
        inputs = [
            _Input(number, name, shared.batches(name, opened, wanted, times.time), times)
            for number, (name, opened) in enumerate(sources.items())
        ]
        reading[:] = inputs
        names = pa.array(list(sources), pa.string())
        for table, numbers in _interleaved(inputs):
            tags = pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), names)
            yield table.select(chosen).append_column(across, tags)

    reading: list[_Input] = []  # set by ``read``

    def horizons(column: str) -> Iterator[int]:
        while True:
            yield min((each.horizon for each in reading), default=LONG_AGO)

    def rejects() -> pa.Table:
        return pa.concat_tables([REJECTS.empty_table(), *(g.rejects() for g in sources.values())])

    counts = [opened.rows for opened in sources.values()]
    rows = None if None in counts else sum(count for count in counts if count is not None)
    return Source(shared.schema, typed, read, rows, rejects, horizons)


def shared_columns(query: Query, inputs: Mapping[str, Source]) -> SharedColumns:
    """The columns that the inputs of a query share."""
    assert query.combine is not None
    schemas = {name: opened.schema for name, opened in inputs.items()}
    typed = all(opened.typed for opened in inputs.values())
    return SharedColumns.of(schemas, query.combine.across, typed, _needed(query))


def merging_key(query: Query) -> tuple[object, ...]:
    """Equal for queries that can share the read of their inputs. They merge them in the same order,
    which depends on the records that they leave out. Empty for a query of one stream."""
    combine = query.combine
    if combine is None or not query.others:
        return ()
    names = (query.inputs, combine.across.casefold(), combine.object.casefold())
    return (*names, query.window.on, query.where, combine.value, combine.low, combine.high)


def tagged_schema(schema: pa.Schema, across: str) -> pa.Schema:
    """The schema of one input, with the ACROSS column; a column of that name is lost."""
    fields = [field for field in schema if field.name.casefold() != across.casefold()]
    return pa.schema([*fields, pa.field(across, pa.string())])


def tagged(batch: pa.Table | pa.RecordBatch, stream: str, across: str) -> pa.Table:
    """The batch of one input, with its name in the ACROSS column."""
    names = [name for name in batch.schema.names if name.casefold() != across.casefold()]
    tags = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(batch.num_rows, np.int32)), pa.array([stream], pa.string())
    )
    columns = [*(batch.column(name) for name in names), tags]
    return pa.table(columns, names=[*names, across])


# -- columns ----------------------------------------------------------------------------------


def _needed(query: Query) -> set[str]:
    """The columns that a query reads of its inputs, in lower case."""
    assert query.combine is not None and query.window.on is not None
    expressions = [Expression(query.window.on), query.combine.value]
    expressions += [item.expression for item in (*query.select, *query.partition_by)]
    if query.where is not None:
        expressions.append(query.where)
    names = {query.combine.object, *(name for each in expressions for name in each.columns)}
    return {name.casefold() for name in names} - {query.combine.across.casefold()}


@dataclass(slots=True)
class SharedColumns:
    """The columns that all inputs have, in types that fit all, spelled as in the first input."""

    schema: pa.Schema
    spelled: dict[str, dict[str, str]]

    @classmethod
    def of(
        cls, schemas: Mapping[str, pa.Schema], across: str, typed: bool, needed: set[str]
    ) -> SharedColumns:
        """Columns that are not shared are left out, or raise SourceError if they are ``needed``."""
        spelled: dict[str, dict[str, str]] = {stream: {} for stream in schemas}
        fields = []
        for wanted in next(iter(schemas.values())).names if schemas else ():
            if wanted.casefold() == across.casefold():
                continue
            try:
                names = {s: resolve([wanted], schema, s)[wanted] for s, schema in schemas.items()}
                dtypes = {s: schemas[s].field(name).type for s, name in names.items()}
                fields.append(pa.field(wanted, _common(wanted, dtypes, typed)))
            except SourceError:
                if wanted.casefold() in needed:
                    raise
                continue
            for stream, name in names.items():
                spelled[stream][wanted] = name
        if schemas:
            fields.append(pa.field(across, pa.string()))
        return cls(pa.schema(fields), spelled)

    def batches(
        self, stream: str, opened: Source, columns: list[str], time: str | None
    ) -> Iterator[tuple[pa.Table, int]]:
        """The batches of an input that are not empty, in the shared spelling and types, each with
        its horizon, if there is a column ``time``."""
        spelled = [self.spelled[stream][name] for name in columns]
        to_come = repeat(LONG_AGO) if time is None else opened.horizons(self.spelled[stream][time])
        for batch in opened.read(spelled):
            horizon = next(to_come)
            if batch.num_rows:
                yield self.conformed(stream, batch, columns), horizon

    def conformed(
        self, stream: str, batch: pa.Table | pa.RecordBatch, columns: Sequence[str]
    ) -> pa.Table:
        """The columns of a batch of one input, in the shared spelling and types."""
        names = self.spelled[stream]
        arrays = [self._cast(_whole(batch.column(names[n])), n, stream) for n in columns]
        return pa.table(arrays, names=columns)

    def _cast(self, values: pa.ChunkedArray, name: str, stream: str) -> pa.ChunkedArray:
        dtype = self.schema.field(name).type
        if values.type == dtype:
            return values
        fitting, unfit = fit(floored(values), dtype)
        if unfit is not None:
            value = values.filter(pa.array(unfit))[0]
            raise SourceError(
                f"stream {stream!r}: the column {name!r} does not fit the type {dtype}, which the"
                f" inputs have in common: it holds {value}"
            )
        return fitting if fitting.type == dtype else fitting.cast(dtype)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([column]) if isinstance(column, pa.Array) else column


def _common(name: str, dtypes: Mapping[str, pa.DataType], typed: bool) -> pa.DataType:
    """A type for the values of all inputs; SourceError if there is none."""
    plain = {stream: bare_type(dtype) for stream, dtype in dtypes.items()}
    distinct = list(dict.fromkeys(plain.values()))
    if len(distinct) == 1:
        return distinct[0]
    present = [dtype for dtype in distinct if not pa.types.is_null(dtype)]
    if all(pa.types.is_timestamp(dtype) or pa.types.is_date(dtype) for dtype in present):
        zoned = any(pa.types.is_timestamp(dtype) and dtype.tz for dtype in present)
        return pa.timestamp("us", "UTC" if zoned else None)
    if all(is_number(dtype) for dtype in present):
        return reduce(wider, present)
    try:
        fields = [pa.schema([("x", dtype)]) for dtype in distinct]
        return pa.unify_schemas(fields, promote_options="permissive").field("x").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Where types are only inferred, text is read record by record.
        if not typed and any(pa.types.is_string(dtype) for dtype in distinct):
            return pa.string()
    differing = ", ".join(f"{dtype} in {stream!r}" for stream, dtype in plain.items())
    raise SourceError(
        f"the inputs do not agree on the type of the column {name!r}: it is {differing}."
        " Give it the same type in all of them."
    )


# -- positions --------------------------------------------------------------------------------


class _EventTimes:
    """The event times of records, and which records take part."""

    def __init__(self, query: Query, schema: pa.Schema) -> None:
        combine = query.combine
        assert combine is not None and query.window.on is not None
        wanted = {
            "time": Expression(query.window.on),
            "value": combine.value,
            "object": Expression(quoted_name(combine.object)),
        }
        if query.where is not None:
            wanted["where"] = query.where
        self._low, self._high = combine.low, combine.high
        self._across = combine.across
        names = dict.fromkeys(name for expression in wanted.values() for name in expression.columns)
        self._names = resolve(list(names), schema, query.stream)
        self._plain = {role: e.column for role, e in wanted.items() if e.column is not None}
        computed = {role: e for role, e in wanted.items() if e.column is None}
        self._computed = {role: e.to("duckdb") for role, e in computed.items()}
        self._evaluate = Evaluator(query.stream)

    @property
    def time(self) -> str | None:
        """The column of event times, if they are a plain column."""
        return self._names[self._plain["time"]] if "time" in self._plain else None

    @property
    def columns(self) -> list[str]:
        """The columns to read of an input."""
        return [n for n in dict.fromkeys(self._names.values()) if n != self._across]

    def __call__(self, batch: pa.Table, stream: str) -> tuple[Ints, Bools]:
        """Event times, in one unit for all batches, and which records take part."""
        batch = tagged(batch, stream, self._across)
        columns = [batch.column(name) for name in self._names.values()]
        table = pa.table(columns, names=list(self._names))
        values = {role: table.column(name) for role, name in self._plain.items()}
        values |= self._evaluate(table, self._computed)
        time = _read(values["time"], pa.timestamp("us", "UTC"))
        value = _read(values["value"], pa.float64())
        takes_part = _valid(time) & _valid(value) & _valid(values["object"]) & self._within(value)
        if "where" in values:
            takes_part &= values["where"].fill_null(False).to_numpy()
        return _integers(time), takes_part

    def _within(self, value: pa.ChunkedArray) -> Bools:
        numbers = as_floats(value)
        within = np.isfinite(numbers)
        if self._high is not None:
            within &= (numbers >= self._low) & (numbers <= self._high)
        return within


def _read(values: pa.ChunkedArray, dtype: pa.DataType) -> pa.ChunkedArray:
    """Texts as the gate reads them; other columns as they are."""
    if not pa.types.is_string(values.type):
        return values
    return read_texts(values, dtype)


def _valid(values: pa.ChunkedArray) -> Bools:
    return np.asarray(values.is_valid().to_numpy())


def _integers(times: pa.ChunkedArray) -> Ints:
    if pa.types.is_null(times.type):
        return np.zeros(len(times), np.int64)
    if pa.types.is_date32(times.type):
        times = times.cast(pa.int32())
    return np.asarray(times.cast(pa.int64()).fill_null(0).to_numpy())


# -- the merge --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Input:
    """An input, with one batch and the positions of its records, ascending."""

    number: int
    stream: str
    batches: Iterator[tuple[pa.Table, int]]
    event_times: _EventTimes
    table: pa.Table = field(default_factory=lambda: pa.table({}))
    positions: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    reached: int = _FIRST
    horizon_after: int = LONG_AGO  # after this batch

    @property
    def horizon(self) -> int:
        """No record that is left has an earlier time."""
        if not len(self.positions) or self.event_times.time is None:
            return self.horizon_after
        return min(self.horizon_after, earliest_in(self.table.column(self.event_times.time)))

    def fill(self) -> bool:
        """Read the next batch if this one is used up; return False at the end."""
        if not len(self.positions):
            following = next(self.batches, None)
            if following is None:
                self.horizon_after = NEVER
                return False
            batch, self.horizon_after = following
            times, takes_part = self.event_times(batch, self.stream)
            times = np.where(takes_part, times, _FIRST)
            times[0] = max(times[0], self.reached)
            self.table, self.positions = batch, np.maximum.accumulate(times)
            self.reached = int(self.positions[-1])
        return True

    def take(self, count: int) -> tuple[pa.Table, Ints]:
        taken = self.table.slice(0, count), self.positions[:count]
        self.table, self.positions = self.table.slice(count), self.positions[count:]
        return taken


def _interleaved(inputs: Sequence[_Input]) -> Iterator[tuple[pa.Table, Ints]]:
    """Tables of records in their order, with the numbers of their inputs.

    No later record can be before the end of the batch that ends first, so all records up to there
    are due. Of records at exactly that end, those of later inputs wait.
    """
    left = [each for each in inputs if each.fill()]
    while left:
        ends = min(left, key=lambda each: (each.positions[-1], each.number))
        last = ends.positions[-1]
        tables, positions, numbers = [], [], []
        for each in left:
            equal_too = each.number <= ends.number
            count = int(
                np.searchsorted(each.positions, last, side="right" if equal_too else "left")
            )
            if count:
                table, part = each.take(count)
                tables.append(table)
                positions.append(part)
                numbers.append(np.full(count, each.number, np.int64))
        together = pa.concat_tables(tables)
        if len(tables) == 1:
            yield together, numbers[0]
        else:
            order = np.argsort(np.concatenate(positions), kind="stable")
            yield together.take(order), np.concatenate(numbers)[order]
        left = [each for each in left if each.fill()]


__all__ = [
    "SharedColumns", "merged", "merging_key", "shared_columns", "tagged", "tagged_schema",
]  # fmt: skip
