"""What the synopses for uncertain streams are measured against."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.compact import (
    DONE,
    LAST,
    LEAVES,
    List,
    Setting,
    Told,
    copy,
    next_step,
    told_at,
)
from crestline.kernels.uncertain.ranked import (
    BLOCKS,
    HEAD,
    TAIL,
    Blocks,
    insert,
    look,
    make_room,
    more_blocks,
    remove,
)
from crestline.types import Floats, Ints
from crestline.uncertain import BS
from crestline.uncertain.window import WindowPart


@kernel
def recompute_each(
    setting: Setting, arrivals: List, steps: Ints, meta: Ints, window: List, blocks: Blocks,
    shown_id: Ints, shown: Floats, told: Told,
) -> tuple[List, Blocks, Ints, Floats, Told]:  # fmt: skip
    """The window stays sorted; the compact set and the answer are worked out at every record."""
    af, ai = arrivals
    f, i = window
    slots, keys, sizes, order, edges = blocks
    for at in range(len(steps)):
        step = next_step(setting, steps[at], meta[DONE], meta[LAST], 0)
        meta[DONE] = step
        while meta[HEAD] < meta[TAIL] and i[LEAVES, meta[HEAD]] <= step:
            remove(meta[HEAD], f, i, slots, keys, sizes, order, edges, meta)
            meta[HEAD] += 1
        f, i = make_room(f, i, 1, slots, sizes, order, meta)
        if meta[BLOCKS] + 2 > len(order):
            slots, keys, sizes, order, edges = more_blocks(slots, keys, sizes, order, edges, 2)
        slot = meta[TAIL]
        copy(f, i, slot, af, ai, at)
        meta[TAIL] += 1
        insert(slot, f, i, slots, keys, sizes, order, edges, meta)
        meta[LAST] = ai[LEAVES, at]
        changed, shown_id, shown = look(setting, f, i, slots, sizes, order, meta, shown_id, shown)
        told = told_at(setting, step, changed, shown_id, shown, meta, told)
    return (f, i), (slots, keys, sizes, order, edges), shown_id, shown, told


class _EachTime(WindowPart):
    def run(self, setting: Setting, arrivals: List, steps: Ints, until: int, told: Told) -> Told:
        self.lists["window"], self._blocks, self.shown_id, self.shown, told = recompute_each(
            setting, arrivals, steps, self.meta, self.lists["window"], self._blocks, self.shown_id,
            self.shown, told,
        )  # fmt: skip
        return told


class Recompute(BS):
    """BS without its shortcut: nothing is ever taken for unchanged."""

    part = _EachTime

    @classmethod
    def from_full(cls, full: BS) -> Recompute:
        """One that goes on from a full window."""
        other = cls(full.k, full.window, full.slide, only_changes=full.only_changes)
        other._timed, other.seen, other._closed = full._timed, full.seen, full._closed
        other._counts, other._last = full._counts.copy(), full._last.copy()
        for part in full._parts:
            fresh = _EachTime()
            fresh.__dict__.update(deepcopy(part.__dict__))
            other._parts.append(fresh)
        return other


@kernel
def by_the_paper(chance: Floats, rule: Ints, k: int) -> Floats:
    """Pr_k of every record in O(n^2 k): for each, the rules above it but its own are put together
    anew (Chen et al., section 3; the own rule left out, as their Table 3 does)."""
    count = len(chance)
    rules = 0
    for i in range(count):
        rules = max(rules, rule[i] + 1)
    found = np.empty(count)
    exactly, mass = np.empty(k), np.empty(rules)
    for i in range(count):
        for j in range(k):
            exactly[j] = 0.0
        exactly[0] = 1.0
        for r in range(rules):
            mass[r] = 0.0
        for a in range(i):
            if rule[a] >= 0:
                if rule[a] != rule[i]:
                    mass[rule[a]] += chance[a]
                continue
            _multiply(exactly, chance[a], k)
        for r in range(rules):
            if mass[r] > 0.0:
                _multiply(exactly, mass[r], k)
        fewer = 0.0
        for j in range(k):
            fewer += exactly[j]
        found[i] = chance[i] * fewer
    return found


@kernel
def _multiply(exactly: Floats, p: float, k: int) -> None:
    for j in range(k - 1, 0, -1):
        exactly[j] = (1.0 - p) * exactly[j] + p * exactly[j - 1]
    exactly[0] *= 1.0 - p


__all__ = ["Recompute", "by_the_paper"]
