"""Rejected records with their reasons, until somebody takes them."""

from __future__ import annotations

import pyarrow as pa

from crestline.core.errors import RecordError
from crestline.core.tables import REJECTS, reject_table
from crestline.language import Query
from crestline.runtime.roles import role_expressions
from crestline.types import Ints

#: How many rejects there were by reason, and the tables that nobody has taken.
Mark = tuple[dict[str, int], list[pa.Table]]


class Rejects:
    """The rejected records of a query.

    Parameters:
        query: The query that rejects them.
        strict: Raise ``RecordError`` for every rejected record but late ones.
        limit: How many rows are held until ``take`` (None: all). ``counts`` counts every record.
    """

    def __init__(self, query: Query, strict: bool, limit: int | None = None) -> None:
        self.query, self.strict, self.limit = query, strict, limit
        self.counts: dict[str, int] = {}
        self._tables: list[pa.Table] = []
        self._held = 0  # rows of all tables

    def mark(self) -> Mark:
        """What to ``return_to`` if a batch is refused as a whole."""
        return dict(self.counts), list(self._tables)

    def return_to(self, mark: Mark) -> None:
        self.counts, self._tables = mark
        self._held = sum(table.num_rows for table in self._tables)

    def add(self, rows: Ints, role: str, reason: str, values: pa.Array | pa.ChunkedArray) -> None:
        """Reject records because of the column that plays this role."""
        self.add_column(rows, self.column_of(role), reason, values)

    def column_of(self, role: str) -> str:
        """The column, or expression, that plays the role."""
        return role_expressions(self.query)[role].sql

    def add_column(
        self, rows: Ints, column: str, reason: str, values: pa.Array | pa.ChunkedArray
    ) -> None:
        """Reject records because of a column of the stream."""
        if len(rows):
            self.add_table(reject_table(self.query.stream, rows, column, reason, _texts(values)))

    def add_table(self, rejected: pa.Table) -> None:
        """Add rejects, such as those of a source that could not read some records."""
        if self.strict and rejected.num_rows:
            first = rejected.slice(0, 1).to_pylist()[0]
            if first["reason"] != "late":
                raise RecordError(first["stream"], first["row"], first["column"], first["reason"])
        for count in rejected.column("reason").value_counts().to_pylist():
            reason = count["values"]
            self.counts[reason] = self.counts.get(reason, 0) + count["counts"]
        if self.limit is not None:
            rejected = rejected.slice(0, max(0, self.limit - self._held))
        if rejected.num_rows:
            self._held += rejected.num_rows
            self._tables.append(rejected)

    def take(self) -> pa.Table:
        """The rejects since the last call."""
        tables, self._tables, self._held = self._tables, [], 0
        return pa.concat_tables([REJECTS.empty_table(), *tables])


def _texts(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    try:
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([_text(value) for value in values], pa.string())


def _text(scalar: pa.Scalar) -> str | None:
    try:
        return None if scalar.as_py() is None else str(scalar.as_py())
    except (ValueError, OverflowError):  # a time that Python cannot represent
        return str(scalar)
