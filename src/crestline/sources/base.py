"""What a stream is to the engine: a schema, and batches that can be read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.runtime.gate import REJECTS
from crestline.runtime.lazily import duckdb_errors
from crestline.sources.horizon import earliest_in, horizons, unknown

#: Rows that a batch of a text file or a slice of a large table holds.
BATCH_ROWS = 1 << 20
#: Yields tables or batches with at least the named columns.
Read = Callable[[list[str]], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that can be read once. ``typed`` is false where types were only inferred from text.

    ``read(columns)`` yields batches with at least those columns; ``rejects()`` tells, after the
    last batch, what could not be read. ``rows`` is the number of records, if it is known.
    ``horizons(column)`` tells, after each batch, a time that no event time to come is before.
    ``variants`` are the schemas of its parts where they differ, and ``notes`` has a sentence for
    each column whose type is not the same everywhere. ``spelled`` are the columns that only the
    names of folders spell.
    """

    schema: pa.Schema
    typed: bool
    read: Read
    rows: int | None = None
    rejects: Callable[[], pa.Table] = REJECTS.empty_table
    horizons: Callable[[str], Iterator[int]] = unknown
    variants: Sequence[pa.Schema] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    spelled: Sequence[str] = ()

    def notes_of(self, columns: Iterable[str]) -> list[str]:
        """What is to be said of these columns."""
        return [self.notes[name] for name in columns if name in self.notes]


def table_source(table: pa.Table, typed: bool = True) -> Source:
    """A table in memory, in slices; the order of its times is known."""

    def read(columns: list[str]) -> Iterator[pa.Table]:
        chosen = table.select(columns)
        for start in range(0, table.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)

    def known(column: str) -> Iterator[int]:
        times = table.column(column)
        starts = range(0, table.num_rows, BATCH_ROWS)
        return horizons(earliest_in(times.slice(start, BATCH_ROWS)) for start in starts)

    return Source(table.schema, typed, read, table.num_rows, horizons=known)


def batch_source(schema: pa.Schema, batches: Iterable[pa.RecordBatch], stream: str) -> Source:
    """Arrow batches of one schema, as they come."""

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        # What DuckDB finds once it reads reaches us through Arrow, as an error of Arrow's.
        except (*duckdb_errors(), OSError, pa.ArrowException) as error:
            raise unreadable(stream, error) from None

    return Source(schema, True, read)


def holding(found: Source, needed: object) -> Source:
    """The source, which refers to what it needs (a temporary folder) until it has been read."""
    return replace(found, read=partial(_read_holding, found.read, needed))


def _read_holding(read: Read, needed: object, columns: list[str]) -> Iterator[Any]:
    yield from read(columns)


def unreadable(stream: str, error: Exception, file: str | None = None) -> SourceError:
    """The error for a stream, or one of its files, of which a library says that it is broken."""
    reason = str(error).split("\n")[0]
    what = f"stream {stream!r}" if file is None else f"stream {stream!r}: {file}"
    return SourceError(f"{what} cannot be read: {reason}")
