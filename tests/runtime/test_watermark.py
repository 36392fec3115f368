"""Watermark arithmetic: what is late, what is due, which window end is the last."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.core.errors import SourceError
from crestline.core.sentinels import LONG_AGO
from crestline.language import parse
from crestline.runtime.watermark import Watermark

SECOND = 1_000_000
STEPS = "RANGE 9 s SLIDE 3 s ON ts"
ARRIVALS = "RANGE 9 s ON ts"


def watermark(
    window: str = STEPS, lateness: str = "", *, bounded: bool = False, in_order: bool = False
) -> Watermark:
    query = parse(f"SELECT TOP 1 id FROM s [{window}] ORDER BY x DESC {lateness}")
    return Watermark(query, bounded=bounded, in_order=in_order)


def seconds(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64) * SECOND


def test_before_any_record_nothing_is_late() -> None:
    fresh = watermark()
    assert not fresh.started and fresh.late_before == LONG_AGO


@pytest.mark.parametrize(
    ("lateness", "late"),
    [("", [2, 3]), ("LATENESS 1 s", [2]), ("LATENESS 2 s", [2]), ("LATENESS 3 s", [])],
)
def test_late_records_by_order_of_arrival(lateness: str, late: list[int]) -> None:
    judge = watermark(lateness=lateness)
    mask = judge.late(seconds(1, 7, 4, 6, 7))
    assert ([] if mask is None else np.flatnonzero(mask).tolist()) == late
    assert judge.latest == 7 * SECOND


def test_lateness_goes_on_from_batch_to_batch() -> None:
    judge = watermark(lateness="LATENESS 2 s")
    assert judge.late(seconds(10, 20)) is None
    assert judge.late(seconds(18, 19)) is None  # in order, and not before the watermark
    mask = judge.late(seconds(17, 21))
    assert mask is not None and mask.tolist() == [True, False]
    assert judge.value == 19 * SECOND


def test_between_rounds_a_record_is_late_once_its_window_end_has_passed() -> None:
    for window, in_order, before in ((STEPS, False, 6), (STEPS, True, 7), (ARRIVALS, False, 7)):
        judge = watermark(window, "LATENESS 1 s", in_order=in_order)
        judge.reach(8 * SECOND)
        assert judge.late_before == before * SECOND, (window, in_order)


def test_results_are_due_up_to_the_watermark() -> None:
    steps, arrivals = watermark(lateness="LATENESS 1 s"), watermark(ARRIVALS)
    for judge in (steps, arrivals):
        judge.reach(8 * SECOND)
    assert steps.due() == 7 * SECOND
    assert steps.due(5 * SECOND) == 4 * SECOND  # a part of the batch has come so far
    assert arrivals.due() == 8 * SECOND - 1  # others of the same moment may still come
    assert watermark("ROWS 3").due() is None


def test_a_window_end_is_passed_once() -> None:
    judge = watermark()
    passed = [judge.passes_end(until * SECOND) for until in (1, 2, 3, 5, 6, 12, 13)]
    assert passed == [True, False, True, False, True, True, False]
    judge.follow(parse("SELECT TOP 1 id FROM s [RANGE 9 s SLIDE 1 s ON ts] ORDER BY x"))
    assert judge.passes_end(13 * SECOND)  # finer steps: look again


def test_every_arrival_and_every_row_may_bring_a_result() -> None:
    assert all(watermark(ARRIVALS).passes_end(until) for until in (5, 5))
    assert watermark("ROWS 3").passes_end(None)


@pytest.mark.parametrize(
    ("window", "latest", "end"), [(STEPS, 8, 9), (STEPS, 9, 12), (STEPS, -1, 0), (ARRIVALS, 8, 8)]
)
def test_the_last_end_of_a_bounded_run(window: str, latest: int, end: int) -> None:
    judge = watermark(window)
    judge.reach(latest * SECOND)
    assert judge.last_end == end * SECOND


class TestBoundedRunsWithoutLateness:
    def test_none_is_late(self) -> None:
        assert watermark(bounded=True).none_late
        assert not watermark(bounded=True, lateness="LATENESS 0 s").none_late
        assert not watermark("ROWS 3", bounded=True).none_late
        judge = watermark(bounded=True)
        judge.approach(seconds(9, 1), LONG_AGO)
        assert judge.late_before == LONG_AGO and judge.latest == 9 * SECOND

    def test_results_are_due_up_to_the_horizon(self) -> None:
        judge = watermark(bounded=True)
        judge.approach(seconds(9, 1), LONG_AGO)
        assert not judge.passes_end(judge.due())
        judge.approach(seconds(2), 5 * SECOND)
        assert judge.due() == judge.due(9 * SECOND) == 5 * SECOND
        assert judge.passes_end(judge.due())
        judge.approach(seconds(), 100 * SECOND)
        assert judge.due() == 9 * SECOND  # and no further than the records

    def test_the_horizon_never_goes_back(self) -> None:
        judge = watermark(bounded=True)
        judge.approach(seconds(9), 5 * SECOND)
        judge.approach(seconds(6), LONG_AGO)
        assert judge.horizon == 5 * SECOND

    def test_a_record_before_the_horizon_is_an_error_of_the_source(self) -> None:
        judge = watermark(bounded=True)
        judge.approach(seconds(9), 5 * SECOND)
        with pytest.raises(SourceError, match="not what the statistics in the files say"):
            judge.approach(seconds(4), 5 * SECOND)
