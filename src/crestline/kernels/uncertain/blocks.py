"""The rank order of a window: short sorted blocks, one after the other.

A record is found by a search among the last scores of the blocks and one inside a block. A block
that is full is split; one that is empty is free again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.lists import SCORE, TIE, RecordList
from crestline.kernels.uncertain.steps import OWN
from crestline.types import Floats, Ints

#: Entries of ``meta``: the window is records HEAD to TAIL of its list; how many blocks there are;
#: the last record of the compact set, if there is one.
HEAD, TAIL, BLOCKS, LOWEST = range(OWN, OWN + 4)
#: Records in a block.
BLOCK = 128


class Blocks(NamedTuple):
    """Blocks, each of which is a row of ``slots`` and ``keys``."""

    #: The index in the window's list of each record.
    slots: Ints
    #: Its score.
    keys: Floats
    #: By row: how many records it holds.
    sizes: Ints
    #: The rows in use, the best block first; then the free ones.
    order: Ints
    #: The last score of each row in use, in that order.
    edges: Floats


@kernel
def into_blocks(window: RecordList, ranked: Ints) -> Blocks:
    """Make blocks, half full, of records whose indices are given in rank order."""
    half = BLOCK // 2
    used = (len(ranked) + half - 1) // half
    slots = np.empty((used + 1, BLOCK), np.int64)
    keys = np.empty((used + 1, BLOCK))
    sizes = np.zeros(used + 1, np.int64)
    edges = np.empty(used + 1)
    for j in range(len(ranked)):
        row, score = j // half, window.floats[SCORE, ranked[j]]
        slots[row, j % half], keys[row, j % half] = ranked[j], score
        sizes[row] += 1
        edges[row] = score
    return Blocks(slots, keys, sizes, np.arange(used + 1), edges)


@kernel
def more_blocks(blocks: Blocks, more: int) -> Blocks:
    """Return a copy with room for ``more`` blocks more at least."""
    slots, keys, sizes, order, edges = blocks
    rows = len(order)
    total = max(2 * rows, rows + more)
    wider_slots, wider_keys = np.empty((total, BLOCK), np.int64), np.empty((total, BLOCK))
    wider_sizes, wider_order = np.zeros(total, np.int64), np.arange(total)
    wider_edges = np.empty(total)
    for row in range(rows):
        wider_sizes[row], wider_order[row] = sizes[row], order[row]
        wider_edges[row] = edges[row]
        for j in range(sizes[row]):
            wider_slots[row, j], wider_keys[row, j] = slots[row, j], keys[row, j]
    return Blocks(wider_slots, wider_keys, wider_sizes, wider_order, wider_edges)


@kernel
def _block_of(score: float, tie: int, ties: Ints, blocks: Blocks, used: int) -> int:
    """Find the first block whose last record does not rank before this score and tie."""
    slots, _, sizes, order, edges = blocks
    low, high = 0, used
    while low < high:
        middle = (low + high) >> 1
        edge = edges[middle]
        before = edge > score
        if edge == score:
            row = order[middle]
            before = ties[slots[row, sizes[row] - 1]] > tie
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _position_in(row: int, score: float, tie: int, ties: Ints, blocks: Blocks) -> int:
    """Find the first record of a block that does not rank before this score and tie."""
    slots, keys = blocks.slots, blocks.keys
    low, high = 0, blocks.sizes[row]
    while low < high:
        middle = (low + high) >> 1
        key = keys[row, middle]
        if key > score or (key == score and ties[slots[row, middle]] > tie):
            low = middle + 1
        else:
            high = middle
    return int(low)


@kernel
def insert(slot: int, window: RecordList, blocks: Blocks, meta: Ints) -> None:
    """Insert a record of the window into the blocks."""
    slots, keys, sizes, order, edges = blocks
    scores, ties = window.floats[SCORE], window.ints[TIE]
    score, tie = scores[slot], ties[slot]
    if meta[BLOCKS] == 0:
        meta[BLOCKS] = 1
        row = order[0]
        slots[row, 0], keys[row, 0], sizes[row], edges[0] = slot, score, 1, score
        return
    block = min(_block_of(score, tie, ties, blocks, meta[BLOCKS]), meta[BLOCKS] - 1)
    if sizes[order[block]] == BLOCK:
        _split(block, blocks, meta)
        last = slots[order[block], sizes[order[block]] - 1]
        if scores[last] > score or (scores[last] == score and ties[last] > tie):
            block += 1
    row = order[block]
    position = _position_in(row, score, tie, ties, blocks)
    some_slots, some_keys = slots[row], keys[row]
    for j in range(sizes[row], position, -1):
        some_slots[j] = some_slots[j - 1]
        some_keys[j] = some_keys[j - 1]
    some_slots[position], some_keys[position] = slot, score
    sizes[row] += 1
    edges[block] = some_keys[sizes[row] - 1]


@kernel
def _split(block: int, blocks: Blocks, meta: Ints) -> None:
    """Move the second half of a full block into a free one behind it."""
    slots, keys, sizes, order, edges = blocks
    row, fresh = order[block], order[meta[BLOCKS]]
    for b in range(meta[BLOCKS], block + 1, -1):
        order[b], edges[b] = order[b - 1], edges[b - 1]
    order[block + 1], edges[block + 1] = fresh, edges[block]
    meta[BLOCKS] += 1
    half = BLOCK // 2
    for j in range(half, BLOCK):
        slots[fresh, j - half], keys[fresh, j - half] = slots[row, j], keys[row, j]
    sizes[row], sizes[fresh] = half, BLOCK - half
    edges[block] = keys[row, half - 1]


@kernel
def remove(slot: int, window: RecordList, blocks: Blocks, meta: Ints) -> None:
    """Remove a record of the window from the blocks."""
    slots, keys, sizes, order, edges = blocks
    ties = window.ints[TIE]
    score, tie = window.floats[SCORE, slot], ties[slot]
    block = _block_of(score, tie, ties, blocks, meta[BLOCKS])
    row = order[block]
    position = _position_in(row, score, tie, ties, blocks)
    while slots[row, position] != slot:  # records that are equal in everything
        position += 1
        if position == sizes[row]:
            block += 1
            row, position = order[block], 0
    some_slots, some_keys = slots[row], keys[row]
    for j in range(position, sizes[row] - 1):
        some_slots[j] = some_slots[j + 1]
        some_keys[j] = some_keys[j + 1]
    sizes[row] -= 1
    if sizes[row] > 0:
        edges[block] = some_keys[sizes[row] - 1]
        return
    for b in range(block, meta[BLOCKS] - 1):
        order[b], edges[b] = order[b + 1], edges[b + 1]
    meta[BLOCKS] -= 1
    order[meta[BLOCKS]] = row


__all__ = ["BLOCK", "BLOCKS", "HEAD", "LOWEST", "TAIL", "Blocks", "insert", "into_blocks",
           "more_blocks", "remove"]  # fmt: skip
