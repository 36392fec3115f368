"""Streams in memory become files of Arrow batches, which other processes can read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.sources.base import Piece, Source

#: Rows of a batch, and batches of a piece.
_ROWS, _BATCHES = 1 << 16, 4


@dataclass(frozen=True, slots=True)
class BatchesPiece:
    """Consecutive batches of a file."""

    stream: str
    name: str
    file: int
    start: int
    stop: int
    weight: int
    typed: bool
    left_out: int = 0

    def open(self) -> Source:
        with pa.OSFile(self.name) as file:
            schema = pa.ipc.open_file(file).schema

        def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
            with pa.memory_map(self.name) as file:
                batches = pa.ipc.open_file(file)
                for number in range(self.start, self.stop):
                    yield batches.get_batch(number).select(columns)

        return Source(schema, self.typed, read)


def spooled(opened: Source, columns: list[str], folder: Path, stream: str) -> Source:
    """The needed columns of a stream, written to files; a new one where types change."""
    pieces: list[Piece] = []
    schemas: list[pa.Schema] = []
    with ExitStack() as stack:
        writer: pa.RecordBatchFileWriter | None = None
        schema, path, files, written = None, "", -1, 0
        for batch in opened.read(columns):
            table = pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch
            table = _plain(table.select(columns))
            if writer is None or table.schema != schema:
                files, written, schema = files + 1, 0, table.schema
                schemas.append(schema)
                path = str(folder / f"{files:06}.arrow")
                try:
                    writer = stack.enter_context(pa.ipc.new_file(path, schema))
                except OSError as error:
                    raise SourceError(f"stream {stream!r} cannot be copied: {error}") from None
            for start in range(0, table.num_rows, _ROWS * _BATCHES):
                part = table.slice(start, _ROWS * _BATCHES).combine_chunks()
                batches = part.to_batches(max_chunksize=_ROWS)
                for each in batches:
                    writer.write_batch(each)
                piece = BatchesPiece(
                    stream, path, files, written, written + len(batches), part.nbytes, opened.typed
                )
                pieces.append(piece)
                written += len(batches)
    return replace(opened, pieces=lambda where: pieces, variants=[*opened.variants, *schemas])


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries decoded: a file of Arrow cannot replace one."""
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    return table


__all__ = ["spooled"]
