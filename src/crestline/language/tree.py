"""Scanned parts to a tree, by sqlglot, and the checks that make the tree trustworthy.

sqlglot's parser decides what binds to what. It is lenient where a query language should not be (it
forgives a missing operand; operators of equal rank in Spark differ in rank there), so its tree is
read back and compared:

1. the tree, written out again, must be the parts that went in, one by one;
2. every operand must bind tighter than its operator in the table below, which is Spark's;
   comparisons do not chain. What needs parentheses to be clear is refused.

A tree that passes has one reading only, the one that its canonical text shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlglot import Expr, TokenType, exp
from sqlglot import Token as SqlToken
from sqlglot.errors import ParseError
from sqlglot.parser import Parser

from crestline.core.errors import QueryError
from crestline.language.functions import FUNCTIONS
from crestline.language.literals import Leaf
from crestline.language.scanner import Part
from crestline.language.tokens import Token

#: How deep a tree may be, counting a chain of AND or OR as one level: engines have limits too.
MAX_DEPTH = 100

_TOKEN_TYPES = {
    "(": TokenType.L_PAREN,
    ")": TokenType.R_PAREN,
    "[": TokenType.L_BRACKET,
    "]": TokenType.R_BRACKET,
    ",": TokenType.COMMA,
    "+": TokenType.PLUS,
    "-": TokenType.DASH,
    "*": TokenType.STAR,
    "/": TokenType.SLASH,
    "%": TokenType.MOD,
    "||": TokenType.DPIPE,
    "=": TokenType.EQ,
    "<>": TokenType.NEQ,
    "<": TokenType.LT,
    "<=": TokenType.LTE,
    ">": TokenType.GT,
    ">=": TokenType.GTE,
    "<=>": TokenType.NULLSAFE_EQ,
    "AND": TokenType.AND,
    "OR": TokenType.OR,
    "NOT": TokenType.NOT,
    "DIV": TokenType.DIV,
    "BETWEEN": TokenType.BETWEEN,
    "NOT BETWEEN": TokenType.SIMILAR_TO,
    "CASE": TokenType.CASE,
    "WHEN": TokenType.WHEN,
    "THEN": TokenType.THEN,
    "ELSE": TokenType.ELSE,
    "END": TokenType.END,
}

#: Operators, their key and their level: the higher, the tighter they bind.
OPERATORS: dict[type[Expr], tuple[str, int]] = {
    exp.Or: ("OR", 1),
    exp.And: ("AND", 2),
    exp.EQ: ("=", 4),
    exp.NEQ: ("<>", 4),
    exp.NullSafeEQ: ("<=>", 4),
    exp.LT: ("<", 4),
    exp.LTE: ("<=", 4),
    exp.GT: (">", 4),
    exp.GTE: (">=", 4),
    exp.Add: ("+", 5),
    exp.Sub: ("-", 5),
    exp.DPipe: ("||", 5),
    exp.Mul: ("*", 6),
    exp.Div: ("/", 6),
    exp.Mod: ("%", 6),
    exp.IntDiv: ("DIV", 6),
}
#: The level of comparisons and predicates; above it are calculations.
COMPARISON = 4
_NOT, _NEGATION, _TIGHTEST = 3, 7, 9


def _between(name: str) -> Callable[[Parser, Expr | None], Expr]:
    """BETWEEN as a call, so that its negation keeps its place."""

    def parse(parser: Parser, this: Expr | None) -> Expr:
        low = parser._parse_bitwise()
        if not parser._match(TokenType.AND):
            parser.raise_error("expected AND")
        return exp.Anonymous(this=name, expressions=[this, low, parser._parse_bitwise()])

    return parse


class _Parser(Parser):
    """sqlglot's parser without functions of its own, with Spark's ranks of operators."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS = {"CASE": lambda self: self._parse_case()}
    ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
    BITWISE: ClassVar[dict[TokenType, Any]] = {}
    TERM = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub, TokenType.DPIPE: exp.DPipe}
    FACTOR = {
        TokenType.STAR: exp.Mul,
        TokenType.SLASH: exp.Div,
        TokenType.MOD: exp.Mod,
        TokenType.DIV: exp.IntDiv,
    }
    RANGE_PARSERS = {
        TokenType.BETWEEN: _between("BETWEEN"),
        TokenType.SIMILAR_TO: _between("NOT BETWEEN"),
    }


@dataclass(frozen=True, slots=True)
class Tree:
    """A checked tree: the root, the leaves by the name that stands for them, places by node id."""

    root: Expr
    leaves: dict[str, Leaf]
    places: dict[int, Token]

    def leaf(self, node: Expr) -> Leaf | None:
        """The leaf that a node stands for, if it is one."""
        return self.leaves.get(node.name) if isinstance(node, exp.Column) else None


def build(text: str, parts: list[Part]) -> Tree:
    """The tree of an expression, or ``QueryError`` at the part that does not fit."""
    leaves = {part.key: part.leaf for part in parts if part.leaf is not None}
    try:
        root = _parsed(parts)
    except ParseError as error:
        # Every token carries its number in place of a column.
        number = error.errors[0].get("col") if error.errors else None
        raise _misfit(text, parts, number if isinstance(number, int) else len(parts)) from None
    except RecursionError:
        raise _error(text, parts[0], "the expression nests too deep", "simplify it") from None
    tree = Tree(root, leaves, {})
    _Check(text, parts, tree).run()
    return tree


def _parsed(parts: list[Part]) -> Expr:
    if len(parts) == 1 and parts[0].leaf:  # most expressions are a column, and need no parser
        return exp.column(parts[0].key, quoted=True)
    tokens = []
    for number, part in enumerate(parts):
        kind = TokenType.IDENTIFIER if part.leaf else _TOKEN_TYPES.get(part.key, TokenType.VAR)
        tokens.append(SqlToken(kind, part.key, line=1, col=number))
    root = _Parser(dialect="spark").parse_into(exp.Condition, tokens, "")[0]
    if root is None:
        raise ParseError("nothing was read")
    return root


class _Check:
    """Writes the tree out again and compares; also checks levels, depth and arguments."""

    def __init__(self, text: str, parts: list[Part], tree: Tree) -> None:
        self.text, self.parts, self.tree = text, parts, tree

    def run(self) -> None:
        written = 0
        # Without recursion: a chain of a thousand additions is a tree a thousand levels deep.
        stack: list[tuple[Expr | str, int]] = [(self.tree.root, 1)]
        while stack:
            item, depth = stack.pop()
            if isinstance(item, str):
                if written >= len(self.parts) or self.parts[written].key != item:
                    raise _misfit(self.text, self.parts, written)
                written += 1
                continue
            part = self.parts[min(written, len(self.parts) - 1)]
            self.tree.places[id(item)] = part.source
            if depth > MAX_DEPTH:
                raise _error(
                    self.text, part, f"the expression is more than {MAX_DEPTH} operations deep",
                    "group a long chain with parentheses: (a + b) + (c + d)",
                )  # fmt: skip
            for piece in reversed(self._pieces(item, part)):
                chained = isinstance(item, exp.Connector) and type(piece) is type(item)
                stack.append((piece, depth if chained else depth + 1))
        if written != len(self.parts):
            raise _misfit(self.text, self.parts, written)

    def _pieces(self, node: Expr, part: Part) -> list[Expr | str]:
        """The node as keys and children, in the order in which they are written."""
        if type(node) in OPERATORS:
            key, level = OPERATORS[type(node)]
            left, right = node.args.get("this"), node.args.get("expression")
            # Only comparisons do not associate; a connector may also lean to the right.
            self._binds(left, level + (level == COMPARISON), part)
            self._binds(right, level + (not isinstance(node, exp.Connector)), part)
            return [*_given(left), key, *_given(right)]
        if isinstance(node, exp.Column):
            return [node.name]
        if isinstance(node, exp.Paren):
            return ["(", node.this, ")"]
        if isinstance(node, exp.Neg | exp.Not):
            level = _NEGATION if isinstance(node, exp.Neg) else _NOT
            self._binds(node.this, level, part)
            return ["-" if isinstance(node, exp.Neg) else "NOT", *_given(node.this)]
        if isinstance(node, exp.Tuple):
            return ["(", *_separated(node.expressions), ")"]
        if isinstance(node, exp.Bracket):
            return [*_given(node.this), "[", *_separated(node.expressions), "]"]
        if isinstance(node, exp.Case):
            return self._case(node)
        if isinstance(node, exp.Anonymous) and isinstance(node.this, str):
            return self._call(node, node.this, part)
        raise _error(
            self.text, part, "this is not part of an expression",
            "an expression is made of columns, literals, operators and functions",
        )  # fmt: skip

    def _case(self, node: exp.Case) -> list[Expr | str]:
        pieces: list[Expr | str] = ["CASE", *_given(node.args.get("this"))]
        for branch in node.args["ifs"]:
            pieces += ["WHEN", *_given(branch.this), "THEN", *_given(branch.args.get("true"))]
        if (default := node.args.get("default")) is not None:
            pieces += ["ELSE", default]
        return [*pieces, "END"]

    def _call(self, node: exp.Anonymous, name: str, part: Part) -> list[Expr | str]:
        arguments = node.expressions
        if name.endswith("BETWEEN"):
            for argument in arguments:
                self._binds(argument, COMPARISON + 1, part)
            value, low, high = arguments
            return [*_given(value), name, *_given(low), "AND", *_given(high)]
        function = FUNCTIONS[name]
        if not function.least <= len(arguments) <= function.most:
            few = len(arguments) < function.least
            allowed = function.least if few else function.most
            raise _error(
                self.text, part,
                f"{name} takes {'at least' if few else 'at most'} {allowed} argument"
                f"{'s' * (allowed != 1)}, not {len(arguments)}",
                f"write {function.example}",
            )  # fmt: skip
        return [name, "(", *_separated(arguments), ")"]

    def _binds(self, operand: Expr | None, least: int, part: Part) -> None:
        if operand is None:
            return  # the comparison with the parts finds the gap
        if isinstance(operand, exp.Not):
            level = _NOT
        elif isinstance(operand, exp.Neg):
            level = _NEGATION
        elif isinstance(operand, exp.Anonymous) and str(operand.this).endswith("BETWEEN"):
            level = COMPARISON
        else:
            level = OPERATORS.get(type(operand), ("", _TIGHTEST))[1]
        if level < least:
            raise _error(
                self.text, part, "what belongs together here is not clear",
                "use parentheses: comparisons do not chain, write a < b AND b < c",
            )  # fmt: skip


def _given(node: Expr | None) -> list[Expr | str]:
    return [] if node is None else [node]


def _separated(nodes: list[Expr]) -> list[Expr | str]:
    pieces: list[Expr | str] = []
    for node in nodes:
        pieces += [",", node]
    return pieces[1:]


def _misfit(text: str, parts: list[Part], number: int) -> QueryError:
    if number >= len(parts):
        return _error(text, parts[-1], "the expression is not complete", "something is missing")
    part = parts[number]
    return _error(text, part, f"{part.source.described()} does not fit here", _advice(parts))


def _advice(parts: list[Part]) -> str:
    keys = {part.key for part in parts}
    if "CASE" in keys:
        return "write CASE WHEN condition THEN value ELSE value END"
    if "BETWEEN" in keys or "NOT BETWEEN" in keys:
        return "write x BETWEEN low AND high"
    return "check the operators and parentheses around it"


def _error(text: str, part: Part, message: str, hint: str) -> QueryError:
    return QueryError(message, text, part.source.start, part.source.length, hint)
