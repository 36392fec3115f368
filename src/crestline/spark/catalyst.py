"""From a DataFrame to the columns that a pipeline's queries need, computed by Catalyst.

Every distinct expression is computed once, however many queries and roles use it. A single query's
WHERE, or that of queries which share a structure, is a filter here. Otherwise it is a column, and
each query filters for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from crestline.core.errors import PlanError
from crestline.language import Expression, Query
from crestline.planner import Bundle, arrange
from crestline.runtime.entrance import roles_of
from crestline.runtime.projection import check_role_types, resolve
from crestline.runtime.roles import (
    Role,
    partition_role,
    selected_role,
)
from crestline.runtime.rows import RowBuilder
from crestline.runtime.standing import arranged
from crestline.spark.stages import Member

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

#: Functions whose value depends on the session's time zone; ours is UTC.
_ZONED = re.compile(r"(?i)date|time|day|month|year|hour|minute|second|week|quarter|trunc|cast")


@dataclass(frozen=True, slots=True)
class Projected:
    """A frame with the columns that the members name, and the columns of the result rows."""

    frame: DataFrame
    members: tuple[Member, ...]
    #: For every kind of result rows, the names of its columns with Spark's types.
    columns: tuple[list[tuple[str, DataType]], ...]

    @property
    def results(self) -> StructType:
        """The columns of all members' result rows, in the order in which they first appear."""
        return _united(self.columns)


def arrow_schema(struct: StructType) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(struct, timezone="UTC")


def arranged_on(frame: DataFrame, queries: Mapping[str, Query], *, bounded: bool) -> list[Bundle]:
    """The queries in bundles, for a frame of these columns."""
    if len(queries) == 1:  # whatever its columns are
        return arrange(queries)
    return arranged(queries, _schema_for(frame, queries.values()), bounded=bounded)


def _schema_for(frame: DataFrame, queries: Iterable[Query]) -> pa.Schema:
    """The columns of a frame; those that no query ranks by are without a type."""
    scores = [term.expression for query in queries for term in query.order_by[:1]]
    read = {name.casefold() for score in scores for name in score.columns}
    fields = [field for field in frame.schema.fields if field.name.casefold() in read]
    types = {
        field.name: field.type
        for field in arrow_schema(_struct((f.name, f.dataType) for f in fields))
    }
    return pa.schema([(name, types.get(name, pa.null())) for name in frame.columns])


def project(
    frame: DataFrame,
    bundles: list[Bundle],
    buckets: int,
) -> Projected:
    """Compute the columns of all roles. A single bundle's WHERE is applied, else it is a column
    like any other."""
    selection = _Selection(frame)
    filtering = len(bundles) == 1
    placed = []
    for bundle in bundles:
        query = bundle.plan.query
        alone = bundle.plan.standing is None
        schema = pa.schema([]) if alone else _schema_for(frame, bundle.queries.values())
        expressions = roles_of(bundle.plan, schema)
        _check_zone(frame, expressions.values())
        columns = {}
        for role, expression in expressions.items():
            if role == Role.WHERE and filtering:
                selection.filter(query)
                continue
            columns[role] = selection.add(query, expression)
        placed.append((bundle, expressions, columns))
    projected = selection.frame()
    dtypes = {field.name: field.dataType for field in projected.schema.fields}
    members, results = [], []
    for number, (bundle, expressions, columns) in enumerate(placed):
        by_role = {role: dtypes[column] for role, column in columns.items()}
        roles = arrow_schema(_struct(by_role.items()))
        texts = check_role_types(bundle.plan.query, roles, True, expressions)
        member = Member.of(number, bundle, roles, buckets=buckets, texts=texts, columns=columns)
        members.append(member)
        for query in _one_per_kind(bundle.queries):
            results.append(_result_columns(query, roles, by_role))
    return Projected(projected, tuple(members), tuple(results))


class _Selection:
    """Expressions over a frame, each computed once.

    No column of the frame begins with the prefix of the names that are made here, so a user's
    column may have any name.
    """

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._prefix = _unused_prefix(frame.columns)
        self._spelled: dict[str, str] = {}  # a query's spelling of a column -> the frame's
        self._computed: dict[str, str] = {}  # SQL -> its name in the projected frame
        self._plain: dict[str, str] = {}  # the frame's column -> its name in the projected frame
        self._condition: str | None = None

    def _resolve(self, query: Query, expression: Expression) -> None:
        names = [name for name in expression.columns if name not in self._spelled]
        schema = pa.schema([(name, pa.null()) for name in self._frame.columns])
        self._spelled |= resolve(names, schema, query.stream)

    def filter(self, query: Query) -> None:
        assert query.where is not None
        self._resolve(query, query.where)
        self._condition = query.where.to("spark")

    def add(self, query: Query, expression: Expression) -> str:
        """Return the name that the values of an expression have in the projected frame."""
        self._resolve(query, expression)
        if expression.column is not None:
            column = self._spelled[expression.column]
            return self._plain.setdefault(column, f"{self._prefix}c{len(self._plain)}")
        name = f"{self._prefix}e{len(self._computed)}"
        return self._computed.setdefault(expression.to("spark"), name)

    def frame(self) -> DataFrame:
        """Select in two steps: columns as the queries spell them, then expressions."""
        from pyspark.sql import functions as F

        dtypes = dict(self._frame.dtypes)
        named = [F.col(quoted(column)).alias(new) for column, new in self._plain.items()]
        if self._computed or self._condition is not None:
            # Arithmetic on small floats rounds differently from engine to engine.
            for spelled, name in self._spellings():
                column = F.col(quoted(name))
                small = dtypes[name] == "float"
                named.append((column.cast("double") if small else column).alias(spelled))
        frame = self._frame.select(*named)
        if self._condition is not None:
            frame = frame.filter(F.expr(self._condition))
        kept = [F.col(quoted(name)) for name in self._plain.values()]
        kept += [F.expr(sql).alias(name) for sql, name in self._computed.items()]
        return frame.select(*kept)

    def _spellings(self) -> Iterable[tuple[str, str]]:
        """The names of columns in expressions, each once for Spark, and the frame's names."""
        conf = self._frame.sparkSession.conf
        if conf.get("spark.sql.caseSensitive") == "true":
            return self._spelled.items()
        return {spelled.casefold(): (spelled, n) for spelled, n in self._spelled.items()}.values()


def _unused_prefix(names: list[str]) -> str:
    """A prefix that none of the names begins with; Spark's names differ in more than their case.

    >>> _unused_prefix(["id"]), _unused_prefix(["id", "__Crestline_c0"])
    ('__crestline_', '__crestline__')
    """
    prefix = "__crestline_"
    while any(name.casefold().startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def quoted(name: str) -> str:
    """A name as Spark reads it in expressions."""
    return "`" + name.replace("`", "``") + "`"


def _check_zone(frame: DataFrame, expressions: Iterable[Expression]) -> None:
    """Expressions on times mean UTC; Spark takes the session's zone."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone in ("UTC", "Etc/UTC", "Z", "GMT"):
        return
    for expression in expressions:
        if expression.column is None and _ZONED.search(expression.sql):
            raise PlanError(
                f"{expression.sql} may depend on the time zone, which is {zone} in this Spark"
                " session, but Crestline's is UTC:"
                " spark.conf.set('spark.sql.session.timeZone', 'UTC') first"
            )


# -- the columns of result rows -------------------------------------------------------------------


def _struct(columns: Iterable[tuple[str, DataType]]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, dtype, True) for name, dtype in columns])


def _one_per_kind(queries: Mapping[str, Query]) -> list[Query]:
    """One query for each kind of rows that those of a bundle emit."""
    return list({query.emit: query for query in queries.values()}.values())


def _result_columns(
    query: Query, roles: pa.Schema, dtypes: Mapping[str, DataType]
) -> list[tuple[str, DataType]]:
    """The columns of one query's results: the user's columns have Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_type

    of_user = {item.name: dtypes[partition_role(i)] for i, item in enumerate(query.partition_by)}
    for i, item in enumerate(query.select):
        of_user.setdefault(item.name, dtypes[selected_role(i)])
    return [
        (field.name, of_user[field.name] if field.name in of_user else from_arrow_type(field.type))
        for field in RowBuilder({"": query}, roles).schema(query.emit)
    ]


def _united(schemas: tuple[list[tuple[str, DataType]], ...]) -> StructType:
    united: dict[str, DataType] = {}
    for schema in schemas:
        for name, dtype in schema:
            if united.setdefault(name, dtype) != dtype:
                raise PlanError(
                    f"the column {name} is {united[name].simpleString()} in one query and"
                    f" {dtype.simpleString()} in another: give one of them another name with AS"
                )
    return _struct(united.items())
