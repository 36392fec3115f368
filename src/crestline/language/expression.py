"""Scalar expressions and conditions.

>>> ratio = Expression("coalesce(bytes, 0) / Packets")
>>> ratio.sql, ratio.columns, ratio.column
('COALESCE(bytes, 0) / Packets', ('bytes', 'Packets'), None)
>>> Expression("`unit price`").to("duckdb")
'"unit price"'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from crestline.core.errors import QueryError
from crestline.language.printer import Printer, canonical
from crestline.language.scanner import Part, Scanner
from crestline.language.tokens import MAX_CHARACTERS, Kind, Token, quoted_name, tokenize
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
    text: str,
    tokens: list[Token],
    at: int,
    stream: str | None = None,
    aliases: Mapping[str, Expression] | None = None,
) -> tuple[Expression, int]:
    """The expression that begins at a token, and the number of the first token behind it.

    ``stream`` is the name that may stand before a column, as in ``SENSOR.location``; a name without
    it that is among the ``aliases``, in lower case, stands for that expression.
    """
    scanner = Scanner(text, tokens, at, stream)
    expression = Expression(_remembered(_read(scanner)).sql)
    meant = {
        number: alias
        for number in scanner.unqualified
        if (alias := (aliases or {}).get(_column_name(scanner.parts[number]).casefold()))
    }
    if meant:
        try:
            expression = _with_aliases(scanner.parts, meant)
        except QueryError as error:  # of the longer text, which nobody has written
            place = tokens[at]
            raise QueryError(error.message, text, place.start, place.length, error.hint) from None
    return expression, scanner.at


def _with_aliases(parts: list[Part], meant: Mapping[int, Expression]) -> Expression:
    """The expression of the parts, some of which stand for others."""
    if len(parts) == 1:
        return meant[0]
    texts = {n: a.sql if a.column is not None else f"({a.sql})" for n, a in meant.items()}
    return Expression(_rewritten(parts, texts))


def qualified(expression: Expression, names: Collection[str], stream: str) -> str:
    """The canonical text with the stream before columns of these ``names``, in lower case.

    >>> qualified(Expression("a + Price"), {"price"}, "trades")
    'a + trades.Price'
    """
    parts = Scanner(expression.sql, tokenize(expression.sql), 0).scan()
    texts = {
        number: f"{quoted_name(stream)}.{part.shown}"
        for number, part in enumerate(parts)
        if _is_column(part) and _column_name(part).casefold() in names
    }
    return _rewritten(parts, texts)


def _rewritten(parts: list[Part], texts: Mapping[int, str]) -> str:
    """The canonical text of the parts, with other ``texts`` for some of them."""
    if sum(len(texts.get(n, part.shown)) for n, part in enumerate(parts)) > MAX_CHARACTERS:
        raise QueryError(
            f"with the selected expressions that it names this has more than {MAX_CHARACTERS:,}"
            " characters",
            hint="compute parts of it before the stream comes in",
        )
    return canonical([replace(p, shown=texts.get(n, p.shown)) for n, p in enumerate(parts)])


def _is_column(part: Part) -> bool:
    return part.leaf is not None and part.leaf.kind == "column"


def _column_name(part: Part) -> str:
    assert part.leaf is not None
    return str(part.leaf.value)


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
    names = [_column_name(part) for part in parts if _is_column(part)]
    column = names[0] if names and len(parts) == 1 else None
    reading = _Reading(canonical(parts), tuple(dict.fromkeys(names)), column, scanner.text, tree)
    for engine in range(len(_ENGINES)):  # what cannot be printed is an error now, not later
        reading.printed(engine)
    return reading
