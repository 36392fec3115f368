"""A buffer of snapshots of one partition that kernels append to.

A snapshot is a step, a number of records, their ids, and rows of numbers: one number per record in
each row. All snapshots lie one after another in flat arrays that grow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.types import Floats, Ints


class SnapshotBuffer(NamedTuple):
    """Snapshots that fell due."""

    #: Step and number of records of each snapshot, in two rows.
    steps: Ints
    ids: Ints
    numbers: Floats
    #: How many snapshots and how many records there are.
    filled: Ints


def new_buffer(rows: int) -> SnapshotBuffer:
    """Make an empty buffer for records with ``rows`` numbers each."""
    steps = np.empty((2, 0), np.int64)
    return SnapshotBuffer(steps, np.empty(0, np.int64), np.empty((rows, 0)), np.zeros(2, np.int64))


@kernel
def append_snapshot(
    buffer: SnapshotBuffer, step: int, ids: Ints, numbers: Floats, count: int
) -> SnapshotBuffer:
    """Append the snapshot of the first ``count`` records; return the buffer, or a larger one."""
    all_steps, all_ids, all_numbers, filled = buffer
    if filled[0] == all_steps.shape[1]:
        more_steps = np.empty((2, 2 * filled[0] + 64), np.int64)
        for j in range(filled[0]):
            more_steps[0, j], more_steps[1, j] = all_steps[0, j], all_steps[1, j]
        all_steps = more_steps
    rows, start = len(all_numbers), filled[1]
    if start + count > len(all_ids):
        more_ids = np.empty(2 * (start + count) + 64, np.int64)
        more_numbers = np.empty((rows, len(more_ids)))
        for j in range(start):
            more_ids[j] = all_ids[j]
        for row in range(rows):
            for j in range(start):
                more_numbers[row, j] = all_numbers[row, j]
        all_ids, all_numbers = more_ids, more_numbers
    all_steps[0, filled[0]] = step
    all_steps[1, filled[0]] = count
    for j in range(count):
        all_ids[start + j] = ids[j]
    for row in range(rows):
        for j in range(count):
            all_numbers[row, start + j] = numbers[row, j]
    filled[0] += 1
    filled[1] += count
    return SnapshotBuffer(all_steps, all_ids, all_numbers, filled)


__all__ = ["SnapshotBuffer", "append_snapshot", "new_buffer"]
