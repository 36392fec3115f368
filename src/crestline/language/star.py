"""``SELECT TOP k *``: put the columns of the stream in place of the star."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from crestline.core.errors import QueryError, SourceError
from crestline.language.expression import Expression
from crestline.language.query import Query, Selected, is_plain
from crestline.language.tokens import quoted_name


def in_full(queries: Mapping[str, Query], columns: Sequence[str]) -> dict[str, Query]:
    """Put these columns of the stream in place of ``*``.

    Columns that a result row has in any case are left out: those of PARTITION BY, and the column
    ``score`` where records are ranked by it.

    >>> from crestline.language import parse
    >>> star = parse("SELECT TOP 3 * FROM s [ROWS 9] PARTITION BY g ORDER BY x DESC")
    >>> print(in_full({"query": star}, ["id", "g", "x"])["query"])
    SELECT TOP 3 id, x
    FROM s [ROWS 9]
    PARTITION BY g
    ORDER BY x DESC
    """
    return {name: _in_full(query, columns) for name, query in queries.items()}


def _in_full(query: Query, names: Sequence[str]) -> Query:
    if query.star is None:
        return query
    shown = [item.name for item in query.partition_by if is_plain(item)]
    ranked = query.order_by[0].expression.column
    if ranked is not None and ranked.casefold() == "score":
        shown.append(ranked)
    taken = {item.name.casefold() for item in (*query.partition_by, *query.select)}
    columns = []
    for name in names:
        if any(_means(column, name, names) for column in shown):
            continue
        if name.casefold() in query.own_columns:
            raise _clash(query, name, "the result has a column of that name")
        if name.casefold() in taken:
            raise _clash(query, name, "another column has that name")
        taken.add(name.casefold())
        columns.append(_selected(query, name))
    select = (*query.select[: query.star], *columns, *query.select[query.star :])
    return replace(query, select=select, star=None)


def _means(column: str, name: str, names: Sequence[str]) -> bool:
    """Whether a query that says ``column`` means this one of the stream's ``names``."""
    return name == column or (column not in names and name.casefold() == column.casefold())


def _selected(query: Query, name: str) -> Selected:
    try:
        return Selected(Expression(quoted_name(name)), name)
    except QueryError as error:
        raise SourceError(
            f"stream {query.stream!r}: * has the column {name!r}, which a query cannot name"
            f" ({error.message}): write the columns that you want instead of *"
        ) from None


def _clash(query: Query, name: str, problem: str) -> SourceError:
    return SourceError(
        f"stream {query.stream!r}: * has the column {name!r}, but {problem}: write the columns that"
        f" you want instead of *, and {quoted_name(name)} AS {quoted_name(name + '_2')}"
    )


__all__ = ["in_full"]
