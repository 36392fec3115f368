"""The kernels that go from step to step, against the answer of the whole window at every step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crestline.kernels.common.output import Report, new_report, written
from crestline.kernels.uncertain.blocks import LOWEST, into_blocks
from crestline.kernels.uncertain.ccsq import run_ccsq
from crestline.kernels.uncertain.closing import PK_TOPK, PT_K, U_KRANKS
from crestline.kernels.uncertain.csq import SetQueue, run_csq
from crestline.kernels.uncertain.emptying import FULL, LEAST
from crestline.kernels.uncertain.lists import ID, LEAVES, RecordList, no_records
from crestline.kernels.uncertain.ranked import run_window
from crestline.kernels.uncertain.scsq import run_scsq
from crestline.kernels.uncertain.scsq_buffer import run_buffered
from crestline.kernels.uncertain.segments import SegmentQueue
from crestline.kernels.uncertain.steps import (
    NUMBERS,
    SHOWN,
    STEP,
    Shown,
    SynopsisQuery,
    answer,
)
from crestline.types import Ints
from kernels.uncertain.windows import best_first, chosen, query_of, random_records

WIDTH, STEPS, PER_STEP = 12, 60, 3


def stream(seed: int, exclusive: float) -> tuple[RecordList, Ints]:
    """Records, three at a step and in rank order within it; those of a step leave together."""
    rng = np.random.default_rng(seed)
    records = random_records(rng, STEPS * PER_STEP, exclusive)
    steps = np.repeat(np.arange(1, STEPS + 1), PER_STEP)
    records.ints[LEAVES] = steps + WIDTH
    order = [i for s in range(STEPS) for i in in_rank_order(records, range(3 * s, 3 * s + 3))]
    return chosen(records, order), steps


def in_rank_order(records: RecordList, indices: range) -> list[int]:
    ranked: list[int] = best_first(chosen(records, list(indices))).ints[ID].tolist()
    return ranked


def start() -> tuple[Ints, Shown, Report]:
    meta = np.zeros(12, np.int64)
    return meta, Shown(np.empty(0, np.int64), np.empty((2, 0))), new_report(NUMBERS, 0, 0)


def by_ccsq(query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int) -> Report:
    meta, shown, report = start()
    gone = np.zeros(8, np.int64)
    return run_ccsq(
        query, arrivals, steps, until, meta, no_records(), gone, no_records(), shown, report
    )[-1]


def by_csq(query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int) -> Report:
    meta, shown, report = start()
    queue = SetQueue(no_records(), np.zeros(8, np.int64))
    return run_csq(query, arrivals, steps, until, meta, no_records(), queue, shown, report)[-1]


def by_segments(
    run: Any, query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int
) -> Any:
    meta, shown, report = start()
    meta[FULL] = LEAST
    queue = SegmentQueue(no_records(), np.zeros(8, np.int64), np.zeros(8, np.int64))
    how = query, arrivals, steps, until, meta
    return run(*how, no_records(), queue, no_records(), shown, report)[-1]


def by_window(query: SynopsisQuery, arrivals: RecordList, steps: Ints, until: int) -> Report:
    meta, shown, report = start()
    meta[LOWEST] = -1
    blocks = into_blocks(no_records(), np.empty(0, np.int64))
    return run_window(query, arrivals, steps, until, meta, no_records(), blocks, shown, report)[-1]


RUNS = {
    "ccsq": by_ccsq,
    "csq": by_csq,
    "scsq": lambda *how: by_segments(run_scsq, *how),
    "scsq_buffer": lambda *how: by_segments(run_buffered, *how),
    "ranked": by_window,
}


def rows(report: Report) -> list[tuple[int, list[int], list[float]]]:
    _, end, count, _, ids, numbers = written(report)
    offset = np.concatenate(([0], np.cumsum(count))).tolist()
    return [
        (int(e), ids[a:b].tolist(), numbers[1, a:b].tolist())
        for e, a, b in zip(end, offset[:-1], offset[1:], strict=True)
    ]


@pytest.mark.parametrize("kind", [PK_TOPK, PT_K, U_KRANKS])
@pytest.mark.parametrize("exclusive", [0.0, 0.2])
@pytest.mark.parametrize("name", RUNS)
def test_every_step_is_answered(name: str, exclusive: float, kind: int) -> None:
    arrivals, steps = stream(4, exclusive)
    threshold = 0.4 if kind == PT_K else 0.0
    query = query_of(2, kind, threshold, exclusive=exclusive > 0, every_step=True)
    until = STEPS + WIDTH + 3
    got = rows(RUNS[name](query, arrivals, steps, until))
    assert [end for end, _, _ in got] == list(range(1, STEPS + WIDTH))
    for end, shown, weights in got:
        inside = (steps <= end) & (arrivals.ints[LEAVES] > end)
        window = best_first(chosen(arrivals, np.flatnonzero(inside)))
        meta, empty, _ = start()
        _, _, right = answer(query, window, int(inside.sum()), empty, meta)
        assert shown == right.ids[: meta[SHOWN]].tolist()
        assert weights == right.numbers[1, : meta[SHOWN]].tolist()


@pytest.mark.parametrize("name", RUNS)
def test_only_changes_are_reported(name: str) -> None:
    arrivals, steps = stream(5, 0.0)
    how = arrivals, steps, STEPS + WIDTH + 3
    every = rows(RUNS[name](query_of(2, every_step=True), *how))
    changes = dict.fromkeys(range(STEPS + WIDTH + 4))
    for end, *shown in rows(RUNS[name](query_of(2, every_step=True, only_changes=True), *how)):
        changes[end] = shown  # type: ignore[assignment]
    latest: Any = None
    for end, *shown in every:
        latest = changes[end] or latest
        assert latest == shown
    assert changes[STEPS + WIDTH] == [[], []]  # the window has become empty


@pytest.mark.parametrize("name", RUNS)
def test_nothing_arrives(name: str) -> None:
    report = RUNS[name](query_of(2), no_records(), np.empty(0, np.int64), 9)
    assert rows(report) == []


def test_the_last_step_is_remembered() -> None:
    meta, shown, report = start()
    queue = SetQueue(no_records(), np.zeros(8, np.int64))
    none = np.empty(0, np.int64)
    run_csq(query_of(1), no_records(), none, 17, meta, no_records(), queue, shown, report)
    assert meta[STEP] == 17
