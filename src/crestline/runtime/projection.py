"""From a batch of a stream to the columns of a query, named by their roles.

Plain columns are taken as they are. DuckDB computes everything else, in a connection that can touch
nothing but the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.language import Query
from crestline.runtime.columns import usable, usable_type
from crestline.runtime.lazily import duckdb_errors
from crestline.runtime.roles import (
    Role,
    columns_of,
    partition_role,
    role_expressions,
    selected_role,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
_TIMES = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_null)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class Projection:
    """The roles of a query over one schema."""

    def __init__(self, query: Query, schema: pa.Schema, typed: bool = True) -> None:
        self.query = query
        self._names = resolve(columns_of(query), schema, query.stream)
        self._connection: DuckDBPyConnection | None = None
        self._plain: dict[str, str] = {}
        self._computed: dict[str, str] = {}
        for role, expression in role_expressions(query).items():
            if expression.column is not None:
                self._plain[role] = expression.column
            else:
                self._computed[role] = expression.to("duckdb")
        given = {name: schema.field(given).type for name, given in self._names.items()}
        empty = pa.schema([(name, usable_type(kind)) for name, kind in given.items()]).empty_table()
        self.schema = self(empty, check=False).schema
        #: Roles whose text must be read as a number or a time, record by record.
        self.texts = check_role_types(query, self.schema, typed)

    @property
    def spelled(self) -> dict[str, str]:
        """The stream's names of the columns, by how the query spells them."""
        return self._names

    @property
    def expressions(self) -> list[str]:
        """What has to be computed, as DuckDB reads it."""
        return list(self._computed.values())

    @property
    def columns(self) -> list[str]:
        """The columns of the stream that are needed, as the stream spells them."""
        return list(dict.fromkeys(self._names.values()))

    def __call__(
        self,
        batch: pa.Table | pa.RecordBatch,
        check: bool = True,
        computed: Mapping[str, pa.ChunkedArray] | None = None,
    ) -> pa.Table:
        """The roles' columns for a batch that has at least the needed columns; ``computed`` are the
        values of expressions that somebody has worked out already (see ``Expressions``)."""
        if check:
            for given in self._names.values():
                if given not in batch.schema.names:
                    raise _missing(given, batch.schema, self.query.stream)
            table = _named(batch, self._names, self.query.stream)
        else:
            table = batch
        arrays = {role: table.column(name) for role, name in self._plain.items()}
        if computed is not None:
            arrays |= {role: computed[sql] for role, sql in self._computed.items()}
        elif self._computed:
            arrays |= compute(self._connect(), table, self._computed, self.query.stream)
        return pa.table({role: arrays[role] for role in role_expressions(self.query)})

    def _connect(self) -> DuckDBPyConnection:
        if self._connection is None:
            self._connection = closed_connection()
        return self._connection


class Expressions:
    """The expressions of several queries on one stream, each worked out once for all."""

    def __init__(self, projections: Sequence[Projection]) -> None:
        #: Those that spell the stream's columns alike; names differ in more than their case.
        self._names: dict[str, str] = {}
        self._sql: dict[str, str] = {}
        self._sharing: set[Projection] = set()
        self._stream = projections[0].query.stream
        self._connection: DuckDBPyConnection | None = None
        known: dict[str, str] = {}
        for projection in projections:
            names = projection.spelled
            if any(known.get(name.casefold(), name) != name for name in names):
                continue
            known |= {name.casefold(): name for name in names}
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
        if self._connection is None:
            self._connection = closed_connection()
        found = compute(self._connection, table, roles, self._stream)
        return {sql: found[role] for sql, role in self._sql.items()}

    def serve(self, projection: Projection) -> bool:
        """Whether the projection finds all its expressions here."""
        return projection in self._sharing


def compute(
    connection: DuckDBPyConnection, table: pa.Table, wanted: Mapping[str, str], stream: str
) -> dict[str, pa.ChunkedArray]:
    """The values of expressions, by the names they are wanted under."""
    items = ", ".join(f"{sql} AS {name}" for name, sql in wanted.items())
    try:
        connection.register("crestline_batch", _widened(table))
        computed = connection.sql(f"SELECT {items} FROM crestline_batch").to_arrow_table()
    except duckdb_errors() as error:
        reason = str(error).split("\n")[0]
        raise SourceError(
            f"stream {stream!r}: an expression cannot be computed: {reason}."
            " TRY_CAST turns values that do not fit into NULL."
        ) from None
    finally:
        connection.unregister("crestline_batch")
    return {name: computed.column(name) for name in wanted}


def check_role_types(query: Query, schema: pa.Schema, typed: bool) -> frozenset[str]:
    """Raise SourceError if score, event time or probability cannot be what they must be; return the
    roles whose text must be read as a number or a time, record by record (where types are only
    inferred)."""
    texts = set()
    wanted: list[tuple[str, tuple[Any, ...], str, str]]
    hint = "ORDER BY a numeric column or expression"
    plain = (lambda kind: not pa.types.is_nested(kind),)
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
    if Role.WHERE in schema.names:
        boolean = (pa.types.is_boolean, pa.types.is_null)
        wanted.append((Role.WHERE, boolean, "a condition", "compare it: WHERE x > 0"))
    for i in range(len(query.partition_by)):
        hint = "PARTITION BY a number, a text or a time"
        wanted.append((partition_role(i), plain, "a plain value", hint))
    for role, tests, wish, hint in wanted:
        kind = schema.field(role).type
        if any(test(kind) for test in tests):
            continue
        name = role_expressions(query)[role].sql
        # A frame may have its times as texts, whatever made it.
        if _is_text(kind) and (role == Role.TIME or (not typed and role != Role.WHERE)):
            texts.add(role)
            continue
        raise SourceError(
            f"stream {query.stream!r}: {name} is of type {kind}, but {wish} is needed: {hint}"
        )
    return frozenset(texts)


def closed_connection() -> DuckDBPyConnection:
    """A database in memory that reads no file, loads no extension and sees no Python variable."""
    import duckdb

    connection = duckdb.connect(
        config={"threads": 1, "python_enable_replacements": False, "enable_external_access": False}
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection


def _named(batch: pa.Table | pa.RecordBatch, names: Mapping[str, str], stream: str) -> pa.Table:
    """The columns that are needed, by the names that a query uses, in types that can be used."""
    columns = [usable(batch.column(given), given, stream) for given in names.values()]
    return pa.table(columns, names=list(names))


def _widened(table: pa.Table) -> pa.Table:
    """Small floats as float64: arithmetic on them rounds differently from engine to engine."""
    for i, field in enumerate(table.schema):
        if field.type in (pa.float16(), pa.float32()):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
    return table


def resolve(names: list[str], schema: pa.Schema, stream: str) -> dict[str, str]:
    """The stream's spelling of each name: the same, or the only one that differs in case."""
    found = {}
    for name in names:
        same = [given for given in schema.names if given == name]
        alike = same or [g for g in schema.names if g.casefold() == name.casefold()]
        if len(alike) != 1:
            raise _missing(name, schema, stream)
        found[name] = alike[0]
    return found


def _missing(name: str, schema: pa.Schema, stream: str) -> SourceError:
    close = get_close_matches(name, schema.names, n=1)
    advice = f"did you mean {close[0]!r}? " if close else ""
    columns = ", ".join(schema.names) if schema.names else "none"
    problem = f"has no column {name!r}"
    if sum(given.casefold() == name.casefold() for given in schema.names) > 1:
        problem, advice = f"has several columns {name!r}", "rename all but one, "
    return SourceError(f"stream {stream!r} {problem}: {advice}its columns are {columns}")
