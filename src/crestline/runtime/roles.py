"""The roles of columns: the names under which every stage reads a record.

No stage sees a column under the user's name. ``Projection`` (on Spark: Catalyst) renames the
columns of a query to the roles below, so a user's column may have any name. Roles that occur
several times are numbered: ``partition_role(0)`` is the first PARTITION BY column.

Beside the roles of a query there are two lists: ``Number``, what the engine computes for a record,
and ``CARRIED``, what the pipeline adds to a record and the stages hand on unread.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import pyarrow as pa

from crestline.language import Expression, Query
from crestline.language.ranking import attributes_of


class Role(StrEnum):
    """A role that one column of a query plays."""

    WHERE = "where"  # the condition
    TIME = "time"  # event time
    SCORE = "score"  # the first ORDER BY term, or the value that COMBINE names
    OBJECT = "o"  # OBJECT
    STREAM = "s"  # ACROSS
    PROBABILITY = "u"  # WITH PROBABILITY
    EXCLUSIVE = "x"  # EXCLUSIVE BY


def tie_role(number: int) -> str:
    """The role of an ORDER BY term after the first."""
    return f"t{number}"


def partition_role(number: int) -> str:
    """The role of a PARTITION BY column."""
    return f"p{number}"


def selected_role(number: int) -> str:
    """The role of a column of the select list."""
    return f"c{number}"


def coordinate_role(number: int) -> str:
    """The role of a coordinate, where records are kept in a grid over attributes."""
    return f"g{number}"


def key_role(number: int) -> str:
    """The role of a KEY column."""
    return f"k{number}"


class Number(StrEnum):
    """A number that the engine keeps for a record, beside its columns."""

    SCORE = "_score"  # larger is better
    PARTITION = "_partition"  # code of the partition
    ROW = "_row"  # position in the stream, or in its chunk
    TIME = "_time"  # event time in microseconds
    PROBABILITY = "_probability"


class Carried(StrEnum):
    """A column that the pipeline adds to a record."""

    CHUNK = "chunk"  # the piece of the stream that the record comes from


CARRIED = pa.schema([(Carried.CHUNK, pa.int64())])


@lru_cache(maxsize=256)
def role_expressions(query: Query) -> dict[str, Expression]:
    """The expression of every role, in a fixed order. ``*`` must have become columns before."""
    assert query.star is None, "a query meets its stream by in_full() first"
    expressions: dict[str, Expression] = {}
    if query.where is not None:
        expressions[Role.WHERE] = query.where
    if query.window.on is not None:
        expressions[Role.TIME] = Expression(query.window.on)
    combine = query.combine
    expressions[Role.SCORE] = query.order_by[0].expression if combine is None else combine.value
    if combine is not None:
        expressions[Role.OBJECT] = _column(combine.object)
        expressions[Role.STREAM] = _column(combine.across)
    expressions |= {tie_role(i): term.expression for i, term in enumerate(query.order_by[1:])}
    expressions |= {partition_role(i): item.expression for i, item in enumerate(query.partition_by)}
    expressions |= {selected_role(i): item.expression for i, item in enumerate(query.select)}
    named = {item.name: item.expression for item in (*query.partition_by, *query.select)}
    for i, name in enumerate(query.key):
        expressions[key_role(i)] = named.get(name) or _column(name)
    if query.probability is not None:
        expressions[Role.PROBABILITY] = query.probability.expression
        if query.probability.exclusive_by is not None:
            expressions[Role.EXCLUSIVE] = _column(query.probability.exclusive_by)
    if (ranking := attributes_of(query)) is not None:
        casts = [Expression(f"CAST({_column(name)} AS DOUBLE)") for name in ranking.columns]
        expressions |= {coordinate_role(i): cast for i, cast in enumerate(casts)}
    return expressions


def coordinate_roles(query: Query) -> list[str]:
    """The roles of the coordinates; none where no grid needs them."""
    ranking = attributes_of(query)
    return [] if ranking is None else [coordinate_role(i) for i in range(len(ranking.columns))]


def kept_roles(query: Query) -> list[str]:
    """The roles that a candidate keeps: what is shown, what breaks ties, what it excludes."""
    roles: list[str] = [] if query.combine is None else [Role.OBJECT]
    roles += [tie_role(i) for i in range(len(query.order_by[1:]))]
    roles += [selected_role(i) for i in range(len(query.select))]
    roles += [key_role(i) for i in range(len(query.key))]
    roles += coordinate_roles(query)
    if query.probability is not None and query.probability.exclusive_by is not None:
        roles.append(Role.EXCLUSIVE)
    return roles


def columns_of(query: Query) -> list[str]:
    """The columns that a query reads, as it spells them."""
    return list(dict.fromkeys(name for e in role_expressions(query).values() for name in e.columns))


def _column(name: str) -> Expression:
    return Expression(f"`{name.replace('`', '``')}`")
