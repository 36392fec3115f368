"""The current top k of each query of a following run, and the one before it. Of EMIT ENTRIES, which
does not tell who left, the latest entries.

What is kept stays small whatever the rounds bring: of many results in one round the last few, of
many partitions the first that fit. Only the changes of EMIT CHANGES are all applied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from crestline.core.display import cell, column_values
from crestline.core.window import RangeWindow, UnboundedWindow, counts_rows
from crestline.language.query import selected_names

if TYPE_CHECKING:
    from crestline.language import Query

#: Results of one round that are shown one after another, rows read from each, partitions kept.
_STEPS, _ROWS, _PARTITIONS = 12, 4_000, 2_000

#: The values of a partition; empty without PARTITION BY.
PartitionValues = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One rank of a result; ``values`` are the selected columns as they are shown."""

    rank: int
    values: tuple[str, ...]
    score: float
    #: For uncertain streams only.
    probability: float | None = None

    def record(self) -> tuple[Any, ...]:
        """What identifies the record in the next result, as far as a reader can see."""
        return (*self.values, self.score)


@dataclass(slots=True)
class PartitionResult:
    """The top k of one partition, and when its window ended."""

    end: Any
    rows: list[RankedRow]


@dataclass
class LiveResults:
    """The current results of one query by partition, the ones before, and those that wait."""

    name: str
    query: Query
    columns: list[str] = field(default_factory=list)
    numeric: list[bool] = field(default_factory=list)
    now: dict[PartitionValues, PartitionResult] = field(default_factory=dict)
    before: dict[PartitionValues, PartitionResult] = field(default_factory=dict)
    partitions: int = 0
    waiting: deque[dict[PartitionValues, PartitionResult]] = field(default_factory=deque)

    @property
    def together(self) -> bool:
        """Whether all partitions report at the same moments."""
        window = self.query.window
        slides = isinstance(window, UnboundedWindow) or (
            isinstance(window, RangeWindow) and window.slide is not None
        )
        return slides and not counts_rows(window)

    @property
    def end(self) -> Any:
        """The end of the latest window; None where partitions have ends of their own."""
        if not self.now or (self.query.partition_by and not self.together):
            return None
        return max(result.end for result in self.now.values())

    def take(self, table: pa.Table) -> None:
        """Read the rows of a round. They are shown step by step."""
        if not table.num_rows:
            return
        if not self.columns:
            self._read_columns(table.schema)
        if self.query.emit == "CHANGES":
            self.waiting.append(self._changed(table))
        elif self.query.emit == "ENTRIES":
            self.waiting.append(self._entered(table))
        elif self.together:
            steps = 1 if self.query.partition_by else _STEPS
            for end in self._new_ends(table)[-steps:]:
                rows = table.filter(pc.equal(table.column("window_end"), end))
                if self.query.partition_by:
                    self.partitions = pc.sum(pc.equal(rows.column("rank"), 1)).as_py()
                self.waiting.append(self._results(rows.slice(0, _ROWS)))
        else:
            latest = self.waiting[-1] if self.waiting else self.now
            some = table.slice(max(0, table.num_rows - _ROWS))
            self.waiting.append(_first(latest | self._results(some)))

    def _new_ends(self, table: pa.Table) -> list[pa.Scalar]:
        """Window ends to show, in order, without corrections of earlier windows."""
        ends = pc.unique(table.column("window_end"))
        ordered = list(ends.take(pc.sort_indices(ends)))
        shown = self.waiting[-1] if self.waiting else self.now
        latest = max((result.end for result in shown.values()), default=None)
        return [end for end in ordered if latest is None or end.as_py() >= latest]

    def _read_columns(self, schema: pa.Schema) -> None:
        self.columns = selected_names(schema.names)
        dtypes = [schema.field(name).type for name in self.columns]
        self.numeric = [
            bool(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t))
            for t in dtypes
        ]

    def _lines(self, table: pa.Table, *more: str) -> Iterator[tuple[Any, ...]]:
        """Yield for each row of the table: the columns ``more``, its partition, its row."""
        names = [*more, *(item.name for item in self.query.partition_by), *self.columns]
        columns = [column_values(table.column(name)) for name in [*names, "rank", "score"]]
        probabilities = [None] * table.num_rows
        if self.query.probability is not None:
            probabilities = table.column("probability").to_pylist()
        first, second = len(more), len(more) + len(self.query.partition_by)
        for *values, rank, score, probability in zip(*columns, probabilities, strict=True):
            shown = tuple(cell(value) for value in values[second:])
            partition = tuple(_hashable(value) for value in values[first:second])
            yield (*values[:first], partition, RankedRow(rank or 0, shown, score, probability))

    def _results(self, table: pa.Table) -> dict[PartitionValues, PartitionResult]:
        results: dict[PartitionValues, PartitionResult] = {}
        for end, partition, row in self._lines(table, "window_end"):
            if row.rank == 1 or partition not in results or results[partition].end != end:
                results[partition] = PartitionResult(end, [])
            results[partition].rows.append(row)
        return results

    def _changed(self, table: pa.Table) -> dict[PartitionValues, PartitionResult]:
        """Apply changes. Records leave their old ranks before any takes a new one."""
        latest = self.waiting[-1] if self.waiting else self.now
        ranks = {
            partition: {row.rank: row for row in result.rows}
            for partition, result in latest.items()
        }
        ends = {partition: result.end for partition, result in latest.items()}
        group: tuple[Any, PartitionValues] | None = None
        coming: list[RankedRow] = []
        for end, change, previous, partition, row in self._lines(
            table, "at", "change", "previous_rank"
        ):
            if group != (end, partition):
                if group is not None:
                    ranks[group[1]] |= {each.rank: each for each in coming}
                group, coming = (end, partition), []
                ranks.setdefault(partition, {})
                ends[partition] = end
            if previous is not None:
                ranks[partition].pop(previous, None)
            if change != "leave":
                coming.append(row)
        if group is not None:
            ranks[group[1]] |= {each.rank: each for each in coming}
        return _first(
            {
                partition: PartitionResult(ends[partition], [rows[rank] for rank in sorted(rows)])
                for partition, rows in ranks.items()
                if rows
            }
        )

    def _entered(self, table: pa.Table) -> dict[PartitionValues, PartitionResult]:
        """The latest k entries of each partition, the newest first."""
        results = dict(self.waiting[-1] if self.waiting else self.now)
        entered: dict[PartitionValues, list[RankedRow]] = {}
        for end, partition, row in self._lines(table, "at"):
            entered.setdefault(partition, []).append(row)
            known = results.get(partition)
            results[partition] = PartitionResult(end, [] if known is None else known.rows)
        for partition, rows in entered.items():
            latest = [*rows[::-1], *results[partition].rows][: self.query.k]
            results[partition] = PartitionResult(results[partition].end, latest)
        return _first(results)

    def step(self) -> bool:
        """Go on to the next result, or by several where many wait; tell whether one waited."""
        if not self.waiting:
            return False
        for _ in range(max(1, len(self.waiting) // _STEPS)):
            self.before, self.now = self.now, self.waiting.popleft()
        return True

    def skip(self) -> None:
        """Go on to the last result."""
        while self.step():
            pass


def _hashable(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str | bytes) else cell(value)


def partition_order(partition: PartitionValues) -> tuple[tuple[str, Any], ...]:
    """Order partitions: NULL first, then values of one type by their order."""
    return tuple(
        ("", 0) if v is None else ("n" if isinstance(v, int | float) else type(v).__name__, v)
        for v in partition
    )


def _first(
    results: dict[PartitionValues, PartitionResult],
) -> dict[PartitionValues, PartitionResult]:
    """Keep the first partitions only; the others are never shown."""
    if len(results) <= _PARTITIONS:
        return results
    return {
        partition: results[partition]
        for partition in sorted(results, key=partition_order)[:_PARTITIONS]
    }


__all__ = ["LiveResults", "PartitionResult", "PartitionValues", "RankedRow", "partition_order"]
