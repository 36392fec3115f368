"""DuckDB, where it is needed: queries over plain columns of tables never load it."""

from __future__ import annotations

import sys


def duckdb_errors() -> tuple[type[Exception], ...]:
    """What DuckDB raises; nothing can have raised it if it is not loaded."""
    loaded = sys.modules.get("duckdb")
    return () if loaded is None else (loaded.Error,)


__all__ = ["duckdb_errors"]
