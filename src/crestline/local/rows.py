"""Result rows as users see them, from what an operator reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crestline.core.operator import Reported
from crestline.core.window import RangeWindow, RowsWindow, counts_rows
from crestline.kernels.changes import diff_snapshots, diff_uncertain_snapshots
from crestline.language import Query
from crestline.local.partitions import Partitions, plain_type
from crestline.types import Bools, Floats, Ints

_MOMENT = pa.timestamp("us", "UTC")
_CHANGES = pa.array(["leave", "move", "enter"])


class RowBuilder:
    """Builds the tables of one query's results; all have ``schema``."""

    def __init__(self, query: Query, name: str, columns: pa.Schema) -> None:
        self._query, self._name = query, name
        self._counted = counts_rows(query.window)
        self._at = pa.int64() if self._counted else _MOMENT
        self.partition_schema = pa.schema(
            [
                (item.name, plain_type(columns.field(f"p{i}").type))
                for i, item in enumerate(query.partition_by)
            ]
        )
        partitioned = {item.name for item in query.partition_by}
        self._selected = {
            item.name: f"c{i}"
            for i, item in enumerate(query.select)
            if item.name not in partitioned
        }
        selected = [
            (name, plain_type(columns.field(role).type)) for name, role in self._selected.items()
        ]
        head = [("query", pa.string())]
        if query.emit == "CHANGES":
            head.append(("at", self._at))
            ranks = [
                ("change", pa.string()),
                ("rank", pa.int64()),
                ("previous_rank", pa.int64()),
            ]
        else:
            head += [("window_start", self._at), ("window_end", self._at)]
            ranks = [("rank", pa.int64())]
        tail = [("score", pa.float64())]
        if query.probability is not None:
            tail.append(("probability", pa.float64()))
        if query.late == "REVISE":
            tail.append(("revision", pa.int64()))
        self.schema = pa.schema([*head, *self.partition_schema, *ranks, *selected, *tail])

    def snapshots(
        self, reported: Reported, kept: pa.Table, partitions: Partitions, revision: Ints | None
    ) -> pa.Table:
        """One row a record of each snapshot, by window end, partition values and rank."""
        order = None
        if len(partitions) > 1:
            order = np.lexsort((partitions.order()[reported.partition], reported.end))
        if order is not None:
            reported = reported.ordered(order)
        count = np.diff(reported.offset)
        end = np.repeat(reported.end, count)
        rank = np.arange(1, len(end) + 1) - np.repeat(reported.offset[:-1], count)
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            "query": pa.repeat(self._name, len(end)),
            "window_start": self._starts(end),
            "window_end": pa.array(end).cast(self._at),
            "rank": pa.array(rank),
        }
        columns |= self._values(np.repeat(reported.partition, count), reported.id, kept, partitions)
        if reported.probability is not None:
            columns["probability"] = pa.array(reported.probability)
        if self._query.late == "REVISE":
            of_snapshot = np.zeros(len(reported), np.int64) if revision is None else revision
            if order is not None:
                of_snapshot = of_snapshot[order]
            columns["revision"] = pa.array(np.repeat(of_snapshot, count))
        return pa.table({name: columns[name] for name in self.schema.names}, schema=self.schema)

    def changes(
        self, table: Ints, probability: Floats | None, kept: pa.Table, partitions: Partitions
    ) -> pa.Table:
        """One row a change (see ``ChangeLog``): leaves first, then by the new rank."""
        at, partition, change, rank, previous, id = table.reshape(-1, 6).T
        by_place = np.where(change == 0, previous, rank)
        group = partitions.order()[partition] if len(partitions) > 1 else partition
        order = np.lexsort((by_place, change != 0, group, at))
        at, partition, change, rank, previous, id = (
            column[order] for column in (at, partition, change, rank, previous, id)
        )
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            "query": pa.repeat(self._name, len(at)),
            "at": pa.array(at).cast(self._at),
            "change": _CHANGES.take(pa.array(change)),
            "rank": pa.array(rank, mask=rank == 0),
            "previous_rank": pa.array(previous, mask=previous == 0),
        }
        if probability is not None:
            columns["probability"] = pa.array(probability[order])
        columns |= self._values(partition, id, kept, partitions)
        return pa.table({name: columns[name] for name in self.schema.names}, schema=self.schema)

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
        score = np.asarray(kept.column("_score").to_numpy())[id]
        descending = self._query.order_by[0].descending
        columns["score"] = pa.array(score if descending else 0.0 - score)
        return columns

    def _starts(self, end: Ints) -> pa.Array:
        window = self._query.window
        if isinstance(window, RowsWindow):
            return pa.array(np.maximum(end - window.rows, 0))
        if isinstance(window, RangeWindow):
            return pa.array(end - window.width).cast(self._at)
        if self._counted:
            return pa.array(np.zeros(len(end), np.int64))
        return pa.nulls(len(end), _MOMENT)


class ChangeLog:
    """What each partition showed last, and the changes from there."""

    def __init__(self, *, uncertain: bool = False) -> None:
        self._from = np.zeros(1, np.int64)
        self.shown = np.empty(0, np.int64)
        self._probability = np.empty(0) if uncertain else None

    def changes(self, reported: Reported, partitions: int, ids: int) -> tuple[Ints, Floats | None]:
        """The changes that the snapshots bring, flat, as rows of (at, partition, change, rank,
        previous rank, id), and of an uncertain stream the probabilities: a record that leaves has
        the one that it showed."""
        more = partitions + 1 - len(self._from)
        if more > 0:
            self._from = np.concatenate((self._from, np.full(more, self._from[-1])))
        reported = reported.ordered(np.lexsort((reported.end, reported.partition)))
        if self._probability is not None:
            return self._uncertain_changes(reported, self._probability, ids)
        table, self._from, self.shown = diff_snapshots(
            self._from,
            self.shown,
            reported.partition,
            reported.end,
            reported.offset,
            reported.id,
            np.zeros(ids, np.int64),
        )
        return table, None

    def _uncertain_changes(
        self, reported: Reported, shown: Floats, ids: int
    ) -> tuple[Ints, Floats]:
        id = np.concatenate((self.shown, reported.id))
        # Where nothing at all is reported, nothing is said of probabilities either.
        told = np.empty(0) if reported.probability is None else reported.probability
        probability = np.concatenate((shown, told))
        table, self._from, entries = diff_uncertain_snapshots(
            self._from,
            reported.partition,
            reported.end,
            reported.offset + len(self.shown),
            id,
            probability,
            np.zeros(ids, np.int64),
        )
        self.shown, self._probability = id[entries], probability[entries]
        changed = table[5::6].copy()
        table[5::6] = id[changed]
        return table, probability[changed]

    def rename(self, places: Ints) -> None:
        self.shown = places[self.shown]

    def showing(self, partitions: int) -> Bools:
        """Which partitions show anything."""
        shows = np.zeros(partitions, np.bool_)
        shows[: len(self._from) - 1] = np.diff(self._from) > 0
        return shows

    def keep_partitions(self, kept: Ints) -> None:
        """Forget all partitions but these; the others must not show anything."""
        known = kept[kept < len(self._from) - 1]
        self._from = np.concatenate(([0], np.cumsum(np.diff(self._from)[known])))

    def state(self) -> dict[str, Any]:
        known = {"from": self._from, "shown": self.shown}
        return known if self._probability is None else known | {"probability": self._probability}

    def restore(self, state: dict[str, Any]) -> None:
        self._from, self.shown = state["from"], state["shown"]
        self._probability = state.get("probability")
