"""Endings of file names: formats and compressions."""

from __future__ import annotations

import os

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv")
#: Files to which lines may be appended.
LINES = (*CSV, ".jsonl", ".ndjson")
TEXT = (*LINES, ".json")
FORMATS = (*PARQUET, *TEXT)
#: Compressed files, with the bytes that they begin with.
COMPRESSIONS = {
    ".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh", ".xz": b"\xfd7zXZ",
}  # fmt: skip


def compression(file: str) -> str:
    """The ending that says how a file is compressed, or nothing."""
    return next((ending for ending in COMPRESSIONS if file.lower().endswith(ending)), "")


def ending_of(file: str) -> str:
    """The ending that says which format a file has, without that of its compression.

    >>> ending_of("day.CSV.gz"), ending_of("folder")
    ('.csv', '')
    """
    return os.path.splitext(file[: len(file) - len(compression(file))])[1].lower()
