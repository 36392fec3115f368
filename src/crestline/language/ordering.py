"""ORDER BY: expressions, names and numbers of selected columns, or what COMBINE says."""

from __future__ import annotations

from dataclasses import dataclass

from crestline.language.combining import Weights, read_combined
from crestline.language.cursor import Cursor
from crestline.language.draft import Draft, Fields
from crestline.language.expression import Expression, read_expression
from crestline.language.query import COMBINATIONS, Combine, OrderTerm, aliases, order_problem
from crestline.language.tokens import Token, TokenKind


@dataclass(frozen=True, slots=True)
class CombinedOrder:
    """``ORDER BY SUM(v) DESC``, which is only allowed beside the same COMBINE."""

    function: str
    value: Expression
    weights: Weights
    descending: bool


Order = tuple[OrderTerm, ...] | CombinedOrder


def read_order_by(cursor: Cursor, draft: Draft) -> Fields:
    """Read ORDER BY; ``settled_order`` makes the terms of it once all clauses are read."""
    draft.tokens["order_by"] = cursor.token
    cursor.expect("ORDER", "BY")
    function = cursor.token.keyword
    if function not in COMBINATIONS or not cursor.ahead().is_symbol("("):
        return {"order_by": read_order_terms(cursor, draft)}
    cursor.index += 2
    value, weights, _ = read_combined(cursor, draft, function)
    return {"order_by": CombinedOrder(function, value, weights, _read_direction(cursor))}


def read_order_terms(cursor: Cursor, draft: Draft) -> tuple[OrderTerm, ...]:
    """Read terms, where a name of the select list comes before a column of the stream, as in SQL;
    ``stream.column`` is the column in any case."""
    return tuple(cursor.listed(lambda: _read_term(cursor, draft)))


def _read_term(cursor: Cursor, draft: Draft) -> OrderTerm:
    token, start = cursor.token, cursor.index
    expression = read_expression(cursor, aliases(draft.selected))
    alone = cursor.index == start + 1
    if alone and token.kind is TokenKind.NUMBER and token.value.isdigit():
        expression = _numbered(cursor, draft, int(token.value), token)
    if problem := order_problem(expression):
        raise cursor.error(problem[0], token, problem[1])
    return OrderTerm(expression, _read_direction(cursor))


def _numbered(cursor: Cursor, draft: Draft, number: int, token: Token) -> Expression:
    """The selected column of this number, from 1."""
    count = len(draft.select) if draft.star is None else draft.star
    if 1 <= number <= count:
        return draft.selected[number - 1].expression
    if draft.star is not None and number > count:
        raise cursor.error(
            f"which column {number} is depends on the stream: * stands before it",
            token,
            "write ORDER BY and its name",
        )
    counted = {0: "no column is", 1: "one column is"}.get(count, f"{count} columns are")
    raise cursor.error(
        f"ORDER BY {number} is the number of a selected column, and {counted} selected",
        token,
        f"write 1{f' to {count}' * (count > 1)}, or a name" if count else "write a name",
    )


def _read_direction(cursor: Cursor) -> bool:
    """Read ASC or DESC, if one of them comes; return whether the order descends."""
    descending = cursor.takes("DESC")
    if not descending:
        cursor.takes("ASC")
    return descending


def settled_order(
    cursor: Cursor, draft: Draft, order: Order, combine: Combine | None
) -> tuple[OrderTerm, ...]:
    """The ORDER BY terms; none if they are missing or only repeat what COMBINE says."""
    token = draft.tokens.get("order_by")
    if isinstance(order, CombinedOrder):
        if combine is None:
            raise cursor.error(
                f"{order.function} adds up several records, but there is no COMBINE",
                token,
                "an expression looks at one record: write ORDER BY column DESC",
            )
        repeated = (order.function, order.value) == (combine.function, combine.value)
        if repeated and order.weights in ((), combine.weights) and order.descending:
            return ()
    elif combine is None or not order:
        return order
    raise cursor.error(
        "with COMBINE the combined value is the order",
        token,
        f"leave ORDER BY out, or write ORDER BY {combine.function}({combine.value.sql}) DESC",
    )
