"""Streams to read: frames, records, files. All become Arrow batches."""

from crestline.sources.base import BATCH_ROWS, Source
from crestline.sources.endings import compression, ending_of
from crestline.sources.files import encoding_of, find_files
from crestline.sources.naming import named_streams, with_paths
from crestline.sources.opening import is_path, is_paths, source
from crestline.sources.records import from_dicts

__all__ = [
    "BATCH_ROWS",
    "Source",
    "compression",
    "encoding_of",
    "ending_of",
    "find_files",
    "from_dicts",
    "is_path",
    "is_paths",
    "named_streams",
    "source",
    "with_paths",
]
