"""Changes from snapshot to snapshot: applied to what was shown, they give what is shown."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.kernels.common.changes import (
    ENTER,
    LEAVE,
    diff_snapshots,
    diff_uncertain_snapshots,
)
from crestline.types import Ints

SEEDS = st.integers(0, 2**32)


def offsets(lists: list[list[int]]) -> Ints:
    return np.cumsum([0, *map(len, lists)])


def flat(lists: list[list[int]]) -> Ints:
    return np.array([i for part in lists for i in part], np.int64)


def apply(before: list[int], table: Ints) -> list[int]:
    """The ids after the changes: what leaves goes, what moves or enters takes its rank."""
    _, _, change, rank, previous, ids = table
    moved = set(previous[change != ENTER].tolist())
    slots = {i + 1: id for i, id in enumerate(before) if i + 1 not in moved}
    slots |= {int(r): int(i) for c, r, i in zip(change, rank, ids, strict=True) if c != LEAVE}
    return [slots[r] for r in sorted(slots)]


@given(SEEDS)
def test_changes_lead_from_one_snapshot_to_the_next(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shown = [rng.permutation(8)[: rng.integers(0, 5)].tolist() for _ in range(2)]
    later = [rng.permutation(8)[: rng.integers(0, 5)].tolist() for _ in range(4)]
    partition, end = np.array([0, 0, 1, 1]), np.array([5, 6, 5, 7])
    table, start, ids = diff_snapshots(
        offsets(shown), flat(shown), partition, end, offsets(later), flat(later),
        np.zeros(8, np.int64),
    )  # fmt: skip
    for p, e, before, after in zip(
        partition, end, (shown[0], later[0], shown[1], later[2]), later, strict=True
    ):
        changes = table[:, (table[0] == e) & (table[1] == p)]
        assert apply(before, changes) == after
        kept = [id for i, id in enumerate(before) if i < len(after) and after[i] == id]
        assert not set(kept) & set(changes[5].tolist())  # what stays in its place is not told
    assert ids[: start[1]].tolist() == later[1] and ids[start[1] :].tolist() == later[3]


@given(SEEDS)
def test_a_new_probability_is_a_move(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, after = rng.integers(0, 4, 3), rng.integers(0, 4, 4)
    ids, chances = np.concatenate((before, after)), rng.integers(1, 3, 7) / 2
    table, start, entries = diff_uncertain_snapshots(
        np.array([0, 3]), np.array([0]), np.array([9]), np.array([3, 7]), ids, chances,
        np.zeros(4, np.int64),
    )  # fmt: skip
    assert start.tolist() == [0, 4] and entries.tolist() == [3, 4, 5, 6]
    shown = [(int(i), float(p)) for i, p in zip(ids[:3], chances[:3], strict=True)]
    slots = dict(enumerate(shown, start=1))
    for change, previous in zip(table[2], table[4], strict=True):
        if change != ENTER:
            del slots[int(previous)]
    for change, rank, entry in zip(table[2], table[3], table[5], strict=True):
        if change != LEAVE:
            slots[int(rank)] = int(ids[entry]), float(chances[entry])
    now = [(int(i), float(p)) for i, p in zip(ids[3:], chances[3:], strict=True)]
    assert [slots[rank] for rank in sorted(slots)] == now
