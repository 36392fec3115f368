"""The stream of a path, or of several: the reader of their kind of file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pyarrow as pa

from crestline.core.errors import SourceError
from crestline.sources import stores
from crestline.sources.base import Source, holding, table_source
from crestline.sources.endings import TEXT, ending_of
from crestline.sources.files import encoding_of, find_files


def path_source(paths: Sequence[str | os.PathLike[str]], stream: str) -> Source:
    """The files of all paths, in the order of the paths, as one stream."""
    files = [file for path in paths for file in find_files(os.fspath(path), stream)]
    endings = {ending_of(file) for file in files}
    if len(endings) > 1:
        names = ", ".join(os.fspath(path) for path in paths)
        raise SourceError(
            f"stream {stream!r}: {names} mixes {', '.join(sorted(endings))} files:"
            " name one kind with a glob, such as folder/*.parquet"
        )
    ending = endings.pop()
    if ending not in TEXT:
        from crestline.sources.parquet import parquet_source

        return holding(parquet_source(files, stream), paths)
    sizes = stores.together(stores.size, files)
    files = [file for file, size in zip(files, sizes, strict=True) if size]
    if not files:
        return table_source(pa.table({}))
    from crestline.sources.text import text_source  # DuckDB reads it

    return holding(text_source(files, ending, stream, encoding_of(paths)), paths)


__all__ = ["path_source"]
