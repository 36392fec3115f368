"""Blocks in rank order, against a sorted list."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.kernels.uncertain.blocks import (
    BLOCK,
    BLOCKS,
    Blocks,
    insert,
    into_blocks,
    more_blocks,
    remove,
)
from crestline.kernels.uncertain.lists import SCORE, TIE
from crestline.types import Ints
from kernels.uncertain.windows import random_records

NONE = np.empty(0, np.int64)


def slots(blocks: Blocks, meta: Ints) -> list[int]:
    used = blocks.order[: meta[BLOCKS]]
    assert (blocks.sizes[used] > 0).all()
    return [int(s) for row in used for s in blocks.slots[row, : blocks.sizes[row]]]


@pytest.mark.parametrize("count", [3 * BLOCK, 40])
def test_inserting_and_removing(count: int) -> None:
    rng = np.random.default_rng(count)
    window = random_records(rng, count)
    scores, ties = window.floats[SCORE], window.ints[TIE]
    meta = np.zeros(12, np.int64)
    blocks = more_blocks(into_blocks(window, NONE), count)
    inside: list[int] = []
    for slot in rng.permutation(count).tolist():
        insert(slot, window, blocks, meta)
        inside.append(slot)
        if rng.random() < 0.3:
            gone = inside.pop(int(rng.integers(len(inside))))
            remove(gone, window, blocks, meta)
    assert slots(blocks, meta) == sorted(inside, key=lambda s: (-scores[s], -ties[s]))
    for slot in list(inside):
        remove(slot, window, blocks, meta)
    assert slots(blocks, meta) == []


def test_made_of_ranked_records() -> None:
    window = random_records(np.random.default_rng(1), 200)
    ranked = np.lexsort((-window.ints[TIE], -window.floats[SCORE]))
    blocks, meta = into_blocks(window, ranked), np.zeros(12, np.int64)
    meta[BLOCKS] = len(blocks.order) - 1
    assert slots(blocks, meta) == ranked.tolist()
    wider = more_blocks(blocks, 5)
    assert len(wider.order) >= len(blocks.order) + 5
    assert slots(wider, meta) == ranked.tolist()
