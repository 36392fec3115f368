"""The literals of an expression: numbers, texts, dates, times, intervals; IN lists and patterns.

A leaf holds its text three times: canonical, for Spark and for DuckDB.

- A number with a point or an exponent is a DOUBLE. (Spark would read ``0.5`` as a DECIMAL, whose
  arithmetic no two engines share; scores are doubles in any case.)
- Dates and times are checked here, once, and are UTC unless they name an offset.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import TypeVar

from crestline.language.cursor import Cursor
from crestline.language.tokens import Token, TokenKind, quoted_text, shortened

_MOST = (1 << 63) - 1
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:\d\d)?)?)?", re.ASCII
)
Moment = TypeVar("Moment", date, datetime)


@dataclass(frozen=True, slots=True)
class Leaf:
    """``kind`` is number, text, date, timestamp, interval, constant or predicate."""

    kind: str
    canonical: str
    spark: str
    duckdb: str
    value: object = None
    #: A number with a minus sign, for Spark and DuckDB.
    negative: tuple[str, str] = ("", "")


def number(written: str) -> Leaf:
    """A literal number; ``ValueError`` if it is too large.

    >>> number("1.50").spark, number("7").duckdb
    ('1.5e0', 'CAST(7 AS INTEGER)')
    """
    if written.isdigit():
        value = int(written)
        if value > _MOST:
            double = float(written)  # infinite beyond what a double holds
            advice = f"; write {double:.6e} for a double" if isfinite(double) else ""
            raise ValueError(f"whole numbers go up to {_MOST}{advice}")
        kind = "INTEGER" if value < 1 << 31 else "BIGINT"
        # DuckDB would fit the type of a bare 300 to its neighbour, and overflow with it.
        typed = (f"CAST({value} AS {kind})", f"CAST(-{value} AS {kind})")
        suffix = "" if kind == "INTEGER" else "L"
        spark = (f"{value}{suffix}", f"(-{value}{suffix})")
        return Leaf("number", str(value), spark[0], typed[0], value, (spark[1], typed[1]))
    real = float(written)
    if not isfinite(real):
        raise ValueError("a double goes up to 1.797e308")
    canonical = repr(real)
    shown = canonical if "e" in canonical else canonical + "e0"
    return Leaf("number", canonical, shown, shown, real, (f"(-{shown})", f"(-{shown})"))


def text(value: str) -> Leaf:
    """A text."""
    return Leaf("text", quoted_text(value), quoted_text(value), _duckdb_text(value), value)


def constant(word: str) -> Leaf:
    """NULL, TRUE or FALSE."""
    return Leaf("constant", word, word, word, {"NULL": None, "TRUE": True, "FALSE": False}[word])


def date_literal(value: str) -> Leaf:
    """A date."""
    day = _read(date.fromisoformat, value, "DATE '2024-01-31'").isoformat()
    return Leaf("date", f"DATE '{day}'", f"DATE '{day}'", f"DATE '{day}'", value)


def timestamp_literal(value: str) -> Leaf:
    """A timestamp in UTC.

    >>> timestamp_literal("2024-01-31 12:00+02:00").spark
    "TIMESTAMP '2024-01-31 10:00:00Z'"
    """
    moment = _read(datetime.fromisoformat, value, "TIMESTAMP '2024-01-31 12:00:00'")
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise ValueError("a timestamp lies in the years 1 to 9999, UTC") from None
    shown = moment.isoformat(" ")
    plain = f"TIMESTAMP '{shown}'"
    return Leaf("timestamp", plain, f"TIMESTAMP '{shown}Z'", plain, value)


def interval(count: str, unit: str) -> Leaf:
    """A span of time.

    >>> interval("90", "seconds").duckdb
    'to_microseconds(90000000)'
    """
    if not re.fullmatch(r"-?[0-9]{1,12}", count.strip()):
        raise ValueError("an interval counts whole units: INTERVAL 5 MINUTES")
    whole = int(count)
    name = unit.upper().removesuffix("S")
    canonical = f"INTERVAL '{whole}' {name}"
    if months := {"MONTH": 1, "YEAR": 12}.get(name):
        if abs(whole * months) >= 1 << 31:
            raise ValueError("an interval is less than 2,147,483,648 months")
        spark = f"INTERVAL '{whole * months}' MONTH"
        return Leaf("interval", canonical, spark, f"to_months({whole * months})", whole)
    if not (size := INTERVAL_UNITS.get(name)):
        raise ValueError(f"the units of an interval are {', '.join(INTERVAL_UNITS)}, MONTH, YEAR")
    total = whole * size
    if abs(total) >= 1 << 60:
        raise ValueError("an interval is shorter than 36,000 years")
    seconds = format(Decimal(total) / 1_000_000, "f")
    spark = f"INTERVAL '{seconds}' SECOND"
    return Leaf("interval", canonical, spark, f"to_microseconds({total})", whole)


#: Microseconds of the interval units that have a fixed length.
INTERVAL_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}


def is_null(negated: bool) -> Leaf:
    """``IS NULL`` or ``IS NOT NULL``."""
    shown = "IS NOT NULL" if negated else "IS NULL"
    return Leaf("predicate", shown, shown, shown)


def in_list(values: list[Leaf], negated: bool) -> Leaf:
    """``IN (...)`` or ``NOT IN (...)``."""
    word = "NOT IN" if negated else "IN"
    return Leaf(
        "predicate",
        f"{word} ({', '.join(value.canonical for value in values)})",
        f"{word} ({', '.join(value.spark for value in values)})",
        f"{word} ({', '.join(value.duckdb for value in values)})",
    )


def like(pattern: str, negated: bool) -> Leaf:
    """A LIKE pattern; the backslash escapes, which DuckDB must be told with ESCAPE."""
    if re.search(r"\\(?![%_\\])", re.sub(r"\\[%_\\]", "", pattern)):
        raise ValueError("in a LIKE pattern a backslash stands before %, _ or another backslash")
    word = "NOT LIKE" if negated else "LIKE"
    shown = f"{word} {quoted_text(pattern)}"
    return Leaf("predicate", shown, shown, f"{word} {_duckdb_text(pattern)} ESCAPE '\\'", pattern)


#: Types to cast to, with their other spellings. Engines disagree on which text is true (BOOLEAN),
#: on how decimals round (DECIMAL) and on doubles that are too large (FLOAT), so these are missing.
TYPES = {
    "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
}


# -- from tokens -----------------------------------------------------------------------------------


def read_literal(cursor: Cursor) -> Leaf | None:
    """Read a number, a text, NULL, TRUE, FALSE, a date or a timestamp, if one comes next."""
    token, following = cursor.token, cursor.ahead()
    if token.kind is TokenKind.NUMBER:
        return _taken(cursor, number, token)
    if token.kind is TokenKind.STRING:
        return _taken(cursor, text, token)
    if token.keyword in ("NULL", "TRUE", "FALSE"):
        return constant(cursor.next().keyword)
    if token.keyword in ("DATE", "TIMESTAMP") and following.kind is TokenKind.STRING:
        cursor.next()
        reader = date_literal if token.keyword == "DATE" else timestamp_literal
        return _taken(cursor, reader, following)
    return None


def read_listed(cursor: Cursor) -> Leaf:
    """Read one literal of an IN list."""
    token = cursor.token
    negative = cursor.ahead().kind is TokenKind.NUMBER and cursor.takes_symbol("-")
    leaf = read_literal(cursor)
    if leaf is None:
        raise cursor.error("an IN list holds literals only", token, "write IN ('A', 'B')")
    return Leaf("number", f"-{leaf.canonical}", *leaf.negative) if negative else leaf


def read_interval(cursor: Cursor) -> Leaf | None:
    """Read ``INTERVAL 5 MINUTES``, if one comes next."""
    following = cursor.ahead()
    sign = "-" if following.is_symbol("-") else ""
    counts = sign or following.kind in (TokenKind.NUMBER, TokenKind.STRING)
    if cursor.token.keyword != "INTERVAL" or not counts:
        return None
    count, unit = cursor.ahead(1 + len(sign)), cursor.ahead(2 + len(sign))
    if unit.kind is not TokenKind.WORD or count.kind not in (TokenKind.NUMBER, TokenKind.STRING):
        raise cursor.error("an interval needs a number and a unit", count, "INTERVAL 5 MINUTES")
    cursor.index += 2 + len(sign)
    return _taken(cursor, lambda value: interval(sign + value, unit.value), count)


def read_like(cursor: Cursor, negated: bool) -> Leaf:
    """Read the pattern behind LIKE."""
    pattern = cursor.token
    if pattern.kind is not TokenKind.STRING:
        raise cursor.error("LIKE takes a text", hint="write LIKE 'A%'")
    return _taken(cursor, lambda value: like(value, negated), pattern)


def _taken(cursor: Cursor, make: Callable[[str], Leaf], token: Token) -> Leaf:
    """Make a leaf of the token's value, and go on; what is wrong with it is shown there."""
    try:
        leaf = make(token.value)
    except ValueError as complaint:
        raise cursor.error(str(complaint), token) from None
    cursor.next()
    return leaf


def _duckdb_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _read(reader: Callable[[str], Moment], value: str, example: str) -> Moment:
    """Read an ISO 8601 text."""
    try:
        # Python also reads week dates and times without colons, which no SQL engine does.
        if _ISO.fullmatch(value):
            return reader(value)
    except ValueError:
        pass
    raise ValueError(f"{shortened(value)!r} is not of the form {example}")
