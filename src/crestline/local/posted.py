"""Queries that stand on a board, and the space in which they rank records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.certain.standing import (
    AttributeDistance,
    Cosine,
    Distance,
    Haversine,
    Preference,
    StandingQueries,
    WeightedDistance,
    WeightedSum,
)
from crestline.core.errors import PlanError, SourceError
from crestline.core.window import RowsWindow
from crestline.language import Query
from crestline.language.ranking import Ranking, ranking_of
from crestline.types import Bools, Floats


@dataclass(frozen=True, slots=True)
class Posted:
    """A query on a board, and its number among the standing queries, once it has one."""

    query: Query
    ranking: Ranking
    number: int | None = None

    @classmethod
    def of(cls, query: Query, number: int | None = None) -> Posted:
        """The query, or PlanError if it cannot stand on a board."""
        return cls(query, _ranking(query), number)

    @property
    def selected(self) -> dict[str, str]:
        """The columns of the stream that are shown, by their names in the result."""
        return {item.name: str(item.expression.column) for item in self.query.select}

    @property
    def window(self) -> int:
        """How many records the window holds."""
        assert isinstance(self.query.window, RowsWindow)
        return self.query.window.rows

    def standing(self, queries: StandingQueries, space: Space) -> Posted:
        """This query after it was added to the standing queries."""
        number = queries.add(space.preference(self), self.query.k, self.window)
        return replace(self, number=number)


def _ranking(query: Query) -> Ranking:
    """What the query ranks by; PlanError if it cannot stand on a board."""
    name = query.name or "the query"
    if not isinstance(query.window, RowsWindow) or query.window.slide != 1 or query.window.on:
        raise PlanError(f"{name} needs a window [ROWS n] to stand on a board")
    for clause, text in (
        (query.where, "WHERE"), (query.partition_by, "PARTITION BY"), (query.combine, "COMBINE"),
        (query.probability, "WITH PROBABILITY"), (query.order_by[1:], "a second ORDER BY term"),
        (query.using, "USING"), (query.frequency, "FREQUENCY"), (query.approximate, "APPROXIMATE"),
    ):  # fmt: skip
        if clause:
            raise PlanError(f"{text} has no place on a board: leave it out, or run {name} alone")
    if query.emit != "CHANGES":
        raise PlanError(f"a board tells changes: write EMIT CHANGES at the end of {name}")
    if query.star is not None:
        raise PlanError(f"{name} selects *: a board shows columns that are named")
    for item in query.select:
        if item.expression.column is None:
            raise PlanError(f"{name} selects {item.expression}: a board shows plain columns")
    term = query.order_by[0]
    ranking = ranking_of(term.expression)
    far = term.descending and ranking is not None and ranking.kind not in ("WEIGHTED_SUM", "COSINE")
    if ranking is None or far:
        raise PlanError(
            f"{name} ranks by {term}: a board knows DISTANCE, WEIGHTED_DISTANCE, ATTRIBUTE_DISTANCE"
            " and HAVERSINE ASC, weighted sums of columns, and COSINE"
        )
    return ranking


@dataclass(frozen=True, slots=True)
class Space:
    """The space of a board: the columns whose values are the coordinates of a record.

    ``vector`` is 0, or the number of elements of the one array column that holds all coordinates.
    """

    columns: tuple[str, ...] = ()
    vector: int = 0

    @classmethod
    def of(cls, posted: Iterable[Posted]) -> Space:
        """The space in which all these queries rank; PlanError if there is none."""
        rankings = [each.ranking for each in posted]
        columns = tuple(dict.fromkeys(name for each in rankings for name in each.columns))
        lengths = {len(each.numbers) for each in rankings if each.kind == "COSINE"}
        if lengths and (len(lengths) > 1 or len(columns) > 1):
            raise PlanError(
                "COSINE goes by one array column and vectors of one length: put other queries on"
                " another board"
            )
        return cls(columns, lengths.pop() if lengths else 0)

    @property
    def dimensions(self) -> int:
        return self.vector or len(self.columns)

    def preference(self, posted: Posted) -> Preference:
        """The ranking of a query in this space. Smaller is better where it ascends."""
        ranking = posted.ranking
        if not self._has(ranking):
            raise PlanError(
                f"records on this board are placed by {', '.join(self.columns)}; a query by"
                f" {', '.join(ranking.columns)} needs a board of its own"
            )
        sign = 1.0 if posted.query.descending else -1.0
        if ranking.kind == "COSINE":
            return Cosine(tuple(sign * value for value in ranking.numbers))
        if ranking.kind == "HAVERSINE":
            latitude, longitude = ranking.numbers
            return Haversine((latitude, longitude))
        if ranking.kind == "WEIGHTED_SUM":
            weights = dict(zip(ranking.columns, ranking.weights, strict=True))
            return WeightedSum(tuple(sign * weights.get(name, 0.0) for name in self.columns))
        coordinates = dict(zip(ranking.columns, ranking.numbers, strict=True))
        point = tuple(coordinates.get(name, 0.0) for name in self.columns)
        if ranking.kind == "DISTANCE" and len(coordinates) == len(self.columns):
            return Distance(point)
        weights = dict(
            zip(ranking.columns, ranking.weights or (1.0,) * len(coordinates), strict=True)
        )
        weight = tuple(weights.get(name, 0.0) for name in self.columns)
        kind = AttributeDistance if ranking.kind == "ATTRIBUTE_DISTANCE" else WeightedDistance
        return kind(point, weight)

    def _has(self, ranking: Ranking) -> bool:
        if ranking.kind == "COSINE":
            return ranking.columns == self.columns and len(ranking.numbers) == self.vector
        if ranking.kind == "HAVERSINE":
            return self.vector == 0 and ranking.columns == self.columns
        return self.vector == 0 and set(ranking.columns) <= set(self.columns)

    def points(self, table: pa.Table) -> tuple[Floats, Bools]:
        """The coordinates of records, and which records have finite ones."""
        if self.vector:
            return _vectors(table.column(self.columns[0]), self.vector)
        columns = []
        for name in self.columns:
            try:
                numbers = pc.cast(table.column(name), pa.float64())
            except pa.ArrowException:
                dtype = table.schema.field(name).type
                raise SourceError(f"column {name!r} is {dtype}, not a number") from None
            columns.append(np.asarray(numbers.fill_null(np.nan).to_numpy(), np.float64))
        points = np.column_stack(columns) if table.num_rows else np.empty((0, len(columns)))
        return points, np.asarray(np.isfinite(points).all(axis=1))


def _vectors(column: pa.ChunkedArray, length: int) -> tuple[Floats, Bools]:
    """An array column as points, and which of them have that length and finite elements."""
    values = column.combine_chunks()
    if not pa.types.is_list(values.type) and not pa.types.is_fixed_size_list(values.type):
        raise SourceError(f"COSINE needs an array of numbers, not {values.type}")
    sizes = pc.list_value_length(values).fill_null(-1).to_numpy()
    fits = np.asarray(sizes) == length
    points = np.full((len(values), length), np.nan)
    flat = pc.list_flatten(values.filter(pa.array(fits))).cast(pa.float64()).fill_null(np.nan)
    points[fits] = np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(-1, length)
    finite = np.asarray(np.isfinite(points).all(axis=1))
    if len(points):
        finite &= (points != 0).any(axis=1)
    return points, finite


__all__ = ["Posted", "Space"]
