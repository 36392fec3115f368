"""Results on a terminal: a table with the first and the last rows of a long result."""

from __future__ import annotations

from collections import deque
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crestline.core.display import cell, column_values, is_number


class ResultTable:
    """Collects the rows of one query that a terminal will show, and no others."""

    def __init__(self, name: str, limit: int) -> None:
        """Show at most ``limit`` rows, half of them from the end; 0 means all."""
        self.name, self.total = name, 0
        self._all = limit == 0
        self._head_limit = (limit + 1) // 2
        self._columns: list[str] = []
        self._right: list[bool] = []
        self._head: list[tuple[Any, ...]] = []
        self._tail: deque[tuple[Any, ...]] = deque(maxlen=limit // 2)

    def write(self, table: pa.Table) -> None:
        if not self._columns:
            self._columns = table.column_names
            self._right = [is_number(field.type) for field in table.schema]
        self.total += table.num_rows
        room = table.num_rows if self._all else self._head_limit - len(self._head)
        self._head += _rows(table.slice(0, room))
        rest = table.slice(room)
        if self._tail.maxlen and rest.num_rows:
            self._tail += _rows(rest.slice(max(0, rest.num_rows - self._tail.maxlen)))

    def close(self) -> None:
        """Do nothing: ``print`` shows the table."""

    @property
    def hidden(self) -> int:
        return self.total - len(self._head) - len(self._tail)

    def print(self, console: Console) -> None:
        if not self.total:
            console.print(Text(f"{self.name}: no result rows"))
            return
        table = Table(title=Text(self.name, "bold"), title_justify="left")
        indices = [i for i, name in enumerate(self._columns) if name != "query"]
        for i in indices:
            table.add_column(Text(self._columns[i]), justify="right" if self._right[i] else "left")
        # A new moment begins a new group of rows. Selected columns may have the same names.
        group = 1 if self._columns[1] == "at" else self._columns.index("window_end")
        self._add(table, self._head, indices, group)
        if self.hidden:
            table.add_section()
            table.add_row(*["..." for _ in indices], style="dim")
            table.add_section()
        self._add(table, list(self._tail), indices, group)
        console.print(table)
        if self.hidden:
            note = (
                f"{self.total:,} rows, {self.hidden:,} of them not shown: --show 0 shows all here,"
                " --out FILE or a pipe takes them all"
            )
            console.print(Text(note, "dim"), soft_wrap=True)

    @staticmethod
    def _add(table: Table, rows: list[tuple[Any, ...]], indices: list[int], group: int) -> None:
        for number, row in enumerate(rows):
            if number and row[group] != rows[number - 1][group]:
                table.add_section()
            table.add_row(*[Text(cell(row[i])) for i in indices])


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*map(column_values, table.columns), strict=True))


__all__ = ["ResultTable"]
