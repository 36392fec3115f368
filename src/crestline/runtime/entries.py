"""EMIT ENTRIES: each record once, when it first becomes one of the k.

This is the result stream of Pripužić et al., Definition 3.6. A record that has left the top k may
come back while it is in the window, when better ones expire. So it is remembered of each kept
record whether it was reported. A record that the operator has forgotten cannot come back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.snapshots import Snapshots
from crestline.kernels.common.changes import ENTER
from crestline.runtime.rows import Changes, numbers_of
from crestline.types import Bools, Ints


class EntryLog:
    """Which of the kept records each query has reported.

    ``changing`` is how many numbers of a record may change while it is shown, as in ``ChangeLog``.
    """

    def __init__(self, *, changing: int = 0, queries: int = 1) -> None:
        self._changing = changing
        #: By query and id; ids beyond the last column are of records that no query has reported.
        self._reported: Bools = np.zeros((queries, 0), np.bool_)

    @property
    def queries(self) -> int:
        return len(self._reported)

    def entries(self, snapshots: Snapshots, ids: int) -> Changes:
        """The first ``enter`` of each record in these snapshots, by query and end. There are
        ``ids`` records."""
        self._make_room(self.queries, ids)
        query = np.zeros(len(snapshots), np.int64) if snapshots.query is None else snapshots.query
        order = np.lexsort((snapshots.end, query))
        snapshots, query = snapshots.ordered(order), query[order]
        count = np.diff(snapshots.offset)
        record = np.repeat(query * ids, count) + snapshots.id
        row = np.arange(len(record))
        first = np.zeros(self.queries * ids, np.int64)
        first[record[::-1]] = row[::-1]  # of several values the last one written stays
        reported = self._reported.reshape(-1)
        new = np.flatnonzero((first[record] == row) & ~reported[record])
        reported[record[new]] = True
        snapshot = np.repeat(np.arange(len(snapshots)), count)[new]
        viewer = snapshots.partition[snapshot] * self.queries + query[snapshot]
        rank = new - snapshots.offset[snapshot] + 1
        table = np.stack(
            (
                snapshots.end[snapshot], viewer, np.full(len(new), ENTER), rank,
                np.zeros(len(new), np.int64), snapshots.id[new],
            )
        )  # fmt: skip
        numbers = numbers_of(snapshots, self._changing)[:, new] if self._changing else None
        return Changes(table, self.queries, numbers)

    def _make_room(self, queries: int, ids: int) -> None:
        known = self._reported
        if known.shape != (queries, ids):
            self._reported = np.zeros((queries, ids), np.bool_)
            self._reported[: len(known), : known.shape[1]] = known

    def ask_for(self, queries: int) -> None:
        """Make room for so many queries. The new ones have reported nothing."""
        self._make_room(queries, self._reported.shape[1])

    def forget(self, query: int) -> None:
        """Forget what a removed query has reported."""
        self._reported[query] = False

    def rename(self, new_ids: Ints) -> None:
        """Follow a renumbering of the records; -1 stands for those that are forgotten."""
        renamed = np.zeros((self.queries, int(new_ids.max(initial=-1)) + 1), np.bool_)
        known = new_ids[: self._reported.shape[1]]
        renamed[:, known[known >= 0]] = self._reported[:, known >= 0]
        self._reported = renamed

    def state(self) -> dict[str, Any]:
        query, id = np.nonzero(self._reported)
        return {"query": query.astype(np.int64), "id": id.astype(np.int64)}

    def restore(self, state: dict[str, Any], ids: int) -> None:
        """Continue from ``state()``, where ``ids`` records are kept."""
        sound.like(state, self.state(), "entries")
        query, id = state["query"], state["id"]
        sound.require(len(query) == len(id), "entries: queries and records differ in number")
        sound.within("entries.query", query, 0, self.queries)
        sound.within("entries.id", id, 0, ids)
        self._make_room(self.queries, ids)
        self._reported[query, id] = True


__all__ = ["EntryLog"]
