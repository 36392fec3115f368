"""Batches of a stream brought to the types of its columns, which widen as values show them.

A run knows a schema; a batch may differ from it. ``widened`` is the schema for both, ``conformed``
the batch in it, with the values that do not fit. See ``fitting`` for the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from crestline.language import Query
from crestline.runtime.fitting import bare_type, fit, is_number, is_text, wider
from crestline.runtime.projection import resolve
from crestline.runtime.roles import Role, role_expressions
from crestline.types import Bools, Ints

#: Roles in which a text means the number or the time that it spells.
_READ = (Role.TIME, Role.SCORE, Role.PROBABILITY)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Values of a column that do not fit its type: their records are to be set aside."""

    column: str
    which: Bools
    values: pa.ChunkedArray
    reason: str

    def take(self, places: Ints) -> Misfit:
        return Misfit(self.column, self.which[places], self.values.take(places), self.reason)


@dataclass(frozen=True, slots=True)
class Uses:
    """How queries use the columns of a stream, by the stream's names of them."""

    #: Read as a number or a time: there a text means what it spells.
    reading: frozenset[str]
    #: Event times that nothing else uses: what is finer than a microsecond never matters.
    only_times: frozenset[str]
    #: Objects of COMBINE, known to operators by keys made from their values.
    objects: frozenset[str]

    @classmethod
    def of(cls, queries: Iterable[Query], schema: pa.Schema) -> Uses:
        reading, times, other, objects = set(), set(), set(), set()
        for query in queries:
            for role, expression in role_expressions(query).items():
                names = set(resolve(list(expression.columns), schema, query.stream).values())
                if role == Role.OBJECT:
                    objects |= names
                if expression.column is not None and role in _READ:
                    reading |= names
                if role == Role.TIME:
                    times |= names
                else:
                    other |= names
        return cls(frozenset(reading), frozenset(times - other), frozenset(objects))


def settled(schema: pa.Schema, uses: Uses) -> pa.Schema:
    """The schema to begin with."""
    fields = [
        pa.field(field.name, _in_microseconds(field.type))
        if field.name in uses.only_times
        else field
        for field in schema
    ]
    return pa.schema(fields)


def widened(known: pa.Schema, given: pa.Schema, columns: Iterable[str], uses: Uses) -> pa.Schema:
    """The schema when a batch of another schema comes, as far as these columns go."""
    for name in columns:
        kind, place = known.field(name).type, given.get_field_index(name)
        if place < 0 or given.field(place).type == kind:
            continue
        other = given.field(place).type
        if name in uses.only_times:
            other = _in_microseconds(other)
        wide = wider(kind, other, name in uses.reading)
        if wide != kind and (name not in uses.objects or _same_keys(kind, wide)):
            known = known.set(known.get_field_index(name), pa.field(name, wide))
    return known


def _same_keys(known: pa.DataType, kind: pa.DataType) -> bool:
    whole = pa.types.is_signed_integer(known) and pa.types.is_signed_integer(kind)
    return bool(whole or pa.types.is_null(known))


def conformed(
    batch: pa.Table | pa.RecordBatch, schema: pa.Schema, columns: Iterable[str], uses: Uses
) -> tuple[pa.Table | pa.RecordBatch, list[Misfit]]:
    """The batch with these columns in the types of the schema, and what does not fit."""
    differing = [
        name
        for name in columns
        if name in batch.schema.names  # else the query will say so
        and bare_type(batch.schema.field(name).type) != bare_type(schema.field(name).type)
    ]
    if not differing:
        return batch, []
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    misfits = []
    for name in differing:
        place, kind = table.schema.get_field_index(name), schema.field(name).type
        values = column = table.column(place)
        if name in uses.only_times and pa.types.is_timestamp(column.type):
            column = _floored(column)
        column, unfit = fit(column, kind, name in uses.reading)
        table = table.set_column(place, pa.field(name, column.type), column)
        if unfit is not None:
            misfits.append(Misfit(name, unfit, values, misfit_reason(values.type, kind)))
    return table, misfits


def misfit_reason(given: pa.DataType, kind: pa.DataType) -> str:
    """Why a value of one type cannot stand in a column of the other."""
    kind = bare_type(kind)
    if is_text(given) and is_number(kind):
        return "not a number"
    if is_text(given) and pa.types.is_timestamp(kind):
        return "not a timestamp"
    return f"does not fit the type of the column, {kind}"


def _in_microseconds(kind: pa.DataType) -> pa.DataType:
    fine = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return pa.timestamp("us", kind.tz) if fine else kind


def _floored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nanoseconds down to microseconds; Arrow's cast would cut them towards 1970."""
    if column.type.unit != "ns":
        return column
    kind = _in_microseconds(column.type)
    instants = column.cast(pa.timestamp("ns", "UTC" if kind.tz else None))
    return pc.floor_temporal(instants, unit="microsecond").cast(kind)
