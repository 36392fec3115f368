"""The whole window, kept in rank order, and its compact set.

The window is a list in the order in which records leave; blocks (``kernels.uncertain.blocks``) hold
its rank order.
"""

from __future__ import annotations

from crestline.core.sentinels import NEVER, NOWHERE
from crestline.kernels.common.output import Report
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.blocks import (
    BLOCKS,
    HEAD,
    LOWEST,
    TAIL,
    Blocks,
    insert,
    more_blocks,
    remove,
)
from crestline.kernels.uncertain.lists import (
    LEAVES,
    SCORE,
    TIE,
    RecordList,
    append_by_leaving,
    copy,
    no_records,
    room,
)
from crestline.kernels.uncertain.steps import (
    STALE,
    STEP,
    Shown,
    SynopsisQuery,
    add_due,
    answer,
    next_step,
    take_step,
)
from crestline.types import Ints

#: A further entry of ``meta``: how many records the compact set has.
DEPTH = LOWEST + 1


@kernel
def run_window(
    query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, meta: Ints,
    window: RecordList, blocks: Blocks, shown: Shown, report: Report,
) -> tuple[RecordList, Blocks, Shown, Report]:  # fmt: skip
    """Handle all steps up to ``until``."""
    position = 0
    while True:
        arriving = steps[position] if position < len(steps) else NEVER
        changing = window.ints[LEAVES, meta[HEAD]] if meta[HEAD] < meta[TAIL] else NEVER
        step = next_step(query, arriving, changing, meta)
        if step > until:
            break
        meta[STEP] = step
        touched = meta[STALE] > 0
        while meta[HEAD] < meta[TAIL] and window.ints[LEAVES, meta[HEAD]] <= step:
            touched |= _matters(window, meta[HEAD], meta)
            remove(meta[HEAD], window, blocks, meta)
            meta[HEAD] += 1
        first = position
        position = take_step(arrivals, steps, position, step, meta)
        count = position - first
        if count:
            window, blocks = make_room(window, blocks, count, meta)
            append_by_leaving(window, meta[TAIL], arrivals, first, position)
            for _ in range(count):
                slot = meta[TAIL]
                meta[TAIL] += 1
                touched |= _matters(window, slot, meta)
                insert(slot, window, blocks, meta)
        changed = False
        if touched:
            changed, shown = look(query, window, blocks, shown, meta)
        report = add_due(query, step, changed, shown, meta, report)
    meta[STEP] = max(meta[STEP], until)
    return window, blocks, shown, report


@kernel
def _matters(window: RecordList, slot: int, meta: Ints) -> bool:
    """Whether a record that arrives or leaves can change the answer: all do if nothing closes."""
    lowest = meta[LOWEST]
    if lowest < 0:
        return True
    if window.floats[SCORE, slot] != window.floats[SCORE, lowest]:
        return bool(window.floats[SCORE, slot] > window.floats[SCORE, lowest])
    return bool(window.ints[TIE, slot] >= window.ints[TIE, lowest])


@kernel
def look(
    query: SynopsisQuery, window: RecordList, blocks: Blocks, shown: Shown, meta: Ints
) -> tuple[bool, Shown]:
    """Work out the answer from as many of the best records as it takes; return whether it has
    changed, and the answer."""
    slots, sizes, order = blocks.slots, blocks.sizes, blocks.order
    total = meta[TAIL] - meta[HEAD]
    changed = False
    some = min(total, max(query.k, meta[DEPTH] + meta[DEPTH] // 4 + 16))
    while True:
        best = room(no_records(), 0, some)
        taken = block = 0
        while taken < some:
            row = order[block]
            for j in range(min(sizes[row], some - taken)):
                copy(best, taken, window, slots[row, j])
                taken += 1
            block += 1
        closed, differs, shown = answer(query, best, some, shown, meta)
        changed |= differs  # the answer from too few records has replaced the one shown before
        if closed >= 0 or some == total:
            break
        some = min(total, 2 * some)
    meta[LOWEST], meta[DEPTH] = NOWHERE, some
    if closed >= 0:
        meta[DEPTH] = closed
        block, left = 0, closed - 1
        while left >= sizes[order[block]]:
            left -= sizes[order[block]]
            block += 1
        meta[LOWEST] = slots[order[block], left]
    return changed, shown


@kernel
def make_room(
    window: RecordList, blocks: Blocks, more: int, meta: Ints
) -> tuple[RecordList, Blocks]:
    """Make room for more records behind the window: by moving it to the front, or by a larger
    copy."""
    if meta[BLOCKS] + more + 1 > len(blocks.order):
        blocks = more_blocks(blocks, more + 1)
    slots, sizes, order = blocks.slots, blocks.sizes, blocks.order
    head, tail = meta[HEAD], meta[TAIL]
    capacity = window.floats.shape[1]
    if tail + more <= capacity:
        return window, blocks
    if 2 * head >= capacity:
        for a in range(head, tail):
            copy(window, a - head, window, a)
        for block in range(meta[BLOCKS]):
            row = order[block]
            for j in range(sizes[row]):
                slots[row, j] -= head
        meta[HEAD], meta[TAIL] = 0, tail - head
        if meta[LOWEST] >= 0:
            meta[LOWEST] -= head
        tail -= head
    return room(window, tail, tail + more), blocks


__all__ = ["DEPTH", "look", "make_room", "run_window"]
