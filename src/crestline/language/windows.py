"""The window in brackets behind FROM."""

from __future__ import annotations

from crestline.core.errors import QueryError
from crestline.core.window import RangeWindow, RowsWindow, UnboundedWindow, Window
from crestline.language.advice import ELSEWHERE
from crestline.language.clauses import no_clause
from crestline.language.cursor import Cursor
from crestline.language.draft import StreamDefaults, read_default
from crestline.language.expression import read_expression
from crestline.language.tokens import did_you_mean, quoted_name

_FORMS = (
    "write [RANGE 10 MINUTES SLIDE 1 MINUTE ON ts], [RANGE 10 MINUTES ON ts],"
    " [ROWS 1000 SLIDE 100], [ROWS 1000], [UNBOUNDED SLIDE 1 MINUTE ON ts]"
    " or [UNBOUNDED SLIDE 100 ROWS]"
)


def read_window(cursor: Cursor, stream: str, default: StreamDefaults) -> Window:
    """Read a window; a time window without ON takes the event time of ``default``."""
    if not cursor.takes_symbol("["):
        raise _no_window(cursor, stream)
    word = cursor.token.keyword
    window: Window
    if cursor.takes("RANGE"):
        width = cursor.duration("the width of the window")
        slide = cursor.duration("the slide") if cursor.takes("SLIDE") else None
        window = RangeWindow(width, slide, _read_on(cursor, default))
    elif cursor.takes("ROWS"):
        rows = _read_rows(cursor, "the number of records in the window")
        step = _read_rows(cursor, "the slide") if cursor.takes("SLIDE") else 1
        window = RowsWindow(rows, step, _read_time(cursor) if cursor.takes("ON") else None)
    elif cursor.takes("UNBOUNDED"):
        cursor.expect("SLIDE", hint=_FORMS)
        if cursor.ahead().keyword == "ROWS":
            window = UnboundedWindow(_read_rows(cursor, "the slide"))
            cursor.expect("ROWS")
        else:
            window = UnboundedWindow(cursor.duration("the slide"), _read_on(cursor, default))
    else:
        hint = did_you_mean(word, ["RANGE", "ROWS", "UNBOUNDED"]) or _FORMS
        raise cursor.error(
            f"expected RANGE, ROWS or UNBOUNDED before {cursor.token.described()}", hint=hint
        )
    if not cursor.takes_symbol("]"):
        hint = did_you_mean(cursor.token.keyword, ["SLIDE", "ON", "ROWS"]) or _FORMS
        raise cursor.error(f"expected ] before {cursor.token.described()}", hint=hint)
    return window


def _no_window(cursor: Cursor, stream: str) -> QueryError:
    word, name = cursor.token.keyword, quoted_name(stream)
    if word in ELSEWHERE:
        return no_clause(cursor)
    hint = f"behind FROM {name}, {_FORMS}"
    if word == "AS" or (word and cursor.ahead().is_symbol("[")):
        hint = f"a stream has no second name: write FROM {name} [...], and {name}.column"
    return cursor.error(
        f"expected a window in brackets before {cursor.token.described()}", hint=hint
    )


def _read_rows(cursor: Cursor, what: str) -> int:
    rows = cursor.count(what)
    if cursor.token.keyword not in ("SLIDE", "ON", "ROWS", ""):
        raise cursor.error(
            f"ROWS counts records; {cursor.token.described()} does not belong here",
            hint="write RANGE for a window of time",
        )
    return rows


def _read_on(cursor: Cursor, default: StreamDefaults) -> str:
    """Read the event time of a time window, as canonical text."""
    if cursor.takes("ON"):
        return _read_time(cursor)
    if default.on is not None and cursor.token.is_symbol("]"):
        return read_default(cursor, default.on, _read_time)
    if cursor.token.is_symbol("]"):
        raise cursor.error(
            "a window of time needs the column of the event time",
            hint="write ON and the column before ]: [RANGE 10 MINUTES ON ts]",
        )
    hint = did_you_mean(cursor.token.keyword, ["SLIDE", "ON"]) or _FORMS
    raise cursor.error(f"expected ON before {cursor.token.described()}", hint=hint)


def _read_time(cursor: Cursor) -> str:
    return read_expression(cursor).sql
