"""Result files: the extension decides the format, and a file is complete or not there at all.

A file is written under a hidden name in its folder, flushed to the disk, and only then renamed.
The files of one run appear together at its end. If the run fails, none appears, and old files stay
as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from crestline.cli.errors import Misuse
from crestline.cli.plain import csv_header, csv_lines, json_lines
from crestline.core.errors import SourceError
from crestline.core.unfinished import files

#: Rows turned into text at a time.
TEXT_ROWS = 1 << 16
#: Rows gathered before a parquet row group is written.
_GROUP_ROWS = 1 << 17
PLACEHOLDER = "{query}"


class Writer(Protocol):
    """Writes tables of one schema into an open file."""

    def write(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


class FileWriter(Writer, Protocol):
    """A writer that can also be abandoned, when its file will not be kept."""

    def abandon(self) -> None: ...


def write_fully(file: BinaryIO, text: bytes) -> None:
    """Write all of the text. Unbuffered stdout (PYTHONUNBUFFERED) may take less at a time."""
    rest = memoryview(text)
    while rest:
        rest = rest[file.write(rest) :]


class TextWriter:
    """Writes a header, then lines; ``lines`` turns a batch into text."""

    def __init__(
        self, file: BinaryIO, lines: Callable[[pa.RecordBatch], bytes], header: bytes = b""
    ) -> None:
        self._file, self._lines = file, lines
        write_fully(file, header)

    def write(self, table: pa.Table) -> None:
        for batch in table.to_batches(max_chunksize=TEXT_ROWS):
            write_fully(self._file, self._lines(batch))

    def close(self) -> None:
        self._file.flush()

    def abandon(self) -> None:
        """Nothing to do: no line waits for a later one."""


class ParquetWriter:
    """Writes row groups of a sensible size, however small the tables are."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(file, schema)
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table)
        self._rows += table.num_rows
        if self._rows >= _GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
        self._waiting, self._rows = [], 0

    def close(self) -> None:
        self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        with suppress(OSError, pa.ArrowException):
            self._writer.close()
        self._writer.is_open = False  # else its finalizer tries to close it again, and warns


def _csv(file: BinaryIO, schema: pa.Schema) -> FileWriter:
    return TextWriter(file, csv_lines, csv_header(schema))


def _json(file: BinaryIO, schema: pa.Schema) -> FileWriter:
    return TextWriter(file, json_lines)


_FORMATS: dict[str, Callable[[BinaryIO, pa.Schema], FileWriter]] = {
    ".jsonl": _json,
    ".ndjson": _json,
    ".csv": _csv,
    ".parquet": ParquetWriter,
}


class _File:
    """A file that is being written. ``.gitignore`` and sources leave out its hidden name."""

    def __init__(self, path: Path, schema: pa.Schema, name: str) -> None:
        self.target, self.schema = path.resolve(), schema
        self.partial = self.target.with_name(f".{self.target.name}.partial-{os.getpid()}")
        files.begin(self.partial, name)
        try:
            self._file = self.partial.open("wb")
        except OSError:
            files.end(self.partial)
            raise
        self._writer = _FORMATS[path.suffix.lower()](self._file, schema)

    def write(self, table: pa.Table) -> None:
        try:
            self._writer.write(table)
        except OSError as error:
            raise _cannot_write(self.target, error) from error

    def close(self) -> None:
        """Write everything to the disk, still under the hidden name."""
        try:
            self._writer.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise _cannot_write(self.target, error) from error

    def appear(self) -> None:
        try:
            files.appear(self.partial, self.target)
            _sync_folder(self.target.parent)
        except OSError as error:
            raise _cannot_write(self.target, error) from error

    def remove(self) -> None:
        """Remove what is left under the hidden name."""
        self._writer.abandon()
        with suppress(OSError):  # what could not be written is removed anyway
            self._file.close()
        self.partial.unlink(missing_ok=True)
        files.end(self.partial)


class Outputs:
    """The files of a run; they appear at the end of ``with Outputs() as outputs``."""

    def __init__(self) -> None:
        self._files: dict[Path, _File] = {}
        self._made: list[Path] = []

    def open(self, path: Path, schema: pa.Schema) -> Writer:
        """Return a writer to ``path``; the same one if it is already open for the same columns."""
        check_file_name(path)
        opened = self._files.get(path.resolve())
        if opened is not None:
            if not opened.schema.equals(schema):
                raise Misuse(f"{path} cannot hold two tables with different columns")
            return opened
        if path.is_dir():
            raise Misuse(f"{path} is a folder: give the name of a file")
        try:
            self._make_folder(path.resolve().parent)
            file = _File(path, schema, str(path))
        except OSError as error:
            raise _cannot_write(path, error) from error
        self._files[file.target] = file
        return file

    def _make_folder(self, folder: Path) -> None:
        missing = [f for f in (folder, *folder.parents) if not f.exists()]
        for made in reversed(missing):
            made.mkdir()
            files.made(made)
            self._made.append(made)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, error_type: type[BaseException] | None, *rest: object) -> None:
        try:
            if error_type is None:
                for file in self._files.values():
                    file.close()
                for file in self._files.values():
                    file.appear()
        finally:
            for file in self._files.values():
                file.remove()
            if not any(file.target.exists() for file in self._files.values()):
                for folder in reversed(self._made):
                    folder.rmdir()


def _cannot_write(path: Path, error: OSError) -> SourceError:
    return SourceError(f"cannot write {path}: {error.strerror or error}")


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_table(path: Path, table: pa.Table, name: str | None = None) -> None:
    """Write a table to a file, and replace an old one; complete or not at all.

    ``name`` is what messages call it, such as the name of its folder.
    """
    try:
        file = _File(path, table.schema, name or str(path))
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        file.write(table)
        file.close()
        file.appear()
    finally:
        file.remove()


def write_whole(path: Path, content: bytes) -> None:
    """Write a small file of any kind, complete or not at all."""
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    files.begin(partial, str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        files.appear(partial, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        partial.unlink(missing_ok=True)
        files.end(partial)


def check_file_name(path: Path) -> None:
    """Raise Misuse if the extension does not say what to write."""
    if path.suffix.lower() not in _FORMATS:
        raise Misuse(
            f"cannot tell from the name {str(path)!r} what to write: end it in"
            f" {', '.join(_FORMATS)}"
        )


def check_query_name(name: str) -> None:
    """Raise Misuse if a file or folder cannot be called after the query."""
    if "/" in name or "\0" in name or name.startswith("."):
        raise Misuse(f"the query name {name!r} cannot be part of a file name: rename it")


def files_of(out: str, queries: Iterable[str]) -> dict[str, Path]:
    """Return the file of each query: one for all, one each by ``{query}``, or one in a folder.

    >>> files_of("top-{query}.csv", ["a", "b"])["b"].name
    'top-b.csv'
    """
    names = list(queries)
    folder = not Path(out).suffix or out.endswith("/") or Path(out).is_dir()
    if folder or PLACEHOLDER in out:
        for name in names:
            check_query_name(name)
    if PLACEHOLDER in out:
        paths = {name: Path(out.replace(PLACEHOLDER, name)) for name in names}
    elif folder:
        paths = {name: Path(out, f"{name}.parquet") for name in names}
    else:
        paths = dict.fromkeys(names, Path(out))
    for path in paths.values():
        check_file_name(path)
    return paths


def destinations(out: str, schemas: Mapping[str, pa.Schema]) -> dict[str, Path]:
    """Return the file of each query; raise Misuse if different columns would share a file."""
    paths = files_of(out, schemas)
    layouts = {str(schema.remove_metadata()) for schema in schemas.values() if schema.names}
    if len(set(paths.values())) == 1 and len(layouts) > 1:
        raise Misuse(
            f"{len(schemas)} queries with different columns do not fit into {out}: write one"
            f" file each with {PLACEHOLDER} in the name ({_with_placeholder(out)}), or name a"
            " folder"
        )
    return paths


def _with_placeholder(out: str) -> str:
    path = Path(out)
    return str(path.with_name(f"{path.stem}-{PLACEHOLDER}{path.suffix}"))


__all__ = [
    "Outputs",
    "TextWriter",
    "Writer",
    "check_file_name",
    "check_query_name",
    "destinations",
    "files_of",
    "write_fully",
    "write_table",
    "write_whole",
]
