"""The order of records for the oracle: ranks, ties, how ROWS counts, and the order of results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from crestline.testing.spec import Record, Spec

#: The end of a window and the values of its partition.
Cell = tuple[int, tuple[Any, ...]]


@dataclass(frozen=True)
class Arrived:
    """A record with its arrival number; ``time`` is 0 where the query has no event time."""

    number: int
    record: Record
    time: int


def sort_key(value: Any) -> tuple[int, Any]:
    """Order values as SQL does: NULL is smallest, NaN is largest, -0.0 equals 0.0."""
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


def compare(a: Any, b: Any) -> int:
    """Return 1, 0 or -1 as ``a`` is larger than, equal to or smaller than ``b``."""
    return (sort_key(a) > sort_key(b)) - (sort_key(a) < sort_key(b))


def tie_columns(spec: Spec) -> tuple[str, ...]:
    """The columns that break ties: the key, then the other selected columns."""
    key = spec.key or spec.select
    return key + tuple(c for c in spec.select if c not in key)


def ranked(spec: Spec, window: Sequence[Arrived]) -> list[Arrived]:
    """Sort the records of a window, best first.

    Records that look the same in every result may have any fixed order. Here the record that is
    counted last is the best. So a ROWS window does not replace it by its twin before it expires.
    """

    def by_rank(a: Arrived, b: Arrived) -> int:
        for column, descending in spec.order:
            if c := compare(a.record[column], b.record[column]):
                return -c if descending else c
        if spec.ts is None:
            return b.number - a.number
        if a.time != b.time:
            return -1 if a.time > b.time else 1
        return by_columns(spec, a, b) or b.number - a.number

    return sorted(window, key=cmp_to_key(by_rank))


def by_columns(spec: Spec, a: Arrived, b: Arrived) -> int:
    """Compare two records by the columns that break ties."""
    for column in tie_columns(spec):
        if c := compare(a.record[column], b.record[column]):
            return c
    return 0


def counting_order(spec: Spec, records: Sequence[Arrived]) -> list[Arrived]:
    """Sort records as ROWS counts them: by arrival, or by event time and key."""
    if spec.ts is None:
        return list(records)

    def by_time(a: Arrived, b: Arrived) -> int:
        return a.time - b.time or by_columns(spec, a, b) or a.number - b.number

    return sorted(records, key=cmp_to_key(by_time))


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    """Sort cells by window end, then by partition values."""
    return sorted(cells, key=cell_key)


def cell_key(cell: Cell) -> tuple[int, list[tuple[int, Any]]]:
    """Order cells by window end, then by partition values."""
    return cell[0], [sort_key(value) for value in cell[1]]


__all__ = [
    "Arrived",
    "Cell",
    "by_columns",
    "cell_key",
    "compare",
    "counting_order",
    "in_order",
    "ranked",
    "sort_key",
]
