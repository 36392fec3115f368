"""Columns that folders spell: ``year=2024/region=north/part.parquet``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

#: The value of a folder whose records have NULL in the column.
_NULL = "__HIVE_DEFAULT_PARTITION__"
_DUCKDB = {pa.int64(): "BIGINT", pa.date32(): "DATE", pa.string(): "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Partitions:
    """The columns that the folders of files spell, and their values for each file."""

    schema: pa.Schema
    values: list[dict[str, Any]]

    @classmethod
    def of(cls, files: Sequence[str]) -> Partitions:
        """A column is a whole number or a date if each of its values is written like one, else a
        text. There are none unless all files have the same."""
        spelled = [_spelled(file) for file in files]
        if not spelled or any(list(each) != list(spelled[0]) for each in spelled):
            return cls(pa.schema([]), [{} for _ in files])
        columns = {name: _typed([each[name] for each in spelled]) for name in spelled[0]}
        schema = pa.schema([(name, array.type) for name, array in columns.items()])
        return cls(schema, pa.table(columns).to_pylist() if columns else [{} for _ in files])

    def without(self, names: Sequence[str]) -> Partitions:
        """Those that the files themselves do not have: what is in a file counts."""
        held = {name.casefold() for name in names}
        return Partitions(
            pa.schema([field for field in self.schema if field.name.casefold() not in held]),
            self.values,
        )

    @property
    def duckdb_types(self) -> str:
        """The columns as DuckDB's option ``hive_types`` takes them."""
        types = [f"{_quoted(f.name)}: {_DUCKDB[f.type]}" for f in self.schema]
        return "{" + ", ".join(types) + "}"


def _spelled(file: str) -> dict[str, str | None]:
    pairs = [part.partition("=") for part in file.split(os.sep)[:-1]]
    values = {unquote(name): unquote(value) for name, equals, value in pairs if name and equals}
    return {name: None if value == _NULL else value for name, value in values.items()}


def _typed(values: list[str | None]) -> pa.Array:
    """The values as whole numbers or dates, if that leaves their spelling as it is."""
    for read, kind in ((int, pa.int64()), (date.fromisoformat, pa.date32())):
        try:
            found = [None if value is None else read(value) for value in values]
            if all(v is None or str(v) == text for v, text in zip(found, values, strict=True)):
                return pa.array(found, kind)
        except (ValueError, OverflowError):
            continue
    return pa.array(values, pa.string())


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"
