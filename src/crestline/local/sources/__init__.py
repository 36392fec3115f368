"""Streams to read: frames, records, files. All become Arrow batches."""

from crestline.local.sources.base import BATCH_ROWS, Source
from crestline.local.sources.copies import compression
from crestline.local.sources.files import encoding_of, ending_of, find_files
from crestline.local.sources.naming import named_streams, with_paths
from crestline.local.sources.opening import is_path, is_paths, source
from crestline.local.sources.records import from_dicts

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
