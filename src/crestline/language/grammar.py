"""Tokens to the nodes of one expression, by precedence climbing.

At each token the reader knows whether an operand or an operator must come. So it finds the end of
the expression without a list of clause keywords (a column may be called ``key`` or ``error``), and
an error points at the exact token that is wrong. Only functions of the whitelist can be called.

``LEVELS`` is the precedence of Spark SQL. ``a < b < c`` and ``a = NOT b`` are refused, because few
readers know what they would mean.
"""

from __future__ import annotations

from crestline.core.errors import QueryError
from crestline.language import literals
from crestline.language.cursor import Cursor
from crestline.language.functions import ALIASES, EXTRACTED, FUNCTIONS, REFUSED
from crestline.language.literals import (
    TYPES,
    Leaf,
    read_interval,
    read_like,
    read_listed,
    read_literal,
)
from crestline.language.nesting import OPERATOR_WORDS, Nesting
from crestline.language.nodes import (
    Between,
    Binary,
    Case,
    Cast,
    Chain,
    Column,
    Element,
    FunctionCall,
    Literal,
    Node,
    Parentheses,
    Predicate,
    Prefix,
    children,
)
from crestline.language.tokens import RESERVED, Token, TokenKind, did_you_mean

#: How deep the nodes may be. Engines have such limits too.
MAX_DEPTH = 100

#: Operators and how tightly they bind. Predicates bind like comparisons; NOT begins some of them.
LEVELS = {
    "OR": 1, "AND": 2,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>"), 4),
    **dict.fromkeys(("NOT", "IN", "LIKE", "IS", "BETWEEN"), 4),
    "+": 5, "-": 5, "||": 5,
    "*": 6, "/": 6, "%": 6, "DIV": 6,
}  # fmt: skip
#: NOT before an operand, and comparisons.
NOT, COMPARISON = 3, 4

_SPELLINGS = {"==": "=", "!=": "<>"}
_CASE_WORDS = ("WHEN", "THEN", "ELSE", "END")
_CASE_FORM = "write CASE WHEN condition THEN value ELSE value END"


def read_nodes(cursor: Cursor) -> Node:
    """Read the expression that begins at the cursor."""
    root = _Reader(cursor).operation()
    # Without recursion: a chain of a thousand additions is a thousand levels deep.
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise cursor.error(
                f"the expression is more than {MAX_DEPTH} operations deep",
                node.token,
                "group a long chain with parentheses: (a + b) + (c + d)",
            )
        stack += [(child, depth + 1) for child in reversed(children(node))]
    return root


class _Reader:
    """Reads one expression."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.nesting = Nesting(cursor)

    # -- operators -------------------------------------------------------------------------------

    def operation(self, least: int = 1, start: Token | None = None) -> Node:
        """Read an operand and the operators behind it that bind at least as tightly as ``least``.

        ``start`` is the first token of the operation whose operand this is.
        """
        left = self._prefixed(least, start or self.cursor.token)
        compared = False
        while LEVELS.get(operator := self._operator(), 0) >= least:
            level = LEVELS[operator]
            if level < COMPARISON:
                left = self._chain(left, operator)
            elif compared:  # a < b < c, and a IS NULL + b
                raise self._unclear(left.token)
            elif level > COMPARISON:
                left = self._binary(left, operator)
            else:
                left, compared = self._comparison(left, operator), True
        return left

    def _operator(self) -> str:
        """The operator that comes next; empty if none does."""
        token = self.cursor.token
        word = token.keyword or token.symbol
        word = _SPELLINGS.get(word, word)
        return word if word in LEVELS else ""

    def _chain(self, left: Node, operator: str) -> Node:
        operands = [left]
        while self._operator() == operator:
            self.cursor.next()
            operands.append(self.operation(LEVELS[operator] + 1, left.token))
        return Chain(left.token, operator, tuple(operands))

    def _binary(self, left: Node, operator: str) -> Node:
        self.cursor.next()
        right = self.operation(LEVELS[operator] + 1, left.token)
        return Binary(left.token, operator, left, right)

    def _comparison(self, left: Node, operator: str) -> Node:
        """Read a comparison, ``[NOT] BETWEEN low AND high``, ``[NOT] IN``, ``[NOT] LIKE`` or
        ``IS [NOT] NULL``."""
        cursor = self.cursor
        if not operator.isalpha():
            return self._binary(left, operator)
        negated = cursor.takes("NOT")
        if cursor.takes("BETWEEN"):
            low = self.operation(COMPARISON + 1, left.token)
            if not cursor.takes("AND"):
                raise self._misfit("write x BETWEEN low AND high")
            high = self.operation(COMPARISON + 1, left.token)
            return Between(left.token, "NOT " * negated + "BETWEEN", (left, low, high))
        self.nesting.count_term(cursor.token)
        if cursor.takes("IN"):
            leaf = literals.in_list(self._in_list(), negated)
        elif cursor.takes("LIKE"):
            leaf = read_like(cursor, negated)
        elif not negated and cursor.takes("IS"):
            leaf = literals.is_null(cursor.takes("NOT"))
            if not cursor.takes("NULL"):
                raise cursor.error(
                    "IS takes NULL or NOT NULL", hint="compare other values with = or <=>"
                )
        else:
            raise self.nesting.missing_operator()
        return Predicate(left.token, left, leaf)

    def _in_list(self) -> list[Leaf]:
        cursor = self.cursor
        if not cursor.token.is_symbol("("):
            raise cursor.error("IN takes a list", hint="write IN ('A', 'B')")
        values: list[Leaf] = []
        while cursor.takes_symbol("," if values else "("):
            self.nesting.count_term(cursor.token)
            values.append(read_listed(cursor))
        if not cursor.takes_symbol(")"):
            raise cursor.error(
                f"expected a comma or ) before {cursor.token.described()}",
                hint="an IN list holds literals only",
            )
        return values

    # -- operands --------------------------------------------------------------------------------

    def _prefixed(self, least: int, start: Token) -> Node:
        """Read an operand with the prefix operators before it."""
        tokens = self._prefix_tokens("NOT")
        if tokens:
            if least > NOT:
                raise self._unclear(start)
            operand = self.operation(COMPARISON)
        else:
            tokens = self._prefix_tokens("-")
            if tokens and self.cursor.token.keyword == "NOT":
                raise self._unclear(tokens[-1])
            operand = self._operand()
        for token in reversed(tokens):
            operand = Prefix(token, token.value.upper(), operand)
        return operand

    def _prefix_tokens(self, operator: str) -> list[Token]:
        tokens: list[Token] = []
        while operator in (self.cursor.token.keyword, self.cursor.token.symbol):
            tokens.append(self.cursor.next())
            self.nesting.prefix(tokens[-1])
        return tokens

    def _operand(self) -> Node:
        """Read an operand without operators, and the indices behind it."""
        cursor = self.cursor
        node = self._primary()
        while cursor.token.is_symbol("["):
            index = cursor.ahead()
            if index.kind is not TokenKind.NUMBER or not index.value.isdigit():
                raise cursor.error(
                    "an element is chosen by a whole number from 0", index, "write column[0]"
                )
            self.nesting.open("]", cursor.next())
            position = self.operation()
            self.nesting.close()
            node = Element(node.token, node, position)
        return node

    def _primary(self) -> Node:
        cursor, token = self.cursor, self.cursor.token
        leaf = read_literal(cursor) or read_interval(cursor)
        if leaf is not None:
            self.nesting.end_operand(token)
            return Literal(token, leaf)
        if token.is_symbol("("):
            self.nesting.open(")", cursor.next())
            return Parentheses(token, self._items())
        if token.keyword == "CASE":
            return self._case()
        if token.keyword in RESERVED or token.kind in (TokenKind.SYMBOL, TokenKind.END):
            raise self._missing_operand(token)
        if token.kind is TokenKind.WORD and cursor.ahead().is_symbol("("):
            return self._call()
        return self._column()

    def _column(self) -> Node:
        cursor, names = self.cursor, [self.cursor.next()]
        while cursor.takes_symbol("."):
            if cursor.token.is_symbol("*"):
                raise self._missing_operand(cursor.token)
            if not cursor.token.is_name:
                raise cursor.error("a name must follow the point", hint="write stream.column")
            names.append(cursor.next())
        token, stream = names[0], cursor.stream
        if len(names) > 1 and cursor.token.is_symbol("("):
            raise cursor.error("functions are called by their plain name", token, _known())
        ours = stream is not None and token.value.casefold() == stream.casefold()
        if len(names) > 2 or (len(names) == 2 and not ours):
            allowed = f"{stream}.{names[1].value} or " if stream else ""
            raise cursor.error(
                f"{token.value} is not the stream of this query"
                if stream
                else "a column is called by its plain name here",
                token,
                f"write {allowed}{names[-1].value}; fields of structures cannot be reached",
            )
        self.nesting.end_operand(token)
        return Column(token, names[-1].value, qualified=len(names) == 2)

    def _case(self) -> Node:
        cursor, token = self.cursor, self.cursor.next()
        self.nesting.open("END", token)
        operand = None if cursor.token.keyword == "WHEN" else self.operation()
        parts: list[Node] = []
        self._expect_in_case("WHEN")
        while not parts or cursor.takes("WHEN"):
            parts.append(self.operation())
            self._expect_in_case("THEN")
            parts.append(self.operation())
        if cursor.takes("ELSE"):
            parts.append(self.operation())
        if cursor.token.keyword in _CASE_WORDS[:-1]:
            raise self._misfit(_CASE_FORM)
        self.nesting.close()
        return Case(token, operand, tuple(parts))

    def _expect_in_case(self, word: str) -> None:
        if not self.cursor.takes(word):
            if self.cursor.token.keyword in _CASE_WORDS:
                raise self._misfit(_CASE_FORM)
            raise self.nesting.missing_operator()

    # -- calls -----------------------------------------------------------------------------------

    def _call(self) -> Node:
        cursor, token = self.cursor, self.cursor.token
        name = ALIASES.get(token.keyword, token.keyword)
        if name == "EXTRACT":
            name = self._extracted()
        elif name not in FUNCTIONS:
            hint = REFUSED.get(name) or did_you_mean(name, [*FUNCTIONS, *ALIASES]) or _known()
            raise cursor.error(f"{token.value} is not a function of the language", token, hint)
        else:
            self.nesting.count_term(token)
            self.nesting.open(")", cursor.ahead(), token)
            cursor.index += 2
        arguments: tuple[Node, ...] = ()
        if cursor.token.is_symbol(")"):
            self.nesting.close()
        elif name == "CAST":
            return self._cast(token)
        else:
            arguments = self._items()
        self._check_arguments(token, name, len(arguments))
        return FunctionCall(token, name, arguments)

    def _extracted(self) -> str:
        """Read ``EXTRACT(part FROM``; return the function that gives this part."""
        cursor, part, word = self.cursor, self.cursor.ahead(2), self.cursor.ahead(3)
        name = EXTRACTED.get(part.keyword)
        if name is None or word.keyword != "FROM":
            raise cursor.error(
                "EXTRACT takes a part and FROM",
                part if name is None else word,
                f"write EXTRACT(HOUR FROM ts); the parts are {', '.join(EXTRACTED)}"
                " (seconds: SECOND(ts))",
            )
        self.nesting.open(")", cursor.ahead(), cursor.token)
        cursor.index += 4
        return name

    def _cast(self, token: Token) -> Node:
        cursor = self.cursor
        operand = self.operation()
        if cursor.token.is_symbol(")"):
            self._check_arguments(token, "CAST", 1)
        if not cursor.takes("AS"):
            raise self.nesting.missing_operator()
        word = cursor.token
        if word.keyword not in TYPES:
            raise cursor.error(
                f"{word.described()} is not a type to cast to",
                word,
                did_you_mean(word.value, list(TYPES))
                or f"the types are {', '.join(dict.fromkeys(TYPES.values()))}",
            )
        self.nesting.count_term(cursor.next())
        self.nesting.close()
        return Cast(token, operand, TYPES[word.keyword])

    def _items(self) -> tuple[Node, ...]:
        """Read expressions with commas between them, and the parenthesis that closes them."""
        items = self.cursor.listed(self.operation)
        self.nesting.close()
        return tuple(items)

    def _check_arguments(self, token: Token, name: str, count: int) -> None:
        function = FUNCTIONS[name]
        if function.least <= count <= function.most:
            return
        few = count < function.least
        allowed = function.least if few else function.most
        raise self.cursor.error(
            f"{name} takes {'at least' if few else 'at most'} {allowed} argument"
            f"{'s' * (allowed != 1)}, not {count}",
            token,
            f"write {function.example}",
        )

    # -- errors ----------------------------------------------------------------------------------

    def _unclear(self, token: Token) -> QueryError:
        return self.cursor.error(
            "what belongs together here is not clear",
            token,
            "use parentheses: comparisons do not chain, write a < b AND b < c",
        )

    def _misfit(self, hint: str) -> QueryError:
        return self.cursor.error(f"{self.cursor.token.described()} does not fit here", hint=hint)

    def _missing_operand(self, token: Token) -> QueryError:
        message, word = f"an expression is missing before {token.described()}", token.keyword
        hint = "write a column, a literal or a function there"
        if word in ("SELECT", "EXISTS", "WITH"):
            message, hint = "subqueries are not available", "an expression looks at one record"
        elif token.is_symbol("*", "+", "["):
            hints = {"*": "name the columns", "+": "leave the plus out", "[": "write ARRAY(1, 2)"}
            hint = hints[token.value]
        elif word in RESERVED and word not in OPERATOR_WORDS:
            hint = f"write `{token.value}` for a column of that name"
        return self.cursor.error(message, token, hint)


def _known() -> str:
    return f"the functions are {', '.join(sorted(FUNCTIONS)).lower()}"
