"""Columns in the names of folders: ``year=2024/region=north/part.parquet``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from crestline.runtime.sql import quoted_text

#: The value of a folder whose records have NULL in the column.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_DUCKDB = {pa.int64(): "BIGINT", pa.date32(): "DATE", pa.string(): "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Partitions:
    """The columns in the names of folders, and their values for each file."""

    schema: pa.Schema
    values: list[dict[str, Any]]

    @classmethod
    def of(cls, files: Sequence[str]) -> Partitions:
        """The columns that all files have. A column has integers or dates if each of its values is
        written like one, else texts."""
        spelled = [_spelled(file) for file in files]
        if not spelled or any(list(each) != list(spelled[0]) for each in spelled):
            return cls(pa.schema([]), [{} for _ in files])
        columns = {name: _typed([each[name] for each in spelled]) for name in spelled[0]}
        schema = pa.schema([(name, array.type) for name, array in columns.items()])
        return cls(schema, pa.table(columns).to_pylist() if columns else [{} for _ in files])

    def without(self, names: Sequence[str]) -> Partitions:
        """The columns but for these: a column of the files themselves counts."""
        left_out = {name.casefold() for name in names}
        fields = [field for field in self.schema if field.name.casefold() not in left_out]
        return Partitions(pa.schema(fields), self.values)

    @property
    def duckdb_types(self) -> str:
        """The columns as DuckDB's option ``hive_types`` takes them."""
        types = [f"{quoted_text(f.name)}: {_DUCKDB[f.type]}" for f in self.schema]
        return "{" + ", ".join(types) + "}"


def _spelled(file: str) -> dict[str, str | None]:
    pairs = [part.partition("=") for part in file.split(os.sep)[:-1]]
    values = {unquote(name): unquote(value) for name, equals, value in pairs if name and equals}
    return {name: None if value == _NULL else value for name, value in values.items()}


def _typed(values: list[str | None]) -> pa.Array:
    """The values as integers or dates, if their spelling is the usual one."""
    for parse, dtype in ((int, pa.int64()), (date.fromisoformat, pa.date32())):
        try:
            parsed = [None if value is None else parse(value) for value in values]
            if all(v is None or str(v) == text for v, text in zip(parsed, values, strict=True)):
                return pa.array(parsed, dtype)
        except (ValueError, OverflowError):
            continue
    return pa.array(values, pa.string())
