r"""Query text to tokens.

One tokenizer serves clauses and expressions, so both agree on what a string, a name and a comment
are. It follows Spark SQL: strings in single quotes with backslash escapes, and ``''`` for a quote;
names may be quoted with backticks or, as in standard SQL, with double quotes; doubling the quote
puts it into the name. Comments are ``-- to the end of the line`` and ``/* ... */``.

>>> [(token.kind.value, token.value) for token in tokenize("`my col` 'it''s' -- bye")]
[('quoted name', 'my col'), ('text', "it's"), ('end', '')]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from string import hexdigits

from crestline.core.errors import QueryError

#: Longer texts are refused: no query written by hand or by a program comes near it.
MAX_CHARACTERS = 1_000_000

#: More digits than any number that a query can use; also keeps int() away from its own limit.
MAX_DIGITS = 400


class TokenKind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "text"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """``value`` is what it means (unquoted, unescaped), ``text[start:end]`` how it is written."""

    kind: TokenKind
    value: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The word in upper case; empty for everything that cannot be a keyword."""
        return self.value.upper() if self.kind is TokenKind.WORD else ""

    @property
    def symbol(self) -> str:
        """The symbol; empty for everything else."""
        return self.value if self.kind is TokenKind.SYMBOL else ""

    @property
    def is_name(self) -> bool:
        """Whether this is a word or a quoted name."""
        return self.kind in (TokenKind.WORD, TokenKind.QUOTED)

    @property
    def length(self) -> int:
        return max(1, self.end - self.start)

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is TokenKind.SYMBOL and self.value in symbols

    def described(self) -> str:
        """The token as an error message calls it."""
        if self.kind is TokenKind.END:
            return "the end of the query"
        if self.kind is TokenKind.STRING:
            return f"the text {shortened(repr(self.value))}"
        return shortened(self.value)


_PATTERN = re.compile(
    r"""(?P<space>[\s\ufeff]+|--[^\n]*|/\*.*?\*/)
      | (?P<word>[^\W\d]\w*)
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<string>'(?:[^'\\]|''|\\.)*')
      | (?P<backtick>`(?:[^`]|``)*`)
      | (?P<double>"(?:[^"]|"")*")
      | (?P<symbol><=>|=>|<=|>=|<>|!=|==|\|\||[()\[\],;.+\-*/%<>=])""",
    re.VERBOSE | re.DOTALL,
)

_UNTERMINATED = {
    "'": ("this text has no closing quote", "close it with ', and write '' for a quote inside"),
    "`": ("this quoted name has no closing backtick", "close it with `, and double one inside"),
    '"': ("this quoted name has no closing quote", 'close it with ", and write "" for one inside'),
    "/": ("this comment is never closed", "close it with */"),
}

_PARAMETER_HINT = "parameters and variables are not part of the language: write the value itself"
_STRANGERS = {
    "?": _PARAMETER_HINT,
    ":": _PARAMETER_HINT,
    "$": _PARAMETER_HINT,
    "@": _PARAMETER_HINT,
    "{": _PARAMETER_HINT,
    "!": "write NOT, or <> for unequal",
    "&": "write AND",
    "|": "write OR, or || to join text",
    "\u2018": "use the straight quote '",
    "\u2019": "use the straight quote '",
    "\u201c": "use the straight quotes: ' for text, \" for names",
    "\u201d": "use the straight quotes: ' for text, \" for names",
}

_SIMPLE_ESCAPES = {"b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")


def tokenize(text: str) -> list[Token]:
    """Split a text into tokens; the last is of kind ``END``."""
    if len(text) > MAX_CHARACTERS:
        raise QueryError(
            f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read",
            hint="split it into several texts",
        )
    if unusable := _UNUSABLE.search(text):
        raise QueryError(
            f"the character U+{ord(unusable.group()):04X} cannot be part of a query",
            _UNUSABLE.sub("\ufffd", text),
            unusable.start(),
            hint="remove it",
        )
    tokens: list[Token] = []
    start = 0
    while start < len(text):
        match = _PATTERN.match(text, start)
        unclosed = text.startswith("/*", start) and match is not None and match.end() == start + 1
        if match is None or unclosed:
            raise _unreadable(text, start)
        if (group := match.lastgroup) != "space":
            tokens.append(_token(text, group or "", match))
        start = match.end()
    end = tokens[-1].end if tokens else 0  # right behind what is there, not behind blank lines
    tokens.append(Token(TokenKind.END, "", end, end))
    return tokens


def _token(text: str, group: str, match: re.Match[str]) -> Token:
    written, start, end = match.group(), match.start(), match.end()
    if group == "word":
        return Token(TokenKind.WORD, written, start, end)
    if group == "number":
        if len(written) > MAX_DIGITS:
            raise QueryError(
                f"a number of {len(written)} characters; at most {MAX_DIGITS} are read",
                text, start, end - start,
            )  # fmt: skip
        return Token(TokenKind.NUMBER, written, start, end)
    if group == "string":
        return Token(TokenKind.STRING, _unescaped(text, start, end), start, end)
    if group in ("backtick", "double"):
        quote = written[0]
        name = written[1:-1].replace(quote * 2, quote)
        if not name:
            raise QueryError("a name cannot be empty", text, start, 2, "write the name inside")
        return Token(TokenKind.QUOTED, name, start, end)
    return Token(TokenKind.SYMBOL, written, start, end)


def _unreadable(text: str, start: int) -> QueryError:
    opener = text[start]
    if opener in _UNTERMINATED:
        message, hint = _UNTERMINATED[opener]
        return QueryError(message, text, start, 1, hint)
    hint = _STRANGERS.get(opener, "quote names that hold it with backticks, text with '")
    return QueryError(f"{opener!r} is not part of the language here", text, start, 1, hint)


def _unescaped(text: str, start: int, end: int) -> str:
    """The value of a string literal, with the escapes of Spark SQL.

    ``\\%`` and ``\\_`` keep their backslash, because LIKE reads it.
    """
    characters: list[str] = []
    position = start + 1
    while position < end - 1:
        char = text[position]
        if char == "'":
            position += 1  # the second quote of a doubled one
        elif char == "\\":
            char, length = _escape(text, position)
            position += length - 1
        characters.append(char)
        position += 1
    return "".join(characters)


def _escape(text: str, start: int) -> tuple[str, int]:
    """The character that the escape at ``start`` stands for, and the length of the escape."""
    code = text[start + 1]
    if code in "%_":
        return f"\\{code}", 2
    if code in "uU":
        count = {"u": 4, "U": 8}[code]
        digits = text[start + 2 : start + 2 + count]
        if len(digits) == count and set(digits) <= set(hexdigits):
            point = int(digits, 16)
            if 0 < point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
                return chr(point), 2 + count
        raise QueryError(
            f"\\{code} needs {count} hexadecimal digits of a character",
            text, start, 2, "write the character itself, or a backslash as \\\\",
        )  # fmt: skip
    if code.isdigit():
        raise QueryError(
            "octal escapes are not part of the language",
            text, start, 2, "write the character itself, or a backslash as \\\\",
        )  # fmt: skip
    return _SIMPLE_ESCAPES.get(code, code), 2


_RESERVED = (
    "ALL AND ANY AS ASC BETWEEN BY CASE CREATE DESC DISTINCT DIV ELSE END EXISTS FALSE FROM GROUP"
    " HAVING IN IS JOIN LIKE NOT NULL ON OR ORDER OVER SELECT THEN TRUE UNION WHEN WHERE WITH"
)
#: Words that end or join expressions, so that they are names only when quoted.
RESERVED = frozenset(_RESERVED.split())

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted_name(name: str) -> str:
    """Write a name as a query has it, with backticks only where they are needed.

    >>> print(quoted_name("price"), quoted_name("unit price"), quoted_name("order"))
    price `unit price` `order`
    """
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return in_quotes(name, "`")


def in_quotes(name: str, quote: str) -> str:
    """Put a name between quotes, and double those inside.

    >>> in_quotes("it`s", "`")
    '`it``s`'
    """
    return quote + name.replace(quote, quote * 2) + quote


def quoted_text(text: str) -> str:
    r"""Write a string literal of Spark SQL, which the tokenizer reads back to the same text.

    >>> print(quoted_text("it's a \\"))
    'it\'s a \\'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def did_you_mean(word: str, known: list[str]) -> str:
    """A hint that names the nearest known words; empty if none is near.

    >>> did_you_mean("LATENES", ["WHERE", "LATENESS"])
    'did you mean LATENESS?'
    """
    near = get_close_matches(word.upper(), known, n=2, cutoff=0.6) if 3 <= len(word) <= 60 else []
    return f"did you mean {' or '.join(near)}?" if near else ""


def shortened(text: str, most: int = 60) -> str:
    """Put the text on one line, and cut it where a message would become unreadable."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
