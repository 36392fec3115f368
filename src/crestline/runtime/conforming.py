"""Batches in the types of their stream's columns, which widen when a batch needs it.

A batch may differ from the schema of its run. ``widened`` is the schema for both, ``conformed`` the
batch in that schema, with the values that do not fit. ``fitting`` has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from crestline.language import Query
from crestline.runtime.columns import floored, floored_type
from crestline.runtime.fitting import bare_type, fit, is_number, is_text, wider
from crestline.runtime.projection import resolve
from crestline.runtime.roles import Role, role_expressions
from crestline.types import Bools, Ints

#: Roles in which a text means the number or the time that it spells.
_READ = (Role.TIME, Role.SCORE, Role.PROBABILITY)


@dataclass(frozen=True, slots=True)
class Misfit:
    """Values of a column that do not fit its type. Their records are rejected."""

    column: str
    which: Bools
    values: pa.ChunkedArray
    reason: str

    def take(self, indices: Ints) -> Misfit:
        return Misfit(self.column, self.which[indices], self.values.take(indices), self.reason)


@dataclass(frozen=True, slots=True)
class Uses:
    """How queries use the columns of a stream. Columns have the stream's names."""

    #: Columns read as a number or a time: there a text means what it spells.
    reading: frozenset[str]
    #: Event times that nothing else uses: digits below the microsecond never matter.
    only_times: frozenset[str]
    #: Objects of COMBINE. Operators know them by keys made from their values.
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
    """The schema that a run begins with."""
    return pa.schema(
        pa.field(field.name, floored_type(field.type)) if field.name in uses.only_times else field
        for field in schema
    )


def widened(schema: pa.Schema, other: pa.Schema, columns: Iterable[str], uses: Uses) -> pa.Schema:
    """The schema with these columns widened for batches of the other schema."""
    for name in columns:
        dtype, index = schema.field(name).type, other.get_field_index(name)
        if index < 0 or other.field(index).type == dtype:
            continue
        other_type = other.field(index).type
        if name in uses.only_times:
            other_type = floored_type(other_type)
        wide = wider(dtype, other_type, name in uses.reading)
        if wide != dtype and (name not in uses.objects or _same_keys(dtype, wide)):
            schema = schema.set(schema.get_field_index(name), pa.field(name, wide))
    return schema


def _same_keys(dtype: pa.DataType, wide: pa.DataType) -> bool:
    """Whether values of both types have the same keys."""
    signed = pa.types.is_signed_integer(dtype) and pa.types.is_signed_integer(wide)
    return bool(signed or pa.types.is_null(dtype))


def conformed(
    batch: pa.Table | pa.RecordBatch, schema: pa.Schema, columns: Iterable[str], uses: Uses
) -> tuple[pa.Table | pa.RecordBatch, list[Misfit]]:
    """The batch with these columns in the types of the schema, and the values that do not fit."""
    differing = [
        name
        for name in columns
        if name in batch.schema.names  # a missing column is reported by the projection
        and bare_type(batch.schema.field(name).type) != bare_type(schema.field(name).type)
    ]
    if not differing:
        return batch, []
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    misfits = []
    for name in differing:
        index, dtype = table.schema.get_field_index(name), schema.field(name).type
        values = table.column(index)
        column = floored(values) if name in uses.only_times else values
        column, unfit = fit(column, dtype, name in uses.reading)
        table = table.set_column(index, pa.field(name, column.type), column)
        if unfit is not None:
            misfits.append(Misfit(name, unfit, values, misfit_reason(values.type, dtype)))
    return table, misfits


def misfit_reason(source: pa.DataType, dtype: pa.DataType) -> str:
    """Why a value of type ``source`` cannot be in a column of the other type."""
    dtype = bare_type(dtype)
    if is_text(source) and is_number(dtype):
        return "not a number"
    if is_text(source) and pa.types.is_timestamp(dtype):
        return "not a timestamp"
    return f"does not fit the type of the column, {dtype}"
