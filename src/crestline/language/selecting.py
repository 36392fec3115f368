"""From SELECT to FROM: k, the selected columns, the streams."""

from __future__ import annotations

from crestline.language.advice import DISTINCT, ELSEWHERE, SKELETON, SUBQUERY, how_many
from crestline.language.cursor import Cursor
from crestline.language.draft import Draft, Placed
from crestline.language.expression import read_expression
from crestline.language.query import MAX_K, Selected, default_name
from crestline.language.tokens import Token, TokenKind, did_you_mean


def read_selection(cursor: Cursor) -> tuple[int, Draft]:
    """Read ``SELECT TOP k columns FROM streams``: k and a draft of the rest."""
    _expect_select(cursor)
    k = _read_k(cursor)
    draft = Draft()
    cursor.stream = _stream_ahead(cursor)
    _read_select_list(cursor, draft)
    cursor.expect("FROM", hint=ELSEWHERE.get(cursor.token.keyword, SKELETON))
    _read_inputs(cursor, draft)
    return k, draft


def read_selected(cursor: Cursor) -> Placed:
    """Read ``expression [AS name]``."""
    token = cursor.token
    expression = read_expression(cursor)
    name = cursor.name("a column name") if cursor.takes("AS") else default_name(expression)
    after = cursor.token
    if after.is_name and cursor.ahead().keyword in ("FROM", "AS"):
        raise cursor.error(
            f"expected a comma, AS or FROM before {after.described()}", after, "write AS"
        )
    return Selected(expression, name), token


def _expect_select(cursor: Cursor) -> None:
    if cursor.takes("SELECT"):
        return
    word = cursor.token.keyword
    if word == "WITH":
        raise cursor.error(SUBQUERY[0], hint=SUBQUERY[1])
    hint = did_you_mean(word, ["SELECT", "CREATE"]) or SKELETON
    raise cursor.error(f"expected SELECT before {cursor.token.described()}", hint=hint)


def _refuse_distinct(cursor: Cursor) -> None:
    if cursor.token.keyword == "DISTINCT":
        raise cursor.error(DISTINCT[0], hint=DISTINCT[1])


def _read_k(cursor: Cursor) -> int:
    """Read ``TOP 3``, ``TOP-3`` or ``TOP(3)``."""
    word = cursor.token
    _refuse_distinct(cursor)
    if not cursor.takes("TOP"):
        hint = did_you_mean(word.keyword, ["TOP"]) or how_many(cursor.tokens[cursor.index :])
        raise cursor.error(f"expected TOP before {word.described()}", hint=hint)
    bracket = cursor.takes_symbol("(")
    dash, number = cursor.token, cursor.ahead()
    if dash.is_symbol("-") and dash.start == word.end and dash.end == number.start:
        cursor.index += 1  # TOP-3, as papers write it
    first = last = cursor.next()
    if first.is_symbol("-") and cursor.token.kind is TokenKind.NUMBER:
        last = cursor.next()
    k = int(first.value) if first.kind is TokenKind.NUMBER and first.value.isdigit() else 0
    if not 1 <= k <= MAX_K:
        written = Token(first.kind, cursor.text[first.start : last.end], first.start, last.end)
        raise cursor.error(
            f"k is a whole number from 1 to {MAX_K:,}, not {written.described()}",
            written,
            "write TOP 10",
        )
    if bracket:
        cursor.expect_symbol(")")
    return k


def _stream_ahead(cursor: Cursor) -> str | None:
    """The name behind FROM, which may stand before the columns of the select list.

    None if there are several streams, as a column is one of all of them.
    """
    depth = 0
    for index in range(cursor.index, len(cursor.tokens) - 1):
        token = cursor.tokens[index]
        if token.is_symbol("("):
            depth += 1
        elif token.is_symbol(")"):
            depth -= 1
        elif token.is_symbol(";"):
            break
        elif token.keyword == "FROM" and depth <= 0:
            several = cursor.tokens[min(index + 2, len(cursor.tokens) - 1)].is_symbol(",")
            return None if several else cursor.tokens[index + 1].value
    return None


def _read_select_list(cursor: Cursor, draft: Draft) -> None:
    if cursor.token.keyword == "FROM":
        return
    _refuse_distinct(cursor)
    token = cursor.token
    if token.kind in (TokenKind.END, TokenKind.SYMBOL) and not token.is_symbol("(", "-", "*"):
        raise cursor.error(f"expected columns before {token.described()}", hint=SKELETON)
    more = True
    while more:
        if not _takes_star(cursor, draft):
            draft.select.append(read_selected(cursor))
        more = cursor.takes_symbol(",")


def _takes_star(cursor: Cursor, draft: Draft) -> bool:
    """Take ``*``, with or without the stream before it, if it comes next."""
    token = cursor.token
    names_stream = token.value.casefold() == (cursor.stream or "").casefold()
    if names_stream and cursor.ahead().is_symbol(".") and cursor.ahead(2).is_symbol("*"):
        cursor.index += 2
    if not cursor.takes_symbol("*"):
        return False
    if draft.star is not None:
        raise cursor.error("* is selected twice", token, "write it once")
    draft.star, draft.tokens["star"] = len(draft.select), token
    return True


def _read_inputs(cursor: Cursor, draft: Draft) -> None:
    """Read the names behind FROM."""
    while not draft.inputs or cursor.takes_symbol(","):
        token = cursor.token
        if token.is_symbol("("):
            raise cursor.error(SUBQUERY[0], hint=SUBQUERY[1])
        name = cursor.name("the name of a stream")
        if name.casefold() in draft.inputs:
            raise cursor.error(f"FROM names the stream {name} twice", token, "name it once")
        draft.inputs[name.casefold()] = name
        if len(draft.inputs) == 2:
            draft.tokens["second_input"] = token
