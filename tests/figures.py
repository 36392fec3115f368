"""Edits of measured figures: what a verdict would say if they were others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Edit = Callable[[Row], None]


def put(rows: list[Row], key: str, value: Any, **where: Any) -> None:
    """Set the key of the rows that have these values; ``value`` may be computed from the row."""
    chosen = [row for row in rows if all(row[name] == one for name, one in where.items())]
    assert chosen, f"no row has {where}"
    for row in chosen:
        row[key] = value(row) if callable(value) else value


def times(rows: list[Row], key: str, factor: float, **where: Any) -> None:
    """Multiply the key of the rows that have these values."""
    put(rows, key, lambda row: row[key] * factor, **where)


def ends(rows: list[Row], key: str) -> tuple[Any, Any]:
    """The least and the most that the rows have of what was varied."""
    values = [row[key] for row in rows]
    return min(values), max(values)
