"""Turns: when records count, in which order, and what is due after them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import crestline
from crestline.core.sentinels import LONG_AGO
from crestline.language import parse
from crestline.runtime import turns as module
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.lateness import Lateness
from crestline.runtime.metrics import Metrics
from crestline.runtime.rejects import Rejects
from crestline.runtime.roles import Number
from crestline.runtime.turns import ArrivalTurns, TimeTurns, Turn, Turns
from crestline.runtime.watermark import Watermark
from crestline.runtime.window_meter import WindowMeter

SECOND = 1_000_000

STEPS = "RANGE 9 s SLIDE 3 s ON ts"

ARRIVALS = "RANGE 9 s ON ts"

COUNTED = "ROWS 3 ON ts"


class Bench:
    """Turns of one query, and what they count and reject."""

    def __init__(self, window: str, rest: str = "", *, bounded: bool = False) -> None:
        query = parse(f"SELECT TOP 1 id FROM s [{window}] ORDER BY x DESC {rest}")
        self.metrics, self.rejects = Metrics(), Rejects(query, strict=False)
        in_order = window == COUNTED
        self.watermark = Watermark(query, bounded=bounded, in_order=in_order)
        roles = pa.schema([("time", pa.timestamp("us"))])
        lateness = Lateness(self.watermark, self.metrics, self.rejects, roles, counts_merged=True)
        partitions = cast(Any, SimpleNamespace(partition_count=1))
        meter = WindowMeter(query, self.metrics, partitions, any_order=False)
        parts = ({"q": query}, query, lateness, meter)
        self.turns: Turns = ArrivalTurns(*parts)
        if in_order or (bounded and self.watermark.on_arrival):
            self.turns = TimeTurns(*parts, waits=in_order)


def records(*seconds: int) -> AdmittedBatch:
    """One record per time; its score is its place in the batch."""
    times = np.array(seconds, np.int64) * SECOND
    score = np.arange(len(times), dtype=np.float64)
    moments = pa.array(times, pa.timestamp("us"))
    numbers = {Number.TIME: times, Number.SCORE: score}
    columns = pa.table({"time": moments, "c0": score, **numbers})
    return AdmittedBatch(columns, range(len(times)), score, times)


def seen(turns: Any) -> list[tuple[list[int], float | None, bool]]:
    """Of each turn: the times of its records, until when results are due, and whether any is."""
    return [
        (
            [] if turn.records is None else (turn.records.time // SECOND).tolist(),
            None if turn.until is None else turn.until / SECOND,
            turn.due,
        )
        for turn in turns
    ]


def test_as_they_arrive_results_are_due_when_a_window_end_is_passed() -> None:
    bench = Bench(STEPS, "LATENESS 1 s")
    assert seen(bench.turns.push(records(1, 3, 2))) == [([1, 3, 2], 2, True)]
    assert seen(bench.turns.push(records(3))) == [([3], 2, False)]
    assert seen(bench.turns.push(records(4))) == [([4], 3, True)]
    assert seen(bench.turns.push(records(2, 5))) == [([5], 4, False)]
    assert bench.metrics.rows_late == bench.rejects.counts["late"] == 1
    assert bench.metrics.lateness_needed == 2 * SECOND
    assert seen(bench.turns.push(records())) == []


def test_at_the_end_the_first_window_end_after_the_last_event_is_due() -> None:
    bench = Bench(STEPS)
    assert list(bench.turns.flush()) == []
    list(bench.turns.push(records(1, 7)))
    assert list(bench.turns.flush()) == [Turn(None, 9 * SECOND, last=True)]


def test_where_every_record_brings_results_few_take_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PORTION", 2)
    bench = Bench(ARRIVALS)
    late = 1e-6  # others of the same moment may still come
    assert seen(bench.turns.push(records(1, 2, 4, 8, 9))) == [
        ([1, 2], 2 - late, True), ([4, 8], 8 - late, True), ([9], 9 - late, True),
    ]  # fmt: skip


def test_merged_records_count_when_results_are_due() -> None:
    bench = Bench(STEPS)
    assert len(bench.turns.merge(records(4, 1))) == 2
    assert seen(bench.turns.due(4 * SECOND)) == [([4, 1], 4, True)]
    kept = bench.turns.merge(records(2, 3))  # the window end 3 is passed, 6 is not
    assert kept.time is not None and kept.time.tolist() == [3 * SECOND]
    assert bench.metrics.rows_late == 1
    assert seen(bench.turns.due(None)) == [([3], 4, False)]


def test_before_any_event_time_nothing_is_due() -> None:
    assert list(Bench(STEPS).turns.due(None)) == []


class TestTimeOrder:
    def test_records_wait_for_the_watermark(self) -> None:
        bench = Bench(COUNTED, "LATENESS 2 s")
        assert seen(bench.turns.push(records(3, 1, 4))) == [([1], None, True)]
        assert bench.turns.waiting == 2
        assert seen(bench.turns.push(records(9))) == [([3, 4], None, True)]
        assert seen(bench.turns.flush()) == [([9], None, True)]
        assert bench.turns.waiting == 0

    def test_records_in_order_do_not_wait_if_all_to_come_are_later(self) -> None:
        bench = Bench(ARRIVALS, bounded=True)
        late = 1e-6
        assert seen(bench.turns.push(records(1, 2), 2 * SECOND)) == [([1, 2], 2 - late, True)]
        assert seen(bench.turns.push(records(5, 3), 3 * SECOND)) == [([], 3 - late, True)]
        assert bench.turns.waiting == 2
        assert seen(bench.turns.push(records(4), LONG_AGO)) == [([], 3 - late, True)]
        assert seen(bench.turns.flush()) == [([3, 4, 5], 5 - late, True), ([], 5, True)]

    def test_waiting_records_are_saved(self) -> None:
        bench, other = (Bench(COUNTED, "LATENESS 2 s") for _ in range(2))
        list(bench.turns.push(records(3, 1, 4)))
        other.turns.restore(bench.turns.state())
        assert seen(other.turns.flush()) == seen(bench.turns.flush()) == [([3, 4], None, True)]


@pytest.mark.parametrize("lateness", ["", " LATENESS 3 s"])
@pytest.mark.parametrize("using", ["RAPF", "MINTOPK", "SCSQ_BUFFER", "BS"])
def test_a_large_batch_where_every_arrival_is_a_result(
    using: str, lateness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken in pieces: the first was reported up to the last record of all."""
    rng = np.random.default_rng(5)
    times = np.arange(300) * 1_000_000 + rng.integers(0, 2_500_000, 300)
    times = times if lateness else np.sort(times)
    columns = {"t": pa.array(times).cast(pa.timestamp("us")), "x": rng.random(300)}
    table = pa.table(columns | {"p": 1.0 - rng.random(300)})
    doubt = " WITH PROBABILITY p" if using in ("SCSQ_BUFFER", "BS") else ""
    query = (
        f"SELECT TOP 2 x FROM s [RANGE 20 s ON t]{doubt} ORDER BY x DESC{lateness} USING {using}"
    )
    whole = crestline.run(query, {"s": table}).to_arrow()
    monkeypatch.setattr("crestline.runtime.turns._PORTION", 64)
    assert crestline.run(query, {"s": table}).to_arrow().equals(whole)
    assert len(set(whole.column("window_end").to_pylist())) == len(np.unique(times))
