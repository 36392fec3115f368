"""A query while it is read: what its clauses must know of one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crestline.language.cursor import Cursor, Item
from crestline.language.query import Selected
from crestline.language.tokens import Token, TokenKind

#: A selected column and its first token: a bad name shows there.
Placed = tuple[Selected, Token]
#: Fields of ``Query`` by name.
Fields = dict[str, Any]


@dataclass
class Draft:
    """What was read before the clauses behind FROM, and tokens that later checks point at."""

    select: list[Placed] = field(default_factory=list)
    #: Before which of the selected columns ``*`` stands; None if it is not selected.
    star: int | None = None
    #: The streams behind FROM, by their names in lower case.
    inputs: dict[str, str] = field(default_factory=dict)
    #: The tokens of ``star``, ``second_input``, ``order_by`` and ``summed``, if there are any.
    tokens: dict[str, Token] = field(default_factory=dict)

    @property
    def selected(self) -> list[Selected]:
        return [item for item, _ in self.select]


@dataclass(frozen=True, slots=True)
class StreamDefaults:
    """What a query on a stream means when it does not say so itself.

    ``order_by`` is the text of ORDER BY terms, ``on`` the event-time column of time windows.
    ``probability`` is that of a record, for queries with neither WITH PROBABILITY nor COMBINE;
    ``exclusive_by`` is the column of its rule, where ``probability`` is used.
    """

    order_by: str | None = None
    on: str | None = None
    probability: str | None = None
    exclusive_by: str | None = None


Defaults = Mapping[str, StreamDefaults]


def read_default(cursor: Cursor, text: str, read: Callable[[Cursor], Item]) -> Item:
    """Read the text of a default; errors show that text instead of the query."""
    inner = Cursor(text)
    inner.stream = cursor.stream
    value = read(inner)
    if inner.token.kind is not TokenKind.END:
        raise inner.error(f"{inner.token.described()} does not belong to this default")
    return value
