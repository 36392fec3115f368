"""Records of a long batch that cannot matter, found block by block before any filter."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.order import reach
from crestline.kernels.common.output import room_for
from crestline.kernels.common.select import select_runs
from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints

#: How many scores are compared at once.
BLOCK = 64


@kernel
def pass_blocks(
    scores: Floats,
    ats: Ints,
    first_at: int,
    start: Ints,
    k: int,
    block: int,
    width: int,
    edge_kth: Floats,
    edge_at: Ints,
) -> tuple[Ints, Ints]:
    """Leave out records of a long batch that the neighbouring blocks make useless.

    ``scores[start[p] : start[p + 1]]`` are the records of partition p in order, born at ``ats``; if
    that is empty, one after the other since ``first_at``. A record that is beaten by k records of
    the block before its own, and by k of the block after it, can never be reported: the former are
    still alive when the latter arrive, if the three blocks together are shorter than the window.
    ``edge_kth[p]`` and ``edge_at[p]`` are the k-th best score and the first birth of the last block
    of the previous batch; they are updated. Returns the indices of all other records, and the
    offsets of their partitions.
    """
    partitions = len(start) - 1
    kept_from = np.zeros(partitions + 1, np.int64)
    kept = np.empty(1024, np.int64)
    count = 0
    guess = np.array([-np.inf, 0.0])
    for p in range(partitions):
        low, high = start[p], start[p + 1]
        blocks = (high - low + block - 1) // block
        edges = np.empty(blocks + 1, np.int64)
        for b in range(blocks):
            edges[b] = low + b * block
        edges[blocks] = high
        # The k-th best score of every block: a record below it is beaten by k of the block.
        kth = np.full(blocks, np.inf)
        best = select_runs(scores, edges, k, guess)
        for i in range(len(best)):
            b = (best[i] - low) // block
            kth[b] = min(kth[b], scores[best[i]])
        for b in range(blocks):
            if edges[b + 1] - edges[b] < k:
                kth[b] = -np.inf
        for b in range(blocks):
            bound = -np.inf
            if b < blocks - 1:
                last = birth(ats, first_at, edges[b + 2] - 1)
                before, first = edge_kth[p], edge_at[p]
                if b > 0:
                    before, first = kth[b - 1], birth(ats, first_at, edges[b - 1])
                if last - first < width:
                    bound = min(before, kth[b + 1])
            kept = room_for(kept, count, edges[b + 1] - edges[b])
            count = _collect(scores, edges[b], edges[b + 1], bound, kept, count)
        for b in range(blocks):
            if kth[b] > -np.inf:
                edge_kth[p], edge_at[p] = kth[b], birth(ats, first_at, edges[b])
        kept_from[p + 1] = count
    return kept[:count].copy(), kept_from


@kernel
def birth(ats: Ints, first_at: int, index: int) -> int:
    """Return when a record was born: its time or, without ``ats``, its position after the first
    one."""
    return first_at + index if len(ats) == 0 else ats[index]


@kernel
def _collect(scores: Floats, start: int, stop: int, bound: float, kept: Ints, count: int) -> int:
    """Append the indices of the scores that reach the bound."""
    while start < stop:
        end = min(start + BLOCK, stop)
        if reach(scores[start:end], bound):
            for i in range(start, end):
                if scores[i] >= bound:
                    kept[count] = i
                    count += 1
        start = end
    return count
