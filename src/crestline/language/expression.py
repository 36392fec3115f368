"""Scalar expressions and conditions.

>>> ratio = Expression("coalesce(bytes, 0) / Packets")
>>> ratio.sql, ratio.columns, ratio.column
('COALESCE(bytes, 0) / Packets', ('bytes', 'Packets'), None)
>>> Expression("`unit price`").to("duckdb")
'"unit price"'
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from crestline.core.errors import QueryError
from crestline.language.cursor import Cursor
from crestline.language.grammar import read_nodes
from crestline.language.nodes import Column, Node, canonical, columns
from crestline.language.printer import Printer
from crestline.language.tokens import MAX_CHARACTERS, TokenKind, quoted_name

_ENGINES = ("spark", "duckdb")


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked scalar expression; ``sql`` is its canonical text, so equal texts are equal.

    The canonical text is Spark SQL, with DISTANCE and its like still by name; ``to("spark")`` and
    ``to("duckdb")`` write it out for an engine.
    """

    sql: str
    root: Node = field(init=False, repr=False, compare=False)
    #: The columns that are read, each once, in the order of their first use.
    columns: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        cursor = Cursor(self.sql)
        root = _read_root(cursor)
        rest = cursor.token
        if rest.kind is not TokenKind.END:
            raise cursor.error(f"{rest.described()} does not belong to the expression")
        self._set(root)

    @classmethod
    def _of(cls, root: Node) -> Expression:
        expression = cls.__new__(cls)
        expression._set(root)
        return expression

    def _set(self, root: Node) -> None:
        object.__setattr__(self, "sql", canonical(root))
        object.__setattr__(self, "root", root)
        names = tuple(dict.fromkeys(column.name for column in columns(root)))
        object.__setattr__(self, "columns", names)

    @property
    def column(self) -> str | None:
        """The name, if the expression is nothing but a column."""
        return self.root.name if isinstance(self.root, Column) else None

    def to(self, dialect: str) -> str:
        """Write the expression as SQL of ``"spark"`` or ``"duckdb"``, with the same value in both.

        >>> Expression("a / 2").to("duckdb")
        '(TRY_CAST("a" AS DOUBLE) / nullif(TRY_CAST(CAST(2 AS INTEGER) AS DOUBLE), 0e0))'
        """
        if dialect not in _ENGINES:
            raise ValueError(f"dialect {dialect!r} is not one of {', '.join(_ENGINES)}")
        return Printer(self.sql, _ENGINES.index(dialect)).print(self.root)

    def __str__(self) -> str:
        return self.sql


def _read_root(cursor: Cursor) -> Node:
    root = read_nodes(cursor)
    for engine in range(len(_ENGINES)):  # what cannot be printed is an error now, not later
        Printer(cursor.text, engine).print(root)
    return root


def read_expression(cursor: Cursor, aliases: Mapping[str, Expression] | None = None) -> Expression:
    """Read the expression that begins at the cursor.

    A name without the stream before it that is among the ``aliases``, in lower case, stands for
    that expression.
    """
    token = cursor.token
    expression = Expression._of(_read_root(cursor))
    meant = {
        column: aliases[column.name.casefold()]
        for column in columns(expression.root)
        if aliases and not column.qualified and column.name.casefold() in aliases
    }
    if not meant:
        return expression
    try:
        return _with_aliases(expression.root, meant)
    except QueryError as error:  # of the longer text, which nobody has written
        raise cursor.error(error.message, token, error.hint) from None


def _with_aliases(root: Node, meant: Mapping[Column, Expression]) -> Expression:
    """The expression in which some columns stand for others."""
    if isinstance(root, Column):
        return meant[root]
    texts = {c: e.sql if e.column is not None else f"({e.sql})" for c, e in meant.items()}
    if sum(map(len, texts.values())) > MAX_CHARACTERS:
        raise QueryError(
            f"with the selected expressions that it names this has more than {MAX_CHARACTERS:,}"
            " characters",
            hint="compute parts of it before the stream comes in",
        )
    return Expression(canonical(root, lambda c: texts.get(c) or quoted_name(c.name)))


def read_column(cursor: Cursor, what: str) -> str:
    """Read the name of a column, which the stream may precede."""
    token = cursor.token
    column = read_expression(cursor).column
    if column is None:
        raise cursor.error(f"{what} is the plain name of a column", token)
    return column


def qualified(expression: Expression, names: Collection[str], stream: str) -> str:
    """The canonical text with the stream before columns of these ``names``, in lower case.

    >>> qualified(Expression("a + Price"), {"price"}, "trades")
    'a + trades.Price'
    """

    def written(column: Column) -> str:
        name = quoted_name(column.name)
        return f"{quoted_name(stream)}.{name}" if column.name.casefold() in names else name

    return canonical(expression.root, written)
