"""A board of standing queries: hundreds of query texts on one stream, which come and go.

Each query ranks records by where they lie: ``DISTANCE``, ``WEIGHTED_DISTANCE`` or ``HAVERSINE`` to
a point, a weighted sum of columns, or ``COSINE`` to a vector, over ``[ROWS n]``, and emits its
changes. They share one buffer of recent records, one time order and a grid, so that a record meets
only the queries that it can matter to; see ``certain.standing``. A query sees the records after its
``add``.

Ties go to the later record. All queries read columns of the same stream. The columns that place a
record are those of the queries on the board when the first records come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crestline.certain.standing import StandingQueries
from crestline.core import sound
from crestline.core.errors import PlanError, SourceError
from crestline.core.order import oriented
from crestline.core.snapshots import Snapshots
from crestline.core.state import pack, unpack
from crestline.core.tables import REJECTS, plain_type, reject_table, table_bytes, table_from
from crestline.language import Query, parse
from crestline.local.posted import Posted, Space
from crestline.runtime.conforming import Misfit, Uses, conformed, widened
from crestline.runtime.fitting import CandidateMisfit, joined, retyped
from crestline.runtime.rows import ChangeLog, change_columns
from crestline.sources import source
from crestline.types import Bools, Floats, Ints

#: Recent records that all queries share, unless a window is too short for so many.
_BUFFER = 2000


class Board:
    """Standing queries by name: ``add``, ``remove``, ``push`` records, get the changes.

    Parameters:
        queries: Queries to begin with.
        algorithm: The algorithm that answers them.
        low: The lower corner of the space (None: that of the first records).
        high: The upper corner.
        resolution: Cells of the grid in each dimension (None: chosen, 1: no grid).
        buffer: Recent records that are kept (None: 2,000, or half of the shortest window).
        state: What ``snapshot()`` returned, of a board with the same settings.
    """

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
        self._settings: dict[str, Any] = {
            "algorithm": algorithm, "low": low, "high": high, "resolution": resolution,
            "buffer": buffer,
        }  # fmt: skip
        self._posted: dict[str, Posted] = {}
        self._standing: StandingQueries | None = None
        self._space = Space()
        self._schema: pa.Schema | None = None
        #: Selected columns of the records that may be reported again, and their numbers, ascending.
        self._kept: pa.Table | None = None
        self._numbers = np.empty(0, np.int64)
        #: What each query shows, by its position on the board: rows of ``_kept`` with scores.
        self._log = ChangeLog(changing=1)
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
        posted = Posted.of(parsed)
        if self._posted and parsed.stream != self._stream:
            raise PlanError(
                f"the board watches {self._stream}, the query reads {parsed.stream}: use a board"
                " for each stream"
            )
        if self._standing is not None:
            posted = posted.standing(self._standing, self._space)
        self._posted[name] = posted
        return name

    def remove(self, name: str) -> None:
        """Take a query off the board."""
        posted = self._of(name)
        if self._standing is not None and posted.number is not None:
            self._standing.remove(posted.number)
        position = list(self._posted).index(name)
        self._log.keep_partitions(np.delete(np.arange(len(self)), position))
        del self._posted[name]

    def _of(self, name: str) -> Posted:
        if name not in self._posted:
            names = ", ".join(self._posted) or "none"
            raise PlanError(f"there is no query {name} on the board, but {names}")
        return self._posted[name]

    @property
    def names(self) -> list[str]:
        """The queries on the board."""
        return list(self._posted)

    def __len__(self) -> int:
        return len(self._posted)

    @property
    def _stream(self) -> str:
        return next(iter(self._posted.values())).query.stream

    @property
    def _query_numbers(self) -> list[int]:
        """The numbers of the queries among the standing ones, ascending; -1 before they stand."""
        return [-1 if p.number is None else p.number for p in self._posted.values()]

    # -- records ------------------------------------------------------------------------------

    def push(self, data: Any) -> pa.Table:
        """Take records in (whatever ``crestline.run`` takes as a stream) and return the changes of
        all queries, record by record."""
        if not self._posted:
            raise PlanError("there is no query on the board: add one before records are pushed")
        if isinstance(data, dict):
            data = [data]
        columns = [] if self._schema is None else self._needed(self._schema)
        opened = source(data, self._stream, columns)
        if self._schema is None:
            self._schema = opened.schema
        tables = [
            self._take(pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch)
            for batch in opened.read(self._needed(opened.schema))
        ]
        return joined(self._result_schema(), tables)

    def _needed(self, schema: pa.Schema) -> list[str]:
        """The columns that the queries read; SourceError if the stream lacks one."""
        needed: dict[str, None] = {}
        for posted in self._posted.values():
            needed |= dict.fromkeys((*posted.ranking.columns, *posted.selected.values()))
        for name in needed:
            if name not in schema.names:
                raise SourceError(
                    f"stream {self._stream!r} has no column {name!r}: it has"
                    f" {', '.join(schema.names)}"
                )
        return list(needed)

    def _take(self, table: pa.Table) -> pa.Table:
        if self._standing is None:
            self._space = Space.of(self._posted.values())
        table, misfits = self._fitted(table)
        points, passes = self._space.points(table)
        fits = np.ones(table.num_rows, np.bool_)
        for misfit in misfits:
            self._reject(misfit.which & fits, misfit.column, misfit.reason)
            fits &= ~misfit.which
        columns, reason = ", ".join(self._space.columns), "no place: NULL, NaN or infinite"
        self._reject(fits & ~passes, columns, reason)
        self.rows_in += table.num_rows
        indices = np.flatnonzero(fits & passes)
        if self._standing is None:
            self._begin(points[indices])
        standing = self._standing
        assert standing is not None
        first = standing.seen
        snapshots = standing.observe(points[indices])
        self._remember(table.take(indices), first, snapshots.id, standing.ids())
        return self._changes(snapshots)

    def _fitted(self, table: pa.Table) -> tuple[pa.Table, list[Misfit]]:
        """The records in the types of the board's columns, which widen where they can."""
        assert self._schema is not None
        uses = Uses(frozenset(self._space.columns), frozenset(), frozenset())
        for name in table.column_names:
            wide = widened(self._schema, table.schema, [name], uses)
            try:
                if self._kept is not None:
                    self._kept = retyped(self._kept, wide)
                self._schema = wide
            except CandidateMisfit:
                pass  # the column keeps its type, and values that do not fit are rejected
        return conformed(table, self._schema, table.column_names, uses)

    def _begin(self, points: Floats) -> None:
        """Let the queries stand, in a space around the first records."""
        settings = dict(self._settings)
        shortest = min(posted.window for posted in self._posted.values())
        if settings["buffer"] is None:
            settings["buffer"] = max(1, min(_BUFFER, (shortest + 1) // 2))
        for name, corner, default in (("low", np.min, 0.0), ("high", np.max, 1.0)):
            if settings[name] is None:
                settings[name] = corner(points, axis=0) if len(points) else default
        low, high = (np.asarray(settings[name], np.float64) for name in ("low", "high"))
        flat = ~(high > low)  # all records at one place: any corners around it will do
        settings["low"] = np.where(flat, np.minimum(low, 0.0) - 1.0, low)
        settings["high"] = np.where(flat, np.maximum(low, 0.0) + 1.0, high)
        standing = StandingQueries(self._space.dimensions, **settings)
        self._posted = {
            name: posted.standing(standing, self._space) for name, posted in self._posted.items()
        }
        self._standing = standing

    def _reject(self, fails: Bools, column: str, reason: str) -> None:
        rows = np.flatnonzero(fails)
        if len(rows):
            self.rows_set_aside += len(rows)
            values = pa.nulls(len(rows), pa.string())
            rows = self.rows_in + rows
            self._rejects.append(reject_table(self._stream, rows, column, reason, values))

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

    def _remember(self, table: pa.Table, first: int, reported: Ints, standing: Ints) -> None:
        """Keep the columns of records that are reported now or may be later, and no others."""
        selected = (name for p in self._posted.values() for name in p.selected.values())
        table = table.select(list(dict.fromkeys(selected)))
        numbers = np.arange(first, first + table.num_rows)
        needed = np.unique(np.concatenate([standing, reported, self._numbers[self._log.shown]]))
        new, old = np.isin(numbers, needed), np.isin(self._numbers, needed)
        fresh = table.filter(pa.array(new))
        if self._kept is not None:
            pieces = [self._kept.filter(pa.array(old)), fresh]
            fresh = pa.concat_tables(pieces, promote_options="permissive")
        self._kept = fresh.combine_chunks()
        self._numbers = np.concatenate((self._numbers[old], numbers[new]))
        self._log.rename(np.cumsum(old) - 1)

    def _changes(self, snapshots: Snapshots) -> pa.Table:
        if len(snapshots) == 0:
            return self._result_schema().empty_table()
        snapshots = replace(
            snapshots,
            partition=np.searchsorted(self._query_numbers, snapshots.partition),
            id=np.searchsorted(self._numbers, snapshots.id),
            probability=snapshots.score,  # the number that the log carries with each record
        )
        changes = self._log.changes(snapshots, len(self), len(self._numbers))
        assert changes.numbers is not None
        moment, query, change, rank, previous, _ = changes.table
        order = np.lexsort((np.where(change == 0, previous, rank), change != 0, query, moment))
        return self._rows(changes.table[:, order], changes.numbers[0, order])

    def _rows(self, changes: Ints, score: Floats) -> pa.Table:
        assert self._kept is not None
        moment, query, change, rank, previous, id = changes
        names, posted = list(self._posted), list(self._posted.values())
        kept = self._kept.take(id)
        descending = np.array([each.query.descending for each in posted])[query]
        columns: dict[str, Any] = change_columns(change, rank, previous) | {
            "query": pa.array(names, pa.string()).take(pa.array(query)),
            "at": pa.array(moment),
            "score": pa.array(oriented(score, descending)),
        }
        schema = self._result_schema()
        for name in schema.names[5:-1]:
            columns[name] = pa.nulls(len(query), schema.field(name).type)
            sources = [each.selected.get(name) for each in posted]
            for column in {each for each in sources if each is not None}:
                selects = np.array([each == column for each in sources])[query]
                values = kept.column(column).combine_chunks()
                columns[name] = pc.if_else(pa.array(selects), values, columns[name])
        return pa.table({name: columns[name] for name in schema.names}, schema=schema)

    def _result_schema(self) -> pa.Schema:
        """The columns of every change, and all that any query selects."""
        assert self._schema is not None
        fields: dict[str, pa.DataType] = {
            "query": pa.string(), "at": pa.int64(), "change": pa.string(), "rank": pa.int64(),
            "previous_rank": pa.int64(),
        }  # fmt: skip
        for posted in self._posted.values():
            for name, column in posted.selected.items():
                fields.setdefault(name, self._schema.field(column).type)
        return pa.schema([*fields.items(), ("score", pa.float64())])

    def top(self, name: str) -> pa.Table:
        """A query's answer now: rank, its columns, score."""
        posted = self._of(name)
        if self._standing is None or posted.number is None or self._kept is None:
            return pa.table({})
        numbers, scores = self._standing.top(posted.number)
        kept = self._kept.take(np.searchsorted(self._numbers, numbers))
        columns: dict[str, Any] = {"rank": pa.array(np.arange(1, len(numbers) + 1))}
        columns |= {name: kept.column(column) for name, column in posted.selected.items()}
        return pa.table(columns | {"score": oriented(scores, posted.query.descending)})

    # -- state --------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The whole state, versioned and checked; ``Board(state=...)`` goes on from it."""
        return pack(
            {
                "queries": {name: str(posted.query) for name, posted in self._posted.items()},
                "numbers": dict(zip(self._posted, self._query_numbers, strict=True)),
                "columns": list(self._space.columns),
                "vector": self._space.vector,
                "standing": None if self._standing is None else self._standing.state(),
                "schema": None if self._schema is None else table_bytes(self._schema.empty_table()),
                "kept": None if self._kept is None else table_bytes(self._kept),
                "kept_numbers": self._numbers,
                "log": self._log.state(),
                "rows_in": self.rows_in,
                "rows_set_aside": self.rows_set_aside,
            }
        )

    def _resume(self, data: bytes) -> None:
        state = unpack(data)
        with sound.reading(pa.ArrowException):
            for name, text in state["queries"].items():
                number = state["numbers"][name]
                self._posted[name] = Posted.of(parse(text), None if number < 0 else number)
            self._space = Space(tuple(state["columns"]), state["vector"])
            if state["standing"] is not None:
                self._standing = StandingQueries.from_state(state["standing"])
            if state["schema"] is not None:
                self._schema = table_from(state["schema"]).schema
            if state["kept"] is not None:
                self._kept = table_from(state["kept"])
            self._numbers = state["kept_numbers"]
            self._log.restore(state["log"])
            self.rows_in, self.rows_set_aside = state["rows_in"], state["rows_set_aside"]
            self._check()

    def _check(self) -> None:
        """Refuse a state that refers to records, columns or queries that are not in it."""
        for count in (self.rows_in, self.rows_set_aside, self._space.vector):
            sound.like(count, 0, "counts")
        sound.like(self._numbers, np.empty(0, np.int64), "kept numbers")
        sound.within("kept numbers", self._numbers, 0, sound.FAR)
        sound.require((self._numbers[1:] > self._numbers[:-1]).all(), "kept numbers do not ascend")
        standing, kept, space = self._standing, self._kept, self._space
        sound.length("kept", self._numbers, of=0 if kept is None else kept.num_rows)
        self._log.check(len(self), len(self._numbers))
        if standing is None:
            sound.require(kept is None, "nobody stands for what is kept")
            return
        sound.within("kept numbers", self._numbers, 0, standing.seen)
        sound.require(all(isinstance(name, str) for name in space.columns), "columns have no names")
        sound.require(standing.dimensions == space.dimensions, "other columns")
        sound.require(not space.vector or len(space.columns) == 1, "vectors are of one column")
        sound.require(self._schema is not None and kept is not None, "records have no columns")
        assert self._schema is not None and kept is not None
        numbers = self._query_numbers
        sound.require(numbers == sorted(numbers), "queries stand in another order")
        for number, posted in zip(numbers, self._posted.values(), strict=True):
            query = (number, space.preference(posted), posted.query.k, posted.window)
            sound.require(standing.stands_for(*query), "a query stands for another")
            names = set(posted.selected.values())
            sound.require(names <= set(kept.column_names), "kept records lack columns")
        dtypes = {field.name: plain_type(field.type) for field in self._schema}
        fits = all(dtypes.get(field.name) == field.type for field in kept.schema)
        sound.require(fits, "kept records have other columns")
        sound.require(len(self) == len(standing), "queries stand that nobody posted")
        sound.require(np.isin(standing.ids(), self._numbers).all(), "records are missing")


__all__ = ["Board"]
