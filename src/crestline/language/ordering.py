"""ORDER BY: expressions, names and numbers of selected columns, or what COMBINE says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crestline.language.combining import Combining, Weights
from crestline.language.expression import Expression
from crestline.language.query import COMBINATIONS, OrderTerm, Selected, aliases, order_problem
from crestline.language.tokens import Kind, Token


@dataclass(frozen=True, slots=True)
class _CombinedOrder:
    """``ORDER BY SUM(v) DESC``, which is only allowed beside the same COMBINE."""

    function: str
    value: Expression
    weights: Weights
    descending: bool


class Ordering(Combining):
    """Reads ORDER BY, where a name of the select list comes before a column of the stream, as in
    SQL; ``stream.column`` is the column in any case."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        #: What ORDER BY may call by its name or number.
        self.select: Sequence[Selected] = ()
        #: Before which of them ``*`` stands.
        self.star: int | None = None

    def order_by(self) -> dict[str, Any]:
        token = self.token
        self.expect("ORDER", "BY")
        function, opened = self.token.keyword, self.ahead()
        if function in COMBINATIONS and opened.is_symbol("("):
            self.at += 2
            value, weights = self.combined(function)
            order = _CombinedOrder(function, value, weights, self._descending())
            return {"order_by": order, "order_token": token}
        return {"order_by": self.order_terms(), "order_token": token}

    def order_terms(self) -> tuple[OrderTerm, ...]:
        return tuple(self.listed(self._order_term))

    def _order_term(self) -> OrderTerm:
        token, place = self.token, self.at
        expression = self.expression(aliases(self.select))
        if token.value.isdigit() and token.kind is Kind.NUMBER and self.at == place + 1:
            expression = self._numbered(int(token.value), token)
        if problem := order_problem(expression):
            raise self.error(problem[0], token, problem[1])
        return OrderTerm(expression, self._descending())

    def _numbered(self, number: int, token: Token) -> Expression:
        """The selected column of this number, from 1."""
        known = len(self.select) if self.star is None else self.star
        if 1 <= number <= known:
            return self.select[number - 1].expression
        if self.star is not None and number > known:
            raise self.error(
                f"which column {number} is depends on the stream: * stands before it",
                token,
                "write ORDER BY and its name",
            )
        counted = {0: "no column is", 1: "one column is"}.get(known, f"{known} columns are")
        raise self.error(
            f"ORDER BY {number} is the number of a selected column, and {counted} selected",
            token,
            f"write 1{f' to {known}' * (known > 1)}, or a name" if known else "write a name",
        )

    def _descending(self) -> bool:
        descending = self.takes("DESC")
        if not descending:
            self.takes("ASC")
        return descending

    def settled_order(self, found: dict[str, Any]) -> tuple[OrderTerm, ...]:
        """The ORDER BY terms; none if they are missing or only repeat what COMBINE says."""
        combine = found.get("combine")
        token = found.pop("order_token", None)
        order: tuple[OrderTerm, ...] | _CombinedOrder = found.pop("order_by", ())
        if isinstance(order, _CombinedOrder):
            if combine is None:
                raise self.error(
                    f"{order.function} adds up several records, but there is no COMBINE",
                    token,
                    "an expression looks at one record: write ORDER BY column DESC",
                )
            repeated = (order.function, order.value) == (combine.function, combine.value)
            if repeated and order.weights in ((), combine.weights) and order.descending:
                return ()
        elif combine is None or not order:
            return order
        raise self.error(
            "with COMBINE the combined value is the order",
            token,
            f"leave ORDER BY out, or write ORDER BY {combine.function}({combine.value.sql}) DESC",
        )
