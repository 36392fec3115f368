"""From a batch of a stream to the columns of a query, named by their roles.

Plain columns are taken as they are. DuckDB computes everything else, in a connection that can touch
nothing but the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.core.tables import plain_type
from crestline.language import Expression, Query
from crestline.runtime.columns import usable, usable_type
from crestline.runtime.roles import (
    Role,
    partition_role,
    role_expressions,
    selected_role,
)
from crestline.runtime.sql import Evaluator

_NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
_TIMES = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_null)


def _is_text(dtype: pa.DataType) -> bool:
    dtype = plain_type(dtype)
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype))


class Projection:
    """The columns of a query over one schema, renamed to their roles."""

    def __init__(
        self, query: Query, schema: pa.Schema, typed: bool = True,
        roles: Mapping[str, Expression] | None = None,
    ) -> None:  # fmt: skip
        """``roles`` are those of standing queries, of which ``query`` is what they have in
        common."""
        self.query = query
        self.roles = role_expressions(query) if roles is None else roles
        columns = [name for expression in self.roles.values() for name in expression.columns]
        self._names = resolve(list(dict.fromkeys(columns)), schema, query.stream)
        self._evaluate = Evaluator(query.stream)
        self._plain: dict[str, str] = {}
        self._computed: dict[str, str] = {}
        for role, expression in self.roles.items():
            if expression.column is not None:
                self._plain[role] = expression.column
            else:
                self._computed[role] = expression.to("duckdb")
        dtypes = {name: schema.field(column).type for name, column in self._names.items()}
        usable_types = [(name, usable_type(dtype)) for name, dtype in dtypes.items()]
        self.schema = self(pa.schema(usable_types).empty_table(), check=False).schema
        #: Roles whose text must be read as a number or a time, record by record.
        self.texts = check_role_types(query, self.schema, typed, self.roles)

    @property
    def spelled(self) -> dict[str, str]:
        """The stream's names of the columns, by the query's spelling."""
        return self._names

    @property
    def expressions(self) -> list[str]:
        """The expressions that are computed, as DuckDB reads them."""
        return list(self._computed.values())

    @property
    def columns(self) -> list[str]:
        """The columns of the stream that the query reads, in the stream's spelling."""
        return list(dict.fromkeys(self._names.values()))

    def __call__(
        self,
        batch: pa.Table | pa.RecordBatch,
        check: bool = True,
        computed: Mapping[str, pa.ChunkedArray] | None = None,
    ) -> pa.Table:
        """The columns of a batch by role. ``computed`` are the values of expressions that several
        queries share (see ``Expressions``)."""
        if check:
            for column in self._names.values():
                if column not in batch.schema.names:
                    raise _missing(column, batch.schema, self.query.stream)
            table = _named(batch, self._names, self.query.stream)
        else:
            table = batch
        arrays = {role: table.column(name) for role, name in self._plain.items()}
        if computed is not None:
            arrays |= {role: computed[sql] for role, sql in self._computed.items()}
        else:
            arrays |= self._evaluate(table, self._computed)
        return pa.table({role: arrays[role] for role in self.roles})


class Expressions:
    """The expressions of several queries on one stream, each computed once for all."""

    def __init__(self, projections: Sequence[Projection]) -> None:
        #: The columns, by a spelling that all queries in ``_sharing`` use.
        self._names: dict[str, str] = {}
        self._sql: dict[str, str] = {}
        self._sharing: set[Projection] = set()
        self._stream = projections[0].query.stream
        self._evaluate = Evaluator(self._stream)
        spellings: dict[str, str] = {}
        for projection in projections:
            names = projection.spelled
            if any(spellings.get(name.casefold(), name) != name for name in names):
                continue  # DuckDB does not tell names apart by their case
            spellings |= {name.casefold(): name for name in names}
            self._names |= names
            self._sharing.add(projection)
            for sql in projection.expressions:
                self._sql.setdefault(sql, f"e{len(self._sql)}")

    def __call__(self, batch: pa.Table | pa.RecordBatch) -> dict[str, pa.ChunkedArray]:
        """The values of all expressions for a batch."""
        if not self._sql:
            return {}
        table = _named(batch, self._names, self._stream)
        roles = {role: sql for sql, role in self._sql.items()}
        values = self._evaluate(table, roles)
        return {sql: values[role] for sql, role in self._sql.items()}

    def serve(self, projection: Projection) -> bool:
        """Whether the projection finds all its expressions here."""
        return projection in self._sharing


def check_role_types(
    query: Query, schema: pa.Schema, typed: bool, roles: Mapping[str, Expression] | None = None
) -> frozenset[str]:
    """The roles whose texts are read as numbers or times, record by record.

    Texts are read where types were only inferred (not ``typed``), event times always. Raises
    SourceError if a column of any other type cannot play its role.
    """
    texts = set()
    wanted: list[tuple[str, tuple[Any, ...], str, str]]
    hint = "ORDER BY a numeric column or expression"
    plain = (lambda dtype: not pa.types.is_nested(dtype),)
    if query.combine is not None:
        hint = f"{query.combine.function} needs a numeric column or expression"
    wanted = [(Role.SCORE, _NUMERIC, "a number", hint)]
    if query.combine is not None:
        wanted.append((Role.OBJECT, plain, "a plain value", "OBJECT is a number, a text or a time"))
        wanted.append((Role.STREAM, plain, "a plain value", "ACROSS a column of numbers or texts"))
    if query.window.on is not None:
        hint = "use a timestamp, or timestamp_seconds(...) for seconds since 1970"
        wanted.append((Role.TIME, _TIMES, "a timestamp", hint))
    if query.probability is not None:
        hint = "WITH PROBABILITY a numeric column or expression"
        wanted.append((Role.PROBABILITY, _NUMERIC, "a number", hint))
        if query.probability.exclusive_by is not None:
            wanted.append(
                (Role.EXCLUSIVE, plain, "a plain value", "EXCLUSIVE BY a number, a text or a time")
            )
        for i in range(len(query.select) if query.summed else 0):
            hint = "BY SUM OF PROBABILITY adds up for numbers, texts and times"
            wanted.append((selected_role(i), plain, "a plain value", hint))
    roles = role_expressions(query) if roles is None else roles
    for role in roles:
        if role.startswith(Role.WHERE) and role in schema.names:  # else Spark has applied it
            boolean = (pa.types.is_boolean, pa.types.is_null)
            wanted.append((role, boolean, "a condition", "compare it: WHERE x > 0"))
    for i in range(len(query.partition_by)):
        hint = "PARTITION BY a number, a text or a time"
        wanted.append((partition_role(i), plain, "a plain value", hint))
    for role, tests, noun, hint in wanted:
        dtype = schema.field(role).type
        if any(test(dtype) for test in tests):
            continue
        name = roles[role].sql
        # A frame may have its times as texts, whatever made it.
        if _is_text(dtype) and (
            role == Role.TIME or (not typed and not role.startswith(Role.WHERE))
        ):
            texts.add(role)
            continue
        raise SourceError(
            f"stream {query.stream!r}: {name} is of type {dtype}, but {noun} is needed: {hint}"
        )
    return frozenset(texts)


def _named(batch: pa.Table | pa.RecordBatch, names: Mapping[str, str], stream: str) -> pa.Table:
    """The columns by the names that a query uses, in usable types."""
    columns = [usable(batch.column(column), column, stream) for column in names.values()]
    return pa.table(columns, names=list(names))


def resolve(names: list[str], schema: pa.Schema, stream: str) -> dict[str, str]:
    """The stream's spelling of each name: the same, or the only one that differs in case."""
    resolved = {}
    for name in names:
        same = [column for column in schema.names if column == name]
        alike = same or [c for c in schema.names if c.casefold() == name.casefold()]
        if len(alike) != 1:
            raise _missing(name, schema, stream)
        resolved[name] = alike[0]
    return resolved


def _missing(name: str, schema: pa.Schema, stream: str) -> SourceError:
    close = get_close_matches(name, schema.names, n=1)
    advice = f"did you mean {close[0]!r}? " if close else ""
    columns = ", ".join(schema.names) if schema.names else "none"
    problem = f"has no column {name!r}"
    if sum(column.casefold() == name.casefold() for column in schema.names) > 1:
        problem, advice = f"has several columns {name!r}", "rename all but one, "
    return SourceError(f"stream {stream!r} {problem}: {advice}its columns are {columns}")
