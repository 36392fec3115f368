"""Scalar expressions and conditions.

>>> ratio = Expression("coalesce(bytes, 0) / Packets")
>>> ratio.sql, ratio.columns, ratio.column
('COALESCE(bytes, 0) / Packets', ('bytes', 'Packets'), None)
>>> Expression("`unit price`").to("duckdb")
'"unit price"'
"""

from __future__ import annotations

from dataclasses import dataclass

from crestline.core.errors import QueryError
from crestline.language.printer import Printer, canonical
from crestline.language.scanner import Scanner
from crestline.language.tokens import Kind, Token, tokenize
from crestline.language.tree import Tree, build

_ENGINES = ("spark", "duckdb")


@dataclass(frozen=True, slots=True)
class _Reading:
    """What there is to know about an expression."""

    sql: str
    columns: tuple[str, ...]
    column: str | None
    text: str
    tree: Tree

    def printed(self, engine: int) -> str:
        return Printer(self.text, self.tree, engine).print()


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked scalar expression; ``sql`` is its canonical text, so equal texts are equal.

    The canonical text is Spark SQL, with DISTANCE and its like still by name; ``to("spark")`` and
    ``to("duckdb")`` write it out for an engine.
    """

    sql: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "sql", _reading(self.sql).sql)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, each once, in the order of their first use."""
        return _reading(self.sql).columns

    @property
    def column(self) -> str | None:
        """The name, if the expression is nothing but a column."""
        return _reading(self.sql).column

    def to(self, dialect: str) -> str:
        """The expression as SQL of ``"spark"`` or ``"duckdb"``, with the same value in both.

        >>> Expression("a / 2").to("duckdb")
        '(TRY_CAST("a" AS DOUBLE) / nullif(TRY_CAST(CAST(2 AS INTEGER) AS DOUBLE), 0e0))'
        """
        if dialect not in _ENGINES:
            raise ValueError(f"dialect {dialect!r} is not one of {', '.join(_ENGINES)}")
        return _reading(self.sql).printed(_ENGINES.index(dialect))

    def __str__(self) -> str:
        return self.sql


def tree_of(expression: Expression) -> Tree:
    """The checked tree of an expression."""
    return _reading(expression.sql).tree


def read_expression(
    text: str, tokens: list[Token], at: int, stream: str | None = None
) -> tuple[Expression, int]:
    """The expression that begins at a token, and the number of the first token behind it.

    ``stream`` is the name that may stand before a column, as in ``SENSOR.location``.
    """
    scanner = Scanner(text, tokens, at, stream)
    return Expression(_remembered(_read(scanner)).sql), scanner.at


#: Readings by canonical text; the oldest go first.
_readings: dict[str, _Reading] = {}
_MOST_READINGS = 1024


def _reading(sql: str) -> _Reading:
    known = _readings.get(sql)
    if known is not None:
        return known
    tokens = tokenize(sql)
    scanner = Scanner(sql, tokens, 0)
    reading = _read(scanner)
    rest = tokens[scanner.at]
    if rest.kind is not Kind.END:
        raise QueryError(
            f"{rest.described()} does not belong to the expression", sql, rest.start, rest.length
        )
    return _remembered(reading)


def _remembered(reading: _Reading) -> _Reading:
    while len(_readings) >= _MOST_READINGS:
        _readings.pop(next(iter(_readings), ""), None)
    _readings[reading.sql] = reading
    return reading


def _read(scanner: Scanner) -> _Reading:
    parts = scanner.scan()
    tree = build(scanner.text, parts)
    names = [str(part.leaf.value) for part in parts if part.leaf and part.leaf.kind == "column"]
    column = names[0] if names and len(parts) == 1 else None
    reading = _Reading(canonical(parts), tuple(dict.fromkeys(names)), column, scanner.text, tree)
    for engine in range(len(_ENGINES)):  # what cannot be printed is an error now, not later
        reading.printed(engine)
    return reading
