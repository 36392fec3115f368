"""The whole window in rank order: short sorted blocks, one after the other.

A block is a row of ``slots`` (where in the window a record stands) with their scores in ``keys``.
``order`` lists the rows that are in use, best block first, then the free ones, and ``edges`` the
last scores of the former; ``sizes`` belongs to the rows. A record is found by a search among the
edges and one inside a block; a block that is full is split, one that is empty is free again.
"""

from __future__ import annotations

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    DONE,
    LAST,
    LEAVES,
    NEVER,
    OWN,
    SCORE,
    STALE,
    TIE,
    List,
    Setting,
    Told,
    answer,
    copy,
    next_step,
    room,
    told_at,
)
from crestline.types import Floats, Ints

#: Entries of ``meta``: the window is records HEAD to TAIL; how many blocks there are; the last
#: record of the compact set (-1: there is none), and how many records it has.
HEAD, TAIL, BLOCKS, LOWEST, DEPTH = range(OWN, OWN + 5)
#: Records in a block.
BLOCK = 128

#: Slots, keys, sizes, order, edges.
Blocks = tuple[Ints, Floats, Ints, Ints, Floats]


@kernel
def run_window(
    setting: Setting, arrivals: List, steps: Ints, until: int, meta: Ints, window: List,
    blocks: Blocks, shown_id: Ints, shown: Floats, told: Told,
) -> tuple[List, Blocks, Ints, Floats, Told]:  # fmt: skip
    """Handle all steps up to ``until``."""
    af, ai = arrivals
    f, i = window
    slots, keys, sizes, order, edges = blocks
    at = 0
    while True:
        arriving = steps[at] if at < len(steps) else NEVER
        changing = i[LEAVES, meta[HEAD]] if meta[HEAD] < meta[TAIL] else NEVER
        step = next_step(setting, arriving, meta[DONE], meta[LAST], changing)
        if step > until:
            break
        meta[DONE] = step
        touched = meta[STALE] > 0
        while meta[HEAD] < meta[TAIL] and i[LEAVES, meta[HEAD]] <= step:
            leaving = meta[HEAD]
            touched |= _matters(f, i, leaving, meta)
            remove(leaving, f, i, slots, keys, sizes, order, edges, meta)
            meta[HEAD] += 1
        first = at
        while at < len(steps) and steps[at] == step:
            at += 1
        if at > first:
            f, i = make_room(f, i, at - first, slots, sizes, order, meta)
            if meta[BLOCKS] + at - first + 1 > len(order):
                slots, keys, sizes, order, edges = more_blocks(
                    slots, keys, sizes, order, edges, at - first + 1
                )
            # Records of a step leave at one of two steps: the window is in that order.
            early = NEVER
            for a in range(first, at):
                early = min(early, ai[LEAVES, a])
            for late in range(2):
                for a in range(first, at):
                    if (ai[LEAVES, a] > early) == (late == 1):
                        slot = meta[TAIL]
                        copy(f, i, slot, af, ai, a)
                        meta[TAIL] += 1
                        touched |= _matters(f, i, slot, meta)
                        insert(slot, f, i, slots, keys, sizes, order, edges, meta)
                        meta[LAST] = max(meta[LAST], ai[LEAVES, a])
        changed = False
        if touched:
            changed, shown_id, shown = look(
                setting, f, i, slots, sizes, order, meta, shown_id, shown
            )
        told = told_at(setting, step, changed, shown_id, shown, meta, told)
    meta[DONE] = max(meta[DONE], until)
    return (f, i), (slots, keys, sizes, order, edges), shown_id, shown, told


@kernel
def _matters(f: Floats, i: Ints, slot: int, meta: Ints) -> bool:
    """Whether a record that comes or goes can change the answer: all do, if nothing closes."""
    lowest = meta[LOWEST]
    if lowest < 0:
        return True
    if f[SCORE, slot] != f[SCORE, lowest]:
        return bool(f[SCORE, slot] > f[SCORE, lowest])
    return bool(i[TIE, slot] >= i[TIE, lowest])


@kernel
def look(
    setting: Setting, f: Floats, i: Ints, slots: Ints, sizes: Ints, order: Ints, meta: Ints,
    shown_id: Ints, shown: Floats,
) -> tuple[bool, Ints, Floats]:  # fmt: skip
    """Work out the answer from as many of the best records as it takes."""
    total = meta[TAIL] - meta[HEAD]
    changed = False
    some = min(total, max(setting[1], meta[DEPTH] + meta[DEPTH] // 4 + 16))
    while True:
        wf, wi = room(np.empty((2, 0)), np.empty((5, 0), np.int64), 0, some)
        taken = block = 0
        while taken < some:
            row = order[block]
            for j in range(min(sizes[row], some - taken)):
                copy(wf, wi, taken, f, i, slots[row, j])
                taken += 1
            block += 1
        found, other, shown_id, shown = answer(setting, wf, wi, some, shown_id, shown, meta)
        changed |= other  # what was shown is lost once too few records have been looked at
        if found >= 0 or some == total:
            break
        some = min(total, 2 * some)
    meta[LOWEST], meta[DEPTH] = -1, some
    if found >= 0:
        meta[DEPTH] = found
        block, left = 0, found - 1
        while left >= sizes[order[block]]:
            left -= sizes[order[block]]
            block += 1
        meta[LOWEST] = slots[order[block], left]
    return changed, shown_id, shown


@kernel
def make_room(
    f: Floats, i: Ints, more: int, slots: Ints, sizes: Ints, order: Ints, meta: Ints
) -> List:
    """Room behind the window: by moving it to the front, or by a larger copy."""
    head, tail = meta[HEAD], meta[TAIL]
    if tail + more <= f.shape[1]:
        return f, i
    if 2 * head >= f.shape[1]:
        for a in range(head, tail):
            copy(f, i, a - head, f, i, a)
        for block in range(meta[BLOCKS]):
            row = order[block]
            for j in range(sizes[row]):
                slots[row, j] -= head
        meta[HEAD], meta[TAIL] = 0, tail - head
        if meta[LOWEST] >= 0:
            meta[LOWEST] -= head
        tail -= head
    return room(f, i, tail, tail + more)


@kernel
def more_blocks(
    slots: Ints, keys: Floats, sizes: Ints, order: Ints, edges: Floats, more: int
) -> Blocks:
    """Room for so many blocks more at least."""
    known = len(order)
    total = max(2 * known, known + more)
    wider_slots, wider_keys = np.empty((total, BLOCK), np.int64), np.empty((total, BLOCK))
    wider_sizes, wider_order = np.zeros(total, np.int64), np.arange(total)
    wider_edges = np.empty(total)
    for row in range(known):
        wider_sizes[row], wider_order[row] = sizes[row], order[row]
        wider_edges[row] = edges[row]
        for j in range(sizes[row]):
            wider_slots[row, j], wider_keys[row, j] = slots[row, j], keys[row, j]
    return wider_slots, wider_keys, wider_sizes, wider_order, wider_edges


@kernel
def _block_of(
    score: float, tie: int, i: Ints, slots: Ints, sizes: Ints, order: Ints, edges: Floats, used: int
) -> int:
    """The first block whose last record does not rank before the one with this score and tie."""
    low, high = 0, used
    while low < high:
        middle = (low + high) >> 1
        edge = edges[middle]
        before = edge > score
        if edge == score:
            row = order[middle]
            before = i[TIE, slots[row, sizes[row] - 1]] > tie
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _place_in(
    row: int, score: float, tie: int, i: Ints, slots: Ints, keys: Floats, sizes: Ints
) -> int:
    """The place of the first record in a block that does not rank before this score and tie."""
    low, high = 0, sizes[row]
    while low < high:
        middle = (low + high) >> 1
        key = keys[row, middle]
        if key > score or (key == score and i[TIE, slots[row, middle]] > tie):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def insert(
    slot: int, f: Floats, i: Ints, slots: Ints, keys: Floats, sizes: Ints, order: Ints,
    edges: Floats, meta: Ints,
) -> None:  # fmt: skip
    """Put a record of the window in its place."""
    score, tie = f[SCORE, slot], i[TIE, slot]
    if meta[BLOCKS] == 0:
        meta[BLOCKS] = 1
        row = order[0]
        slots[row, 0], keys[row, 0], sizes[row], edges[0] = slot, score, 1, score
        return
    block = _block_of(score, tie, i, slots, sizes, order, edges, meta[BLOCKS])
    block = min(block, meta[BLOCKS] - 1)
    if sizes[order[block]] == BLOCK:
        _split(block, slots, keys, sizes, order, edges, meta)
        last = slots[order[block], sizes[order[block]] - 1]
        if f[SCORE, last] > score or (f[SCORE, last] == score and i[TIE, last] > tie):
            block += 1
    row = order[block]
    place = _place_in(row, score, tie, i, slots, keys, sizes)
    some_slots, some_keys = slots[row], keys[row]
    for j in range(sizes[row], place, -1):
        some_slots[j] = some_slots[j - 1]
        some_keys[j] = some_keys[j - 1]
    some_slots[place], some_keys[place] = slot, score
    sizes[row] += 1
    edges[block] = some_keys[sizes[row] - 1]


@kernel
def _split(
    block: int, slots: Ints, keys: Floats, sizes: Ints, order: Ints, edges: Floats, meta: Ints
) -> None:
    """Move the second half of a full block into a free one behind it."""
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
def remove(
    slot: int, f: Floats, i: Ints, slots: Ints, keys: Floats, sizes: Ints, order: Ints,
    edges: Floats, meta: Ints,
) -> None:  # fmt: skip
    """Take a record of the window out."""
    score, tie = f[SCORE, slot], i[TIE, slot]
    block = _block_of(score, tie, i, slots, sizes, order, edges, meta[BLOCKS])
    row = order[block]
    place = _place_in(row, score, tie, i, slots, keys, sizes)
    while slots[row, place] != slot:  # records that are equal in everything
        place += 1
        if place == sizes[row]:
            block += 1
            row, place = order[block], 0
    some_slots, some_keys = slots[row], keys[row]
    for j in range(place, sizes[row] - 1):
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


@kernel
def into_blocks(f: Floats, ranked: Ints) -> Blocks:
    """Blocks, half full, of records whose places in rank order are given."""
    half = BLOCK // 2
    used = (len(ranked) + half - 1) // half
    slots = np.empty((used + 1, BLOCK), np.int64)
    keys = np.empty((used + 1, BLOCK))
    sizes = np.zeros(used + 1, np.int64)
    edges = np.empty(used + 1)
    for j in range(len(ranked)):
        row = j // half
        slots[row, j % half], keys[row, j % half] = ranked[j], f[SCORE, ranked[j]]
        sizes[row] += 1
        edges[row] = f[SCORE, ranked[j]]
    return slots, keys, sizes, np.arange(used + 1), edges
