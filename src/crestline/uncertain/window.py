"""The whole window in rank order, and the compact set at its head.

This is what BS keeps; the other synopses keep it too where no compact set is known (see
``crestline.uncertain.meaning``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.core import sound
from crestline.core.sentinels import NOWHERE
from crestline.kernels.common.output import Report
from crestline.kernels.uncertain.blocks import (
    BLOCKS,
    HEAD,
    LOWEST,
    TAIL,
    Blocks,
    into_blocks,
)
from crestline.kernels.uncertain.lists import LEAVES, SCORE, RecordList
from crestline.kernels.uncertain.ranked import run_window
from crestline.kernels.uncertain.steps import SynopsisQuery
from crestline.types import Ints
from crestline.uncertain.partition import (
    PartitionSynopsis,
    empty_list,
    rank_keys,
)


class WindowPartition(PartitionSynopsis):
    """One list, in the order in which records leave; the blocks say how they rank.

    **Invariants** B1: records leave in the order of the list. B2: the blocks hold every record
    once, in rank order. B3: no block in use is empty. B4: edges are the blocks' last scores.
    """

    LISTS = ("window",)

    def __init__(self) -> None:
        super().__init__()
        self.meta[LOWEST] = NOWHERE
        self._blocks: Blocks = into_blocks(empty_list(), np.empty(0, np.int64))

    def run(
        self, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, report: Report
    ) -> Report:
        self.lists["window"], self._blocks, self.shown, report = run_window(
            query, arrivals, steps, until, self.meta, self.lists["window"], self._blocks,
            self.shown, report,
        )  # fmt: skip
        return report

    def filled(self, name: str) -> int:
        return int(self.meta[TAIL] - self.meta[HEAD])

    def records(self, name: str) -> RecordList:
        floats, ints = self.lists["window"]
        window = slice(int(self.meta[HEAD]), int(self.meta[TAIL]))
        return RecordList(floats[:, window], ints[:, window])

    def ranked(self) -> Ints:
        """Return the indices of the window's records in its list, best first."""
        blocks = self._blocks
        used = blocks.order[: self.meta[BLOCKS]]
        rows = [blocks.slots[row, : blocks.sizes[row]] for row in used]
        return np.concatenate([np.empty(0, np.int64), *rows])

    def state(self) -> dict[str, Any]:
        state = super().state()
        meta = self.meta.copy()
        head = int(meta[HEAD])
        meta[HEAD], meta[TAIL] = 0, meta[TAIL] - head
        meta[LOWEST] -= head if meta[LOWEST] >= 0 else 0
        return state | {"meta": meta, "ranked": self.ranked() - head}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        window, ranked = self.lists["window"], state["ranked"]
        count = window.floats.shape[1]
        sound.require((self.meta[HEAD], self.meta[TAIL]) == (0, count), "the window is longer")
        sound.within("lowest", self.meta[LOWEST : LOWEST + 1], -1, max(count, 1))
        sound.length("ranked", ranked, of=count)
        sound.within("ranked", ranked, 0, count)
        sound.require(len(np.unique(ranked)) == count, "ranked names a record twice")
        scores = window.floats[SCORE]
        falls = scores[ranked[1:]] <= scores[ranked[:-1]]
        sound.require(falls.all(), "ranked is not in the order of scores")
        self._blocks = into_blocks(window, ranked)
        self.meta[BLOCKS] = len(self._blocks.order) - 1

    def check(self, query: SynopsisQuery) -> None:
        window, ranked = self.lists["window"], self.ranked()
        leaves = self.records("window").ints[LEAVES]
        assert (np.diff(leaves) >= 0).all(), ("B1", leaves)
        assert sorted(ranked) == list(range(self.meta[HEAD], self.meta[TAIL])), ("B2", ranked)
        keys = rank_keys(RecordList(window.floats[:, ranked], window.ints[:, ranked]))
        assert keys == sorted(keys, reverse=True), ("B2", keys)
        blocks = self._blocks
        rows = blocks.order[: self.meta[BLOCKS]]
        assert (blocks.sizes[rows] > 0).all(), "B3"
        last = blocks.keys[rows, blocks.sizes[rows] - 1]
        assert (last == blocks.edges[: len(rows)]).all(), "B4"


__all__ = ["WindowPartition"]
