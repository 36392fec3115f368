"""Several inputs of one query as one stream: ``FROM a, b, c`` with COMBINE.

A record takes its place at the largest event time that its own input has reached by then, itself
included. So the inputs interleave by event time, and a record is late in the merged stream exactly
if it is late within its own input: what stands before it has no later time than its input has seen.
Records that take no part (WHERE, values that are none) do not move the time of their input, as they
do not move a watermark. Places that are equal go by the order of the inputs.

Of each input one batch is held at a time, whatever its length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.errors import SourceError
from crestline.core.sentinels import LONG_AGO
from crestline.language import Expression, Query
from crestline.language.tokens import quoted_name
from crestline.runtime.fitting import bare_type, fit, is_number, read_texts, wider
from crestline.runtime.gate import REJECTS
from crestline.runtime.projection import closed_connection, compute, resolve
from crestline.sources import Source
from crestline.sources.horizon import NEVER, earliest_in
from crestline.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: The place of records before the first event time of their input.
_FIRST = np.iinfo(np.int64).min


def merged(query: Query, inputs: Mapping[str, Source]) -> Source:
    """The inputs of a query, by name, as one source with the ACROSS column and all columns that
    they share. It can be read once, and serves every query with the same ``merging_key``."""
    if query.window.on is None:
        raise SourceError(
            f"the inputs {', '.join(inputs)} have no event time to be put in order by: write"
            " [ROWS 1000 ON ts], or another window ON the column of the event time"
        )
    assert query.combine is not None
    across = query.combine.across
    there = {name: given for name, given in inputs.items() if given.schema.names}
    typed = all(given.typed for given in there.values())
    schemas = {name: given.schema for name, given in there.items()}
    shared = _Shared.of(schemas, across, typed, _needed(query))

    def read(columns: list[str]) -> Iterator[pa.Table]:
        chosen = [name for name in shared.schema.names if name in columns and name != across]
        clock = _Clock(query, shared.schema)
        wanted = list(dict.fromkeys([*chosen, *clock.columns]))
        inputs = [
            _Input(number, name, shared.batches(name, given, wanted, clock.time), clock)
            for number, (name, given) in enumerate(there.items())
        ]
        opened[:] = inputs
        names = pa.array(list(there), pa.string())
        for table, numbers in _interleaved(inputs):
            tags = pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), names)
            yield table.select(chosen).append_column(across, tags)

    opened: list[_Input] = []  # those that are read

    def horizons(column: str) -> Iterator[int]:
        while True:
            yield min((each.horizon for each in opened), default=LONG_AGO)

    def rejects() -> pa.Table:
        return pa.concat_tables([REJECTS.empty_table(), *(g.rejects() for g in there.values())])

    known = [given.rows for given in there.values()]
    rows = None if None in known else sum(count for count in known if count is not None)
    return Source(shared.schema, typed, read, rows, rejects, horizons)


def merging_key(query: Query) -> tuple[object, ...]:
    """Equal for queries that can share the read of their inputs: they put them in the same order,
    which depends on what they leave out. Empty for a query of one stream."""
    combine = query.combine
    if combine is None or not query.others:
        return ()
    named = (query.inputs, combine.across.casefold(), combine.object.casefold())
    return (*named, query.window.on, query.where, combine.value, combine.low, combine.high)


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
class _Shared:
    """The columns that all inputs have, in types that fit all of them, spelled as by the first."""

    schema: pa.Schema
    spelled: dict[str, dict[str, str]]

    @classmethod
    def of(
        cls, schemas: Mapping[str, pa.Schema], across: str, typed: bool, needed: set[str]
    ) -> _Shared:
        """``needed`` columns that are not shared are an error, others are left out."""
        spelled: dict[str, dict[str, str]] = {stream: {} for stream in schemas}
        fields = []
        for wanted in next(iter(schemas.values())).names if schemas else ():
            if wanted.casefold() == across.casefold():
                continue
            try:
                found = {s: resolve([wanted], schema, s)[wanted] for s, schema in schemas.items()}
                kinds = {s: schemas[s].field(name).type for s, name in found.items()}
                fields.append(pa.field(wanted, _common(wanted, kinds, typed)))
            except SourceError:
                if wanted.casefold() in needed:
                    raise
                continue
            for stream, name in found.items():
                spelled[stream][wanted] = name
        if schemas:
            fields.append(pa.field(across, pa.string()))
        return cls(pa.schema(fields), spelled)

    def batches(
        self, stream: str, given: Source, columns: list[str], time: str | None
    ) -> Iterator[tuple[pa.Table, int]]:
        """The batches of an input that are not empty, in the shared spelling and types; with each,
        before which time none is to come, if there is a column ``time``."""
        theirs = [self.spelled[stream][name] for name in columns]
        to_come = repeat(LONG_AGO) if time is None else given.horizons(self.spelled[stream][time])
        for batch in given.read(theirs):
            horizon = next(to_come)
            if batch.num_rows:
                names = zip(theirs, columns, strict=True)
                arrays = [self._cast(batch.column(their), name, stream) for their, name in names]
                yield pa.table(arrays, names=columns), horizon

    def _cast(self, values: pa.ChunkedArray, name: str, stream: str) -> pa.ChunkedArray:
        kind = self.schema.field(name).type
        if values.type == kind:
            return values
        if pa.types.is_timestamp(values.type) and values.type.unit == "ns":
            # Down to microseconds as the engine does it; Arrow would cut towards 1970.
            values = values.cast(pa.timestamp("ns", "UTC" if values.type.tz else None))
            values = pc.floor_temporal(values, unit="microsecond")
        fitting, unfit = fit(values, kind)
        if unfit is not None:
            value = values.filter(pa.array(unfit))[0]
            raise SourceError(
                f"stream {stream!r}: the column {name!r} does not fit the type {kind}, which the"
                f" inputs have in common: it holds {value}"
            )
        return fitting if fitting.type == kind else fitting.cast(kind)


def _common(name: str, kinds: Mapping[str, pa.DataType], typed: bool) -> pa.DataType:
    """A type for the values of all inputs; SourceError if there is none."""
    plain = {stream: bare_type(kind) for stream, kind in kinds.items()}
    distinct = list(dict.fromkeys(plain.values()))
    if len(distinct) == 1:
        return distinct[0]
    present = [kind for kind in distinct if not pa.types.is_null(kind)]
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in present):
        zoned = any(pa.types.is_timestamp(kind) and kind.tz for kind in present)
        return pa.timestamp("us", "UTC" if zoned else None)
    if all(is_number(kind) for kind in present):
        return reduce(wider, present)
    try:
        fields = [pa.schema([("x", kind)]) for kind in distinct]
        return pa.unify_schemas(fields, promote_options="permissive").field("x").type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Where types are only inferred, text is read record by record.
        if not typed and any(pa.types.is_string(kind) for kind in distinct):
            return pa.string()
    told = ", ".join(f"{kind} in {stream!r}" for stream, kind in plain.items())
    raise SourceError(
        f"the inputs do not agree on the type of the column {name!r}: it is {told}."
        " Give it the same type in all of them."
    )


# -- places -----------------------------------------------------------------------------------


class _Clock:
    """The event times of records, and which of them take part."""

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
        self._stream, self._across = query.stream, combine.across
        names = dict.fromkeys(name for expression in wanted.values() for name in expression.columns)
        self._names = resolve(list(names), schema, query.stream)
        self._plain = {role: e.column for role, e in wanted.items() if e.column is not None}
        computed = {role: e for role, e in wanted.items() if e.column is None}
        self._computed = {role: e.to("duckdb") for role, e in computed.items()}
        self._connection: DuckDBPyConnection | None = None

    @property
    def time(self) -> str | None:
        """The column of event times, if they are one."""
        return self._names[self._plain["time"]] if "time" in self._plain else None

    @property
    def columns(self) -> list[str]:
        """What has to be read of an input."""
        return [n for n in dict.fromkeys(self._names.values()) if n != self._across]

    def __call__(self, batch: pa.Table, stream: str) -> tuple[Ints, Bools]:
        """Times in a unit that is the same for all batches, and whether they count."""
        batch = tagged(batch, stream, self._across)
        columns = [batch.column(name) for name in self._names.values()]
        table = pa.table(columns, names=list(self._names))
        found = {role: table.column(name) for role, name in self._plain.items()}
        if self._computed:
            if self._connection is None:
                self._connection = closed_connection()
            found |= compute(self._connection, table, self._computed, self._stream)
        time = _read(found["time"], pa.timestamp("us", "UTC"))
        value = _read(found["value"], pa.float64())
        counts = _valid(time) & _valid(value) & _valid(found["object"])
        if "where" in found:
            counts &= found["where"].fill_null(False).to_numpy()
        counts &= self._within(value)
        return _integers(time), counts

    def _within(self, value: pa.ChunkedArray) -> Bools:
        numbers = _floats(value)
        sound = np.isfinite(numbers)
        if self._high is not None:
            sound &= (numbers >= self._low) & (numbers <= self._high)
        return sound


def _read(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Text as the gate reads it; anything else as it is."""
    if not pa.types.is_string(values.type):
        return values
    return read_texts(values, kind)


def _valid(values: pa.ChunkedArray) -> Bools:
    return np.asarray(values.is_valid().to_numpy())


def _floats(values: pa.ChunkedArray) -> Floats:
    return np.asarray(values.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy())


def _integers(times: pa.ChunkedArray) -> Ints:
    if pa.types.is_null(times.type):
        return np.zeros(len(times), np.int64)
    if pa.types.is_date32(times.type):
        times = times.cast(pa.int32())
    return np.asarray(times.cast(pa.int64()).fill_null(0).to_numpy())


# -- the merge --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Input:
    """An input, of which one batch is at hand with the places of its records, in rising order."""

    number: int
    stream: str
    batches: Iterator[tuple[pa.Table, int]]
    clock: _Clock
    table: pa.Table = field(default_factory=lambda: pa.table({}))
    places: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    reached: int = _FIRST
    horizon_after: int = LONG_AGO  # of the batches to come

    @property
    def horizon(self) -> int:
        """No record that is left is before this time."""
        if not len(self.places) or self.clock.time is None:
            return self.horizon_after
        return min(self.horizon_after, earliest_in(self.table.column(self.clock.time)))

    def fill(self) -> bool:
        """Have records at hand; false at the end."""
        if not len(self.places):
            found = next(self.batches, None)
            if found is None:
                self.horizon_after = NEVER
                return False
            batch, self.horizon_after = found
            times, counts = self.clock(batch, self.stream)
            times = np.where(counts, times, _FIRST)
            times[0] = max(times[0], self.reached)
            self.table, self.places = batch, np.maximum.accumulate(times)
            self.reached = int(self.places[-1])
        return True

    def take(self, count: int) -> tuple[pa.Table, Ints]:
        taken = self.table.slice(0, count), self.places[:count]
        self.table, self.places = self.table.slice(count), self.places[count:]
        return taken


def _interleaved(inputs: Sequence[_Input]) -> Iterator[tuple[pa.Table, Ints]]:
    """Tables of records in their order, with the numbers of their inputs.

    Nothing that is still to come can stand before the end of the batch that ends first, so all up
    to there is due. Of places equal to that end, those of later inputs wait.
    """
    left = [each for each in inputs if each.fill()]
    while left:
        ends = min(left, key=lambda each: (each.places[-1], each.number))
        last = ends.places[-1]
        tables, places, numbers = [], [], []
        for each in left:
            equal_too = each.number <= ends.number
            count = int(np.searchsorted(each.places, last, side="right" if equal_too else "left"))
            if count:
                table, found = each.take(count)
                tables.append(table)
                places.append(found)
                numbers.append(np.full(count, each.number, np.int64))
        together = pa.concat_tables(tables)
        if len(tables) == 1:
            yield together, numbers[0]
        else:
            order = np.argsort(np.concatenate(places), kind="stable")
            yield together.take(order), np.concatenate(numbers)[order]
        left = [each for each in left if each.fill()]


__all__ = ["merged", "merging_key", "tagged", "tagged_schema"]
