"""Values as people read them: cells, aligned text and HTML tables.

No value can send control characters to a terminal or become markup.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

#: The most characters of a cell of a text table, and of a line.
_WIDEST_CELL, _WIDEST_LINE = 40, 120


def cell(value: Any) -> str:
    """A value as people read it, without control characters.

    >>> cell(1234567.5), cell(None), cell("a" + chr(27) + "[31m")
    ('1,234,567.5', 'NULL', 'a\\\\x1b[31m')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:,.10g}"
    if isinstance(value, datetime):
        return moment(value)
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if _harmless(c) else c.encode("unicode_escape").decode() for c in text)


def _harmless(character: str) -> bool:
    return character == " " or not unicodedata.category(character).startswith(("C", "Z"))


def moment(time: datetime) -> str:
    """A time in UTC, to the second where it is a whole one.

    >>> moment(datetime(2024, 1, 2, 3, 4, 5)), moment(datetime(2024, 1, 2, 3, 4, 5, 600000))
    ('2024-01-02 03:04:05', '2024-01-02 03:04:05.6')
    """
    utc = time if time.tzinfo is None else time.astimezone(UTC)
    text = f"{utc:%Y-%m-%d %H:%M:%S}"
    return f"{text}.{utc.microsecond:06}".rstrip("0") if utc.microsecond else text


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2000, "query")
    ('1 row', '2,000 queries')
    """
    if number != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number:,} {noun}"


def is_number(dtype: pa.DataType) -> bool:
    """Whether the values of a column are aligned to the right."""
    import pyarrow as pa

    integer = pa.types.is_integer(dtype) or pa.types.is_decimal(dtype)
    return bool(integer or pa.types.is_floating(dtype))


def column_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column to show: times in microseconds, as text where Python has no value."""
    import pyarrow as pa

    dtype = column.type
    if pa.types.is_timestamp(dtype) and dtype.unit == "ns":
        column = column.cast(pa.timestamp("us", dtype.tz), safe=False)
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):  # a year beyond 9999
        texts = map(str, column.to_numpy())
        return [None if text == "NaT" else text for text in texts]


def text_table(
    rows: Iterable[Sequence[str]], headings: Sequence[str], right: Sequence[bool]
) -> str:
    """Aligned columns, those in ``right`` to the right. Columns in the middle are left out if the
    line would be too long.

    >>> print(text_table([["1", "a"], ["12", "b"]], ["rank", "name"], [True, False]))
    rank  name
       1  a
      12  b
    """
    table = [[_cut(text) for text in row] for row in (headings, *rows)]
    columns = [
        _aligned(column, side) for column, side in zip(zip(*table, strict=True), right, strict=True)
    ]
    if sum(_width(column[0]) + 2 for column in columns) > _WIDEST_LINE:
        dots, room = ["..."] * len(table), _WIDEST_LINE - 5
        while sum(_width(column[0]) + 2 for column in columns) > room and len(columns) > 2:
            del columns[len(columns) // 2]
        columns.insert((len(columns) + 1) // 2, dots)
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _aligned(column: Sequence[str], right: bool) -> list[str]:
    width = max(map(_width, column))
    spaces = [" " * (width - _width(text)) for text in column]
    pairs = zip(spaces, column, strict=True)
    return [space + text if right else text + space for space, text in pairs]


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_CELL else text[: _WIDEST_CELL - 3] + "..."


def _width(text: str) -> int:
    """Columns of a terminal: wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def html_table(
    rows: Iterable[Sequence[str]], headings: Sequence[str] = (), right: Sequence[bool] = ()
) -> str:
    """A table of escaped texts.

    >>> html_table([["<b>"]])
    '<table><tr><td style="text-align:left">&lt;b&gt;</td></tr></table>'
    """
    sides = ["right" if each else "left" for each in right]

    def line(tag: str, texts: Sequence[str]) -> str:
        aligned = zip(texts, sides or ["left"] * len(texts), strict=True)
        cells = (f'<{tag} style="text-align:{side}">{escape(t)}</{tag}>' for t, side in aligned)
        return f"<tr>{''.join(cells)}</tr>"

    head = line("th", headings) if headings else ""
    return f"<table>{head}{''.join(line('td', row) for row in rows)}</table>"


def folded_html(summary: str, content: str) -> str:
    """``content``, which is HTML, behind a line to click on."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


__all__ = [
    "cell",
    "column_values",
    "counted",
    "folded_html",
    "html_table",
    "is_number",
    "moment",
    "text_table",
]
