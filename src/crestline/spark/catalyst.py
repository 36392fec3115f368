"""From a DataFrame to the columns that a pipeline's queries need, computed by Catalyst.

Every distinct expression is computed once, however many queries and roles use it. A single query's
WHERE is a filter here, also that of several that share a structure; else each query tells for
itself which records it wants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa

from crestline.core.errors import PlanError
from crestline.language import Query
from crestline.planner import Bundle
from crestline.runtime.projection import check_role_types, resolve
from crestline.runtime.roles import (
    Role,
    columns_of,
    partition_role,
    role_expressions,
    selected_role,
)
from crestline.runtime.rows import RowBuilder
from crestline.spark.spread import by_object, spread_by
from crestline.spark.stages import Member

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

#: Functions whose value depends on the session's time zone; ours is UTC.
_ZONED = re.compile(r"(?i)date|time|day|month|year|hour|minute|second|week|quarter|trunc|cast")
_PREFIX = "__crestline_"


@dataclass(frozen=True, slots=True)
class Projected:
    """A frame with the columns the members name, and how result rows look."""

    frame: DataFrame
    members: tuple[Member, ...]
    columns: tuple[list[tuple[str, Any]], ...]  # of all kinds of result rows, with Spark's types

    @property
    def results(self) -> StructType:
        """The columns of all members' result rows, in the order in which they first appear."""
        return _united(self.columns)


def arrow_schema(struct: StructType) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(struct, timezone="UTC")


def project(
    frame: DataFrame,
    bundles: list[Bundle],
    buckets: int,
    *,
    filtering: bool = True,
    typed: bool = True,
    extra: tuple[str, ...] = (),
) -> Projected:
    """The columns of all roles; ``extra`` columns come along as they are.

    With ``filtering`` a single query's WHERE is applied, else it is a column like any other.
    """
    selection = _Selection(frame)
    filtering = filtering and len(bundles) == 1
    members = []
    for number, bundle in enumerate(bundles):
        query = bundle.plan.query
        _check_zone(frame, query)
        columns = {}
        for role, expression in role_expressions(query).items():
            if role == Role.WHERE and filtering:
                selection.filter(query)
                continue
            columns[role] = selection.add(query, expression)
        bucket: str | int = crc32(next(iter(bundle.queries)).encode()) % buckets
        spread = spread_by(bundle.plan)
        if spread and buckets > 1:
            bucket = selection.add_bucket([columns[role] for role in spread], buckets)
        members.append((number, bundle, columns, bucket))
    projected = selection.frame(extra)
    fields = {field.name: field for field in projected.schema.fields}
    found = []
    schemas = []
    for number, bundle, columns, bucket in members:
        arrow = arrow_schema(_struct([(r, fields[c].dataType) for r, c in columns.items()]))
        texts = check_role_types(bundle.plan.query, arrow, typed)
        named = tuple((name, str(query)) for name, query in bundle.queries.items())
        roles_of = arrow.serialize().to_pybytes()
        shards = by_object(bundle.plan) and isinstance(bucket, str)
        found.append(Member(number, named, columns, roles_of, bucket, texts, shards))
        for query in _each_kind(bundle.queries):
            schemas.append(_result_struct(query, arrow, columns, fields))
    return Projected(projected, tuple(found), tuple(schemas))


class _Selection:
    """Expressions over a frame, each computed once."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._spelled: dict[str, str] = {}  # a query's spelling of a column -> the frame's
        self._computed: dict[str, str] = {}  # SQL -> its name in the projected frame
        self._plain: dict[str, str] = {}  # the frame's column -> its name in the projected frame
        self._buckets: dict[tuple[str, ...], tuple[str, int]] = {}
        self._condition: str | None = None

    def _know(self, query: Query) -> None:
        names = [name for name in columns_of(query) if name not in self._spelled]
        given = pa.schema([(name, pa.null()) for name in self._frame.columns])
        self._spelled |= resolve(names, given, query.stream)

    def filter(self, query: Query) -> None:
        assert query.where is not None
        self._know(query)
        self._condition = query.where.to("spark")

    def add(self, query: Query, expression: Any) -> str:
        self._know(query)
        if expression.column is not None:
            given = self._spelled[expression.column]
            return self._plain.setdefault(given, f"{_PREFIX}c{len(self._plain)}")
        return self._computed.setdefault(expression.to("spark"), f"{_PREFIX}e{len(self._computed)}")

    def add_bucket(self, columns: list[str], buckets: int) -> str:
        name = f"{_PREFIX}b{len(self._buckets)}"
        return self._buckets.setdefault(tuple(columns), (name, buckets))[0]

    def frame(self, extra: tuple[str, ...]) -> DataFrame:
        """Three steps: the columns by the names that queries use, the expressions, the buckets."""
        from pyspark.sql import functions as F

        types = dict(self._frame.dtypes)
        named = [F.col(_quoted(given)).alias(new) for given, new in self._plain.items()]
        if self._computed or self._condition is not None:
            # Arithmetic on small floats rounds differently from engine to engine.
            for spelled, given in self._spelled.items():
                column = F.col(_quoted(given))
                small = types[given] == "float"
                named.append((column.cast("double") if small else column).alias(spelled))
        named += [F.col(_quoted(name)) for name in extra]
        frame = self._frame.select(*named)
        if self._condition is not None:
            frame = frame.filter(F.expr(self._condition))
        kept = [F.col(_quoted(name)) for name in (*self._plain.values(), *extra)]
        kept += [F.expr(sql).alias(name) for sql, name in self._computed.items()]
        frame = frame.select(*kept)
        if self._buckets:
            frame = frame.select("*", *self._bucket_columns(frame))
        return frame

    def _bucket_columns(self, frame: DataFrame) -> list[Column]:
        from pyspark.sql import functions as F

        types = dict(frame.dtypes)
        found = []
        for columns, (name, buckets) in self._buckets.items():
            # 0.0 and -0.0 are one value, but have two hashes.
            hashed = [
                F.col(c) + F.lit(0.0).cast(types[c])
                if types[c] in ("float", "double")
                else F.col(c)
                for c in columns
            ]
            found.append(F.pmod(F.xxhash64(*hashed), F.lit(buckets)).cast("int").alias(name))
        return found


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _check_zone(frame: DataFrame, query: Query) -> None:
    """Expressions on times mean UTC; Spark takes the session's zone."""
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone in ("UTC", "Etc/UTC", "Z", "GMT"):
        return
    for expression in role_expressions(query).values():
        if expression.column is None and _ZONED.search(expression.sql):
            raise PlanError(
                f"{expression.sql} may depend on the time zone, which is {zone} in this Spark"
                " session, but Crestline's is UTC:"
                " spark.conf.set('spark.sql.session.timeZone', 'UTC') first"
            )


# -- the rows that come out -----------------------------------------------------------------------


def _struct(fields: list[tuple[str, Any]]) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(name, kind, True) for name, kind in fields])


def _each_kind(queries: Mapping[str, Query]) -> list[Query]:
    """A query for each kind of rows that those of a bundle emit."""
    return list({query.emit: query for query in queries.values()}.values())


def _result_struct(
    query: Query, arrow: pa.Schema, columns: dict[str, str], fields: dict[str, Any]
) -> list[tuple[str, Any]]:
    """The columns of one query's results: ours as they are, the user's as Spark types them."""
    from pyspark.sql.pandas.types import from_arrow_type

    theirs = {}
    for i, item in enumerate(query.partition_by):
        theirs[item.name] = fields[columns[partition_role(i)]].dataType
    for i, item in enumerate(query.select):
        theirs.setdefault(item.name, fields[columns[selected_role(i)]].dataType)
    return [
        (field.name, theirs[field.name] if field.name in theirs else from_arrow_type(field.type))
        for field in RowBuilder({"": query}, arrow).schema(query.emit)
    ]


def _united(schemas: tuple[list[tuple[str, Any]], ...]) -> StructType:
    found: dict[str, Any] = {}
    for schema in schemas:
        for name, kind in schema:
            if found.setdefault(name, kind) != kind:
                raise PlanError(
                    f"the column {name} is {found[name].simpleString()} in one query and"
                    f" {kind.simpleString()} in another: give one of them another name with AS"
                )
    return _struct(list(found.items()))
