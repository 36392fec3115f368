"""A query for the oracle: its clauses as plain fields, and its text in the query language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Record = dict[str, Any]
Row = dict[str, Any]
Kind = Literal["range_slide", "range", "rows", "rows_on", "unbounded_time", "unbounded_rows"]
#: A lateness with which no record is late.
FOREVER = 10**18


@dataclass(frozen=True)
class Spec:
    """A query on the stream ``s``.

    ``width`` and ``slide`` are microseconds, or numbers of records for the kinds with rows. ``ts``
    is the column of event times, ``order`` the columns of ORDER BY, each with whether it descends.
    ``where`` and ``where_sql`` are the same condition, as a function and as text.

    >>> print(Spec(2, "range_slide", 30, 10, ts="ts", order=(("val", True),)).text())
    SELECT TOP 2 `id` FROM s [RANGE 30 us SLIDE 10 us ON `ts`] ORDER BY `val` DESC
    """

    k: int
    kind: Kind
    width: int = 0
    slide: int = 1
    ts: str | None = None
    order: tuple[tuple[str, bool], ...] = (("val", True),)
    partition: tuple[str, ...] = ()
    select: tuple[str, ...] = ("id",)
    key: tuple[str, ...] = ()
    #: In microseconds. None leaves the clause out: a bounded run then drops nothing as late.
    lateness: int | None = None
    late: Literal["DROP", "REVISE"] = "DROP"
    emit: Literal["SNAPSHOTS", "CHANGES", "ENTRIES"] = "SNAPSHOTS"
    where: Callable[[Record], bool] | None = field(default=None, compare=False)
    where_sql: str | None = None
    name: str | None = None
    #: The columns of the stream. ``text`` writes ``*`` where all of them are selected.
    columns: tuple[str, ...] = ()
    #: Whether ORDER BY names selected columns by their numbers.
    numbered: bool = False

    def __post_init__(self) -> None:
        if self.late == "REVISE" and self.lateness is None:
            object.__setattr__(self, "lateness", 0)  # LATE needs LATENESS

    @property
    def counts_rows(self) -> bool:
        """Whether the window is a number of records."""
        return self.kind in ("rows", "rows_on", "unbounded_rows")

    @property
    def window(self) -> str:
        """The text between the brackets."""
        on = f" ON {quoted(self.ts)}" if self.ts else ""
        return {
            "range_slide": f"RANGE {self.width} us SLIDE {self.slide} us{on}",
            "range": f"RANGE {self.width} us{on}",
            "rows": f"ROWS {self.width} SLIDE {self.slide}",
            "rows_on": f"ROWS {self.width} SLIDE {self.slide}{on}",
            "unbounded_time": f"UNBOUNDED SLIDE {self.slide} us{on}",
            "unbounded_rows": f"UNBOUNDED SLIDE {self.slide} ROWS",
        }[self.kind]

    def text(self, using: str | None = None, stream: str = "s") -> str:
        """Write the query in the query language, with USING if an algorithm is named."""
        all_columns = tuple(c for c in self.columns if c not in self.partition)
        star = bool(all_columns) and self.select == all_columns
        numbers = {c: str(n) for n, c in enumerate(self.select, 1) if self.numbered and not star}
        terms = ", ".join(
            f"{numbers.get(c, quoted(c))} {'DESC' if desc else 'ASC'}" for c, desc in self.order
        )
        parts = [
            f"CREATE QUERY {self.name} AS" if self.name else "",
            f"SELECT TOP {self.k} {'*' if star else ', '.join(map(quoted, self.select))}",
            f"FROM {stream} [{self.window}]",
            f"WHERE {self.where_sql}" if self.where_sql else "",
            f"PARTITION BY {', '.join(map(quoted, self.partition))}" if self.partition else "",
            f"ORDER BY {terms}",
            f"KEY ({', '.join(map(quoted, self.key))})" if self.key else "",
            f"LATENESS {self.lateness} us" if self.lateness is not None else "",
            "LATE REVISE" if self.late == "REVISE" else "",
            "" if self.emit == "SNAPSHOTS" else f"EMIT {self.emit}",
            f"USING {using}" if using else "",
        ]
        return " ".join(part for part in parts if part)


def quoted(column: str | None) -> str:
    """Write a column's name in backquotes."""
    return "`" + str(column).replace("`", "``") + "`"


__all__ = ["FOREVER", "Kind", "Record", "Row", "Spec", "quoted"]
