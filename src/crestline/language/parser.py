"""Query text to ``Query``, by recursive descent.

Keywords are recognised by their position, so most of them may also be names of columns. Functions
named ``read_...`` take what they read from a ``Cursor``.
"""

from __future__ import annotations

from crestline.language.advice import SKELETON
from crestline.language.clauses import read_clauses
from crestline.language.cursor import Cursor
from crestline.language.draft import Defaults, Draft, Fields, Placed, StreamDefaults, read_default
from crestline.language.expression import read_column, read_expression
from crestline.language.ordering import read_order_terms
from crestline.language.query import (
    Combine,
    OrderTerm,
    Probability,
    Query,
    beside_star,
    name_problem,
    own_columns_of,
)
from crestline.language.selecting import read_selection
from crestline.language.tokens import TokenKind, quoted_name
from crestline.language.windows import read_window


def parse(text: str, defaults: Defaults | None = None) -> Query:
    """Parse the one query of a text.

    >>> query = parse("select top-3 from SENSOR [Range 20 mins] frequency 2 mins",
    ...               {"sensor": StreamDefaults(order_by="value DESC", on="ts")})
    >>> print(query)
    SELECT TOP 3
    FROM SENSOR [RANGE 20 MINUTES ON ts]
    ORDER BY value DESC
    FREQUENCY 2 MINUTES
    """
    return _read_statements(text, defaults or {}, most=1)[0]


def parse_all(text: str, defaults: Defaults | None = None) -> tuple[Query, ...]:
    """Parse all queries of a text, separated by semicolons; at least one."""
    return tuple(_read_statements(text, defaults or {}))


def _read_statements(text: str, defaults: Defaults, most: int | None = None) -> list[Query]:
    cursor = Cursor(text)
    defaults = {name.casefold(): default for name, default in defaults.items()}
    queries: list[Query] = []
    names: set[str] = set()
    while True:
        while cursor.takes_symbol(";"):
            pass
        if cursor.token.kind is TokenKind.END:
            break
        if most is not None and len(queries) == most:
            raise cursor.error("a second query begins here", hint="one query is expected")
        start = cursor.token
        query = _read_statement(cursor, defaults)
        if query.name is not None and query.name.casefold() in names:
            raise cursor.error(f"two queries are named {query.name}", start, "rename one")
        names.add((query.name or "").casefold())
        queries.append(query)
    if not queries:
        raise cursor.error("the text holds no query", hint=SKELETON)
    return queries


def _read_statement(cursor: Cursor, defaults: Defaults) -> Query:
    name = None
    if cursor.takes("CREATE"):
        cursor.expect("QUERY", hint="write CREATE QUERY name AS SELECT ...")
        name = cursor.name("the name of the query")
        cursor.expect("AS", hint="write CREATE QUERY name AS SELECT ...")
    k, draft = read_selection(cursor)
    stream, *others = draft.inputs.values()
    default = defaults.get(stream.casefold(), StreamDefaults())
    window = read_window(cursor, stream, default)
    fields = read_clauses(cursor, draft)
    partition_by: list[Placed] = fields.get("partition_by", [])
    fields["partition_by"] = tuple(item for item, _ in partition_by)
    # A PARTITION BY column that is selected as well is shown once.
    select_only = [placed for placed in draft.select if placed[0] not in fields["partition_by"]]
    combine = fields.get("combine")
    if combine is None and "probability" not in fields and default.probability is not None:
        fields["probability"] = _default_probability(cursor, default)
    _check_star(cursor, draft, fields)
    if combine is not None:
        _check_object(cursor, combine, select_only)
    elif others:
        raise cursor.error(
            "a query reads several streams only to combine the values of objects",
            draft.tokens["second_input"],
            "write COMBINE SUM(value) ACROSS stream OBJECT id, or a query for each stream",
        )
    elif not fields["order_by"]:
        fields["order_by"] = _default_order(cursor, stream, default)
    _check_names(cursor, partition_by + select_only, fields)
    return Query(
        k=k,
        select=tuple(draft.selected),
        star=draft.star,
        stream=stream,
        others=tuple(others),
        window=window,
        name=name,
        **fields,
    )


def _default_order(cursor: Cursor, stream: str, default: StreamDefaults) -> tuple[OrderTerm, ...]:
    if default.order_by is None:
        raise cursor.error(
            "ORDER BY is missing: by what are the records ranked?",
            hint=f"write ORDER BY column DESC, or give a default for the stream {stream}",
        )
    return read_default(cursor, default.order_by, lambda inner: read_order_terms(inner, Draft()))


def _default_probability(cursor: Cursor, default: StreamDefaults) -> Probability:
    assert default.probability is not None
    exclusive = default.exclusive_by
    if exclusive is not None:
        exclusive = read_default(cursor, exclusive, lambda c: read_column(c, "EXCLUSIVE BY"))
    return Probability(read_default(cursor, default.probability, read_expression), exclusive)


# -- what clauses must not say together ------------------------------------------------------------


def _check_star(cursor: Cursor, draft: Draft, fields: Fields) -> None:
    if draft.star is None:
        return
    combine = fields.get("combine")
    if combine is not None:
        raise cursor.error(
            "with COMBINE a result row is an object, which has not all columns of the stream",
            draft.tokens["star"],
            f"write SELECT TOP 10 {quoted_name(combine.object)}",
        )
    if "summed" in fields:
        raise cursor.error(
            "BY SUM OF PROBABILITY ranks the values of the selected columns, so * would add up"
            " nothing",
            draft.tokens["star"],
            "write the columns whose values are to be ranked: SELECT TOP 10 symbol",
        )
    for item, token in draft.select:
        if problem := beside_star(item):
            raise cursor.error(problem[0], token, problem[1])


def _check_object(cursor: Cursor, combine: Combine, select: list[Placed]) -> None:
    for selected, token in select:
        names = {name.casefold() for name in selected.expression.columns}
        if names - {combine.object.casefold()}:
            raise cursor.error(
                "with COMBINE a result row is an object, so only the object can be selected",
                token,
                f"write SELECT TOP 10 {quoted_name(combine.object)};"
                " what PARTITION BY has may be selected as well",
            )


def _check_names(cursor: Cursor, columns: list[Placed], fields: Fields) -> None:
    """Check that the names of the columns differ, and from those that the result has of its own."""
    own = own_columns_of(
        fields.get("emit", "SNAPSHOTS"),
        "probability" in fields,
        "combine" in fields,
        fields.get("late", "DROP"),
    )
    taken: set[str] = set()
    for selected, token in columns:
        if problem := name_problem(selected.name, taken, own):
            raise cursor.error(problem[0], token, problem[1])
        taken.add(selected.name.casefold())
