"""The COMBINE clause: which function, of what, across which streams, of which objects.

What names a stream is checked against everything that names streams before it.
"""

from __future__ import annotations

from collections.abc import Mapping

from crestline.core.errors import QueryError
from crestline.language.cursor import Cursor
from crestline.language.draft import Draft, Fields
from crestline.language.expression import Expression, read_column, read_expression
from crestline.language.query import COMBINATIONS, Combine
from crestline.language.tokens import Token, TokenKind, quoted_name, quoted_text, shortened

_LISTED = "write ACROSS column IN ('a', 'b')"
_WEIGHTED = "write WEIGHTED_SUM(value, (a => 0.5, b => 2))"

Weights = tuple[tuple[str, float], ...]
#: The name of a stream, and the token where it is written.
Named = tuple[str, Token]


def read_combine(cursor: Cursor, draft: Draft) -> Fields:
    """Read the clause."""
    cursor.expect("COMBINE")
    function = cursor.one_of(COMBINATIONS, "a function")
    cursor.expect_symbol("(", "write COMBINE SUM(value) ACROSS stream OBJECT id")
    value, weights, weighted = read_combined(cursor, draft, function)
    if function == "WEIGHTED_SUM" and not weights:
        raise cursor.error("WEIGHTED_SUM needs weights", hint=_WEIGHTED)
    cursor.expect("ACROSS", hint="write ACROSS and the column that names the stream of a value")
    across = _read_across(cursor)
    listed = _read_streams(cursor, draft.inputs) if cursor.takes("IN") else []
    streams = tuple(name for name, _ in listed)
    if listed and weighted:
        _match_weights(cursor, weighted, streams, "the list of streams")
    cursor.expect("OBJECT", hint="write OBJECT and the column that names the object")
    key = read_column(cursor, "OBJECT")
    low, high = _read_values(cursor)
    repeats, at_most = _read_repeats(cursor)
    combine = Combine(
        function, value, across, key, low, high, repeats, at_most, weights, streams
    )  # fmt: skip
    return {"combine": combine}


def read_combined(
    cursor: Cursor, draft: Draft, function: str
) -> tuple[Expression, Weights, list[Named]]:
    """Read ``value [, (stream => weight, ...)])``, behind the opening parenthesis."""
    inputs = draft.inputs
    value = read_expression(cursor)
    weights: list[tuple[Named, float]] = []
    if function == "WEIGHTED_SUM" and cursor.takes_symbol(","):
        cursor.expect_symbol("(", _WEIGHTED)
        weights = cursor.listed(lambda: _read_weight(cursor, inputs))
        cursor.expect_symbol(")")
    cursor.expect_symbol(")")
    weighted = [named for named, _ in weights]
    _refuse_twice(cursor, weighted, "has two weights", "give each stream one weight")
    if weights and len(inputs) > 1:
        _match_weights(cursor, weighted, tuple(inputs.values()), "FROM")
    return value, tuple((name, weight) for (name, _), weight in weights), weighted


def _read_weight(cursor: Cursor, inputs: Mapping[str, str]) -> tuple[Named, float]:
    start = cursor.token
    if start.kind in (TokenKind.STRING, TokenKind.NUMBER) or start.is_symbol("-"):
        name, _ = _read_stream(cursor, inputs)
    else:
        name = _spelled(cursor.name("the name of a stream"), inputs)
    cursor.expect_symbol("=>", "write a => 0.5")
    token = cursor.token
    weight = cursor.real("a weight")
    if weight < 0:
        raise cursor.error("a weight cannot be negative", token, "write 0 or more")
    return (name, start), weight


# -- streams ---------------------------------------------------------------------------------------


def _read_across(cursor: Cursor) -> str:
    """Read the column, which IN may follow: then it must not be read as a condition."""
    size = 3 if cursor.ahead().is_symbol(".") else 1
    end = cursor.ahead(size)
    if end.keyword != "IN" or not cursor.token.is_name:
        return read_column(cursor, "ACROSS")
    tokens = [cursor.ahead(i) for i in range(size)] + [Token(TokenKind.END, "", end.start, end.end)]
    alone = Cursor(cursor.text, tokens)
    alone.stream = cursor.stream
    cursor.index += size
    return read_column(alone, "ACROSS")


def _read_streams(cursor: Cursor, inputs: Mapping[str, str]) -> list[Named]:
    """Read ``('a', 'b', 3)``, behind IN."""
    start = cursor.token
    cursor.expect_symbol("(", _LISTED)
    listed = cursor.listed(lambda: _read_stream(cursor, inputs))
    cursor.expect_symbol(")", _LISTED)
    _refuse_twice(cursor, listed, "stands twice in the list", "name each stream once")
    if len(inputs) > 1:
        names, allowed = {name for name, _ in listed}, dict.fromkeys(inputs.values())
        for name, token in listed:
            if name not in allowed:
                raise _stranger(cursor, name, token, tuple(allowed), "FROM")
        for name in allowed:
            if name not in names:
                raise cursor.error(
                    f"the input {name} is missing in the list of streams",
                    start,
                    "leave IN out: FROM says which streams there are",
                )
    return listed


def _read_stream(cursor: Cursor, inputs: Mapping[str, str]) -> Named:
    """Read the name of a stream as the data has it: a text or a whole number."""
    start = cursor.token
    sign = "-" if cursor.takes_symbol("-") else ""
    token = cursor.token
    if token.kind is TokenKind.STRING and not sign:
        return _spelled(cursor.next().value, inputs), start
    if token.kind is TokenKind.NUMBER and token.value.isdigit():
        return str(int(sign + cursor.next().value)), start
    hint = _LISTED
    if token.is_name:
        hint = f"write {quoted_text(token.value)}"
    raise cursor.error(
        f"a stream is named by a text or a whole number, not by {token.described()}", token, hint
    )


def _spelled(name: str, inputs: Mapping[str, str]) -> str:
    """The name as FROM spells it if there are several inputs; else names are those of the data."""
    return inputs.get(name.casefold(), name) if len(inputs) > 1 else name


def _refuse_twice(cursor: Cursor, streams: list[Named], problem: str, hint: str) -> None:
    seen: set[str] = set()
    for name, token in streams:
        if name in seen:
            raise cursor.error(f"the stream {shortened(name)} {problem}", token, hint)
        seen.add(name)


def _match_weights(
    cursor: Cursor, weighted: list[Named], streams: tuple[str, ...], where: str
) -> None:
    """Check that each stream has a weight, and nothing else has."""
    allowed, names = set(streams), {name for name, _ in weighted}
    for name, token in weighted:
        if name not in allowed:
            raise _stranger(cursor, name, token, streams, where)
    for name in streams:
        if name not in names:
            raise cursor.error(
                f"the stream {shortened(name)} has no weight",
                weighted[-1][1],
                f"write {shortened(quoted_name(name))} => 1 too, or 0 if it does not count",
            )


def _stranger(
    cursor: Cursor, name: str, token: Token, streams: tuple[str, ...], where: str
) -> QueryError:
    return cursor.error(
        f"the stream {shortened(name)} is not in {where}",
        token,
        f"the streams are {shortened(', '.join(streams[:20]))}",
    )


# -- values ----------------------------------------------------------------------------------------


def _read_values(cursor: Cursor) -> tuple[float, float | None]:
    """Read ``VALUES BETWEEN low AND high``, if it comes."""
    if not cursor.takes("VALUES"):
        return 0.0, None
    start = cursor.token
    cursor.expect("BETWEEN", hint="write VALUES BETWEEN 0 AND 1")
    low = cursor.real("the lower end")
    cursor.expect("AND", hint="write VALUES BETWEEN 0 AND 1")
    high = cursor.real("the upper end")
    if not low < high:
        raise cursor.error("the range of values is empty", start, "write the lower end first")
    return low, high


def _read_repeats(cursor: Cursor) -> tuple[str | None, int | None]:
    """Read ``REPEATS f AT MOST m``, if it comes."""
    if not cursor.takes("REPEATS"):
        return None, None
    repeats = cursor.one_of(COMBINATIONS[:-1], "a function")
    cursor.expect("AT", "MOST", hint="write REPEATS SUM AT MOST 3")
    return repeats, cursor.count("the number of repeats")
