"""The results of a bounded run: rows, rejects and counts, in the forms that people work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crestline.core.display import (
    cell,
    column_values,
    counted,
    folded_html,
    html_table,
    is_number,
    text_table,
)
from crestline.core.errors import CrestlineError
from crestline.language import Query
from crestline.planner import explain
from crestline.runtime.metrics import Metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Rows of a query that are shown as text and as HTML, half of them from the end; and queries.
_TEXT_ROWS, _HTML_ROWS, _QUERIES = 10, 20, 5
#: Rows that become dictionaries at a time.
_ROWS_AT_ONCE = 1_000


class Results:
    """The rows of a bounded run: iterate over them as dictionaries, or take them all, by
    ``to_arrow``, ``to_pandas``, ``to_polars`` or, of one query, ``of``. Whatever reads Arrow
    streams (Polars, DuckDB, pyarrow) takes a ``Results`` as it is.

    ``rejects`` is a table of the records that were set aside, with reasons; ``by_query`` has the
    ``Metrics`` of each query; ``queries`` the queries; ``notes`` says which columns had to widen.
    ``plot`` draws how ranks changed. A notebook shows rows, plan and counts.
    """

    def __init__(
        self, queries: Mapping[str, Query], tables: dict[str, pa.Table], rejects: pa.Table,
        metrics: dict[str, Metrics], notes: list[str],
    ) -> None:  # fmt: skip
        self.queries, self._tables = dict(queries), tables
        self.rejects, self.by_query, self.notes = rejects, metrics, notes

    @property
    def metrics(self) -> Metrics:
        """The counts of the run; of several queries, the first one's (see ``by_query``)."""
        return next(iter(self.by_query.values()))

    def of(self, query: str) -> pa.Table:
        """The rows of one query of several."""
        if query not in self._tables:
            raise CrestlineError(f"no query {query!r}: there are {', '.join(self._tables)}")
        return self._tables[query]

    # -- all rows -----------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """All rows. Several queries with different columns: NULL where a query lacks a column."""
        return together(list(self._tables.values()))

    def to_pandas(self) -> Any:
        """All rows as a pandas data frame."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise _not_installed("pandas") from None
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """All rows as a Polars data frame."""
        try:
            import polars
        except ImportError:
            raise _not_installed("polars") from None
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return sum(table.num_rows for table in self._tables.values())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as dictionaries. Times are those of Python, in microseconds, and text beyond
        the year 9999; ``to_arrow`` has them as they are."""
        table = self.to_arrow()
        for start in range(0, table.num_rows, _ROWS_AT_ONCE):
            columns = map(column_values, table.slice(start, _ROWS_AT_ONCE).columns)
            for row in zip(*columns, strict=True):
                yield dict(zip(table.column_names, row, strict=True))

    # -- shown --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        blocks = [f"<Results: {counted(len(self), 'row')} of {_listed(self._tables)}>"]
        for name, table in list(self._tables.items())[:_QUERIES]:
            if len(self._tables) > 1:
                blocks.append(f"{name}: {counted(table.num_rows, 'row')}")
            if table.num_rows:
                headings, rows, right = _some_rows(table, _TEXT_ROWS)
                blocks.append(text_table(rows, headings, right))
            blocks.append(f"records kept: {self.by_query[name].kept_text()}")
        if rejected := self._rejected():
            reasons = ", ".join(f"{reason} ({count:,})" for reason, count in rejected.items())
            blocks.append(f"set aside: {reasons}")
        return "\n".join([*blocks, *self.notes])

    def _repr_html_(self) -> str:
        blocks = [f"<b>{counted(len(self), 'row')}</b> of {escape(_listed(self._tables))}"]
        for name, table in list(self._tables.items())[:_QUERIES]:
            if len(self._tables) > 1:
                blocks.append(f"<b>{escape(name)}</b>: {counted(table.num_rows, 'row')}")
            if table.num_rows:
                headings, rows, right = _some_rows(table, _HTML_ROWS)
                blocks.append(html_table(rows, headings, right))
            metrics = self.by_query[name]
            blocks.append(f"{_bar(metrics)}records kept: {metrics.kept_text()}")
        if rejected := self._rejected():
            reasons = [(reason, f"{count:,}") for reason, count in rejected.items()]
            blocks.append(html_table(reasons, ["set aside", "records"], [False, True]))
        blocks += [escape(note) for note in self.notes]
        blocks.append(folded_html("The plan", explain(self.queries)._repr_html_()))
        return "".join(f"<div>{block}</div>" for block in blocks)

    def _rejected(self) -> dict[str, int]:
        """The number of records that were set aside, by reason."""
        return dict(Counter(self.rejects.column("reason").to_pylist()))

    def plot(
        self,
        path: str | Path | None = None,
        *,
        query: str | None = None,
        partition: Any = None,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw how ranks changed in the last 60 results; needs matplotlib (the extra ``plot``).

        Every line is a record, known by ``KEY`` or by the selected columns. Those that were first
        are in colour. Each query and each partition has axes of its own.

        Parameters:
            path: A file to write the picture to: ``.png``, ``.svg`` or ``.pdf``.
            query: The name of the query to draw, of several.
            partition: The value of ``PARTITION BY`` to draw; a tuple where it has several
                expressions.
            ax: Axes of matplotlib to draw on, in place of a figure of its own.

        Returns:
            The figure, which notebooks show.
        """
        from crestline.runtime.plotting import draw_ranks, rank_figure, write_figure
        from crestline.runtime.rankings import rankings

        drawn = rankings(self._tables, self.queries, query, partition)
        if ax is None:
            figure = rank_figure(drawn)
        elif len(drawn) == 1:
            draw_ranks(ax, drawn[0])
            figure = ax.figure  # type: ignore[assignment]
        else:
            raise CrestlineError(
                f"there are {len(drawn)} rankings and one ax: choose with query='...' or"
                " partition='...', or leave ax out"
            )
        if path is not None:
            write_figure(figure, path)
        return figure


def _not_installed(package: str) -> CrestlineError:
    return CrestlineError(f"{package} is not installed: pip install {package}, or use to_arrow()")


def _listed(names: Mapping[str, Any]) -> str:
    if len(names) <= _QUERIES:
        return ", ".join(names)
    return f"{', '.join(list(names)[:_QUERIES])} and {len(names) - _QUERIES:,} more"


def _some_rows(table: pa.Table, limit: int) -> tuple[list[str], list[tuple[str, ...]], list[bool]]:
    """Headings, cells and alignment of the first and the last rows, with a row of dots between."""
    table = table.drop_columns(["query"]) if table.column_names[0] == "query" else table

    def cells(part: pa.Table) -> list[tuple[str, ...]]:
        columns = ([cell(v) for v in column_values(column)] for column in part.columns)
        return list(zip(*columns, strict=True))

    rows = cells(table.slice(0, limit))
    if table.num_rows > limit:
        dots = ("...",) * table.num_columns
        rows = [*rows[: limit // 2], dots, *cells(table.slice(table.num_rows - limit // 2))]
    headings = [cell(name) for name in table.column_names]
    return headings, rows, [is_number(field.type) for field in table.schema]


def _bar(metrics: Metrics) -> str:
    """The share of the window that is kept, as a bar."""
    share = min(1.0, metrics.kept_peak / max(1, metrics.window_records_peak))
    return (
        '<div style="background:#C9CDD2;width:16em;height:0.5em">'
        f'<div style="background:#0072B2;width:{share:.2%};height:0.5em"></div></div>'
    )


def together(tables: list[pa.Table]) -> pa.Table:
    """Rows of different queries in one table: NULL where a query lacks a column, and text where its
    types have nothing in common."""
    if not tables:
        return pa.table({})
    if all(table.schema == tables[0].schema for table in tables):
        return pa.concat_tables(tables)
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        dtypes: dict[str, set[pa.DataType]] = {}
        for table in tables:
            for field in table.schema:
                dtypes.setdefault(field.name, set()).add(field.type)
        mixed = {name for name, several in dtypes.items() if len(several) > 1}
        tables = [_with_texts(table, mixed) for table in tables]
        return pa.concat_tables(tables, promote_options="permissive")


def _with_texts(table: pa.Table, names: set[str]) -> pa.Table:
    """The table with the values of these columns as texts."""
    for i, name in enumerate(table.column_names):
        if name in names:
            values = table.column(i).to_pylist()
            texts = [None if value is None else str(value) for value in values]
            table = table.set_column(i, name, pa.array(texts, pa.string()))
    return table


__all__ = ["Results", "together"]
