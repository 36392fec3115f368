"""A position in the tokens of a text, and what every clause is read with.

>>> cursor = Cursor("LATENESS 5 seconds")
>>> cursor.expect("LATENESS")
>>> cursor.duration("the lateness")
5000000
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TypeVar

from crestline.core.errors import QueryError
from crestline.language import duration
from crestline.language.tokens import RESERVED, Token, TokenKind, did_you_mean, tokenize

#: Counts of records stay well within 64 bits.
MAX_COUNT = 1 << 61

Item = TypeVar("Item")


class Cursor:
    """Reads tokens one after the other; errors point at the token that is wrong."""

    def __init__(self, text: str, tokens: list[Token] | None = None) -> None:
        self.text = text
        self.tokens = tokenize(text) if tokens is None else tokens
        self.index = 0
        #: The stream whose name may stand before a column.
        self.stream: str | None = None

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        """The token so many behind the next one; the last token stands for all behind it."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Take the next token; that of the end stays."""
        token = self.token
        self.index = min(self.index + 1, len(self.tokens) - 1)
        return token

    def error(self, message: str, token: Token | None = None, hint: str = "") -> QueryError:
        """The error that points at ``token``, by default the next one."""
        token = token or self.token
        return QueryError(message, self.text, token.start, token.length, hint)

    # -- keywords and symbols --------------------------------------------------------------------

    def takes(self, *words: str) -> bool:
        """Take these keywords if they come next; return whether they did."""
        if any(self.ahead(i).keyword != word for i, word in enumerate(words)):
            return False
        self.index += len(words)
        return True

    def takes_symbol(self, symbol: str) -> bool:
        """Take this symbol if it comes next; return whether it did."""
        if not self.token.is_symbol(symbol):
            return False
        self.index += 1
        return True

    def expect(self, *words: str, hint: str = "") -> None:
        """Take these keywords."""
        for word in words:
            if not self.takes(word):
                raise self.error(
                    f"expected {word} before {self.token.described()}",
                    hint=did_you_mean(self.token.keyword, [word]) or hint,
                )

    def expect_symbol(self, symbol: str, hint: str = "") -> None:
        """Take this symbol."""
        if not self.takes_symbol(symbol):
            raise self.error(f"expected {symbol} before {self.token.described()}", hint=hint)

    def one_of(self, words: tuple[str, ...], what: str) -> str:
        """Take one of several keywords."""
        word = self.token.keyword
        if word not in words:
            raise self.error(
                f"expected {what} before {self.token.described()}",
                hint=did_you_mean(word, list(words)) or f"write {' or '.join(words)}",
            )
        self.index += 1
        return word

    def listed(self, read: Callable[[], Item]) -> list[Item]:
        """Read one or more items with commas between them."""
        items = [read()]
        while self.takes_symbol(","):
            items.append(read())
        return items

    # -- names, numbers, durations ---------------------------------------------------------------

    def name(self, what: str) -> str:
        """Read a name, quoted or not."""
        token = self.token
        if token.is_name and token.keyword not in RESERVED:
            return self.next().value
        hint = ""
        if token.kind is TokenKind.WORD:
            hint = f"write `{token.value}` if that is its name"
        elif token.kind is TokenKind.STRING:
            hint = "names are quoted with backticks or double quotes"
        raise self.error(f"expected {what} before {token.described()}", hint=hint)

    def count(self, what: str, most: int = MAX_COUNT) -> int:
        """Read a whole number from 1."""
        token = self.token
        if token.kind is not TokenKind.NUMBER or not token.value.isdigit():
            raise self.error(f"{what} is a whole number, not {token.described()}", hint="write 10")
        if not 1 <= int(token.value) <= most:
            raise self.error(f"{what} goes from 1 to {most:,}", hint=f"write 1 to {most}")
        self.index += 1
        return int(token.value)

    def number(self, what: str) -> int | float:
        """Read a number that may have a sign; whole if it is written so."""
        negative = self.takes_symbol("-")
        token = self.next()
        if token.kind is not TokenKind.NUMBER:
            raise self.error(f"{what} is a number, not {token.described()}", token)
        value = int(token.value) if token.value.isdigit() else float(token.value)
        try:
            finite = isfinite(value)
        except OverflowError:  # a whole number beyond all doubles
            finite = False
        if not finite:
            raise self.error(f"{what} is too large", token, "a double goes up to 1.797e308")
        return -value if negative else value

    def real(self, what: str) -> float:
        """Read a number as a double."""
        return float(self.number(what))

    def duration(self, what: str, zero: bool = False) -> int:
        """Read a duration in microseconds; zero only where it makes sense."""
        number = self.token
        if number.kind is not TokenKind.NUMBER:
            raise self.error(
                f"{what} is a duration, not {number.described()}", hint="write 10 SECONDS"
            )
        unit = self.ahead()
        if unit.keyword not in duration.UNITS:
            units = ("MICROSECONDS", "MS", "SECONDS", "MINUTES", "HOURS", "DAYS", "WEEKS")
            raise self.error(
                f"{what} needs a unit of time before {unit.described()}",
                unit,
                did_you_mean(unit.keyword, list(duration.UNITS)) or f"write {', '.join(units)}",
            )
        try:
            value = duration.microseconds(number.value, unit.value)
        except ValueError as complaint:
            raise self.error(str(complaint), number, "write 500 MS or 10 SECONDS") from None
        if value == 0 and not zero:
            raise self.error(f"{what} must be longer than nothing", number, "write 1 SECOND")
        self.index += 2
        return value
