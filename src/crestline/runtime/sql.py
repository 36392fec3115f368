"""DuckDB: connections, expressions over a batch, quoting.

DuckDB is imported at first use. Queries over plain columns of tables never load it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from crestline.core.errors import SourceError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def duckdb_errors() -> tuple[type[Exception], ...]:
    """The errors that DuckDB raises; none as long as it is not loaded."""
    loaded = sys.modules.get("duckdb")
    return () if loaded is None else (loaded.Error,)


def connect() -> DuckDBPyConnection:
    """A database in memory whose clocks show UTC."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


class Evaluator:
    """Computes expressions over batches. It connects to DuckDB at the first batch.

    The connection reads no file, loads no extension and sees no Python variable.
    """

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._connection: DuckDBPyConnection | None = None

    def __call__(self, table: pa.Table, wanted: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
        """The values of the expressions, by the names that they are wanted under."""
        if not wanted:
            return {}
        connection = self._connection = self._connection or _closed_connection()
        items = ", ".join(f"{sql} AS {name}" for name, sql in wanted.items())
        try:
            connection.register("crestline_batch", _widened(table))
            computed = connection.sql(f"SELECT {items} FROM crestline_batch").to_arrow_table()
        except duckdb_errors() as error:
            raise SourceError(
                f"stream {self._stream!r}: an expression cannot be computed: {first_line(error)}."
                " TRY_CAST turns values that do not fit into NULL."
            ) from None
        finally:
            connection.unregister("crestline_batch")
        return {name: computed.column(name) for name in wanted}


def _closed_connection() -> DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(
        config={"threads": 1, "python_enable_replacements": False, "enable_external_access": False}
    )
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection


def _widened(table: pa.Table) -> pa.Table:
    """Small floats as float64: arithmetic on them rounds differently from engine to engine."""
    for i, field in enumerate(table.schema):
        if field.type in (pa.float16(), pa.float32()):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
    return table


def first_line(error: Exception) -> str:
    """The first line of an error's message, which says what is wrong."""
    return str(error).split("\n")[0]


def quoted_names(names: Iterable[str]) -> str:
    """Columns as DuckDB reads them in a select list.

    >>> print(quoted_names(["id", 'a"b c']))
    "id", "a""b c"
    """
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def quoted_text(text: str) -> str:
    """A text as DuckDB reads it.

    >>> quoted_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
