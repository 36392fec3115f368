"""Where an expression ends, and what its leaves and calls are.

The scanner walks over the tokens of one expression, knowing at each place whether an operand or an
operator must come. So it finds the end of the expression without a list of clause keywords (a
column may be called ``key`` or ``error``), and it points at the exact token that is wrong.

Everything that is not structure becomes a *leaf*: names, literals, IN lists, LIKE patterns. The
parser behind it (``tree.py``) therefore sees operators, brackets, CASE, calls of functions that
this module has let through, and numbered leaves; nothing else can reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from crestline.core.errors import QueryError
from crestline.language import literals
from crestline.language.advice import WINDOW_FUNCTIONS
from crestline.language.functions import ALIASES, EXTRACTED, FUNCTIONS, REFUSED
from crestline.language.literals import TYPES, Leaf
from crestline.language.tokens import RESERVED, Kind, Token, did_you_mean

#: How deep brackets, calls, CASE and prefix operators may nest. The parser needs about 22 Python
#: frames a level, and Python stops at 1,000 frames.
MAX_NESTING = 32

#: How many columns, literals and calls an expression may have, values of IN lists included. The
#: engines read an expression again for every batch, and take about a second for so many.
MAX_TERMS = 5_000

_BINARY = {
    "+": "+", "-": "-", "*": "*", "/": "/", "%": "%", "||": "||", "=": "=", "==": "=",
    "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>",
    "AND": "AND", "OR": "OR", "DIV": "DIV",
}  # fmt: skip
_OPERATOR_WORDS = ["AND", "OR", "NOT", "IN", "LIKE", "IS", "BETWEEN", "DIV"]
_CASE_WORDS = ("WHEN", "THEN", "ELSE")


@dataclass(frozen=True, slots=True)
class Part:
    """One token for the parser: its ``key``, how it is shown, its leaf if it is one, its source."""

    key: str
    shown: str
    source: Token
    leaf: Leaf | None = None


@dataclass(frozen=True, slots=True)
class _Open:
    """An open bracket, call or CASE, and the key that closes it."""

    closer: str
    source: Token
    function: str = ""


@dataclass
class Scanner:
    """Reads one expression from ``tokens[at]`` on; then ``at`` is the first token behind it."""

    text: str
    tokens: list[Token]
    at: int
    stream: str | None = None
    parts: list[Part] = field(default_factory=list)
    #: Numbers of the parts that are columns without the stream before them.
    unqualified: list[int] = field(default_factory=list)
    _open: list[_Open] = field(default_factory=list)
    _prefixes: int = 0
    _terms: int = 0

    def scan(self) -> list[Part]:
        operand_done = False
        while True:
            token = self._token
            if operand_done:
                if not self._open and self._ends_here(token):
                    return self.parts
                operand_done = self._operator(token)
            else:
                operand_done = self._operand(token)
                self._prefixes = 0 if operand_done else self._prefixes
            if len(self._open) + self._prefixes > MAX_NESTING:
                raise self._error(
                    f"the expression nests more than {MAX_NESTING} levels deep",
                    token,
                    "compute parts of it before the stream comes in, or remove parentheses",
                )

    # -- where an operand must come ------------------------------------------------------------

    def _operand(self, token: Token) -> bool:
        """Takes an operand or a piece before one; returns whether the operand is complete."""
        following = self._peek()
        if token.kind is Kind.NUMBER:
            return self._leaf(self._checked(token, literals.number, token.value))
        if token.kind is Kind.STRING:
            return self._leaf(literals.text(token.value))
        if token.is_symbol("("):
            return self._push("(", _Open(")", token))
        if token.is_symbol("-"):
            self._prefixes += 1
            return self._add("-", token)
        if token.is_symbol(")") and self._open and self.parts[-1].key == "(" and self._call():
            return self._close(token)
        word = token.keyword
        if word in ("NULL", "TRUE", "FALSE"):
            return self._leaf(literals.constant(word))
        if word == "NOT":
            self._prefixes += 1
            return self._add("NOT", token)
        if word == "CASE":
            return self._push("CASE", _Open("END", token))
        if word == "WHEN" and self.parts and self.parts[-1].key == "CASE":
            return self._add("WHEN", token)
        if word in ("DATE", "TIMESTAMP") and following.kind is Kind.STRING:
            reader = literals.date_literal if word == "DATE" else literals.timestamp_literal
            return self._leaf(self._checked(following, reader, following.value), 2)
        if word == "INTERVAL" and (
            following.kind in (Kind.NUMBER, Kind.STRING) or following.is_symbol("-")
        ):
            return self._interval()
        if word in RESERVED or token.kind in (Kind.SYMBOL, Kind.END):
            raise self._missing_operand(token)
        if token.kind is Kind.WORD and following.is_symbol("("):
            return self._begin_call(token)
        return self._column(token)

    def _column(self, token: Token) -> bool:
        names = [token]
        while self._peek(2 * len(names) - 1).is_symbol("."):
            part = self._peek(2 * len(names))
            if part.is_symbol("*"):
                raise self._missing_operand(part)
            if part.kind not in (Kind.WORD, Kind.QUOTED):
                raise self._error("a name must follow the point", part, "write stream.column")
            names.append(part)
        size = 2 * len(names) - 1
        if len(names) > 1 and self._peek(size).is_symbol("("):
            raise self._error("functions are called by their plain name", token, self._known())
        qualifier = names[0].value
        if len(names) > 2 or (
            len(names) == 2
            and (self.stream is None or qualifier.casefold() != self.stream.casefold())
        ):
            allowed = f"{self.stream}.{names[1].value} or " if self.stream else ""
            raise self._error(
                f"{qualifier} is not the stream of this query"
                if self.stream
                else "a column is called by its plain name here",
                token,
                f"write {allowed}{names[-1].value}; fields of structures cannot be reached",
            )
        if len(names) == 1:
            self.unqualified.append(len(self.parts))
        return self._leaf(literals.column(names[-1].value), size)

    def _interval(self) -> bool:
        sign = "-" if self._peek().is_symbol("-") else ""
        count, unit = self._peek(1 + len(sign)), self._peek(2 + len(sign))
        if unit.kind is not Kind.WORD or count.kind not in (Kind.NUMBER, Kind.STRING):
            raise self._error("an interval needs a number and a unit", count, "INTERVAL 5 MINUTES")
        leaf = self._checked(count, lambda n: literals.interval(sign + n, unit.value), count.value)
        return self._leaf(leaf, 3 + len(sign))

    def _begin_call(self, token: Token) -> bool:
        name = ALIASES.get(token.keyword, token.keyword)
        if name == "EXTRACT":
            return self._begin_extract(token)
        if name not in FUNCTIONS:
            raise self._error(
                f"{token.value} is not a function of the language",
                token,
                REFUSED.get(name) or did_you_mean(name, [*FUNCTIONS, *ALIASES]) or self._known(),
            )
        self._count_term(token)
        self._add(name, token)
        return self._push("(", _Open(")", self._token, name))

    def _begin_extract(self, token: Token) -> bool:
        """``EXTRACT(part FROM ts)`` is ``PART(ts)``."""
        part, word = self._peek(2), self._peek(3)
        name = EXTRACTED.get(part.keyword)
        if name is None or word.keyword != "FROM":
            raise self._error(
                "EXTRACT takes a part and FROM",
                part if name is None else word,
                f"write EXTRACT(HOUR FROM ts); the parts are {', '.join(EXTRACTED)}"
                " (seconds: SECOND(ts))",
            )
        opener = self._peek()
        self.parts += [Part(name, name, token), Part("(", "(", opener)]
        self._open.append(_Open(")", opener, name))
        self.at += 4
        return False

    # -- where an operator must come -----------------------------------------------------------

    def _ends_here(self, token: Token) -> bool:
        if token.kind is Kind.SYMBOL:
            return token.value not in _BINARY and token.value != "["
        return token.keyword not in _OPERATOR_WORDS

    def _operator(self, token: Token) -> bool:
        """Takes what follows an operand; returns whether that still leaves a complete operand."""
        word = token.keyword or (token.value if token.kind is Kind.SYMBOL else "")
        if word in _BINARY:
            return self._add(_BINARY[word], token)
        if word in ("NOT", "IN", "LIKE", "IS", "BETWEEN"):
            return self._predicate(token)
        if word == "[":
            index = self._peek()
            if index.kind is not Kind.NUMBER or not index.value.isdigit():
                raise self._error(
                    "an element is chosen by a whole number from 0", index, "write column[0]"
                )
            return self._push("[", _Open("]", token))
        if self._open:
            opened = self._open[-1]
            if word == opened.closer:
                return self._close(token)
            if word == "," and opened.closer == ")" and opened.function != "CAST":
                return self._add(",", token)
            if word in _CASE_WORDS and opened.closer == "END":
                return self._add(word, token)
            if word == "AS" and opened.function == "CAST":
                return self._cast_type(token)
        raise self._missing_operator(token)

    def _predicate(self, token: Token) -> bool:
        """``[NOT] IN (literals)``, ``[NOT] LIKE 'pattern'``, ``IS [NOT] NULL``: leaves themselves.

        They bind like a comparison, so the parser is told ``= leaf``. BETWEEN has operands of its
        own and stays structure.
        """
        negated = token.keyword == "NOT"
        self.at += negated
        word = self._token.keyword
        if word == "BETWEEN":
            return self._add("NOT BETWEEN" if negated else "BETWEEN", self._token)
        if word == "IS" and not negated:
            negated = self._peek().keyword == "NOT"
            self.at += negated
            if self._peek().keyword != "NULL":
                raise self._error(
                    "IS takes NULL or NOT NULL", self._peek(), "compare other values with = or <=>"
                )
            return self._add_predicate(token, literals.is_null(negated), 2)
        if word == "LIKE":
            pattern = self._peek()
            if pattern.kind is not Kind.STRING:
                raise self._error("LIKE takes a text", pattern, "write LIKE 'A%'")
            return self._add_predicate(
                token, self._checked(pattern, lambda p: literals.like(p, negated), pattern.value), 2
            )
        if word == "IN":
            return self._in_list(token, negated)
        raise self._missing_operator(self._token)

    def _in_list(self, token: Token, negated: bool) -> bool:
        values: list[Leaf] = []
        self.at += 1
        if not self._token.is_symbol("("):
            raise self._error("IN takes a list", self._token, "write IN ('A', 'B')")
        separator = "("
        while self._token.is_symbol(separator):
            self.at += 1
            self._count_term(self._token)
            values.append(self._listed())
            separator = ","
        if not self._token.is_symbol(")"):
            raise self._error(
                f"expected a comma or ) before {self._token.described()}",
                self._token,
                "an IN list holds literals only",
            )
        return self._add_predicate(token, literals.in_list(values, negated), 1)

    def _listed(self) -> Leaf:
        """One literal of an IN list."""
        scanner = Scanner(self.text, self.tokens, self.at)
        token = self._token
        negative = token.is_symbol("-") and self._peek().kind is Kind.NUMBER
        scanner.at += negative
        if (
            scanner._token.kind not in (Kind.NUMBER, Kind.STRING)
            and scanner._token.keyword not in ("NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP")
        ) or not scanner._operand(scanner._token):
            raise self._error("an IN list holds literals only", token, "write IN ('A', 'B')")
        self.at = scanner.at
        leaf = scanner.parts[0].leaf
        assert leaf is not None
        if leaf.kind == "column":
            raise self._error("an IN list holds literals only", token, "write IN ('A', 'B')")
        if not negative:
            return leaf
        return Leaf("number", f"-{leaf.canonical}", *leaf.negative)

    def _cast_type(self, token: Token) -> bool:
        word = self._peek()
        if word.keyword not in TYPES:
            raise self._error(
                f"{word.described()} is not a type to cast to",
                word,
                did_you_mean(word.value, list(TYPES))
                or f"the types are {', '.join(dict.fromkeys(TYPES.values()))}",
            )
        self.parts.append(Part(",", "AS", token))
        self.at += 1
        return self._leaf(literals.type_name(word.value))

    # -- taking tokens ---------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self.tokens[self.at]

    def _peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def _call(self) -> bool:
        return bool(self._open[-1].function)

    def _add(self, key: str, token: Token) -> bool:
        self.parts.append(Part(key, key, token))
        self.at += 1
        return False

    def _push(self, key: str, opened: _Open) -> bool:
        self._open.append(opened)
        return self._add(key, opened.source)

    def _close(self, token: Token) -> bool:
        self._add(self._open.pop().closer, token)
        return True

    def _count_term(self, token: Token) -> None:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise self._error(
                f"the expression has more than {MAX_TERMS:,} terms (columns, literals and calls)",
                token,
                "compute parts of it before the stream comes in, or ask several queries",
            )

    def _leaf(self, leaf: Leaf, size: int = 1) -> bool:
        self._count_term(self._token)
        self.parts.append(Part(f"#{len(self.parts)}", leaf.canonical, self._token, leaf))
        self.at += size
        return True

    def _add_predicate(self, token: Token, leaf: Leaf, size: int) -> bool:
        self.parts.append(Part("=", "", token))
        return self._leaf(leaf, size)

    def _checked(self, token: Token, reader: Callable[[str], Leaf], value: str) -> Leaf:
        """The leaf that ``reader`` makes; what it complains of is shown at the token."""
        try:
            return reader(value)
        except ValueError as complaint:
            raise self._error(str(complaint), token) from None

    # -- errors ----------------------------------------------------------------------------------

    def _error(self, message: str, token: Token, hint: str = "") -> QueryError:
        return QueryError(message, self.text, token.start, token.length, hint)

    def _known(self) -> str:
        return f"the functions are {', '.join(sorted(FUNCTIONS)).lower()}"

    def _missing_operand(self, token: Token) -> QueryError:
        word = token.keyword
        if word in ("SELECT", "EXISTS", "WITH"):
            return self._error(
                "subqueries are not available", token, "an expression looks at one record"
            )
        if token.is_symbol("*"):
            return self._error("an expression is missing before *", token, "name the columns")
        if token.is_symbol("+"):
            return self._error("an expression is missing before +", token, "leave the plus out")
        if token.is_symbol("["):
            return self._error("an expression is missing before [", token, "write ARRAY(1, 2)")
        hint = "write a column, a literal or a function there"
        if word in RESERVED and word not in _OPERATOR_WORDS:
            hint = f"write `{token.value}` for a column of that name"
        return self._error(f"an expression is missing before {token.described()}", token, hint)

    def _missing_operator(self, token: Token) -> QueryError:
        if token.kind is Kind.END or token.is_symbol(";"):
            opened = self._open[-1].source
            return self._error(f"{opened.value} is never closed", opened, "close it")
        closer = self._open[-1].closer if self._open else "the end"
        hint = did_you_mean(token.value, _OPERATOR_WORDS) if token.kind is Kind.WORD else ""
        if self._open and not hint:
            hint = f"write a comma between arguments, or close with {closer}"
        if token.keyword == "OVER":
            hint = WINDOW_FUNCTIONS
        return self._error(
            f"expected an operator or {closer} before {token.described()}", token, hint
        )
