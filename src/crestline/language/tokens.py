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


class Kind(Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "text"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """``value`` is what it means (unquoted, unescaped), ``text[start:end]`` how it is written."""

    kind: Kind
    value: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The word in upper case; empty for everything that cannot be a keyword."""
        return self.value.upper() if self.kind is Kind.WORD else ""

    @property
    def length(self) -> int:
        return max(1, self.end - self.start)

    def is_symbol(self, *symbols: str) -> bool:
        return self.kind is Kind.SYMBOL and self.value in symbols

    def described(self) -> str:
        """The token as an error message calls it."""
        if self.kind is Kind.END:
            return "the end of the query"
        if self.kind is Kind.STRING:
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
    """All tokens of a text, closed by one of kind ``END``."""
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
    at = 0
    while at < len(text):
        match = _PATTERN.match(text, at)
        opener = text[at]
        if match is None or (opener == "/" and text.startswith("/*", at) and match.end() == at + 1):
            raise _unreadable(text, at)
        if (group := match.lastgroup) != "space":
            tokens.append(_token(text, group or "", match))
        at = match.end()
    end = tokens[-1].end if tokens else 0  # right behind what is there, not behind blank lines
    tokens.append(Token(Kind.END, "", end, end))
    return tokens


def _token(text: str, group: str, match: re.Match[str]) -> Token:
    written, start, end = match.group(), match.start(), match.end()
    if group == "word":
        return Token(Kind.WORD, written, start, end)
    if group == "number":
        if len(written) > MAX_DIGITS:
            raise QueryError(
                f"a number of {len(written)} characters; at most {MAX_DIGITS} are read",
                text, start, end - start,
            )  # fmt: skip
        return Token(Kind.NUMBER, written, start, end)
    if group == "string":
        return Token(Kind.STRING, _unescaped(text, start, end), start, end)
    if group in ("backtick", "double"):
        quote = written[0]
        name = written[1:-1].replace(quote * 2, quote)
        if not name:
            raise QueryError("a name cannot be empty", text, start, 2, "write the name inside")
        return Token(Kind.QUOTED, name, start, end)
    return Token(Kind.SYMBOL, written, start, end)


def _unreadable(text: str, at: int) -> QueryError:
    opener = text[at]
    if opener in _UNTERMINATED:
        message, hint = _UNTERMINATED[opener]
        return QueryError(message, text, at, 1, hint)
    hint = _STRANGERS.get(opener, "quote names that hold it with backticks, text with '")
    return QueryError(f"{opener!r} is not part of the language here", text, at, 1, hint)


def _unescaped(text: str, start: int, end: int) -> str:
    """The value of a string literal, with the escapes of Spark SQL.

    ``\\%`` and ``\\_`` keep their backslash, because LIKE reads it.
    """
    parts: list[str] = []
    at = start + 1
    while at < end - 1:
        char = text[at]
        if char == "'":
            at += 1  # the second quote of a doubled one
        elif char == "\\":
            char, used = _escape(text, at)
            at += used - 1
        parts.append(char)
        at += 1
    return "".join(parts)


def _escape(text: str, at: int) -> tuple[str, int]:
    """The character that the escape at ``at`` stands for, and how long the escape is."""
    code = text[at + 1]
    if code in "%_":
        return f"\\{code}", 2
    if code in "uU":
        digits = {"u": 4, "U": 8}[code]
        written = text[at + 2 : at + 2 + digits]
        if len(written) == digits and set(written) <= set(hexdigits):
            point = int(written, 16)
            if 0 < point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
                return chr(point), 2 + digits
        raise QueryError(
            f"\\{code} needs {digits} hexadecimal digits of a character",
            text, at, 2, "write the character itself, or a backslash as \\\\",
        )  # fmt: skip
    if code.isdigit():
        raise QueryError(
            "octal escapes are not part of the language",
            text, at, 2, "write the character itself, or a backslash as \\\\",
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
    """The name as a query writes it, with backticks only where they are needed.

    >>> print(quoted_name("price"), quoted_name("unit price"), quoted_name("order"))
    price `unit price` `order`
    """
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"


def quoted_text(text: str) -> str:
    r"""A string literal of Spark SQL, which the tokenizer reads back to the same text.

    >>> print(quoted_text("it's a \\"))
    'it\'s a \\'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def did_you_mean(word: str, known: list[str]) -> str:
    """A hint that names the nearest known words, or all of them if they are few; may be empty.

    >>> did_you_mean("LATENES", ["WHERE", "LATENESS"])
    'did you mean LATENESS?'
    """
    near = get_close_matches(word.upper(), known, n=2, cutoff=0.6) if 3 <= len(word) <= 60 else []
    return f"did you mean {' or '.join(near)}?" if near else ""


def shortened(text: str, most: int = 60) -> str:
    """The text on one line, cut where a message would become unreadable."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
