"""Compare result rows with those of the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from crestline.testing.oracle import comparable
from crestline.testing.ordering import sort_key
from crestline.testing.spec import Record, Row, Spec


def to_table(records: Sequence[Record], times: Sequence[str] = ()) -> pa.Table:
    """Turn records into a table; the columns ``times`` hold microseconds since 1970."""
    table = pa.Table.from_pylist(list(records))
    for name in times:
        column = table.column(name).cast(pa.int64()).cast(pa.timestamp("us", "UTC"))
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def rows_of(table: pa.Table) -> list[Row]:
    """Turn a result into dictionaries, with timestamps as microseconds since 1970."""
    columns = []
    for values in table.columns:
        if pa.types.is_timestamp(values.type):
            whole = pa.timestamp("us", values.type.tz)
            columns.append(values.cast(whole, safe=False).cast(pa.int64()).to_pylist())
        else:
            columns.append(values.to_pylist())
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def sorted_rows(spec: Spec, rows: Sequence[Row]) -> list[Row]:
    """Sort rows of several pushes by window end, partition, revision and rank.

    Changes and entries keep the order that they have inside one moment.
    """
    end = "window_end" if spec.emit == "SNAPSHOTS" else "at"

    def position(row: Row) -> Any:
        inside: tuple[int, ...] = ()
        if spec.emit == "SNAPSHOTS":
            inside = row.get("revision", 0), row["rank"]
        return row[end], [sort_key(row[c]) for c in spec.partition], inside

    return sorted(rows, key=position)


def assert_same_rows(got: Sequence[Row], expected: Sequence[Row], about: str = "") -> None:
    """Assert that rows are equal, NaN included; show the first rows that differ."""
    ours, theirs = comparable(got), comparable(expected)
    if ours == theirs:
        return
    first = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    lines = [about, f"{len(ours)} rows, {len(theirs)} expected; they part at row {first}"]
    lines += [f"  got      {row}" for row in ours[first : first + 3]]
    lines += [f"  expected {row}" for row in theirs[first : first + 3]]
    raise AssertionError("\n".join(lines))


__all__ = ["assert_same_rows", "rows_of", "sorted_rows", "to_table"]
