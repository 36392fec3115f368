"""Streams to read: Arrow, pandas, dictionaries, files. All become Arrow batches.

Parquet is read by Arrow with only the needed columns, a few row groups ahead on other threads. CSV
and JSON lines are read by DuckDB, which infers their types; a line that breaks them is set aside.
"""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from crestline.core.errors import SourceError
from crestline.local.fitting import MOST_DIGITS, bare_type, wider
from crestline.local.gate import REJECTS
from crestline.local.horizon import earliest_by_statistics, earliest_in, horizons, unknown

_TEXT_FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
_FORMATS = (".parquet", ".pq", *_TEXT_FORMATS)
#: Rows that a batch of a text file or a slice of a large table holds.
BATCH_ROWS = 1 << 20
#: Rows of parquet read at once, roughly: enough to hide the cost of a batch, few enough for caches.
PORTION_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that can be read once. ``typed`` is false where types were only inferred from text.

    ``read(columns)`` yields batches with at least those columns; ``rejects()`` tells, after the
    last batch, what could not be read. ``rows`` is the number of records, if it is known.
    ``horizons(column)`` tells, after each batch, a time that no event time to come is before.
    ``variants`` are the schemas of its parts where they differ, and ``notes`` has a sentence for
    each column whose type is not the same everywhere.
    """

    schema: pa.Schema
    typed: bool
    read: Callable[[list[str]], Iterator[pa.Table | pa.RecordBatch]]
    rows: int | None = None
    rejects: Callable[[], pa.Table] = REJECTS.empty_table
    horizons: Callable[[str], Iterator[int]] = unknown
    variants: Sequence[pa.Schema] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    def notes_of(self, columns: Iterable[str]) -> list[str]:
        """What is to be said of these columns."""
        return [self.notes[name] for name in columns if name in self.notes]


def source(data: Any, stream: str, columns: Sequence[str] = ()) -> Source:
    """Whatever a user calls a stream, ready to be read. Dictionaries may lack any of ``columns``,
    which is known from others: it is NULL then."""
    if isinstance(data, str | os.PathLike):
        return _files(os.fspath(data), stream)
    if isinstance(data, pa.Table | pa.RecordBatch):
        return _table(pa.table(data) if isinstance(data, pa.RecordBatch) else data)
    if isinstance(data, pa.RecordBatchReader):
        return Source(data.schema, True, lambda columns: iter(data))
    if type(data).__module__.startswith("pandas."):
        return _from_pandas(data)
    if isinstance(data, dict):
        data = [data]
    if isinstance(data, list) and all(isinstance(item, dict) for item in data):
        return _table(from_dicts(data, columns), typed=False)
    if isinstance(data, Iterable):
        return _batches(iter(data), stream)
    raise SourceError(
        f"stream {stream!r} is a {type(data).__name__}: give an Arrow table or reader, a pandas"
        " DataFrame, a list of dictionaries, or the path of parquet, csv or json lines files"
    )


def from_dicts(records: list[dict[str, Any]], columns: Sequence[str] = ()) -> pa.Table:
    """Records as a table; a column of mixed types becomes text, to be read value by value."""
    names = list(dict.fromkeys(name for record in records for name in record))
    names += [name for name in columns if name not in names]
    values = {name: [record.get(name) for record in records] for name in names}
    return pa.table([_column(values[name]) for name in names], names=[str(n) for n in names])


def _column(values: list[Any]) -> pa.Array:
    """Values of any kind as a column that changes none of them."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and all(issubclass(kind, date) for kind in kinds):
        # Arrow would cut times down to dates, and take clocks without a zone for UTC or not.
        values = [_zoned(value) for value in values]
    try:
        return pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        pass
    if all(issubclass(kind, int) and kind is not bool for kind in kinds):
        try:
            return pa.array([None if v is None else Decimal(v) for v in values], _LARGE)
        except (pa.ArrowException, ValueError):  # more digits than any type has
            pass
    return pa.array([None if value is None else str(value) for value in values], pa.string())


#: Whole numbers beyond 64 bits.
_LARGE = pa.decimal128(MOST_DIGITS, 0)


def _zoned(value: date | None) -> datetime | None:
    """A date as its midnight, and times without a zone as those of UTC."""
    if value is None or value != value:  # pandas has a time that is none
        return None
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _from_pandas(frame: Any) -> Source:
    """A data frame; columns of mixed objects are read as those of dictionaries."""
    try:
        return _table(pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        pass
    columns, typed = [], True
    for place in range(frame.shape[1]):
        series = frame.iloc[:, place]
        try:
            columns.append(pa.array(series, from_pandas=True))
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            missing = series.isna().to_list()
            values = [None if no else v for v, no in zip(series.to_list(), missing, strict=True)]
            columns.append(_column(values))
            typed = False
    return _table(pa.table(columns, names=[str(name) for name in frame.columns]), typed=typed)


def _table(table: pa.Table, typed: bool = True) -> Source:
    def read(columns: list[str]) -> Iterator[pa.Table]:
        chosen = table.select(columns)
        for start in range(0, table.num_rows, BATCH_ROWS):
            yield chosen.slice(start, BATCH_ROWS)

    def known(column: str) -> Iterator[int]:
        times = table.column(column)
        starts = range(0, table.num_rows, BATCH_ROWS)
        return horizons(earliest_in(times.slice(start, BATCH_ROWS)) for start in starts)

    return Source(table.schema, typed, read, table.num_rows, horizons=known)


def _batches(batches: Iterator[Any], stream: str) -> Source:
    first = next(batches, None)
    if first is None:
        return _table(pa.table({}))
    if not isinstance(first, pa.RecordBatch | pa.Table):
        raise SourceError(
            f"stream {stream!r} yields {type(first).__name__}: give Arrow record batches or tables"
        )

    def read(columns: list[str]) -> Iterator[pa.Table | pa.RecordBatch]:
        yield first
        yield from batches

    return Source(first.schema, True, read)


# -- files ------------------------------------------------------------------------------------


def _files(path: str, stream: str) -> Source:
    files = find_files(path, stream)
    endings = {_ending(file) for file in files}
    if len(endings) > 1:
        raise SourceError(
            f"stream {stream!r}: {path} mixes {', '.join(sorted(endings))} files:"
            " name one kind with a glob, such as folder/*.parquet"
        )
    ending = endings.pop()
    if ending not in _TEXT_FORMATS:
        return _parquet(files, stream)
    files = [file for file in files if os.path.getsize(file)]
    if not files:
        return _table(pa.table({}))
    return _text(files, ending, stream)


def find_files(path: str, stream: str) -> list[str]:
    """The files that a path, folder or glob stands for, by name; hidden ones are left out."""
    if os.path.isdir(path):
        found = [str(p) for p in Path(path).rglob("*") if p.is_file()]
        found = [file for file in found if _ending(file) in _FORMATS]
        where = f"the folder {path} holds no"
    elif os.path.exists(path):
        found, where = [path], ""
    else:
        found = [file for file in glob.glob(path, recursive=True) if os.path.isfile(file)]
        where = f"{path} matches no"
    found = sorted(f for f in found if not os.path.basename(f).startswith((".", "_")))
    if not found:
        raise SourceError(f"stream {stream!r}: {where} parquet, csv or json lines file")
    for file in found:
        if _ending(file) not in _FORMATS:
            raise SourceError(
                f"stream {stream!r}: cannot tell what {file} is: its name must end in one of"
                f" {', '.join(_FORMATS)}"
            )
    return found


def _ending(file: str) -> str:
    return os.path.splitext(file.removesuffix(".gz"))[1].lower()


def _parquet(files: list[str], stream: str) -> Source:
    opened = [_open_parquet(file, stream) for file in files]
    schema = opened[0].schema_arrow
    kinds: dict[str, dict[str, None]] = {}
    for file, parquet in zip(files, opened, strict=True):
        for column in schema:
            place = parquet.schema_arrow.get_field_index(column.name)
            if place < 0:
                raise SourceError(f"stream {stream!r}: {file} lacks the column {column.name!r}")
            given = parquet.schema_arrow.field(place).type
            schema = schema.set(
                schema.get_field_index(column.name), column.with_type(wider(column.type, given))
            )
            if not pa.types.is_null(given):
                kinds.setdefault(column.name, {})[str(bare_type(given))] = None
    notes = {
        name: f"the column {name} is {schema.field(name).type}: files have {' and '.join(found)}"
        for name, found in kinds.items()
        if len(found) > 1
    }
    rows = sum(parquet.metadata.num_rows for parquet in opened)
    portions = [(i, g) for i, parquet in enumerate(opened) for g in _portions(parquet.metadata)]

    def read(columns: list[str]) -> Iterator[pa.Table]:
        def task(place: tuple[int, list[int]]) -> pa.Table:
            file, groups = place
            fields = opened[file].schema_arrow
            texts = [f.name for f in fields if f.name in columns and _worth_encoding(f.type)]
            # A reader of its own: one reader must not be used by two threads.
            reader = pq.ParquetFile(files[file], metadata=opened[file].metadata,
                                    read_dictionary=texts)  # fmt: skip
            with reader:
                return reader.read_row_groups(groups, columns=columns, use_threads=False)

        try:
            yield from _ahead(task, portions)
        except (OSError, pa.ArrowException) as error:
            raise SourceError(f"stream {stream!r} cannot be read: {error}") from error

    def known(column: str) -> Iterator[int]:
        groups = [earliest_by_statistics(parquet.metadata, column) for parquet in opened]
        return horizons(min(groups[file][g] for g in some) for file, some in portions)

    variants = [parquet.schema_arrow for parquet in opened] if notes else []
    return Source(schema, True, read, rows, horizons=known, variants=variants, notes=notes)


def _portions(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Row groups, a few together where they are small: each batch has a cost of its own."""
    gathered: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        gathered.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= PORTION_ROWS or group == metadata.num_row_groups - 1:
            yield gathered
            gathered, rows = [], 0


def _open_parquet(file: str, stream: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"stream {stream!r}: {file} is not a parquet file: {error}") from error


def _worth_encoding(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _ahead(
    task: Callable[[tuple[int, list[int]]], pa.Table], places: list[tuple[int, list[int]]]
) -> Iterator[pa.Table]:
    """The tasks' results in order, computed on a few threads, a few at a time."""
    threads = min(4, os.cpu_count() or 1)
    waiting: deque[Future[pa.Table]] = deque()
    remaining = iter(places)
    with ThreadPoolExecutor(threads) as pool:
        try:
            for place in remaining:
                waiting.append(pool.submit(task, place))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _text(files: list[str], ending: str, stream: str) -> Source:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    names = "[" + ", ".join("'" + file.replace("'", "''") + "'" for file in files) + "]"
    csv = ending in (".csv", ".tsv")
    if csv:
        scan = f"read_csv({names}, store_rejects = true)"
    else:
        scan = f"read_json({names}, format = 'auto', union_by_name = true, ignore_errors = true)"
        if ending != ".json":
            scan = scan.replace("'auto'", "'newline_delimited'")
    try:
        schema = connection.sql(f"SELECT * FROM {scan} LIMIT 0").to_arrow_table().schema
    except duckdb.Error as error:
        reason = str(error).split("\n")[0]
        raise SourceError(f"stream {stream!r}: {files[0]} cannot be read: {reason}") from None

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        try:
            found = connection.sql(f"SELECT {quoted} FROM {scan}")
            yield from found.to_arrow_reader(BATCH_ROWS)
        # What DuckDB finds once it reads reaches us through Arrow, as an error of Arrow's.
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            reason = str(error).split("\n")[0]
            raise SourceError(f"stream {stream!r} cannot be read: {reason}") from None

    def rejects() -> pa.Table:
        return _csv_rejects(connection, stream) if csv else REJECTS.empty_table()

    return Source(schema, False, read, None, rejects)


def _csv_rejects(connection: duckdb.DuckDBPyConnection, stream: str) -> pa.Table:
    """Lines that DuckDB set aside. ``row`` counts records from 0, as if the line had been one."""
    known = connection.sql("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'")
    if not known.fetchall():
        return REJECTS.empty_table()
    found = connection.sql(
        "SELECT DISTINCT ON (file_id, line) line, column_name, error_type, error_message, csv_line"
        " FROM reject_errors ORDER BY file_id, line"
    ).fetchall()
    rows = []
    for line, column, kind, message, text in found:
        reason = "not a well-formed line"
        if kind == "CAST":
            time = "TIMESTAMP" in message or "DATE" in message
            reason = "not a timestamp" if time else "not a number"
        values = (stream, max(0, line - 2), column, reason, text)
        rows.append(dict(zip(REJECTS.names, values, strict=True)))
    return pa.Table.from_pylist(rows, REJECTS)
