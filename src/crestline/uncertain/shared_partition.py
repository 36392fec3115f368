"""The list of one partition that several queries share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report
from crestline.kernels.uncertain.lists import FLOATS, INTS, LEAVES, RecordList, stay
from crestline.kernels.uncertain.shared_worlds import (
    COUNT,
    THINNED,
    DueExecutions,
    SharedQueries,
    SharedWindow,
    run_shared,
)
from crestline.types import Ints
from crestline.uncertain.partition import empty_list, join_lists, rank_keys
from crestline.uncertain.records import part_of


class SharedPartition:
    """Records in rank order, and how many each query was shown."""

    __slots__ = ("_list", "meta", "shown")

    def __init__(self, shown: Ints, records: RecordList | None = None, thinned: int = 0) -> None:
        """Begin with some records, of which ``thinned`` were left when the list was last thinned.
        ``shown`` tells, by query, how many records it was shown last."""
        self._list = empty_list() if records is None else records
        self.meta = np.zeros(5, np.int64)
        self.meta[COUNT], self.meta[THINNED] = self._list.floats.shape[1], thinned
        self.shown = shown

    def __len__(self) -> int:
        return int(self.meta[COUNT])

    @property
    def records(self) -> RecordList:
        """The list without the room behind it."""
        floats, ints = self._list
        return RecordList(floats[:, : len(self)], ints[:, : len(self)])

    @property
    def empty_from(self) -> int:
        """The moment from which on all records are gone."""
        return int(self.records.ints[LEAVES].max(initial=LONG_AGO))

    def run(
        self,
        window: SharedWindow,
        queries: SharedQueries,
        arrivals: RecordList,
        begins: Ints,
        due: DueExecutions,
        report: Report,
    ) -> Report:
        """Take in records and answer all that is due; see ``run_shared``."""
        self._list, report = run_shared(
            window, queries, arrivals, begins, due, self._list, self.meta, self.shown, report
        )
        return report

    def take_count(self, entry: int) -> int:
        """Return what the kernel has counted since the last call."""
        counted = int(self.meta[entry])
        self.meta[entry] = 0
        return counted

    def forget(self, gone: int) -> None:
        """Remove what leaves up to a moment."""
        if len(self) and int(self.records.ints[LEAVES].min()) <= gone:
            self.meta[COUNT] = stay(self._list, 0, len(self), gone)

    def add_query(self) -> None:
        """Make room for one more query."""
        self.shown = np.append(self.shown, 0)

    def remove_query(self, index: int) -> None:
        """Forget a query; the list may be thinned again."""
        self.shown = np.delete(self.shown, index)
        self.meta[THINNED] = 0

    def check(self, gone: int) -> None:
        """H1: the list is in rank order. H2: it holds nothing that is gone."""
        keys = rank_keys(self.records)
        assert keys == sorted(keys, reverse=True), ("H1", keys)
        assert (self.records.ints[LEAVES] > gone).all(), "H2"


def state_of(partitions: list[SharedPartition]) -> dict[str, Any]:
    """Return the state of all partitions as common arrays."""
    floats, ints = join_lists([partition.records for partition in partitions])
    return {
        "count": np.array([len(partition) for partition in partitions], np.int64),
        "thinned": np.array([partition.meta[THINNED] for partition in partitions], np.int64),
        "shown": np.concatenate([np.empty(0, np.int64), *(p.shown for p in partitions)]),
        "floats": floats,
        "ints": ints,
    }


def from_state(state: dict[str, Any], queries: int) -> list[SharedPartition]:
    """Make the partitions whose ``state_of`` this was, for so many queries."""
    count = sound.length("parts", state["count"], state["thinned"])
    sound.length("parts.shown", state["shown"], of=count * queries)
    sound.within("parts.shown", state["shown"], 0, sound.FAR)
    total = state["ints"].shape[1]
    sound.within("parts.count", state["count"], 0, total + 1)
    fits = state["floats"].shape == (FLOATS, total) and len(state["ints"]) == INTS
    sound.require(fits and int(state["count"].sum()) == total, "parts have other lengths")
    sound.numbers("parts", state["floats"])
    sound.moments("parts", state["ints"][LEAVES])
    starts = np.concatenate(([0], np.cumsum(state["count"]))).tolist()
    everything = RecordList(state["floats"], state["ints"])
    partitions = []
    for p, (start, stop) in enumerate(pairwise(starts)):
        records = RecordList(*(rows.copy() for rows in part_of(everything, start, stop)))
        shown = state["shown"][p * queries : (p + 1) * queries].copy()
        partitions.append(SharedPartition(shown, records, state["thinned"][p]))
    return partitions


__all__ = ["SharedPartition", "from_state", "state_of"]
