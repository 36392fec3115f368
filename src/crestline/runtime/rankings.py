"""Result rows as rankings to draw: the record at each rank, result after result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.display import cell, column_values, is_number
from crestline.core.errors import CrestlineError
from crestline.core.order import sort_codes
from crestline.language import Query
from crestline.planner.words import window_text

#: More results than this make lines too narrow to follow.
SHOWN = 60
#: More rankings than this are too many for one picture.
_MOST = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of a result: the values that identify it, and its label."""

    identity: tuple[Any, ...]
    label: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The latest results of one query in one partition: their moments and their entries."""

    title: str
    k: int
    #: How many results there are, shown or not.
    results: int
    moments: list[Any]
    tops: list[list[Entry]]


def rankings(
    tables: Mapping[str, pa.Table],
    queries: Mapping[str, Query],
    query: str | None = None,
    partition: Any = None,
) -> list[Ranking]:
    """A ranking for each query and partition, or for those that were chosen."""
    if query is not None and query not in tables:
        raise CrestlineError(f"no query {query!r}: there are {', '.join(tables)}")
    names = list(tables) if query is None else [query]
    chosen = None
    if partition is not None:
        values = partition if isinstance(partition, tuple | list) else (partition,)
        chosen = tuple(map(cell, values))
    drawn: list[Ranking] = []
    for name in names:
        table = tables[name]
        columns = [item.name for item in queries[name].partition_by]
        title = _title(queries[name]) if len(tables) == 1 else name
        parts = _partitions(table, columns)
        if chosen is not None:
            parts = {values: rows for values, rows in parts.items() if values == chosen}
        _refuse_many(len(drawn) + len(parts))
        for values, rows in parts.items():
            where = [f", {each} {value}" for each, value in zip(columns, values, strict=False)]
            part = table if rows is None else table.take(rows)
            drawn.append(_ranking(part, queries[name], "".join([title, *where])))
    if not drawn:
        raise CrestlineError(f"no partition {partition!r} in the results")
    return drawn


def _refuse_many(count: int) -> None:
    if count > _MOST:
        raise CrestlineError(
            f"there are more than {_MOST} rankings to draw, one for each query and partition:"
            " choose with query='...' or partition='...'"
        )


def _title(query: Query) -> str:
    return f"The top {query.k:,} of {query.stream}: {window_text(query)}"


def _partitions(table: pa.Table, names: list[str]) -> dict[tuple[str, ...], pa.Array | None]:
    """The rows of each partition, by its values; all rows without PARTITION BY."""
    if not names or not table.num_rows:
        return {(): None}
    codes = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = np.unique(sort_codes(table.column(name)), return_inverse=True)[1]
        codes = np.unique(codes * (column.max() + 1) + column, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    columns = [column_values(table.column(name).take(pa.array(first))) for name in names]
    values = [tuple(map(cell, row)) for row in zip(*columns, strict=True)]
    return {each: pa.array(np.flatnonzero(codes == number)) for number, each in enumerate(values)}


def _ranking(table: pa.Table, query: Query, title: str) -> Ranking:
    if query.emit == "ENTRIES":
        raise CrestlineError(
            "EMIT ENTRIES does not tell who left, so there are no ranks to draw: write EMIT"
            " SNAPSHOTS or EMIT CHANGES"
        )
    if query.emit == "CHANGES":
        top_at = _after_changes(table, query)
        results = len(top_at)
    else:
        top_at = _snapshots(table, query)
        results = pc.count_distinct(table.column("window_end")).as_py()
    moments = sorted(top_at)[-SHOWN:]
    tops = [_numbered(top_at[moment]) for moment in moments]
    return Ranking(title, query.k, results, moments, tops)


def _numbered(top: list[Entry]) -> list[Entry]:
    """Number the entries that look the same, to tell them apart."""
    seen: dict[Entry, int] = {}
    numbered = []
    for entry in top:
        seen[entry] = seen.get(entry, 0) + 1
        numbered.append(replace(entry, identity=(*entry.identity, seen[entry])))
    return numbered


def _snapshots(table: pa.Table, query: Query) -> dict[Any, list[Entry]]:
    ends = pc.unique(table.column("window_end"))
    latest = ends.take(pc.sort_indices(ends))[-SHOWN:] if len(ends) else ends
    table = table.filter(pc.is_in(table.column("window_end"), value_set=latest))
    top_at: dict[Any, list[Entry]] = {}
    ranks = column_values(table.column("rank"))
    moments = column_values(table.column("window_end"))
    for moment, rank, entry in zip(moments, ranks, _entries(table, query), strict=True):
        if rank == 1:  # a revised answer replaces the one before
            top_at[moment] = []
        top_at[moment].append(entry)
    return top_at


def _after_changes(table: pa.Table, query: Query) -> dict[Any, list[Entry]]:
    """The entries after the changes of each moment. All leave before any takes a rank."""
    names = ("at", "rank", "previous_rank")
    columns = [column_values(table.column(name)) for name in names]
    by_moment: dict[Any, list[tuple[int | None, int | None, Entry]]] = {}
    for moment, rank, previous, entry in zip(*columns, _entries(table, query), strict=True):
        by_moment.setdefault(moment, []).append((rank, previous, entry))
    top: dict[int, Entry] = {}
    top_at: dict[Any, list[Entry]] = {}
    for moment, changes in by_moment.items():
        for _, previous, _ in changes:
            if previous is not None:
                top.pop(previous, None)
        top |= {rank: entry for rank, _, entry in changes if rank is not None}
        top_at[moment] = [top[rank] for rank in sorted(top)]
    return top_at


def _entries(table: pa.Table, query: Query) -> list[Entry]:
    """The entry of each row. KEY identifies a record if it is selected, else all selected columns
    do. The label has those of them that are neither numbers nor times, and the score."""
    others = {*query.own_columns, *(item.name for item in query.partition_by)}
    names = selected = [name for name in table.column_names if name not in others]
    if query.key and {name.casefold() for name in query.key} <= {n.casefold() for n in selected}:
        keys = {name.casefold() for name in query.key}
        names = [name for name in selected if name.casefold() in keys]
    shown = [name for name in names if _is_word(table.schema.field(name).type)] or names[:1]
    columns = {name: [cell(v) for v in column_values(table.column(name))] for name in names}
    scores = [compact(score) for score in column_values(table.column("score"))]
    identities = zip(*columns.values(), strict=True) if names else ((score,) for score in scores)
    labels = zip(*(columns[name] for name in shown), scores, strict=True)
    return [
        Entry(identity, "\n".join(label))
        for identity, label in zip(identities, labels, strict=True)
    ]


def _is_word(dtype: pa.DataType) -> bool:
    return not is_number(dtype) and not pa.types.is_temporal(dtype)


_UNITS = ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e4, " k"))


def compact(value: float) -> str:
    """A score in few characters.

    >>> compact(44_736_316.0), compact(-12_500), compact(0.25), compact(float("inf"))
    ('44.7 M', '-12.5 k', '0.25', 'inf')
    """
    for size, unit in _UNITS:
        if size <= abs(value) < 1000 * _UNITS[0][0]:
            return f"{value / (size if size > 1e4 else 1e3):.1f}{unit}"
    return f"{value:,.4g}"


__all__ = ["Entry", "Ranking", "rankings"]
