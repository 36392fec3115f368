"""Write generated streams to files: parquet, csv, json lines, or a folder of parquet parts.

A file appears under its name only when it is complete: it is written under a hidden name in the
same folder and then renamed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from crestline.core.errors import SourceError
from crestline.core.unfinished import files as on_their_way
from crestline.streams.draw import TEXT
from crestline.streams.generator import BLOCK, START, find_kind, generate

#: Writes one batch.
Sink = Callable[[pa.RecordBatch], Any]


def write(
    kind: str,
    rows: int,
    path: str | Path,
    seed: int = 0,
    *,
    files: int = 1,
    progress: Callable[[int], object] | None = None,
    rate: float | None = None,
    start: datetime = START,
    **options: float,
) -> None:
    """Generate a stream into `path`; memory does not grow with `rows`.

    The extension says the format: .parquet, .csv, .jsonl or .ndjson; a path without one is a
    folder that is filled with `files` parquet files, one after another in time. `progress` is
    called with the number of rows just written. The rest is as in `generate`. JSON has no NaN, so
    it becomes null there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write("random", 10, Path(folder, "scores.csv"), seed=1)
    ...     print(Path(folder, "scores.csv").read_text().splitlines()[0])
    "ts","id","score"
    """
    target = Path(path)
    batches = generate(kind, rows, seed, batch_rows=BLOCK, rate=rate, start=start, **options)
    schema = find_kind(kind).schema
    if not target.suffix:
        _write_folder(target, batches, rows, schema, files, progress)
        return
    if target.suffix.lower() not in _SINKS:
        raise SourceError(
            f"{target.name!r} has the extension {target.suffix!r}; allowed are"
            f" {', '.join(_SINKS)}, or a name without extension for a folder of parquet files"
        )
    if files != 1:
        raise SourceError(
            f"{files!r} files do not fit into {target.name!r}; to get several files name a folder:"
            f" {target.stem!r}"
        )
    if target.is_dir():
        raise SourceError(f"{str(target)!r} is a folder; give the name of a file")
    with _complete(target) as partial:
        _write_file(partial, target.suffix.lower(), batches, schema, progress)


def _write_folder(
    target: Path,
    batches: Iterator[pa.RecordBatch],
    rows: int,
    schema: Any,
    files: int,
    progress: Callable[[int], object] | None,
) -> None:
    if not isinstance(files, int) or files < 1:
        raise SourceError(f"files is {files!r}; it must be a whole number of at least 1")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SourceError(f"{str(target)!r} exists and is not empty; remove it or choose another")
    with _complete(target) as partial:
        partial.mkdir()
        cutter = _Cutter(batches)
        for part in range(files):
            share = rows * (part + 1) // files - rows * part // files
            name = partial / f"part-{part:05}.parquet"
            _write_file(name, ".parquet", cutter.take(share), schema, progress)


class _Cutter:
    """Cuts the rows of batches into portions of other sizes."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rest: pa.RecordBatch | None = None

    def take(self, rows: int) -> Iterator[pa.RecordBatch]:
        while rows > 0:
            batch = next(self._batches) if self._rest is None else self._rest
            taken = batch.slice(0, rows)
            self._rest = batch.slice(rows) if batch.num_rows > rows else None
            rows -= taken.num_rows
            yield taken


@contextmanager
def _complete(target: Path) -> Iterator[Path]:
    """Yield a path to write to. It becomes `target` at the end; on failure it is removed."""
    partial = target.with_name(f".{target.name}.partial-{os.getpid()}")
    on_their_way.begin(partial, str(target))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            on_their_way.appear(partial, target)
        finally:
            if partial.is_dir():
                shutil.rmtree(partial)
            else:
                partial.unlink(missing_ok=True)
            on_their_way.end(partial)
    except OSError as error:
        raise SourceError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


def _write_file(
    path: Path,
    suffix: str,
    batches: Iterator[pa.RecordBatch],
    schema: Any,
    progress: Callable[[int], object] | None,
) -> None:
    with _SINKS[suffix](path, schema) as sink:
        for batch in batches:
            sink(batch)
            if progress is not None:
                progress(batch.num_rows)


@contextmanager
def _parquet(path: Path, schema: Any) -> Iterator[Sink]:
    # Numbers hardly repeat: a dictionary for them costs time and saves nothing.
    repeated = [column.name for column in schema if column.type == TEXT]
    with pq.ParquetWriter(path, schema, use_dictionary=repeated) as writer:
        yield writer.write_batch


@contextmanager
def _csv(path: Path, schema: Any) -> Iterator[Sink]:
    plain = _without_dictionaries(schema)
    with pa.csv.CSVWriter(path, plain) as writer:
        yield lambda batch: writer.write_batch(batch.cast(plain))


@contextmanager
def _json_lines(path: Path, schema: Any) -> Iterator[Sink]:
    plain = _without_dictionaries(schema)
    with path.open("wb") as file:

        def sink(batch: pa.RecordBatch) -> None:
            file.write(_json_text(batch.cast(plain)))

        yield sink


_SINKS: dict[str, Callable[[Path, Any], AbstractContextManager[Sink]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
}


def _without_dictionaries(schema: Any) -> Any:
    return pa.schema(
        [(column.name, pa.string() if column.type == TEXT else column.type) for column in schema]
    )


def _json_text(batch: pa.RecordBatch) -> pa.Buffer:
    """Return one JSON object per line, joined column by column.

    Arrow writes no JSON, and a Python loop over the rows takes many times as long. Generated text
    needs no escaping.
    """
    pieces: list[Any] = []
    opening = "{"
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        values = pc.cast(column, pa.string())
        if pa.types.is_floating(column.type):
            values = pc.if_else(pc.is_finite(column), values, "null")
            quote = ""
        else:
            quote = "" if pa.types.is_integer(column.type) else '"'
        pieces += [f'{opening}"{name}":{quote}', values]
        opening = f"{quote},"
    lines = pc.binary_join_element_wise(*pieces, opening[:-1] + "}\n", "")
    return pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "")[0].as_buffer()
