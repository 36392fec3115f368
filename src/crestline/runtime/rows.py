"""Result rows as users see them, built from the snapshots of an operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.order import oriented
from crestline.core.snapshots import Snapshots, regrouped
from crestline.core.tables import plain_type
from crestline.core.window import RangeWindow, RowsWindow, Window, counts_rows
from crestline.kernels.common.changes import diff_snapshots, diff_uncertain_snapshots
from crestline.language import Query
from crestline.runtime.partitions import Partitions
from crestline.runtime.roles import Number, Role, partition_role, selected_role
from crestline.types import Bools, Floats, Ints

_MOMENT = pa.timestamp("us", "UTC")
_CHANGES = pa.array(["leave", "move", "enter"])
#: The width of a window from which nothing expires.
_UNBOUNDED = -1


class RowBuilder:
    """Builds the result tables of one query, or of several that differ only in k, in their windows
    and in what they emit."""

    def __init__(
        self, queries: Mapping[str, Query], columns: pa.Schema, *, shard: bool = False,
        own_scores: bool = False,
    ) -> None:  # fmt: skip
        """The rows of a ``shard`` have columns to merge them by: see ``runtime.shards``. With
        ``own_scores`` a record has another score for each query."""
        query = next(iter(queries.values()))
        self._query, self._own_scores = query, own_scores
        self.set_queries(list(queries.items()))
        self._counted = counts_rows(query.window)
        self._end_type = pa.int64() if self._counted else _MOMENT
        self.partition_schema = pa.schema(
            [
                (item.name, plain_type(columns.field(partition_role(i)).type))
                for i, item in enumerate(query.partition_by)
            ]
        )
        partitioned = {item.name for item in query.partition_by}
        self._selected = {
            item.name: selected_role(i)
            for i, item in enumerate(query.select)
            if item.name not in partitioned
        }
        selected = [
            (name, plain_type(columns.field(role).type)) for name, role in self._selected.items()
        ]
        tail = [("score", pa.float64())]
        if query.probability is not None:
            tail.append(("probability", pa.float64()))
        if query.combine is not None:
            tail += [("upper", pa.float64()), ("certain", pa.bool_())]
        if shard:
            tail += [
                ("\0object", plain_type(columns.field(Role.OBJECT).type)),
                ("\0latest", pa.int64()),
            ]
            tail.append(("\0rival", pa.float64()))
        if query.late == "REVISE":
            tail.append(("revision", pa.int64()))
        head = [
            ("query", pa.string()),
            ("window_start", self._end_type),
            ("window_end", self._end_type),
        ]
        ranks = [("rank", pa.int64())]
        end = [*selected, *tail]
        self._snapshots = pa.schema([*head, *self.partition_schema, *ranks, *end])
        head = [("query", pa.string()), ("at", self._end_type)]
        ranks = [("change", pa.string()), ("rank", pa.int64()), ("previous_rank", pa.int64())]
        self._changes = pa.schema([*head, *self.partition_schema, *ranks, *end])

    def set_queries(self, queries: Sequence[tuple[str, Query] | None]) -> None:
        """Set the queries by their numbers; None stands for one that was removed."""
        self._names = ["" if named is None else named[0] for named in queries]
        widths = [0 if named is None else _width(named[1].window) for named in queries]
        self._width = np.array(widths, np.int64)
        self._descending = np.array([named is None or named[1].descending for named in queries])

    def schema(self, emit: str) -> pa.Schema:
        """The schema of all tables of SNAPSHOTS, or of CHANGES and ENTRIES."""
        return self._snapshots if emit == "SNAPSHOTS" else self._changes

    def snapshots(
        self, reported: Snapshots, kept: pa.Table, partitions: Partitions, revision: Ints | None
    ) -> tuple[pa.Table, Ints | None]:
        """One row for each record of each snapshot, by window end, partition values and rank.

        Where several queries share an operator, also the query of each row. The rows of a query are
        consecutive.
        """
        order = None
        if len(partitions) > 1:
            keys = [partitions.order()[reported.partition], reported.end]
            order = np.lexsort(keys if reported.query is None else [*keys, reported.query])
            reported = reported.ordered(order)
        count = np.diff(reported.offset)
        end = np.repeat(reported.end, count)
        rank = np.arange(1, len(end) + 1) - np.repeat(reported.offset[:-1], count)
        query = None if reported.query is None else np.repeat(reported.query, count)
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            "query": self._query_column(query, len(end)),
            "window_start": self._starts(end, query),
            "window_end": pa.array(end).cast(self._end_type),
            "rank": pa.array(rank),
        }
        columns |= self._values(np.repeat(reported.partition, count), reported.id, kept, partitions)
        if self._own_scores:
            columns["score"] = self._scores(reported.score, query)
        if reported.bounds is not None:
            columns["score"] = pa.array(reported.score)
            columns["upper"] = pa.array(reported.bounds.upper)
            columns["certain"] = pa.array(reported.bounds.certain)
            if "\0object" in self._snapshots.names:
                columns["\0object"] = kept.column(Role.OBJECT).take(pa.array(reported.id))
                columns["\0latest"] = pa.array(reported.bounds.latest)
                columns["\0rival"] = pa.array(reported.bounds.rival)
        if reported.probability is not None:
            columns["probability"] = pa.array(reported.probability)
        if self._query.late == "REVISE":
            of_snapshot = np.zeros(len(reported), np.int64) if revision is None else revision
            if order is not None:
                of_snapshot = of_snapshot[order]
            columns["revision"] = pa.array(np.repeat(of_snapshot, count))
        schema = self._snapshots
        return pa.table({name: columns[name] for name in schema.names}, schema=schema), query

    def changes(
        self, changes: Changes, kept: pa.Table, partitions: Partitions
    ) -> tuple[pa.Table, Ints]:
        """One row for each change, with its query: by query, leaves first, then by the new rank."""
        end, viewer, change, rank, previous, id = changes.table
        query, partition = viewer, np.zeros(len(viewer), np.int64)
        if len(partitions) > 1:
            query, partition = viewer % changes.queries, viewer // changes.queries
        numbers = changes.numbers
        if len(partitions) > 1 or numbers is not None:  # else they are in this order already
            by_place = np.where(change == 0, previous, rank)
            group = partitions.order()[partition] if len(partitions) > 1 else partition
            order = np.lexsort((by_place, change != 0, group, end, query))
            query, end, partition, change, rank, previous, id = (
                column[order] for column in (query, end, partition, change, rank, previous, id)
            )
            numbers = None if numbers is None else numbers[:, order]
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            "query": self._query_column(query if changes.queries > 1 else None, len(end)),
            "at": pa.array(end).cast(self._end_type),
        }
        columns |= change_columns(change, rank, previous)
        columns |= self._values(partition, id, kept, partitions)
        if numbers is not None and self._own_scores:
            columns["score"] = self._scores(numbers[0], query)
        elif numbers is not None and len(numbers) == 1:
            columns["probability"] = pa.array(numbers[0])
        elif numbers is not None:
            columns["score"], columns["upper"] = pa.array(numbers[0]), pa.array(numbers[1])
            columns["certain"] = pa.array(numbers[2] > 0)
        schema = self._changes
        return pa.table({name: columns[name] for name in schema.names}, schema=schema), query

    def _query_column(self, query: Ints | None, count: int) -> pa.Array | pa.ChunkedArray:
        if query is None:
            return pa.repeat(self._names[0], count)
        # The rows of a query are consecutive: repeating its name is far quicker than looking it up.
        cuts = [0, *(np.flatnonzero(np.diff(query)) + 1).tolist(), count]
        pieces = [
            pa.repeat(self._names[query[start]], stop - start)
            for start, stop in zip(cuts, cuts[1:], strict=False)
            if stop > start
        ]
        return pa.chunked_array(pieces, pa.string())

    def _values(
        self, partition: Ints, id: Ints, kept: pa.Table, partitions: Partitions
    ) -> dict[str, pa.Array | pa.ChunkedArray]:
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        if len(self.partition_schema):
            for name, column in zip(
                self.partition_schema.names, partitions.table().columns, strict=True
            ):
                columns[name] = column.take(partition)
        for name, role in self._selected.items():
            columns[name] = kept.column(role).take(id)
        score = np.asarray(kept.column(Number.SCORE).to_numpy())[id]
        columns["score"] = pa.array(oriented(score, self._query.descending))
        return columns

    def _scores(self, score: Floats, query: Ints | None) -> pa.Array:
        """The scores that queries of these numbers gave, as they show them."""
        assert query is not None
        return pa.array(oriented(score, self._descending[query]))

    def _starts(self, end: Ints, query: Ints | None) -> pa.Array:
        width = self._width[0] if query is None else self._width[query]
        unbounded = np.broadcast_to(width == _UNBOUNDED, len(end))
        if self._counted:
            return pa.array(np.where(unbounded, 0, np.maximum(end - width, 0)))
        return pa.array(end - width, mask=unbounded).cast(self._end_type)


def change_columns(change: Ints, rank: Ints, previous: Ints) -> dict[str, pa.Array]:
    """The columns of changes: what changed, the new rank and the one before (0: NULL)."""
    return {
        "change": _CHANGES.take(pa.array(change)),
        "rank": pa.array(rank, mask=rank == 0),
        "previous_rank": pa.array(previous, mask=previous == 0),
    }


def _width(window: Window) -> int:
    if isinstance(window, RowsWindow):
        return window.rows
    return window.width if isinstance(window, RangeWindow) else _UNBOUNDED


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes as columns of (end, viewer, change, rank, previous rank, id), with the numbers that
    may change while a record is shown. A viewer is ``partition * queries + query``."""

    table: Ints
    queries: int
    numbers: Floats | None = None


class ChangeLog:
    """The latest snapshot of each partition and query, and the changes since.

    ``changing`` is how many numbers of a record the log holds: 1 for a probability, or for the
    score where each query has its own, 3 for an object (score, upper bound and whether it is
    certain).
    """

    def __init__(self, *, changing: int = 0, queries: int = 1) -> None:
        self.queries = queries
        self._from = np.zeros(1, np.int64)
        self.shown = np.empty(0, np.int64)
        self._numbers = np.empty((changing, 0)) if changing else None

    def changes(self, reported: Snapshots, partitions: int, ids: int) -> Changes:
        """The changes to these snapshots. A record that leaves has the numbers that it showed."""
        more = partitions * self.queries + 1 - len(self._from)
        if more > 0:
            self._from = np.concatenate((self._from, np.full(more, self._from[-1])))
        if reported.query is not None:
            viewer = reported.partition * self.queries + reported.query
            reported = replace(reported, partition=viewer)
        reported = reported.ordered(np.lexsort((reported.end, reported.partition)))
        if self._numbers is not None:
            return self._changing_numbers(reported, self._numbers, ids)
        table, self._from, self.shown = diff_snapshots(
            self._from,
            self.shown,
            reported.partition,
            reported.end,
            reported.offset,
            reported.id,
            np.zeros(ids, np.int64),
        )
        return Changes(table, self.queries)

    def _changing_numbers(self, reported: Snapshots, shown: Floats, ids: int) -> Changes:
        id = np.concatenate((self.shown, reported.id))
        numbers = np.concatenate((shown, numbers_of(reported, len(shown))), axis=1)
        code = numbers[0]
        if len(numbers) > 1:  # one code for each combination
            code = np.unique(numbers, axis=1, return_inverse=True)[1].ravel().astype(np.float64)
        table, self._from, entries = diff_uncertain_snapshots(
            self._from,
            reported.partition,
            reported.end,
            reported.offset + len(self.shown),
            id,
            code,
            np.zeros(ids, np.int64),
        )
        self.shown, self._numbers = id[entries], numbers[:, entries]
        changed = table[5].copy()
        table[5] = id[changed]
        return Changes(table, self.queries, numbers[:, changed])

    def ask_for(self, queries: int) -> None:
        """Make room for so many queries. The new ones have been shown nothing."""
        count = np.diff(self._from).reshape(-1, self.queries)
        more = np.zeros((len(count), queries - self.queries), np.int64)
        every = np.concatenate((count, more), axis=1).ravel()
        self._from = np.concatenate(([0], np.cumsum(every)))
        self.queries = queries

    def forget(self, query: int) -> None:
        """Forget what a removed query was shown."""
        count = np.diff(self._from)
        removed = np.arange(len(count)) % self.queries == query
        kept = np.repeat(~removed, count)
        self.shown = self.shown[kept]
        if self._numbers is not None:
            self._numbers = self._numbers[:, kept]
        self._from = np.concatenate(([0], np.cumsum(np.where(removed, 0, count))))

    def rename(self, new_ids: Ints) -> None:
        self.shown = new_ids[self.shown]

    def showing(self, partitions: int) -> Bools:
        """Which partitions show anything."""
        shows = np.zeros(partitions, np.bool_)
        by_query = (np.diff(self._from) > 0).reshape(-1, self.queries)
        shows[: len(by_query)] = by_query.any(axis=1)
        return shows

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these, with what they show."""
        kept = kept[kept < (len(self._from) - 1) // self.queries]
        groups = (kept[:, None] * self.queries + np.arange(self.queries)).ravel()
        self._from, rows = regrouped(self._from, groups)
        self.shown = self.shown[rows]
        if self._numbers is not None:
            self._numbers = self._numbers[:, rows]

    def state(self) -> dict[str, Any]:
        state = {"from": self._from, "shown": self.shown}
        return state if self._numbers is None else state | {"numbers": self._numbers}

    def restore(self, state: dict[str, Any]) -> None:
        sound.like(state, self.state(), "log")
        if self._numbers is not None:
            fits = len(state["numbers"]) == len(self._numbers)
            sound.require(fits, "log.numbers are others")
        self._from, self.shown = state["from"], state["shown"]
        self._numbers = state.get("numbers")

    def check(self, partitions: int, ids: int) -> None:
        """Refuse a log of partitions or records that are not there."""
        viewers = len(self._from) - 1
        sound.require(viewers % self.queries == 0, "log: some queries are missing")
        sound.require(viewers <= partitions * self.queries, "log: partitions without values")
        sound.offsets("log.from", self._from, viewers, len(self.shown))
        sound.within("log.shown", self.shown, 0, ids)
        if self._numbers is not None:
            fits = self._numbers.shape[1] == len(self.shown)
            sound.require(fits, "log.numbers are not of the records shown")


def numbers_of(reported: Snapshots, count: int) -> Floats:
    """The numbers of reported records that may change while they are shown."""
    view = reported.bounds
    if view is not None:
        return np.stack((reported.score, view.upper, view.certain.astype(np.float64)))
    if reported.probability is not None:
        return reported.probability[None, :]
    if len(reported):
        return reported.score[None, :]
    return np.empty((count, 0))  # nothing at all is reported
