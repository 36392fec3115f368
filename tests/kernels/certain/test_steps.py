"""The kernels of windows that slide in steps: each against sorting every window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crestline.core.sentinels import LONG_AGO, NEVER, NOWHERE, OUTDATED
from crestline.kernels.certain.cells import cells_of_scores
from crestline.kernels.certain.grid import Cells, GridRule, Placed, Slots, Views, advance_grid
from crestline.kernels.certain.mintopk import advance_mintopk
from crestline.kernels.certain.pretopk import Results, Windows, advance_pretopk
from crestline.kernels.certain.skyband import BandState, Queries, advance_skyband
from crestline.kernels.certain.stretches import Lived
from crestline.kernels.common.output import Report, written
from crestline.kernels.common.windows import Ranked, StepWindow
from crestline.types import Ints

SEEDS = st.integers(0, 2**32)


class Case(NamedTuple):
    """Records of two partitions, sorted as an operator sorts them, and a window."""

    window: StepWindow
    records: Ranked
    offsets: Ints
    until: Ints

    @classmethod
    def random(cls, seed: int) -> Case:
        rng = np.random.default_rng(seed)
        slide = int(rng.integers(1, 4))
        window = StepWindow(
            int(rng.integers(1, 4)), slide * int(rng.integers(1, 4)), slide, False, False
        )
        score, tie, pane, count = [], [], [], []
        for _ in range(2):
            n = int(rng.integers(0, 15))
            scores, ties = rng.integers(0, 6, n).astype(float), rng.permutation(n)
            panes = rng.integers(0, 12, n)
            order = np.lexsort((-ties, -scores, panes // slide))
            score.append(scores[order])
            tie.append(ties[order])
            pane.append(panes[order] // slide * slide)  # a stage is one pane
            count.append(n)
        records = Ranked(*map(np.concatenate, (score, tie, pane)))
        return cls(window, records, np.cumsum([0, *count]), np.full(2, 24 // slide * slide))

    def wanted(self) -> list[tuple[int, int, list[int]]]:
        """Every window that holds anything: partition, end, records best first."""
        score, tie, pane = self.records
        found = []
        for p in range(2):
            inside = np.arange(self.offsets[p], self.offsets[p + 1])
            for end in range(self.window.slide, int(self.until[p]) + 1, self.window.slide):
                held = inside[(pane[inside] < end) & (pane[inside] >= end - self.window.width)]
                best = held[np.lexsort((-tie[held], -score[held]))][: self.window.k]
                if len(best):
                    found.append((p, end, best.tolist()))
        return found


def rows(report: Report) -> list[tuple[int, int, list[int]]]:
    partition, end, count, _, records, _ = written(report)
    parts = np.split(records, np.cumsum(count)[:-1]) if len(count) else []
    return [
        (int(p), int(e), part.tolist()) for p, e, part in zip(partition, end, parts, strict=True)
    ]


@given(SEEDS)
def test_mintopk(seed: int) -> None:
    case = Case.random(seed)
    score, tie, pane = case.records
    births, lives = pane // case.window.slide, (pane + case.window.width) // case.window.slide
    ids = np.arange(len(score))
    kept_from, kept, report = advance_mintopk(
        case.window, Lived(ids, score, tie, births, lives), np.zeros(3, np.int64), case.offsets,
        np.full(2, LONG_AGO), np.zeros(2, np.bool_), case.until, 0,
    )  # fmt: skip
    assert rows(report) == case.wanted()
    reported = written(report)
    assert (reported.numbers[0] == score[reported.records]).all()
    assert kept_from[-1] == len(kept)


@given(SEEDS)
def test_pretopk(seed: int) -> None:
    case = Case.random(seed)
    none, total = np.empty(0, np.int64), len(case.records.score)
    most = -(-case.window.width // case.window.slide)
    rows_free = np.arange(2 * most)
    results = Results(
        np.empty((2 * most, case.window.k), np.int64), rows_free, np.zeros(total, np.int64)
    )
    windows = Windows(np.zeros(3, np.int64), none, none, none)
    left, report = advance_pretopk(
        case.window, case.records, np.arange(total), case.offsets, windows, results, 2 * most,
        np.full(2, LONG_AGO), case.until,
    )  # fmt: skip
    assert rows(report) == case.wanted()
    assert left.start[-1] == len(left.end) == len(left.size) == len(set(left.row.tolist()))
    uses = np.zeros(total, np.int64)
    for row, size in zip(left.row, left.size, strict=True):
        uses[results.slot[row, :size]] += 1
    assert uses.tolist() == results.uses.tolist()


@given(SEEDS, st.booleans(), st.booleans(), st.booleans())
def test_grid(seed: int, skyband: bool, at_once: bool, disjoint: bool) -> None:
    case = Case.random(seed)
    total, cells = len(case.records.score), 3
    rule = GridRule(skyband, skyband and at_once, cells, disjoint)
    integers = [np.zeros(total, np.int64) for _ in range(6)]
    slots = Slots(np.zeros(total), *integers)
    order, bounds = np.arange(cells)[::-1], np.empty(0)
    cell = cells_of_scores(case.records.score, 0.0, 0.5, cells)
    if not disjoint:  # any cells will do, if their bounds hold
        cell = np.random.default_rng(seed).integers(0, cells, total)
        bounds = np.full(cells, -np.inf)
        np.maximum.at(bounds, cell, case.records.score)
        order = np.argsort(-bounds)
    arriving = Placed(*case.records, cell)
    ends = Cells(np.full(2 * cells, NOWHERE), np.full(2 * cells, NOWHERE), order.copy(), bounds)
    least = -np.inf if at_once else np.inf
    by_partition = [np.zeros(2, np.int64) for _ in range(4)]
    views = Views(
        by_partition[0], by_partition[1], by_partition[2], np.full(2, least), np.full(2, LONG_AGO),
        by_partition[3], np.zeros(2, np.bool_),
    )  # fmt: skip
    free = np.arange(total)[::-1].copy()
    slot_of, left, _, _, report, _ = advance_grid(
        case.window, rule, arriving, case.offsets, case.until, slots, free, total, ends, views,
        np.zeros(3, np.int64), np.empty(0, np.int64),
    )  # fmt: skip
    record = np.empty(total, np.int64)
    record[slot_of] = np.arange(total)
    reported = [(p, end, record[np.array(part)].tolist()) for p, end, part in rows(report)]
    assert reported == case.wanted()
    assert left + views.alive.sum() == total


@given(SEEDS)
def test_skyband_of_two_queries(seed: int) -> None:
    case = Case.random(seed)
    k, width, slide, _, _ = case.window
    # Columns: k, width, slide, since, limit, changes.
    wide = [1, 2 * width, slide, LONG_AGO, NEVER, 0]
    queries = Queries(
        np.array([[k, width, slide, LONG_AGO, NEVER, 0], wide]), np.zeros(3, np.int64),
        np.empty(0, np.int64), np.array([[slide, 0, 0, 2]]),
        np.array([[width // slide, 2 * width // slide], [max(k, 1), 1]]),
    )  # fmt: skip
    state = BandState(
        np.full(2, LONG_AGO), np.zeros(2, np.int64), np.zeros(4, np.int64), np.full(4, OUTDATED)
    )
    _, kept, dominators, report = advance_skyband(
        k, 2 * width, False, queries, case.records, np.empty(0, np.int64), np.zeros(3, np.int64),
        case.offsets, state, case.until,
    )  # fmt: skip
    asked = written(report).query
    every = rows(report)
    narrow = [row for row, query in zip(every, asked, strict=True) if query == 0]
    assert narrow == case.wanted()
    wider = case._replace(window=case.window._replace(k=1, width=2 * width))
    assert [row for row, query in zip(every, asked, strict=True) if query == 1] == wider.wanted()
    assert len(kept) == len(dominators)
