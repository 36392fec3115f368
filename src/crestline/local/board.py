"""A board of standing queries: hundreds of query texts on one stream, which come and go.

Each query ranks records by where they lie: ``DISTANCE``, ``WEIGHTED_DISTANCE`` or ``HAVERSINE`` to
a point, a weighted sum of columns, or ``COSINE`` to a vector, over ``[ROWS n]``, and tells its
changes. They share one buffer of recent records, one time order and a grid, so that a record is
looked at only by queries it can matter to; see ``certain.standing``. A query sees the records after
its ``add``.

Ties go to the later record. All queries read columns of the same stream; the columns that place a
record are those of the queries there are when the first records come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.certain.standing import (
    Cosine,
    Distance,
    Haversine,
    Preference,
    StandingQueries,
    WeightedDistance,
    WeightedSum,
)
from crestline.core import sound
from crestline.core.errors import PlanError, SourceError
from crestline.core.snapshots import Snapshots
from crestline.core.state import pack, unpack
from crestline.core.window import RowsWindow
from crestline.kernels.common.changes import diff_snapshots
from crestline.language import Query, parse
from crestline.language.ranking import Ranking, ranking_of
from crestline.runtime.conforming import Misfit, Uses, conformed, widened
from crestline.runtime.fitting import plain_type
from crestline.runtime.gate import REJECTS, CandidateMisfit, retyped, table_bytes, table_from
from crestline.sources import source
from crestline.types import Bools, Floats, Ints

#: Recent records that all queries share, unless a window is too short for so many.
_BUFFER = 2000
_CHANGES = pa.array(["leave", "move", "enter"])


@dataclass(frozen=True, slots=True)
class _Posted:
    """A query on the board: its number among the standing queries, and whether small is good."""

    query: Query
    ranking: Ranking
    number: int | None = None

    @property
    def ascending(self) -> bool:
        return not self.query.order_by[0].descending


class Board:
    """Standing queries by name: ``add``, ``remove``, ``push`` records, get the changes."""

    def __init__(
        self,
        queries: Sequence[str | Query] = (),
        *,
        algorithm: str = "RAPF",
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
        resolution: int | None = None,
        buffer: int | None = None,
        state: bytes | None = None,
    ) -> None:
        """``low`` and ``high`` are the corners of the space (None: of the first records),
        ``resolution`` the cells of the grid in each dimension (None: chosen, 1: no grid), and
        ``buffer`` the recent records that are kept (None: 2,000, or half of the shortest window).
        ``state`` is what ``snapshot()`` returned, of a board with the same settings.
        """
        self._settings: dict[str, Any] = {
            "algorithm": algorithm, "low": low, "high": high, "resolution": resolution,
            "buffer": buffer,
        }  # fmt: skip
        self._posted: dict[str, _Posted] = {}
        self._standing: StandingQueries | None = None
        self._columns: tuple[str, ...] = ()
        self._vector = 0  # elements of the array that places a record; 0: the columns do
        self._schema: pa.Schema | None = None
        self._kept: pa.Table | None = None  # of records that may be told of again, by number
        self._numbers = np.empty(0, np.int64)
        self._shown: dict[int, tuple[Ints, Floats]] = {}  # by query: record numbers, scores
        self._rejects: list[pa.Table] = []
        self.rows_in = 0
        self.rows_set_aside = 0
        for query in queries:
            self.add(query)
        if state is not None:
            self._resume(state)

    # -- queries ------------------------------------------------------------------------------

    def add(self, query: str | Query) -> str:
        """Post a query; it sees the records that are pushed from now on. Returns its name."""
        parsed = parse(query) if isinstance(query, str) else query
        name = parsed.name or f"query_{len(self._posted) + 1}"
        if name in self._posted:
            raise PlanError(f"there is a query called {name} already: name it apart")
        posted = _Posted(parsed, _checked(parsed))
        others = [other.query.stream for other in self._posted.values()]
        if others and parsed.stream != others[0]:
            raise PlanError(
                f"the board watches {others[0]}, the query reads {parsed.stream}: use a board for"
                " each stream"
            )
        if self._standing is not None:
            posted = self._stand(posted)
        self._posted[name] = posted
        return name

    def remove(self, name: str) -> None:
        """Take a query off the board."""
        if name not in self._posted:
            known = ", ".join(self._posted) or "none"
            raise PlanError(f"there is no query {name} on the board, but {known}")
        posted = self._posted.pop(name)
        if self._standing is not None and posted.number is not None:
            self._standing.remove(posted.number)
            self._shown.pop(posted.number, None)

    @property
    def names(self) -> list[str]:
        """The queries on the board."""
        return list(self._posted)

    def __len__(self) -> int:
        return len(self._posted)

    def _stand(self, posted: _Posted) -> _Posted:
        assert self._standing is not None
        preference = self._preference(posted)
        window = posted.query.window
        assert isinstance(window, RowsWindow)
        number = self._standing.add(preference, posted.query.k, window.rows)
        return _Posted(posted.query, posted.ranking, number)

    def _preference(self, posted: _Posted) -> Preference:
        """The ranking in terms of the board's columns; smaller is better where it ascends."""
        ranking = posted.ranking
        if ranking.kind == "COSINE":
            fits = ranking.columns == self._columns and len(ranking.numbers) == self._vector
        elif ranking.kind == "HAVERSINE":
            fits = self._vector == 0 and ranking.columns == self._columns
        else:
            fits = self._vector == 0 and set(ranking.columns) <= set(self._columns)
        if not fits:
            raise PlanError(
                f"records on this board are placed by {', '.join(self._columns)}; a query by"
                f" {', '.join(ranking.columns)} needs a board of its own"
            )
        if ranking.kind == "COSINE":
            sign = -1.0 if posted.ascending else 1.0
            return Cosine(tuple(sign * value for value in ranking.numbers))
        if ranking.kind == "HAVERSINE":
            latitude, longitude = ranking.numbers
            return Haversine((latitude, longitude))
        if ranking.kind == "WEIGHTED_SUM":
            sign = -1.0 if posted.ascending else 1.0
            weights = dict(zip(ranking.columns, ranking.weights, strict=True))
            return WeightedSum(tuple(sign * weights.get(name, 0.0) for name in self._columns))
        point = dict(zip(ranking.columns, ranking.numbers, strict=True))
        there = tuple(point.get(name, 0.0) for name in self._columns)
        if ranking.kind == "DISTANCE" and len(point) == len(self._columns):
            return Distance(there)
        weights = dict(zip(ranking.columns, ranking.weights or (1.0,) * len(point), strict=True))
        return WeightedDistance(there, tuple(weights.get(name, 0.0) for name in self._columns))

    # -- records ------------------------------------------------------------------------------

    def push(self, data: Any) -> pa.Table:
        """Take records in (whatever ``crestline.run`` takes as a stream) and return the changes of
        all queries, record by record."""
        if not self._posted:
            raise PlanError("there is no query on the board: add one before records are pushed")
        stream = next(iter(self._posted.values())).query.stream
        if isinstance(data, dict):
            data = [data]
        known = self._schema
        given = source(data, stream, [] if known is None else self._needed(known, stream))
        if known is None:
            self._schema = given.schema
        tables = [
            self._take(pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch, stream)
            for batch in given.read(self._needed(given.schema, stream))
        ]
        fields = self._empty()
        return pa.concat_tables([fields, *(retyped(table, fields.schema) for table in tables)])

    def _needed(self, schema: pa.Schema, stream: str) -> list[str]:
        needed: dict[str, None] = {}
        for posted in self._posted.values():
            for name in (
                *posted.ranking.columns,
                *(str(c.expression.column) for c in posted.query.select),
            ):
                needed[name] = None
        for name in needed:
            if name not in schema.names:
                raise SourceError(
                    f"stream {stream!r} has no column {name!r}: it has {', '.join(schema.names)}"
                )
        return list(needed)

    def _take(self, table: pa.Table, stream: str) -> pa.Table:
        if self._standing is None:
            self._lay_out()
        table, misfits = self._fitted(table)
        points, good = self._points(table)
        fits = np.ones(table.num_rows, np.bool_)
        for misfit in misfits:
            self._set_aside(misfit.which & fits, stream, misfit.column, misfit.reason)
            fits &= ~misfit.which
        placed, reason = ", ".join(self._columns), "no place: NULL, NaN or infinite"
        self._set_aside(fits & ~good, stream, placed, reason)
        good &= fits
        self.rows_in += table.num_rows
        places = np.flatnonzero(good)
        if self._standing is None:
            self._begin(points[places])
        standing = self._standing
        assert standing is not None
        before = standing.seen
        reported = standing.observe(points[places])
        self._remember(table.take(places), before, reported)
        return self._changes(reported)

    def _fitted(self, table: pa.Table) -> tuple[pa.Table, list[Misfit]]:
        """The records in the types of the board's columns, which widen where they can."""
        assert self._schema is not None
        uses = Uses(frozenset(self._columns), frozenset(), frozenset())
        for name in table.column_names:
            wide = widened(self._schema, table.schema, [name], uses)
            try:
                if self._kept is not None:
                    self._kept = retyped(self._kept, wide)
                self._schema = wide
            except CandidateMisfit:
                pass  # the column stays as it is, and what does not fit is set aside
        return conformed(table, self._schema, table.column_names, uses)

    def _lay_out(self) -> None:
        """The columns that place a record: those of the queries there are."""
        rankings = [posted.ranking for posted in self._posted.values()]
        self._columns = tuple(dict.fromkeys(name for r in rankings for name in r.columns))
        lengths = {len(r.numbers) for r in rankings if r.kind == "COSINE"}
        if lengths and (len(lengths) > 1 or len(self._columns) > 1):
            raise PlanError(
                "COSINE goes by one array column and vectors of one length: put other queries on"
                " another board"
            )
        self._vector = lengths.pop() if lengths else 0

    def _points(self, table: pa.Table) -> tuple[Floats, Bools]:
        """Where the records lie, and which of them lie anywhere."""
        if self._vector:
            return _vectors(table.column(self._columns[0]), self._vector)
        columns = []
        for name in self._columns:
            try:
                numbers = pc.cast(table.column(name), pa.float64())
            except pa.ArrowException:
                kind = table.schema.field(name).type
                raise SourceError(f"column {name!r} is {kind}, not a number") from None
            columns.append(np.asarray(numbers.fill_null(np.nan).to_numpy(), np.float64))
        points = np.column_stack(columns) if table.num_rows else np.empty((0, len(columns)))
        return points, np.asarray(np.isfinite(points).all(axis=1))

    def _begin(self, points: Floats) -> None:
        settings = dict(self._settings)
        shortest = min(posted.query.window.panes.width for posted in self._posted.values())
        if settings["buffer"] is None:
            settings["buffer"] = max(1, min(_BUFFER, (shortest + 1) // 2))
        for name, corner, other in (("low", np.min, 0.0), ("high", np.max, 1.0)):
            if settings[name] is None:
                settings[name] = corner(points, axis=0) if len(points) else other
        low, high = (np.asarray(settings[name], np.float64) for name in ("low", "high"))
        flat = ~(high > low)  # all at one place: any corners around it will do
        settings["low"] = np.where(flat, np.minimum(low, 0.0) - 1.0, low)
        settings["high"] = np.where(flat, np.maximum(low, 0.0) + 1.0, high)
        self._standing = StandingQueries(self._vector or len(self._columns), **settings)
        self._posted = {name: self._stand(posted) for name, posted in self._posted.items()}

    def _set_aside(self, bad: Bools, stream: str, column: str, reason: str) -> None:
        rows = np.flatnonzero(bad)
        if len(rows) == 0:
            return
        self.rows_set_aside += len(rows)
        self._rejects.append(
            pa.table(
                {
                    "stream": pa.repeat(stream, len(rows)),
                    "row": pa.array(self.rows_in + rows),
                    "column": pa.repeat(column, len(rows)),
                    "reason": pa.repeat(reason, len(rows)),
                    "value": pa.nulls(len(rows), pa.string()),
                },
                schema=REJECTS,
            )
        )

    @property
    def rejects(self) -> pa.Table:
        """The records set aside so far (in this process)."""
        return pa.concat_tables([REJECTS.empty_table(), *self._rejects])

    @property
    def metrics(self) -> dict[str, int]:
        """Records in and set aside; records and references kept; meetings of record and query (a
        record that waits in a buffer meets a query when it arrives and again when it leaves)."""
        standing = self._standing
        return {
            "queries": len(self),
            "rows_in": self.rows_in,
            "rows_set_aside": self.rows_set_aside,
            "records_kept": len(self._numbers),
            "references": 0 if standing is None else standing.candidates,
            "meetings": 0 if standing is None else standing.touched,
            "resolution": 0 if standing is None else standing.resolution,
        }

    # -- rows ---------------------------------------------------------------------------------

    def _remember(self, table: pa.Table, first: int, reported: Snapshots) -> None:
        """Keep the columns of records that are told of now or may be later; no others."""
        assert self._standing is not None
        names = list(dict.fromkeys(str(c.expression.column) for p in self._posted.values()
                                   for c in p.query.select))  # fmt: skip
        table = table.select(names)
        numbers = np.arange(first, first + table.num_rows)
        needed = [self._standing.ids(), reported.id, *(ids for ids, _ in self._shown.values())]
        wanted = np.unique(np.concatenate(needed))
        new = np.isin(numbers, wanted)
        fresh = table.filter(pa.array(new))
        old = np.isin(self._numbers, wanted)
        if self._kept is None:
            self._kept = fresh
        else:
            pieces = [self._kept.filter(pa.array(old)), fresh]
            self._kept = pa.concat_tables(pieces, promote_options="permissive")
        self._kept = self._kept.combine_chunks()
        self._numbers = np.concatenate((self._numbers[old], numbers[new]))

    def _changes(self, reported: Snapshots) -> pa.Table:
        if len(reported) == 0:
            return self._empty()
        reported = reported.ordered(np.lexsort((reported.end, reported.partition)))
        # Queries and records by small numbers, for the kernel.
        queries = np.unique(
            np.concatenate((reported.partition, np.array([*self._shown], np.int64)))
        )
        nothing = np.empty(0, np.int64), np.empty(0)
        before = [self._shown.get(int(query), nothing) for query in queries]
        start = np.concatenate(([0], np.cumsum([len(ids) for ids, _ in before])))
        shown = np.concatenate([ids for ids, _ in before])
        records = np.unique(np.concatenate((shown, reported.id)))
        whose = np.searchsorted(queries, reported.partition)
        shown, new = np.searchsorted(records, shown), np.searchsorted(records, reported.id)
        rows, now_from, now = diff_snapshots(
            start, shown, whose, reported.end, reported.offset, new,
            np.zeros(len(records), np.int64),
        )  # fmt: skip
        # A record's score for a query, by both.
        keys = np.concatenate(
            (
                np.repeat(np.arange(len(queries)), np.diff(start)) * len(records) + shown,
                np.repeat(whose, np.diff(reported.offset)) * len(records) + new,
            )
        )
        keys, first = np.unique(keys, return_index=True)
        scores = np.concatenate([*(scores for _, scores in before), reported.score])[first]
        for place, query in enumerate(queries.tolist()):
            ids = now[now_from[place] : now_from[place + 1]]
            places = np.searchsorted(keys, place * len(records) + ids)
            self._shown[query] = records[ids], scores[places]
        at, query, change, rank, previous, record = rows
        by_place = np.where(change == 0, previous, rank)
        order = np.lexsort((by_place, change != 0, query, at))
        at, query, change, rank, previous, record = rows[:, order]
        score = scores[np.searchsorted(keys, query * len(records) + record)]
        return self._rows(queries[query], at, change, rank, previous, records[record], score)

    def _rows(
        self,
        query: Ints,
        at: Ints,
        change: Ints,
        rank: Ints,
        previous: Ints,
        record: Ints,
        score: Floats,
    ) -> pa.Table:
        assert self._kept is not None
        by_number = {p.number or 0: (name, p) for name, p in self._posted.items()}
        kept = self._kept.take(np.searchsorted(self._numbers, record))
        ascending = np.isin(query, [q for q, (_, posted) in by_number.items() if posted.ascending])
        columns: dict[str, Any] = {
            "query": pa.array([by_number[q][0] for q in query.tolist()], pa.string()),
            "at": pa.array(at),
            "change": _CHANGES.take(pa.array(change)),
            "rank": pa.array(rank, mask=rank == 0),
            "previous_rank": pa.array(previous, mask=previous == 0),
            "score": pa.array(np.where(ascending, 0.0 - score, score)),
        }
        fields = self._empty().schema
        for name in fields.names[5:-1]:
            sources = {
                q: str(c.expression.column)
                for q, (_, posted) in by_number.items()
                for c in posted.query.select
                if c.name == name
            }
            columns[name] = pa.nulls(len(query), fields.field(name).type)
            for column in set(sources.values()):
                mine = np.isin(query, [q for q, source in sources.items() if source == column])
                values = kept.column(column).combine_chunks()
                columns[name] = pc.if_else(pa.array(mine), values, columns[name])
        return pa.table({name: columns[name] for name in fields.names}, schema=fields)

    def _empty(self) -> pa.Table:
        """The columns that every change has, and all that any query shows."""
        fields = [
            pa.field("query", pa.string()),
            pa.field("at", pa.int64()),
            pa.field("change", pa.string()),
            pa.field("rank", pa.int64()),
            pa.field("previous_rank", pa.int64()),
        ]
        seen: dict[str, pa.Field] = {}
        assert self._schema is not None
        for posted in self._posted.values():
            for selected in posted.query.select:
                kind = self._schema.field(str(selected.expression.column)).type
                seen.setdefault(selected.name, pa.field(selected.name, kind))
        return pa.schema([*fields, *seen.values(), ("score", pa.float64())]).empty_table()

    def top(self, name: str) -> pa.Table:
        """A query's answer now: rank, its columns, score."""
        if name not in self._posted:
            known = ", ".join(self._posted) or "none"
            raise PlanError(f"there is no query {name} on the board, but {known}")
        posted = self._posted[name]
        if self._standing is None or posted.number is None or self._kept is None:
            return pa.table({})
        numbers, scores = self._standing.top(posted.number)
        kept = self._kept.take(np.searchsorted(self._numbers, numbers))
        columns: dict[str, Any] = {"rank": pa.array(np.arange(1, len(numbers) + 1))}
        columns |= {c.name: kept.column(str(c.expression.column)) for c in posted.query.select}
        return pa.table(columns | {"score": 0.0 - scores if posted.ascending else scores})

    # -- state --------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The whole state, versioned and checked; ``Board(state=...)`` goes on from it."""
        numbers = {n: -1 if p.number is None else p.number for n, p in self._posted.items()}
        shown = {str(q): {"ids": ids, "scores": s} for q, (ids, s) in self._shown.items()}
        return pack(
            {
                "queries": {name: str(posted.query) for name, posted in self._posted.items()},
                "numbers": numbers,
                "columns": list(self._columns),
                "vector": self._vector,
                "standing": None if self._standing is None else self._standing.state(),
                "schema": None if self._schema is None else table_bytes(self._schema.empty_table()),
                "kept": None if self._kept is None else table_bytes(self._kept),
                "kept_numbers": self._numbers,
                "shown": shown,
                "rows_in": self.rows_in,
                "rows_set_aside": self.rows_set_aside,
            }
        )

    def _resume(self, state: bytes) -> None:
        known = unpack(state)
        with sound.reading(pa.ArrowException):
            for name, text in known["queries"].items():
                query = parse(text)
                number = known["numbers"][name]
                self._posted[name] = _Posted(query, _checked(query), None if number < 0 else number)
            self._columns, self._vector = tuple(known["columns"]), known["vector"]
            if known["standing"] is not None:
                self._standing = StandingQueries.from_state(known["standing"])
            if known["schema"] is not None:
                self._schema = table_from(known["schema"]).schema
            if known["kept"] is not None:
                self._kept = table_from(known["kept"])
            self._numbers = known["kept_numbers"]
            self._shown = {int(q): (v["ids"], v["scores"]) for q, v in known["shown"].items()}
            self.rows_in, self.rows_set_aside = known["rows_in"], known["rows_set_aside"]
            self._sound()

    def _sound(self) -> None:
        """Refuse what refers to records, columns or queries that are not there."""
        for count in (self.rows_in, self.rows_set_aside, self._vector):
            sound.like(count, 0, "counts")
        sound.like(self._numbers, np.empty(0, np.int64), "kept numbers")
        sound.within("kept numbers", self._numbers, 0, sound.FAR)
        sound.require((self._numbers[1:] > self._numbers[:-1]).all(), "kept numbers do not ascend")
        standing, kept = self._standing, self._kept
        sound.length("kept", self._numbers, of=0 if kept is None else kept.num_rows)
        if standing is None:
            sound.require(kept is None and not self._shown, "nobody stands for what is kept")
            return
        sound.within("kept numbers", self._numbers, 0, standing.seen)
        rankings = [posted.ranking for posted in self._posted.values()]
        sound.require(all(isinstance(name, str) for name in self._columns), "columns have no names")
        sound.require(standing.dimensions == (self._vector or len(self._columns)), "other columns")
        sound.require(not self._vector or len(self._columns) == 1, "vectors are of one column")
        sound.require(self._schema is not None and kept is not None, "records have no columns")
        for posted in self._posted.values():
            assert posted.number is not None and kept is not None
            window = posted.query.window.panes.width
            mine = (posted.number, self._preference(posted), posted.query.k, window)
            sound.require(standing.stands_for(*mine), "a query stands for another")
            names = {str(c.expression.column) for c in posted.query.select}
            sound.require(names <= set(kept.column_names), "kept records lack columns")
        assert self._schema is not None and kept is not None
        for field in kept.schema:
            known = field.name in self._schema.names
            fits = known and field.type == plain_type(self._schema.field(field.name).type)
            sound.require(fits, "kept records have other columns")
        sound.require(len(rankings) == len(standing), "queries stand that nobody posted")
        sound.require(np.isin(standing.ids(), self._numbers).all(), "records are missing")
        for number, (ids, scores) in self._shown.items():
            sound.length("shown", ids, scores)
            sound.like(ids, self._numbers[:0], "shown")
            sound.like(scores, np.empty(0), "shown")
            sound.require(np.isin(ids, self._numbers).all(), "shown records are missing")
            sound.require(number in {p.number for p in self._posted.values()}, "shown to nobody")


def _checked(query: Query) -> Ranking:
    """What the query ranks by, if it is one for a board."""
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
    for selected in query.select:
        if selected.expression.column is None:
            raise PlanError(f"{name} selects {selected.expression}: a board shows plain columns")
    term = query.order_by[0]
    ranking = ranking_of(term.expression)
    far = term.descending and ranking is not None and ranking.kind not in ("WEIGHTED_SUM", "COSINE")
    if ranking is None or far:
        raise PlanError(
            f"{name} ranks by {term}: a board knows DISTANCE, WEIGHTED_DISTANCE and HAVERSINE ASC,"
            " weighted sums of columns, and COSINE"
        )
    return ranking


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
    good = np.asarray(np.isfinite(points).all(axis=1))
    if len(points):
        good &= (points != 0).any(axis=1)
    return points, good


__all__ = ["Board"]
