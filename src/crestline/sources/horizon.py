"""Horizons of a stream: after each batch, a time that no later event time is before.

In a bounded run without LATENESS every record counts, in whatever order the records come. A result
is due once no later record can be part of it. What is known about later times:

=============  ===================================================================================
data           the horizon after a batch
=============  ===================================================================================
a table        the smallest time of the batches that follow: one scan of the column finds it
parquet files  the smallest time of the row groups that follow, by their statistics
other streams  none until the end
=============  ===================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.sentinels import LONG_AGO, NEVER

if TYPE_CHECKING:
    from pyarrow.parquet import FileMetaData, RowGroupMetaData

_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_PER_DAY = 86_400_000_000
_STORED_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def unknown(column: str) -> Iterator[int]:
    """The horizons of a stream without known ones."""
    return repeat(LONG_AGO)


def horizons(earliest: Iterable[int]) -> Iterator[int]:
    """After each batch, the earliest time of the batches that follow.

    >>> horizon = horizons([3, 8, 5])
    >>> next(horizon), next(horizon), next(horizon) == NEVER
    (5, 5, True)
    """
    bounds, bound = [], NEVER
    for time in reversed(list(earliest)):
        bounds.append(bound)
        bound = min(bound, time)
    return chain(reversed(bounds), repeat(LONG_AGO))


def earliest_in(times: pa.ChunkedArray) -> int:
    """The smallest event time of a column, in microseconds.

    NEVER if all are NULL: no result waits for those records. LONG_AGO if the column is no time.

    >>> earliest_in(pa.chunked_array([pa.array([7, None, 5], pa.timestamp("ms"))]))
    5000
    """
    dtype = times.type
    if not (pa.types.is_timestamp(dtype) or pa.types.is_date(dtype)):
        return LONG_AGO
    smallest = pc.min(times)
    if not smallest.is_valid:
        return NEVER
    if pa.types.is_date32(dtype):
        return _in_range(smallest.value * _PER_DAY)
    return _microseconds(smallest.value, "ms" if pa.types.is_date64(dtype) else dtype.unit)


def earliest_by_statistics(metadata: FileMetaData, column: str) -> list[int]:
    """The smallest event time of each row group, in microseconds; LONG_AGO without statistics."""
    columns = range(metadata.num_columns)
    index = next((i for i in columns if metadata.schema.column(i).path == column), None)
    groups = range(metadata.num_row_groups)
    if index is None:
        return [LONG_AGO for _ in groups]
    dtype = json.loads(metadata.schema.column(index).logical_type.to_json())
    return [_earliest_in_group(metadata.row_group(g), index, dtype) for g in groups]


def _earliest_in_group(group: RowGroupMetaData, index: int, dtype: dict[str, str]) -> int:
    if group.num_rows == 0:
        return NEVER
    statistics = group.column(index).statistics
    if statistics is None:
        return LONG_AGO
    if not statistics.has_min_max:
        only_nulls = statistics.has_null_count and statistics.null_count == group.num_rows
        return NEVER if only_nulls else LONG_AGO
    if dtype["Type"] == "Date":
        return _in_range(statistics.min_raw * _PER_DAY)
    if dtype["Type"] == "Timestamp" and dtype["timeUnit"] in _STORED_UNITS:
        return _microseconds(statistics.min_raw, _STORED_UNITS[dtype["timeUnit"]])
    return LONG_AGO


def _microseconds(time: int, unit: str) -> int:
    return _in_range(time // 1000 if unit == "ns" else time * _PER_UNIT[unit])


def _in_range(time: int) -> int:
    return max(LONG_AGO, min(time, NEVER))
