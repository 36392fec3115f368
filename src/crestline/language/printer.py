"""A checked tree as SQL of an engine, and the canonical text of an expression.

sqlglot could print its trees for any engine, but a translation that is nearly right would rank
records differently in the two engines. So every node is printed here, from templates whose values
were compared: arithmetic that overflows is NULL, a division by zero is NULL, ``/`` divides doubles,
and everything is in parentheses, since engines disagree on ranks of operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlglot import Expr, exp

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
from crestline.language.scanner import Part
from crestline.language.tokens import shortened
from crestline.language.tree import COMPARISON, OPERATORS, Tree

#: The longest SQL that an expression may become; DuckDB reads about that much in a second.
MAX_SQL = 300_000

Literal = TypeVar("Literal", int, str)


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
    """Prints for Spark (``engine=0``) or DuckDB (``engine=1``)."""

    def __init__(self, text: str, tree: Tree, engine: int) -> None:
        self.text, self.tree, self.engine = text, tree, engine

    def print(self, node: Expr | None = None) -> str:
        """The node, the root by default, as a piece of SQL that can stand anywhere."""
        node = self.tree.root if node is None else node
        leaf = self.tree.leaf(node)
        sql = self._node(node) if leaf is None else (leaf.spark, leaf.duckdb)[self.engine]
        if len(sql) > MAX_SQL:
            raise self._error(
                node,
                f"the expression becomes more than {MAX_SQL:,} characters of SQL",
                "nest fewer casts and functions, or compute parts before the stream comes in",
            )
        return sql

    def _node(self, node: Expr) -> str:
        if isinstance(node, exp.Paren):
            return self.print(node.this)
        if isinstance(node, exp.Connector):
            return self._connected(node)
        if isinstance(node, exp.Not):
            return f"(NOT {self.print(node.this)})"
        if isinstance(node, exp.Neg):
            return self._negated(node)
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.Bracket):
            index = self._literal(node.expressions[0], int, "an index is a whole number")
            array = self.print(node.this)
            return (f"get({array}, {index})", f"list_extract({array}, {index + 1})")[self.engine]
        if isinstance(node, exp.Anonymous):
            return self._call(str(node.this), node.expressions)
        if type(node) in OPERATORS:
            key, level = OPERATORS[type(node)]
            return self._compared(node, key) if level <= COMPARISON else self._calculated(node)
        raise self._error(
            node, "a list in parentheses is for DISTANCE and IN only", "write one expression"
        )

    def _connected(self, node: exp.Connector) -> str:
        """A chain of AND or OR without nesting, since chains may be long."""
        operands: list[Expr] = []
        stack: list[Expr] = [node]
        while stack:
            top = stack.pop()
            if type(top) is type(node):
                stack += [top.args["expression"], top.this]
            else:
                operands.append(top)
        word = " AND " if isinstance(node, exp.And) else " OR "
        return f"({word.join(self.print(operand) for operand in operands)})"

    def _compared(self, node: Expr, key: str) -> str:
        right = node.args["expression"]
        leaf = self.tree.leaf(right)
        if leaf is not None and leaf.kind == "predicate":
            predicate = (leaf.spark, leaf.duckdb)[self.engine]
            return filled(
                lambda texts: f"{texts[0]} {predicate}", [self.print(node.this)], self.engine
            )
        if key == "<=>" and self.engine:
            key = "IS NOT DISTINCT FROM"
        return f"({self.print(node.this)} {key} {self.print(right)})"

    def _calculated(self, node: Expr) -> str:
        """Arithmetic; a chain leans to the left and is followed down in a loop."""
        chain: list[Expr] = []
        while type(node) in _CALCULATIONS:
            chain.append(node)
            node = node.this
        sql = self.print(node)
        for step in reversed(chain):
            template = _ARITHMETIC[OPERATORS[type(step)][0]][self.engine]
            sql = filled(template, [sql, self.print(step.args["expression"])], self.engine)
            if len(sql) > MAX_SQL:
                break
        return sql

    def _negated(self, node: exp.Neg) -> str:
        leaf = self.tree.leaf(node.this)
        if leaf is not None and leaf.kind == "number":
            return leaf.negative[self.engine]
        template = ("try_multiply({0}, -1Y)", "TRY(-{0})")[self.engine]
        return template.format(self.print(node.this))

    def _case(self, node: exp.Case) -> str:
        nodes = [node.this]
        for branch in node.args["ifs"]:
            nodes += [branch.this, branch.args["true"]]
        nodes.append(node.args.get("default"))
        texts = [self.print(node) for node in nodes if node is not None]
        if node.this is None:
            return f"({_case_of('', texts)})"
        return filled(lambda texts: _case_of(texts[0], texts[1:]), texts, self.engine)

    def _call(self, name: str, arguments: list[Expr]) -> str:
        if name.endswith("BETWEEN"):
            texts = [self.print(argument) for argument in arguments]
            return filled(f"{{0}} {name} {{1}} AND {{2}}", texts, self.engine)
        if name == "CAST":
            leaf = self.tree.leaf(arguments[1])
            assert leaf is not None
            template = CASTS[str(leaf.value)][self.engine]
            return filled(template, [self.print(arguments[0])], self.engine)
        if name in ("DISTANCE", "WEIGHTED_DISTANCE"):
            return self._distance(name, arguments)
        if name == "HAVERSINE":
            texts = [self.print(argument) for argument in arguments]
            return filled(geometry.haversine, texts, self.engine)
        if name == "COSINE":
            return self._cosine(*arguments)
        function = FUNCTIONS[name]
        texts = [
            self._restricted(name, position, argument)
            if position in function.literals
            else self.print(argument)
            for position, argument in enumerate(arguments)
        ]
        return function.in_duckdb(texts) if self.engine else function.in_spark(texts)

    def _restricted(self, name: str, position: int, argument: Expr) -> str:
        """An argument that must be a literal, because engines differ on other values."""
        if name == "DATE_TRUNC":
            unit = self._literal(argument, str, "the unit of DATE_TRUNC is a text").lower()
            if unit not in TRUNCATIONS:
                raise self._error(
                    argument,
                    f"DATE_TRUNC does not know the unit {shortened(unit)!r}",
                    f"the units are {', '.join(TRUNCATIONS)}",
                )
            return f"'{unit}'"
        least, most = {"ROUND": (0, 10), "SUBSTRING": (2 - position, 1 << 30)}[name]
        expected = f"argument {position + 1} of {name} is a whole number from {least} to {most}"
        number = self._literal(argument, int, expected)
        if not least <= number <= most:
            raise self._error(argument, f"{expected}, not {number}", "change it")
        return str(number)

    def _distance(self, name: str, arguments: list[Expr]) -> str:
        points = [self._point(name, argument) for argument in arguments]
        for point, argument in zip(points, arguments, strict=True):
            if len(point) != len(points[0]):
                raise self._error(
                    argument,
                    f"{len(point)} coordinates here, but {len(points[0])} in the first point",
                    f"give each the same number: {FUNCTIONS[name].example}",
                )
        return geometry.distance(*points)

    def _point(self, name: str, argument: Expr) -> list[str]:
        if isinstance(argument, exp.Tuple) and argument.expressions:
            return [self.print(coordinate) for coordinate in argument.expressions]
        if isinstance(argument, exp.Paren):
            return [self.print(argument.this)]
        raise self._error(
            argument, f"{name} takes points in parentheses", f"write {FUNCTIONS[name].example}"
        )

    def _cosine(self, vector: Expr, other: Expr) -> str:
        usage = "COSINE takes an array column and an ARRAY of numbers"
        if not isinstance(other, exp.Anonymous) or other.this != "ARRAY":
            raise self._error(other, usage, f"write {FUNCTIONS['COSINE'].example}")
        weights = [float(self._number(element, usage)) for element in other.expressions]
        return filled(
            lambda texts: geometry.cosine(texts[0], weights)[self.engine],
            [self.print(vector)],
            self.engine,
        )

    def _number(self, node: Expr, expected: str) -> float:
        if isinstance(node, exp.Neg):
            return -self._number(node.this, expected)
        leaf = self.tree.leaf(node)
        if leaf is not None and leaf.kind == "number" and isinstance(leaf.value, int | float):
            return leaf.value
        raise self._error(node, expected, f"write {FUNCTIONS['COSINE'].example}")

    def _literal(self, node: Expr, kind: type[Literal], expected: str) -> Literal:
        leaf = self.tree.leaf(node)
        if leaf is not None and leaf.kind in ("number", "text") and isinstance(leaf.value, kind):
            return leaf.value
        raise self._error(node, expected, "write a literal")

    def _error(self, node: Expr, message: str, hint: str) -> QueryError:
        place = self.tree.places[id(node)]
        return QueryError(message, self.text, place.start, place.length, hint)


def _case_of(operand: str, texts: list[str]) -> str:
    """CASE with texts for WHEN and THEN in turn, and for ELSE if there is one more."""
    arms = [f"WHEN {w} THEN {t}" for w, t in zip(texts[::2], texts[1::2], strict=False)]
    default = [f"ELSE {texts[-1]}"] * (len(texts) % 2)
    return " ".join(["CASE", *([operand] if operand else []), *arms, *default, "END"])


_CALCULATIONS = {operator for operator, (_, level) in OPERATORS.items() if level > COMPARISON}


def canonical(parts: list[Part]) -> str:
    """The parts on one line, with the spaces that people put.

    The tree was compared with the parts, so this text has that tree.
    """
    written = ""
    previous = ""
    for number, part in enumerate(parts):
        prefix = part.key == "-" and _expects_operand(parts[number - 1].key if number else "")
        if not part.shown:
            continue
        if written and not (
            part.key in (")", "]", ",", "[")
            and part.shown != "AS"
            or previous in ("(", "[")
            or previous == "prefix"
            and part.key != "-"  # -- would begin a comment
            or part.key == "("
            and previous in FUNCTIONS
        ):
            written += " "
        written += part.shown
        previous = "prefix" if prefix else part.key
    return written


def _expects_operand(key: str) -> bool:
    return not (key.startswith("#") or key in (")", "]", "END"))
