"""A stream as the engine reads it: a schema, and batches that can be read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.core.tables import REJECTS
from crestline.language import Expression
from crestline.runtime.sql import duckdb_errors, first_line
from crestline.sources.horizon import earliest_in, horizons, unknown

#: Rows that a batch of a text file or a slice of a large table holds.
BATCH_ROWS = 1 << 20
#: Yields tables or batches with at least the named columns.
Read = Callable[[list[str]], Iterator[Any]]


class Piece(Protocol):
    """A part of a stream's files. Any process can open it: it holds plain values only."""

    @property
    def file(self) -> int:
        """The number of its file in the stream."""

    @property
    def weight(self) -> int:
        """About how many bytes are to be read."""

    @property
    def left_out(self) -> int:
        """How many records it has if WHERE leaves all of them out; then it is not opened."""

    def open(self) -> Source:
        """The records of this piece."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that can be read once."""

    schema: pa.Schema
    #: False where types were only inferred from text.
    typed: bool
    #: ``read(columns)`` yields batches with at least those columns.
    read: Read
    #: The number of records, if it is known.
    rows: int | None = None
    #: Called after the last batch: the records that could not be read.
    rejects: Callable[[], pa.Table] = REJECTS.empty_table
    #: ``horizons(column)`` yields, after each batch, a time that no later event time is before.
    horizons: Callable[[str], Iterator[int]] = unknown
    #: The schemas of its parts, where they differ.
    variants: Sequence[pa.Schema] = ()
    #: A sentence for each column whose type differs between parts.
    notes: Mapping[str, str] = field(default_factory=dict)
    #: The columns whose values are in the names of folders only.
    spelled: Sequence[str] = ()
    #: The pieces of a stream of files, in the order of the stream. None: it has no files. Records
    #: that the condition leaves out need not be in a piece that is read.
    pieces: Callable[[Expression | None], list[Piece]] | None = None
    #: DuckDB's types of the columns of text files.
    types: Callable[[], dict[str, str]] = dict
    #: Called after the last batch: how many lines of text were read, without headers.
    lines: Callable[[], int] = int

    def notes_of(self, columns: Iterable[str]) -> list[str]:
        """The sentences on these columns."""
        return [self.notes[name] for name in columns if name in self.notes]


def table_source(table: pa.Table, typed: bool = True) -> Source:
    """A table in memory, read in slices. Its horizons are known."""

    def read(columns: list[str]) -> Iterator[pa.Table]:
        chosen = table.select(columns)
        for start in range(0, table.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)

    def horizons_of(column: str) -> Iterator[int]:
        times = table.column(column)
        starts = range(0, table.num_rows, BATCH_ROWS)
        return horizons(earliest_in(times.slice(start, BATCH_ROWS)) for start in starts)

    return Source(table.schema, typed, read, table.num_rows, horizons=horizons_of)


def batch_source(schema: pa.Schema, batches: Iterable[pa.RecordBatch], stream: str) -> Source:
    """Arrow batches of one schema, as they come."""

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        # An error that DuckDB meets while it reads arrives as one of Arrow's.
        except (*duckdb_errors(), OSError, pa.ArrowException) as error:
            raise unreadable(stream, error) from None

    return Source(schema, True, read)


def holding(opened: Source, needed: object) -> Source:
    """The source, with a reference to an object that it needs until it has been read."""
    return replace(opened, read=partial(_read_holding, opened.read, needed))


def _read_holding(read: Read, needed: object, columns: list[str]) -> Iterator[Any]:
    yield from read(columns)


def unreadable(stream: str, error: Exception, file: str | None = None) -> SourceError:
    """The error for a stream, or one of its files, that a library could not read."""
    what = f"stream {stream!r}" if file is None else f"stream {stream!r}: {file}"
    return SourceError(f"{what} cannot be read: {first_line(error)}")
