"""A first ORDER BY term that ranks points: by distance (also on earth), weighted sum or angle.

>>> from crestline.language.expression import Expression
>>> ranking_of(Expression("DISTANCE((x, y), (1.0, -2))"))
Ranking(kind='DISTANCE', columns=('x', 'y'), numbers=(1.0, -2.0), weights=())
>>> ranking_of(Expression("0.7 * x - y"))
Ranking(kind='WEIGHTED_SUM', columns=('x', 'y'), numbers=(), weights=(0.7, -1.0))
>>> ranking_of(Expression("x * y")) is None
True
>>> ranking_of(Expression("x + (y + z)")) is None  # added in another order
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite

from crestline.language.expression import Expression
from crestline.language.nodes import (
    Binary,
    Column,
    FunctionCall,
    Literal,
    Node,
    Parentheses,
    Prefix,
)
from crestline.language.query import Query

#: What USING names where records are kept in cells of their attributes.
OVER_ATTRIBUTES = ("CPM", "SMA", "SNN", "TMA")
#: In more dimensions the cells next to a point hold most records; see docs/algorithms/cpm.md.
MOST_ATTRIBUTES = 6


@dataclass(frozen=True, slots=True)
class Ranking:
    """What points are ranked by.

    ``kind`` is DISTANCE, WEIGHTED_DISTANCE, ATTRIBUTE_DISTANCE, HAVERSINE, WEIGHTED_SUM or COSINE,
    of these columns (of COSINE one, an array). ``numbers`` are the point or vector, ``weights``
    those of the columns.
    """

    kind: str
    columns: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()


def ranking_of(expression: Expression) -> Ranking | None:
    """What the expression ranks points by; None if it does not."""
    try:
        match _bare(expression.root):
            case FunctionCall(
                name="DISTANCE" | "WEIGHTED_DISTANCE" | "ATTRIBUTE_DISTANCE" as name,
                arguments=points,
            ):
                columns, numbers, *weights = map(_coordinates, points)
                return Ranking(
                    name, _columns(columns), _numbers(numbers), _numbers(*weights or [()])
                )
            case FunctionCall(name="HAVERSINE", arguments=(latitude, longitude, *there)):
                return Ranking("HAVERSINE", _columns([latitude, longitude]), _numbers(there))
            case FunctionCall(name="COSINE", arguments=(vector, FunctionCall(arguments=elements))):
                return Ranking("COSINE", _columns([vector]), _numbers(elements))
            case root:
                terms = dict[str, float]()
                _add_terms(root, terms)
                return Ranking("WEIGHTED_SUM", tuple(terms), (), tuple(terms.values()))
    except _NotARanking:
        return None


@lru_cache(maxsize=256)
def attributes_of(query: Query) -> Ranking | None:
    """The ranking of a query whose records are kept in cells of these columns; None for others:
    those with another algorithm or a score without cells that can be nearest or best."""
    if query.using not in OVER_ATTRIBUTES or not dict(query.options).get("attributes", True):
        return None
    if query.combine is not None or query.probability is not None:
        return None
    ranking = ranking_of(query.order_by[0].expression)
    # In one dimension, cells of the attribute are cells of the score.
    if ranking is None or not 2 <= len(ranking.columns) <= MOST_ATTRIBUTES:
        return None
    if not all(map(isfinite, ranking.numbers + ranking.weights)):
        return None
    if ranking.kind == "WEIGHTED_SUM":
        return ranking
    if ranking.kind == "COSINE" or query.descending or min(ranking.weights, default=0.0) < 0.0:
        return None
    beyond = ranking.kind == "HAVERSINE" and abs(ranking.numbers[0]) > 90
    return None if beyond else ranking


class _NotARanking(Exception):
    """The expression is none of the rankings."""


def _bare(node: Node) -> Node:
    """The node without the parentheses around it."""
    while isinstance(node, Parentheses) and len(node.items) == 1:
        (node,) = node.items
    return node


def _coordinates(node: Node) -> Sequence[Node]:
    return node.items if isinstance(node, Parentheses) else (node,)


def _columns(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(map(_column, nodes))


def _column(node: Node) -> str:
    node = _bare(node)
    if not isinstance(node, Column):
        raise _NotARanking
    return node.name


def _numbers(nodes: Sequence[Node]) -> tuple[float, ...]:
    return tuple(map(_number, nodes))


def _number(node: Node) -> float:
    node = _bare(node)
    if isinstance(node, Prefix) and node.operator == "-":
        return -_number(node.operand)
    if not isinstance(node, Literal) or node.leaf.kind != "number":
        raise _NotARanking
    value = node.leaf.value
    assert isinstance(value, int | float)
    return float(value)


def _add_terms(node: Node, terms: dict[str, float]) -> None:
    """Add the columns of a sum with their factors; each column once, from left to right."""
    match _bare(node):
        case Binary(operator="+" | "-" as operator, left=left, right=right):
            _add_terms(left, terms)
            _add_term(right, 1.0 if operator == "+" else -1.0, terms)
        case term:
            _add_term(term, 1.0, terms)


def _add_term(node: Node, sign: float, terms: dict[str, float]) -> None:
    """Add a column, or a number times a column. Anything else would round in another order."""
    match _bare(node):
        case Prefix(operator="-", operand=operand):
            _add_term(operand, -sign, terms)
            return
        case Binary(operator="*", left=left, right=right):
            try:
                factor, name = _number(left), _column(right)
            except _NotARanking:
                factor, name = _number(right), _column(left)
        case bare:
            factor, name = 1.0, _column(bare)
    if name in terms:
        raise _NotARanking
    terms[name] = sign * factor


__all__ = ["MOST_ATTRIBUTES", "OVER_ATTRIBUTES", "Ranking", "attributes_of", "ranking_of"]
