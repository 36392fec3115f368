"""What the synopses for uncertain streams are measured against."""

from __future__ import annotations

import numpy as np

from crestline.core.sentinels import LONG_AGO
from crestline.kernels.common.output import Report
from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.blocks import HEAD, TAIL, Blocks, insert, remove
from crestline.kernels.uncertain.lists import LEAVES, RecordList, copy
from crestline.kernels.uncertain.ranked import look, make_room
from crestline.kernels.uncertain.steps import (
    EMPTY_FROM,
    STEP,
    Shown,
    SynopsisQuery,
    add_due,
    next_step,
)
from crestline.types import Floats, Ints
from crestline.uncertain import BS
from crestline.uncertain.window import WindowPartition


@kernel
def recompute_each(
    query: SynopsisQuery, arrivals: RecordList, steps: Ints, meta: Ints, window: RecordList,
    blocks: Blocks, shown: Shown, report: Report,
) -> tuple[RecordList, Blocks, Shown, Report]:  # fmt: skip
    """The window stays sorted; the compact set and the answer are worked out at every record."""
    for position in range(len(steps)):
        step = next_step(query, steps[position], LONG_AGO, meta)
        meta[STEP] = step
        while meta[HEAD] < meta[TAIL] and window.ints[LEAVES, meta[HEAD]] <= step:
            remove(meta[HEAD], window, blocks, meta)
            meta[HEAD] += 1
        window, blocks = make_room(window, blocks, 1, meta)
        slot = meta[TAIL]
        copy(window, slot, arrivals, position)
        meta[TAIL] += 1
        insert(slot, window, blocks, meta)
        meta[EMPTY_FROM] = arrivals.ints[LEAVES, position]
        changed, shown = look(query, window, blocks, shown, meta)
        report = add_due(query, step, changed, shown, meta, report)
    return window, blocks, shown, report


class _EachTime(WindowPartition):
    def run(
        self, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int, report: Report
    ) -> Report:
        self.lists["window"], self._blocks, self.shown, report = recompute_each(
            query, arrivals, steps, self.meta, self.lists["window"], self._blocks, self.shown,
            report,
        )  # fmt: skip
        return report


class Recompute(BS):
    """BS without its shortcut: nothing is ever taken for unchanged."""

    partition_type = _EachTime

    @classmethod
    def from_full(cls, full: BS) -> Recompute:
        """One that goes on from a full window."""
        return cls.from_state(full.state())


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
