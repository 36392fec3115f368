"""What binds to what in an expression, and what is refused because it is not clear."""

from __future__ import annotations

import pytest

from crestline.core.errors import QueryError
from crestline.language import Expression
from crestline.language.nodes import Between, Binary, Chain, Node, Predicate, Prefix, canonical


def grouped(node: Node) -> str:
    """The node with parentheses around every operation."""
    match node:
        case Binary():
            return f"({grouped(node.left)} {node.operator} {grouped(node.right)})"
        case Chain():
            return f"({f' {node.operator} '.join(map(grouped, node.operands))})"
        case Prefix():
            return f"({node.operator} {grouped(node.operand)})"
        case Predicate():
            return f"({grouped(node.operand)} {node.leaf.canonical})"
        case Between():
            value, low, high = map(grouped, node.operands)
            return f"({value} {node.operator} {low} AND {high})"
    return canonical(node)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a - b - c", "((a - b) - c)"),
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a / b % c DIV d", "(((a / b) % c) DIV d)"),
        ("a || b + c", "((a || b) + c)"),  # in Spark || binds like +
        ("- a * b", "((- a) * b)"),
        ("- - a[0]", "(- (- a[0]))"),
        ("-a IS NULL", "((- a) IS NULL)"),
        ("a + 1 = b * 2", "((a + 1) = (b * 2))"),
        ("a OR b AND c OR d", "(a OR (b AND c) OR d)"),
        ("a AND b = c AND NOT d", "(a AND (b = c) AND (NOT d))"),
        ("NOT a = b", "(NOT (a = b))"),
        ("NOT NOT a IN (1, -2) OR b", "((NOT (NOT (a IN (1, -2)))) OR b)"),
        ("a BETWEEN b + 1 AND c AND d", "((a BETWEEN (b + 1) AND c) AND d)"),
        ("a NOT BETWEEN 1 AND 2 OR b", "((a NOT BETWEEN 1 AND 2) OR b)"),
        ("a || 'x' LIKE 'b%'", "((a || 'x') LIKE 'b%')"),
    ],
)
def test_precedence(text: str, meant: str) -> None:
    assert grouped(Expression(text).root) == meant


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a < b < c", 1),
        ("x OR a = b IS NULL", 6),
        ("a IS NULL IS NULL", 1),
        ("a IN (1) + b", 1),
        ("a BETWEEN 1 AND 2 = b", 1),
        ("x + (a = NOT b)", 6),
        ("a + NOT b", 1),
        ("- NOT a", 1),
    ],
)
def test_what_is_not_clear_is_refused(text: str, column: int) -> None:
    with pytest.raises(QueryError, match="what belongs together here is not clear") as caught:
        Expression(text)
    assert caught.value.column == column


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x NOT", "expected an operator or the end before the end"),
        ("x IS NULL[0]", r"\[ does not belong to the expression"),
        ("CAST(x AS INT + 1)", r"expected an operator or \) before \+"),
        ("CASE x END", "END does not fit here"),
        ("CASE WHEN a THEN b ELSE c WHEN d THEN e END", "WHEN does not fit here"),
        ("CASE WHEN a", "CASE is never closed"),
        ("(x BETWEEN 1)", r"\) does not fit here"),
    ],
)
def test_pieces_out_of_place(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        Expression(text)
