"""The whole window in rank order, and the compact set at its head.

This is what BS keeps; the other synopses keep it too where no compact set is known (see
``crestline.uncertain.meaning``).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from crestline.core import sound
from crestline.kernels.uncertain.compact import LEAVES, SCORE, TIE, List, Setting, Told
from crestline.kernels.uncertain.ranked import (
    BLOCKS,
    HEAD,
    LOWEST,
    TAIL,
    Blocks,
    into_blocks,
    run_window,
)
from crestline.types import Ints
from crestline.uncertain.part import Part


class WindowPart(Part):
    """One list, in the order in which records leave; the blocks say how they rank.

    **Invariants** B1: records leave in the order of the list. B2: the blocks hold every record
    once, in rank order. B3: no block in use is empty. B4: edges are the blocks' last scores.
    """

    LISTS = ("window",)

    def __init__(self) -> None:
        super().__init__()
        self.meta[LOWEST] = -1
        self._blocks: Blocks = into_blocks(np.empty((2, 0)), np.empty(0, np.int64))

    def run(self, setting: Setting, arrivals: List, steps: Ints, until: int, told: Told) -> Told:
        self.lists["window"], self._blocks, self.shown_id, self.shown, told = run_window(
            setting, arrivals, steps, until, self.meta, self.lists["window"], self._blocks,
            self.shown_id, self.shown, told,
        )  # fmt: skip
        return told

    def filled(self, name: str) -> int:
        return int(self.meta[TAIL] - self.meta[HEAD])

    def records(self, name: str) -> List:
        floats, ints = self.lists["window"]
        window = slice(int(self.meta[HEAD]), int(self.meta[TAIL]))
        return floats[:, window], ints[:, window]

    def ranked(self) -> Ints:
        """The places of the window's records in its list, best first."""
        slots, _, sizes, order, _ = self._blocks
        rows = [slots[row, : sizes[row]] for row in order[: self.meta[BLOCKS]]]
        return np.concatenate([np.empty(0, np.int64), *rows])

    def state(self) -> dict[str, Any]:
        state = super().state()
        meta = self.meta.copy()
        head = int(meta[HEAD])
        meta[HEAD], meta[TAIL] = 0, meta[TAIL] - head
        meta[LOWEST] -= head if meta[LOWEST] >= 0 else 0
        return state | {"meta": meta, "ranked": self.ranked() - head}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        part = super().from_state(state)
        window = part.lists["window"][0].shape[1]
        sound.require((part.meta[HEAD], part.meta[TAIL]) == (0, window), "the window is longer")
        sound.within("lowest", part.meta[LOWEST : LOWEST + 1], -1, max(window, 1))
        sound.length("ranked", state["ranked"], of=window)
        sound.within("ranked", state["ranked"], 0, window)
        sound.require(len(np.unique(state["ranked"])) == window, "ranked names a record twice")
        (scores, _), ranked = part.lists["window"][0], state["ranked"]
        falls = scores[ranked[1:]] <= scores[ranked[:-1]]
        sound.require(falls.all(), "ranked is not in the order of scores")
        part._blocks = into_blocks(part.lists["window"][0], state["ranked"])
        part.meta[BLOCKS] = len(part._blocks[3]) - 1
        return part

    def check(self, setting: Setting) -> None:
        floats, ints = self.lists["window"]
        leaves = self.records("window")[1][LEAVES]
        assert (np.diff(leaves) >= 0).all(), ("B1", leaves)
        ranked = self.ranked()
        assert sorted(ranked) == list(range(self.meta[HEAD], self.meta[TAIL])), ("B2", ranked)
        keys = list(zip(floats[SCORE, ranked], ints[TIE, ranked], strict=True))
        assert keys == sorted(keys, reverse=True), ("B2", keys)
        _, scores, sizes, order, edges = self._blocks
        rows = order[: self.meta[BLOCKS]]
        assert (sizes[rows] > 0).all(), "B3"
        assert (scores[rows, sizes[rows] - 1] == edges[: len(rows)]).all(), "B4"


__all__ = ["WindowPart"]
