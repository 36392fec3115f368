"""The nodes of an expression, and their canonical text.

Nodes are immutable. Parentheses are nodes too, so the canonical text keeps them as they were
written and never needs to add any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from crestline.language.literals import Leaf
from crestline.language.tokens import Token, quoted_name


@dataclass(frozen=True, slots=True)
class Node:
    """``token`` is the first token of the node: errors point at it."""

    token: Token


@dataclass(frozen=True, slots=True)
class Column(Node):
    """``qualified`` if the stream stands before the name."""

    name: str
    qualified: bool = False


@dataclass(frozen=True, slots=True)
class Literal(Node):
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Parentheses(Node):
    """Parentheses around one expression, or around several: a point of DISTANCE."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Prefix(Node):
    """``-`` or ``NOT``."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, ``||`` or a comparison."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """Operands with ``AND``, or ``OR``, between all of them: such chains may be long."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Predicate(Node):
    """``IS NULL``, ``IN (...)`` or ``LIKE '...'`` behind an operand."""

    operand: Node
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Between(Node):
    """``operator`` is ``BETWEEN`` or ``NOT BETWEEN``; the operands are the value, low and high."""

    operator: str
    operands: tuple[Node, Node, Node]


@dataclass(frozen=True, slots=True)
class Element(Node):
    array: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Case(Node):
    """``parts`` are those of WHEN and THEN in turn, and that of ELSE if there is one more."""

    operand: Node | None
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class FunctionCall(Node):
    name: str
    arguments: tuple[Node, ...]


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below this one, in the order in which they are written."""
    match node:
        case Parentheses(items=nodes) | Chain(operands=nodes) | Between(operands=nodes):
            return nodes
        case FunctionCall(arguments=nodes):
            return nodes
        case Prefix(operand=operand) | Predicate(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(left=first, right=second) | Element(array=first, index=second):
            return first, second
        case Case(operand=None):
            return node.parts
        case Case(operand=Node() as operand):
            return (operand, *node.parts)
    return ()


def columns(root: Node) -> Iterator[Column]:
    """The columns of an expression, in the order in which they are written."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Column):
            yield node
        stack += reversed(children(node))


def _plain(column: Column) -> str:
    return quoted_name(column.name)


def canonical(node: Node, column: Callable[[Column], str] = _plain) -> str:
    """The node on one line, with the spaces that people put; ``column`` writes the columns."""

    def written(node: Node) -> str:
        return canonical(node, column)

    match node:
        case Column():
            return column(node)
        case Literal():
            return node.leaf.canonical
        case Parentheses():
            return f"({', '.join(map(written, node.items))})"
        case Prefix():
            operand = written(node.operand)
            # Two minus signs side by side would begin a comment.
            apart = node.operator == "NOT" or operand.startswith("-")
            return f"{node.operator}{' ' * apart}{operand}"
        case Binary():
            return f"{written(node.left)} {node.operator} {written(node.right)}"
        case Chain():
            return f" {node.operator} ".join(map(written, node.operands))
        case Predicate():
            return f"{written(node.operand)} {node.leaf.canonical}"
        case Between():
            value, low, high = map(written, node.operands)
            return f"{value} {node.operator} {low} AND {high}"
        case Element():
            return f"{written(node.array)}[{written(node.index)}]"
        case Case():
            operand = "" if node.operand is None else written(node.operand)
            return case_text(operand, [written(part) for part in node.parts])
        case Cast():
            return f"CAST({written(node.operand)} AS {node.type})"
        case FunctionCall():
            return f"{node.name}({', '.join(map(written, node.arguments))})"
    raise AssertionError(f"a node of an unknown class: {node!r}")


def case_text(operand: str, parts: list[str]) -> str:
    """CASE with parts for WHEN and THEN in turn, and for ELSE if there is one more.

    >>> case_text("", ["a", "b", "c"])
    'CASE WHEN a THEN b ELSE c END'
    """
    arms = [f"WHEN {w} THEN {t}" for w, t in zip(parts[::2], parts[1::2], strict=False)]
    default = [f"ELSE {parts[-1]}"] * (len(parts) % 2)
    return " ".join(["CASE", *([operand] if operand else []), *arms, *default, "END"])
