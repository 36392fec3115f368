"""What an expression has open while it is read, and the limits of its size."""

from __future__ import annotations

from crestline.core.errors import QueryError
from crestline.language.advice import WINDOW_FUNCTIONS
from crestline.language.cursor import Cursor
from crestline.language.tokens import Token, TokenKind, did_you_mean

#: How deep brackets, calls, CASE and prefix operators may nest. The reader needs about ten Python
#: frames per level, and Python stops at 1,000 frames.
MAX_NESTING = 32

#: How many columns, literals and calls an expression may have, values of IN lists included. The
#: engines read an expression again for every batch, and take about a second for so many.
MAX_TERMS = 5_000

#: Keywords that may follow an operand inside an expression.
OPERATOR_WORDS = ["AND", "OR", "NOT", "IN", "LIKE", "IS", "BETWEEN", "DIV"]


class Nesting:
    """Counts levels and terms of one expression."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        #: What closes each open bracket, call or CASE, and the token that opened it.
        self._open: list[tuple[str, Token]] = []
        #: Prefix operators since the last complete operand.
        self._prefixes = 0
        self._terms = 0

    def prefix(self, token: Token) -> None:
        """Count a prefix operator, which nests like a bracket."""
        self._prefixes += 1
        self._check(token)

    def open(self, closer: str, opener: Token, token: Token | None = None) -> None:
        """Note what is open and what will close it; errors point at ``token``."""
        self._open.append((closer, opener))
        self._check(token or opener)

    def close(self) -> None:
        """Take the token that closes what was opened last."""
        token = self.cursor.token
        if self._open[-1][0] not in (token.keyword, token.symbol):
            raise self.missing_operator()
        self.cursor.next()
        self._open.pop()
        self._prefixes = 0

    def end_operand(self, token: Token) -> None:
        """Count a column or literal, with which an operand is complete."""
        self.count_term(token)
        self._prefixes = 0

    def count_term(self, token: Token) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise self.cursor.error(
                f"the expression has more than {MAX_TERMS:,} terms (columns, literals and calls)",
                token,
                "compute parts of it before the stream comes in, or ask several queries",
            )

    def _check(self, token: Token) -> None:
        if len(self._open) + self._prefixes > MAX_NESTING:
            raise self.cursor.error(
                f"the expression nests more than {MAX_NESTING} levels deep",
                token,
                "compute parts of it before the stream comes in, or remove parentheses",
            )

    def missing_operator(self) -> QueryError:
        """The error of a token that neither continues nor closes what is open."""
        token = self.cursor.token
        closer, opener = self._open[-1] if self._open else ("the end", token)
        if self._open and (token.kind is TokenKind.END or token.is_symbol(";")):
            return self.cursor.error(f"{opener.value} is never closed", opener, "close it")
        hint = did_you_mean(token.value, OPERATOR_WORDS) if token.kind is TokenKind.WORD else ""
        if self._open and not hint:
            hint = f"write a comma between arguments, or close with {closer}"
        if token.keyword == "OVER":
            hint = WINDOW_FUNCTIONS
        return self.cursor.error(
            f"expected an operator or {closer} before {token.described()}", hint=hint
        )
