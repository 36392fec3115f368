"""An expression as SQL of an engine.

Each node is written from templates whose values were compared in both engines, because a
translation that is nearly right would rank records differently. Arithmetic that overflows is NULL,
a division by zero is NULL, ``/`` divides doubles. Everything is in parentheses, since engines
disagree on the precedence of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from crestline.core.errors import QueryError
from crestline.language import geometry
from crestline.language.functions import (
    CASTS,
    DUCKDB,
    FUNCTIONS,
    REMAINDER,
    SPARK,
    TRUNCATIONS,
    Template,
    filled,
)
from crestline.language.nodes import (
    Between,
    Binary,
    Case,
    Cast,
    Chain,
    Column,
    Element,
    FunctionCall,
    Literal,
    Node,
    Parentheses,
    Predicate,
    Prefix,
    case_text,
)
from crestline.language.tokens import in_quotes, shortened

#: The longest SQL that an expression may become; DuckDB reads about that much in a second.
MAX_SQL = 300_000

Constant = TypeVar("Constant", int, str)


def _quotient(engine: int) -> Callable[[list[str]], str]:
    """DIV, of which no overflow stops a run."""
    template = (
        "CASE WHEN {1} = -1 THEN try_multiply({0}, -1L) ELSE {0} DIV nullif({1}, 0L) END",
        "TRY({0} // nullif({1}, 0))",
    )[engine]
    whole = f"({CASTS['BIGINT'][engine]})"
    return lambda operands: template.format(*(whole.format(operand) for operand in operands))


#: Arithmetic, (Spark, DuckDB), of which no overflow stops a run.
_ARITHMETIC: dict[str, tuple[Template, Template]] = {
    "+": ("try_add({0}, {1})", "TRY({0} + {1})"),
    "-": ("try_subtract({0}, {1})", "TRY({0} - {1})"),
    "*": ("try_multiply({0}, {1})", "TRY({0} * {1})"),
    "/": ("{d[0]} / nullif({d[1]}, 0e0)", "{d[0]} / nullif({d[1]}, 0e0)"),
    "%": REMAINDER,
    "||": ("concat({0}, {1})", "CAST({0} AS VARCHAR) || CAST({1} AS VARCHAR)"),
    "DIV": (_quotient(SPARK), _quotient(DUCKDB)),
}


class Printer:
    """Prints for Spark or DuckDB; errors point into ``text``."""

    def __init__(self, text: str, engine: int) -> None:
        self.text, self.engine = text, engine

    def print(self, node: Node) -> str:
        """The node as a piece of SQL that can stand anywhere."""
        sql = self._node(node)
        if len(sql) > MAX_SQL:
            raise self._error(
                node,
                f"the expression becomes more than {MAX_SQL:,} characters of SQL",
                "nest fewer casts and functions, or compute parts before the stream comes in",
            )
        return sql

    def _node(self, node: Node) -> str:
        match node:
            case Column():
                return in_quotes(node.name, ("`", '"')[self.engine])
            case Literal():
                return (node.leaf.spark, node.leaf.duckdb)[self.engine]
            case Parentheses(items=(item,)):
                return self.print(item)
            case Chain():
                return f"({f' {node.operator} '.join(map(self.print, node.operands))})"
            case Prefix(operator="NOT"):
                return f"(NOT {self.print(node.operand)})"
            case Prefix():
                return self._negated(node.operand)
            case Binary():
                return self._binary(node)
            case Predicate():
                predicate = (node.leaf.spark, node.leaf.duckdb)[self.engine]
                return self._filled(lambda texts: f"{texts[0]} {predicate}", node.operand)
            case Between():
                return self._filled(f"{{0}} {node.operator} {{1}} AND {{2}}", *node.operands)
            case Element():
                index = self._constant(node.index, int, "an index is a whole number")
                array = self.print(node.array)
                if self.engine == DUCKDB:
                    return f"list_extract({array}, {index + 1})"
                return f"get({array}, {index})"
            case Case(operand=None):
                return f"({case_text('', list(map(self.print, node.parts)))})"
            case Case(operand=Node() as operand):
                return self._filled(
                    lambda texts: case_text(texts[0], texts[1:]), operand, *node.parts
                )
            case Cast():
                return self._filled(CASTS[node.type][self.engine], node.operand)
            case FunctionCall():
                return self._call(node.name, node.arguments)
        raise self._error(
            node, "a list in parentheses is for DISTANCE and IN only", "write one expression"
        )

    def _filled(self, template: Template, *nodes: Node) -> str:
        return filled(template, list(map(self.print, nodes)), self.engine)

    def _binary(self, node: Binary) -> str:
        if (templates := _ARITHMETIC.get(node.operator)) is not None:
            return self._filled(templates[self.engine], node.left, node.right)
        operator = node.operator
        if operator == "<=>" and self.engine == DUCKDB:
            operator = "IS NOT DISTINCT FROM"
        return f"({self.print(node.left)} {operator} {self.print(node.right)})"

    def _negated(self, operand: Node) -> str:
        if isinstance(operand, Literal) and operand.leaf.kind == "number":
            return operand.leaf.negative[self.engine]
        template = ("try_multiply({0}, -1Y)", "TRY(-{0})")[self.engine]
        return template.format(self.print(operand))

    def _call(self, name: str, arguments: tuple[Node, ...]) -> str:
        if name in ("DISTANCE", "WEIGHTED_DISTANCE", "ATTRIBUTE_DISTANCE"):
            return self._distance(name, arguments)
        if name == "HAVERSINE":
            return self._filled(geometry.haversine, *arguments)
        if name == "COSINE":
            return self._cosine(*arguments)
        function = FUNCTIONS[name]
        texts = [
            self._restricted(name, position, argument)
            if position in function.literals
            else self.print(argument)
            for position, argument in enumerate(arguments)
        ]
        return function.call(texts, self.engine)

    def _restricted(self, name: str, position: int, argument: Node) -> str:
        """An argument that must be a literal, because engines differ on other values."""
        if name == "DATE_TRUNC":
            unit = self._constant(argument, str, "the unit of DATE_TRUNC is a text").lower()
            if unit not in TRUNCATIONS:
                raise self._error(
                    argument,
                    f"DATE_TRUNC does not know the unit {shortened(unit)!r}",
                    f"the units are {', '.join(TRUNCATIONS)}",
                )
            return f"'{unit}'"
        least, most = {"ROUND": (0, 10), "SUBSTRING": (2 - position, 1 << 30)}[name]
        expected = f"argument {position + 1} of {name} is a whole number from {least} to {most}"
        number = self._constant(argument, int, expected)
        if not least <= number <= most:
            raise self._error(argument, f"{expected}, not {number}", "change it")
        return str(number)

    def _distance(self, name: str, arguments: tuple[Node, ...]) -> str:
        points = [self._point(name, argument) for argument in arguments]
        dimensions = len(points[0])
        for point, argument in zip(points, arguments, strict=True):
            if len(point) != dimensions:
                raise self._error(
                    argument,
                    f"{len(point)} coordinates here, but {dimensions} in the first point",
                    f"give each the same number: {FUNCTIONS[name].example}",
                )
        if name == "ATTRIBUTE_DISTANCE":
            return self._filled(
                lambda texts: geometry.attribute_distance(
                    texts[:dimensions], texts[dimensions : 2 * dimensions], texts[2 * dimensions :]
                ),
                *(coordinate for point in points for coordinate in point),
            )
        return geometry.distance(*([self.print(each) for each in point] for point in points))

    def _point(self, name: str, argument: Node) -> Sequence[Node]:
        if isinstance(argument, Parentheses):
            return argument.items
        raise self._error(
            argument, f"{name} takes points in parentheses", f"write {FUNCTIONS[name].example}"
        )

    def _cosine(self, vector: Node, other: Node) -> str:
        usage = "COSINE takes an array column and an ARRAY of numbers"
        if not isinstance(other, FunctionCall) or other.name != "ARRAY":
            raise self._error(other, usage, f"write {FUNCTIONS['COSINE'].example}")
        weights = [float(self._number(element, usage)) for element in other.arguments]
        return self._filled(lambda texts: geometry.cosine(texts[0], weights)[self.engine], vector)

    def _number(self, node: Node, expected: str) -> float:
        if isinstance(node, Prefix) and node.operator == "-":
            return -self._number(node.operand, expected)
        leaf = node.leaf if isinstance(node, Literal) else None
        if leaf and leaf.kind == "number" and isinstance(leaf.value, int | float):
            return leaf.value
        raise self._error(node, expected, f"write {FUNCTIONS['COSINE'].example}")

    def _constant(self, node: Node, dtype: type[Constant], expected: str) -> Constant:
        """The value of an argument that must be a literal of this type."""
        leaf = node.leaf if isinstance(node, Literal) else None
        if leaf and leaf.kind in ("number", "text") and isinstance(leaf.value, dtype):
            return leaf.value
        raise self._error(node, expected, "write a literal")

    def _error(self, node: Node, message: str, hint: str) -> QueryError:
        return QueryError(message, self.text, node.token.start, node.token.length, hint)
