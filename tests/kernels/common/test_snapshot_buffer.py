"""The buffer that kernels append snapshots to."""

from __future__ import annotations

import numpy as np

from crestline.kernels.common.snapshot_buffer import append_snapshot, new_buffer


def test_snapshots_lie_one_after_another_however_many_there_are() -> None:
    rng = np.random.default_rng(9)
    buffer = new_buffer(2)
    ids, numbers = np.arange(30), rng.random((2, 30))
    counts = rng.integers(0, 30, 200).tolist()
    for step, count in enumerate(counts):
        buffer = append_snapshot(buffer, step, ids, numbers, count)
    snapshots, records = buffer.filled.tolist()
    assert (snapshots, records) == (200, sum(counts))
    assert buffer.steps[:, :snapshots].tolist() == [list(range(200)), counts]
    start = 0
    for count in counts:
        stop = start + count
        assert buffer.ids[start:stop].tolist() == list(range(count))
        assert (buffer.numbers[:, start:stop] == numbers[:, :count]).all()
        start = stop
