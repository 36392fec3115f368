"""Hints for what other query languages have and this one does not: what to write instead."""

from __future__ import annotations

from collections.abc import Sequence

from crestline.language.tokens import Token, TokenKind

_JOIN = "a query reads one stream, or with COMBINE several: FROM a, b"
_K = "k stands in SELECT TOP k"
_SEVERAL = "write several queries, separated by ;"
WINDOW_FUNCTIONS = (
    "window functions are not available: every row has its rank, and PARTITION BY gives every"
    " partition its own top k"
)
_PLACE = "the window stands in brackets behind the stream"

#: A whole query.
SKELETON = (
    "write SELECT TOP 10 symbol, price FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE ON ts]"
    " ORDER BY price DESC"
)

#: Words that begin a clause elsewhere.
ELSEWHERE = {
    "GROUP": "write PARTITION BY: every partition has its own top k",
    "HAVING": "filter records with WHERE",
    "LIMIT": _K,
    "FETCH": _K,
    "OFFSET": "select a larger k, and pass over the first rows by their rank",
    "QUALIFY": f"{_K}, and PARTITION BY gives every partition its own top k",
    **dict.fromkeys(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"), _JOIN),
    **dict.fromkeys(("UNION", "INTERSECT", "MINUS"), _SEVERAL),
    "EXCEPT": "write the columns that you want instead of *",
    "OVER": WINDOW_FUNCTIONS,
    "NULLS": "NULL is the smallest value: last with DESC, first with ASC",
    "WINDOW": _PLACE,
    "WITHIN": _PLACE,
    "LATE": "write LATENESS 10 SECONDS LATE REVISE",
    "ON": "the event-time column stands in the window: [RANGE 1 HOUR ON ts]",
}

DISTINCT = (
    "DISTINCT is not available: a result row is a record",
    "for the best record of each symbol write SELECT TOP 1 ... PARTITION BY symbol",
)
SUBQUERY = (
    "subqueries are not available: a query reads a stream",
    "write FROM and the name of the stream, its conditions behind WHERE, and expressions in SELECT",
)


def how_many(tokens: Sequence[Token]) -> str:
    """What to write in a query without TOP, which may say elsewhere how many rows are wanted."""
    for index, token in enumerate(tokens):
        if token.is_symbol(";"):
            break
        if token.keyword not in ("LIMIT", "FETCH"):
            continue
        count = next((t for t in tokens[index + 1 : index + 3] if t.kind is TokenKind.NUMBER), None)
        if count is not None:
            return f"write SELECT TOP {count.value} ..., and leave {token.keyword} out"
    return "say how many: SELECT TOP 10 ..."


__all__ = ["DISTINCT", "ELSEWHERE", "SKELETON", "SUBQUERY", "WINDOW_FUNCTIONS", "how_many"]
