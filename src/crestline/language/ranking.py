"""A first ORDER BY term that ranks points: by distance (also on earth), weighted sum or angle.

>>> from crestline.language.expression import Expression
>>> ranking_of(Expression("DISTANCE((x, y), (1.0, -2))"))
Ranking(kind='DISTANCE', columns=('x', 'y'), numbers=(1.0, -2.0), weights=())
>>> ranking_of(Expression("0.7 * x - y"))
Ranking(kind='WEIGHTED_SUM', columns=('x', 'y'), numbers=(), weights=(0.7, -1.0))
>>> ranking_of(Expression("x * y")) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Expr, exp

from crestline.language.expression import Expression, tree_of
from crestline.language.tree import Tree


@dataclass(frozen=True, slots=True)
class Ranking:
    """``kind`` is DISTANCE, WEIGHTED_DISTANCE, HAVERSINE, WEIGHTED_SUM or COSINE, of these columns
    (of COSINE one, an array); ``numbers`` are the point or vector, ``weights`` the columns'."""

    kind: str
    columns: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()


def ranking_of(expression: Expression) -> Ranking | None:
    """What the expression ranks points by; None if it is none of these."""
    tree = tree_of(expression)
    root = _bare(tree.root)
    try:
        if isinstance(root, exp.Anonymous) and root.this in ("DISTANCE", "WEIGHTED_DISTANCE"):
            columns, *numbers = (_listed(argument) for argument in root.expressions)
            weights = tuple(_number(tree, n) for n in numbers[1]) if numbers[1:] else ()
            point = tuple(_number(tree, n) for n in numbers[0])
            return Ranking(root.this, tuple(_column(tree, c) for c in columns), point, weights)
        if isinstance(root, exp.Anonymous) and root.this == "HAVERSINE":
            latitude, longitude, *there = root.expressions
            columns_of = (_column(tree, latitude), _column(tree, longitude))
            return Ranking("HAVERSINE", columns_of, tuple(_number(tree, n) for n in there))
        if isinstance(root, exp.Anonymous) and root.this == "COSINE":
            vector, other = root.expressions
            numbers_of = tuple(_number(tree, n) for n in other.expressions)
            return Ranking("COSINE", (_column(tree, vector),), numbers_of)
        terms = dict[str, float]()
        _add_terms(tree, root, 1.0, terms)
    except _SomethingElse:
        return None
    return Ranking("WEIGHTED_SUM", tuple(terms), (), tuple(terms.values()))


class _SomethingElse(Exception):
    """The expression is not of the kind that was hoped for."""


def _bare(node: Expr) -> Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _listed(node: Expr) -> list[Expr]:
    return list(node.expressions) if isinstance(node, exp.Tuple) else [_bare(node)]


def _column(tree: Tree, node: Expr) -> str:
    leaf = tree.leaf(_bare(node))
    if leaf is None or leaf.kind != "column":
        raise _SomethingElse
    return str(leaf.value)


def _number(tree: Tree, node: Expr) -> float:
    node = _bare(node)
    if isinstance(node, exp.Neg):
        return -_number(tree, node.this)
    leaf = tree.leaf(node)
    if leaf is None or leaf.kind != "number" or not isinstance(leaf.value, int | float):
        raise _SomethingElse
    return float(leaf.value)


def _add_terms(tree: Tree, node: Expr, factor: float, terms: dict[str, float]) -> None:
    """The columns of a sum with their factors; each column once."""
    node = _bare(node)
    if isinstance(node, exp.Add | exp.Sub):
        _add_terms(tree, node.this, factor, terms)
        sign = factor if isinstance(node, exp.Add) else -factor
        _add_terms(tree, node.args["expression"], sign, terms)
        return
    if isinstance(node, exp.Neg):
        _add_terms(tree, node.this, -factor, terms)
        return
    if isinstance(node, exp.Mul):
        left, right = node.this, node.args["expression"]
        try:
            _add_terms(tree, right, factor * _number(tree, left), terms)
        except _SomethingElse:
            _add_terms(tree, left, factor * _number(tree, right), terms)
        return
    name = _column(tree, node)
    if name in terms:
        raise _SomethingElse
    terms[name] = factor


__all__ = ["Ranking", "ranking_of"]
